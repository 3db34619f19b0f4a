"""SGF files of other programs: games of Go, Othello, Gomoku and Hex from their start position."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from meijin.arena.formats import header
from meijin.arena.formats.common import FormatError, Ply, RecordFile, Steppers, follow
from meijin.arena.formats.header import MAX_TEXT, Header, typed
from meijin.arena.formats.sgf_points import letters, move_of
from meijin.arena.formats.sgf_text import SgfNode
from meijin.arena.record import GameRecord
from meijin.arena.stepper import Stepper
from meijin.core.catalogue import make
from meijin.core.errors import MeijinError
from meijin.core.expression import Call
from meijin.core.game import OVER
from meijin.core.state import State
from meijin.games.go import handicap_cells

#: Properties of the root that are kept for people.
KEPT = ("EV", "RO", "DT", "PC", "BR", "WR", "RU", "RE", "TM", "GN", "SO", "US", "AN", "AP", "KM", "HA")


def read_foreign(nodes: list[SgfNode], source: RecordFile, steppers: Steppers) -> GameRecord:
    root = nodes[0]
    fault: FormatError | None = None
    for expression in _candidates(nodes, source):
        with source.at(root.line):
            stepper = steppers.start(expression)
        plies = [ply for node in nodes for ply in _moves(node, stepper, source)]
        resigned = _resigned(plies)
        try:
            moves, _ = follow(plies, stepper, source)
        except FormatError as error:
            fault = fault or error
            if not _forbidden(stepper, plies):
                break
            continue
        with source.at(root.line):
            return _record(root, stepper, moves, resigned)
    assert fault is not None
    raise fault


def _forbidden(stepper: Stepper, plies: list[Ply]) -> bool:
    """Whether looser rules might allow the move that was refused: it is in turn and on an empty point."""
    ply = plies[min(stepper.ply, len(plies) - 1)]
    in_turn = stepper.turn == ply.turn and isinstance(ply.move, int)
    return in_turn and State(stepper.game, stepper.states[0]).cells[int(ply.move)] == 0


def _candidates(nodes: list[SgfNode], source: RecordFile) -> Iterator[str]:
    """Games that fit the root; the first whose rules allow all moves is taken."""
    root = nodes[0]
    said = root.properties
    number = _number(root, "GM", 1, source)
    kind = {1: "go", 2: "othello", 4: "gomoku", 11: "hex"}.get(number)
    if kind is None:
        source.fail(root.line, f"GM[{number}]: unknown game; Go is 1, Othello 2, Gomoku 4, Hex 11")
    size = _number(root, "SZ", {"go": 19, "othello": 8, "gomoku": 15, "hex": 11}[kind], source)
    params: dict[str, Any] = {"size": size}
    if kind != "go":
        for node in nodes:
            _no_setup(node, source)
        if kind == "hex" and any("swap" in value.lower() for node in nodes for value in node.properties.get("W", ())):
            params["swap"] = True
        yield str(Call(kind, (), params))
        return
    if "KM" in said:
        params["komi"] = _real(root, "KM", source)
    if stones := said.get("AB", []):
        params["handicap"] = len(stones)
        _expect_standard(root, size, stones, source)
    for node in nodes:
        _no_setup(node, source, allowed=("AB",) if node is root else ())
    if re.search("japan|korea", " ".join(said.get("RU", ())), re.IGNORECASE):
        params["scoring"] = "territory"
    # Files do not say which ko rule was in force; the strictest that allows the game is taken.
    looser: tuple[dict[str, Any], ...] = (
        {},
        {"superko": "situational"},
        {"superko": "simple"},
        {"superko": "simple", "suicide": True},
    )
    for more in looser:
        yield str(Call("go", (), params | more))


def _expect_standard(root: SgfNode, size: int, stones: list[str], source: RecordFile) -> None:
    try:
        game = make("go", size=size)
        standard = {letters(game, cell) for cell in handicap_cells(size, len(stones))}
    except MeijinError:
        standard = set()
    if set(stones) != standard:
        source.fail(root.line, "AB: set-up stones are not supported, except handicap stones on their standard points")


def _no_setup(node: SgfNode, source: RecordFile, allowed: tuple[str, ...] = ()) -> None:
    for name in ("AB", "AW", "AE"):
        if name in node.properties and name not in allowed:
            source.fail(
                node.line, f"{name}: set-up stones are not supported; only games from the start position can be read"
            )


def _number(root: SgfNode, name: str, default: int, source: RecordFile) -> int:
    value = root.properties.get(name, [str(default)])[0].strip()
    square = re.fullmatch(r"(\d{1,4})(?::\1)?", value)
    if square is None:
        source.fail(root.line, f"{name}[{value[:20]}]: expected a whole number")
    return int(square[1])


def _real(root: SgfNode, name: str, source: RecordFile) -> float:
    value = root.properties[name][0].strip()
    if not re.fullmatch(r"[+-]?\d{1,6}(?:\.\d{0,6})?", value):
        source.fail(root.line, f"{name}[{value[:20]}]: expected a number")
    return float(value)


def _moves(node: SgfNode, stepper: Stepper, source: RecordFile) -> Iterator[Ply]:
    for seat, name in enumerate("BW"):
        for value in node.properties.get(name, ()):
            try:
                yield Ply(move_of(stepper.game, value.strip()), node.line, seat, text=value or "pass")
            except MeijinError as error:
                if value.strip().lower() in ("resign", "forfeit"):
                    yield Ply("resign", node.line, seat)
                else:
                    source.fail(node.line, f"{name}[{value[:40]}]: {error}")


def _resigned(plies: list[Ply]) -> int | None:
    """Who resigned, if that is written as the last move, which is removed."""
    if plies and plies[-1].move in ("resign", "forfeit"):
        return plies.pop().turn
    return None


def _record(root: SgfNode, stepper: Stepper, moves: list[int], resigned: int | None) -> GameRecord:
    said = root.properties
    result = said.get("RE", [""])[0].strip()
    headers = {name: " ".join(said[name])[:MAX_TEXT] for name in KEPT if name in said}
    agents = tuple(" ".join(said.get(name, ["?"])[0].split())[:MAX_TEXT] or "?" for name in ("PB", "PW"))
    fields: dict[str, Any] = {"agents": agents, "headers": headers, "began": _date(said.get("DT", [""])[0])}
    scores, forfeit = _scores(result, resigned)
    over = stepper.turn == OVER
    if over and scores in (None, stepper.scores):
        fields |= {"scores": stepper.scores, "ending": "rules"}
    elif scores is None:
        fields |= {"scores": stepper.scores, "ending": "cap", "reason": "no result in the file"}
    elif forfeit is not None:
        fields |= {"scores": scores, "ending": "forfeit", "forfeit": forfeit, "reason": result or "resigned"}
    else:
        fields |= {"scores": scores, "ending": "judged", "reason": f"RE[{result}]"}
    said_ = typed(Header, {"game": str(stepper.game), **fields})
    return header.record(said_, str(stepper.game), moves, ())


def _scores(result: str, resigned: int | None) -> tuple[tuple[float, float] | None, int | None]:
    """The scores that the file states, if any, and the seat that resigned or lost on time."""
    if resigned is not None:
        return ((-1.0, 1.0) if resigned == 0 else (1.0, -1.0)), resigned
    if result.lower() in ("0", "draw", "jigo"):
        return (0.0, 0.0), None
    won = re.match(r"([BW])(?:\+\s*(.*)|$)", result, re.IGNORECASE)
    if won is None:
        return None, None
    winner = "BW".index(won[1].upper())
    gave_up = (won[2] or "")[:1].upper() in ("R", "T", "F")  # resign, time, forfeit
    return ((1.0, -1.0) if winner == 0 else (-1.0, 1.0)), (1 - winner if gave_up else None)


def _date(text: str) -> str:
    found = re.match(r"\d{4}(-\d{2}(-\d{2})?)?", text.strip())
    return found[0] if found else ""
