"""`td("runs/x")`: the values that an n-tuple network learned by TD(lambda), SARSA or Q-learning."""

from __future__ import annotations

import time
from collections.abc import Iterator

from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.moves import Move
from meijin.core.options import between
from meijin.core.state import State
from meijin.learning.td.ahead import DEEPEST, make_search
from meijin.learning.td.network import Network

Values = tuple[float, ...]


class Td(Agent):
    """Plays the move that an n-tuple network values most. `path`: a run's directory or a checkpoint.

    In a game for one it looks `depth` moves ahead, all outcomes of chance included. In any game,
    `nply(td("runs/x"), depth=2)` and `mcts_wrap(td("runs/x"))` look further ahead. `inspect` names the tuple that
    speaks most for the best move and the one that speaks most against it.
    """

    deterministic = True

    def __init__(self, path: str, depth: int = 1):
        between("depth", depth, 1, DEEPEST)
        self.network, self.depth = Network.load(path).net, depth
        self._search = make_search(self.network.game) if depth > 1 else None
        if depth > 1 and (self.network.game.seats > 1 or self.network.learn != "td"):
            raise BadParameter(
                f'depth={depth}: only in games for one learned by td; use nply(td("{path}"), depth={depth - 1})'
            )

    def unfit(self, game: Game) -> str | None:
        mine = self.network.game
        return None if str(game) == str(mine) else f"the network was trained for {mine}"

    def value(self, state: State) -> Values:
        if state.turn < 0:
            return super().value(state)
        return self._seats(state, max(self._values(state)))

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        began = time.perf_counter()
        values = self._values(state)
        infos = [
            MoveInfo(move, value=self._seats(state, value), pv=(move,))
            for move, value in zip(state.legal_moves, values, strict=True)
        ]
        infos.sort(key=lambda info: -(info.value or ())[state.turn])
        seconds = time.perf_counter() - began
        note = self._why(state, infos[0].move)
        nodes = len(infos) if self._search is None else int(self._search.leaves[0])
        found = tuple(infos)
        yield Analysis(state.turn, found, found[0].value, nodes=nodes, depth=self.depth, seconds=seconds, note=note)

    def _values(self, state: State) -> list[float]:
        if self._search is None:
            return self.network.values(state)
        return self.network.ahead(state, self.depth, self._search)

    def _seats(self, state: State, value: float) -> Values:
        """The values of all seats, when the mover's is known: what it gains, the others lose in equal parts."""
        game = state.game
        if game.seats == 1:
            return (value,)
        low, high = game.score_range if game.bounded else (0.0, 0.0)
        middle = (low + high) / 2
        rest = middle - (value - middle) / (game.seats - 1)
        return tuple(value if seat == state.turn else rest for seat in range(game.seats))

    def _why(self, state: State, move: Move) -> str:
        parts = self.network.parts(state, move)
        if parts is None:
            return f"{move} ends the game"
        names = [" ".join(state.game.board.cells[c].name for c in places) for places in self.network.tuples]
        best, worst = int(parts.argmax()), int(parts.argmin())
        said = f"for {move}: {names[best]} ({parts[best]:+.3g})"
        return said if best == worst else f"{said}; against it: {names[worst]} ({parts[worst]:+.3g})"
