"""`mcts_wrap(inner, simulations)`: tree search around any agent that gives values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.moves import Move
from meijin.core.options import at_least
from meijin.core.rng import fresh_seed, stream, uniform
from meijin.core.state import State
from meijin.search.pace import Pace


@dataclass(slots=True)
class Node:
    """A position: `children` by move, or by outcome at a chance turn, once it is expanded."""

    turn: int
    prior: float = 1.0
    visits: int = 0
    total: np.ndarray | None = None  # [seat]
    proven: np.ndarray | None = None  # [seat]: its exact value, once the ends of games below have decided it
    children: dict[Move, Node] = field(default_factory=dict)

    def mean(self, seat: int) -> float:
        if self.proven is not None:
            return float(self.proven[seat])
        return float(self.total[seat]) / self.visits if self.total is not None and self.visits else 0.0

    def prove(self, game: Game) -> bool:
        """Whether its value follows from what is proven of its children: one wins, or all are decided.

        With three seats and more, a choice that is the same to its mover but not to the others proves nothing.
        """
        decided = [(child.prior, child.proven) for child in self.children.values() if child.proven is not None]
        complete = len(decided) == len(self.children)
        if self.turn < 0:
            self.proven = sum((odds * value for odds, value in decided), np.zeros(game.seats)) if complete else None
        elif decided:
            best = max((value for _, value in decided), key=lambda value: value[self.turn])
            sure = complete or (game.seats <= 2 and best[self.turn] >= game.score_range[1])
            same = all((value == best).all() for _, value in decided if value[self.turn] == best[self.turn])
            self.proven = best if sure and same else None
        return self.proven is not None


class Wrap(Agent):
    """PUCT search: leaves get the inner agent's value; priors are its own, or a softmax of its values.

    What the ends of games decide is proven, and searched no further.
    """

    measures = ("seconds", "simulations")
    ponders = True

    def __init__(
        self,
        inner: Agent,
        simulations: int = 100,
        c: float = 1.25,
        temperature: float = 0.25,
        seed: int | None = None,
    ):
        if not isinstance(inner, Agent):
            raise BadParameter(f"inner={inner!r}: give an agent, as in mcts_wrap(heuristic, simulations=100)")
        at_least("temperature", temperature, 1e-6)
        at_least("c", c, 0)
        self.inner, self.c, self.temperature = inner, c, temperature
        self.limit = Limit(simulations=simulations)
        self.reseed(fresh_seed() if seed is None else seed)

    def unfit(self, game: Game) -> str | None:
        return self.inner.unfit(game) or (None if game.bounded else "its scores have no bounds, which PUCT needs")

    def reseed(self, seed: int) -> None:
        self._rng = stream(seed)
        self._root: tuple[Game, bytes, tuple[Move, ...], Node] | None = None
        self.inner.seed(seed)

    def stop(self) -> None:
        super().stop()
        self.inner.stop()

    def release(self) -> None:
        self._root = None
        self.inner.close()

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        root = self._find_root(state)
        done = 0
        with Pace(self, limit.seconds, every, reports=False) as pace:
            while root.proven is None and done < (limit.simulations or math.inf) and not (pace.over and done):
                self._simulate(root, state.copy())
                done += 1
                if pace.due():
                    yield _report(state, root, done, pace.seconds)
        yield _report(state, root, done, pace.seconds)

    def _find_root(self, state: State) -> Node:
        """The tree below the position searched last, if this one continues it."""
        node = None
        if self._root is not None and self._root[0] is state.game and self._root[1] == state.origin:
            _, _, past, node = self._root
            if state.history[: len(past)] == past:
                for move in state.history[len(past) :]:
                    node = node.children.get(move) if node else None
            else:
                node = None
        node = node or Node(state.turn)
        if not node.children:
            self._expand(node, state)
        self._root = state.game, state.origin, state.history, node
        return node

    def _expand(self, node: Node, state: State) -> None:
        node.turn = state.turn
        if state.is_chance:
            node.children = {outcome: Node(0, p) for outcome, p in state.odds.items()}
        elif not state.is_over:
            infos = self.inner.analyse(state).moves
            weights = [info.prior for info in infos if info.prior is not None]
            if len(weights) < len(infos) or not sum(weights) > 0:
                weights = self._weights(infos, state)
            node.children = {
                info.move: Node(0, weight / sum(weights)) for info, weight in zip(infos, weights, strict=True)
            }

    def _weights(self, infos: Sequence[MoveInfo], state: State) -> list[float]:
        """Priors from values, for an inner agent that has no opinion of its own."""
        low, high = state.game.score_range
        known = [info.value[state.turn] for info in infos if info.value is not None]
        worst = min(known, default=0.0)
        scaled = [
            ((info.value[state.turn] if info.value else worst) - low) / (high - low) / self.temperature
            for info in infos
        ]
        return [math.exp(x - max(scaled)) for x in scaled]

    def _simulate(self, node: Node, state: State) -> None:
        path = [node]
        while node.children and node.proven is None:
            move, node = self._choose(node, state.game)
            state.play(move)
            path.append(node)
        if node.visits == 0 or state.turn < 0:
            node.turn = state.turn
        if node.proven is None and not state.is_over and (node.visits > 0 or state.is_chance):
            self._expand(node, state)
            move, node = self._choose(node, state.game)
            state.play(move)
            node.turn = state.turn
            path.append(node)
        if state.is_over:
            node.proven = np.array(state.scores)
        value = node.proven if node.proven is not None else np.array(self.inner.value(state))
        for visited in path:
            visited.visits += 1
            visited.total = value.copy() if visited.total is None else visited.total + value
        if node.proven is not None:
            for visited in reversed(path[:-1]):
                if not visited.prove(state.game):
                    break

    def _choose(self, node: Node, game: Game) -> tuple[Move, Node]:
        if node.turn < 0:
            with np.errstate(over="ignore"):
                u = uniform(self._rng)
            picked = next(iter(node.children.items()))
            for item in node.children.items():
                picked = item
                u -= item[1].prior
                if u < 0:
                    break
            return picked
        half = (game.score_range[1] - game.score_range[0]) / 2
        explore = self.c * half * math.sqrt(node.visits + 1)
        fallback = node.mean(node.turn)

        def urgency(child: Node) -> float:
            if child.proven is not None:
                return child.mean(node.turn)
            mean = child.mean(node.turn) if child.visits else fallback
            return mean + explore * child.prior / (1 + child.visits)

        return max(node.children.items(), key=lambda item: urgency(item[1]))


def _report(state: State, root: Node, simulations: int, seconds: float) -> Analysis:
    seats = range(state.game.seats)
    infos = [
        MoveInfo(
            move,
            child.visits,
            child.prior,
            tuple(child.mean(k) for k in seats) if child.visits else None,
            proven=child.proven is not None,
            pv=(move, *_line(child)),
        )
        for move, child in root.children.items()
    ]
    value, low = tuple(root.mean(k) for k in seats), state.game.score_range[0]

    def rank(info: MoveInfo) -> tuple[bool, bool, int, float]:
        """What is proven best comes first, what is proven lost comes last."""
        exact = info.value[state.turn] if info.proven and info.value else math.nan
        decides = root.proven is not None and exact == value[state.turn]
        return not decides, exact == low, -(info.visits or 0), -(info.prior or 0)

    return Analysis(
        state.turn,
        tuple(sorted(infos, key=rank)),
        value,
        root.proven is not None,
        simulations=simulations,
        nodes=root.visits,
        seconds=seconds,
    )


def _line(node: Node) -> tuple[Move, ...]:
    moves: list[Move] = []
    while node.turn >= 0 and node.children:
        move, node = max(node.children.items(), key=lambda item: item[1].visits)
        if not node.visits:
            break
        moves.append(move)
    return tuple(moves)
