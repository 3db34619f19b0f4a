"""A run of temporal-difference learning: games against itself, which the weights follow move by move.

With one thread equal configs make equal runs, however often they are stopped or killed: the iteration in flight is
done again. Several threads share the weights without locks; their runs differ a little. So do those on a GPU, where the
games in flight are lost when a run stops.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from meijin.core.errors import BadParameter, MeijinError
from meijin.core.expression import Call
from meijin.learning.config import RunConfig
from meijin.learning.td.config import TdConfig
from meijin.learning.td.network import KINDS, AnyNetwork, Network, fresh, load
from meijin.learning.td.room import Rule
from meijin.training.run import Cut, Row, Run

if TYPE_CHECKING:
    from meijin.learning.td.gpu import GpuNetwork

SLICE = 0.25  # seconds between two looks at the clock
FEW_MOVES = 64  # of each game on a GPU in one go, as long as it is not known how long games and moves take
LAUNCH = 0.05  # seconds that one go should take, many times what it costs to begin one
GREEDY = 200  # games that measure the score of a game for one


class TdRun(Run[TdConfig]):
    """One run of TD(lambda), SARSA or Q-learning; see `Run`."""

    CONFIG: ClassVar[type[RunConfig]] = TdConfig
    MEMORY: ClassVar[str] = (
        "lower threads, memory, horizon or at_once, then --resume, or start another run with shorter or fewer tuples"
    )

    def _build(self) -> None:
        on_gpu = self.device != "cpu"
        if on_gpu and (why := self.config.unfit_for_gpu()):
            raise BadParameter(f"device '{self.device}': {why}")
        self.network: AnyNetwork = fresh(self.game, self.config)
        self._gpu = self._on_gpu() if on_gpu else None
        self._pace = 1.0  # games per slice and thread
        self.games = 0  # of all iterations

    def _on_gpu(self) -> GpuNetwork:
        from meijin.learning.td.gpu import GpuNetwork  # with Numba's CUDA, which need not be there

        assert isinstance(self.network, Network)
        config, restarts = self.config, self.config.restarts > 0
        return GpuNetwork(self.network, config.at_once, config.reach, self._seed(0), self.device, restarts)

    def _seed(self, iteration: int) -> int:
        """Of the games that begin there."""
        return int(np.random.default_rng((self.config.seed, iteration, 15)).integers(1 << 62))

    def expression(self, path: Path) -> str:
        return str(Call(self.config.learn, (str(path),)))

    def _facts(self) -> Row:
        return {"games": self.games}

    def _reload(self, facts: Mapping[str, Any]) -> None:
        self.games = int(facts.get("games", 0))

    # ---- an iteration ----

    def _iterate(self) -> Row:
        began = time.perf_counter()
        rule = self._rule(self.progress)
        try:
            totals, done, made = self._play(rule) if self._gpu is None else self._play_on_gpu(self._gpu)
        except Cut:
            if not self.iteration:  # the start of the run is what will be saved
                self._start_over()
            raise
        seats, errors = self.game.seats, totals[self.game.seats + 1]
        self.games += done
        if not np.isfinite(totals).all():
            raise MeijinError(f"iteration {self.iteration + 1}: the values left all bounds; lower alpha")
        row: Row = {
            "games": done,
            "moves": made,
            "moves_per_second": made / max(time.perf_counter() - began, 1e-9),
            "error": float(np.sqrt(totals[seats] / max(errors, 1.0))),
            "alpha": self.config.alpha_at(self.progress),
            "epsilon": rule.epsilon,
        }
        return row | {f"score_seat{k}": float(totals[k] / max(done, 1)) for k in range(seats)}

    def _start_over(self) -> None:
        """Forget what was learned."""
        self.network.table[:] = 0.0
        self.network.begin(self.config)
        if self._gpu is not None:
            self._gpu.begin(self._seed(0))

    def _play_on_gpu(self, gpu: GpuNetwork) -> tuple[NDArray[np.float64], int, int]:
        """At least as many games as an iteration has; those under way then belong to the next one."""
        gpu.make_current()
        games, totals, done, moves = self.config.games, np.zeros(self.game.seats + 4), 0, FEW_MOVES
        began = time.perf_counter()
        while done < games:
            slice_began = launched = time.perf_counter()
            while done < games and launched - slice_began < SLICE:
                totals += gpu.play(self._rule(self.progress), moves)
                done, before, launched = int(totals[-2]), launched, time.perf_counter()
                missing = (games - done) * totals[-1] / max(done, 1) / self.config.at_once  # moves of each game
                moves = max(1, int(min(missing + 1, moves * min(2.0, LAUNCH / (launched - before)))))
            if not self._report(done, int(totals[-1]), began) and done < games:
                if self.stopping or not done:
                    raise Cut
                break
        return totals, done, int(totals[-1])

    def _play(self, rule: Rule) -> tuple[NDArray[np.float64], int, int]:
        """The games of an iteration by threads: the sums of their rooms, and how many games and moves these were."""
        config = self.config
        if config.tuples.copy and isinstance(self.network, Network):
            self.network.promote()
        seed, memory = self._seed(self.iteration), config.memory if config.replay else 0
        rooms = [self.network.room(config.reach, seed, k, memory) for k in range(config.threads)]
        self.network.play(rooms[0], rule, 0)  # compiled here, once
        done, made, began = 0, 0, time.perf_counter()
        with ThreadPoolExecutor(config.threads) as pool:
            while done < config.games:
                each = min(max(1, int(self._pace)), math.ceil((config.games - done) / len(rooms)))
                shares = [min(each, max(0, config.games - done - k * each)) for k in range(len(rooms))]
                slice_began = time.perf_counter()
                made += sum(pool.map(lambda room, n: self.network.play(room, rule, n), rooms, shares))
                done += sum(shares)
                self._pace *= min(4.0, max(0.25, SLICE / (time.perf_counter() - slice_began + 1e-9)))
                if not self._report(done, made, began) and done < config.games:
                    if self.stopping:  # done again when the run resumes
                        raise Cut
                    break
        return np.sum([room.totals for room in rooms], axis=0), done, made

    def _report(self, games: int, moves: int, began: float) -> bool:
        """Say how far an iteration is; returns whether there is time for more of it."""
        rate = moves / max(time.perf_counter() - began, 1e-9)
        done, total = min(games, self.config.games), self.config.games
        return self.report("self-play", done, total, self._costs["saving"], games=games, moves_per_second=rate)

    def _rule(self, progress: float, learns: bool = True) -> Rule:
        config, net = self.config, self.network
        group = net.symmetries if isinstance(net, Network) else 1
        return Rule(
            kind=KINDS[config.learn],
            learns=int(learns),
            squashes=int(net.squashes),
            coherence=("none", "id", "exp").index(config.coherence),
            alpha=config.alpha_at(progress) / net.scale,
            beta=float(config.beta),
            trace=float(config.trace),
            traces=("accumulating", "replacing", "delayed").index(config.trace_kind),
            group=group,
            gamma=float(config.gamma),
            epsilon=float(config.epsilon_at(progress)),
            final=int(config.final),
            learn_random=int(config.learn_random),
            random_plies=config.random_plies if learns else 0,
            first_moves=int(config.first_moves and learns),
            restarts=float(config.restarts) if learns else 0.0,
            every=config.restart_every,
            replay=config.replay if learns else 0,
            cap=config.cap or self.game.longest,
        )

    def _measure(self) -> Row:
        """The mean score of a game for one, played without random moves."""
        if self.game.seats > 1:
            return {}
        rule = self._rule(1.0, learns=False)
        if self._gpu is not None:
            totals = self._gpu.measure(rule, self.config.at_once, self._seed(self.iteration) + 1)
            return {"score_greedy": float(totals[0] / totals[-2])}
        room, step = self.network.room(1, self.config.seed, self.iteration), self._step("score")
        for done in range(0, GREEDY, 10):
            self.network.play(room, rule, 10)
            step(done + 10, GREEDY)
        return {"score_greedy": float(room.totals[0] / GREEDY)}

    # ---- files ----

    def _write(self, path: Path, facts: Mapping[str, Any], whole: bool) -> None:
        if self._gpu is not None:
            self._gpu.fetch()
        self.network.save(path, whole, **facts)

    def _load(self, path: Path) -> Mapping[str, Any]:
        kept = load(path, self.game)
        try:
            self.network.take(kept.net, kept.extra)
        except BadParameter as error:
            raise BadParameter(f"{path}: {error}") from None
        if self._gpu is not None:
            self._gpu.begin(self._seed(int(kept.facts.get("iteration", 0))))
        return kept.facts
