"""Several leaves of one tree at once: such a search keeps all rules of the search, and threads change nothing in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from meijin.agents.catalogue import build
from meijin.agents.zero import OfNet
from meijin.core.agent import Analysis, Limit
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.learning import files
from meijin.learning.nets.cache import CachedEvaluator
from meijin.learning.nets.evaluator import CpuEvaluator, Evaluator
from meijin.learning.nets.weights import Weights, load
from meijin.search.forest import Settings, layout, leaves
from meijin.search.solvers import solver_for
from plain_forest import PlainForest
from test_forest_rules import firm

TTT = "tic_tac_toe"


def searched(name: str, simulations: int, most: int, state: State | None = None, **options: Any) -> PlainForest:
    """A tree after that many simulations, nothing under way."""
    game = make(name)
    settings = Settings(simulations=simulations, leaves=most, **options)
    forest = PlainForest(game, 1, settings, firm, selfplay=False)
    forest.set(state or State(game).roll(stream(3)))
    asked = []
    while not (forest.arrays.info[0, layout.DONE] >= simulations or forest.arrays.info[0, layout.PROVEN]):
        forest.step()
        waiting = forest.arrays.asked[:, layout.LEAF_WAITS] == 1
        asked.append(int(waiting.sum()))
        assert waiting[: asked[-1]].all()  # the first rows, so that a net can be asked about those alone
        paths = {tuple(forest.arrays.path[k, : forest.arrays.asked[k, layout.LEAF_DEPTH], 1]) for k in range(asked[-1])}
        assert len(paths) == asked[-1]  # nothing is asked twice
    forest.each(leaves.settle(game))
    assert max(asked) > most // 2
    return forest


def sound(forest: PlainForest) -> None:
    info, nodes, edges = forest.arrays.info[0], forest.arrays.nodes[0], forest.arrays.edges[0]
    used = nodes[: info[layout.NODES]]
    assert (used["mark"] == 0).all()
    assert (edges["child"][: info[layout.EDGES]] != layout.ASKED).all()
    for node in used:
        assert node.visits == edges["visits"][node.first : node.first + node.count].sum()
    for edge in edges[: info[layout.EDGES]]:
        if edge.child >= 0:
            assert edge.visits >= nodes[edge.child].visits


@pytest.mark.parametrize("name", ["connect_four", "nim(heaps=(3, 4, 5), players=3)", "2048"])
def test_a_tree_with_several_leaves_is_sound(name: str) -> None:
    forest = searched(name, 100, 8)
    sound(forest)
    info, stats = forest.arrays.info[0], forest.arrays.stats[0]
    assert forest.arrays.nodes[0, 0].visits == info[layout.DONE] == stats[layout.SIMULATIONS]
    assert info[layout.DONE] == 100 or info[layout.PROVEN]


def test_proven_values_stay_exact_while_answers_are_awaited() -> None:
    """A move may be proven while the net is being asked about a position below it: the answer must not blur it."""
    solver, proofs = solver_for(make(TTT)), 0
    for line in ("a1 b2", "b2 a2", "a1 c3 b2"):
        state = State(make(TTT)).play_line(line)
        forest = searched(TTT, 200, 8, state)
        sound(forest)
        exact = {int(info.move): info.value for info in solver.analyse(state, Limit()).moves}
        for edge in forest.edges():
            if edge.proven:
                assert edge.total / edge.visits == pytest.approx(exact[int(edge.move)], abs=1e-5)
        for edge in forest.arrays.edges[0, : forest.arrays.info[0, layout.EDGES]]:
            if edge.proven:
                assert np.abs(edge.total / edge.visits).tolist() in ([0, 0], [1, 1])
                proofs += 1
    assert proofs > 100


@pytest.fixture(scope="module")
def net() -> Weights:
    game = make("connect_four")
    path = files.champion(game)
    assert path is not None
    return load(path).for_game(game)


def told(found: Analysis) -> list[Any]:
    return [(m.move, m.visits, m.value, m.prior, m.proven, m.pv) for m in found.moves]


def test_threads_and_the_cache_change_no_answer(net: Weights) -> None:
    rng, game = np.random.default_rng(3), net.game
    planes = (rng.random((7, game.num_planes or 0, len(game.board.cells))) < 0.3).astype(np.float32)
    planes[5] = planes[1]
    alone = CpuEvaluator(net, 1)
    wanted = [alone(planes[k : k + 1]) for k in range(7)]
    evaluators: list[Evaluator] = [CpuEvaluator(net, 7, threads=3), CachedEvaluator(CpuEvaluator(net, 7, threads=2))]
    for evaluator in (*evaluators, evaluators[-1]):  # the last one once more, when it knows all of them
        logits, values = evaluator(planes)
        for k in range(7):
            assert np.array_equal(logits[k], wanted[k][0][0]) and np.array_equal(values[k], wanted[k][1][0])


def test_visits_are_those_of_a_search_leaf_by_leaf(net: Weights) -> None:
    """Not knowing the answers yet changes little: at most 5 % of the visits go elsewhere."""
    for line in ("", "4 4 4 3", "1 2 3 4 5 6 7"):
        state = State(net.game).play_line(line)
        one, many = ({m.move: m.visits or 0 for m in OfNet(net, 200, leaves=k).analyse(state).moves} for k in (1, 8))
        assert sum(many.values()) == 200
        assert sum(abs(one[move] - many[move]) for move in one) <= 2 * 0.05 * 200


def test_the_number_of_threads_does_not_change_a_search(net: Weights) -> None:
    state = State(net.game).play_line("4 4")
    players = [OfNet(net, 200, threads=threads, leaves=8) for threads in (1, 2)]
    one, other = (player.analyse(state) for player in players)
    assert told(one) == told(other) and one.simulations == 200
    state.play(one.best)  # the tree is kept and grows by as many simulations as asked for
    one, other = (player.analyse(state) for player in players)
    assert told(one) == told(other) and one.simulations == 200
    assert sum(info.visits or 0 for info in one.moves) > 200


def test_a_short_search_asks_about_one_leaf_at_a_time(net: Weights) -> None:
    """With few simulations each one counts: they are those of a search leaf by leaf."""
    state = State(net.game)
    one, eight = (told(OfNet(net, 40, leaves=leaves).analyse(state)) for leaves in (1, 8))
    assert one == eight


def test_what_cannot_be() -> None:
    assert build("champion(threads=2)").leaves == 8 and build("champion").leaves == 4
    for wrong in ("threads=0", "leaves=0", "threads=1.5"):
        with pytest.raises(BadParameter, match=wrong.split("=")[0]):
            build(f"champion({wrong})")
    with pytest.raises(BadParameter, match="leaves=4: Gumbel"):
        Settings(gumbel=True, leaves=4)
