"""`td("runs/x")`, `sarsa("runs/x")` and `q("runs/x")`: the values that a network learned from its own games."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.moves import Move
from meijin.core.options import between
from meijin.core.state import State
from meijin.learning import files
from meijin.learning.td.ahead import DEEPEST, make_search
from meijin.learning.td.network import Network, shared

Values = tuple[float, ...]

#: Kinds of checkpoints -> the agents that play them.
PLAYERS = {"zero": "zero", "classic-policy": "policy", "classic-value": "value"}


class Td(Agent):
    """Plays the move that a network trained by TD(lambda) values most. `path`: a run's directory or a checkpoint.

    In a game for one it looks `depth` moves ahead, all outcomes of chance included. Around it,
    `nply(td("runs/x"), depth=2)` and `mcts_wrap(td("runs/x"))` look further ahead in any game. `inspect` shows what
    each tuple adds to the values of the best moves.
    """

    deterministic = True
    learn: ClassVar[str] = "td"

    def __init__(self, path: str, depth: int = 1):
        between("depth", depth, 1, DEEPEST)
        if (kind := files.kind(path)) not in ("", "td"):
            raise BadParameter(f"'{path}' holds a net of kind '{kind}'; play it with {PLAYERS.get(kind, kind)}(...)")
        self.network, self.depth = shared(path), depth
        if self.network.learn != self.learn:
            right = f'{self.network.learn}("{path}")'
            raise BadParameter(
                f"'{path}' was trained by {self.network.learn}, not by {self.learn}; play it with {right}"
            )
        self._search = make_search(self.network.game) if depth > 1 else None
        if depth > 1 and (self.network.game.seats > 1 or not isinstance(self.network, Network)):
            raise BadParameter(
                f'depth={depth}: only in games for one, with tuples; use nply(td("{path}"), depth={depth - 1})'
            )

    def unfit(self, game: Game) -> str | None:
        mine = self.network.game
        return None if game.alike(mine) else f"the network was trained for {mine}"

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

    def decide(self, state: State, limit: Limit) -> Move:
        values = self._values(state)
        return state.legal_moves[values.index(max(values))]

    def _values(self, state: State) -> list[float]:
        self._fit(state.game)
        if self._search is None or not isinstance(self.network, Network):
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

    def _fit(self, game: Game) -> None:
        """Play by the rules of this game, should it be one like that of the training."""
        if str(game) != str(self.network.game):
            self.network = replace(self.network, game=game)

    def reasons(self, state: State, move: Move) -> list[tuple[str, float]]:
        self._fit(state.game)
        return self.network.reasons(state, move)

    def _why(self, state: State, move: Move) -> str:
        reasons = self.reasons(state, move)
        if not reasons:
            return f"{move} ends the game"
        (best, most), (worst, least) = (pick(reasons, key=lambda reason: reason[1]) for pick in (max, min))
        form = "+.2f" if state.game.bounded else "+,.0f"
        what = "the tuple of cells " if isinstance(self.network, Network) else ""
        said = f"{what}{best} adds most to the value of {move} ({most:{form}})"
        return said if least >= 0 else f"{said}, {worst} takes most away ({least:{form}})"


class Sarsa(Td):
    """Plays the move that a network trained by SARSA values most. `path`: a run's directory or a checkpoint."""

    learn = "sarsa"

    def __init__(self, path: str):
        super().__init__(path)


class Q(Td):
    """Plays the move that a network trained by Q-learning values most. `path`: a run's directory or a checkpoint."""

    learn = "q"

    def __init__(self, path: str):
        super().__init__(path)


def player(path: str) -> Td:
    """The agent that plays a run or checkpoint of any of the three learners."""
    kinds = {kind.learn: kind for kind in (Td, Sarsa, Q)}
    said = files.about(files.find(path)) or {}
    return kinds.get(dict(said.get("net", {})).get("learn", ""), Td)(path)
