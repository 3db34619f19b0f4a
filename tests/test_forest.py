"""The forest's memory, and that what it proves is true."""

from __future__ import annotations

import math

import numpy as np
import pytest

from meijin.core.agent import Limit
from meijin.core.catalogue import make
from meijin.core.rng import below, stream
from meijin.core.state import State
from meijin.search.forest import Forest, Settings, layout
from meijin.search.forest.driver import memory
from meijin.search.forest.scale import by_chance, make_scale, unscaled
from meijin.search.solvers import solver_for
from ties import outcomes


def size(name: str, count: int, settings: Settings, slots: int) -> int:
    arrays = memory(make(name), count, settings, slots, selfplay=True)
    return sum(np.dtype(dtype).itemsize * math.prod(shape) for dtype, shape in arrays.values())


def test_a_large_forest_fits_in_two_gibibytes() -> None:
    assert size("connect_four", 16_384, Settings(simulations=128), slots=42 + 128) < 2 * 2**30


@pytest.mark.parametrize("name, scores", [("othello", [-1, 0, 1]), ("cube", [0, 0.5, 1]), ("2048", [0, 7, 20000, 3e6])])
def test_scores_and_values(name: str, scores: list[float]) -> None:
    game = make(name)
    scaled = make_scale(game)
    values = [scaled(score) for score in scores]
    assert [unscaled(game, value) for value in values] == pytest.approx(scores)
    assert values == sorted(values)
    if game.bounded:
        assert (values[0], values[-1]) == (-1, 1)
    else:
        assert scaled(1e6) == pytest.approx(1)


def test_what_random_play_comes_to() -> None:
    game = make("2048")
    mean, spread = by_chance(game)
    assert 700 < unscaled(game, mean) < 1300 and 0.02 < spread < 0.06  # OpenSpiel's random games: about 1,100
    assert by_chance(game, games=4, plies=6)[0] < 0.2  # games cut short count as they stand


@pytest.mark.parametrize("gumbel", [False, True], ids=["puct", "gumbel"])
def test_what_is_proven_is_true(gumbel: bool) -> None:
    """Without a net, on positions of random games: every proven edge has the value that the solver gives its move."""
    game, rng = make("tic_tac_toe"), stream(5)
    roots, states = game.states(64), []
    while len(states) < 64:
        state = State(game)
        with np.errstate(over="ignore"):
            for _ in range(below(rng, 7)):
                if not state.is_over:
                    state.play(state.legal_moves[below(rng, len(state.legal_moves))])
        if not state.is_over:
            roots[len(states)] = state.record
            states.append(state)
    forest = Forest(game, 64, Settings(simulations=400, gumbel=gumbel))
    forest.restart(roots)
    for _ in range(402):
        forest.step()
    assert forest.finished
    proven, solver = 0, solver_for(game)
    assert solver is not None
    for i, state in enumerate(states):
        known = {info.move: info.value for info in solver.analyse(state, Limit()).moves}
        node = forest.arrays.nodes[i, 0]
        for edge in forest.arrays.edges[i, node.first : node.first + node.count]:
            if edge.proven:
                proven += 1
                assert np.allclose(edge.total / edge.visits, known[int(edge.move)], atol=1e-6)
        if forest.arrays.info[i, layout.PROVEN]:
            best = max(value[state.turn] for value in known.values() if value is not None)
            found = [e.total[state.turn] / e.visits for e in forest.arrays.edges[i, : node.count] if e.proven]
            assert max(found) == pytest.approx(best, abs=1e-6)
    assert proven > 100


def test_a_choice_that_is_the_same_to_its_mover_proves_nothing() -> None:
    """With three seats one that has lost decides who of the others wins, and nobody knows how."""
    game = make("nim(heaps=(1, 2, 3), players=3)")

    first = [State(game).play(move) for move in State(game).legal_moves]
    roots = [state.copy().play(move) for state in first for move in state.legal_moves]
    forest = Forest(game, len(roots), Settings(simulations=1000))
    records = game.states(len(roots))
    for i, state in enumerate(roots):
        records[i] = state.record
    forest.restart(records)
    for _ in range(1002):
        forest.step()
    proven = 0
    for i, state in enumerate(roots):
        node = forest.arrays.nodes[i, 0]
        for edge in forest.arrays.edges[i, node.first : node.first + node.count]:
            if edge.proven:
                proven += 1
                (known,) = outcomes(state.copy().play(int(edge.move)))
                expected = 2 * (np.array(known) + 0.5) / 1.5 - 1  # scores from -1/2 to 1 are values from -1 to 1
                assert np.allclose(edge.total / edge.visits, expected, atol=1e-5)
    assert proven > 20
