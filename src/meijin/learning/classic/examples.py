"""Positions with their answers, for supervised training: from a solver, or from Monte Carlo tree search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meijin.core import kernels
from meijin.core.agent import Analysis, Limit
from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.learning.classic.encoding import Encoder, joined
from meijin.search.mcts import MCTS
from meijin.search.solvers import solver_for


@dataclass(frozen=True)
class Examples:
    """One row per position. States are copies."""

    states: NDArray[Any]  # [row]
    policy: NDArray[np.float32]  # [row, move] the probabilities to learn
    rewards: NDArray[np.float32]  # [row, move, seat] scaled to -1..1, the mover's seat first
    known: NDArray[np.bool_]  # [row, move] whether the reward is known

    def __len__(self) -> int:
        return len(self.states)


def all_positions(game: Game, most: int) -> NDArray[Any] | None:
    """Every position in which a seat is to move, once; None if there are more than `most`."""
    begun = State(game)
    seen, waiting, kept = {begun.origin}, [begun], []
    while waiting:
        state = waiting.pop()
        if state.turn >= 0:
            kept.append(state.records)
            if len(kept) > most:
                return None
        for move in state.legal_moves:
            after = State(game, state.record)
            after.play(move)
            key = after.records.tobytes()
            if key not in seen:
                seen.add(key)
                waiting.append(State(game, after.record))
                if len(seen) > 4 * most + 1000:  # finished games and chance turns count too: give up in time
                    return None
    return joined(kept)


def random_positions(game: Game, count: int, seed: int) -> NDArray[Any]:
    """Different positions of random games in which a seat is to move, at most `count`, at all stages of a game."""
    rng = np.random.default_rng(seed)
    moves, probs = kernels.buffers(game)
    walk = game.kernel(kernels.random_walks)
    found: dict[bytes, NDArray[Any]] = {}
    # Lengths of whole games, so that all stages are drawn as often as games reach them.
    lengths = [_length(game, seed, k) for k in range(20)]
    for attempt in range(20 * count):
        if len(found) == count:
            break
        states = game.states(1)
        plies = int(rng.integers(0, max(1, lengths[attempt % len(lengths)])))
        walk(states, plies, stream(seed, 100 + attempt).reshape(1, 1), moves, probs)
        if State(game, states[0]).turn >= 0:
            found.setdefault(states.tobytes(), states)
    if not found:
        raise MeijinError(f"{game}: random play reaches no position in which a seat is to move")
    return joined(list(found.values()))


def _length(game: Game, seed: int, index: int) -> int:
    scores = np.zeros(game.seats)
    moves, probs = kernels.buffers(game)
    return int(
        game.kernel(kernels.random_games)(game.states(1), 1, stream(seed, index), moves, probs, scores, scores.copy())
    )


def positions(game: Game, most: int, seed: int) -> NDArray[Any]:
    found = all_positions(game, most)
    return random_positions(game, most, seed) if found is None else found


def exact(game: Game, states: NDArray[Any], alpha: float, on_row: Callable[[int], None] = lambda row: None) -> Examples:
    """A solver's answers to the positions.

    A move's reward is e * alpha ** (length - move), as in matches: e is the score with best play, and length - move
    the plies to the end, this move included (as far as the solver knows them). The moves with the highest reward for
    the mover, which win soonest or lose latest, share the probability.
    """
    solver = solver_for(game)

    def row(state: State) -> tuple[dict[int, Any], dict[int, float]]:
        found = solver.analyse(state, Limit())
        rewards: dict[int, Any] = {}
        for info in found.moves:
            if info.value is not None:
                rewards[info.move] = _turned(encoder, info.value, found) * alpha ** len(info.pv)
        best = max((reward[0] for reward in rewards.values()), default=0.0)
        likely = [m for m, reward in rewards.items() if reward[0] >= best - 1e-9]
        return rewards, {m: 1 / len(likely) for m in likely}

    encoder = Encoder(game)
    return _gathered(game, states, row, on_row)


def searched(
    game: Game, states: NDArray[Any], simulations: int, seed: int, on_row: Callable[[int], None] = lambda row: None
) -> Examples:
    """Tree search's answers: its visits as probabilities, and the mean score of each visited move."""
    encoder, number = Encoder(game), iter(range(len(states)))

    def row(state: State) -> tuple[dict[int, Any], dict[int, float]]:
        found = MCTS(simulations, seed=seed + next(number)).analyse(state)
        rewards: dict[int, Any] = {
            info.move: _turned(encoder, info.value, found) for info in found.moves if info.value is not None
        }
        total = sum(info.visits or 0 for info in found.moves)
        return rewards, {info.move: (info.visits or 0) / total for info in found.moves}

    return _gathered(game, states, row, on_row)


def _turned(encoder: Encoder, value: tuple[float, ...], found: Analysis) -> Any:
    """Scaled to -1..1, the mover's first."""
    return np.roll(encoder.scaled(value), -found.turn)


def _gathered(
    game: Game,
    states: NDArray[Any],
    answer: Callable[[State], tuple[dict[int, Any], dict[int, float]]],
    on_row: Callable[[int], None],
) -> Examples:
    count = len(states)
    policy = np.zeros((count, game.num_moves), np.float32)
    rewards = np.zeros((count, game.num_moves, game.seats), np.float32)
    known = np.zeros((count, game.num_moves), np.bool_)
    for i in range(count):
        reward, probs = answer(State(game, states[i]))
        for move, vector in reward.items():
            rewards[i, move] = vector
            known[i, move] = True
        for move, p in probs.items():
            policy[i, move] = p
        on_row(i + 1)
    return Examples(states, policy, rewards, known)
