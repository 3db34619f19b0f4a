"""EinStein würfelt nicht! against naive rules and in constructed positions."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from meijin.core import kernels
from meijin.core.catalogue import make
from meijin.core.check import check_game
from meijin.core.errors import BadParameter
from meijin.core.game import CHANCE, OVER
from meijin.core.state import State

Stone = tuple[int, int]  # seat, number
Look = tuple[int, set[str], list[float], dict[str, Stone]]  # turn, moves or throws, scores, board


class Naive:
    """The rules in words: a board is a dict from names of cells to stones."""

    def __init__(self, board: dict[str, Stone]):
        self.board, self.seat, self.throw, self.winner = board, 0, 0, -1

    def moves(self) -> set[str]:
        mine = {number: cell for cell, (seat, number) in self.board.items() if seat == self.seat}
        if self.throw in mine:
            numbers = [self.throw]
        else:
            numbers = sorted(n for n in mine if n > self.throw)[:1] + sorted(n for n in mine if n < self.throw)[-1:]
        found = set()
        for cell in (mine[n] for n in numbers):
            column, row = ord(cell[0]), int(cell[1])
            right, down = (1, -1) if self.seat == 0 else (-1, 1)
            for dx, dy in ((right, 0), (0, down), (right, down)):
                target = f"{chr(column + dx)}{row + dy}"
                if target[0] in "abcde" and target[1:] in {"1", "2", "3", "4", "5"}:
                    found.add(cell + target)
        return found

    def play(self, name: str) -> None:
        if self.throw == 0:
            self.throw = int(name)
            return
        cell, target = name[:2], name[2:]
        self.board[target] = self.board.pop(cell)
        others = [stone for stone in self.board.values() if stone[0] != self.seat]
        if target == ("e1", "a5")[self.seat] or not others:
            self.winner = self.seat
        self.seat, self.throw = 1 - self.seat, 0

    def look(self) -> Look:
        scores = [0.0, 0.0] if self.winner < 0 else [1.0 - 2 * self.winner, 2 * self.winner - 1.0]
        if self.winner >= 0:
            return OVER, set(), scores, self.board
        if self.throw == 0:
            return CHANCE, set("123456"), scores, self.board
        return self.seat, self.moves(), scores, self.board


START = {"a5": 1, "b5": 6, "c5": 3, "a4": 5, "b4": 2, "a3": 4}
TURNED = {"e1": 1, "d1": 6, "c1": 3, "e2": 5, "d2": 2, "e3": 4}


@pytest.mark.usefixtures("interpreted")
def test_the_fixed_start() -> None:
    game = make("einstein")
    s = State(game)
    shown = {game.board.cells[i].name: game.pieces[v].text for i, v in enumerate(s.cells) if v}
    assert shown == {c: f"X{n}" for c, n in START.items()} | {c: f"O{n}" for c, n in TURNED.items()}
    assert s.turn == CHANCE


def test_random_games_agree_with_naive_rules() -> None:
    game = make("einstein")
    start, play, look = (game.kernel(maker) for maker in (kernels.start, kernels.play, kernels.look))
    cells = game.kernel(kernels.cells)
    moves, probs = kernels.buffers(game)
    scores, values, states = np.zeros(2), np.zeros(27, np.int32), game.states(1)
    names = [cell.name for cell in game.board.cells]
    rng = random.Random(1)
    winners, lengths = [0, 0], []
    for _ in range(2000):
        start(states, 0)
        naive = Naive({c: (0, n) for c, n in START.items()} | {c: (1, n) for c, n in TURNED.items()})
        plies = 0
        while True:
            turn, n = look(states, 0, moves, probs, scores)
            cells(states, 0, values)
            listed = game.outcomes if turn == CHANCE else game.moves
            board = {names[i]: divmod(v - 1, 6) for i, v in enumerate(values[:25].tolist()) if v}
            ours = (
                turn,
                {listed[m].name for m in moves[:n]},
                scores.tolist(),
                {c: (s, k + 1) for c, (s, k) in board.items()},
            )
            assert ours == naive.look()
            trays = [0, 0]
            if turn >= 0:
                trays[turn] = 6 * turn + naive.throw
            assert values[25:].tolist() == trays
            if turn == OVER:
                break
            if turn == CHANCE:
                assert probs[:n].tolist() == [1 / 6] * 6
            name = rng.choice(sorted(ours[1]))
            play(states, 0, int(game.find(name, turn == CHANCE)))
            naive.play(name)
            plies += 1
        winners[naive.winner] += 1
        lengths.append(plies)
    assert min(winners) > 0 and max(lengths) <= game.longest


# ---- constructed positions ----


def position(first: dict[str, int], second: dict[str, int], seat: int = 0, throw: int = 0) -> State:
    """A state with these stones on the board."""
    game = make("einstein")
    record: Any = game.states(1)
    record["where"] = -1
    record["seat"], record["throw"], record["winner"] = seat, throw, -1
    for owner, stones in enumerate((first, second)):
        for cell, number in stones.items():
            at = game.board.index(cell)
            record["board"][0, at] = 6 * owner + number
            record["where"][0, owner, number - 1] = at
            record["left"][0, owner] |= 1 << (number - 1)
    return State(game, record[0])


def legal(s: State) -> set[str]:
    return {move.name for move in s.legal_moves}


@pytest.mark.usefixtures("interpreted")
def test_the_stone_of_the_throw_moves_right_down_or_diagonally() -> None:
    assert legal(position({"c3": 4, "a5": 2}, {"e3": 1}, throw=4)) == {"c3d3", "c3c2", "c3d2"}
    assert legal(position({"a5": 2}, {"c3": 4, "e3": 1}, seat=1, throw=4)) == {"c3b3", "c3c4", "c3b4"}


@pytest.mark.usefixtures("interpreted")
def test_at_the_edge_there_is_one_way() -> None:
    assert legal(position({"e3": 4}, {"a1": 1}, throw=4)) == {"e3e2"}
    assert legal(position({"b1": 4}, {"a1": 1}, throw=4)) == {"b1c1"}
    assert legal(position({"e3": 4}, {"a1": 1}, seat=1, throw=1)) == {"a1a2"}


@pytest.mark.usefixtures("interpreted")
def test_a_missing_number_moves_either_neighbour() -> None:
    stones = {"a5": 1, "c4": 4, "a1": 6}
    assert legal(position(stones, {"e3": 1}, throw=3)) == {"a5b5", "a5a4", "a5b4", "c4d4", "c4c3", "c4d3"}
    assert legal(position(stones, {"e3": 1}, throw=5)) == {"c4d4", "c4c3", "c4d3", "a1b1"}
    assert legal(position({"c4": 4, "a1": 6}, {"e3": 1}, throw=1)) == {"c4d4", "c4c3", "c4d3"}  # none is lower
    assert legal(position({"c4": 4}, {"e3": 1}, throw=6)) == {"c4d4", "c4c3", "c4d3"}  # none is higher


@pytest.mark.usefixtures("interpreted")
def test_a_stone_on_the_target_is_taken_whoever_owns_it() -> None:
    s = position({"c3": 4, "d2": 5}, {"c2": 1, "a1": 6}, throw=4)
    own = s.copy().play("c3d2")
    assert own.turn == CHANCE and own.scores == (0.0, 0.0)
    after = own.play("2").play("c2c3").play("5")
    assert legal(after) == {"d2e2", "d2d1", "d2e1"}  # 5 was taken, so 4 is the nearest
    theirs = s.copy().play("c3c2").play("1")
    assert theirs.turn == 1 and legal(theirs) == {"a1a2"}  # 1 was taken, so 6 is the nearest


@pytest.mark.usefixtures("interpreted")
def test_the_opposite_corner_wins() -> None:
    s = position({"d2": 3}, {"e1": 2, "c3": 1}, throw=1).play("d2e1")
    assert s.is_over and s.scores == (1.0, -1.0)
    s = position({"d2": 3, "a5": 1}, {"b5": 2}, seat=1, throw=1).play("b5a5")
    assert s.is_over and s.scores == (-1.0, 1.0)
    s = position({"b4": 3}, {"d3": 2}, seat=1, throw=1).play("d3d4")  # its own corner or a side wins nothing
    assert s.turn == CHANCE


@pytest.mark.usefixtures("interpreted")
def test_taking_the_last_stone_wins() -> None:
    s = position({"b3": 3}, {"c3": 6}, throw=1).play("b3c3")
    assert s.is_over and s.scores == (1.0, -1.0)
    s = position({"b3": 3}, {"c3": 6}, seat=1, throw=1).play("c3b3")
    assert s.is_over and s.scores == (-1.0, 1.0)


# ---- the start by chance ----


@pytest.mark.usefixtures("interpreted")
def test_chance_places_the_stones() -> None:
    s = State(make("einstein", layout="random"))
    for stone in range(12):
        assert s.turn == CHANCE
        free = sorted(START if stone < 6 else TURNED)
        taken = {move.name for move in s.history}
        assert sorted(o.name for o in s.odds) == [cell for cell in free if cell not in taken]
        assert sum(s.odds.values()) == pytest.approx(1) and len(set(s.odds.values())) == 1
        s.play(s.legal_moves[-1])
    placed = {cell.name: v for cell, v in zip(s.game.board.cells, s.cells, strict=True) if v}
    assert sorted(placed.values()) == list(range(1, 13))
    assert {cell for cell, v in placed.items() if v <= 6} == set(START)
    assert [o.name for o in s.odds] == list("123456")
    assert s.play("3").turn == 0


def test_the_layout_is_checked() -> None:
    with pytest.raises(BadParameter, match="layout"):
        make("einstein", layout="mirrored")


def test_every_law_of_a_game_holds(compiled_in_soak: None) -> None:
    check_game(make("einstein", layout="random"), games=5)


def test_only_a_fixed_layout_may_be_seen_from_the_other_side() -> None:
    assert [len(make("einstein", layout=layout).symmetries) for layout in ("fixed", "random")] == [4, 2]
