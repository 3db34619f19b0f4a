"""Sim against naive rules, counting, Ramsey's theorem and its known solution."""

from __future__ import annotations

import random
from itertools import combinations, permutations

import numpy as np
import pytest

from meijin.core import kernels
from meijin.core.catalogue import make
from meijin.core.check import check_game
from meijin.core.errors import BadParameter, IllegalMove
from meijin.core.game import OVER, Game
from meijin.core.rng import stream
from meijin.core.state import State

Link = frozenset[int]
Look = tuple[int, list[int], list[float], list[int]]  # turn, legal moves, scores, cells


class Driver:
    """One record of a game and its kernels, by default interpreted: compiling each game would take longer."""

    def __init__(self, game: Game, jit: bool = False):
        self.states = game.states(1)
        self.moves, self.probs = kernels.buffers(game)
        self.scores, self.values = np.zeros(game.seats), np.zeros(len(game.board.cells), np.int32)
        self._play, self._look, self._cells = (
            game.kernel(maker, jit) for maker in (kernels.play, kernels.look, kernels.cells)
        )
        game.kernel(kernels.start, jit)(self.states, 0)

    def play(self, move: int) -> None:
        self._play(self.states, 0, move)

    def look(self) -> Look:
        turn, n = self._look(self.states, 0, self.moves, self.probs, self.scores)
        self._cells(self.states, 0, self.values)
        return int(turn), self.moves[:n].tolist(), self.scores.tolist(), self.values.tolist()


class Naive:
    """The rules in words: after each move every triangle of the board is looked at."""

    def __init__(self, points: int, players: int):
        self.points, self.players = points, players
        self.links = [frozenset(pair) for pair in combinations(range(points), 2)]
        self.colour: dict[Link, int] = {}
        self.seat, self.lost = 0, set[int]()

    def triangle(self, seat: int) -> bool:
        return any(
            all(self.colour.get(frozenset(side)) == seat for side in combinations(corners, 2))
            for corners in combinations(range(self.points), 3)
        )

    @property
    def over(self) -> bool:
        return len(self.colour) == len(self.links) or len(self.lost) == self.players - 1

    def play(self, move: int) -> None:
        self.colour[self.links[move]] = self.seat
        if self.triangle(self.seat):
            self.lost.add(self.seat)
        if not self.over:
            self.seat = (self.seat + 1) % self.players
            while self.seat in self.lost:
                self.seat = (self.seat + 1) % self.players

    def look(self) -> Look:
        free = [] if self.over else [i for i, link in enumerate(self.links) if link not in self.colour]
        survivor = 1.0 if len(self.lost) == self.players - 1 else 0.0
        scores = [-1.0 if seat in self.lost else survivor for seat in range(self.players)]
        cells = [self.colour.get(link, -1) + 1 for link in self.links]
        return OVER if self.over else self.seat, free, scores, cells


@pytest.mark.parametrize("players", [2, 3])
@pytest.mark.parametrize("points", [3, 5, 6, 8])
def test_random_games_agree_with_naive_rules(points: int, players: int) -> None:
    game, rng = make("sim", points=points, players=players), random.Random(1)
    ends = set[tuple[float, ...]]()
    for _ in range(100):
        ours, naive = Driver(game, jit=(points, players) == (6, 2)), Naive(points, players)
        while True:
            assert ours.look() == naive.look()
            if naive.over:
                break
            move = rng.choice(naive.look()[1])
            ours.play(move)
            naive.play(move)
        ends.add(tuple(naive.look()[2]))
    if points == 3:
        assert ends == {(0.0,) * players}  # nobody gets three links
    elif players == 2:
        assert {(-1.0, 1.0), (1.0, -1.0)} <= ends


def test_the_board_names_the_links() -> None:
    assert [move.name for move in make("sim", points=4).moves] == ["ab", "ac", "ad", "bc", "bd", "cd"]


@pytest.mark.parametrize("change", [{"points": 2}, {"points": 9}, {"players": 1}, {"players": 4}])
def test_sizes_are_checked(change: dict[str, int]) -> None:
    with pytest.raises(BadParameter, match=next(iter(change))):
        make("sim", **change)


# ---- counting ----


def perft(game: Game, depth: int) -> int:
    states = game.states(depth + 1)
    game.kernel(kernels.start)(states, 0)
    moves, probs = np.zeros((depth, game.branching or 0), np.int32), kernels.buffers(game)[1]
    counts, nexts = np.zeros(depth, np.int64), np.zeros(depth, np.int64)
    return int(game.kernel(kernels.perft)(states, depth, moves, probs, counts, nexts))


def test_perft() -> None:
    # Ply 5 is the first that can close a triangle: one of 20, its links in 6 orders, among them two of the other
    # seat's on the 12 remaining links, in order. Those games have no sixth ply.
    whole = 15 * 14 * 13 * 12 * 11
    expected = [15, 210, 2730, 32760, whole, (whole - 20 * 6 * 12 * 11) * 10]
    assert [perft(make("sim"), depth) for depth in range(1, 7)] == expected


# ---- who wins ----


def test_two_players_draw_only_below_six_points() -> None:
    """Ramsey: every colouring of K6 in two colours has a triangle, while K5 is a pentagon and a pentagram."""
    five = make("sim", points=5)
    pentagon = Driver(five)
    for name in ("ab", "ac", "bc", "bd", "cd", "ce", "de", "ad", "ae", "be"):
        pentagon.play(five.find(name))
    assert pentagon.look()[0] == OVER and pentagon.look()[2] == [0.0, 0.0]
    game = make("sim")
    moves, probs = kernels.buffers(game)
    kernel, states, rng = game.kernel(kernels.random_games), game.states(1), stream(1)
    for _ in range(10_000):
        totals = np.zeros(2)
        kernel(states, 1, rng, moves, probs, np.zeros(2), totals)
        assert sorted(totals) == [-1.0, 1.0]


def test_the_second_player_wins_on_six_points() -> None:
    """The known solution (Mead, Rosa, Huang 1974), by full search of the positions that no renumbering makes equal."""
    game = make("sim")
    play, look, cells = (game.kernel(maker) for maker in (kernels.play, kernels.look, kernels.cells))
    links = {frozenset(pair): i for i, pair in enumerate(combinations(range(6), 2))}
    renumbered = np.array(
        [[links[frozenset(p[k] for k in link)] for link in links] for p in permutations(range(6))]
    )  # [renumbering, link]
    weights = 3 ** np.arange(15)
    known: dict[int, float] = {}
    values = np.zeros(15, np.int32)

    def first_seat(states: np.ndarray) -> float:
        cells(states, 0, values)
        key = int((values[renumbered] @ weights).min())
        if key not in known:
            moves, probs = kernels.buffers(game)
            scores = np.zeros(2)
            turn, n = look(states, 0, moves, probs, scores)
            if turn == OVER:
                known[key] = float(scores[0])
            else:
                results = []
                for move in moves[:n].tolist():
                    after = states.copy()
                    play(after, 0, move)
                    results.append(first_seat(after))
                known[key] = max(results) if turn == 0 else min(results)
        return known[key]

    assert first_seat(Driver(game, jit=True).states) == -1.0


# ---- three players ----


@pytest.mark.usefixtures("interpreted")
def test_of_three_players_the_first_to_lose_is_passed_over() -> None:
    s = State(make("sim", players=3)).play_line("ab ad ae  bc bd be")
    assert s.turn == 0 and s.scores == (0.0, 0.0, 0.0)
    s.play("ac")  # a, b, c in the first colour
    assert s.scores == (-1.0, 0.0, 0.0) and s.turn == 1
    s.play("cd")
    assert s.turn == 2
    s.play("cf")
    assert s.turn == 1  # seat 0 is out
    with pytest.raises(IllegalMove):
        s.play("cf")
    s.play_line("de ef")
    assert s.turn == 1 and s.scores == (-1.0, 0.0, 0.0)


@pytest.mark.usefixtures("interpreted")
def test_the_second_of_three_to_lose_leaves_a_winner() -> None:
    s = State(make("sim", players=3)).play_line("ab ad ae  bc de be  ac")
    s.play("ef").play("cd")
    assert s.turn == 1 and s.scores == (-1.0, 0.0, 0.0)
    s.play("df")  # d, e, f in the second colour
    assert s.is_over and s.scores == (-1.0, -1.0, 1.0)


def test_a_triangle_with_the_last_link_leaves_the_others_with_nothing() -> None:
    """Found by random play: exactly one seat is out when no link is left."""
    game, rng, seen = make("sim", points=5, players=3), random.Random(2), 0
    for _ in range(150):
        s = Driver(game)
        while s.look()[0] != OVER:
            s.play(rng.choice(s.look()[1]))
        scores = sorted(s.look()[2])
        assert scores in ([0.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [-1.0, -1.0, 1.0])
        seen += scores == [-1.0, 0.0, 0.0]
    assert seen > 0


@pytest.mark.soak
def test_every_law_of_a_game_holds() -> None:
    check_game(make("sim(points=8, players=3)"), games=5)


def test_symmetries_are_all_ways_to_letter_the_points_or_those_of_the_polygon() -> None:
    assert [len(make(name).symmetries) for name in ("sim", "sim(points=8, players=3)")] == [720, 16]
