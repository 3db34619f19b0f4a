"""SGF files of other programs: Go, Othello, Gomoku and Hex, as far as the rules here can follow them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from meijin.arena.formats.common import FormatError, Ply, Rules, Source, assemble, follow
from meijin.arena.formats.fields import MOST_TEXT
from meijin.arena.formats.sgf_points import letters, move_of
from meijin.arena.formats.sgf_text import Node
from meijin.arena.record import GameRecord
from meijin.arena.walk import Walk
from meijin.core.errors import MeijinError
from meijin.core.expression import Call
from meijin.core.game import OVER
from meijin.core.state import State
from meijin.games.go import handicap_cells

#: What is kept of the root for people.
KEPT = ("EV", "RO", "DT", "PC", "BR", "WR", "RU", "RE", "TM", "GN", "SO", "US", "AN", "AP", "KM", "HA")


def read_foreign(nodes: list[Node], source: Source, rules: Rules) -> GameRecord:
    root = nodes[0]
    fault: FormatError | None = None
    for expression in _candidates(nodes, source):
        try:
            walk = rules.walk(expression)
        except MeijinError as error:
            source.fail(root.line, str(error))
        plies = [ply for node in nodes for ply in _moves(node, walk, source)]
        resigned = _resigned(plies)
        try:
            moves, _ = follow(plies, walk, source)
        except FormatError as error:
            fault = fault or error
            if not _forbidden(walk, plies):
                break
            continue
        return _record(root, walk, moves, resigned)
    assert fault is not None
    raise fault


def _forbidden(walk: Walk, plies: list[Ply]) -> bool:
    """Whether the move that could not be made is one that looser rules might allow: on an empty point, in turn."""
    ply = plies[min(walk.ply, len(plies) - 1)]
    in_turn = walk.turn == ply.turn and isinstance(ply.move, int)
    return in_turn and State(walk.game, walk.states[0]).cells[int(ply.move)] == 0


def _candidates(nodes: list[Node], source: Source) -> Iterator[str]:
    """Expressions of the game that the root describes; the first whose rules allow the moves is the one."""
    root = nodes[0]
    said = root.properties
    number = _number(root, "GM", 1, source)
    kind = {1: "go", 2: "othello", 4: "gomoku", 11: "hex"}.get(number)
    if kind is None:
        source.fail(root.line, f"GM[{number}]: this game is not known here; Go is 1, Othello 2, Gomoku 4, Hex 11")
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
    # Nobody says which ko rule was in force; the strictest that allows the game is taken.
    looser: tuple[dict[str, Any], ...] = (
        {},
        {"superko": "situational"},
        {"superko": "simple"},
        {"superko": "simple", "suicide": True},
    )
    for more in looser:
        yield str(Call("go", (), params | more))


def _expect_standard(root: Node, size: int, stones: list[str], source: Source) -> None:
    try:
        from meijin.core.catalogue import make

        game = make("go", size=size)
        standard = {letters(game, cell) for cell in handicap_cells(size, len(stones))}
    except MeijinError:
        standard = set()
    if set(stones) != standard:
        source.fail(root.line, "AB: set-up stones are not supported, but for handicap stones on their standard points")


def _no_setup(node: Node, source: Source, allowed: tuple[str, ...] = ()) -> None:
    for name in ("AB", "AW", "AE"):
        if name in node.properties and name not in allowed:
            source.fail(node.line, f"{name}: set-up stones are not supported; only games from their start can be read")


def _number(root: Node, name: str, default: int, source: Source) -> int:
    value = root.properties.get(name, [str(default)])[0].strip()
    square = re.fullmatch(r"(\d{1,4})(?::\1)?", value)
    if square is None:
        source.fail(root.line, f"{name}[{value[:20]}]: expected a whole number")
    return int(square[1])


def _real(root: Node, name: str, source: Source) -> float:
    value = root.properties[name][0].strip()
    if not re.fullmatch(r"[+-]?\d{1,6}(?:\.\d{0,6})?", value):
        source.fail(root.line, f"{name}[{value[:20]}]: expected a number")
    return float(value)


def _moves(node: Node, walk: Walk, source: Source) -> Iterator[Ply]:
    for seat, name in enumerate("BW"):
        for value in node.properties.get(name, ()):
            try:
                yield Ply(move_of(walk.game, value.strip()), node.line, seat, text=value or "pass")
            except MeijinError as error:
                if value.strip().lower() in ("resign", "forfeit"):
                    yield Ply("resign", node.line, seat)
                else:
                    source.fail(node.line, f"{name}[{value[:40]}]: {error}")


def _resigned(plies: list[Ply]) -> int | None:
    """Who gave up, where that is written as the last move, which is taken off."""
    if plies and plies[-1].move in ("resign", "forfeit"):
        return plies.pop().turn
    return None


def _record(root: Node, walk: Walk, moves: list[int], resigned: int | None) -> GameRecord:
    said = root.properties
    result = said.get("RE", [""])[0].strip()
    headers = {name: " ".join(said[name])[:MOST_TEXT] for name in KEPT if name in said}
    agents = tuple(" ".join(said.get(name, ["?"])[0].split())[:MOST_TEXT] or "?" for name in ("PB", "PW"))
    fields: dict[str, Any] = {"agents": agents, "headers": headers, "began": _date(said.get("DT", [""])[0])}
    scores, forfeit = _scores(result, resigned)
    over = walk.turn == OVER
    if over and scores in (None, walk.scores):
        fields |= {"scores": walk.scores, "ending": "rules"}
    elif scores is None:
        fields |= {"scores": walk.scores, "ending": "cap", "reason": "no result in the file"}
    elif forfeit is not None:
        fields |= {"scores": scores, "ending": "forfeit", "forfeit": forfeit, "reason": result or "resigned"}
    else:
        fields |= {"scores": scores, "ending": "judged", "reason": f"RE[{result}]"}
    return assemble(fields, str(walk.game), moves, ())


def _scores(result: str, resigned: int | None) -> tuple[tuple[float, float] | None, int | None]:
    """The scores that the file states, if any, and the seat that gave up."""
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
