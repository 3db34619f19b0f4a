"""GGF, the Generic Game Format, in which Othello programs and servers keep games:

    (;GM[Othello]PC[Meijin]PB[mcts]PW[random]RE[+12.000]TI[0]TY[8]BO[8 -...- *]B[D3//0.52]W[C3];)

A move may be followed by an evaluation and by its time in seconds, after slashes; "PA" is a pass. What the format has
no place for is in two private properties, as JSON in which %, [ and ] are percent-encoded, as GGF has no escapes:
MJ[...] for the game, MN[...] for the move before it. Of files without MJ the players, the moves, their times and the
result are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, TextIO
from urllib.parse import unquote

from meijin.arena.formats.common import Draft, Ply, RecordFile, Steppers, finish, follow, line_numbers
from meijin.arena.formats.header import MAX_TEXT, describe, describe_note, to_json
from meijin.arena.record import GameRecord, MoveNote
from meijin.core.config import short
from meijin.core.errors import BadParameter
from meijin.core.game import OVER
from meijin.core.state import State

SUFFIXES = (".ggf",)
GAME = "othello"
COLOURS = "BW"  # [seat]
DISCS = "-*O"  # [value of a cell]
PROPERTY = re.compile(r"([A-Z]{1,2})\[([^\]]*)\]")

_TIME = re.compile(r"\d{1,7}(?:\.\d{1,9})?")
_RESULT = re.compile(r"([+-]?\d{1,3}(?:\.\d{1,9})?)(?::([rts]))?")
_PASSES = ("pa", "pass")
_KEPT = ("PC", "DT", "RB", "RW", "TI", "TB", "TW", "TY", "RE")  # properties of other programs, kept for people
_LOST = {"r": "resigned", "t": "lost on time"}


def board_text(state: State) -> str:
    """The value of BO: size, cells in reading order, and who is to move."""
    cells = "".join(DISCS[value] for value in state.cells)
    return f"{state.game.params['size']} {cells} {DISCS[1 + state.turn]}"


def move_name(text: str) -> str:
    """The name of the move D3, or PA, or D3/1.5/0.2."""
    name = text.partition("/")[0].strip().lower()
    return "pass" if name in _PASSES else name


def move_text(name: str) -> str:
    return "PA" if name == "pass" else name.upper()


# ---- writing ----


def write(records: Iterable[GameRecord], file: TextIO) -> int:
    steppers, count = Steppers(), 0
    for record in records:
        if record.task.game.partition("(")[0] != GAME:
            raise BadParameter(f"GGF is for othello, not for {record.task.game}; write jsonl, sgf or pgn")
        file.write(_written(record, steppers) + "\n")
        count += 1
    return count


def _written(record: GameRecord, steppers: Steppers) -> str:
    game = steppers.start(record.task.game).game
    black, white = (_plain(agent) for agent in record.task.agents)
    said = {"GM": "Othello", "PC": "Meijin", "PB": black, "PW": white}
    if record.began:
        said["DT"] = _plain(record.began)
    stepper, line = steppers.replay(record)
    said |= {"RE": _result(record, stepper.turn == OVER, State(game, stepper.states[0])), "TI": "0"}
    said |= {"TY": str(game.params["size"]), "BO": board_text(record.task.begin(game)), "MJ": _hidden(describe(record))}
    parts = [f"{name}[{value}]" for name, value in said.items()]
    notes = record.notes or (None,) * len(line)
    for (turn, move), note in zip(line, notes, strict=True):
        parts.append(f"{COLOURS[turn]}[{move_text(move.name)}{_time(note)}]")
        if note is not None:
            parts.append(f"MN[{_hidden(describe_note(note))}]")
    return f"(;{''.join(parts)};)"


def _result(record: GameRecord, over: bool, end: State) -> str:
    """Black's lead in discs; of a game that the rules did not end, all discs or none, and why."""
    if over and record.ending == "rules":
        black, white = end.tallies["discs"]
        return f"{black - white:+.3f}"
    if record.scores[0] == record.scores[1]:
        return "?" if record.ending == "cap" else "0.000"
    lead = len(end.cells) if record.scores[0] > record.scores[1] else -len(end.cells)
    return f"{lead:+.3f}" + (":r" if record.ending == "forfeit" else "")


def _time(note: MoveNote | None) -> str:
    if note is None or note.seconds is None or not 0 <= note.seconds < 1e7:
        return ""
    return f"//{note.seconds:.3f}"


def _plain(text: str) -> str:
    return " ".join(text.replace("[", "(").replace("]", ")").split())


def _hidden(fields: dict[str, Any]) -> str:
    return to_json(fields).replace("%", "%25").replace("[", "%5B").replace("]", "%5D")


# ---- reading ----


def read(source: RecordFile) -> Iterator[GameRecord]:
    steppers, text = Steppers(), source.text()
    line_of, at, found = line_numbers(text), 0, False
    while (begin := _skip(text, at)) < len(text):
        if not text.startswith("(;", begin):
            source.fail(line_of(begin), f"a game begins with (; but here is {short(text[begin : begin + 20])}")
        properties: list[tuple[str, str, int]] = []  # name, value, line
        at = _skip(text, begin + 2)
        while (match := PROPERTY.match(text, at)) is not None:
            properties.append((match[1], match[2], line_of(at)))
            at = _skip(text, match.end())
        ends = re.compile(r";?\s*\)").match(text, at)
        if ends is None:
            source.fail(line_of(min(at, len(text) - 1)), "the game does not end with ;) after its last property")
        at, found = ends.end(), True
        yield _record(properties, line_of(begin), source, steppers)
    if not found:
        source.fail(1, "no game found; a game is (;GM[Othello] ... ;)")


def _skip(text: str, at: int) -> int:
    """Past white space, and past the number of games that servers write first."""
    match = re.compile(r"\s*(?:\d{1,9}\s+(?=\(;))?").match(text, at)
    assert match is not None
    return match.end()


def _record(properties: list[tuple[str, str, int]], line: int, source: RecordFile, steppers: Steppers) -> GameRecord:
    said: dict[str, tuple[str, int]] = {}
    draft = Draft(line, {})
    for name, value, number in properties:
        if name in ("B", "W"):
            parts = [part.strip() for part in value.split("/")]
            note = MoveNote(float(parts[2])) if len(parts) > 2 and _TIME.fullmatch(parts[2]) else None
            draft.plies.append(Ply(move_name(value), number, COLOURS.index(name), note, value))
        elif name == "MN":
            if not draft.plies:
                source.fail(number, "a note before the first move")
            draft.noted = True
            draft.plies[-1].note = source.note(source.json(unquote(value), number), number)
        else:
            said.setdefault(name, (value, number))
    size = _size(said, line, source)
    if "MJ" in said:
        draft.fields = source.json(unquote(said["MJ"][0]), said["MJ"][1])
        if str(draft.fields.get("game")).partition("(")[0] != GAME:
            source.fail(line, f"{short(draft.fields.get('game'))} in a file of othello games")
        if not draft.noted:
            for ply in draft.plies:
                ply.note = None
    else:
        game = GAME if size == 8 else f"{GAME}(size={size})"
        _foreign(draft, {name: value for name, (value, _) in said.items()}, game, source, steppers)
    with source.at(line):
        stepper = steppers.start(draft.fields["game"], str(draft.fields.get("position", "")))
        start = board_text(State(stepper.game, stepper.states[0]))
    board = said["BO"][0].split()
    if [board[0], "".join(board[1:-1]), board[-1]] != start.split():
        source.fail(said["BO"][1], "BO: only games of Meijin can begin elsewhere than at the usual start")
    return finish(draft, source, steppers)


def _size(said: dict[str, tuple[str, int]], line: int, source: RecordFile) -> int:
    kind = said.get("GM", ("", line))[0]
    if kind.lower() != GAME:
        source.fail(line, f"GM[{kind[:20]}]: only games of Othello can be read")
    if "BO" not in said:
        source.fail(line, "the board, BO[...], is missing")
    value, number = said["BO"]
    words = value.split()
    if len(words) < 3 or not re.fullmatch(r"\d{1,2}", words[0]):
        source.fail(number, "BO must hold the size, the cells as -, * and O, and who moves")
    return int(words[0])


def _foreign(draft: Draft, said: dict[str, str], game: str, source: RecordFile, steppers: Steppers) -> None:
    """Players, times and result of a file without MJ."""
    agents = [" ".join(said.get(name, "?").split())[:MAX_TEXT] or "?" for name in ("PB", "PW")]
    headers = {name: said[name][:MAX_TEXT] for name in _KEPT if name in said}
    with source.at(draft.line):
        stepper = steppers.start(game)
        follow(draft.plies, stepper, source)
    draft.noted = any(ply.note is not None for ply in draft.plies)
    fields: dict[str, Any] = {"game": game, "agents": agents, "headers": headers, "scores": list(stepper.scores)}
    result = _RESULT.fullmatch(said.get("RE", "").strip())
    if stepper.turn == OVER:
        fields["ending"] = "rules"
    elif result is None:
        fields |= {"ending": "cap", "reason": "no result in the file"}
    else:
        lead = float(result[1])
        won = (lead > 0) - (lead < 0)
        fields["scores"] = [float(won), float(-won)]
        if result[2] in _LOST and won:
            fields |= {"ending": "forfeit", "forfeit": 1 if won > 0 else 0, "reason": _LOST[result[2]]}
        else:
            fields |= {"ending": "judged", "reason": f"RE[{said['RE'].strip()}]"}
    draft.fields = fields
