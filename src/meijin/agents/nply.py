"""`nply(inner, depth)`: any agent's values at the leaves of a full-width search."""

from __future__ import annotations

import math
from collections.abc import Iterator

from meijin.agents.heuristic import Heuristic
from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.moves import Move
from meijin.core.options import between
from meijin.core.state import State
from meijin.search.maxn import MaxN
from meijin.search.pace import Pace

Values = tuple[float, ...]


class NPly(Agent):
    """Looks `depth` moves ahead around another agent: MaxN, or Expectimax where there is chance."""

    measures = ("seconds", "depth")

    def __init__(self, inner: Agent, depth: int = 2):
        if not isinstance(inner, Agent):
            raise BadParameter(f"inner={inner!r}: give an agent, as in nply(heuristic, depth=2)")
        between("depth", depth, 1, 20)
        self.inner, self.limit = inner, Limit(depth=depth)
        self.deterministic = inner.deterministic
        # The game's own heuristic is known to the compiled search, which does the same much faster.
        self._compiled = MaxN(depth) if isinstance(inner, Heuristic) else None

    def unfit(self, game: Game) -> str | None:
        return self.inner.unfit(game)

    def reseed(self, seed: int) -> None:
        self.inner.seed(seed)

    def release(self) -> None:
        self.inner.close()

    def stop(self) -> None:
        super().stop()
        self.inner.stop()
        if self._compiled:
            self._compiled.stop()

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        if self._compiled:
            yield from self._compiled.watch(state, limit, every)
            return
        last = limit.depth or 20
        with Pace(self, limit.seconds, every, reports=False) as pace:
            deepening = limit.seconds is not None or every < math.inf
            for depth in range(1, last + 1) if deepening else (last,):
                self._leaves, self._pace = 0, pace
                found: list[tuple[Move, Values, tuple[Move, ...]]] = []
                for move in state.legal_moves:
                    if pace.over and (depth > 1 or found):
                        break
                    found.append((move, *self._value(state.copy().play(move), depth - 1)))
                rest = [MoveInfo(move) for move in state.legal_moves[len(found) :]]
                if rest and depth > 1 and deepening:  # the depth before was finished: that is the answer
                    break
                found.sort(key=lambda entry: -entry[1][state.turn])
                infos = (*(MoveInfo(move, value=value, pv=(move, *line)) for move, value, line in found), *rest)
                analysis = Analysis(
                    state.turn, infos, infos[0].value, nodes=self._leaves, depth=depth, seconds=pace.seconds
                )
                if depth < last and pace.due():
                    yield analysis
                if pace.over:
                    break
        yield analysis

    def _value(self, state: State, depth: int) -> tuple[Values, tuple[Move, ...]]:
        """What each seat can expect, and the best line."""
        if state.is_over:
            return state.scores, ()
        if state.is_chance:
            parts = [(p, self._value(state.copy().play(outcome), depth)[0]) for outcome, p in state.odds.items()]
            return tuple(sum(p * value[k] for p, value in parts) for k in range(state.game.seats)), ()
        if depth == 0:
            self._leaves += 1
            return self.inner.value(state), ()
        best: tuple[Values, tuple[Move, ...]] | None = None
        for move in state.legal_moves:
            value, line = self._value(state.copy().play(move), depth - 1)
            if best is None or value[state.turn] > best[0][state.turn]:
                best = value, (move, *line)
        assert best is not None
        return best
