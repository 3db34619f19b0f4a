"""The cube against magiccube and kociemba, the laws of its group, and the known numbers of positions."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from meijin.core import kernels
from meijin.core.catalogue import make
from meijin.core.check import check_game
from meijin.core.errors import BadParameter, IllegalMove
from meijin.core.game import CHANCE, Game
from meijin.core.rng import stream
from meijin.core.state import State

#: Positions of the 2x2x2 by the fewest moves that solve them, as known from full searches.
DEPTHS = {
    "half": [1, 9, 54, 321, 1847, 9992, 50136, 227536, 870072, 1887748, 623800, 2644],
    "quarter": [1, 6, 27, 120, 534, 2256, 8969, 33058, 114149, 360508, 930588, 1350852, 782536, 90280, 276],
}


class Turner:
    """A cube that nobody scrambles, from a record after the scramble and with no limit in reach."""

    def __init__(self, size: int, metric: str = "half", jit: bool = False):
        self.game = make("cube", size=size, metric=metric, max_moves=1000)
        self.states = self.game.states(1)
        self._start, self._play = (self.game.kernel(maker, jit) for maker in (kernels.start, kernels.play))
        self.reset()

    def reset(self) -> None:
        self._start(self.states, 0)
        self.states["twists"] = 0

    def turn(self, line: str) -> None:
        self.states["moves"] = 0
        for name in line.split():
            self._play(self.states, 0, int(self.game.find(name)))

    @property
    def stickers(self) -> list[int]:
        return list(self.states["stickers"][0].tolist())

    def order(self, line: str) -> int:
        """How often a line of moves is played until the cube is as it was."""
        self.reset()
        before, n = self.stickers, 0
        while True:
            self.turn(line)
            n += 1
            if self.stickers == before:
                return n


def names(game: Game) -> list[str]:
    return [move.name for move in game.moves]


# ---- against other people's cubes ----


@pytest.mark.parametrize("size", [2, 3])
def test_every_sticker_agrees_with_magiccube(size: int) -> None:
    magiccube = pytest.importorskip("magiccube")
    ours, rng = Turner(size, jit=True), random.Random(size)
    area = size * size
    for _ in range(1000):
        line = rng.choices(names(ours.game), k=rng.randint(1, 25))
        peer = magiccube.Cube(size)
        peer.rotate(" ".join(line))
        ours.reset()
        ours.turn(" ".join(line))
        colours = " WRGYOB"  # U R F D L B are our 1 to 6
        faces = ["".join(colours[v] for v in ours.stickers[i : i + area]) for i in range(0, 6 * area, area)]
        up, right, front, down, left, back = faces
        assert peer.get() == up + left + front + right + back + down, line


@pytest.mark.usefixtures("interpreted")
def test_what_kociemba_solves_is_solved() -> None:
    kociemba = pytest.importorskip("kociemba")
    game = make("cube", size=3, twists=30, max_moves=30)
    for seed in range(20):
        s = State(game).roll(stream(seed))
        facelets = "".join(game.pieces[v].text for v in s.cells)
        s.play_line(kociemba.solve(facelets))
        assert s.is_over and s.scores == (1.0,), facelets


# ---- the group ----


@pytest.mark.parametrize(
    "size, line, order",
    [
        (3, "R", 4),
        (3, "R2", 2),
        (3, "R U R' U'", 6),
        (3, "R U", 105),
        (3, "R U'", 63),
        (3, "R2 U2", 6),
        (3, "R U2 D' B D'", 1260),  # no element has a higher order
        (2, "R U R' U'", 6),
        (2, "R U", 15),
    ],
)
def test_orders(size: int, line: str, order: int) -> None:
    assert Turner(size).order(line) == order


@pytest.mark.parametrize("metric", ["half", "quarter"])
@pytest.mark.parametrize("size", [2, 3])
def test_inverses(size: int, metric: str) -> None:
    cube = Turner(size, metric)
    cube.turn("R U F R U' F' U R R F")  # a position without symmetries of its own
    here = cube.stickers
    for face in "URF" if size == 2 else "URFDLB":
        for line in (f"{face} {face}'", f"{face}' {face}", f"{face} {face} {face} {face}"):
            cube.turn(line)
            assert cube.stickers == here, line
        if metric == "half":
            cube.turn(f"{face}2 {face} {face}")
            assert cube.stickers == here, face


def test_the_moves() -> None:
    assert names(make("cube")) == ["U", "U'", "U2", "R", "R'", "R2", "F", "F'", "F2"]
    assert names(make("cube", metric="quarter")) == ["U", "U'", "R", "R'", "F", "F'"]
    assert make("cube", size=3).num_moves == 18 and make("cube", size=3, metric="quarter").num_moves == 12


def test_the_fixed_corner_of_the_small_cube_stays() -> None:
    game = make("cube")
    fixed = [game.board.index(name) for name in ("d3", "l3", "b4")]
    solved = Turner(2).stickers
    for name in names(game):
        cube = Turner(2)
        cube.turn(name)
        changed = {i for i in range(24) if cube.stickers[i] != solved[i]}
        assert not changed & set(fixed)
        assert len(changed) == 8  # beside the face, four rows of two


# ---- counting ----


def permutations(game: Game) -> Any:
    """[move, cell] -> the cell whose sticker comes there."""
    states = game.states(game.num_moves)
    for move in range(game.num_moves):
        game.kernel(kernels.start)(states, move)
        states["stickers"][move] = np.arange(states["stickers"].shape[1])
        game.kernel(kernels.play)(states, move, move)
    return states["stickers"].astype(np.int64)


@pytest.mark.parametrize("metric, deep", [("half", 7), ("quarter", 9)])
def test_positions_by_depth(metric: str, deep: int) -> None:
    assert sum(DEPTHS[metric]) == 3_674_160
    turns = permutations(make("cube", metric=metric))
    weights = 6 ** np.arange(24, dtype=np.uint64)  # 6 ** 24 fits in 64 bits
    level = (np.arange(24) // 4).astype(np.uint8)[None]  # [position, cell] -> colour
    keys, before = level @ weights, np.zeros(0, np.uint64)
    counts = [1]
    for _ in range(deep):
        images = np.concatenate([level[:, turn] for turn in turns])
        fresh, where = np.unique(images @ weights, return_index=True)
        new = ~np.isin(fresh, keys) & ~np.isin(fresh, before)  # moves can be undone, so none leads further back
        level, before, keys = images[where[new]], keys, fresh[new]
        counts.append(len(level))
    assert counts == DEPTHS[metric][: deep + 1]


# ---- the game ----


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("metric", ["half", "quarter"])
@pytest.mark.parametrize("size", [2, 3])
def test_twists_are_equally_likely_but_not_of_the_same_face_again(size: int, metric: str) -> None:
    s = State(make("cube", size=size, metric=metric, twists=3))
    assert s.turn == CHANCE and s.scores == (0.0,)
    everything = names(s.game)
    assert [o.name for o in s.odds] == everything and set(s.odds.values()) == {1 / len(everything)}
    s.play("R'")
    others = [name for name in everything if name[0] != "R"]
    assert [o.name for o in s.odds] == others and math.isclose(sum(s.odds.values()), 1)
    assert len(set(s.odds.values())) == 1
    with pytest.raises(IllegalMove):
        s.play("R")
    s.play("U").play("R")
    assert s.turn == 0 and [move.name for move in s.legal_moves] == everything


@pytest.mark.usefixtures("interpreted")
def test_a_scramble_of_any_length_is_as_likely() -> None:
    s, reached = State(make("cube", twists=4, spread=True)), 1.0
    assert "stop" not in [o.name for o in s.odds]
    for turn in ("R", "U", "R"):
        s.play(turn)
        odds = {o.name: p for o, p in s.odds.items()}
        assert math.isclose(sum(odds.values()), 1) and math.isclose(reached * odds["stop"], 1 / 4)
        reached *= 1 - odds["stop"]
        stopped = s.copy().play("stop")
        assert stopped.turn == 0 and stopped.cells == s.cells
    assert s.play("U").turn == 0
    lengths = [len(State(s.game).roll(stream(seed)).history) for seed in range(400)]
    # Scrambles of 1 to 4 turns: with "stop", one word more than turns but for the longest. Fails once in 10^6 at most.
    counts = [lengths.count(2), lengths.count(3), lengths.count(4)]
    assert sum(counts) == 400 and all(count > 50 for count in counts[:2]) and counts[2] > 140


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("size", [2, 3])
def test_undoing_the_scramble_solves(size: int) -> None:
    opposite = {"": "'", "'": "", "2": "2"}
    for seed in range(20):
        s = State(make("cube", size=size)).roll(stream(seed))
        back = [move.name[0] + opposite[move.name[1:]] for move in reversed(s.history)]
        for name in back:
            if s.is_over:  # solved before, on a shorter way
                break
            assert s.scores == (0.0,)
            s.play(name)
        assert s.is_over and s.scores == (1.0,)


@pytest.mark.usefixtures("interpreted")
def test_the_limit_ends_the_game_unless_the_last_move_solves() -> None:
    game = make("cube", twists=1, max_moves=3)
    s = State(game).play_line("R U U")
    assert s.turn == 0 and s.scores == (0.0,)
    lost = s.copy().play("U")
    assert lost.is_over and lost.scores == (0.0,)
    won = State(game).play_line("R R R R")
    assert won.is_over and won.scores == (1.0,)


@pytest.mark.usefixtures("interpreted")
def test_a_scramble_may_lead_back() -> None:
    s = State(make("cube", size=3, twists=4)).play_line("U D U' D'")
    assert s.is_over and s.scores == (1.0,)


@pytest.mark.usefixtures("interpreted")
def test_equal_positions_are_equal_however_they_were_scrambled() -> None:
    game = make("cube", size=3, twists=2)
    assert State(game).play_line("U D") == State(game).play_line("D U")
    assert State(game).play_line("U R") != State(game).play_line("R U")


@pytest.mark.parametrize("change", [{"size": 4}, {"metric": "fifth"}, {"twists": 0}, {"max_moves": 0}])
def test_parameters_are_checked(change: dict[str, Any]) -> None:
    with pytest.raises(BadParameter, match=next(iter(change))):
        make("cube", **change)


@pytest.mark.soak
def test_every_law_of_a_game_holds() -> None:
    check_game(make('cube(size=3, metric="quarter", twists=2, max_moves=3)'), games=5)


@pytest.mark.usefixtures("compiled_in_soak")
def test_every_law_of_a_game_with_scrambles_of_any_length_holds() -> None:
    check_game(make("cube(spread=True, twists=3, max_moves=3)"), games=5)
