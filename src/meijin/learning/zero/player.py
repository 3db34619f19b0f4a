"""`Player`: a net's search of the game that is being played, in which each search continues the one before."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np

from meijin.core.agent import Analysis, MoveInfo
from meijin.core.moves import Move
from meijin.core.rng import streams
from meijin.core.state import State
from meijin.learning.nets.weights import HasWeights
from meijin.learning.zero.worker import make_worker
from meijin.search.forest import Forest, Settings, layout, steps
from meijin.search.forest.scale import evened, unscaled

SLICE_SECONDS = 0.01  # between looks at the clock
FOREVER = 2**31 - 1  # simulations, more than any clock allows
TINY = 1e-6  # scores closer than this are equal
EACH_LEAF = 25  # simulations of a search for each leaf that is evaluated together with others
ROOM = 4  # trees have room for the simulations of this many searches, since kept nodes count, too


class Player:
    """One tree and one net. `look` sets the position, `begin` and `advance` search it, `report` says what was found."""

    def __init__(
        self,
        net: HasWeights,
        simulations: int,
        *,
        c: float,
        fpu: float,
        device: str = "cpu",
        seed: int = 0,
        leaves: int = 1,
        threads: int = 1,
    ):
        self.game = net.game
        self.capacity = 1 << max(6, (ROOM * min(simulations, 2**20) - 1).bit_length())
        settings = Settings(simulations=self.capacity, c=c, fpu=fpu, leaves=leaves)
        self.worker = make_worker(
            net, 1, settings, selfplay=False, device=device, seed=seed, threads=threads, cache=True
        )
        self._at: tuple[bytes, tuple[Move, ...]] | None = None  # where the root stands
        self._steps = 1  # of the next slice
        self.seed(seed)

    def load(self, net: HasWeights) -> None:
        """Continue with these weights, from a net of the same shape, in a new tree."""
        self.worker.load(net)
        self.forget()

    @property
    def forest(self) -> Forest:
        return self.worker.forest

    def _write(self, name: str, values: Any) -> None:
        array = getattr(self.forest.arrays, name)
        if self.forest.gpu:
            array.copy_to_device(np.ascontiguousarray(values))
        else:
            array[:] = values

    # ---- the root ----

    def forget(self) -> None:
        self._at = None

    def seed(self, seed: int) -> None:
        self._write("rng", streams(seed, 1))
        self.forget()

    def look(self, state: State, keep: bool = True) -> None:
        """Put the root at a position, with what is known about it if it continues the one before."""
        at, self._at = self._at, (state.origin, state.history)
        roots = self.game.states(1)
        roots[0] = state.record
        if keep and at is not None and at[0] == state.origin and state.history[: len(at[1])] == at[1]:
            self._follow(state.history[len(at[1]) :])
            self._write("roots", roots)
        else:
            self.forest.restart(roots)

    def _follow(self, moves: tuple[Move, ...]) -> None:
        names = ("nodes", "edges", "info", "bounds")
        arrays = self.forest.arrays._replace(**{name: self.forest.host(name) for name in names})
        if moves:
            if self.forest.gpu:  # small enough to be done here
                arrays = arrays._replace(**{n: self.forest.host(n) for n in arrays._fields if n not in names})
            follow = self.game.kernel(steps.follow)
            for move in moves:
                follow(arrays, 0, int(move))
        info = arrays.info
        info[0, layout.READY] = info[0, layout.WAITS] = info[0, layout.DEEPEST] = 0
        if self.forest.gpu:
            for name in names:
                self._write(name, getattr(arrays, name))

    # ---- searching ----

    def _want(self, simulations: int) -> None:
        """Let the next steps search until the root has that many visits."""
        options = self.forest.host("options")
        options[layout.FULL_SIMULATIONS] = simulations
        info = self.forest.host("info")
        if info[0, layout.READY]:
            info[0, layout.TARGET] = simulations
            self._write("info", info)
        self._write("options", options)

    def begin(self) -> int:
        """The first simulation, which is when code is compiled; returns how many visits were kept from before."""
        known = self.forest.host("info")[0, layout.NODES] > 0
        kept = int(self.forest.host("nodes")[0, 0]["visits"]) if known else 0
        self._want(kept + 1)
        while not self.forest.finished:
            self._run(1)
        return kept

    def aim(self, simulations: int | None) -> None:
        """Search until the root has that many visits; None: until stopped."""
        wanted = FOREVER if simulations is None else min(simulations, FOREVER)
        if self.forest.settings.leaves > 1:
            options = self.forest.host("options")
            left = wanted - int(self.forest.host("nodes")[0, 0]["visits"])
            options[layout.LEAVES] = max(1, min(self.forest.settings.leaves, left // EACH_LEAF))
            self._write("options", options)
        self._want(wanted)

    @property
    def finished(self) -> bool:
        """Whether the root has the visits wanted, or its value is proven."""
        return self.forest.finished

    def advance(self) -> None:
        """A slice of the search, about as long as a look at the clock is worth."""
        before = time.perf_counter()
        steps = max(1, min(self._steps, self._grow() // self.forest.settings.leaves))
        self._run(steps)
        rate = steps / max(time.perf_counter() - before, 1e-6)
        self._steps = max(1, min(4096, int(rate * SLICE_SECONDS)))

    def _run(self, steps: int) -> None:
        self.worker.run(steps)
        self.worker.wait()

    def _grow(self) -> int:
        """Twice the room, before the tree is full; returns how many nodes there is room for."""
        info, old = self.forest.host("info")[0], self.forest
        nodes, edges = old.arrays.nodes.shape[1], old.arrays.edges.shape[1]
        room = min(nodes - info[layout.NODES], (edges - info[layout.EDGES]) // (self.game.branching or 1))
        if info[layout.NODES] < 0.8 * nodes and info[layout.EDGES] < 0.8 * edges and room > 0:
            return int(room)
        self.capacity *= 2
        settings = replace(old.settings, simulations=self.capacity)
        arrays = old.arrays
        ours = {"x": arrays.x, "logits": arrays.logits, "outlook": arrays.outlook}
        new = Forest(self.game, 1, settings, draw=old.draw, gpu=old.gpu, **ours)
        kept = {name: old.host(name) for name in arrays._fields}
        self.worker.replace(new)
        for name, values in kept.items():
            if name in ("x", "logits", "outlook", "table"):
                continue
            wider = np.array(new.host(name))
            wider[tuple(slice(0, n) for n in values.shape)] = values
            self._write(name, wider)
        return int(room + nodes)

    # ---- what was found ----

    def report(self, state: State, kept: int, seconds: float) -> Analysis:
        """Everything about the root; values in the game's scores."""
        game, seat = self.game, state.turn
        nodes, edges, info = (self.forest.host(name)[0] for name in ("nodes", "edges", "info"))
        root = nodes[0]
        own = edges[root["first"] : root["first"] + root["count"]]

        def scores(totals: Any, visits: int) -> tuple[float, ...]:
            values = totals / visits
            if self.forest.draw:  # a draw is even again
                values = evened(values)
            return tuple(unscaled(game, float(value)) for value in values)

        def score(edge: Any) -> tuple[float, ...] | None:
            return scores(edge["total"], int(edge["visits"])) if edge["visits"] else None

        infos = [
            MoveInfo(
                game.moves[int(edge["move"])],
                int(edge["visits"]),
                float(edge["prior"]),
                score(edge),
                bool(edge["proven"]),
                self._line(nodes, edges, edge),
            )
            for edge in own
        ]
        proven = bool(info[layout.PROVEN])
        best = max((found.value[seat] for found in infos if found.proven and found.value), default=-math.inf)

        def rank(found: MoveInfo) -> tuple[bool, bool, int, float, float, int]:
            worth = found.value[seat] if found.value else -math.inf
            keeps = proven and found.proven and worth > best - TINY
            lost = found.proven and worth < game.score_range[0] + TINY
            return keeps, not lost, found.visits or 0, worth, found.prior or 0.0, -found.move

        moves = tuple(sorted(infos, key=rank, reverse=True))
        visits = int(root["visits"])
        mean = scores(own["total"].sum(axis=0), max(1, visits))
        return Analysis(
            turn=seat,
            moves=moves,
            value=moves[0].value if proven else mean,
            proven=proven,
            simulations=visits - kept,
            nodes=int(info[layout.NODES]),
            depth=int(info[layout.DEEPEST]),
            seconds=seconds,
        )

    def _line(self, nodes: Any, edges: Any, edge: Any) -> tuple[Move, ...]:
        """A root's move and what is expected to follow, up to where chance moves or nothing was tried."""
        moves = [self.game.moves[int(edge["move"])]]
        child = int(edge["child"])
        while child != layout.NONE and nodes[child]["turn"] >= 0 and nodes[child]["visits"] > 0:
            node = nodes[child]
            own = edges[node["first"] : node["first"] + node["count"]]
            best = own[int(np.argmax(own["visits"]))]
            moves.append(self.game.moves[int(best["move"])])
            child = int(best["child"])
        return tuple(moves)
