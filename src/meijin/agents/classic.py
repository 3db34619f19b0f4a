"""Players with a trained net: `policy(path)`, `value(path)`, and `policy_value(policy, value)`, both in one search.

A path is a run's directory, whose latest checkpoint plays, or a checkpoint file.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from meijin.agents.catalogue import agents
from meijin.agents.wrap import Wrap
from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.rng import below, choose, fresh_seed, stream, uniform
from meijin.core.state import State
from meijin.learning.classic import checkpoint
from meijin.learning.files import find, is_zero, need_torch
from meijin.search.clock import must_move

Values = tuple[float, ...]


class Priors(Protocol):
    """A net that has an opinion of moves."""

    def priors(self, state: State) -> Sequence[float]:
        """The probability of every legal move, in their order; they add up to 1."""

    def unfit(self, game: Game) -> str | None:
        """Why it cannot look at positions of that game; None when it can."""


class Worth(Protocol):
    """A net that has values to give."""

    def moves(self, state: State) -> list[Values]:
        """What each seat can expect after every legal move, in their order, in the game's scores."""

    def position(self, state: State) -> Values:
        """What each seat can expect of a position in which a seat is to move."""

    def unfit(self, game: Game) -> str | None:
        """Why it cannot look at positions of that game; None when it can."""


def priors_of(path: str) -> Priors:
    """The policy in a checkpoint, whatever made it."""
    need_torch(f"'{path}'")
    return _zero(path) if is_zero(path) else ClassicPriors(path)


def worth_of(path: str) -> Worth:
    """The values in a checkpoint, whatever made it."""
    need_torch(f"'{path}'")
    return _zero(path) if is_zero(path) else ClassicWorth(path)


def _zero(path: str) -> Any:
    from meijin.learning.zero.opinion import Opinion

    return Opinion(find(path))


class _Classic:
    """A classic net that looks at one position."""

    def __init__(self, path: str, want: str):
        self._kept = checkpoint.load(path, want)
        self.game = self._kept.game.id
        self._encoder: Any = None

    def unfit(self, game: Game) -> str | None:
        if self.game == game.id:
            return None
        return f"its net was trained for {self.game}; train one with `meijin train '{game}' classic`"

    def _look(self, state: State) -> tuple[Any, Any, list[int]]:
        from meijin.learning.classic.encoding import Encoder

        if self._encoder is None or self._encoder.game is not state.game:
            self._encoder = Encoder(state.game)
        inputs, legal = self._encoder(state.records)
        return inputs, legal, [int(move) for move in state.legal_moves]


class ClassicPriors(_Classic):
    def __init__(self, path: str):
        super().__init__(path, "policy")

    def priors(self, state: State) -> Sequence[float]:
        from meijin.learning.classic.choice import probabilities
        from meijin.learning.classic.nets import PolicyNet

        inputs, legal, moves = self._look(state)
        assert isinstance(self._kept.net, PolicyNet)
        probs: list[float] = probabilities(self._kept.net, inputs, legal)[0, moves].astype(np.float64).tolist()
        total = sum(probs)
        return [p / total for p in probs]


class ClassicWorth(_Classic):
    def __init__(self, path: str):
        super().__init__(path, "value")

    def moves(self, state: State) -> list[Values]:
        from meijin.learning.classic.choice import rewards
        from meijin.learning.classic.nets import ValueNet

        inputs, _, moves = self._look(state)
        assert isinstance(self._kept.net, ValueNet)
        found = np.roll(rewards(self._kept.net, inputs)[0, moves], state.turn, 1)  # seats from 0 on again
        return [tuple(row) for row in self._encoder.scores(found.astype(np.float64)).tolist()]

    def position(self, state: State) -> Values:
        """That of the best move, for whoever is to move."""
        return max(self.moves(state), key=lambda value: value[state.turn])


@agents.register("policy")
class Policy(Agent):
    """Plays from a net's policy alone: moves are sampled by their probabilities, or the likeliest is taken.

    `path`: a run's directory or a checkpoint. `sample=False`: always the likeliest move. `temperature` sharpens the
    probabilities below 1 and flattens them above. In an analysis the drawn move comes first, the others by probability.
    """

    def __init__(self, path: str, sample: bool = True, temperature: float = 1.0, seed: int | None = None):
        if not temperature > 0:
            raise BadParameter(f"temperature={temperature!r}: give one above zero; sample=False takes the likeliest")
        self.net = priors_of(path)
        self.sample, self.temperature = sample, temperature
        self.deterministic = not sample
        self.seed(fresh_seed() if seed is None else seed)

    def unfit(self, game: Game) -> str | None:
        return self.net.unfit(game)

    def seed(self, seed: int) -> None:
        self._rng = stream(seed)

    def analyse(self, state: State, limit: Limit = Limit()) -> Analysis:  # noqa: B008
        must_move(state)
        began = time.perf_counter()
        priors = list(self.net.priors(state))
        infos = [MoveInfo(move, prior=p, pv=(move,)) for move, p in zip(state.legal_moves, priors, strict=True)]
        order = sorted(range(len(infos)), key=lambda i: -priors[i])
        if self.sample:
            order = _first(order, self._draw(np.array(priors)))
        return Analysis(state.turn, tuple(infos[i] for i in order), nodes=1, seconds=time.perf_counter() - began)

    def _draw(self, priors: Any) -> int:
        weights = (priors / priors.max()) ** (1 / self.temperature)
        with np.errstate(over="ignore"):
            drawn = int(choose(self._rng, weights / weights.sum(), len(weights)))
        return drawn if weights[drawn] > 0 else int(weights.argmax())  # rounding may lead past the last likely one


@agents.register("value")
class Value(Agent):
    """Plays the move that a value net thinks best; in `epsilon` of cases any move, to vary and to explore.

    `path`: a run's directory or a checkpoint. In an analysis the chosen move comes first, the others by value.
    """

    def __init__(self, path: str, epsilon: float = 0.1, seed: int | None = None):
        if not 0 <= epsilon <= 1:
            raise BadParameter(f"epsilon={epsilon!r}: the share of random moves is between 0 and 1")
        self.net, self.epsilon = worth_of(path), epsilon
        self.deterministic = epsilon == 0
        self.seed(fresh_seed() if seed is None else seed)

    def unfit(self, game: Game) -> str | None:
        return self.net.unfit(game)

    def seed(self, seed: int) -> None:
        self._rng = stream(seed)

    def value(self, state: State) -> Values:
        return super().value(state) if state.turn < 0 else self.net.position(state)

    def analyse(self, state: State, limit: Limit = Limit()) -> Analysis:  # noqa: B008
        must_move(state)
        began = time.perf_counter()
        values = self.net.moves(state)
        infos = [MoveInfo(move, value=v, pv=(move,)) for move, v in zip(state.legal_moves, values, strict=True)]
        order = sorted(range(len(infos)), key=lambda i: -values[i][state.turn])
        note = ""
        with np.errstate(over="ignore"):
            if self.epsilon and uniform(self._rng) < self.epsilon:
                order = _first(order, int(below(self._rng, len(order))))
                note = "a random move, to explore"
        return Analysis(
            state.turn,
            tuple(infos[i] for i in order),
            self.net.position(state),
            nodes=1,
            depth=1,
            seconds=time.perf_counter() - began,
            note=note,
        )


class _Both(Agent):
    """The policy net's priors with the value net's values, for a search to use."""

    deterministic = True

    def __init__(self, policy: str, value: str):
        self.policy, self.worth = priors_of(policy), worth_of(value)

    def unfit(self, game: Game) -> str | None:
        return self.policy.unfit(game) or self.worth.unfit(game)

    def value(self, state: State) -> Values:
        return super().value(state) if state.turn < 0 else self.worth.position(state)

    def analyse(self, state: State, limit: Limit = Limit()) -> Analysis:  # noqa: B008
        priors, values = self.policy.priors(state), self.worth.moves(state)
        infos = [
            MoveInfo(move, prior=p, value=v, pv=(move,))
            for move, p, v in zip(state.legal_moves, priors, values, strict=True)
        ]
        infos.sort(key=lambda info: -(info.prior or 0.0))
        return Analysis(state.turn, tuple(infos), self.worth.position(state), nodes=1)


@agents.register("policy_value")
class PolicyValue(Wrap):
    """PUCT search with two nets: `policy` says which moves to try first, `value` what the positions are worth.

    Each is a run's directory or a checkpoint. `c` is the weight of the policy against what the search has found.
    """

    def __init__(self, policy: str, value: str, simulations: int = 100, c: float = 1.25, seed: int | None = None):
        super().__init__(_Both(policy, value), simulations, c, seed=seed)


def _first(order: list[int], chosen: int) -> list[int]:
    return [chosen, *(i for i in order if i != chosen)]


__all__ = ["Policy", "PolicyValue", "Value", "priors_of", "worth_of"]
