"""A zero net without any search: what it thinks of the moves in a position, and of the positions after them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from meijin.core.game import Game
from meijin.core.state import State
from meijin.learning.nets.evaluator import Evaluator
from meijin.learning.nets.images import images
from meijin.learning.nets.weights import HasWeights
from meijin.learning.zero.worker import make_evaluator
from meijin.search.forest.scale import evened, unscaled

Values = tuple[float, ...]


class RawNet:
    """A net, or an evaluator of one, which evaluates up to `batch` positions at a time.

    With `symmetries` it says the mean of what it thinks of a position and of its images under the game's symmetries.
    """

    def __init__(self, net: HasWeights | Evaluator, batch: int = 32, device: str = "cpu", symmetries: bool = False):
        self.batch, self._device, self.symmetries = batch, device, symmetries
        self._net = None if isinstance(net, Evaluator) else net.weights()
        self._evaluator = net if isinstance(net, Evaluator) else None

    def load(self, net: HasWeights) -> None:
        """Continue with these weights."""
        self._net, self._evaluator = net.weights(), None

    def unfit(self, game: Game) -> str | None:
        if self._net is None:
            return None
        why = self._net.unfit(game)
        return why and f"its net is one of {self._net.game}: {why}"

    def _ask(self, states: list[State]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The net's own words about positions in which seats are to move."""
        game = states[0].game
        if self._net is not None and (self._evaluator is None or self._evaluator.game is not game):
            self._evaluator = make_evaluator(self._net.for_game(game), self.batch, self._device)
        assert self._evaluator is not None
        planes = np.stack([state.planes for state in states])
        if not self.symmetries:
            return self._evaluator(planes)
        group = images(game)
        rows = np.array([[group.rows(k, state.turn) for state in states] for k in range(group.count)])
        seen = np.take_along_axis(planes[None], group.sources[rows][:, :, None], 3)
        logits, values = self._evaluator(seen.reshape(-1, *planes.shape[1:]))
        logits = logits.reshape(*rows.shape, -1)
        return (
            np.take_along_axis(logits, group.moves[rows], 2).mean(0),
            values.reshape(*rows.shape, -1).mean(0),
        )

    def _logits(self, states: list[State]) -> list[NDArray[np.float64]]:
        """Of the legal moves, in their order; the net numbers moves as the mover sees them."""
        found = []
        for state, logits in zip(states, self._ask(states)[0], strict=True):
            legal = np.array([int(move) for move in state.legal_moves])
            seen = legal if state.game.views is None else state.game.views[state.turn, legal]
            found.append(logits[seen].astype(np.float64))
        return found

    def _values(self, states: list[State]) -> list[Values]:
        """By seat, in the game's scores; the net speaks from the mover's view."""
        found = [np.roll(values, state.turn) for state, values in zip(states, self._ask(states)[1], strict=True)]
        if self._net is not None and self._net.config.draw:
            found = [evened(by_seat) for by_seat in found]
        return [tuple(unscaled(states[0].game, float(value)) for value in by_seat) for by_seat in found]

    def moves(self, records: Any) -> NDArray[np.int64]:
        """The likeliest legal move in each of these positions, an array of records of the net's game."""
        game = self._net.game if self._net is not None else self._evaluator.game  # type: ignore[union-attr]
        states = [State(game, record) for record in records]
        found = [
            int(state.legal_moves[int(logits.argmax())])
            for state, logits in zip(states, self._logits(states), strict=True)
        ]
        return np.array(found, np.int64)

    def priors(self, state: State) -> list[float]:
        """The probability of every legal move, in their order."""
        (logits,) = self._logits([state])
        weights = np.exp(logits - logits.max())
        found: list[float] = (weights / weights.sum()).tolist()
        return found

    def position(self, state: State) -> Values:
        """What each seat can expect of a position in which a seat is to move."""
        return self._values([state])[0]

    def move_values(self, state: State) -> list[Values]:
        """What each seat can expect after every legal move, in their order; chance is averaged over."""
        seats, leaves = state.game.seats, [_leaves(state.copy().play(move), 1.0) for move in state.legal_moves]
        asked = [leaf for part in leaves for leaf, _ in part if not leaf.is_over]
        values = dict(zip(map(id, asked), self._values(asked) if asked else (), strict=True))
        worth = [[(p, leaf.scores if leaf.is_over else values[id(leaf)]) for leaf, p in part] for part in leaves]
        return [tuple(sum(p * value[k] for p, value in part) for k in range(seats)) for part in worth]


def _leaves(state: State, p: float) -> list[tuple[State, float]]:
    """The positions that chance leads to from here, with their probabilities."""
    if not state.is_chance:
        return [(state, p)]
    return [leaf for outcome, q in state.odds.items() for leaf in _leaves(state.copy().play(outcome), p * q)]
