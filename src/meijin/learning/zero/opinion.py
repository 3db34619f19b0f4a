"""A zero net without any search: what it thinks of the moves in a position, and of the positions after them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from meijin.core.game import Game
from meijin.core.state import State
from meijin.learning.zero.inference import Evaluator
from meijin.learning.zero.nets import Net
from meijin.learning.zero.tree import net_of
from meijin.search.forest.scale import unscaled

Values = tuple[float, ...]

BATCH = 32  # positions evaluated at a time


class Opinion:
    """The raw net of a checkpoint file, or one at hand."""

    def __init__(self, net: Path | Net):
        self._net = net_of(net) if isinstance(net, Path) else net
        self._evaluator: Evaluator | None = None

    def unfit(self, game: Game) -> str | None:
        why = self._net.unfit(game)
        return why and f"its net is one of {self._net.game}: {why}"

    def _ask(self, states: list[State]) -> tuple[NDArray[np.float32], list[Values]]:
        """Logits as the movers number moves, and values of positions in which seats are to move."""
        game = states[0].game
        if self._evaluator is None or self._evaluator.game is not game:
            net = self._net if self._net.game is game else self._net.for_game(game)
            self._evaluator = Evaluator(net, BATCH, threads=1)
        logits, units = self._evaluator(np.stack([state.planes for state in states]))
        values = []
        for state, seen in zip(states, units, strict=True):
            by_seat = np.roll(seen, state.turn)  # the net speaks from the mover's view
            values.append(tuple(unscaled(game, float(value)) for value in by_seat))
        return logits, values

    def priors(self, state: State) -> list[float]:
        """The probability of every legal move, in their order."""
        (logits,), _ = self._ask([state])
        legal = np.array([int(move) for move in state.legal_moves])
        seen = legal if state.game.views is None else state.game.views[state.turn, legal]
        weights = np.exp(logits[seen].astype(np.float64) - logits[seen].max())
        found: list[float] = (weights / weights.sum()).tolist()
        return found

    def position(self, state: State) -> Values:
        return self._ask([state])[1][0]

    def moves(self, state: State) -> list[Values]:
        """What each seat can expect after every legal move, in their order; chance is averaged over."""
        seats, leaves = state.game.seats, [_leaves(state.copy().play(move), 1.0) for move in state.legal_moves]
        asked = [leaf for part in leaves for leaf, _ in part if not leaf.is_over]
        values = dict(zip(map(id, asked), self._ask(asked)[1] if asked else (), strict=True))
        worth = [[(p, leaf.scores if leaf.is_over else values[id(leaf)]) for leaf, p in part] for part in leaves]
        return [tuple(sum(p * value[k] for p, value in part) for k in range(seats)) for part in worth]


def _leaves(state: State, p: float) -> list[tuple[State, float]]:
    """The positions that chance leads to from here, with their probabilities."""
    if not state.is_chance:
        return [(state, p)]
    return [leaf for outcome, q in state.odds.items() for leaf in _leaves(state.copy().play(outcome), p * q)]
