"""Games of a learner against an opponent, thousands at a time, with the learner's moves recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meijin.core.game import Game
from meijin.learning.classic.choice import Choice
from meijin.learning.classic.encoding import Encoder, ParallelGames, joined


@dataclass(frozen=True)
class Moves:
    """What a learner did, one row per move. States are copies: later moves do not change them."""

    states: NDArray[Any]  # [row] the position it moved in
    moves: NDArray[np.int64]  # [row]
    rewards: NDArray[np.float32]  # [row, seat] e * alpha ** (length - move), the learner's seat first

    def __len__(self) -> int:
        return len(self.moves)

    @staticmethod
    def joined(parts: Sequence[Moves]) -> Moves:
        return Moves(
            joined([part.states for part in parts]),
            np.concatenate([part.moves for part in parts]),
            np.concatenate([part.rewards for part in parts]),
        )


@dataclass(frozen=True)
class Results:
    """The learner's wins, draws and losses by its seat; a win is the highest score alone."""

    counts: NDArray[np.int64]  # [seat, (wins, draws, losses)]

    @property
    def total(self) -> tuple[int, int, int]:
        wins, draws, losses = (int(n) for n in self.counts.sum(0))
        return wins, draws, losses


def play(
    game: Game,
    learner: Choice,
    opponent: Choice,
    games: int,
    seed: int,
    seats: Sequence[int] | None = None,
    alpha: float = 0.99,
    on_ply: Callable[[int], None] = lambda finished: None,
) -> tuple[Moves, Results]:
    """Play that many games; the learner takes the `seats` in turn (None: all), the opponent all the others.

    `on_ply(finished games)` is called after every ply and may raise.

    The reward of a move is e * alpha ** (length - move), for every seat: e is the seat's final score, scaled to -1..1;
    length is how many moves the game had, those of all seats together; move counts them from 0. So the last move of a
    game is worth alpha * e; a win counts more the sooner it comes, and a loss less the later it comes.
    """
    encoder, table = Encoder(game), ParallelGames(game, games, seed)
    rng = np.random.default_rng((seed, 1))
    own = np.resize(np.array(range(game.seats) if seats is None else seats, np.int64), games)  # [game] -> its seat
    kept: list[tuple[Any, Any, Any, int]] = []  # (states, games, moves, how many moves came before)
    length = np.zeros(games, np.int64)
    number = 0
    while (going := np.flatnonzero(table.turns >= 0)).size:
        mine = table.turns[going] == own[going]
        for which, chooser, keep in ((going[mine], learner, True), (going[~mine], opponent, False)):
            if which.size:
                inputs, legal = encoder(table.states, which)
                chosen = chooser(inputs, legal, rng)
                if keep:
                    kept.append((table.states[which], which, chosen, number))  # numpy copies what it gathers
                table.play(which, chosen)
        length[going] += 1
        number += 1
        on_ply(games - going.size)
    return _written(encoder, table, own, length, kept, alpha), _counted(table.scores, own)


def _written(encoder: Encoder, table: ParallelGames, own: Any, length: Any, kept: list[Any], alpha: float) -> Moves:
    seats = table.game.seats
    turned = (own[:, None] + np.arange(seats)) % seats  # [game, seats from the learner on]
    scaled = np.take_along_axis(encoder.scaled(table.scores), turned, 1)
    if not kept:  # the learner's seat never moves in this game
        return Moves(table.states[:0].copy(), np.zeros(0, np.int64), np.zeros((0, seats), np.float32))
    return Moves.joined(
        [
            Moves(states, chosen, (scaled[which] * alpha ** (length[which, None] - number)).astype(np.float32))
            for states, which, chosen, number in kept
        ]
    )


def _counted(scores: Any, own: Any) -> Results:
    seats = scores.shape[1]
    counts = np.zeros((seats, 3), np.int64)
    mine = scores[np.arange(len(own)), own]
    if seats == 1:
        best = np.full(len(own), -np.inf)
    else:
        others = np.where(np.arange(seats) == own[:, None], -np.inf, scores)
        best = others.max(1)
    for column, met in enumerate((mine > best, mine == best, mine < best)):
        np.add.at(counts, (own[met], column), 1)
    return Results(counts)
