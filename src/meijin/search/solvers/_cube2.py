"""The 2x2x2 cube solved: how far each of its 3,674,160 positions is from the solved one.

A position is 7 corners, as the one at d3-l3-b4 never moves: which corner is where, as the rank of a permutation, and
how they are twisted, as a number in base 3. Six twists give the seventh. Both numbers change on their own, so two
small tables turn any face of any position, and a breadth-first search fills a byte for each. It takes about a second
and is kept in the cache folder.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from meijin.core import kernels
from meijin.core.agent import Analysis, Limit, MoveInfo, must_move
from meijin.core.catalogue import make
from meijin.core.compile import cache_folder
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import Game
from meijin.core.moves import Move
from meijin.core.state import State

#: [corner] -> its cells, the one on the upper or lower face first, then clockwise. The last corner never moves.
CORNERS = np.array(
    ((3, 4, 9), (2, 8, 17), (0, 16, 21), (1, 20, 5), (13, 11, 6), (12, 19, 10), (15, 7, 22), (14, 23, 18))
)
MOVING = 7
ORDERS, TWISTS = 5040, 729  # 7!, 3**6
POSITIONS = ORDERS * TWISTS
FAR = np.uint8(255)  # not reached
_SUM = hashlib.sha256().digest_size  # a file begins with the digest of the rest


class Turns(NamedTuple):
    """What a clockwise quarter turn does to the two numbers of a position."""

    order: Any  # [order, face] -> order
    twist: Any  # [twist, face] -> twist


# ---- positions as numbers ----


@functools.cache
def _orders() -> tuple[Any, dict[tuple[int, ...], int]]:
    """[order, place] -> corner, and the way back."""
    listed = list(itertools.permutations(range(MOVING)))
    return np.array(listed), {order: rank for rank, order in enumerate(listed)}


def position(stickers: Any) -> int:
    """The number of a position, 0 for the solved one; -1 if no twisting leads there."""
    colours = np.array(stickers)[CORNERS].tolist()  # [place, cell] -> colour
    home = (1 + CORNERS // 4).tolist()  # [corner, cell] -> colour
    order, twists = [], []
    for seen in colours:
        for corner, twist in itertools.product(range(len(home)), range(3)):
            if seen == home[corner][-twist:] + home[corner][:-twist]:
                order.append(corner)
                twists.append(twist)
    rank = _orders()[1].get(tuple(order[:MOVING]))
    if len(order) <= MOVING or rank is None or order[MOVING] != MOVING or twists[MOVING] or sum(twists) % 3:
        return -1
    return rank * TWISTS + sum(twist * 3**place for place, twist in enumerate(twists[: MOVING - 1]))


def turns(metric: str) -> Turns:
    """The tables of quarter turns, from what the game's own moves do to a cube with 24 different stickers."""
    game = make("cube", metric=metric)
    ranks, rank_of = _orders()
    faces = game.num_moves // (3 if metric == "half" else 2)
    by_order, by_twist = np.zeros((ORDERS, faces), np.int32), np.zeros((TWISTS, faces), np.int32)
    digits = np.arange(TWISTS)[:, None] // 3 ** np.arange(MOVING - 1) % 3  # [twist, place]
    digits = np.concatenate((digits, -digits.sum(1, keepdims=True) % 3), axis=1)
    where = {int(cell): (corner, k) for corner, cells in enumerate(CORNERS) for k, cell in enumerate(cells)}
    for face in range(faces):
        states = game.states(1)
        states["stickers"] = np.arange(24)
        game.kernel(kernels.play, jit=False)(states, 0, face * game.num_moves // faces)
        came = [where[int(cell)] for cell in states["stickers"][0][CORNERS[:MOVING, 0]]]  # [place] -> (place, cell)
        source = [place for place, _ in came]
        by_order[:, face] = [rank_of[order] for order in map(tuple, ranks[:, source].tolist())]
        # The sticker from cell k of its old place is now on cell 0 of the new one: twisted by -k.
        twisted = (digits[:, source] - [k for _, k in came]) % 3
        by_twist[:, face] = twisted[:, : MOVING - 1] @ 3 ** np.arange(MOVING - 1)
    return Turns(by_order, by_twist)


def after(turn: Turns, where: Any, face: int, quarters: int) -> Any:
    """Turn a face of one position or of many."""
    order, twist = where // TWISTS, where % TWISTS
    for _ in range(quarters):
        order, twist = turn.order[order, face], turn.twist[twist, face]
    return order * TWISTS + twist


# ---- how far each is ----


def measure(turn: Turns, metric: str) -> Any:
    """[position] -> moves to the solved one, breadth first: a whole distance at a time."""
    far = np.full(POSITIONS, FAR)
    far[0] = 0
    edge, distance = np.zeros(1, np.int64), 0
    while len(edge):
        distance += 1
        for face, quarters in itertools.product(range(turn.order.shape[1]), (1, 2, 3) if metric == "half" else (1, 3)):
            reached = after(turn, edge, face, quarters)
            far[reached[far[reached] == FAR]] = distance
        edge = np.flatnonzero(far == distance)
    return far


@functools.cache
def distances(metric: str) -> tuple[Turns, Any]:
    """The tables of a metric: from the cache folder, else computed and kept there. A damaged file is computed again."""
    turn = turns(metric)
    rules = hashlib.sha256(turn.order.tobytes() + turn.twist.tobytes()).hexdigest()[:16]
    path = cache_folder() / f"cube-{metric}-{rules}.bin"
    found = _read(path)
    if found is None:
        found = measure(turn, metric)
        _write(path, found)
    found.flags.writeable = False  # shared by all solvers
    return turn, found


def _read(path: Path) -> Any:
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if len(data) != _SUM + POSITIONS or hashlib.sha256(data[_SUM:]).digest() != data[:_SUM]:
        return None
    return np.frombuffer(data, np.uint8, offset=_SUM)


def _write(path: Path, found: Any) -> None:
    part = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(hashlib.sha256(found.tobytes()).digest() + found.tobytes())
        part.replace(path)
    except OSError:  # a full or read-only disk costs the next start a second, nothing else
        with suppress(OSError):
            part.unlink()


# ---- the solver ----


class Cube2Solver:
    """Solves the cube in as few moves as can be."""

    def __init__(self, game: Game):
        self.game, self.stop_flag = game, np.zeros(1, np.int64)  # it answers at once
        self._turns, self._far = distances(game.params["metric"])
        kinds = (1, 3, 2)[: game.num_moves // self._turns.order.shape[1]]  # quarter turns of R, R' and R2
        self._steps = tuple((m // len(kinds), kinds[m % len(kinds)]) for m in range(game.num_moves))

    def distance(self, state: State) -> int:
        """How many moves the position is from the solved one, whatever the game's limit."""
        return int(self._far[self._find(state)])

    def expected_seconds(self, state: State) -> float:
        return 0.0  # a look at a table

    def analyse(self, state: State, limit: Limit = Limit()) -> Analysis:  # noqa: B008 - frozen
        """A move is worth 1 if the cube can still be solved in the moves left, else 0; the quickest comes first."""
        must_move(state)
        began = time.perf_counter()
        where = self._find(state)
        left = int(self.game.params["max_moves"]) - int(state.record.moves)
        lines = [self._line(where, move) for move in state.legal_moves]
        lines.sort(key=len)
        infos = tuple(
            MoveInfo(line[0], value=(1.0 if len(line) <= left else 0.0,), proven=True, pv=line) for line in lines
        )
        return Analysis(
            turn=state.turn,
            moves=infos,
            value=infos[0].value,
            proven=True,
            nodes=sum(map(len, lines)),
            depth=len(lines[0]),
            seconds=time.perf_counter() - began,
            note="moves to the solved cube: " + ", ".join(f"{line[0]} {len(line)}" for line in lines),
        )

    def _find(self, state: State) -> int:
        if state.game.id != self.game.id:
            raise BadParameter(f"a position of {state.game} was given to the solver of {self.game}")
        where = position(state.record.stickers)
        if where < 0:
            raise MeijinError("no twisting of a solved cube gives these stickers: it cannot be solved")
        return where

    def _line(self, where: int, first: Move) -> tuple[Move, ...]:
        """The move, then the shortest way from there."""
        line = [first]
        where = int(after(self._turns, where, *self._steps[first]))
        while where:
            ahead = [int(after(self._turns, where, *step)) for step in self._steps]
            best = min(range(len(ahead)), key=lambda m: self._far[ahead[m]])
            line.append(self.game.moves[best])
            where = ahead[best]
        return tuple(line)
