"""The solver of the 3x3x3: its solutions by the game's own rules, and their lengths against other people's figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from meijin.agents import champion
from meijin.agents.catalogue import build
from meijin.core.agent import Analysis, Limit, MoveInfo
from meijin.core.catalogue import make
from meijin.core.errors import MeijinError
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.search.solvers import solver_for
from meijin.search.solvers._cube3 import Cube3Solver
from meijin.search.solvers._cube3_search import searcher
from meijin.search.solvers._cube3_tables import CORNERS, EDGES, tables

METRICS = ("half", "quarter")

#: Positions at each distance from the solved cube, as counted by Tomas Rokicki and others (cube20.org).
COUNTS = {"half": [1, 18, 243, 3240], "quarter": [1, 12, 114, 1068]}

#: Patterns and their fewest moves in both metrics: Pons Asinorum, Six Spots, and Anaconda, after Michael Reid.
PATTERNS = [
    ("U2 D2 R2 L2 F2 B2", 6, 12),
    ("U D' R L' F B' U D'", 8, 8),
    ("L U B' U' R L' B R' F B' D R D' F'", None, 14),  # 14 half turns, too, which takes a second
]
SUPERFLIP = "U R2 F B R B2 R U2 L B2 R U' D' R2 F R' L B2 U2 F2"  # of which Michael Reid proved that 19 do not solve it

#: Scrambles, and what the package kociemba 1.2.1 solves them by.
SOLVED = [
    ("D B' F U2", "F B R2 B2 U2 F2 L2 B2 D2 L2 D'"),
    ("L' F D L' U'", "U L D' F' L"),
    ("U D' L' U' F2 R", "R' F2 U L U' D"),
    ("F' U2 L U' L2 D R", "R' D' L2 U L' U2 F"),
    ("R2 D' U2 F2 L2 B' F' L", "L F' B U2 D F2 L2 U2 B2 L2 F2 D2 B2"),
    ("U F' R L' R' D2 U' R2", "R2 U D2 L F U'"),
    ("F2 L' F2 D R F2 B2 R D'", "D R' F2 B2 R' D' F2 L F2"),
    ("B2 U2 B L' R' F2 L2 R2 L", "R' L2 B R2 L2 U' D' F2 U D' F2 R2 L2"),
    ("U' R2 D2 F' R2 U2 L' B2 U2 L", "R L2 B2 D2 R' B' R2 D2 F2 R2 U2 L2 B2 U"),
    ("B2 U' F D' U L' U2 F2 L2 F2", "R2 U2 F2 R' U' D B R2 U2 B2 R2 F2 R2 U' B2"),
    ("B2 R B' F2 D R2 D2 F' L' R' U'", "U R L F D2 R2 D' F2 B R' B2"),
    ("L B2 L D' B' U2 D' B' L' U2 R'", "R U2 L B U2 D B D R' U2 R F2 R2 U2 L2 B2 R2 D2"),
]


def after(line: str, metric: str = "half", max_moves: int = 20) -> State:
    """The position after these turns, with all moves left."""
    turns = line.split()
    if metric == "quarter":
        turns = [name for turn in turns for name in ([turn[0]] * 2 if turn[1:] == "2" else [turn])]
    free = State(make("cube", size=3, metric=metric, twists=1, max_moves=1000)).play_line(turns)
    record = free.record.copy()
    record.moves = 0
    return State(make("cube", size=3, metric=metric, max_moves=max_moves), record)


def check_lines(state: State, found: Analysis) -> None:
    """Every line solves the cube within the moves left, and every move is there once."""
    assert found.proven and found.value == (1.0,) and len(found.pv) == found.depth
    assert sorted(info.move for info in found.moves) == list(state.legal_moves)
    for info in found.moves:
        if info.value is not None:
            end = state.copy().play_line(info.pv)
            assert info.pv[0] == info.move and end.is_over and end.scores == info.value == (1.0,)


@pytest.mark.parametrize("metric", METRICS)
def test_no_solution_is_longer_than_need_be(metric: str) -> None:
    """All positions within 3 moves, by the game's rules: as many as counted by others, and none is solved in more."""
    game = make("cube", size=3, metric=metric, twists=1, max_moves=3)
    perfect, rng = build("perfect", game), np.random.default_rng(1)
    level: dict[bytes, State] = {}
    for move in game.outcomes:
        state = State(game).play(move)
        level[state.record.stickers.tobytes()] = state
    solved = np.repeat(np.arange(1, 7, dtype=np.uint8), 9).tobytes()
    seen = {solved}
    for distance in range(1, 4):
        assert len(level) == COUNTS[metric][distance]
        for key in rng.permutation(sorted(level))[:20].tolist():
            record = level[key].record.copy()
            record.moves = 0
            state = State(game, record)
            found = perfect.analyse(state)
            check_lines(state, found)
            assert found.depth == distance and found.note.endswith("the fewest")
        seen |= level.keys()
        following = [state.copy().play(move) for state in level.values() for move in state.legal_moves if distance < 3]
        level = {key: state for state in following if (key := state.record.stickers.tobytes()) not in seen}


@pytest.mark.parametrize("metric", METRICS)
def test_patterns_are_solved_in_the_fewest_moves_known(metric: str) -> None:
    for line, half, quarter in PATTERNS:
        fewest = half if metric == "half" else quarter
        if fewest is not None:
            state = after(line, metric)
            found = build("perfect", state.game).analyse(state)
            check_lines(state, found)
            assert found.depth == fewest and found.note.endswith("the fewest")


def test_no_solution_is_longer_than_that_of_kociemba() -> None:
    for scramble, theirs in SOLVED:
        state = after(scramble)
        assert state.copy().play_line(theirs).scores == (1.0,)
        found = build("perfect", state.game).analyse(state)
        check_lines(state, found)
        assert found.depth <= min(len(theirs.split()), len(scramble.split()))


@pytest.mark.parametrize("metric, twists, max_moves", [("half", 12, 20), ("quarter", 13, 20), ("quarter", 100, 28)])
def test_a_champion_solves_scrambled_cubes(metric: str, twists: int, max_moves: int) -> None:
    game = make("cube", size=3, metric=metric, twists=twists, max_moves=max_moves)
    agent = build("champion(seconds=20)", game)
    for seed in range(3):
        state = State(game).roll(stream(seed))
        begun = len(state.history)
        fewest = agent.analyse(state).depth
        while not state.is_over:
            state.play(agent.act(state))
        assert state.scores == (1.0,) and len(state.history) - begun == fewest <= max(twists, 26)


def test_a_cube_far_from_solved_is_solved_in_20_moves() -> None:
    """The solution found first is followed: another search, with fewer moves left, might not find one in time."""
    state = State(make("cube", size=3, twists=100)).roll(stream(1))
    agent = build("perfect", state.game)
    found = agent.analyse(state)
    check_lines(state, found)
    assert found.note.endswith("perhaps not the fewest")
    for move in found.pv:
        assert agent.act(state) == move
        state.play(move)
    assert state.scores == (1.0,)


@pytest.mark.parametrize("metric", METRICS)
def test_too_few_moves_left(metric: str) -> None:
    six_spots = PATTERNS[1][0]
    for left in (1, 7, 8, 9, 10):
        state = after(six_spots, metric, max_moves=left)
        found = build("perfect", state.game).analyse(state)
        assert found.proven and found.value == (1.0 if left >= 8 else 0.0,)
        worth = [info.value for info in found.moves]
        if left < 8:
            assert set(worth) == {(0.0,)}
        else:  # another first move needs two more, if it is not as good; of those it does not know
            assert set(worth[1:]) == {(1.0,) if left >= 10 else None}


def test_it_says_that_it_found_no_solution_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    state = after(SUPERFLIP, max_moves=19)
    with pytest.raises(MeijinError, match=r"within the moves left \(19\) was found in 0.05 s; there may be none"):
        build("perfect", state.game).analyse(state, Limit(seconds=0.05))

    class Plain:
        def __init__(self, seed: int):
            pass

        def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
            yield Analysis(state.turn, tuple(map(MoveInfo, state.legal_moves)), note="a plain search")

    monkeypatch.setattr(champion, "MCTS", Plain)
    assert build("champion", state.game).analyse(state, Limit(seconds=0.05)).note == "a plain search"


def test_who_can_play_without_a_net() -> None:
    for name in ("cube(size=3)", 'cube(metric="quarter")'):
        state = State(make(name)).roll(stream(1))
        assert build("champion", state.game).analyse(state).proven
        for weaker in ("champion(exact=False)", "champion(level=9)"):
            with pytest.raises(MeijinError, match="it has no champion yet"):
                build(weaker, state.game)


@pytest.mark.parametrize("cells", [CORNERS[0], EDGES[0], (EDGES[0, 0], EDGES[1, 0], EDGES[0, 1], EDGES[1, 1])])
def test_a_cube_that_cannot_be_solved(cells: Any) -> None:
    """A corner twisted, an edge flipped, two edges exchanged."""
    state = after("R")
    record = state.record.copy()
    order = np.roll(cells, 1) if len(cells) < 4 else np.array(cells)[[1, 0, 3, 2]]
    record.stickers[list(cells)] = state.record.stickers[order]
    with pytest.raises(MeijinError, match="cannot be solved"):
        solver_for(state.game).analyse(State(state.game, record), Limit())


def test_it_is_the_same_in_plain_python() -> None:
    for scramble, _ in SOLVED[:3]:
        state = after(scramble)
        solver = Cube3Solver(state.game)
        found = solver.analyse(state)
        solver._kernel = state.game.kernel(searcher, jit=False)
        solver._known.clear()
        assert replace(solver.analyse(state), seconds=found.seconds) == found


@pytest.mark.parametrize("metric, furthest", [("half", [9, 9, 14, 12]), ("quarter", [11, 10, 22, 19])])
def test_the_tables_are_complete(metric: str, furthest: list[int]) -> None:
    k = tables(metric)
    assert [int(far.max()) for far in (k.twist_far, k.flip_far, k.corner_far, k.edge_far)] == furthest
    assert k.turned_far.max() < 20  # 255 where no turns lead
