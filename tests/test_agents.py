"""What every agent promises, and what limits and clocks mean."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from meijin.agents.catalogue import agent_names, agents, build
from meijin.agents.check import AgentError, check_agent
from meijin.core.agent import Agent, Analysis, Clock, Limit, MoveInfo, advice
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.moves import Move
from meijin.core.state import State

#: Every agent of the catalogue and a game for it; several ways to search where that matters.
CATALOGUE = {
    "alphabeta": ["othello"],
    "heuristic": ["othello"],
    "maxn": ["tic_tac_toe"],
    "mc": ["connect_four"],
    "mc(threads=2)": ["connect_four"],
    "mcts": ["connect_four", "nim(heaps=(3, 3, 2), players=3)", "2048"],
    "mcts(threads=2)": ["connect_four"],
    "mcts(threads=2, parallel='tree')": ["connect_four"],
    "mcts_wrap(heuristic, simulations=20)": ["othello"],
    "nply(heuristic, 2)": ["othello"],
    "nply(mcts(simulations=10), 1)": ["tic_tac_toe"],
    "perfect": ["tic_tac_toe", "connect_four"],
    "perfect(vary=True)": ["tic_tac_toe"],
    "random": ["connect_four"],
    "weighted": ["othello"],
    "champion(simulations=20)": ["connect_four"],
    "champion(simulations=20, exact=False)": ["connect_four"],
    "champion(level=2)": ["connect_four"],
}
#: These ask a person, or need a run that somebody has trained, or a program; their own tests try them.
ELSEWHERE = {"human", "zero", "policy", "value", "policy_value", "td", "sarsa", "q"}
ELSEWHERE |= {"gtp", "usi", "ugi", "cecp", "nboard", "pipe"}


def test_every_agent_of_the_catalogue_is_tried() -> None:
    tried = {expression.partition("(")[0] for expression in CATALOGUE}
    own = set(agents.own)
    assert tried | ELSEWHERE == own <= set(agent_names())


@pytest.mark.parametrize(("agent", "game"), [(a, g) for a, games in CATALOGUE.items() for g in games])
def test_agents_keep_their_promises(agent: str, game: str) -> None:
    report = check_agent(agent, make(game))
    assert len(report.promises) == 11 and agent.partition("(")[0] in str(report)


# ---- a check that finds what is wrong ----


class Plain(Agent):
    """The first legal move, as somebody's first agent would play it."""

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        yield Analysis(state.turn, tuple(MoveInfo(move) for move in state.legal_moves))


class Illegal(Plain):
    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        yield Analysis(state.turn, (MoveInfo(Move(99, "z9")),))


class Meddling(Plain):
    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        state.play(state.legal_moves[0]).undo()
        state.play(state.legal_moves[0])
        yield Analysis(1 - state.turn, tuple(MoveInfo(move) for move in [state.history[-1]]))


class Deaf(Plain):
    measures = ("seconds",)

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        threading.Event().wait(min(3.0, limit.seconds or 0))
        yield from super().think(state, limit, every)


class OneSided(Plain):
    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        yield Analysis(state.turn, tuple(MoveInfo(m, value=(0.5,)) for m in state.legal_moves))


class Eager(Plain):
    measures = ("simulations",)

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        yield Analysis(state.turn, (MoveInfo(state.legal_moves[0]),), simulations=1000)


class Silent(Plain):
    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        yield from ()


class Backwards(Plain):
    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        moves = state.legal_moves
        yield Analysis(state.turn, tuple(MoveInfo(m, pv=(moves[-1], m)) for m in moves))


def test_a_first_agent_passes() -> None:
    assert "answered" not in str(check_agent(Plain, make("tic_tac_toe")))


@pytest.mark.parametrize(
    ("agent", "problem"),
    [
        (Illegal, "list one or more legal moves"),
        (Meddling, "thinking changes the position"),
        (Deaf, "thinks for 1 s after `stop`"),
        (OneSided, "one score per seat"),
        (Eager, "1000 simulations where 20 were allowed"),
        (Silent, "`think` must yield an Analysis"),
        (Backwards, "begin with the move itself"),
        (lambda: "mcts", "derive its class from meijin.Agent"),
    ],
)
def test_broken_promises_are_named(agent: Any, problem: str) -> None:
    with pytest.raises((AgentError, MeijinError), match=problem):
        check_agent(agent, make("tic_tac_toe"))


def test_an_agent_that_does_not_fit_says_so() -> None:
    with pytest.raises(BadParameter, match="alphabeta cannot play 2048"):
        check_agent("alphabeta", make("2048"))


# ---- the life of an agent ----


def test_an_agent_does_one_thing_at_a_time() -> None:
    agent, state = build("mcts(seed=1)"), State(make("connect_four"))
    watching = agent.watch(state, Limit(simulations=10**9), every=0.01)
    next(watching)
    with pytest.raises(MeijinError, match="is thinking already"):
        agent.analyse(state)
    watching.close()
    assert agent.analyse(state, Limit(simulations=100)).simulations == 100


def test_two_threads_get_answers_to_their_own_positions() -> None:
    """Two positions analysed by one agent at once once mixed their trees."""
    agent, game = build("mcts(simulations=300)"), make("connect_four")
    states = [State(game).play_line("4"), State(game).play_line("3 3")]
    found: dict[int, list[Analysis]] = {0: [], 1: []}

    def work(k: int) -> None:
        for _ in range(10):
            found[k].append(agent.analyse(states[k]))

    threads = [threading.Thread(target=work, args=(k,)) for k in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, state in enumerate(states):
        assert len(found[k]) == 10
        assert all(analysis.turn == state.turn and len(analysis.moves) == 7 for analysis in found[k])
        assert all(sum(info.visits or 0 for info in analysis.moves) >= 299 for analysis in found[k])


def test_pondering_is_kept_for_the_move_that_comes() -> None:
    agent, state = build("mcts(simulations=10, seed=1)"), State(make("connect_four"))
    agent.ponder(state)
    reply = state.copy().play("4")
    while True:  # until the tree is large enough to keep something
        agent.ponder(state)
        visits = sum(info.visits or 0 for info in agent.analyse(reply).moves)
        if visits > 11:
            break
        agent.seed(1)
    assert visits > 11


def test_closing_stops_and_frees() -> None:
    agent, state = build("mcts(seed=1)"), State(make("connect_four"))
    with agent:
        agent.ponder(state)
    with pytest.raises(MeijinError, match="is closed"):
        agent.act(state)
    agent.close()


def test_the_move_that_is_chosen_is_made_by_those_who_see_no_analysis_too() -> None:
    class Modest(Agent):
        """Knows the best move, and plays the worst."""

        def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
            yield Analysis(state.turn, tuple(MoveInfo(move) for move in state.legal_moves))

        def chosen(self, state: State, analysis: Analysis) -> Analysis:
            return replace(analysis, moves=analysis.moves[::-1])

    state = State(make("tic_tac_toe"))
    assert Modest().analyse(state).best == state.legal_moves[0]
    assert Modest().act(state) == state.legal_moves[-1]


def test_nothing_to_think_about() -> None:
    over = State(make("tic_tac_toe")).play_line("a1 a2 b1 b2 c1")
    with pytest.raises(MeijinError, match="the game is over"):
        build("mcts").analyse(over)
    with pytest.raises(MeijinError, match="chance moves"):
        build("mcts").act(State(make("2048")))


# ---- limits ----


def test_a_clock_is_divided() -> None:
    assert Clock(60).share(30) == pytest.approx(59.95 / 30)
    assert Clock(60, increment=2).share(30) == pytest.approx(59.95 / 30 + 1.6)
    assert Clock(10, moves_to_go=2).share(30) == pytest.approx(9.95 / 2)
    assert Clock(10, moves_to_go=1).share(30) == pytest.approx(9.95 * 0.9)
    assert Clock(0.02).share(30) == pytest.approx(0.001)  # next to nothing, but a move must be made
    for left in (0.0, 0.1, 1.0, 100.0):
        for increment in (0.0, 5.0):
            assert Clock(left, increment).share(1) <= max(0.001, left)


def test_a_game_is_played_within_its_clock() -> None:
    """By the arithmetic alone: what each move may take adds up to less than there was."""
    left, spent = 10.0, 0.0
    for ply in range(200):
        share = Clock(max(0.0, left)).share(max(1, 30 - ply))
        left, spent = left - share, spent + share
        assert left >= -0.001 * ply  # once nothing is left, a move still takes a moment
    assert spent < 10.2


def test_an_agent_heeds_what_it_knows_of_a_limit() -> None:
    state = State(make("connect_four"))
    agent = build("mcts(simulations=70, seed=1)")
    assert agent.analyse(state, Limit(depth=3)).simulations == 70  # no limit of its kind: its own
    assert agent.analyse(state, Limit(simulations=30, depth=3)).simulations == 30
    assert build("maxn(depth=2)").analyse(state, Limit(simulations=5)).depth == 2
    assert build("maxn").analyse(state, Limit(nodes=10)).nodes <= 10 + 8
    assert build("alphabeta").analyse(State(make("othello")), Limit(nodes=100)).nodes <= 200
    clocked = agent.analyse(state, Limit(clock=Clock(left=0.3)))
    assert 0 < clocked.seconds < 5 and clocked.simulations > 0


@pytest.mark.parametrize(
    "bad",
    [
        lambda: Limit(seconds=0),
        lambda: Limit(simulations=-1),
        lambda: Limit(simulations=1.5),  # type: ignore[arg-type]
        lambda: Limit(depth="a"),  # type: ignore[arg-type]
        lambda: Limit(seconds=math.nan),
        lambda: Limit(nodes=True),
        lambda: Limit(clock=3),  # type: ignore[arg-type]
        lambda: Clock(-1),
        lambda: Clock(1, moves_to_go=0),
        lambda: Clock(math.inf),
        lambda: build("mcts(simulations='a')"),
        lambda: build("mcts(c='x')"),
        lambda: build("mcts(threads=0)"),
        lambda: build("alphabeta(depth=1.5)"),
    ],
)
def test_bad_limits_are_refused(bad: Any) -> None:
    with pytest.raises(BadParameter, match=r"must be|choose from|give a Clock"):
        bad()


# ---- advice ----


def test_advice_follows_the_value() -> None:
    game = make("tic_tac_toe")

    def said(value: tuple[float, float], turn: int = 0, proven: bool = False, simulations: int = 1000) -> str:
        return advice(game, Analysis(turn, (), value, proven=proven, simulations=simulations))

    assert said((-0.99, 0.99)) == "resign" and said((-0.99, 0.99), turn=1) == ""
    assert said((-0.99, 0.99), simulations=10) == "" and said((-0.5, 0.5)) == ""
    assert said((-1.0, 1.0), proven=True, simulations=0) == "resign"
    assert said((0.0, 0.0), proven=True) == "draw" and said((0.0, 0.0)) == ""
    three = make("nim(heaps=(3, 3, 2), players=3)")
    assert advice(three, Analysis(0, (), (-0.5, -0.5, 1.0), proven=True)) == ""


def test_a_lost_position_is_resigned() -> None:
    lost = State(make("tic_tac_toe")).play_line("a1 c3 a3 a2 c1")  # two ways to win are open
    assert build("mcts(simulations=2000, seed=1)").analyse(lost).advice == "resign"


def test_what_is_no_position_is_refused_in_words() -> None:
    agent: Any = build("random", "nim")
    for ask in (agent.analyse, agent.act, agent.value):
        with pytest.raises(BadParameter, match="'x' is not a position; give a State"):
            ask("x")
