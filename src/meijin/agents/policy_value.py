"""Agents that ask a trained net without a search of its own: `policy(path)`, `value(path)`, and both in one search,
`policy_value(policy, value)`.

A path is a run's directory, whose latest checkpoint plays, or a checkpoint file; `zero` or `classic` made it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from meijin.agents.wrap import Wrap
from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.options import at_least, between
from meijin.core.rng import below, choose, fresh_seed, stream, uniform
from meijin.core.state import State
from meijin.learning.files import find, is_zero

if TYPE_CHECKING:
    from meijin.learning.nets.classic import ClassicNet
    from meijin.learning.zero.raw_net import RawNet

Values = tuple[float, ...]


class Priors(Protocol):
    """A net that knows which moves look good."""

    def priors(self, state: State) -> Sequence[float]:
        """The probability of every legal move, in their order; they add up to 1."""

    def unfit(self, game: Game) -> str | None:
        """Why it cannot look at positions of that game; None when it can."""


class Worth(Protocol):
    """A net that knows what positions are worth."""

    def move_values(self, state: State) -> list[Values]:
        """What each seat can expect after every legal move, in their order, in the game's scores."""

    def position(self, state: State) -> Values:
        """What each seat can expect of a position in which a seat is to move."""

    def unfit(self, game: Game) -> str | None:
        """Why it cannot look at positions of that game; None when it can."""


def net_of(path: str, want: Literal["policy", "value"], symmetries: bool = False) -> RawNet | ClassicNet:
    """The net of a checkpoint, whatever made it; a classic one must be of the kind that is wanted."""
    if not is_zero(path):
        from meijin.learning.nets.classic import ClassicNet

        if symmetries:
            raise BadParameter(f"symmetries=True: '{path}' is a classic net; only nets of zero are asked so")
        return ClassicNet(path, want)
    from meijin.learning.nets.weights import load
    from meijin.learning.zero.raw_net import RawNet

    return RawNet(load(find(path)), symmetries=symmetries)


class Policy(Agent):
    """Plays by a net's policy alone: moves are sampled by their probabilities, or the likeliest is taken.

    `path`: a run's directory or a checkpoint. `sample=False`: always the likeliest move. `temperature` sharpens the
    probabilities below 1 and flattens them above. `symmetries=True` asks about all mirror images and turns of the
    position, too, and takes the mean. In an analysis the drawn move comes first, the others by probability.
    """

    def __init__(
        self,
        path: str,
        sample: bool = True,
        temperature: float = 1.0,
        seed: int | None = None,
        symmetries: bool = False,
    ):
        at_least("temperature", temperature, 1e-3)  # sample=False takes the likeliest
        self.net: Priors = net_of(path, "policy", symmetries)
        self.sample, self.temperature = sample, temperature
        self.deterministic = not sample
        self.reseed(fresh_seed() if seed is None else seed)

    def unfit(self, game: Game) -> str | None:
        return self.net.unfit(game)

    def reseed(self, seed: int) -> None:
        self._rng = stream(seed)

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        began = time.perf_counter()
        priors = list(self.net.priors(state))
        infos = [MoveInfo(move, prior=p, pv=(move,)) for move, p in zip(state.legal_moves, priors, strict=True)]
        order = sorted(range(len(infos)), key=lambda i: -priors[i])
        drawn = self._draw(np.array(priors)) if self.sample else order[0]
        found = tuple(infos[i] for i in _first(order, drawn))
        seconds = time.perf_counter() - began
        yield Analysis(state.turn, found, nodes=1, seconds=seconds, random=priors[drawn] < max(priors))

    def _draw(self, priors: Any) -> int:
        weights = (priors / priors.max()) ** (1 / self.temperature)
        with np.errstate(over="ignore"):
            drawn = int(choose(self._rng, weights / weights.sum(), len(weights)))
        return drawn if weights[drawn] > 0 else int(weights.argmax())  # rounding may lead past the last likely one


class Value(Agent):
    """Plays the move that a value net thinks best; in `epsilon` of cases any move, to vary and to explore.

    `path`: a run's directory or a checkpoint. `symmetries=True` asks about all mirror images and turns of positions,
    too, and takes the mean. In an analysis the chosen move comes first, the others by value.
    """

    def __init__(self, path: str, epsilon: float = 0.1, seed: int | None = None, symmetries: bool = False):
        between("epsilon", epsilon, 0.0, 1.0)
        self.net: Worth = net_of(path, "value", symmetries)
        self.epsilon = epsilon
        self.deterministic = epsilon == 0
        self.reseed(fresh_seed() if seed is None else seed)

    def unfit(self, game: Game) -> str | None:
        return self.net.unfit(game)

    def reseed(self, seed: int) -> None:
        self._rng = stream(seed)

    def value(self, state: State) -> Values:
        return super().value(state) if state.turn < 0 else self.net.position(state)

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        began = time.perf_counter()
        values = self.net.move_values(state)
        infos = [MoveInfo(move, value=v, pv=(move,)) for move, v in zip(state.legal_moves, values, strict=True)]
        order = sorted(range(len(infos)), key=lambda i: -values[i][state.turn])
        best = chosen = order[0]
        with np.errstate(over="ignore"):
            if self.epsilon and uniform(self._rng) < self.epsilon:
                chosen = int(below(self._rng, len(order)))
        yield Analysis(
            state.turn,
            tuple(infos[i] for i in _first(order, chosen)),
            self.net.position(state),
            nodes=1,
            depth=1,
            seconds=time.perf_counter() - began,
            random=chosen != best,
        )


class _Both(Agent):
    """The policy net's priors with the value net's values, for a search to use."""

    deterministic = True

    def __init__(self, policy: str, value: str):
        self.policy: Priors = net_of(policy, "policy")
        self.worth: Worth = net_of(value, "value")

    def unfit(self, game: Game) -> str | None:
        return self.policy.unfit(game) or self.worth.unfit(game)

    def value(self, state: State) -> Values:
        return super().value(state) if state.turn < 0 else self.worth.position(state)

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        priors, values = self.policy.priors(state), self.worth.move_values(state)
        infos = [
            MoveInfo(move, prior=p, value=v, pv=(move,))
            for move, p, v in zip(state.legal_moves, priors, values, strict=True)
        ]
        infos.sort(key=lambda info: -(info.prior or 0.0))
        yield Analysis(state.turn, tuple(infos), self.worth.position(state), nodes=1)


class PolicyValue(Wrap):
    """PUCT search with two nets: `policy` says which moves to try first, `value` what the positions are worth.

    Each is a run's directory or a checkpoint. `c` is the weight of the policy against what the search has found.
    """

    def __init__(self, policy: str, value: str, simulations: int = 100, c: float = 1.25, seed: int | None = None):
        super().__init__(_Both(policy, value), simulations, c, seed=seed)


def _first(order: list[int], chosen: int) -> list[int]:
    return [chosen, *(i for i in order if i != chosen)]


__all__ = ["Policy", "PolicyValue", "Value"]
