"""Perfect play: solvers against independent searches, published counts, and games against anybody."""

from __future__ import annotations

import functools
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import good
from meijin.agents.catalogue import build
from meijin.arena.match import match
from meijin.core.agent import Analysis, Limit
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.search.maxn import MaxN
from meijin.search.solvers import Solver, nim, solved_games, solver_for
from meijin.search.solvers import _cube2 as cube

ANY = Limit()


def solved(state: State) -> Analysis:
    return solver_for(state.game).analyse(state, ANY)


def walk(game: Any, seed: int, plies: int) -> State:
    """A position after random moves, or the last one before the end."""
    rng, state = np.random.default_rng(seed), State(game).roll(stream(seed))
    for _ in range(plies):
        state.play(int(rng.choice(state.legal_moves)))
        if state.is_over:
            state.undo()
            break
    return state


def check_order(analysis: Analysis, game: Any) -> None:
    """The best come first: by value, and by the length of the line where one side has won."""
    middle = sum(game.score_range) / 2

    def merit(info: Any) -> tuple[float, int]:
        value = info.value[analysis.turn]
        return value, -len(info.pv) if value > middle else len(info.pv) if value < middle else 0

    merits = [merit(info) for info in analysis.moves]
    assert merits == sorted(merits, reverse=True)
    assert analysis.proven and all(info.proven for info in analysis.moves)
    assert analysis.value == analysis.moves[0].value


def check_lines(state: State, analysis: Analysis) -> None:
    """Every line leads to the end of the game and to the value promised."""
    for info in analysis.moves:
        end = state.copy().play_line(info.pv)
        assert end.is_over and info.pv[0] == info.move
        assert end.scores == pytest.approx(info.value)


def by_hand(state: State, known: dict[State, tuple[tuple[float, ...], int]]) -> tuple[tuple[float, ...], int]:
    """A search by the book: the value for each seat, and plies to the end."""
    if state.is_over:
        return state.scores, 0
    if state not in known:
        seat, middle = state.turn, sum(state.game.score_range) / 2
        options = [by_hand(state.copy().play(move), known) for move in state.legal_moves]

        def merit(option: tuple[tuple[float, ...], int]) -> tuple[float, float]:
            value, plies = option[0][seat], option[1]
            return value, -plies if value > middle else plies if value < middle else 0

        value, plies = max(options, key=merit)  # the first of equals
        known[state] = value, plies + 1
    return known[state]


def check_everything(state: State, solver: Solver) -> None:
    analysis = solver.analyse(state, ANY)
    known: dict[State, tuple[tuple[float, ...], int]] = {}
    assert {info.move for info in analysis.moves} == set(state.legal_moves)
    for info in analysis.moves:
        value, plies = by_hand(state.copy().play(info.move), known)
        assert info.value == pytest.approx(value) and len(info.pv) == plies + 1
    check_order(analysis, state.game)
    check_lines(state, analysis)


# ---- tic-tac-toe ----


def test_tic_tac_toe_in_every_position() -> None:
    """All 4,520 positions in which somebody moves, against a search that shares no code with the game."""
    rows = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]

    @functools.cache
    def value(cells: tuple[int, ...]) -> tuple[int, int]:
        """For the seat to move: result, plies to the end."""
        if any(cells[a] == cells[b] == cells[c] != 0 for a, b, c in rows):
            return -1, 0
        if 0 not in cells:
            return 0, 0
        me = 1 if cells.count(1) == cells.count(2) else 2
        best = None
        for i in (i for i in range(9) if cells[i] == 0):
            result, plies = value((*cells[:i], me, *cells[i + 1 :]))
            option = (-result, plies + 1)
            if best is None or (option[0], -option[0] * option[1]) > (best[0], -best[0] * best[1]):
                best = option
        assert best is not None
        return best

    game = make("tic_tac_toe")
    solver, seen = solver_for(game), set()
    stack = [State(game)]
    while stack:
        state = stack.pop()
        if state.is_over or state.cells in seen:
            continue
        seen.add(state.cells)
        analysis = solver.analyse(state, ANY)
        assert len(analysis.moves) == len(state.legal_moves)
        for info in analysis.moves:
            after = state.copy().play(info.move)
            stack.append(after)
            result, plies = value(after.cells)
            assert info.value is not None
            assert info.value[state.turn] == -result and len(info.pv) == plies + 1
        if len(seen) % 10 == 0:
            check_order(analysis, game)
            check_lines(state, analysis)
    assert len(seen) == 4520


def test_other_boards() -> None:
    """A known result: with 3 in a row the first wins on 4 x 3."""
    state = State(make("tic_tac_toe(width=4)"))
    analysis = solved(state)
    assert analysis.value == (1.0, -1.0)
    check_order(analysis, state.game)
    check_lines(state, analysis)


def test_gomoku_on_a_small_board(interpreted: None) -> None:
    game = make("gomoku(size=3, connect=3)")
    check_everything(walk(game, 1, 2), solver_for(game))


# ---- nim ----


@pytest.mark.parametrize("misere", [False, True])
def test_nim_against_exhaustive_search(misere: bool) -> None:
    """All heaps up to 7, 7, 7."""

    @functools.cache
    def wins(heaps: tuple[int, ...]) -> bool:
        if not any(heaps):
            return misere
        return any(
            not wins((*heaps[:h], rest, *heaps[h + 1 :])) for h, size in enumerate(heaps) for rest in range(size)
        )

    game = make("nim", heaps=(7, 7, 7), misere=misere)
    solver = solver_for(game)
    for heaps in itertools.product(range(8), repeat=3):
        assert nim.mover_wins(heaps, misere) == wins(heaps), heaps
        if not any(heaps):
            continue
        state = State(game)
        state.record.heaps[:], state.record.left, state.record.seat = heaps, sum(heaps), sum(heaps) % 2
        analysis = solver.analyse(State(game, state.record), ANY)
        assert analysis.turn == sum(heaps) % 2
        for info in analysis.moves:
            after = list(heaps)
            after[int(info.move) // 7] = int(info.move) % 7
            assert info.value is not None and info.value[analysis.turn] == (-1.0 if wins(tuple(after)) else 1.0)
        check_order(analysis, game)


@pytest.mark.parametrize("name", ["nim(heaps=(2, 3, 4), players=3)", "nim(heaps=(2, 3, 4), players=3, misere=True)"])
def test_nim_of_three(name: str, interpreted: None) -> None:
    game = make(name)
    solver = solver_for(game)
    for seed in range(4):
        check_everything(walk(game, seed, seed), solver)


# ---- sim ----


def test_sim_is_won_by_the_second_player() -> None:
    """On 6 points, a known result; every first move is as good as any other."""
    game = make("sim")
    solver = solver_for(game)
    analysis = solver.analyse(State(game), ANY)
    assert {info.value for info in analysis.moves} == {(-1.0, 1.0)} and len(analysis.moves) == 15
    assert len({len(info.pv) for info in analysis.moves}) == 1
    check_lines(State(game), analysis)
    other = MaxN(depth=15)
    for seed in range(12):
        state = walk(game, seed, 6 + seed % 5)
        analysis = solver.analyse(state, ANY)
        expected = other.analyse(state)
        assert expected.proven
        assert {info.move: info.value for info in analysis.moves} == {i.move: i.value for i in expected.moves}
        assert analysis.depth == len(expected.pv)
        check_order(analysis, game)
        check_lines(state, analysis)


@pytest.mark.parametrize("name", ["sim(points=5)", "sim(points=5, players=3)"])
def test_small_sim(name: str, interpreted: None) -> None:
    game = make(name)
    solver = solver_for(game)
    for seed in range(6):
        check_everything(walk(game, seed, 4 + seed), solver)


# ---- cube ----

#: The number of positions at each distance, as counted by many: Jaap Scherphuis's page on the pocket cube has both.
COUNTS = {
    "half": [1, 9, 54, 321, 1847, 9992, 50136, 227536, 870072, 1887748, 623800, 2644],
    "quarter": [1, 6, 27, 120, 534, 2256, 8969, 33058, 114149, 360508, 930588, 1350852, 782536, 90280, 276],
}


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("MEIJIN_CACHE", str(tmp_path))
    cube.distances.cache_clear()
    yield tmp_path
    cube.distances.cache_clear()


@pytest.mark.parametrize("metric", ["half", "quarter"])
def test_cube_distances(metric: str) -> None:
    """Every position counted, and its number found again from the stickers after any moves."""
    turn, far = cube.distances(metric)
    assert np.bincount(far).tolist() == COUNTS[metric]
    game = make("cube", metric=metric, twists=1, max_moves=300)
    solver, state = cube.Cube2Solver(game), State(game).play("R")
    where = cube.position(state.record.stickers)
    rng, kinds = np.random.default_rng(1), 3 if metric == "half" else 2
    for move in rng.integers(0, game.num_moves, 200).tolist():
        if state.is_over:
            break
        state.play(move)
        where = int(cube.after(turn, where, move // kinds, (1, 3, 2)[move % kinds]))
        assert where == cube.position(state.record.stickers)
        assert solver.distance(state) == far[where]


@pytest.mark.parametrize("metric", ["half", "quarter"])
def test_cube_is_solved_in_exactly_the_distance(metric: str) -> None:
    game = make("cube", metric=metric, twists=20)
    agent, solver = build("perfect", game), cube.Cube2Solver(game)
    for seed in range(20):
        state = State(game).roll(stream(seed))
        if state.is_over:
            continue
        distance, before = solver.distance(state), len(state.history)
        analysis = agent.analyse(state)
        check_lines(state, analysis)
        assert len(analysis.pv) == distance
        while not state.is_over:
            state.play(agent.act(state))
        assert state.scores == (1.0,) and len(state.history) - before == distance


def test_cube_with_too_few_moves_left() -> None:
    game = make("cube", twists=20, max_moves=7)
    solver = cube.Cube2Solver(game)
    states = [State(game).roll(stream(seed)) for seed in range(30)]
    far = {solver.distance(state) for state in states}
    assert min(far) <= 7 < max(far)
    for state in states:
        if state.turn < 0:
            continue
        distance = solver.distance(state)
        assert solver.analyse(state).value == (1.0 if distance <= 7 else 0.0,)
        assert solver.analyse(state).depth == distance


def test_cube_file_is_kept_and_mended(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    table = np.arange(cube.POSITIONS).astype(np.uint8)
    monkeypatch.setattr(cube, "measure", lambda turn, metric: calls.append(metric) or table.copy())

    def load() -> Any:
        cube.distances.cache_clear()
        return cube.distances("half")[1]

    assert (load() == table).all() and (load() == table).all()
    assert len(calls) == 1
    (file,) = own_cache.glob("cube-*")
    whole = file.read_bytes()
    for damaged in (whole[:-1], whole[:1000] + b"\xff" + whole[1001:], b""):
        file.write_bytes(damaged)
        assert (load() == table).all()
        assert file.read_bytes() == whole
    assert len(calls) == 4
    file.unlink()
    own_cache.rmdir()
    own_cache.write_text("a file where the folder should be")
    assert (load() == table).all()
    own_cache.unlink()


def test_a_cube_that_cannot_be_solved() -> None:
    game = make("cube", twists=1)
    state = State(game).play("R")
    stickers = state.record.stickers
    a, b, c = cube.CORNERS[0]
    stickers[a], stickers[b], stickers[c] = int(stickers[b]), int(stickers[c]), int(stickers[a])
    with pytest.raises(MeijinError, match="cannot be solved"):
        cube.Cube2Solver(game).analyse(State(game, state.record))


# ---- the agent ----


def test_perfect_never_loses_tic_tac_toe() -> None:
    game = make("tic_tac_toe")
    for agent in ("perfect", "perfect(vary=True)"):
        result = match(game, [agent, "random"], 60, seed=1)
        assert result.standings[0].total.losses == 0, agent
    drawn = match(game, ["perfect(vary=True)", "perfect(vary=True)"], 10, seed=2)
    assert drawn.standings[0].total.draws == 10


def test_perfect_wins_nim() -> None:
    """Whoever is to move in a won position wins, against anything."""
    for misere in (False, True):
        game = make("nim", heaps=(3, 4, 5), misere=misere)
        agent, other = build("perfect(vary=True)", game, seed=3), build("random", game, seed=4)
        for _ in range(10):
            state = State(game)
            while not state.is_over:
                state.play((agent if state.turn == 0 else other).act(state))
            assert state.scores == (1.0, -1.0)


def test_vary_chooses_among_equals() -> None:
    state = State(make("tic_tac_toe"))
    agent = build("perfect(vary=True, seed=5)", state.game)
    assert len({agent.act(state) for _ in range(60)}) == 9
    assert not agent.deterministic
    plain = build("perfect", state.game)
    assert plain.deterministic and {plain.act(state) for _ in range(3)} == {state.legal_moves[0]}
    winning = State(state.game).play_line("a1 b1 a2 b2 c3")
    winning.play("c1")
    assert {agent.act(winning).name for _ in range(10)} == {"a3"}  # the win at once
    again = [build("perfect(vary=True, seed=5)", state.game).act(state) for _ in range(2)]
    assert again[0] == again[1]


@pytest.mark.parametrize(
    ("game", "why"),
    [
        ("go", "go is not solved; there are solvers of"),
        ("gomoku", "up to 16 cells, and here there are 225"),
        ("sim(points=7)", "up to 6 points, and here there are 7"),
        ("sim(players=3)", "with 3 players it is solved on up to 5 points"),
        ("nim(heaps=(50, 50, 50, 50), players=3)", "take fewer or smaller heaps"),
        ("hex", "up to size=7"),
    ],
)
def test_it_says_what_it_cannot_solve(game: str, why: str) -> None:
    with pytest.raises(BadParameter) as error:
        build("perfect", make(game))
    assert why in str(error.value) and "perfect cannot play" in str(error.value)
    with pytest.raises(BadParameter, match="cannot be solved"):
        solver_for(make(game))


def test_every_solved_game_exists() -> None:
    for name in solved_games():
        assert make(name).name == name


def test_a_clock_stops_it_and_what_was_solved_stays() -> None:
    game = make("sim")
    solver = solver_for(game)
    with pytest.raises(MeijinError, match="allow more"):
        solver.analyse(State(game), Limit(seconds=0.005))
    nodes = solver.analyse(State(game), ANY).nodes
    assert 0 < solver.analyse(State(game), ANY).nodes < nodes


def test_positions_that_cannot_come_up() -> None:
    game = make("tic_tac_toe")
    state = State(game).play("a1")
    state.record.ply = 2
    with pytest.raises(MeijinError, match="cannot come up"):
        solver_for(game).analyse(State(game, state.record), ANY)
    with pytest.raises(MeijinError, match="given to the solver of"):
        solver_for(game).analyse(State(make("tic_tac_toe(width=4)")), ANY)
    with pytest.raises(MeijinError, match="the game is over"):
        solver_for(game).analyse(State(game).play_line("a1 b1 a2 b2 a3"), ANY)


# ---- the listing ----


def listed(*args: str) -> str:
    return good("agents", *args, env={"COLUMNS": "200"})


def test_the_listing_says_why_not() -> None:
    text = " ".join(listed("--game", "go").split())
    assert "no: go is not solved" in text
    assert "yes: with an agent inside that plays it, as in nply(mcts)" in text
    assert "inner=None" not in text and "inner (an agent, required)" in text
    assert "?" not in text
