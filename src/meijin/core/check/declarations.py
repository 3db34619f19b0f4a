"""The laws that are tried before any play: what a game says about itself, its names, and the source of its rules."""

from __future__ import annotations

from typing import Any

import numpy as np

from meijin.core.check import diagnose
from meijin.core.check.diagnose import place, raised_at
from meijin.core.check.laws import Evidence, Tried
from meijin.core.errors import RuleError
from meijin.core.game import Game
from meijin.core.moves import Path
from meijin.core.records import Record

_STEPS = "a tuple of steps: a cell such as 3, a frozenset of cells of which any will do, or a word such as 'pass'"


def declarations(evidence: Evidence) -> Tried:
    """What the game says about itself is possible."""
    game = evidence.game
    names = game.dtype.names or ()
    options = max(game.num_moves, game.num_outcomes)
    owners = [piece.owner for piece in game.pieces if piece.owner is not None]
    trays = [cell.tray for cell in game.board.cells if cell.tray is not None]
    shadowed = [name for name in names if hasattr(Record, name)]
    strange = [name for name in names if game.dtype[name].base.kind not in "iufb"]
    seats = f"seats are 0 to {game.seats - 1}"
    claims: list[tuple[bool, str, str]] = [
        (len(game.pieces) >= 2, f"`pieces` has {len(game.pieces)}", "give the empty piece and at least one more"),
        (all(0 <= o < game.seats for o in owners), f"`pieces` have the owners {owners}", seats),
        (all(0 <= t < game.seats for t in trays), f"`board` has trays of the seats {trays}", seats),
        (
            1 <= (game.branching or 0) <= options,
            f"branching={game.branching}",
            f"choose from 1 to {options}, the number of moves or outcomes",
        ),
        (not shadowed, f"`state` has fields that mean something else to numpy: {', '.join(shadowed)}", "rename them"),
        (
            not strange,
            f"`state` has fields that are not numbers: {', '.join(strange)}",
            "use integer, float or bool fields",
        ),
        *(
            (
                not isinstance(getattr(game, list_), str),
                f"`{list_}` is the text {getattr(game, list_)!r}",
                f"give a tuple of names: {list_}=({getattr(game, list_)!r},)",
            )
            for list_ in ("keeps", "swaps")
        ),
    ]
    for ok, problem, remedy in claims:
        if not ok:
            raise RuleError(f"{game}: {problem}\n  remedy: {remedy}")
    tried = len(claims)
    for rule, kind, count in (("path", "move", game.num_moves), ("outcome_path", "outcome", game.num_outcomes)):
        seen: dict[Path, int] = {}
        for number in range(count):
            path = _path(game, rule, kind, number)
            if path is not None and (other := seen.setdefault(path, number)) != number:
                raise RuleError(
                    f"{game}: `{rule}` is {path!r} for both {kind}s {other} and {number}\n  remedy: "
                    "paths are unique; a word such as '+' can tell two moves apart"
                )
            tried += 1
    return Tried(tried, "declarations")


def _path(game: Game, rule: str, kind: str, number: int) -> Path | None:
    """What a person clicks to make a move; None where nobody can."""
    cells = len(game.board.cells)
    path = _answer(game, rule, kind, number) if getattr(game, rule) else (number,)
    if path is None:
        name = "move_name" if kind == "move" else "outcome_name"
        if getattr(game, name) is None:
            remedy = f"give `{name}`: without cells a {kind} has no name"
            raise RuleError(f"{game}: `{rule}` of {kind} {number} is None\n  remedy: {remedy}")
        return None
    steps = [c for step in path for c in (step if isinstance(step, frozenset) else (step,))] if _is_path(path) else None
    if steps is None or not path or frozenset() in path or "" in path:
        remedy = f"return {_STEPS}; or None if nobody can click this {kind}"
        raise RuleError(f"{game}: `{rule}` of {kind} {number} is {path!r}{_at(game, rule)}\n  remedy: {remedy}")
    outside = [c for c in steps if not isinstance(c, str) and not 0 <= c < cells]
    if outside:
        remedy = f"say with `{rule}` which cells make each {kind}; cells are 0 to {cells - 1}"
        problem = f"`{rule}` of {kind} {number} is {path!r}, on a board of {cells} cells"
        raise RuleError(f"{game}: {problem}{_at(game, rule)}\n  remedy: {remedy}")
    return path


def _is_path(path: Any) -> bool:
    def is_cell(step: Any) -> bool:
        return isinstance(step, int | np.integer) and not isinstance(step, bool)

    return isinstance(path, tuple) and all(
        isinstance(step, str) or is_cell(step) or (isinstance(step, frozenset) and all(map(is_cell, step)))
        for step in path
    )


def _answer(game: Game, rule: str, kind: str, number: int) -> Any:
    """What a function that names or places a move returns for it."""
    fn = getattr(game, rule)
    try:
        return fn(number)
    except Exception as error:
        problem = f"`{rule}` fails for {kind} {number}: {type(error).__name__}: {error}"
        remedy = f"it is called with every {kind} from 0 to num_{kind}s-1"
        raise RuleError(f"{game}: {problem}{_at(game, rule, error)}\n  remedy: {remedy}") from None


def _at(game: Game, rule: str, error: Exception | None = None) -> str:
    """Where a function is written, or its line that an exception passed, if it is written in Python."""
    fn = getattr(game, rule)
    if not hasattr(fn, "__code__"):
        return ""
    return f"\n  at {place(*(raised_at(fn, error) if error else (fn, None)))}"


def notation(evidence: Evidence) -> Tried:
    """Every name finds its move again, and no two are alike."""
    game = evidence.game
    for kind, rule, count in (("move", "move_name", game.num_moves), ("outcome", "outcome_name", game.num_outcomes)):
        for number in range(count) if getattr(game, rule) else ():
            name = _answer(game, rule, kind, number)
            if not isinstance(name, str):
                remedy = "return a string without spaces, such as 'a1' or 'pass'"
                raise RuleError(f"{game}: `{rule}` of {kind} {number} is {name!r}{_at(game, rule)}\n  remedy: {remedy}")
        try:
            _ = game.moves if kind == "move" else game.outcomes
        except RuleError as error:
            problem, _, remedy = str(error).rpartition("; ")
            raise RuleError(f"{game}: `{rule}`: {problem}{_at(game, rule)}\n  remedy: {remedy}") from None
    for outcome, named in ((False, game.moves), (True, game.outcomes)):
        for move in named:
            if game.find(move.name, outcome) != move:
                raise RuleError(f"{game}: the name '{move.name}' finds another move\n  remedy: give each its own name")
    return Tried(game.num_moves + game.num_outcomes, "names")


def plain_rules(evidence: Evidence) -> Tried:
    """Rules use numbers, fields and constant arrays only, so that they compile for the CPU and the GPU."""
    return Tried(diagnose.inspect(evidence.game), "functions")
