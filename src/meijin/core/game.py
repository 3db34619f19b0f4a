"""The contract of a game: rules on a fixed-size record, a board, and what the game declares about itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from meijin.core import compile as compiling
from meijin.core.boards import Board
from meijin.core.compile import Function, Kernel, interpreted
from meijin.core.drawing import Piece
from meijin.core.errors import BadParameter, IllegalMove, RuleError, UnknownName, suggest
from meijin.core.moves import Move, Path, named_moves, path_name, permuted

#: `turn` of a position where chance moves next, and of one where the game has ended.
CHANCE = -1
OVER = -2

#: Every function of the contract and its arguments; those in `OPTIONAL` may be left out.
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
}
OPTIONAL = ("odds", "planes", "heuristic", "sample", "policy", "noisy", "key", "owners")


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
        """Whether it exchanges seats: then the image of a start position is none, as the other seat is to move."""
        return self.seats != tuple(range(len(self.seats)))


@dataclass(eq=False)
class Game:
    """One game with its parameters fixed. Rules are plain functions that read and write a record in place."""

    _: KW_ONLY
    # what a position is, and what it looks like
    state: DTypeLike  # fields of the record
    board: Board
    pieces: Sequence[Piece]  # what each value of `cells` shows; value 0 is empty
    # capabilities
    seats: int
    num_moves: int  # moves are 0..num_moves-1
    longest: int  # no game lasts more plies (moves and chance outcomes together)
    num_outcomes: int = 0  # chance outcomes are 0..num_outcomes-1; 0: a game without chance
    branching: int | None = None  # most moves or outcomes in one position; default: as many as there are
    score_range: tuple[float, float] = (-1.0, 1.0)
    # rules
    start: Function
    turn: Function
    legal: Function
    play: Function
    score: Function
    cells: Function
    odds: Function | None = None
    planes: Function | None = None
    num_planes: int | None = None  # with `planes`: how many it writes
    heuristic: Function | None = None
    sample: Function | None = None
    policy: Function | None = None  # a legal move such as a sensible player might make, for playouts
    noisy: Function | None = None  # whether a move is worth searching past the horizon (captures, checks, pushes)
    key: Function | None = None  # 64 bits that tell positions apart, for a game that keeps them; else they are hashed
    owners: Function | None = None  # when the game is over: the seat that owns each cell, -1 for nobody
    # notation and interaction; by default move i places on cell i
    path: Callable[[int], Path] | None = None
    move_name: Callable[[int], str] | None = None
    outcome_path: Callable[[int], Path] | None = None
    outcome_name: Callable[[int], str] | None = None
    keeps: Sequence[str] | None = None  # names of the symmetries of the board that the rules keep; None: all
    swaps: Sequence[str] = ()  # names of those that the rules keep if the two seats are exchanged too
    views: Any = (
        None  # [seat, move] -> the move's number as that seat sees it, where `planes` turn the board to the mover
    )
    # filled in when the game is made through its registered function
    name: str = "game"
    title: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    id: str = ""  # canonical expression, parameters that differ from the defaults included

    def __post_init__(self) -> None:
        fields: Any = np.dtype(self.state)
        if fields.names is None:
            raise RuleError(f"state must be a record (a dtype with named fields), not {fields}")
        # Whole 64-bit words, so that a search can hash a record quickly.
        layout = {
            "names": list(fields.names),
            "formats": [fields[name] for name in fields.names],
            "offsets": [fields.fields[name][1] for name in fields.names],
            "itemsize": -(-fields.itemsize // 8) * 8,
        }
        words = np.dtype(layout, align=fields.isalignedstruct)  # type: ignore[call-overload]
        self.dtype: np.dtype[Any] = np.dtype((np.record, words))
        self.pieces = tuple(self.pieces)
        if self.branching is None:
            self.branching = max(self.num_moves, self.num_outcomes)
        lo, hi = self.score_range
        for ok, problem in (
            (self.seats >= 1, f"seats={self.seats}: a game needs at least one seat"),
            (self.num_moves >= 1, f"num_moves={self.num_moves}: a game needs at least one move"),
            (self.longest >= 1, f"longest={self.longest}: a game lasts at least one ply"),
            (lo < hi, f"score_range={self.score_range}: the lowest score comes first"),
            ((self.odds is None) == (self.num_outcomes == 0), "`odds` and `num_outcomes` belong together"),
            ((self.planes is None) == (self.num_planes is None), "`planes` and `num_planes` belong together"),
        ):
            if not ok:
                raise RuleError(problem)
        for rule, arguments in CONTRACT.items():
            _check_rule(rule, getattr(self, rule), arguments)
        if self.views is not None:
            self.views = np.ascontiguousarray(self.views, np.int32)
            if self.views.shape != (self.seats, self.num_moves) or any(
                not np.array_equal(np.sort(view), np.arange(self.num_moves)) for view in self.views
            ):
                raise RuleError("`views` must hold a permutation of the moves for every seat")
        if self.planes is None:
            self.planes, self.num_planes = _default_planes(self)
        self._kernels: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return self.id or self.name

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        from meijin.core.catalogue import make

        return make, (self.id,)  # a game travels between processes as its expression

    # ---- compilation ----

    def kernel(self, maker: Callable[[Game], Function], jit: bool | None = None) -> Function:
        """The kernel that `maker` specialises to this game, compiled unless MEIJIN_JIT=0 (or `jit=False`)."""
        jit = compiling.JIT if jit is None else jit
        if (maker, jit) not in self._kernels:
            plain = cast(Any, maker(self))
            self._kernels[maker, jit] = (
                Kernel(plain, f"{self.name}-{maker.__name__}", self._explain) if jit else interpreted(plain)
            )
        return cast(Function, self._kernels[maker, jit])

    def _explain(self, error: Exception) -> None:
        from meijin.core.check.diagnose import explain

        explain(self, error)

    def states(self, count: int) -> NDArray[Any]:
        """An array of that many blank records; `start` makes positions of them."""
        return np.zeros(count, self.dtype)

    # ---- capabilities, derived ----

    @property
    def chance(self) -> bool:
        return self.num_outcomes > 0

    @property
    def bounded(self) -> bool:
        """Whether both ends of the score range are finite."""
        return all(math.isfinite(end) for end in self.score_range)

    # ---- notation ----

    @cached_property
    def paths(self) -> tuple[Path, ...]:
        """[move] -> what a person clicks to make it."""
        if self.path is None and self.num_moves > len(self.board.cells):
            raise RuleError(
                f"{self.num_moves} moves on {len(self.board.cells)} cells: say with `path` which cells make each move"
            )
        return tuple(self.path(m) if self.path else (m,) for m in range(self.num_moves))

    @cached_property
    def outcome_paths(self) -> tuple[Path, ...]:
        """[outcome] -> the cells it touches, so that symmetries know where it goes."""
        return tuple(self.outcome_path(o) if self.outcome_path else (o,) for o in range(self.num_outcomes))

    @cached_property
    def moves(self) -> tuple[Move, ...]:
        name = self.move_name or (lambda m: path_name(self.board, self.paths[m]))
        return named_moves("move", self.num_moves, name)

    @cached_property
    def outcomes(self) -> tuple[Move, ...]:
        name = self.outcome_name or (lambda o: path_name(self.board, self.outcome_paths[o]))
        return named_moves("outcome", self.num_outcomes, name)

    @cached_property
    def _by_name(self) -> tuple[dict[str, Move], dict[str, Move]]:
        return {m.name.lower(): m for m in self.moves}, {o.name.lower(): o for o in self.outcomes}

    def find(self, text: str, outcome: bool = False) -> Move:
        """The move (or chance outcome) of that name, in either case."""
        names = self._by_name[outcome]
        found = names.get(text.strip().lower())
        if found is None:
            kind = "an outcome" if outcome else "a move"
            raise IllegalMove(f"'{text}' is not {kind} of {self}{suggest(text, names)}")
        return found

    @cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        """The board's symmetries that the game keeps and its moves allow, the identity first."""
        found = self.board.symmetries
        for name in (*(self.keeps or ()), *self.swaps):
            if name not in found:
                raise UnknownName(f"{self}: its board has no symmetry '{name}'{suggest(name, found)}")
        same = tuple(range(self.seats)), tuple(range(len(self.pieces)))
        kept = []
        for name, cells in found.items():
            if self.keeps is None or name in self.keeps or name in self.swaps or name == "identity":
                moves, outcomes = permuted(self.paths, cells), permuted(self.outcome_paths, cells)
                if moves is not None and outcomes is not None:
                    seats, values = self._exchanged if name in self.swaps else same
                    kept.append(Symmetry(name, cells, moves, outcomes, seats, values))
        return tuple(kept)

    @cached_property
    def _exchanged(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Seats and values when two seats are exchanged: a seat's n-th piece becomes the other's n-th."""
        owned = [[v for v, piece in enumerate(self.pieces) if piece.owner == seat] for seat in range(self.seats)]
        trays = any(cell.tray is not None for cell in self.board.cells)
        if self.seats != 2 or len(owned[0]) != len(owned[1]) or trays:
            raise RuleError(f"{self}: `swaps` needs two seats with equally many pieces each, and a board without trays")
        values = list(range(len(self.pieces)))
        for one, other in zip(*owned, strict=True):
            values[one], values[other] = other, one
        return (1, 0), tuple(values)


def _check_rule(rule: str, fn: Any, arguments: tuple[str, ...]) -> None:
    if fn is None and rule in OPTIONAL:
        return
    code = getattr(fn, "__code__", None)
    if code is None:
        raise RuleError(f"rule '{rule}' must be a plain function, not {fn!r}")
    if code.co_argcount != len(arguments):
        raise RuleError(
            f"rule '{rule}' (line {code.co_firstlineno} of {code.co_filename}) takes {code.co_argcount} arguments; "
            f"the contract is {rule}({', '.join(arguments)})"
        )


def _default_planes(game: Game) -> tuple[Function, int]:
    """A plane a piece, the mover's first and the other seats' in turn order, then a plane a seat: 1 for the mover's."""
    count, seats, turn, cells = len(game.pieces) - 1, game.seats, game.turn, game.cells
    table = np.zeros((seats, count + 1), np.int64)  # [mover, piece] -> plane
    for mover in range(seats):

        def key(value: int, mover: int = mover) -> tuple[int, int]:
            owner = game.pieces[value].owner
            return (seats if owner is None else (owner - mover) % seats), value

        for plane, value in enumerate(sorted(range(1, count + 1), key=key)):
            table[mover, value] = plane

    num_cells = len(game.board.cells)

    def planes(s: Any, out: Any) -> None:
        mover = turn(s)
        if mover < 0:
            mover = 0
        cells(s, out[0])  # the values, for a moment, in the first plane: no scratch memory on a GPU
        for i in range(num_cells):
            value = np.int64(out[0, i])
            for k in range(count):
                out[k, i] = 0.0
            if value > 0:
                out[table[mover, value], i] = 1.0
            for k in range(seats):
                out[count + k, i] = 1.0 if k == mover else 0.0

    return planes, count + seats


def check_sizes(**limits: tuple[int, int, int]) -> None:
    """Raise for the first parameter outside its bounds: `check_sizes(width=(width, 1, 26))`."""
    for name, (value, low, high) in limits.items():
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise BadParameter(f"{name}={value!r}: choose a whole number from {low} to {high}")
