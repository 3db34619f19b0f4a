"""How the levels of a champion are calibrated, game by game, so that they are evenly spaced; and matches between them.

    python experiments/zero/levels.py connect_four othello           # calibrate, then let the levels play
    python experiments/zero/levels.py othello --check --levels 9 10  # levels as they are, against those below

A ladder of settings leads from random moves to full strength: for a net, from one simulation and a choice by chance to
200 simulations and the best move, without a solver; for n-tuples, from random moves only to none. Neighbours on the
ladder play each other, which gives every rung its Elo. Level 1 lies a third of the way up in Elo, or lower where the
levels would otherwise be closer than 62.5 %, and the others are evenly spaced from there to full strength, however far
apart that makes them. The settings are stored where `champion` finds them. Then each level plays the one below in new
games, level 1 against random moves, and the points of the higher one are printed with their 95 % Wilson intervals.

Every opening of random plies is played twice, with the sides exchanged. Expensive searches play fewer games. In a game
for one, levels are spaced evenly by the mean score, or by its logarithm where scores have no bound. In a game for three
or more, one player of a setting sits among others of the setting below, every opening once in each seat; its points are
how often it does better than another player, half where they do as well.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np

from meijin.agents.champion import AHEAD, FULL, chances
from meijin.agents.td import Td
from meijin.arena.stats import bootstrap, wilson
from meijin.core.catalogue import make
from meijin.core.game import Game
from meijin.core.opening import opening
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.core.statistics import elo, expected
from meijin.learning import files
from meijin.learning.nets.weights import Weights, load
from meijin.learning.zero.batch_search import BatchSearch
from meijin.learning.zero.duel import Mover, duel, points
from meijin.search.forest import Settings

BEGINNER = 1 / 3  # of the way, in Elo, from random moves to full strength: where level 1 lies at the highest
STEP = 90  # Elo, 62.5 %: level 1 is lower where the levels would be closer than this
#: (binary logarithm of the simulations, inverse of the temperature); the last is full strength.
SEARCHES = (
    *((0, warmth) for warmth in (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1, 1.3, 1.8, 2.5)),
    (2, 3),
    (4, 3.5),
    (6, 4),
    (math.log2(200), 5),
)
CHANCE = tuple((share,) for share in (1, 0.8, 0.65, 0.5, 0.38, 0.28, 0.2, 0.14, 0.09, 0.05, 0.02, 0.007, 0.002, 0))
FEWEST = 10  # pairs of games in a match
CHECK = 1000  # seeds of the games between levels, which are not those of the ladder
MOST_HEAT = 100.0  # a temperature at which moves are as good as random


class Search(BatchSearch):
    """A net's search that draws its moves as `champion` does at a lower level."""

    def __init__(self, net: Weights, simulations: int, temperature: float, batch: int, seed: int):
        super().__init__(net, batch, Settings(simulations=simulations), cache=True)
        self.temperature, self.rng = temperature, np.random.default_rng(seed)

    def moves(self, records: Any) -> np.ndarray:
        if not self.temperature:
            return super().moves(records)
        self.search(records)
        nodes, edges = self.worker.forest.host("nodes")[:, 0], self.worker.forest.host("edges")
        found = np.zeros(len(records), np.int64)
        for i in range(len(records)):
            own = edges[i, nodes["first"][i] : nodes["first"][i] + nodes["count"][i]]
            found[i] = self.rng.choice(own["move"], p=chances(own["visits"], own["prior"], self.temperature))
        return found


class Tuples:
    """An n-tuple network that makes some moves by chance."""

    def __init__(self, path: Path, game: Game, share: float, batch: int, seed: int):
        ahead = AHEAD if share == 0 and game.seats == 1 else 1  # as `champion` does at full strength
        self.player, self.game, self.share, self.batch = Td(str(path), ahead), game, share, batch
        self.rng = np.random.default_rng(seed)

    def moves(self, records: Any) -> np.ndarray:
        return np.array([self.move(State(self.game, record)) for record in records])

    def move(self, state: State) -> int:
        legal = state.legal_moves
        if self.rng.random() < self.share:
            return int(self.rng.choice(legal))
        values = np.array(self.player._values(state))
        return int(legal[self.rng.choice(np.flatnonzero(values == values.max()))])


def among(one: Mover, other: Mover, game: Game, games: int, plies: int, seed: int) -> float:
    """How often one player among others does better than another of them; half where they do as well."""
    found = []
    for number in range(games):
        state, rng = opening(game, plies, stream(seed, number // game.seats)), stream(seed, 1_000_000 + number)
        seat = number % game.seats
        while not state.is_over:
            records = game.states(1)
            records[0] = state.record
            state.play(int((one if state.turn == seat else other).moves(records)[0])).roll(rng)
        found += [np.sign(state.scores[seat] - state.scores[k]) for k in range(game.seats) if k != seat]
    return float((np.mean(found) + 1) / 2)


class Ladder:
    """The settings of one champion, from random moves on the lowest rung to full strength, and matches between them."""

    def __init__(self, name: str, pairs: int, effort: int, plies: int):
        self.game, self.pairs, self.effort, self.plies = make(name), pairs, effort, plies
        path = files.champion(self.game)
        if path is None:
            raise SystemExit(f"{name} has no champion")
        self.path = path
        self.net = None if files.kind(path) == "td" else load(path).for_game(self.game)
        self.knots = np.array(SEARCHES if self.net else CHANCE, float)
        self.top = len(self.knots) - 1

    def setting(self, at: float) -> Any:
        """(simulations, temperature), or the share of moves that are random."""
        found = [float(np.interp(at, np.arange(len(self.knots)), column)) for column in self.knots.T]
        if self.net is None:
            return round(found[0], 3)
        heat = 0.0 if at == self.top else round(min(MOST_HEAT, 1 / max(found[1], 1 / MOST_HEAT)), 3)
        return round(2 ** found[0]), heat

    def mover(self, setting: Any, batch: int, seed: int) -> Mover:
        if self.net is None:
            return Tuples(self.path, self.game, setting, batch, seed)
        return Search(self.net, *setting, batch, seed)

    def match(self, high: Any, low: Any, seed: int) -> tuple[float, int]:
        """The points of the higher setting, and in how many games."""
        cost = 0 if self.net is None else high[0] + low[0]
        rounds, seats = int(np.clip(self.effort / max(1, cost), FEWEST, self.pairs)), self.game.seats
        games, batch = seats * rounds, rounds if seats == 2 else 1
        one, other = self.mover(high, batch, seed), self.mover(low, batch, seed + 1)
        if seats > 2:
            return among(one, other, self.game, games, self.plies, seed), games
        return points(duel(one, other, self.game, games, plies=self.plies, seed=seed)), games

    def strengths(self) -> np.ndarray:
        """[rung] -> Elo, random moves 0; never falling, as more thinking does no harm."""
        found = [0.0]
        for rung in range(1, self.top + 1):
            share, games = self.match(self.setting(rung), self.setting(rung - 1), seed=2 * rung)
            found.append(found[-1] + max(0.0, elo((share * games + 0.5) / (games + 1))))
            print(f"    {self.setting(rung)} {share:.1%} of {games}, {found[-1]:.0f} Elo", flush=True)
        return np.array(found)

    def scores(self, setting: Any, games: int, seed: int) -> list[float]:
        """The scores of a player of a game for one."""
        mover, found = self.mover(setting, 1, seed), []
        assert isinstance(mover, Tuples)
        for game in range(games):
            rng = stream(seed, game)
            state = State(self.game).roll(rng)
            while not state.is_over:
                state.play(mover.move(state)).roll(rng)
            found.append(float(state.scores[0]))
        return found


def spaced(values: np.ndarray, low: float, count: int) -> list[float]:
    """Where on the ladder so many evenly spaced values lie, from that lowest one up, the last being the top."""
    wanted = np.linspace(low, values[-1], count)[:-1]
    rising = values + 1e-6 * np.arange(len(values))
    return [float(each) for each in np.interp(wanted, rising, np.arange(len(values)))]


def calibrated(ladder: Ladder, games: int) -> list[Any]:
    """The settings of the levels below full strength."""
    if ladder.game.seats == 1:
        means = np.array([np.mean(ladder.scores(ladder.setting(at), games, at)) for at in range(ladder.top + 1)])
        print("    mean scores " + " ".join(f"{mean:.4g}" for mean in means), flush=True)
        values = np.maximum.accumulate(means if ladder.game.bounded else np.log(means))
        places = spaced(values, values[0], FULL + 1)[1:]
    else:
        values = ladder.strengths()
        low = max(0.0, min(BEGINNER * values[-1], values[-1] - STEP * (FULL - 1)))
        step = (values[-1] - low) / (FULL - 1)
        print(f"    {values[-1]:.0f} Elo, level 1 at {low:.0f}, {step:.0f} a step: {expected(step):.1%}", flush=True)
        places = spaced(values, low, FULL)
    return [ladder.setting(at) for at in places]


def checked(ladder: Ladder, scale: list[Any], levels: list[int], games: int) -> str:
    """What the levels make against those below, as cells of a table; or their mean scores."""
    settings = [ladder.setting(0), *scale, ladder.setting(ladder.top)]
    cells = []
    for level in levels:
        if ladder.game.seats == 1:
            scores = ladder.scores(settings[level], games, CHECK + level)
            least, most = bootstrap(scores)
            digits = 2 if ladder.game.bounded else 0
            cells.append(f"{np.mean(scores):,.{digits}f} ({least:,.{digits}f} to {most:,.{digits}f})")
        else:
            share, games = ladder.match(settings[level], settings[level - 1], seed=CHECK * level)
            least, most = (100 * each for each in wilson(share, games))
            cells.append(f"{100 * share:.0f} % ({least:.0f} to {most:.0f})")
        print(f"    level {level}, {settings[level]}: {cells[-1]}, {games} games", flush=True)
    return " | ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="GAME")
    parser.add_argument("--check", action="store_true", help="calibrate nothing")
    parser.add_argument("--levels", nargs="*", type=int, default=list(range(1, FULL + 1)), help="that play")
    parser.add_argument("--pairs", type=int, default=100, help="of games in a match, at most")
    parser.add_argument("--effort", type=int, default=2000, help="simulations for a move of both, times pairs, at most")
    parser.add_argument("--games", type=int, default=100, help="of each setting in a game for one")
    parser.add_argument("--plies", type=int, default=4, help="random plies that open each pair of games")
    options = parser.parse_args()
    for name in options.names:
        print(name, flush=True)
        began, ladder = time.perf_counter(), Ladder(name, options.pairs, options.effort, options.plies)
        known = json.loads(files.SCALES.read_text(encoding="utf-8"))
        if not options.check:
            known[ladder.path.stem] = calibrated(ladder, options.games)
            lines = ",\n".join(f"  {json.dumps(game)}: {json.dumps(scale)}" for game, scale in sorted(known.items()))
            files.SCALES.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
        row = checked(ladder, known[ladder.path.stem], options.levels, options.games)
        print(f"| {name} | {row} |\n    {time.perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
