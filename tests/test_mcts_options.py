"""Flat Monte Carlo, and the options of tree search: each does what it says and leaves proofs and seeds intact."""

from __future__ import annotations

import math

import numpy as np
import pytest

from meijin.agents.catalogue import build
from meijin.arena.match import match
from meijin.core import compile as compiling
from meijin.core.agent import Limit
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.search.flat import Flat
from meijin.search.mcts import MCTS
from meijin.search.mcts.selection import RAVE_MEAN, RAVE_VISITS

NIM = "nim(heaps=(3, 3, 2), players=3)"
SMALL_2048 = "2048(size=2)"
OPTIONS = ("rave=300", "playout='decisive'", "playouts=3", "widening=(1, 0.5)", "rave=50, widening=2")


def state_of(expression: str, line: str = "") -> State:
    return State(make(expression)).play_line(line).roll(stream(1))


def beats(game: str, one: str, other: str, games: int) -> bool:
    """Whether the first scores so much that equals would not do so in one of 30,000 seeds (z = 4, draws halved)."""
    tally = match(make(game), [one, other], games, seed=1).standings[0].total
    return tally.wins + tally.draws / 2 > games / 2 + 4 * math.sqrt(games) / 2


# ---- flat Monte Carlo ----


@pytest.mark.parametrize("expression", ["connect_four", SMALL_2048, NIM])
@pytest.mark.parametrize(("ensemble", "threads"), [(1, 1), (4, 1), (3, 2)])
def test_playouts_are_spread_evenly(expression: str, ensemble: int, threads: int) -> None:
    state = state_of(expression)
    analysis = Flat(simulations=1001, ensemble=ensemble, threads=threads, seed=1).analyse(state)
    visits = [info.visits or 0 for info in analysis.moves]
    assert analysis.simulations == sum(visits) == 1001
    assert max(visits) - min(visits) <= ensemble
    assert {info.move for info in analysis.moves} == set(state.legal_moves)
    assert analysis.value == analysis.moves[0].value and len(analysis.value or ()) == state.game.seats
    if ensemble == 1:
        values = [(info.value or ())[state.turn] for info in analysis.moves]
        assert values == sorted(values, reverse=True)


def test_flat_values_are_those_of_random_play() -> None:
    """Seat 0's share of random tic-tac-toe after the centre, exactly computed; five standard errors: 6e-7."""

    def random_value(state: State) -> float:
        if state.is_over:
            return state.scores[0]
        return sum(random_value(state.copy().play(m)) for m in state.legal_moves) / len(state.legal_moves)

    state = state_of("tic_tac_toe", "b2 a1 c3 a3 a2 c2")
    analysis = Flat(simulations=30_000, seed=1).analyse(state)
    for info in analysis.moves:
        exact = random_value(state.copy().play(info.move))
        assert (info.value or ())[0] == pytest.approx(exact, abs=5 / math.sqrt(info.visits or 1))


def test_an_ensemble_votes() -> None:
    """Each run has its own playouts; the move most of them like best is played, and the note says how many did."""
    analysis = build("mc(simulations=3000, ensemble=9, seed=2)").analyse(state_of("connect_four", "4 3 4 3 4 2"))
    assert str(analysis.best) == "4" and analysis.note == "9 of 9 runs chose it"
    split = [build(f"mc(simulations=60, ensemble=3, seed={seed})").analyse(state_of(NIM)) for seed in range(20)]
    assert any(analysis.note != "3 of 3 runs chose it" for analysis in split)


@pytest.mark.parametrize("threads", [1, 2])
def test_flat_repeats_with_its_seed_and_keeps_its_limits(threads: int) -> None:
    state = state_of("connect_four")
    one, other = (Flat(simulations=200, ensemble=2, threads=threads, seed=5) for _ in range(2))
    assert one.analyse(state).moves == other.analyse(state).moves
    first = one.analyse(state).moves
    one.seed(5)
    assert one.analyse(state).moves != first
    assert one.analyse(state, Limit(simulations=30)).simulations == 30
    assert one.analyse(state, Limit(depth=3)).simulations == 200
    assert one.analyse(state, Limit(seconds=0.01)).simulations > 1
    assert Flat(seconds=3600, simulations=40, threads=threads).analyse(state).simulations == 40
    with pytest.raises(MeijinError, match="over"):
        one.analyse(state_of("tic_tac_toe", "a1 b1 a2 b2 a3"))


def test_flat_beats_random() -> None:
    assert beats("connect_four", "mc(simulations=100)", "random", 20)


@pytest.mark.parametrize("bad", ["ensemble=0", "threads=0", "simulations=0", "seconds=0"])
def test_impossible_settings_of_flat_are_refused(bad: str) -> None:
    with pytest.raises(BadParameter, match=bad.split("=", maxsplit=1)[0]):
        build(f"mc({bad})")


# ---- options of tree search ----


@pytest.mark.parametrize("options", ["rave=300", "playouts=3", "rave=50, widening=2"])
def test_options_work_where_threads_share_a_tree(options: str) -> None:
    agent = build(f"mcts(simulations=2000, threads=3, parallel='tree', {options})")
    state = state_of("tic_tac_toe")
    while not state.is_over:
        analysis = agent.analyse(state)
        assert analysis.proven or analysis.simulations == 2000
        assert set(state.legal_moves) == {info.move for info in analysis.moves}
        state.play(analysis.best)
    assert state.scores == (0.0, 0.0)


def test_a_shared_tree_is_searched_in_plain_python_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "JIT", False)
    analysis = MCTS(simulations=300, threads=2, seed=1, parallel="tree").analyse(state_of("tic_tac_toe"))
    assert analysis.simulations == sum(info.visits or 0 for info in analysis.moves) == 300


@pytest.mark.parametrize("options", OPTIONS)
def test_options_keep_proofs_seeds_and_the_tree(options: str) -> None:
    state = state_of("tic_tac_toe", "a1 b1 b2 c3")
    one, other = (build(f"mcts(simulations=60, seed=3, {options})") for _ in range(2))
    assert one.analyse(state).moves == other.analyse(state).moves
    proof = one.analyse(state, Limit(simulations=20_000))
    assert proof.proven and proof.value == pytest.approx((1.0, -1.0))
    assert str(proof.best) in ("a2", "a3")
    # From move to move the tree stays, with all that the option keeps beside it.
    agent, state = build(f"mcts(simulations=80, seed=3, {options})"), state_of("tic_tac_toe")
    assert isinstance(agent, MCTS)
    while not state.is_over:
        agent.analyse(state)
        (tree,) = agent._trees
        assert tree.nodes[0].visits >= 80 or tree.nodes[0].proven
        state.play(agent.act(state))
    assert state.scores == (0.0, 0.0)


def test_rave_counts_a_move_wherever_its_seat_made_it() -> None:
    """After one playout, every root move that seat 0 made in it has a count and the playout's score."""
    state, agent = state_of("tic_tac_toe"), MCTS(simulations=1, rave=300, seed=4)
    value = agent.analyse(state).value
    (tree,) = agent._trees
    counted = [i for i in tree.children(0) if tree.arrays.stats[i, RAVE_VISITS]]
    assert 3 <= len(counted) <= 5  # as many moves as seat 0 makes in a game
    assert value is not None
    for i in counted:
        assert (tree.arrays.stats[i, RAVE_VISITS], tree.arrays.stats[i, RAVE_MEAN]) == (1.0, value[0])
    agent.analyse(state, Limit(simulations=300))
    counts = tree.arrays.stats[list(tree.children(0)), RAVE_VISITS]
    assert (counts >= tree.nodes["visits"][list(tree.children(0))]).all() and counts.sum() > 600


@pytest.mark.soak
def test_rave_is_stronger_in_a_placement_game() -> None:
    # 50 of 60 games when it was measured
    assert beats("hex(size=7)", "mcts(simulations=300, rave=300, c=0.3)", "mcts(simulations=300, c=0.3)", 60)


def test_widening_looks_at_few_moves() -> None:
    """Those are as many as the square root of the simulations, of nine moves here."""
    for simulations, moves in ((4, 2), (16, 4), (36, 6), (64, 8)):
        analysis = MCTS(simulations=simulations, widening=(1, 0.5), seed=1).analyse(state_of("tic_tac_toe"))
        assert sum(bool(info.visits) for info in analysis.moves) == moves
    with pytest.raises(BadParameter, match="widening"):
        build("mcts(widening=(1, 2))")


@pytest.mark.soak
def test_several_playouts_a_leaf_are_stronger_at_equal_simulations() -> None:
    # 117 wins and 6 draws in 160 games when it was measured
    assert beats("connect_four", "mcts(simulations=100, playouts=8)", "mcts(simulations=100)", 160)


def test_several_playouts_are_averaged_at_a_leaf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "JIT", False)  # played sooner than compiled
    analysis = MCTS(simulations=1, playouts=1000, seed=1).analyse(state_of("tic_tac_toe"))
    assert analysis.simulations == 1 and analysis.value is not None
    assert analysis.value[0] == pytest.approx(0.29, abs=0.2)  # random play; five standard errors are 0.15


def test_decisive_playouts_win_and_do_not_lose_at_once() -> None:
    won = state_of("connect_four", "4 3 4 3 4 2")  # seat 0 has three in column 4
    agent = MCTS(simulations=1, playouts=200, playout="decisive", seed=1)
    for column in (1, 7):  # it lets seat 1 move; seat 1 has nothing, and seat 0 wins unless column 4 is stopped
        after = won.copy().play(str(column))
        value = agent.analyse(after).value
        assert value is not None and value[0] > 0.5
    assert agent.analyse(won).value is not None


@pytest.mark.soak
def test_go_has_a_policy_that_is_stronger_than_random_playouts() -> None:
    # 80 % of 3600 games when it was measured: 150 of them are four deviations above the bound, whatever the seed
    game = "go(size=5, komi=0.5)"
    assert beats(game, "mcts(simulations=100, playout='policy')", "mcts(simulations=100)", 150)


def test_a_policy_draws_legal_moves_and_fills_no_eye() -> None:
    game, rng = make("go(size=5, komi=0.5)"), stream(1)
    assert game.policy is not None
    state = State(game)
    while not state.is_over:
        with np.errstate(over="ignore"):
            state.play(int(game.policy(state.record, rng)))
    assert len(state.history) < game.longest


def test_what_a_game_lacks_is_said() -> None:
    with pytest.raises(BadParameter, match="policy"):
        build("mcts(playout='policy')", make("connect_four"))
    with pytest.raises(BadParameter, match="policy"):
        MCTS(playout="policy").analyse(state_of("connect_four"))
    with pytest.raises(BadParameter, match="did you mean 'random'"):
        build("mcts(playout='randm')")
    with pytest.raises(BadParameter, match="rave"):
        build("mcts(rave=-1)")
    with pytest.raises(BadParameter, match="RAVE"):
        build("mcts(rave=10, playouts=2)")
