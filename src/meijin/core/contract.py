"""The contract of games: its rules and their arguments, symmetries, and the checks of what a game declares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from meijin.core.boards import Board
from meijin.core.compile import Function
from meijin.core.errors import RuleError, suggest
from meijin.core.pieces import Piece

if TYPE_CHECKING:
    from meijin.core.game import Game

#: `turn` of a position where chance moves next, and of one where the game has ended.
CHANCE = -1
OVER = -2

#: Every rule of the contract and its arguments; those in `OPTIONAL` may be left out.
CONTRACT = {
    "start": ("s",),
    "turn": ("s",),
    "legal": ("s", "moves"),
    "play": ("s", "move"),
    "odds": ("s", "moves", "probs"),
    "score": ("s", "scores"),
    "cells": ("s", "cells"),
    "planes": ("s", "planes"),
    "heuristic": ("s", "scores"),
    "sample": ("s", "rng"),
    "policy": ("s", "rng"),
    "noisy": ("s", "move"),
    "key": ("s",),
    "owners": ("s", "owners"),
    "setup": ("s", "cells", "turn"),
    "tally": ("s", "counts"),
    "ending": ("s",),
}
OPTIONAL = frozenset(CONTRACT) - {"start", "turn", "legal", "play", "score", "cells"}


@dataclass(frozen=True, slots=True)
class Symmetry:
    """A symmetry of a game. Law: playing `moves[m]` in the image of a position gives the image of playing `m`.

    In the image, cell `cells[i]` has value `values[v]` where cell i had v, it is the turn of `seats[k]` where it was
    that of k, and k's score is that of `seats[k]`. Most symmetries leave seats and values alone.
    """

    name: str
    cells: tuple[int, ...]  # cell i goes to cells[i]
    moves: tuple[int, ...]  # move m becomes moves[m]
    outcomes: tuple[int, ...]  # chance outcome o becomes outcomes[o]
    seats: tuple[int, ...]  # seat k becomes seats[k]
    values: tuple[int, ...]  # value v of a cell becomes values[v]

    @property
    def swaps(self) -> bool:
        """Whether it exchanges seats: then the image of a start position is not one, as the other seat is to move."""
        return self.seats != tuple(range(len(self.seats)))


def take_rules(game: Game) -> dict[str, Function]:
    """The rules by name, from a list of functions or a dict; raise for the first that cannot be one."""
    given = game.rules
    if isinstance(given, Mapping):
        rules = dict(given)
    elif isinstance(given, Sequence) and not isinstance(given, str):
        rules = {}
        for fn in given:
            name = getattr(fn, "__name__", None)
            if name is None:
                raise RuleError(f"rules: {fn!r} is not a function; list the rules, as in rules=(start, turn, ...)")
            if name in rules:
                raise RuleError(f"rules: '{name}' is given twice")
            rules[name] = fn
    else:
        raise RuleError(f"rules must be the functions of the game, as in rules=(start, turn, ...), not {given!r}")
    for name in rules:
        if name not in CONTRACT:
            raise RuleError(f"rules: '{name}' is not a rule{suggest(name, CONTRACT)}; rules: {', '.join(CONTRACT)}")
    for name, arguments in CONTRACT.items():
        rule = rules.get(name)
        if rule is None and name not in OPTIONAL:
            raise RuleError(f"rules: '{name}' is missing; write it as {name}({', '.join(arguments)})")
        _check_rule(name, rule, arguments)
    return {name: fn for name, fn in rules.items() if fn is not None}


def check_declarations(game: Game) -> None:
    """Raise for the first declaration of a wrong type, or that contradicts another."""
    fields: Any = np.dtype(game.state)
    if fields.names is None:
        raise RuleError(f"state must be a record (a dtype with named fields), not {fields}")
    _check_type("board", game.board, Board, "a Board, as in boards.square(8)")
    game.pieces = _each("pieces", game.pieces, Piece, "pieces, as in (Piece('.'), Piece('X', owner=0))")
    for name in ("seats", "num_moves", "longest", "num_outcomes", "branching", "num_planes"):
        value = getattr(game, name)
        if value is not None:
            if isinstance(value, np.integer):
                setattr(game, name, int(value))
            else:
                _check_type(name, value, int, "a whole number")
    for name in ("path", "move_name", "outcome_path", "outcome_name", "more_symmetries", "write", "read"):
        value = getattr(game, name)
        if value is not None and not callable(value):
            raise RuleError(f"{name} must be a function, not {value!r}{_comma(value)}")
    for name in ("seat_names", "tallies", "endings", "refusals", "swaps"):
        setattr(game, name, _each(name, getattr(game, name), str, f"strings, as in {name}=('one', 'two')"))
    if game.keeps is not None:
        game.keeps = _each("keeps", game.keeps, str, "names of symmetries, as in keeps=('mirror',)")
    lo, hi = game.score_range
    for ok, problem in (
        (game.seats >= 1, f"seats={game.seats}: must be at least 1"),
        (game.num_moves >= 1, f"num_moves={game.num_moves}: must be at least 1"),
        (game.longest >= 1, f"longest={game.longest}: must be at least 1"),
        (lo < hi, f"score_range={game.score_range}: the lowest score comes first"),
        ((game.odds is None) == (game.num_outcomes == 0), "`odds` and `num_outcomes` belong together"),
        ((game.planes is None) == (game.num_planes is None), "`planes` and `num_planes` belong together"),
        ((game.tally is None) == (not game.tallies), "the rule `tally` and the names `tallies` belong together"),
        ((game.ending is None) == (not game.endings), "the rule `ending` and the texts `endings` belong together"),
        ((game.write is None) == (game.read is None), "`write` and `read` belong together"),
        (game.write is None or game.setup is not None, "`write` and `read` need the rule `setup`"),
        (
            len(game.seat_names) in (0, game.seats),
            f"seat_names: {len(game.seat_names)} names for {game.seats} seats; give one per seat, or none",
        ),
    ):
        if not ok:
            raise RuleError(problem)
    cells = len(game.board.cells)
    if game.turned is not None:
        game.turned = tuple(tuple(int(c) for c in seat) for seat in game.turned)
        if len(game.turned) != game.seats or any(sorted(seat) != list(range(cells)) for seat in game.turned):
            raise RuleError("`turned` must hold one permutation of the cells per seat")
    if game.alphabets is not None:
        game.alphabets = tuple(tuple(sorted({int(v) for v in cell})) for cell in game.alphabets)
        if len(game.alphabets) != cells or any(
            not cell or cell[0] < 0 or cell[-1] >= len(game.pieces) for cell in game.alphabets
        ):
            raise RuleError(f"`alphabets` must list, for each of the {cells} cells, indices into `pieces`")


def _check_rule(rule: str, fn: Any, arguments: tuple[str, ...]) -> None:
    if fn is None:
        return
    code = getattr(fn, "__code__", None)
    if code is None:
        raise RuleError(f"rule '{rule}' must be a plain function, not {fn!r}")
    if code.co_argcount != len(arguments):
        raise RuleError(
            f"rule '{rule}' (line {code.co_firstlineno} of {code.co_filename}) takes {code.co_argcount} arguments; "
            f"the contract is {rule}({', '.join(arguments)})"
        )


def _shown(value: Any) -> str:
    """A value in an error: of a board with all its cells only the beginning."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:60]}...{text[-1]}"


def _comma(value: Any) -> str:
    """A remark on the usual cause of a tuple in the place of a value."""
    return "; a trailing comma makes a tuple" if isinstance(value, tuple) and len(value) == 1 else ""


def _check_type(name: str, value: Any, kind: type, wanted: str) -> None:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise RuleError(f"{name} must be {wanted}, not {_shown(value)}{_comma(value)}")


def _each(name: str, values: Any, kind: type, wanted: str) -> tuple[Any, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise RuleError(f"{name} must be {wanted}, not {_shown(values)}")
    found = tuple(values)
    for value in found:
        if not isinstance(value, kind):
            comma = _comma(found) if isinstance(value, tuple) else ""
            raise RuleError(f"{name} must be {wanted}; {_shown(value)} is not one{comma}")
    return found


def default_planes(game: Game) -> tuple[Function, int]:
    """One plane per piece, the mover's first and the other seats' in turn order, then one per seat: 1 for the mover."""
    count, seats, turn, cells = len(game.pieces) - 1, game.seats, game.turn, game.cells
    shown = np.zeros((seats, count), np.float32)  # [mover, plane] -> the piece that it shows
    for mover in range(seats):

        def key(value: int, mover: int = mover) -> tuple[int, int]:
            owner = game.pieces[value].owner
            return (seats if owner is None else (owner - mover) % seats), value

        for plane, value in enumerate(sorted(range(1, count + 1), key=key)):
            shown[mover, plane] = value

    num_cells = len(game.board.cells)

    def planes(s: Any, out: Any) -> None:
        mover = turn(s)
        if mover < 0:
            mover = 0
        cells(s, out[count])  # the values, for a moment, in the plane after the pieces: no scratch memory on a GPU
        for k in range(count):  # comparing all cells, and not only the occupied ones, runs on vector units
            value = shown[mover, k]
            for i in range(num_cells):
                out[k, i] = np.float32(out[count, i] == value)
        for k in range(seats):
            mine = np.float32(k == mover)
            for i in range(num_cells):
                out[count + k, i] = mine

    return planes, count + seats
