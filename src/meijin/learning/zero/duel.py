"""Many games between two nets at once."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.core.opening import opening
from meijin.core.rng import Stream, stream
from meijin.core.state import State


class Mover(Protocol):
    """Such as `BatchSearch` or `RawNet`."""

    batch: int  # positions at a time

    def moves(self, records: Any) -> NDArray[np.int64]:
        """A move for each of these positions."""


def duel(
    one: Mover,
    other: Mover,
    game: Game,
    games: int,
    *,
    plies: int = 4,
    seed: int = 0,
    first: int = 0,
) -> np.ndarray:
    """Let two play `games` games of a two-seat game, each opening twice with the sides exchanged.

    Returns [game] -> the first one's score. Openings are random, so that no two pairs are alike; of a match in
    several parts, each is given the number of its `first` pair.
    """
    states = []
    for pair in range(first, first + (games + 1) // 2):
        rng = stream(seed, pair)
        begun = _opening(game, plies, rng)
        states += [begun, begun.copy()]
    states = states[:games]
    sides = np.arange(games) % 2  # the seat that `one` takes
    rngs = [stream(seed, 1_000_000 + 2 * first + i) for i in range(games)]
    players = (one, other)
    while not all(state.is_over for state in states):
        for who in range(2):
            for i, state in enumerate(states):
                state.roll(rngs[i])
            live = [i for i, state in enumerate(states) if not state.is_over]
            mine = [i for i in live if (states[i].turn == sides[i]) == (who == 0)]
            for at in range(0, len(mine), players[who].batch):
                part = mine[at : at + players[who].batch]
                records = game.states(len(part))
                for k, i in enumerate(part):
                    records[k] = states[i].record
                for i, move in zip(part, players[who].moves(records), strict=True):
                    states[i].play(int(move))
    return np.array([state.scores[sides[i]] for i, state in enumerate(states)])


def _opening(game: Game, plies: int, rng: Stream) -> State:
    """After random plies, or the start where random play would end the game by then."""
    try:
        return opening(game, plies, rng)
    except MeijinError:
        return State(game).roll(rng)


def points(scores: np.ndarray) -> float:
    """Share of the points: a win 1, a draw 1/2."""
    return float(((np.sign(scores) + 1) / 2).mean())
