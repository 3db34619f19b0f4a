"""MCTS against exhaustive search, and its promises: reuse, seeds, limits, memory, threads."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from meijin.agents.catalogue import build
from meijin.arena.match import match
from meijin.core.agent import Analysis, Limit
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import CHANCE, Game
from meijin.core.moves import Move
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.search.mcts import MCTS
from meijin.search.mcts.kernels import USED
from meijin.search.mcts.tree import SearchTree, node_bytes

CONNECT = "connect_four(width=4, height=3, connect=3)"
NIM = "nim(heaps=(3, 3, 2), players=3)"
SMALL_2048 = "2048(size=2)"

Vector = tuple[float, ...]


class Solver:
    """All score vectors that best play can lead to, by trying everything.

    With two seats and opposite scores, or with one seat, there is exactly one. With more seats a mover may be
    indifferent between moves that are not so to the others, and each way to break such ties has its own vector:
    one of a child is possible if the mover gets no less by it than the least that it could get by any other child.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, frozenset[Vector]] = {}

    def __call__(self, state: State) -> frozenset[Vector]:
        key = state.records.tobytes()
        if key not in self._known:
            self._known[key] = self._solve(state)
        return self._known[key]

    def value(self, state: State) -> Vector:
        (only,) = self(state)
        return only

    def _solve(self, state: State) -> frozenset[Vector]:
        if state.is_over:
            return frozenset((state.scores,))
        seat, below = state.turn, {move: self(state.copy().play(move)) for move in state.legal_moves}
        if state.is_chance:
            return frozenset(
                tuple(math.fsum(p * v[k] for p, v in zip(state.odds.values(), vectors, strict=True)) for k in seats)
                for vectors in itertools.product(*below.values())
                for seats in [range(state.game.seats)]
            )
        sure = {move: min(v[seat] for v in vectors) for move, vectors in below.items()}
        return frozenset(
            v
            for move, vectors in below.items()
            for v in vectors
            if all(v[seat] >= least for other, least in sure.items() if other != move)
        )

    def best_moves(self, state: State) -> list[Move]:
        values = {move: self.value(state.copy().play(move))[state.turn] for move in state.legal_moves}
        return [move for move, value in values.items() if value == max(values.values())]


@cache
def solver(expression: str) -> Solver:
    return Solver()


def state_of(expression: str, line: str = "") -> State:
    return State(make(expression)).play_line(line)


def visits(analysis: Analysis) -> dict[int, int]:
    return {int(info.move): info.visits or 0 for info in analysis.moves}


def root_visits(agent: MCTS) -> int:
    return sum(int(tree.nodes[0].visits) for tree in agent._trees)


def random_states(game: Game, count: int, seed: int, least: int, most: int) -> Iterator[State]:
    """Positions where a seat is to move, that many plies before the end of a random game."""
    rng = random.Random(seed)
    while count:
        state = State(game)
        while not state.is_over:
            state.play(rng.choice(state.legal_moves))
        for _ in range(min(rng.randint(least, most), len(state.history))):
            state.undo()
        if state.turn >= 0:
            count -= 1
            yield state


# ---- strength ----


def test_never_loses_tic_tac_toe_to_a_perfect_player() -> None:
    perfect, rng, agent = solver("tic_tac_toe"), random.Random(1), MCTS(simulations=1000, seed=1)
    assert perfect.value(state_of("tic_tac_toe")) == (0.0, 0.0)
    for number in range(200):
        seat, state = number % 2, state_of("tic_tac_toe")
        while not state.is_over:
            state.play(agent.act(state) if state.turn == seat else rng.choice(perfect.best_moves(state)))
        assert state.scores == (0.0, 0.0), f"seat {seat}: {state.text}"


def test_2048_beats_random_play_many_times_over() -> None:
    # Random games average about 1,100 with a deviation of 550; ten games of this agent had a mean of 27,000, a
    # deviation of 8,000 and none below 16,000. The mean of two falls below 4 x 1,200 once in 20,000 seeds:
    # z = (27,000 - 4,800) / (8,000 / sqrt(2)) = 3.9; this seed is fixed.
    game = make("2048")
    strong = match(game, ["mcts(simulations=100)"], games=2, seed=1).standings[0].total
    weak = match(game, ["random"], games=30, seed=1).standings[0].total
    assert strong.mean > 4 * weak.mean


# ---- against exhaustive search ----


def tree_nodes(tree: SearchTree, state: State) -> Iterator[tuple[int, State]]:
    """Every node of a tree that was visited, with its position; the same State is used for all."""

    def walk(i: int) -> Iterator[tuple[int, State]]:
        yield i, state
        for child in tree.children(i):
            if tree.nodes[child].visits:
                state.play(int(tree.nodes[child].move))
                yield from walk(child)
                state.undo()

    yield from walk(0)


@pytest.mark.parametrize(
    ("expression", "positions", "least", "most", "threads"),
    [
        (NIM, 12, 3, 8, 1),
        (SMALL_2048, 20, 2, 10, 1),
        (CONNECT, 8, 4, 12, 4),
        pytest.param("tic_tac_toe", 12, 3, 9, 1, marks=pytest.mark.soak),
        pytest.param(CONNECT, 8, 4, 12, 1, marks=pytest.mark.soak),
        pytest.param("tic_tac_toe", 12, 3, 9, 4, marks=pytest.mark.soak),
        pytest.param(NIM, 12, 3, 8, 4, marks=pytest.mark.soak),
        pytest.param(SMALL_2048, 20, 2, 10, 4, marks=pytest.mark.soak),
    ],
)
def test_whatever_is_proven_is_true(expression: str, positions: int, least: int, most: int, threads: int) -> None:
    """Not of the root alone: of every node of the trees, also when threads prove parts of one at the same time."""
    game, exact = make(expression), solver(expression)
    agent = MCTS(simulations=2000, seed=3, threads=threads, parallel="tree")
    proofs, unique, roots = 0, 0, 0
    for state in random_states(game, positions, 5, least, most):
        # Chance nodes keep their odds in 32 bits: each one's relative error of 2**-24 adds to those below it.
        close = 2.0**-24 * 40 if game.chance else 1e-12
        analysis = agent.analyse(state)
        if analysis.proven:
            roots += 1
            best = analysis.moves[0]
            assert best.proven and best.value and analysis.value
            assert best.value[state.turn] == pytest.approx(analysis.value[state.turn], rel=close)
        for i, at in tree_nodes(agent._trees[0], state.copy()):
            node = agent._trees[0].nodes[i]
            assert node.turn == at.turn
            if not node.proven:
                continue
            value = tuple((node.total / node.visits).tolist())
            possible = exact(at)
            assert any(value == pytest.approx(v, rel=close, abs=close) for v in possible), at.text
            proofs, unique = proofs + 1, unique + (len(possible) == 1)
    # A proof of the root needs every outcome, the rarest too; how many come when threads share a tree depends on
    # the scheduler. What counts is that there were proofs to look at.
    assert roots >= positions // 3 or game.chance or threads > 1
    assert unique >= proofs // 2 > 200


def test_nim_for_three_agrees_with_maxn() -> None:
    """Where every way to break ties gives the mover the same, that is its value, and the best move keeps it."""
    game, exact, agent, judged = make(NIM), solver(NIM), MCTS(simulations=20_000, seed=2), 0
    for heaps in itertools.product(range(4), range(4), range(3)):
        record = State(game).record.copy()
        record.heaps, record.left = heaps, sum(heaps)
        state = State(game, record)
        if state.is_over:
            continue
        analysis = agent.analyse(state)
        assert analysis.proven and analysis.value is not None
        assert any(analysis.value == pytest.approx(v) for v in exact(state)), state.text
        mine = {v[0] for v in exact(state)}
        if len(mine) == 1:
            judged += 1
            assert analysis.value[0] == pytest.approx(mine.pop())
            after = {v[0] for v in exact(state.copy().play(analysis.best))}
            assert any(analysis.value[0] == pytest.approx(v) for v in after)
    assert judged >= 20


def test_a_proof_ends_the_search_and_names_the_winning_line() -> None:
    analysis = MCTS(simulations=10**6, seed=1).analyse(state_of("connect_four", "4 3 4 3 4 2"))
    assert analysis.proven and analysis.simulations < 10**6
    assert analysis.value == (1.0, -1.0)
    assert [str(move) for move in analysis.pv] == ["4"]


def test_a_proven_loss_is_avoided_however_often_it_was_visited() -> None:
    state = state_of("tic_tac_toe", "a1 b2 a2")  # seat 1 must stop a3
    for seed in range(20):
        assert str(MCTS(simulations=40, seed=seed).act(state)) == "a3"


def test_proofs_survive_values_that_floats_cannot_hold(compiled_in_soak: None) -> None:
    """With eleven seats all but the loser score 1/10, which a mean over visits misses by a bit; the best still lead."""
    game = make("nim(heaps=(2, 2, 1), players=11, misere=True)")
    for seed, threads in itertools.product(range(5), (1, 2)):
        analysis = MCTS(simulations=2000, seed=seed, threads=threads).analyse(State(game))
        assert analysis.proven and analysis.value and analysis.value[0] == pytest.approx(0.1)
        ranked = [bool(info.proven and info.value and info.value[0] > 0) for info in analysis.moves]
        assert ranked == sorted(ranked, reverse=True) and ranked[0]


# ---- the tree is kept ----


def test_the_tree_is_kept_from_move_to_move() -> None:
    state, agent = state_of("connect_four"), MCTS(simulations=3000, seed=4)
    first = agent.analyse(state)
    assert sum(visits(first).values()) == first.simulations == 3000
    reply = agent._trees[0]
    child = next(i for i in reply.children(0) if reply.nodes[i].move == first.best)
    answer = max(reply.children(child), key=lambda i: int(reply.nodes[i].visits))
    kept, move = int(reply.nodes[answer].visits), int(reply.nodes[answer].move)
    below = {int(reply.nodes[i].move): int(reply.nodes[i].visits) for i in reply.children(answer)}
    assert kept > 20 and sum(below.values()) == kept - 1  # it was a leaf on its first visit

    state.play(first.best).play(move)
    second = agent.analyse(state)
    assert second.simulations == 3000
    assert root_visits(agent) == kept + 3000
    assert sum(visits(second).values()) == kept - 1 + 3000
    assert all(visits(second)[m] >= n for m, n in below.items())
    assert second.nodes == int(reply.info[USED]) <= len(reply.nodes)


@pytest.mark.parametrize(("expression", "plies"), [("connect_four", 8), (SMALL_2048, 6), (NIM, 2)])
def test_a_kept_tree_is_a_tree_of_the_new_position(expression: str, plies: int) -> None:
    """After each reply every node lies where the rules say: turns, legal moves and odds, and visits that add up."""
    state, agent, rng = state_of(expression).roll(stream(3)), MCTS(simulations=400, seed=6), stream(4)
    for _ in range(plies):
        agent.analyse(state)
        tree, seen = agent._trees[0], set()
        assert tree.root == state.record
        for i, at in tree_nodes(tree, state.copy()):
            node = tree.nodes[i]
            seen.update(tree.children(i))
            assert node.turn == at.turn
            if node.count:
                below = [tree.nodes[k] for k in tree.children(i)]
                assert sorted(int(n.move) for n in below) == [int(m) for m in at.legal_moves]
                assert sum(int(n.visits) for n in below) in (node.visits, node.visits - 1)
                if node.turn == CHANCE:
                    odds = {int(m): p for m, p in at.odds.items()}
                    assert {int(n.move): float(n.prob) for n in below} == pytest.approx(odds)
        assert seen == set(range(1, int(tree.info[USED])))  # no node is lost, none has two parents
        if state.play(agent.act(state)).roll(rng).is_over:
            break


def test_another_position_is_searched_anew() -> None:
    agent, state = MCTS(simulations=200, seed=1), state_of("connect_four", "4 4")
    agent.analyse(state)
    for other in (state_of("connect_four", "4 5"), state_of("connect_four", "4"), state_of("tic_tac_toe")):
        agent.analyse(other)
        assert root_visits(agent) == 200
    # The same moves from another set-up are another position.
    agent.analyse(state)
    agent.analyse(State(state.game, state.record))
    assert root_visits(agent) == 200


def test_asking_twice_searches_on() -> None:
    agent, state = MCTS(simulations=100, seed=1), state_of("connect_four")
    agent.analyse(state)
    assert sum(visits(agent.analyse(state)).values()) == 200


# ---- seeds, limits, threads ----


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("expression", ["connect_four", SMALL_2048])
def test_a_seed_repeats_a_search(expression: str, threads: int) -> None:
    state = state_of(expression).roll(stream(1))
    one, other = (MCTS(simulations=300, seed=9, threads=threads) for _ in range(2))
    first = one.analyse(state)
    assert [(i.move, i.visits, i.value) for i in first.moves] == [
        (i.move, i.visits, i.value) for i in other.analyse(state).moves
    ]
    # An agent that has played before starts over with `seed`, as a new one would.
    one.analyse(state.copy().play(one.act(state)).roll(stream(2)))
    one.seed(9)
    assert visits(one.analyse(state)) == visits(first)
    one.seed(10)
    assert visits(one.analyse(state)) != visits(first)


@pytest.mark.parametrize("parallel", ["root", "tree"])
@pytest.mark.parametrize("simulations", [1, 2, 3, 500, 501])
def test_threads_add_up(simulations: int, parallel: str) -> None:
    agent = MCTS(simulations=simulations, threads=2, seed=1, parallel=parallel)
    analysis = agent.analyse(state_of("connect_four"))
    assert analysis.simulations == sum(visits(analysis).values()) == root_visits(agent) == simulations
    assert analysis.nodes == sum(int(tree.info[USED]) for tree in agent._trees)
    totals: dict[int, np.ndarray] = {}
    for tree in agent._trees:
        for i in tree.children(0):
            move = int(tree.nodes[i].move)
            totals[move] = totals.get(move, np.zeros(2)) + tree.nodes[i].total
    for info in analysis.moves:
        if info.visits:
            assert info.value == pytest.approx(tuple(totals[info.move] / info.visits))


@pytest.mark.parametrize("expression", ["connect_four", SMALL_2048, NIM])
def test_what_threads_do_to_one_tree_adds_up(expression: str) -> None:
    """When they are done no virtual loss is left: a node's statistics are those of its first visit and its children."""
    agent = MCTS(simulations=20_000, threads=4, seed=1, parallel="tree")
    analysis = agent.analyse(state_of(expression).roll(stream(1)))
    (tree,) = agent._trees
    assert analysis.simulations == tree.nodes[0].visits
    nodes, checked = tree.nodes, 0
    certain = nodes["proven"] != 0  # a proof corrects what a node had counted, and so what is below its parents
    for i in range(int(tree.info[USED]) - 1, -1, -1):
        children = tree.children(i)
        if len(children) == 0:
            continue
        assert nodes[i].visits == sum(int(nodes[k].visits) for k in children) + (i > 0) or nodes[i].proven
        certain[i] |= any(certain[k] for k in children)
        if not certain[i]:
            rest = nodes[i].total - sum(nodes[k].total for k in children)
            if i > 0:  # the score of its first playout
                assert all(rest >= -1e-6) if tree.game.score_range[0] == 0 else all(abs(rest) <= 1 + 1e-9)
            else:
                assert rest == pytest.approx(np.zeros(tree.game.seats), abs=1e-6)
            checked += 1
    assert checked > 100 or tree.nodes[0].proven


@pytest.mark.parametrize("parallel", ["root", "tree"])
def test_a_proof_in_one_thread_stands_for_all(parallel: str) -> None:
    agent = MCTS(simulations=4000, threads=2, seed=1, parallel=parallel)
    analysis = agent.analyse(state_of("tic_tac_toe", "a1 b1 b2 c3"))
    assert analysis.proven and analysis.value == pytest.approx((1.0, -1.0))
    assert analysis.simulations <= 4000
    again = agent.analyse(state_of("tic_tac_toe", "a1 b1 b2 c3"))
    assert again.proven and again.best == analysis.best and again.simulations == 0


def test_a_limit_of_seconds_ends_the_search() -> None:
    for threads, parallel in ((1, "root"), (2, "tree"), (2, "root")):
        agent = MCTS(seconds=0.05, threads=threads, parallel=parallel)
        analysis = agent.analyse(state_of("connect_four"))
        assert analysis.simulations > 0
        assert analysis.simulations == root_visits(agent)
    assert agent.analyse(state_of("connect_four"), Limit(seconds=1e-9)).simulations > 0
    both = MCTS(seconds=3600, simulations=50).analyse(state_of("connect_four"))
    assert both.simulations == 50


def test_the_limit_given_counts_and_one_without_meaning_here_falls_back() -> None:
    agent = MCTS(simulations=70, seed=1)
    assert agent.analyse(state_of("connect_four"), Limit(simulations=30)).simulations == 30
    # A depth alone says nothing to this search; it must not search for ever.
    assert agent.analyse(state_of("connect_four", "4"), Limit(depth=2)).simulations == 70


@pytest.mark.parametrize(
    "bad", ["simulations=0", "seconds=-1", "c=-1", "threads=0", "memory_mb=0", "simulations=-5", "parallel='leaf'"]
)
def test_impossible_settings_are_refused(bad: str) -> None:
    with pytest.raises(BadParameter, match=bad.split("=", maxsplit=1)[0]):
        build(f"mcts({bad})")


def test_there_is_nothing_to_search_at_the_end_or_when_chance_moves() -> None:
    with pytest.raises(MeijinError, match="the game is over"):
        MCTS().analyse(state_of("tic_tac_toe", "a1 b1 a2 b2 a3"))
    with pytest.raises(MeijinError, match="chance moves"):
        MCTS().analyse(state_of(SMALL_2048))


def test_an_only_move_is_played_without_a_search() -> None:
    state = state_of("othello")
    while len(state.legal_moves) > 1 or state.is_over:  # until somebody must pass, or has one cell left
        state = state_of("othello") if state.is_over else state.play(random.Random(len(state.history)).choice(
            state.legal_moves))  # fmt: skip
    agent = MCTS()
    assert agent.act(state) == state.legal_moves[0]
    assert not agent._trees


# ---- chance ----


def test_outcomes_are_visited_by_their_odds() -> None:
    """Chi-square over the outcomes of the most visited slide; a false alarm in 10**-9 of all seeds.

    The critical value is the Wilson-Hilferty approximation at z = 6: one-sided 1e-9.
    """
    state = state_of("2048", "a1=2 d4=2")
    agent = MCTS(simulations=20_000, seed=8)
    tree = SearchTree(state.game, 8, 0, 10**6)
    agent._trees, agent._at = [tree], None
    agent.analyse(state)
    slide = max(tree.children(0), key=lambda i: int(tree.nodes[i].visits))
    assert tree.nodes[slide].turn == CHANCE
    seen = np.array([int(tree.nodes[i].visits) for i in tree.children(slide)], float)
    after = state.copy().play(int(tree.nodes[slide].move))
    odds = np.array([after.odds[after.game.outcomes[tree.nodes[i].move]] for i in tree.children(slide)])
    expected = odds * seen.sum()
    assert expected.min() > 20
    chi2, freedom = float(((seen - expected) ** 2 / expected).sum()), len(odds) - 1
    critical = freedom * (1 - 2 / (9 * freedom) + 6 * math.sqrt(2 / (9 * freedom))) ** 3
    assert chi2 < critical


# ---- memory ----


@pytest.mark.parametrize(("threads", "parallel"), [(1, "root"), (2, "root"), (3, "tree")])
def test_the_memory_cap_is_kept(threads: int, parallel: str) -> None:
    agent = MCTS(simulations=20_000, memory_mb=0.2, threads=threads, seed=1, parallel=parallel)
    state = state_of("connect_four")
    for _ in range(3):  # the cap holds, and the notes stay true, from move to move
        analysis = agent.analyse(state)
        used = sum(tree.nodes.nbytes + tree.arrays.stats.nbytes + 4 * len(tree.nodes) for tree in agent._trees)
        assert used <= 0.2e6
        assert analysis.nodes * node_bytes(2) <= 0.2e6
        assert "memory" in analysis.note
        assert analysis.simulations == 20_000
        assert len(analysis.moves) == 7
        state.play(analysis.best)
    assert not MCTS(simulations=100, seed=1).analyse(state).note


def test_a_cap_below_the_roots_children_still_answers() -> None:
    agent, state = MCTS(simulations=500, memory_mb=1e-4, seed=1), state_of("connect_four")
    while not state.is_over:
        analysis = agent.analyse(state)
        assert {info.move for info in analysis.moves} == set(state.legal_moves)
        assert analysis.nodes <= 8
        state.play(analysis.best)


def test_a_million_nodes_of_othello_fit_in_300_mb() -> None:
    agent = MCTS(simulations=500_000, seed=1)
    analysis = agent.analyse(state_of("othello"))
    assert analysis.nodes >= 1_000_000
    (tree,) = agent._trees
    arrays = [value for value in vars(tree).values() if isinstance(value, np.ndarray)]
    assert sum(array.nbytes for array in arrays) + 4 * len(tree.nodes) < 300e6  # 4 bytes a node while rerooting
