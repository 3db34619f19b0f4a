"""Minishogi games in KIF, the listing that Japanese programs use: `   1 ３四銀(43)   ( 0:01/ 0:01)`.

What KIF has no place for is in comments (lines that begin with #), as JSON. Of files without such comments the players,
moves and resignations are read.
"""
# ruff: noqa: RUF001 - the format has full-width digits and colons

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

from meijin.arena.formats.common import Draft, Ply, RecordFile, Steppers
from meijin.arena.formats.header import describe, describe_note, to_json
from meijin.arena.formats.usi import completed_from_start, expect_minishogi, expect_start
from meijin.arena.record import GameRecord
from meijin.core.state import State
from meijin.games.minishogi import SENTE

SUFFIXES = (".kif", ".kifu")

MEN = ("", "歩", "銀", "角", "飛", "金", "玉", "と", "成銀", "馬", "龍")  # [kind]
LETTERS = {"歩": "P", "銀": "S", "角": "B", "飛": "R", "金": "G"}
FILES, RANKS = "１２３４５", "一二三四五"
HEAD = "手数----指手---------消費時間--"
RESIGN = "投了"

_MOVE = re.compile(
    r"\s*(?P<ply>\d{1,5})\s+(?:(?P<to>[１-５1-5][一二三四五])|(?P<same>同))[\s\u3000]*"
    r"(?P<man>成銀|成桂|成香|[歩銀角飛金玉王と馬龍竜])(?:(?P<drop>打)|(?P<promote>成)?\((?P<from>[1-5][1-5])\))"
    r"(?:\s*\(.*\))?\s*\+?"
)
_OTHER = re.compile(r"\*|&|まで|\s*\d+\s*(?:中断|持将棋|千日手|詰み)")  # comments, and how the game ended


def write(records: Iterable[GameRecord], file: TextIO) -> int:
    steppers, count = Steppers(), 0
    for record in records:
        expect_minishogi(record, "KIF")
        expect_start(record, "KIF")
        file.write("\n".join([*_listing(record, steppers), "", ""]))
        count += 1
    return count


def _listing(record: GameRecord, steppers: Steppers) -> Iterator[str]:
    sente, gote = (" ".join(agent.split()) for agent in record.task.agents)
    yield "手合割：5五将棋"
    yield f"先手：{sente}"
    yield f"後手：{gote}"
    if record.began:
        yield f"開始日時：{' '.join(record.began.split())}"
    yield f"# {to_json(describe(record))}"
    yield HEAD
    spent = [0.0, 0.0]
    state = State(steppers.start(record.task.game).game)
    before = ""
    for ply, (turn, move) in enumerate(steppers.replay(record)[1]):
        note = record.notes[ply] if record.notes else None
        seconds = note.seconds or 0.0 if note else 0.0
        spent[turn] += seconds
        yield f"{ply + 1:4} {_shown(state, move.name, before):<10} ({_clock(seconds)}/{_clock(spent[turn])})"
        if note:
            yield f"# note {to_json(describe_note(note))}"
        before = move.name.rstrip("+")[-2:]
        state.play(int(move))
    if record.ending == "rules" and record.scores[0] != record.scores[1]:
        yield f"まで{record.plies}手で{'先手' if record.scores[SENTE] > 0 else '後手'}の勝ち"


def _shown(state: State, name: str, before: str) -> str:
    """The move `2b3c+` as `３三角成(22)`; 同 for the cell of the move before it."""
    cell = name.rstrip("+")[-2:]
    to = "同\u3000" if cell == before else FILES[int(cell[0]) - 1] + RANKS["abcde".index(cell[1])]
    if name[1] == "*":
        return f"{to}{MEN['-PSBRG'.index(name[0])]}打"
    man = MEN[(state.cells[state.game.board.index(name[:2])] - 1) % 10 + 1]
    return f"{to}{man}{'成' if name.endswith('+') else ''}({name[0]}{'abcde'.index(name[1]) + 1})"


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60:2}:{int(seconds) % 60:02}"


# ---- reading ----


def read(source: RecordFile) -> Iterator[GameRecord]:
    steppers = Steppers()
    draft: Draft | None = None
    listing = False  # whether the moves of the game have begun
    before = ""  # the cell of the latest move
    for number, line in source.lines():
        if not line.strip():
            continue
        if draft is None or line.startswith("手合割"):
            if draft is not None:
                yield _closed(draft, listing, source, steppers)
            draft, listing, before = Draft(number, {}), False, ""
        if line.startswith("#"):
            _comment(draft, line, number, source)
        elif line.startswith("手数"):
            listing = True
        elif not listing:
            _player(draft, line)
        elif RESIGN in line:
            _resign(draft)
        elif (move := _MOVE.fullmatch(line)) is not None:
            before = _play(draft, move, before, number, source)
        elif not _OTHER.match(line):
            source.fail(number, f"not a move: {line.strip()[:40]!r}")
    if draft is None:
        source.fail(1, f"no game found; its moves begin after the line '{HEAD}'")
    yield _closed(draft, listing, source, steppers)


def _closed(draft: Draft, listing: bool, source: RecordFile, steppers: Steppers) -> GameRecord:
    if not listing:
        source.fail(draft.line, f"a game without moves; they begin after the line '{HEAD}'")
    return completed_from_start(draft, source, steppers, "KIF")


def _play(draft: Draft, move: re.Match[str], before: str, number: int, source: RecordFile) -> str:
    """Add a move to the draft; returns the cell it goes to."""
    if int(move["ply"]) != len(draft.plies) + 1:
        source.fail(number, f"move {move['ply']}, but {len(draft.plies) + 1} comes next")
    if move["same"]:
        if not before:
            source.fail(number, "同 means the cell of the move before, but this is the first move")
        to = before
    else:
        to = str(FILES.find(move["to"][0]) + 1 or move["to"][0]) + "abcde"[RANKS.index(move["to"][1])]
    if move["drop"]:
        if move["man"] not in LETTERS:
            source.fail(number, f"{move['man']} cannot be dropped")
        name = f"{LETTERS[move['man']]}*{to}"
    else:
        name = move["from"][0] + "abcde"[int(move["from"][1]) - 1] + to + ("+" if move["promote"] else "")
    draft.plies.append(Ply(name, number))
    return to


def _comment(draft: Draft, line: str, number: int, source: RecordFile) -> None:
    if line.startswith("# {"):
        draft.fields = {key: value for key, value in draft.fields.items() if key == "agents"}
        draft.fields |= source.json(line[2:], number)
    elif line.startswith("# note "):
        if not draft.plies:
            source.fail(number, "a note before the first move")
        draft.noted = True
        draft.plies[-1].note = source.note(source.json(line.removeprefix("# note "), number), number)


def _player(draft: Draft, line: str) -> None:
    for seat, name in enumerate(("先手", "後手")):
        if line.startswith(f"{name}：") and "game" not in draft.fields:
            agents: list[Any] = draft.fields.setdefault("agents", ["?", "?"])
            agents[seat] = line[3:].strip() or "?"


def _resign(draft: Draft) -> None:
    if "scores" not in draft.fields:
        loser = len(draft.plies) % 2
        scores = [-1.0, 1.0] if loser == 0 else [1.0, -1.0]
        more = {"game": "minishogi", "scores": scores, "ending": "forfeit", "forfeit": loser, "reason": "resigned"}
        draft.fields = {"agents": ["?", "?"], **draft.fields, **more}
