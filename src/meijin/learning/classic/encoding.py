"""What a net sees of many positions at once, and playing on in them.

A position is seen as the game's planes (pieces from the mover's view, and so on), then a plane of the empty cells and
one of the cells that legal moves touch. For tic-tac-toe that holds the report's three channels (mover, opponent,
empty), for Othello also its fourth (legal moves), and for Go its banned points: empty cells that are not legal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meijin.core.compile import Function
from meijin.core.errors import BadParameter
from meijin.core.game import CHANCE, Game
from meijin.core.kernels import buffers, no_odds
from meijin.core.rng import choose, streams


def encode(game: Game) -> Function:
    """`encode(states, which, offsets, touched, moves, values, out, legal)`: row r shows `states[which[r]]`."""
    planes, cells, list_legal = game.planes, game.cells, game.legal
    count, num_cells = game.num_planes, len(game.board.cells)
    assert planes is not None and count is not None

    def kernel(
        states: Any, which: Any, offsets: Any, touched: Any, moves: Any, values: Any, out: Any, legal: Any
    ) -> None:
        # offsets, touched: the cells of move m are touched[offsets[m] : offsets[m + 1]]
        # out: [row, channel, cell]; legal: [row, move]; both zero
        for row in range(which.shape[0]):
            s = states[which[row]]
            planes(s, out[row, :count])
            cells(s, values)
            for i in range(num_cells):
                if values[i] == 0:
                    out[row, count, i] = 1.0
            for k in range(list_legal(s, moves)):
                move = moves[k]
                legal[row, move] = True
                for at in range(offsets[move], offsets[move + 1]):
                    out[row, count + 1, touched[at]] = 1.0

    return kernel


def settle(game: Game) -> Function:
    """`settle(s, rng, moves, probs)`: let chance move until a seat is to move or the game is over; returns the turn."""
    turn, play, odds = game.turn, game.play, game.odds or no_odds

    def run(s: Any, rng: Any, moves: Any, probs: Any) -> Any:
        t = turn(s)
        while t == CHANCE:
            n = odds(s, moves, probs)
            play(s, moves[choose(rng, probs, n)])
            t = turn(s)
        return t

    return run


def begin(game: Game) -> Function:
    """Start a game in every record and note the seat to move; record i draws chance from stream i."""
    start, run = game.start, settle(game)

    def kernel(states: Any, rngs: Any, moves: Any, probs: Any, turns: Any) -> None:
        for i in range(states.shape[0]):
            start(states[i])
            turns[i] = run(states[i], rngs[i], moves, probs)

    return kernel


def advance(game: Game) -> Function:
    """Play `chosen[r]` in `states[which[r]]`, let chance follow, and note whose turn it is and the scores."""
    play, score, run = game.play, game.score, settle(game)

    def kernel(
        states: Any, which: Any, chosen: Any, rngs: Any, moves: Any, probs: Any, turns: Any, scores: Any
    ) -> None:
        for row in range(which.shape[0]):
            i = which[row]
            play(states[i], chosen[row])
            turns[i] = run(states[i], rngs[i], moves, probs)
            score(states[i], scores[i])

    return kernel


def joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate arrays of records. numpy's `concatenate` would drop the bytes that pad a record."""
    states = np.zeros(sum(map(len, parts)), parts[0].dtype)
    at = 0
    for part in parts:
        states[at : at + len(part)] = part
        at += len(part)
    return states


class Encoder:
    """Shows positions of one game to a net, and its scores scaled to -1..1."""

    def __init__(self, game: Game):
        if not game.bounded:
            raise BadParameter(
                f"{game}: its scores go from {game.score_range[0]} to {game.score_range[1]}, and the classic nets "
                "learn rewards between two bounds; a game with a bounded score can be trained"
            )
        self.game = game
        self.cells = len(game.board.cells)
        self.channels = (game.num_planes or 0) + 2
        touched = [
            sorted({c for step in path or () if not isinstance(step, str) for c in _cells(step)}) for path in game.paths
        ]
        self._offsets = np.cumsum([0, *map(len, touched)]).astype(np.int64)
        self._touched = np.array([cell for cells in touched for cell in cells], np.int64)

    def __call__(self, states: NDArray[Any], which: NDArray[np.int64] | None = None) -> tuple[Any, Any]:
        """(inputs [row, channel, cell], legal [row, move]) of the positions, in which a seat is to move."""
        which = np.arange(len(states)) if which is None else which
        inputs = np.zeros((len(which), self.channels, self.cells), np.float32)
        legal = np.zeros((len(which), self.game.num_moves), np.bool_)
        moves, _ = buffers(self.game)
        values = np.zeros(self.cells, np.int32)
        self.game.kernel(encode)(states, which, self._offsets, self._touched, moves, values, inputs, legal)
        return inputs, legal

    def scaled(self, scores: Any) -> Any:
        """Scores scaled to -1..1."""
        low, high = self.game.score_range
        return (2.0 * np.asarray(scores, np.float64) - low - high) / (high - low)

    def scores(self, scaled: Any) -> Any:
        """The inverse of `scaled`; what a net says beyond the bounds counts as the bound."""
        low, high = self.game.score_range
        return (np.clip(scaled, -1.0, 1.0) * (high - low) + low + high) / 2.0


class ParallelGames:
    """Many games played at the same time, each in its own record."""

    def __init__(self, game: Game, games: int, seed: int):
        self.game = game
        self.states = game.states(games)
        self.turns = np.zeros(games, np.int64)  # the seat to move, or OVER
        self.scores = np.zeros((games, game.seats))
        self._rngs = streams(seed, games)
        self._moves, self._probs = buffers(game)
        game.kernel(begin)(self.states, self._rngs, self._moves, self._probs, self.turns)

    def play(self, which: NDArray[np.int64], chosen: NDArray[np.int64]) -> None:
        self.game.kernel(advance)(
            self.states, which, chosen, self._rngs, self._moves, self._probs, self.turns, self.scores
        )


def _cells(step: int | frozenset[int]) -> frozenset[int]:
    return step if isinstance(step, frozenset) else frozenset((step,))
