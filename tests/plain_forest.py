"""A forest that runs as plain Python: rules of the search can be watched closely, and nothing is compiled for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from meijin.core.game import Game
from meijin.core.rng import streams
from meijin.core.state import State
from meijin.search.forest import Settings, layout, leaves, steps
from meijin.search.forest.driver import memory
from meijin.search.forest.layout import Arrays, with_records
from meijin.search.forest.selection import halving_table

#: (state of a leaf) -> logits [move] as the mover numbers them, and values [seat], seat 0's first.
Oracle = Callable[[State], tuple[Any, Any]]


def shrug(state: State) -> tuple[Any, Any]:
    """No opinion on anything."""
    return np.zeros(state.game.num_moves), np.zeros(state.game.seats)


class PlainForest:
    """Trees of `game` in the forest's own memory, driven by the forest's own functions without compilation."""

    gpu = False

    def __init__(
        self,
        game: Game,
        count: int,
        settings: Settings,
        oracle: Oracle = shrug,
        *,
        selfplay: bool = True,
        slots: int = 256,
        seed: int = 5,
        edges: int | None = None,
        rivals: int = 0,
    ):
        self.game, self.count, self.oracle = game, count, oracle
        shapes = memory(game, count, settings, slots, selfplay=True)
        if edges is not None:
            shapes["edges"] = shapes["edges"][0], (count, edges)
        made: dict[str, Any] = {name: np.zeros(shape, dtype) for name, (dtype, shape) in shapes.items()}
        made |= {"rng": streams(seed, count), "options": settings.array()}
        made["options"][steps.RIVALS] = rivals
        made["table"] = halving_table(min(settings.considered, game.branching or 1), settings.simulations)
        self.arrays = Arrays(**with_records(made, game.dtype))
        self.leaves = settings.leaves
        make = leaves.step if self.leaves > 1 else steps.step_with(settings.gumbel, selfplay)
        self._step = make(game)
        self.each(steps.new_game(game))

    def each(self, run: Callable[[Any, int], None]) -> None:
        with np.errstate(over="ignore"):
            for i in range(self.count):
                run(self.arrays, i)

    def set(self, *states: State) -> None:
        """Search these positions."""
        for i, state in enumerate(states):
            self.arrays.roots[i] = state.record
        self.each(steps.forget(self.game))

    def step(self) -> None:
        self.each(self._step)
        for i in range(self.count * self.leaves):
            if self.arrays.asked[i, layout.LEAF_WAITS] if self.leaves > 1 else self.arrays.info[i, layout.WAITS]:
                state = State(self.game, self.arrays.here[i])
                logits, values = self.oracle(state)
                self.arrays.logits[i] = logits
                self.arrays.outlook[i] = np.roll(values, -state.turn)

    def steps(self, count: int) -> None:
        for _ in range(count):
            self.step()

    def edges(self, tree: int = 0, node: int = 0) -> Any:
        """The edges of a node, as they are now."""
        own = self.arrays.nodes[tree, node]
        return self.arrays.edges[tree, own.first : own.first + own.count]
