"""The rules of the search and of self-play, one by one, on a forest that runs as plain Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from meijin.core.agent import Limit
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter
from meijin.core.rng import below, stream, uniform
from meijin.core.state import State
from meijin.search.forest import Forest, Settings, layout
from meijin.search.forest.layout import FORCED, C
from meijin.search.forest.selection import by_odds, by_visits, gumbel, halving_table
from meijin.search.solvers import solver_for
from plain_forest import PlainForest

TTT = "tic_tac_toe"


def firm(state: State) -> tuple[Any, Any]:
    """Opinions that differ from move to move and from position to position."""
    seen = float(state.planes.reshape(-1) @ np.cos(np.arange(state.planes.size)))
    moves, seats = np.arange(state.game.num_moves), np.arange(state.game.seats)
    return np.sin(seen * (1 + moves % 7) + moves), 0.5 * np.sin(3 * seen + seats)


def after(name: str, plies: int, seed: int = 1) -> State:
    state, rng = State(make(name)), stream(seed)
    with np.errstate(over="ignore"):
        for _ in range(plies):
            moves = state.legal_moves
            state.play(moves[below(rng, len(moves))])
    return state


# ---- moves as the mover numbers them ----


def test_logits_reach_the_moves_they_mean() -> None:
    """In minishogi the second player sees the board turned: its net's move m is another move of the game."""
    game = make("minishogi")
    assert game.views is not None and (game.views[1] != np.arange(game.num_moves)).any()
    states = [after("minishogi", plies) for plies in (0, 1, 6, 7)]
    forest = PlainForest(game, len(states), Settings(simulations=2), firm, selfplay=False)
    forest.set(*states)
    forest.steps(2)
    for i, state in enumerate(states):
        logits, _ = firm(state)
        legal = np.array([int(move) for move in state.legal_moves])
        wanted = np.exp(logits[game.views[state.turn, legal]])
        edges = forest.edges(i)
        assert edges["move"].tolist() == legal.tolist()
        assert edges["prior"] == pytest.approx(wanted / wanted.sum(), abs=1e-6)
    assert {state.turn for state in states} == {0, 1}


def test_self_play_writes_down_positions_as_their_movers_see_them() -> None:
    torch = pytest.importorskip("torch")
    from meijin.learning.zero.positions import Unpacker, harvest

    game = make("minishogi")
    forest = PlainForest(game, 2, Settings(simulations=6, cap=5, warm=9, alpha=0.5), firm)
    roots: dict[tuple[int, int, int], State] = {}  # tree, games before, ply
    while forest.arrays.stats[:, layout.GAMES].min() < 2:
        for i in range(2):
            at = i, int(forest.arrays.stats[i, layout.GAMES]), int(forest.arrays.info[i, layout.PLY])
            roots[at] = State(game, forest.arrays.roots[i].copy())
        forest.step()
    found = harvest(forest, 200)  # type: ignore[arg-type]
    done = [int(n) * 5 for n in forest.arrays.stats[:, layout.GAMES]]
    assert len(found) == sum(done)
    row = 0
    for tree, rows in enumerate(done):
        for number in range(rows):
            state = roots[tree, number // 5, number % 5]
            mover, ply, left = found.facts[row].tolist()
            assert (mover, ply, left) == (state.turn, number % 5, 5 - number % 5)
            planes = Unpacker(game, "cpu")(found.bits[row : row + 1], found.numbers[row : row + 1])[0]
            assert np.allclose(planes.numpy(), state.planes, atol=1e-3)  # numbers are kept in 16 bits
            seen = sorted(int(game.views[state.turn, move]) for move in state.legal_moves)
            assert sorted(m for m in found.moves[row].tolist() if m >= 0) == seen
            assert float(found.probs[row].float().sum()) == pytest.approx(1, abs=1e-2)
            row += 1
    assert torch.equal(found.outcomes, torch.zeros_like(found.outcomes))  # cut short, all square


# ---- trees without room ----


@pytest.mark.parametrize("by_gumbel", [False, True], ids=["puct", "gumbel"])
@pytest.mark.parametrize("name", [TTT, "einstein"])
def test_a_tree_without_room_searches_on(name: str, by_gumbel: bool) -> None:
    """Where no node fits any more the net is asked again; sums stay right, and what is proven stays true."""
    game, plies = make(name), 3 if name == TTT else 0
    states = [after(name, plies, seed).roll(stream(seed)) for seed in range(4)]
    room = (game.branching or 0) + 30
    settings = Settings(simulations=80, gumbel=by_gumbel, hurry=False)
    forest = PlainForest(game, 4, settings, firm, selfplay=False, edges=room)
    forest.set(*states)
    forest.steps(82)
    info = forest.arrays.info
    assert (info[:, layout.DONE] == 80).all() and (info[:, layout.EDGES] <= room).all()
    assert (info[:, layout.NODES] < 30).all()  # it was tight indeed
    for i, state in enumerate(states):
        for node in range(info[i, layout.NODES]):
            edges = forest.edges(i, node)
            assert edges["visits"].sum() == forest.arrays.nodes[i, node].visits
            assert (np.abs(edges["total"]) <= edges["visits"][:, None] + 1e-4).all()
        if name == TTT:
            solver = solver_for(game)
            assert solver is not None
            known = {int(found.move): found.value for found in solver.analyse(state, Limit()).moves}
            for edge in forest.edges(i):
                if edge.proven:
                    assert np.allclose(edge.total / edge.visits, known[int(edge.move)], atol=1e-5)


def test_self_play_without_room_goes_on() -> None:
    game = make(TTT)
    forest = PlainForest(game, 2, Settings(simulations=12, reuse=True, warm=9), firm, edges=12)
    forest.steps(300)
    assert (forest.arrays.stats[:, layout.GAMES] >= 2).all()
    kept = forest.arrays.kept_probs[forest.arrays.facts[:, :, layout.STATE] == layout.FINISHED]
    assert kept.sum(axis=1) == pytest.approx(np.ones(len(kept)), abs=1e-5)


@pytest.mark.parametrize("fresh", [False, True])
def test_what_a_kept_tree_counts_for(fresh: bool) -> None:
    """Its simulations are part of those wanted, or come on top of them, but at most as many again."""
    forest = PlainForest(make(TTT), 3, Settings(simulations=12, reuse=True, fresh=fresh, warm=9), firm)
    info, wanted = forest.arrays.info, set()
    for _ in range(150):
        forest.step()
        several = (info[:, layout.READY] == 1) & (forest.arrays.nodes["count"][:, 0] > 1)
        wanted |= set(info[several, layout.TARGET].tolist())
    assert wanted == {12} or (fresh and {12} < wanted and max(wanted) <= 24)


def test_fresh_simulations_need_a_tree_that_is_kept() -> None:
    with pytest.raises(BadParameter, match="fresh=True: without reuse no simulations are kept; set reuse, too"):
        Settings(fresh=True)


# ---- chance ----


def test_outcomes_of_chance_come_by_their_odds() -> None:
    """Any number of visits is fair on average, and lies closer to the odds than draws would."""
    game = make("2048")
    state = State(game).roll(stream(3))
    state.play(state.legal_moves[0])
    odds = np.array(list(state.odds.values()))
    nodes = np.zeros(1, layout.node_dtype()).view(np.recarray)
    edges = np.zeros(len(odds), layout.edge_dtype(1)).view(np.recarray)
    nodes[0].count, edges["prior"], rng = len(odds), odds, stream(11)
    trials, visits = 600, 12
    seen = np.zeros((trials, len(odds)))
    with np.errstate(over="ignore"):
        for row in seen:
            nodes[0].value = uniform(rng)
            for nodes[0].visits in range(visits):
                row[by_odds(nodes, edges, 0)] += 1
    error = np.sqrt(odds * (1 - odds) / (trials * visits))
    assert (np.abs(seen.mean(0) / visits - odds) < 4 * error).all()  # draws would fail once in a thousand times
    assert seen.var(0).sum() < 0.6 * (visits * odds * (1 - odds)).sum()


# ---- resigning ----


def test_resignations_are_checked_by_games_played_on() -> None:
    """A net that takes seat 0 for lost resigns for it at once; where it may not, it is seen whether that was wrong."""
    game = make(TTT)
    settings = Settings(simulations=2, resign=-0.9, play_on=0.5, temperature=1.0, warm=9)
    forest = PlainForest(game, 16, settings, lambda state: (np.zeros(9), np.array([-0.99, 0.99])))
    forest.steps(120)
    stats, facts = forest.arrays.stats.sum(0), forest.arrays.facts
    first = (facts[:, :, layout.STATE] == layout.FINISHED) & (facts[:, :, layout.WHEN] == 0)  # one row a game
    lengths, outcomes = facts[first][:, layout.LENGTH], forest.arrays.outcomes[first]
    resigned = lengths == 1
    assert stats[layout.GAMES] == len(lengths) > 100
    assert stats[layout.RESIGNED] == resigned.sum() and (outcomes[resigned] == [-1, 1]).all()
    assert stats[layout.DOUBTED] == (~resigned).sum()
    assert stats[layout.WRONGED] == (outcomes[~resigned][:, 0] > -1).sum() > 0
    # Short games are finished more often, so their share is above one half; a false alarm is rarer than 1 in 10^6.
    assert resigned.mean() > 0.5 - 5 / (2 * math.sqrt(len(resigned)))


def test_nobody_resigns_unless_told_to() -> None:
    game = make(TTT)
    forest = PlainForest(game, 4, Settings(simulations=2, warm=9), lambda state: (np.zeros(9), np.array([-1.0, 1.0])))
    forest.steps(80)
    assert forest.arrays.stats[:, layout.GAMES].sum() > 4 and not forest.arrays.stats[:, layout.RESIGNED].any()


# ---- long and short searches ----


def test_only_full_searches_are_written_down() -> None:
    game = make("connect_four")
    settings = Settings(simulations=12, fast_simulations=3, full_share=0.3, cap=4, warm=9, reuse=False)
    forest = PlainForest(game, 8, settings, firm)
    forest.steps(250)
    stats, facts = forest.arrays.stats.sum(0), forest.arrays.facts
    done = facts[:, :, layout.STATE] == layout.FINISHED
    shares = forest.arrays.kept_probs[done]
    visits = shares * 12
    assert np.abs(visits - visits.round()).max() < 1e-4  # twelve visits each
    assert (np.abs(shares * 3 - (shares * 3).round()) > 0.1).any(axis=1).mean() > 0.5  # and not three
    plies = int(stats[layout.PLIES])
    assert abs(len(shares) / plies - 0.3) < 5 * math.sqrt(0.21 / plies)  # false alarm below 1e-6


# ---- what is learned ----


def test_a_position_is_worth_what_its_policy_makes_of_it() -> None:
    """Gumbel tries bad moves as often as good ones; that does not make the position worse."""
    game = make(TTT)
    forest = PlainForest(game, 1, Settings(simulations=9, gumbel=True), firm)  # every move is tried once
    while not forest.arrays.info[0, layout.SLOT]:
        forest.step()
    probs = forest.arrays.kept_probs[0, 0]
    values = np.array([firm(State(game).play(move))[1] for move in State(game).legal_moves])
    assert forest.arrays.kept_roots[0, 0] == pytest.approx(probs @ values, abs=1e-5)
    assert (probs @ values)[0] > values.mean(0)[0] + 0.2


def test_surprise_is_how_far_the_search_went_from_the_net() -> None:
    game = make(TTT)
    logits = np.linspace(-1, 1, 9)
    for settings in (Settings(simulations=20, alpha=0.5, noise=0.5), Settings(simulations=20, gumbel=True)):
        forest = PlainForest(game, 1, settings, lambda state: (logits, firm(state)[1]))
        while not forest.arrays.info[0, layout.SLOT]:
            forest.step()
        policy, prior = forest.arrays.kept_probs[0, 0], np.exp(logits) / np.exp(logits).sum()
        some = policy > 0
        expected = (policy[some] * np.log(policy[some] / prior[some])).sum()
        assert forest.arrays.surprise[0, 0] == pytest.approx(expected, abs=1e-5) and expected > 0.1


def root(visits: list[int], values: list[float], priors: list[float]) -> tuple[Any, Any]:
    nodes, edges = np.zeros(1, layout.node_dtype()), np.zeros(len(visits), layout.edge_dtype(2))
    nodes[0].count, nodes[0].visits = len(visits), sum(visits)
    edges["visits"], edges["prior"] = visits, priors
    edges["total"][:, 0] = np.array(values) * visits
    edges["total"][:, 1] = -edges["total"][:, 0]
    return nodes, edges


def learned(nodes: Any, edges: Any, forced: float, c: float = 1.5) -> list[float]:
    options, weights = np.zeros(layout.OPTIONS_SIZE), np.zeros(len(edges))
    options[FORCED], options[C] = forced, c
    by_visits(make(TTT))(nodes, edges, options, weights, np.zeros((2, 2)))
    return [float(weight) for weight in weights]


def test_forced_playouts_leave_no_trace_in_the_policy() -> None:
    # 100 visits; a move that turned out bad got its forced visits, sqrt(2 * 0.1 * 100) = 4.5, and no more.
    nodes, edges = root([87, 5, 8], [0.5, -0.8, 0.4], [0.6, 0.1, 0.3])
    assert learned(nodes, edges, forced=0.0) == pytest.approx([0.87, 0.05, 0.08])
    pruned = learned(nodes, edges, forced=2.0)
    assert pruned[1] == 0 and sum(pruned) == pytest.approx(1)
    # The good one keeps the visits that PUCT itself would have made: its bound must not pass the best move's.
    explore = 1.5 * math.sqrt(101)
    top = 0.5 + explore * 0.6 / 88
    enough = math.ceil(explore * 0.3 / (top - 0.4) - 1)
    assert pruned[2] / pruned[0] == pytest.approx(min(8, max(8 - 7, enough)) / 87)


def test_forced_playouts_are_made_and_pruned_in_self_play() -> None:
    """A likely move that loses at once is tried by force, and the policy to be learned says nothing of it."""
    game, made = make("connect_four"), []
    a1 = game.board.index("a1")

    def oracle(state: State) -> tuple[Any, Any]:
        bad = state.cells[a1] == 1  # a stone of the first player
        return np.zeros(7), np.array([-0.9, 0.9]) if bad else np.array([0.5, -0.5])

    for forced in (0.0, 2.0):
        forest = PlainForest(game, 1, Settings(simulations=60, forced=forced, fpu=0.0), oracle, slots=8)
        while not forest.arrays.info[0, layout.SLOT]:
            visits = forest.edges()["visits"].copy() if forest.arrays.info[0, layout.NODES] else np.zeros(7)
            forest.step()
        made.append((visits, forest.arrays.kept_probs[0, 0].copy()))
    (free, free_policy), (urged, policy) = made
    worst = int(np.argmin(free))
    assert urged[worst] > free[worst] > 0 and policy[worst] == 0 and free_policy[worst] > 0


# ---- Gumbel below the root ----


def test_below_the_root_visits_follow_the_improved_policy() -> None:
    """The choice in any inner node, against the formulas of the paper written down once more."""
    game = make(TTT)
    settings = Settings(simulations=120, gumbel=True, hurry=False, considered=4)
    forest = PlainForest(game, 1, settings, firm, selfplay=False)
    forest.set(after(TTT, 1))
    forest.steps(122)
    choose, arrays, checked = gumbel(game), forest.arrays, 0
    for i in range(1, int(arrays.info[0, layout.NODES])):
        node, edges = arrays.nodes[0, i], forest.edges(0, i)
        n, prior = edges["visits"].astype(float), edges["prior"].astype(float)
        if n.sum() < 3:
            continue
        q = np.divide(edges["total"][:, node.turn], n, where=n > 0, out=np.zeros(len(n)))
        mixed = (node.value + n.sum() * (prior * q)[n > 0].sum() / prior[n > 0].sum()) / (1 + n.sum())
        completed = (np.where(n > 0, q, mixed) + 1) / 2  # the constants are meant for values in [0, 1]
        logits = np.log(prior) + (settings.visit_scale + n.max()) * settings.value_scale * completed
        improved = np.exp(logits - logits.max())
        gap = improved / improved.sum() - n / (1 + n.sum())
        e = choose(
            arrays.nodes[0], arrays.edges[0], i, arrays.info[0], arrays.options, arrays.noise[0], arrays.table,
            arrays.weights[0], arrays.bounds[0],
        )  # fmt: skip
        assert gap[e - node.first] == pytest.approx(gap.max(), abs=1e-5)
        checked += 1
    assert checked >= 5


# ---- other numbers, and past nets ----


def test_a_forest_takes_fewer_simulations_than_it_was_made_for() -> None:
    game = make(TTT)
    forest = Forest(game, 2, Settings(simulations=32, gumbel=True))
    shape = forest.arrays.table.shape
    forest.set_options(Settings(simulations=8, gumbel=True))
    table = forest.arrays.table
    assert table.shape == shape and np.array_equal(table[:, :8], halving_table(9, 8))
    forest.restart()
    for _ in range(10):
        forest.step()
    assert forest.finished and (forest.arrays.info[:, layout.DONE] == 8).all()
    with pytest.raises(BadParameter, match="made for at most 32 simulations"):
        forest.set_options(Settings(simulations=33, gumbel=True))


@pytest.mark.parametrize("name", [TTT, "nim(heaps=(3, 4, 5), players=3)"])
def test_games_against_a_past_net(name: str) -> None:
    """One seat of the first trees is the past net's: it is asked there, and its positions are not learned."""
    game = make(name)
    forest = PlainForest(game, 6, Settings(simulations=3, reuse=True, warm=9), firm, rivals=4)
    seats = [set() for _ in range(6)]  # type: list[set[int]]
    for _ in range(150):
        forest.step()
        for i in range(6):
            rival, past = (int(forest.arrays.info[i, slot]) for slot in (layout.RIVAL, layout.PAST))
            seats[i].add(rival)
            assert past == (State(game, forest.arrays.roots[i]).turn == rival)
            facts = forest.arrays.facts[i]
            pending = facts[facts[:, layout.STATE] == layout.PENDING]
            assert rival not in pending[:, layout.MOVER]
    assert seats[4] == seats[5] == {-1} and set().union(*seats[:4]) == set(range(game.seats))
    stats = forest.arrays.stats
    assert (stats[:4, layout.RIVAL_GAMES] == stats[:4, layout.GAMES]).all() and not stats[4:, layout.RIVAL_GAMES].any()
    assert 0 < stats[:, layout.RIVAL_POINTS].sum() < 2 * stats[:, layout.RIVAL_GAMES].sum()
