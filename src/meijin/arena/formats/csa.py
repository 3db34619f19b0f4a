"""Minishogi games in CSA, the format of Japanese computer shogi: `+3534GI,T3` is sente's silver from 35 to 34.

What CSA has no place for is in comments (lines that begin with '), as JSON: 'MJ for the game, 'MN for the move before
it. Of files without such comments the players, the moves, their times and the result are read. A line with only a /
is between two games.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

from meijin.arena.formats.common import Draft, Ply, RecordFile, Steppers
from meijin.arena.formats.header import MAX_TEXT, describe, describe_note, to_json
from meijin.arena.formats.usi import completed_from_start, expect_minishogi, expect_start
from meijin.arena.record import GameRecord, MoveNote
from meijin.core.state import State

SUFFIXES = (".csa",)

MEN = ("", "FU", "GI", "KA", "HI", "KI", "OU", "TO", "NG", "UM", "RY")  # [kind]
LETTERS = {"FU": "P", "GI": "S", "KA": "B", "HI": "R", "KI": "G"}
SIDES = "+-"  # [seat]: sente, gote
#: The start, rank by rank, files 5 to 1.
RANKS = (
    "P1-HI-KA-GI-KI-OU", "P2 *  *  *  * -FU", "P3 *  *  *  *  * ", "P4+FU *  *  *  * ", "P5+OU+KI+GI+KA+HI",
)  # fmt: skip

_MOVE = re.compile(r"([+-])(\d\d)(\d\d)([A-Z]{2})")
_TIME = re.compile(r"T(\d{1,7}(?:\.\d{1,9})?)")


def _start() -> dict[str, str]:
    """Cell, as in 51 -> the man there."""
    return {
        f"{5 - file}{rank + 1}": text[3 + 3 * file : 5 + 3 * file]
        for rank, text in enumerate(RANKS)
        for file in range(5)
        if text[2 + 3 * file] in SIDES
    }


# ---- writing ----


def write(records: Iterable[GameRecord], file: TextIO) -> int:
    steppers, count = Steppers(), 0
    for record in records:
        expect_minishogi(record, "CSA")
        expect_start(record, "CSA")
        lines = [*(["/"] if count else []), *_listing(record, steppers), ""]
        file.write("\n".join(lines))
        count += 1
    return count


def _listing(record: GameRecord, steppers: Steppers) -> Iterator[str]:
    yield "'CSA encoding=UTF-8"
    yield "V2.2"
    for side, agent in zip(SIDES, record.task.agents, strict=True):
        yield f"N{side}{' '.join(agent.split())}"
    if record.task.event:
        yield f"$EVENT:{' '.join(record.task.event.split())}"
    if record.began:
        yield f"$START_TIME:{' '.join(record.began.split()).replace('-', '/').replace('T', ' ')[:19]}"
    yield f"'MJ {to_json(describe(record))}"
    yield from RANKS
    yield SIDES[0]
    state = State(steppers.start(record.task.game).game)
    for ply, (turn, move) in enumerate(steppers.replay(record)[1]):
        note = record.notes[ply] if record.notes else None
        yield _shown(state, turn, move.name)
        if note is not None:
            if note.seconds is not None and 0 <= note.seconds < 1e7:
                yield f"T{int(note.seconds)}"
            yield f"'MN {to_json(describe_note(note))}"
        state.play(int(move))
    if record.ending == "rules" and state.ending == "checkmate":
        yield "%TSUMI"
    elif record.ending == "forfeit":
        yield "%TORYO" if record.forfeit == state.turn else "%CHUDAN"


def _digits(cell: str) -> str:
    return f"{cell[0]}{'abcde'.index(cell[1]) + 1}"


def _shown(state: State, turn: int, name: str) -> str:
    """The move 3e3d as +3534GI."""
    to = _digits(name.rstrip("+")[-2:])
    if name[1] == "*":
        return f"{SIDES[turn]}00{to}{MEN['-PSBRG'.index(name[0])]}"
    kind = (state.cells[state.game.board.index(name[:2])] - 1) % 10 + 1
    if name.endswith("+"):
        kind = MEN.index({"FU": "TO", "GI": "NG", "KA": "UM", "HI": "RY"}[MEN[kind]])
    return f"{SIDES[turn]}{_digits(name[:2])}{to}{MEN[kind]}"


# ---- reading ----


def read(source: RecordFile) -> Iterator[GameRecord]:
    steppers = Steppers()
    game: _Reader | None = None
    for number, line in source.lines():
        if line.strip() == "/":
            if game is None:
                source.fail(number, "/ before the first game")
            yield game.record(steppers)
            game = None
            continue
        if not line.strip():
            continue
        game = game or _Reader(source, number)
        if line.startswith("'"):
            game.comment(line, number)
        else:
            for part in line.split(",") if line[0] in "+-T%" else [line]:
                game.take(part.strip(), number)
    if game is None:
        source.fail(1, "no game found; a game has moves such as +3534GI")
    yield game.record(steppers)


class _Reader:
    """One game, line by line."""

    def __init__(self, source: RecordFile, number: int):
        self.source, self.draft = source, Draft(number, {})
        self.board = _start()
        self.begun = False  # whether the line that says who begins has come; moves follow it

    def record(self, steppers: Steppers) -> GameRecord:
        if not self.begun:
            self.source.fail(self.draft.line, "a game without moves; they follow a line with only a +")
        return completed_from_start(self.draft, self.source, steppers, "CSA")

    def comment(self, line: str, number: int) -> None:
        if line.startswith("'MJ "):
            self.draft.fields = self.source.json(line[4:], number)
            for ply in self.draft.plies:
                ply.note = None
        elif line.startswith("'MN "):
            if not self.draft.plies:
                self.source.fail(number, "a note before the first move")
            self.draft.noted = True
            self.draft.plies[-1].note = self.source.note(self.source.json(line[4:], number), number)

    def take(self, text: str, number: int) -> None:
        if (move := _MOVE.fullmatch(text)) is not None:
            if not self.begun:
                self.source.fail(number, "a move before the line with only a +, which says who begins")
            self._move(move, number)
        elif text == SIDES[0]:
            self.begun = True
        elif (time := _TIME.fullmatch(text)) is not None:
            if "scores" not in self.draft.fields and self.draft.plies:
                self.draft.plies[-1].note, self.draft.noted = MoveNote(float(time[1])), True
        elif text.startswith("%"):
            self._end(text)
        elif re.match(r"N[+-]", text):
            self._player(SIDES.index(text[1]), text[2:])
        elif re.match(r"P\d", text):
            if text.replace(" ", "") != RANKS[int(text[1]) - 1].replace(" ", "") if text[1] in "12345" else True:
                self.source.fail(number, f"{text[:20]!r}: only games from the start of minishogi can be read")
        elif re.match(r"P[+-I]", text):
            self.source.fail(number, f"{text[:20]!r}: give the start of minishogi rank by rank, as P1 to P5")
        elif not re.match(r"[V$T]", text):
            self.source.fail(number, f"not a line of CSA: {text[:40]!r}")

    def _move(self, move: re.Match[str], number: int) -> None:
        side, begin, end, man = move.groups()
        if end not in _CELLS or begin not in (*_CELLS, "00") or man not in MEN:
            self.source.fail(number, f"{move[0]}: not a move of minishogi, such as +3534GI or -0033FU")
        to = end[0] + "abcde"[int(end[1]) - 1]
        if begin == "00":
            if man not in LETTERS:
                self.source.fail(number, f"{man} cannot be dropped")
            name = f"{LETTERS[man]}*{to}"
        else:
            before = self.board.pop(begin, man)
            promoted = before != man and MEN.index(man) > 6
            if before != man and not promoted:
                self.source.fail(number, f"{move[0]}: the man on {begin} is {before}, not {man}")
            name = f"{begin[0]}{'abcde'[int(begin[1]) - 1]}{to}{'+' if promoted else ''}"
        self.board[end] = man
        self.draft.plies.append(Ply(name, number, SIDES.index(side), text=move[0]))

    def _player(self, seat: int, name: str) -> None:
        if "game" not in self.draft.fields:
            agents: list[Any] = self.draft.fields.setdefault("agents", ["?", "?"])
            agents[seat] = name.strip()[:MAX_TEXT] or "?"

    def _end(self, text: str) -> None:
        lost = {"%TORYO": "resigned", "%TIME_UP": "lost on time", "%ILLEGAL_MOVE": "illegal move"}.get(text)
        if lost is None or "scores" in self.draft.fields:
            return
        loser = len(self.draft.plies) % 2
        scores = [-1.0, 1.0] if loser == 0 else [1.0, -1.0]
        more = {"game": "minishogi", "scores": scores, "ending": "forfeit", "forfeit": loser, "reason": lost}
        self.draft.fields = {"agents": ["?", "?"], **self.draft.fields, **more}


_CELLS = tuple(f"{file}{rank}" for file in range(1, 6) for rank in range(1, 6))
