"""`nply(inner, depth)`: any agent's values at the leaves of a full-width search."""

from __future__ import annotations

import time

from meijin.agents.catalogue import agents
from meijin.agents.heuristic import Heuristic
from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.moves import Move
from meijin.core.state import State
from meijin.search.clock import must_move
from meijin.search.maxn import MaxN

Values = tuple[float, ...]


@agents.register("nply")
class NPly(Agent):
    """Looks `depth` moves ahead around another agent: MaxN, or Expectimax where there is chance."""

    def __init__(self, inner: Agent, depth: int = 2):
        if not isinstance(inner, Agent):
            raise BadParameter(f"inner={inner!r}: give an agent, as in nply(heuristic, depth=2)")
        if not 1 <= depth <= 20:
            raise BadParameter(f"depth={depth!r}: choose from 1 to 20 plies")
        self.inner, self.depth = inner, depth
        self.deterministic = inner.deterministic
        # The game's own heuristic is known to the compiled search, which does the same much faster.
        self._compiled = MaxN(depth) if isinstance(inner, Heuristic) else None

    def unfit(self, game: Game) -> str | None:
        return self.inner.unfit(game)

    def seed(self, seed: int) -> None:
        self.inner.seed(seed)

    def analyse(self, state: State, limit: Limit = Limit()) -> Analysis:  # noqa: B008
        if self._compiled:
            return self._compiled.analyse(state, limit)
        must_move(state)
        began = time.perf_counter()
        depth = limit.depth or self.depth
        self._leaves = 0
        found = [(move, *self._value(state.copy().play(move), depth - 1)) for move in state.legal_moves]
        found.sort(key=lambda entry: -entry[1][state.turn])
        infos = tuple(MoveInfo(move, value=value, pv=(move, *line)) for move, value, line in found)
        return Analysis(
            state.turn, infos, infos[0].value, nodes=self._leaves, depth=depth, seconds=time.perf_counter() - began
        )

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
