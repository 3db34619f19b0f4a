"""The contract of a game: rules on a fixed-size record, a board, and what the game declares about itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from meijin.core import compile as compiling
from meijin.core.boards import Board
from meijin.core.compile import Function, Kernel, Tiered, interpreted
from meijin.core.contract import CHANCE, CONTRACT, OVER, Symmetry, check_declarations, default_planes, take_rules
from meijin.core.errors import IllegalMove, RuleError, UnknownName, suggest
from meijin.core.moves import Move, Path, checked_path, named_moves, path_name, permuted
from meijin.core.parameters import Parameter
from meijin.core.pieces import Piece
from meijin.core.records import Record


@dataclass(eq=False)
class Game:
    """One game with its parameters fixed. Rules are plain functions that read and write a record in place."""

    _: KW_ONLY
    # what a position is, and what it looks like
    state: DTypeLike  # fields of the record
    board: Board
    pieces: Sequence[Piece]  # what each value of `cells` shows; value 0 is empty
    rules: Any  # the functions, named as in `CONTRACT`, or a dict of them; afterwards a dict
    # capabilities
    seats: int
    num_moves: int  # moves are 0..num_moves-1
    longest: int  # no game lasts more plies (moves and chance outcomes together)
    num_outcomes: int = 0  # chance outcomes are 0..num_outcomes-1; 0: a game without chance
    branching: int | None = None  # most moves or outcomes in one position; default: as many as there are
    score_range: tuple[float, float] = (-1.0, 1.0)
    compiled: bool = True  # False: the rules are Python that Numba cannot compile, and run as they are, slowly
    num_planes: int | None = None  # with the rule `planes`: how many it writes
    # notation and interaction; by default move i places on cell i
    path: Callable[[int], Path | None] | None = None  # what a person clicks; None: nobody can make this move by hand
    move_name: Callable[[int], str] | None = None
    outcome_path: Callable[[int], Path | None] | None = None
    outcome_name: Callable[[int], str] | None = None
    words: Mapping[str, str] = field(default_factory=dict)  # a word in a path -> what its button says
    # symmetries and alphabets
    keeps: Sequence[str] | None = None  # names of the symmetries of the board that the rules keep; None: all
    swaps: Sequence[str] = ()  # names of those that the rules keep if the two seats are exchanged too
    more_symmetries: Callable[[Game], Iterable[Symmetry]] | None = None  # that geometry does not show
    turned: Sequence[Sequence[int]] | None = None  # [seat][cell] -> where `planes` show it to that seat; None: there
    alphabets: Sequence[Sequence[int]] | None = None  # [cell] -> the values it can have; None: any
    supports: Sequence[int] | None = None  # [cell] -> that which must be filled before it, or -1; n-tuples look at it
    beginnings: Sequence[str] = ()  # parameters that hardly change what a move is worth: see `alike`
    # for people
    seat_names: Sequence[str] = ()  # default: the text of the seat's piece, else "player 1"
    tallies: Sequence[str] = ()  # what the rule `tally` counts, such as "discs"
    endings: Sequence[str] = ()  # how a game can end, such as "checkmate"; the rule `ending` says which
    refusals: Sequence[str] = ()  # why `setup` may refuse: it returns 0, or 1 + the place in this list
    write: Callable[[tuple[int, ...], int], str] | None = None  # (cells, turn) -> a position as text
    read: Callable[[str], tuple[Sequence[int], int]] | None = None  # its inverse; may raise BadParameter
    # filled in when the game is made through its registered function
    name: str = "game"
    title: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    id: str = ""  # canonical expression, parameters that differ from the defaults included
    help: str = ""  # the rules for people; default: the function's docstring
    parameters: Sequence[Parameter] = ()  # what the function declares about its arguments

    # the rules, by name
    start: Function = field(init=False)
    turn: Function = field(init=False)
    legal: Function = field(init=False)
    play: Function = field(init=False)
    score: Function = field(init=False)
    cells: Function = field(init=False)
    odds: Function | None = field(init=False)
    planes: Function | None = field(init=False)  # what a net sees; a default is derived from `cells`
    heuristic: Function | None = field(init=False)
    sample: Function | None = field(init=False)  # a random move or outcome, without listing them all
    policy: Function | None = field(init=False)  # a legal move that a sensible player might make, for playouts
    noisy: Function | None = field(init=False)  # whether a move is worth searching past the horizon
    key: Function | None = field(init=False)  # 64 bits that tell positions apart; else records are hashed
    owners: Function | None = field(init=False)  # when the game is over: the seat that owns each cell, -1 for nobody
    setup: Function | None = field(init=False)  # the position with these cells and turn; 0, or why not
    tally: Function | None = field(init=False)  # [tally, seat]: numbers worth showing during a game
    ending: Function | None = field(init=False)  # when the game is over: the place in `endings`

    def __post_init__(self) -> None:
        self.rules = take_rules(self)
        for name in CONTRACT:
            setattr(self, name, self.rules.get(name))
        check_declarations(self)
        self.dtype = _in_words(np.dtype(self.state))
        if self.branching is None:
            self.branching = max(self.num_moves, self.num_outcomes)
        if self.planes is None:
            self.planes, self.num_planes = default_planes(self)
            self.default_planes = True
        else:
            self.default_planes = False
        self._kernels: dict[Any, Any] = {}

    def changed(self, **changes: Any) -> Game:
        """This game with other rules or declarations: `game.changed(legal=fewer, longest=20)`."""
        rules = {name: changes.pop(name) for name in list(changes) if name in CONTRACT}
        if self.default_planes and "planes" not in rules:
            changes.setdefault("num_planes", None)
        return replace(self, rules=self.rules | rules, **changes)

    def __repr__(self) -> str:
        return self.id or self.name

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        from meijin.core.catalogue import make

        return make, (self.id,)  # a game travels between processes as its expression

    # ---- compilation ----

    def kernel(self, maker: Callable[[Game], Function], jit: bool | None = None) -> Function:
        """The kernel that `maker` specialises to this game, compiled unless MEIJIN_JIT=0 (or `jit=False`)."""
        jit = self.compiled and (compiling.JIT if jit is None else jit)
        if (maker, jit) not in self._kernels:
            plain = cast(Any, maker(self))
            self._kernels[maker, jit] = self._compiled(maker, plain) if jit else interpreted(plain)
        return cast(Function, self._kernels[maker, jit])

    def tiered(self, maker: Callable[[Game], Function]) -> Function:
        """The same kernel, interpreted until it has taken long enough to be worth compiling; for single positions."""
        if not (compiling.JIT and self.compiled):
            return self.kernel(maker)
        if (maker, "tiered") not in self._kernels:
            plain = cast(Any, maker(self))
            self._kernels[maker, "tiered"] = Tiered(self._compiled(maker, plain))
        return cast(Function, self._kernels[maker, "tiered"])

    def _compiled(self, maker: Callable[[Game], Function], plain: Any) -> Kernel:
        return Kernel(plain, f"{self.name}-{maker.__name__}", self._explain)

    def _explain(self, error: Exception) -> None:
        from meijin.core.check.diagnose import explain

        explain(self, error)

    def alike(self, other: Game) -> bool:
        """Whether much the same moves are good in both: they differ at most in parameters named by `beginnings`."""
        kept = [{k: v for k, v in each.params.items() if k not in self.beginnings} for each in (self, other)]
        return self.name == other.name and kept[0] == kept[1]

    def states(self, count: int) -> NDArray[Any]:
        """An array of that many blank records, to be filled by `start`."""
        return np.zeros(count, self.dtype)

    # ---- capabilities, derived ----

    @property
    def chance(self) -> bool:
        return self.num_outcomes > 0

    @property
    def bounded(self) -> bool:
        """Whether both ends of the score range are finite."""
        return all(math.isfinite(end) for end in self.score_range)

    @property
    def seat_range(self) -> tuple[int, int]:
        """The fewest and the most seats that the parameter `players` allows; without one, the seats there are."""
        for each in self.parameters:
            if each.name == "players" and each.low is not None and each.high is not None:
                return int(each.low), int(each.high)
        return self.seats, self.seats

    # ---- people ----

    def seat_name(self, seat: int) -> str:
        """What a seat is called: its name, the text of its only kind of piece, or "player 1"."""
        if self.seat_names:
            return self.seat_names[seat]
        own = {piece.text for piece in self.pieces if piece.owner == seat}
        return own.pop() if len(own) == 1 else f"player {seat + 1}"

    def describe(self) -> dict[str, Any]:
        """Everything a page or a drawing needs to know about the game, as plain data for JSON."""
        from meijin.core.describe import describe

        return describe(self)

    # ---- notation ----

    @cached_property
    def paths(self) -> tuple[Path | None, ...]:
        """[move] -> what a person clicks to make it; None where nobody can."""
        if self.path is None and self.num_moves > len(self.board.cells):
            raise RuleError(
                f"{self.num_moves} moves on {len(self.board.cells)} cells: say with `path` which cells make each move"
            )
        return self._paths("path", self.path, self.num_moves)

    @cached_property
    def outcome_paths(self) -> tuple[Path | None, ...]:
        """[outcome] -> the cells it touches, so that symmetries know where it goes."""
        if self.outcome_path is None and self.num_outcomes > len(self.board.cells):
            return tuple((str(o),) for o in range(self.num_outcomes))
        return self._paths("outcome_path", self.outcome_path, self.num_outcomes)

    def _paths(self, rule: str, path: Callable[[int], Path | None] | None, count: int) -> tuple[Path | None, ...]:
        return tuple(checked_path(rule, m, path(m)) if path else (m,) for m in range(count))

    @cached_property
    def moves(self) -> tuple[Move, ...]:
        return named_moves("move", self.num_moves, self.move_name or self._path_name(self.paths, "move_name"))

    @cached_property
    def outcomes(self) -> tuple[Move, ...]:
        name = self.outcome_name or self._path_name(self.outcome_paths, "outcome_name")
        return named_moves("outcome", self.num_outcomes, name)

    def _path_name(self, paths: Sequence[Path | None], rule: str) -> Callable[[int], str]:
        def name(number: int) -> str:
            path = paths[number]
            if path is None:
                raise RuleError(f"number {number} has no path, so it needs a name: give `{rule}`")
            return path_name(self.board, path)

        return name

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

    # ---- symmetries ----

    @cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        """The board's symmetries that the game keeps and its moves allow, then declared ones; the identity first."""
        found = self.board.symmetries
        for name in (*(self.keeps or ()), *self.swaps):
            if name not in found:
                raise UnknownName(f"{self}: its board has no symmetry '{name}'{suggest(name, found)}")
        kept = []
        for name, cells in found.items():
            if self.keeps is None or name in self.keeps or name in self.swaps or name == "identity":
                seats, values = self.exchanged if name in self.swaps else (None, None)
                if symmetry := self.symmetry(name, cells, seats=seats, values=values):
                    kept.append(symmetry)
        known = {(s.cells, s.moves, s.seats, s.values) for s in kept}
        for symmetry in self.more_symmetries(self) if self.more_symmetries else ():
            what = symmetry.cells, symmetry.moves, symmetry.seats, symmetry.values
            if what not in known:
                known.add(what)
                kept.append(symmetry)
        return tuple(kept)

    def symmetry(
        self,
        name: str,
        cells: Sequence[int],
        *,
        moves: Sequence[int] | None = None,
        outcomes: Sequence[int] | None = None,
        seats: Sequence[int] | None = None,
        values: Sequence[int] | None = None,
    ) -> Symmetry | None:
        """The symmetry that takes cell i to `cells[i]`; moves and outcomes follow from their paths unless given.

        None when the image of some path is not a path: then the moves do not allow it.
        """
        cells = tuple(int(c) for c in cells)
        moves = permuted(self.paths, cells) if moves is None else tuple(int(m) for m in moves)
        outcomes = permuted(self.outcome_paths, cells) if outcomes is None else tuple(int(o) for o in outcomes)
        if moves is None or outcomes is None:
            return None
        return Symmetry(
            name,
            cells,
            moves,
            outcomes,
            tuple(range(self.seats)) if seats is None else tuple(seats),
            tuple(range(len(self.pieces))) if values is None else tuple(int(v) for v in values),
        )

    @cached_property
    def exchanged(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Seats and values when two seats are exchanged: a seat's n-th piece becomes the other's n-th."""
        owned = [[v for v, piece in enumerate(self.pieces) if piece.owner == seat] for seat in range(self.seats)]
        trays = any(cell.tray is not None for cell in self.board.cells)
        if self.seats != 2 or len(owned[0]) != len(owned[1]) or trays:
            raise RuleError(f"{self}: `swaps` needs two seats with equally many pieces each, and a board without trays")
        values = list(range(len(self.pieces)))
        for one, other in zip(*owned, strict=True):
            values[one], values[other] = other, one
        return (1, 0), tuple(values)

    @cached_property
    def views(self) -> NDArray[np.int32] | None:
        """[seat, move] -> the number of the move as that seat sees it; None where every seat sees the board alike."""
        if self.turned is None:
            return None
        found = [permuted(self.paths, cells) for cells in self.turned]
        if None in found:
            raise RuleError(f"{self}: `turned` takes a move to a path that no move has")
        return np.array(found, np.int32)


__all__ = ["CHANCE", "OVER", "Game", "Symmetry"]


def _in_words(fields: Any) -> np.dtype[Any]:
    """The record with every field aligned, which GPUs need, and of whole 64-bit words, which are quickly hashed."""
    formats = {name: fields[name] for name in fields.names}
    if any(fields.fields[name][1] % kind.alignment for name, kind in formats.items()):
        fields = np.dtype({"names": list(formats), "formats": list(formats.values())}, align=True)
    layout = {
        "names": list(formats),
        "formats": list(formats.values()),
        "offsets": [fields.fields[name][1] for name in formats],
        "itemsize": -(-fields.itemsize // 8) * 8,
    }
    words = np.dtype(layout, align=fields.isalignedstruct)  # type: ignore[call-overload]
    return np.dtype((Record, words))
