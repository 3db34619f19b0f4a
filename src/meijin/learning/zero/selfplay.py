"""Self-play: forests that play against themselves on one device, and the positions they leave.

Some of the trees may play against a past net of the run: the first so many of a forest, in which the past net answers
whenever the root is its seat's to move. It sees the same questions; which answer counts is chosen tree by tree.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch

from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.learning.zero.inference import Evaluator, recorded, side_stream
from meijin.learning.zero.nets import Net
from meijin.learning.zero.positions import Positions, harvest, policy_width
from meijin.search.forest import Forest, Settings, layout

FORESTS = 2  # on a GPU: while the net answers one, the trees of the other move
SLOTS = 128  # more than the longest game needs, so that finished games wait for the harvest a while


class Worker:
    """One forest with its own copy of the net: a GPU, or one thread of a CPU."""

    def __init__(
        self,
        net: Net,
        games: int,
        settings: Settings,
        *,
        selfplay: bool = True,
        device: str = "cpu",
        dtype: str = "",
        seed: int = 0,
        slots: int = 1,
        rivals: int = 0,
    ):
        gpu = device != "cpu"
        self.device = device

        def evaluator(batch: int) -> Evaluator:
            return Evaluator(net, batch, device=device, dtype=dtype or None, graph=False, threads=1)

        self.evaluator = e = evaluator(games)
        self.past = evaluator(rivals) if rivals else None
        inputs = (e.x, e.logits, e.values) if gpu else e.arrays
        with torch.cuda.device(device) if gpu else nullcontext():
            self.forest = Forest(
                net.game,
                games,
                settings,
                selfplay=selfplay,
                slots=slots,
                seed=seed,
                gpu=gpu,
                x=inputs[0],
                logits=inputs[1],
                outlook=inputs[2],
            )
        info = self.forest.arrays.info
        info = torch.as_tensor(info, device=device) if gpu else torch.from_numpy(info)
        self._is_past = info[:rivals, layout.PAST, None]  # the forest's own memory
        self._stream: Any = None
        if gpu:  # one that plays beside the learner has a stream of its own
            self._stream = torch.cuda.Stream(device) if selfplay else side_stream(device)  # type: ignore[no-untyped-call]
            torch.cuda.synchronize(device)  # the forest was made in Numba's stream
        self._graph: Any = None

    def load(self, net: Net) -> None:
        self.evaluator.load(net)

    def set(self, settings: Settings, past: Net | None) -> None:
        """From now on search so, and play against this net of the past."""
        if self.past is not None and past is not None:
            self.past.load(past)
        rivals = self.past.batch if self.past is not None and past is not None else 0
        self.forest.set_options(settings, rivals)
        if self.device != "cpu":
            torch.cuda.synchronize(self.device)  # it was told in Numba's stream

    def _think(self) -> None:
        """The net answers, and the past one where it is its turn."""
        self.evaluator.run()
        if self.past is not None:
            own, past = self.evaluator, self.past
            past.x.copy_(own.x[: past.batch])
            past.run()
            for mine, theirs in ((own.logits, past.logits), (own.values, past.values)):
                mine[: past.batch].copy_(torch.where(self._is_past == 1, theirs, mine[: past.batch]))

    def run(self, steps: int) -> None:
        """So many steps of every tree, each followed by the net; on a GPU without waiting for it."""
        if self.device == "cpu":
            for _ in range(steps):
                self.forest.step()
                self._think()
        else:
            run_on_gpu([self], steps)

    def replay(self) -> None:
        """One step on a GPU, in the worker's own stream."""
        with torch.cuda.stream(self._stream):
            self._graph.replay()

    def _step(self) -> None:
        from meijin.core.cuda import external_stream

        self.forest.step(stream=external_stream(torch.cuda.current_stream().cuda_stream))
        self._think()

    def record(self) -> None:
        """Record a step of the trees and of the net, once; from then on the CPU only says "again"."""
        if self._graph is None:
            self._graph = recorded(self._step, self._stream)


def run_on_gpu(workers: list[Worker], steps: int) -> None:
    """So many steps of each, without waiting. The trees of one move while the net answers another."""
    with torch.cuda.device(workers[0].device):
        current = torch.cuda.current_stream()
        streams = [worker._stream for worker in workers]
        for worker, stream in zip(workers, streams, strict=True):
            stream.wait_stream(current)
            worker.record()
        for _ in range(steps):
            for worker in workers:
                worker.replay()
        for stream in streams:
            current.wait_stream(stream)


class SelfPlay:
    """Games played at once by the workers of one device; `play` gives the positions of those that end."""

    def __init__(
        self,
        net: Net,
        games: int,
        settings: Settings,
        *,
        device: str = "cpu",
        threads: int = 1,
        dtype: str = "",
        width: int = 64,
        seed: int = 0,
        pool_share: float = 0.0,
    ):
        game: Game = net.game
        self.game, self.width, self.games = game, policy_width(game, width), games
        longest = min(game.longest, settings.cap or game.longest, 4096)
        workers = max(1, min(threads if device == "cpu" else FORESTS, games))
        shares = [games // workers + (k < games % workers) for k in range(workers)]
        self.workers = [
            Worker(
                net,
                share,
                settings,
                device=device,
                dtype=dtype,
                seed=seed * 1000 + k,
                slots=longest + SLOTS,
                rivals=math.ceil(pool_share * share),
            )
            for k, share in enumerate(shares)
        ]
        self._pool = ThreadPoolExecutor(workers) if device == "cpu" else None
        self.simulations, self.gpu = settings.simulations, device != "cpu"
        self._counted = np.zeros(layout.STATS_SIZE, np.int64)

    def load(self, net: Net, settings: Settings | None = None, past: Net | None = None) -> None:
        """Play on with these weights, searching so, and against that net where a past one is wanted."""
        for worker in self.workers:
            worker.load(net)
            if settings is not None:
                worker.set(settings, past)
                self.simulations = settings.simulations

    @property
    def stride(self) -> int:
        """Steps between two harvests: a move or so, and a few on a GPU, which has to wait meanwhile."""
        return max(16, self.simulations) * (4 if self.gpu else 1)

    def advance(self, steps: int) -> Positions:
        """So many steps of every tree, and the positions of the games that ended."""
        if self._pool is None:
            run_on_gpu(self.workers, steps)
        else:
            list(self._pool.map(lambda worker: worker.run(steps), self.workers))
        return Positions.cat([harvest(worker.forest, self.width, worker.device) for worker in self.workers])

    def play(self, positions: int, on_progress: Any = None) -> Positions:
        """Play until at least so many positions of finished games have come."""
        parts: list[Positions] = []
        count = 0
        while count < positions:
            part = self.advance(self.stride)
            count += len(part)
            parts.append(part)
            if on_progress:
                on_progress(min(count, positions), positions)
        self.check()
        return Positions.cat(parts)

    def check(self) -> None:
        """Raise if a position could not be packed."""
        for worker in self.workers:
            fault = int(worker.forest.host("stats")[:, layout.FAULT].max())
            if fault:
                raise MeijinError(
                    f"{self.game}: plane {fault - 1} is not what random play showed it to be; write `planes` so that "
                    "it is always 0 and 1, or always one number for all cells, or neither from the start"
                )

    def stats(self) -> dict[str, float]:
        """Counts since the last call, and means."""
        stats = sum(worker.forest.host("stats").sum(0) for worker in self.workers)
        new = np.asarray(stats) - self._counted
        self._counted = np.asarray(stats).copy()
        games = int(new[layout.GAMES])
        found = {
            "games": games,
            "simulations": int(new[layout.SIMULATIONS]),
            "evaluations": int(new[layout.EVALUATIONS]),
            "game_length": new[layout.PLIES] / games if games else 0.0,
            "resigned": int(new[layout.RESIGNED]),
            "cut": int(new[layout.CUT]),
            "lost_positions": int(new[layout.LOST]),
            "resign_wrong": new[layout.WRONGED] / new[layout.DOUBTED] if new[layout.DOUBTED] else 0.0,
        }
        if any(worker.past is not None for worker in self.workers):
            found |= {"pool_games": int(new[layout.RIVAL_GAMES]), "pool_points": new[layout.RIVAL_POINTS] / 2}
        sums = np.asarray(sum(worker.forest.host("sums").sum(0) for worker in self.workers))
        before = getattr(self, "_sums", np.zeros_like(sums))
        self._sums = sums.copy()
        for seat in range(self.game.seats):
            found[f"score_seat_{seat}"] = float((sums - before)[seat] / games) if games else 0.0
        return found
