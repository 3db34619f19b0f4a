"""Nothing overflows: large scores, large boards, many seats, long searches, a million states."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest

from meijin.arena.match import match
from meijin.core.agent import Limit
from meijin.core.catalogue import games, make
from meijin.core.game import OVER
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.search.mcts import MCTS
from meijin.search.mcts.tree import MOST


@pytest.fixture(autouse=True)
def _warnings_are_errors() -> Iterator[None]:
    """An overflow of numpy's is a warning; here it fails the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def test_2048_scores_beyond_32_bits() -> None:
    """A board as full as it gets, all the way through: state, search and match count beyond 2**31."""
    game = make("2048(size=5)")
    exponents = [*range(26, 2, -1), 0]  # no two alike, one empty cell: the highest tiles this board can hold
    for row in range(1, 5, 2):
        exponents[5 * row : 5 * row + 5] = exponents[5 * row : 5 * row + 5][::-1]
    state = State.set_up(game, exponents, 0)
    assert State.parse(state.text) == state
    state.record.ply = 4_000_000
    expected = sum((e - 1) << e for e in exponents if e)
    assert expected > 2**31
    assert state.turn == 0 and state.scores == (float(expected),)
    assert sorted(state.cells) == sorted(exponents)
    analysis = MCTS(simulations=50, seed=1).analyse(state)
    assert analysis.value is not None and analysis.value[0] >= expected * (1 - 1e-12)
    state.play(analysis.best).roll(stream(1))
    assert state.scores[0] >= expected


def test_gomoku_on_19_x_19() -> None:
    game = make("gomoku(size=19)")
    state = State(game)
    assert len(state.legal_moves) == 361 and state.planes.shape[1] == 361
    analysis = MCTS(simulations=2000, seed=1).analyse(state.play("s19"))
    assert len(analysis.moves) == 360 and sum(info.visits or 0 for info in analysis.moves) == 2000
    result = match(game, ["mcts(simulations=400)", "random"], 2, seed=1)
    assert result.standings[0].total.games == 2
    # The longest game there is fills every cell: rows of XXOOXX... that change sides every row have no five in line.
    cells = [(r, c) for r in range(19) for c in range(19)]
    colour = {(r, c): (c // 2 + r) % 2 for r, c in cells}
    first = [r * 19 + c for r, c in cells if colour[r, c] == 0]
    second = [r * 19 + c for r, c in cells if colour[r, c] == 1]
    if len(first) < len(second):
        first, second = second, first
    spare = (len(first) - len(second)) // 2  # as many of each as turns give
    first, second = first[: len(first) - spare], second + first[len(first) - spare :]
    full = State(game).play_line(
        [move for pair in zip(first, [*second, -1], strict=False) for move in pair if move >= 0]
    )
    assert full.is_over and len(full.history) == 361 == game.longest and full.scores == (0.0, 0.0)


def test_six_seats_of_nim(compiled_in_soak: bool) -> None:
    game = make("nim(heaps=(4, 5, 6), players=6)")
    analysis = MCTS(simulations=3000 if compiled_in_soak else 500, seed=1).analyse(State(game))
    assert analysis.value is not None and len(analysis.value) == 6
    assert sum(analysis.value) == pytest.approx(0)
    assert all(-0.2 <= value <= 1 for value in analysis.value)
    result = match(game, ["mcts(simulations=50)"] + ["random"] * 5, 12, seed=1)
    assert [tally.games for tally in result.standings[0].seats] == [2] * 6
    assert sum(standing.total.wins for standing in result.standings) == 12  # one takes the last stone
    assert sum(sum(standing.total.scores) for standing in result.standings) == pytest.approx(0)


def test_a_search_that_has_counted_all_it_can_stops() -> None:
    """Visits are kept in 32 bits; a root visited 2**31 times is searched no further, and says what it knows."""
    agent, state = MCTS(simulations=100, seed=1), State(make("connect_four"))
    agent.analyse(state)
    (tree,) = agent._trees
    tree.nodes[0].visits = MOST - 10
    assert agent.analyse(state).simulations == 10
    assert tree.nodes[0].visits == 2**31 - 1
    for limit in (Limit(simulations=100), Limit(seconds=3600)):
        analysis = agent.analyse(state, limit)
        assert analysis.simulations == 0 and len(analysis.moves) == 7
    assert MCTS(memory_mb=1e9, seed=1).analyse(state, Limit(simulations=10)).simulations == 10


@pytest.mark.parametrize("name", games.names())
def test_a_million_states_cost_their_records_and_nothing_more(name: str) -> None:
    game = make(name)
    states = game.states(1_000_000)
    assert states.nbytes == 1_000_000 * game.dtype.itemsize
    assert states.base is None or states.base.nbytes == states.nbytes
    assert not states.dtype.hasobject


def test_long_games_have_an_end() -> None:
    """A game of 2048 that has lasted its 8 million plies is over, whatever could still be played."""
    game = make("2048(size=5)")
    record = State(game).record.copy()
    record.rows[0], record.ply = 1, game.longest
    assert State(game, record).turn == OVER
