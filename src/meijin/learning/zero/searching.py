"""A net that thinks: searches of single positions or of many at once, for agents, matches and tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from meijin.core import kernels
from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.core.opening import opening
from meijin.core.rng import Stream, stream
from meijin.core.state import State
from meijin.learning.zero.inference import Evaluator
from meijin.learning.zero.nets import Net
from meijin.learning.zero.selfplay import Worker
from meijin.search.forest import Settings, layout

BEST = Settings(c=1.5, fpu=0.15)  # a search that plays at its best: no noise


class Searcher:
    """Searches up to `batch` positions at once with so many simulations each."""

    def __init__(self, net: Net, batch: int, settings: Settings = BEST, *, device: str = "cpu", dtype: str = ""):
        self.game, self.batch, self.settings = net.game, batch, settings
        self.worker = Worker(net, batch, settings, selfplay=False, device=device, dtype=dtype)

    def load(self, net: Net) -> None:
        self.worker.load(net)

    def search(self, records: Any) -> None:
        """Search these positions (an array of records, seats to move); then read `visits`."""
        roots = self.game.states(self.batch)
        for i in range(self.batch):
            roots[i] = records[i % len(records)]
        self.worker.forest.restart(roots)
        self.worker.run(self.settings.simulations + 2)
        if self.worker.device != "cpu":
            torch.cuda.synchronize(self.worker.device)

    def visits(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """[position, move] -> visits, and [position, seat] -> value, of the first `count` positions."""
        forest, seats = self.worker.forest, self.game.seats
        nodes, edges = forest.host("nodes")[:count, 0], forest.host("edges")[:count]
        visits = np.zeros((count, self.game.num_moves), np.int64)
        values = np.zeros((count, seats))
        for i in range(count):
            own = edges[i, nodes["first"][i] : nodes["first"][i] + nodes["count"][i]]
            visits[i, own["move"]] = own["visits"]
            values[i] = own["total"].sum(axis=0) / max(1, own["visits"].sum())
        return visits, values

    def moves(self, records: Any) -> np.ndarray:
        """The best move of every position: the most visited, of those that keep its value where that is proven."""
        self.search(records)
        count = len(records)
        forest, found = self.worker.forest, np.zeros(count, np.int64)
        info, nodes, edges = forest.host("info"), forest.host("nodes")[:, 0], forest.host("edges")
        for i in range(count):
            own = edges[i, nodes["first"][i] : nodes["first"][i] + nodes["count"][i]]
            means = np.where(own["proven"] == 1, own["total"][:, nodes["turn"][i]] / own["visits"].clip(1), -np.inf)
            if info[i, layout.PROVEN]:
                worse = means < means.max() - 1e-6
            else:  # a move much looked at may have been refuted in the end, and the one that is not, never tried
                worse = (own["proven"] == 1) & (means < 1e-6 - 1.0)
            found[i] = own["move"][np.where(worse, -1, own["visits"]).argmax()]
        return found


class RawNet:
    """The net's first thought: the likeliest legal move, without any search."""

    def __init__(self, net: Net, batch: int, device: str = "cpu"):
        self.game, self.batch, self.evaluator = net.game, batch, Evaluator(net, batch, device=device)
        self._look = net.game.kernel(kernels.planes)

    def load(self, net: Net) -> None:
        self.evaluator.load(net)

    def moves(self, records: Any) -> np.ndarray:
        game = self.game
        planes = np.zeros((len(records), game.num_planes or 0, len(game.board.cells)), np.float32)
        states = game.states(1)
        found = np.zeros(len(records), np.int64)
        for i, record in enumerate(records):
            states[0] = record
            self._look(states, 0, planes[i])
        logits, _ = self.evaluator(planes)
        for i, record in enumerate(records):
            state = State(game, record)
            legal = np.array([int(move) for move in state.legal_moves])
            seen = legal if game.views is None else game.views[state.turn, legal]  # as nets number them
            found[i] = legal[int(np.argmax(logits[i, seen]))]
        return found


def duel(
    one: Any,
    other: Any,
    game: Game,
    games: int,
    *,
    plies: int = 4,
    seed: int = 0,
    first: int = 0,
) -> np.ndarray:
    """Let two searchers play `games` games of a two-seat game, each opening twice with the sides exchanged.

    Returns [game] -> the first one's score. Openings are random, so that no two pairs are alike; a match in several
    parts tells each the number of its `first` pair.
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
