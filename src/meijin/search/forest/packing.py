"""How planes are packed in the record: one bit per cell where they are 0 and 1, one number where they are flat."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from meijin.core import kernels
from meijin.core.compile import Function
from meijin.core.game import Game
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.search.forest.layout import BITS, FLAT, WHOLE

SAMPLES = 512  # positions looked at to learn what a game's planes are like


@dataclass(frozen=True, slots=False)
class Packing:
    """[plane] -> its kind. Learned from random play, and checked whenever a position is packed."""

    kinds: tuple[int, ...]
    cells: int

    @cached_property
    def bit_planes(self) -> list[int]:
        return [p for p, kind in enumerate(self.kinds) if kind == BITS]

    @cached_property
    def flat_planes(self) -> list[int]:
        return [p for p, kind in enumerate(self.kinds) if kind == FLAT]

    @cached_property
    def whole_planes(self) -> list[int]:
        return [p for p, kind in enumerate(self.kinds) if kind == WHOLE]

    @property
    def bytes(self) -> int:
        return -(-len(self.bit_planes) * self.cells // 8)

    @property
    def numbers(self) -> int:
        return len(self.flat_planes) + len(self.whole_planes) * self.cells


def packing(game: Game) -> Packing:
    """Look at positions of random games: a plane that was ever neither 0 nor 1 is flat or whole from then on."""
    found = game._kernels.get(packing)
    if found is not None:
        return found
    planes, cells = game.num_planes or 0, len(game.board.cells)
    bits, flat = np.ones(planes, bool), np.ones(planes, bool)
    rng = stream(20261115)
    random, moves, probs = game.kernel(kernels.random_walks), *kernels.buffers(game)
    states, out = game.states(1), np.zeros((planes, cells), np.float32)
    look = game.kernel(kernels.planes)
    for sample in range(SAMPLES):
        plies = sample % (min(game.longest, 1024) + 1) if game.longest < SAMPLES else sample * 2
        random(states, plies, rng.reshape(1, 1), moves, probs)
        state = State(game, states[0]).roll(rng)
        if state.is_over:
            continue
        states[0] = state.record
        look(states, 0, out)
        bits &= ((out == 0) | (out == 1)).all(axis=1)
        flat &= (out == out[:, :1]).all(axis=1)
    # A plane that is always flat costs a number; as bits it would cost one bit per cell.
    kinds = [FLAT if f and (not b or cells > 32) else BITS if b else WHOLE for b, f in zip(bits, flat, strict=True)]
    never_seen = [p for p in range(planes) if bits[p] and flat[p]]
    for p in never_seen:  # blank in random play, perhaps not in good play: bits can hold any shape
        kinds[p] = BITS
    game._kernels[packing] = found = Packing(tuple(kinds), cells)
    return found


def make_pack(game: Game) -> Function:
    """`pack(x, bits, numbers)`: planes -> bytes and numbers; returns 0, or 1 + the plane that does not fit."""
    layout = packing(game)
    kinds, planes, cells, size = np.array(layout.kinds, np.int64), len(layout.kinds), layout.cells, layout.bytes

    def pack(x: Any, bits: Any, numbers: Any) -> int:
        fault, at, n, byte = 0, 0, 0, 0
        for p in range(planes):
            if kinds[p] == BITS:
                for i in range(cells):
                    if x[p, i] != 0.0:
                        byte |= 1 << (at & 7)
                        if x[p, i] != 1.0:
                            fault = p + 1
                    at += 1
                    if at & 7 == 0:
                        bits[(at >> 3) - 1] = byte
                        byte = 0
            elif kinds[p] == FLAT:
                numbers[n] = x[p, 0]
                n += 1
                for i in range(cells):
                    if x[p, i] != x[p, 0]:
                        fault = p + 1
            else:
                for i in range(cells):
                    numbers[n] = x[p, i]
                    n += 1
        if at & 7:
            bits[size - 1] = byte
        return fault

    return pack
