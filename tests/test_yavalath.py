"""Yavalath against naive rules that know the board by the names of its cells."""

from __future__ import annotations

import random
from collections import Counter
from itertools import zip_longest

import pytest

from driving import Runner
from meijin.core.catalogue import make
from meijin.core.check import check_game
from meijin.core.errors import BadParameter, IllegalMove
from meijin.core.game import OVER
from meijin.core.state import State


class Naive:
    """A dict from (letter, number) to the seat of the stone there; lines are walked along from each stone."""

    ROWS = "abcdefghi"

    def __init__(self, players: int, swap: bool = False):
        self.players, self.swap = players, swap
        self.board: dict[tuple[int, int], int | None] = {}
        for letter in range(9):  # row a has a1 to a5, row e has e1 to e9, row i has i5 to i9
            for number in range(max(1, letter - 3), min(9, letter + 5) + 1):
                self.board[letter, number] = None
        self.left, self.seat, self.plies = list(range(players)), 0, 0
        self.scores = [0.0] * players
        self.over = False

    def name(self, cell: tuple[int, int]) -> str:
        return f"{self.ROWS[cell[0]]}{cell[1]}"

    def cell(self, name: str) -> tuple[int, int]:
        return self.ROWS.index(name[0]), int(name[1])

    def empty(self) -> list[tuple[int, int]]:
        return [cell for cell, holder in self.board.items() if holder is None]

    def longest(self, seat: int, cell: tuple[int, int]) -> int:
        """The longest line of the seat's stones through the cell, with one more there."""
        found = 1
        for step in ((0, 1), (1, 0), (1, 1)):  # along letters, along numbers, along both together
            length = 1
            for sign in (1, -1):
                letter, number = cell[0] + sign * step[0], cell[1] + sign * step[1]
                while self.board.get((letter, number)) == seat:
                    length += 1
                    letter, number = letter + sign * step[0], number + sign * step[1]
            found = max(found, length)
        return found

    def following(self) -> int:
        return self.left[(self.left.index(self.seat) + 1) % len(self.left)]

    def legal(self) -> set[str]:
        cells = self.empty()
        if self.players == 3:
            threats = [cell for cell in cells if self.longest(self.following(), cell) >= 4]
            if threats:
                cells = [cell for cell in cells if cell in threats or self.longest(self.seat, cell) >= 4]
        names = {self.name(cell) for cell in cells}
        return names | {"swap"} if self.swap and self.plies == 1 else names

    def play(self, move: str) -> None:
        following = self.following()
        self.plies += 1
        if move == "swap":
            self.board = {cell: None if holder is None else 1 for cell, holder in self.board.items()}
        else:
            length = self.longest(self.seat, self.cell(move))
            self.board[self.cell(move)] = self.seat
            if length >= 4:
                self.scores = [1.0 if seat == self.seat else -1.0 for seat in range(self.players)]
                self.over = True
            elif length == 3:
                self.scores[self.seat] = -1.0
                self.left.remove(self.seat)
                if len(self.left) == 1:
                    self.scores[self.left[0]] = 1.0
                    self.over = True
            self.over = self.over or not self.empty()
        self.seat = following


LONG = ((2, False, 1000), (2, True, 400), (3, False, 600))


@pytest.mark.parametrize(
    ("players", "swap", "games"),
    [(2, False, 250), (2, True, 120), (3, False, 200), *(pytest.param(*each, marks=pytest.mark.soak) for each in LONG)],
)
def test_random_games_agree_with_naive_rules(players: int, swap: bool, games: int) -> None:
    """In every second game nobody makes three in a line, or leaves a line of four undone, without need: boards fill."""
    game = make("yavalath", players=players, swap=swap)
    ours, rng = Runner(game), random.Random(players)
    seen: Counter[str] = Counter()
    for number in range(games):
        naive = Naive(players, swap)
        ours.start()
        while not naive.over:
            turn, legal, scores = ours.look()
            assert (turn, scores) == (naive.seat, naive.scores)
            names = {game.moves[move].name for move in legal}
            assert names == naive.legal()
            seen["forced"] += len(names) < len(naive.empty())
            move = rng.choice(legal)
            if number % 2:
                lengths = {m: naive.longest(naive.seat, naive.cell(game.moves[m].name)) for m in legal if m < 61}
                move = rng.choice([m for m in lengths if lengths[m] != 3] or legal)
            ours.play(move)
            naive.play(game.moves[move].name)
        turn, legal, scores = ours.look()
        assert (turn, legal, scores) == (OVER, [], naive.scores)
        values = dict(zip((cell.name for cell in game.board.cells), ours.cells(), strict=True))
        assert values == {naive.name(cell): 0 if holder is None else holder + 1 for cell, holder in naive.board.items()}
        seen["draws"] += 1.0 not in scores
        seen["four"] += len(naive.left) > 1 and 1.0 in scores
        seen["last one left"] += len(naive.left) == 1
        seen["four with one out"] += len(naive.left) == 2 < players and 1.0 in scores
    expected = {"four", "last one left"} | ({"forced", "four with one out"} if players == 3 else set())
    assert expected <= {what for what, times in seen.items() if times}, seen


# ---- two players ----


def test_four_win_and_three_lose() -> None:
    game = make("yavalath")
    line = "e1 a1 e2 a2 e4 i9"
    assert State(game).play_line(line).play("e3").scores == (1.0, -1.0)  # e1 to e4
    assert State(game).play_line("e1 a1 e2 a5").play("e3").scores == (-1.0, 1.0)
    assert State(game).play_line("e1 a1 e2 a2 e4 i9 e5 i5").play("e3").scores == (1.0, -1.0)  # five
    assert State(game).play_line("e1 a1 e2").turn == 1  # two are nothing


@pytest.mark.parametrize(
    "line", ["a1 b1 d1 c1", "a1 b2 d4 c3", "e1 e2 e4 e3", "i9 h9 f9 g9", "i5 h4 f2 g3", "a5 b6 d8 c7"]
)
def test_lines_run_in_three_directions_and_to_the_rim(line: str) -> None:
    state = State(make("yavalath"))
    for mine, theirs in zip(line.split(), ("e5", "d3", "f8", ""), strict=True):
        state.play(mine)
        if theirs:
            state.play(theirs)
    assert state.scores == (1.0, -1.0)


@pytest.mark.parametrize("line", ["a4 a5 b1", "a5 b6 b1", "d8 e9 e1", "i5 h8 h9", "a1 b2 d5", "e8 e9 f2"])
def test_lines_do_not_run_around_the_rim_or_bend(line: str) -> None:
    """Cells whose numbers follow each other in some order, but that are in no line of three."""
    state = State(make("yavalath"))
    for mine, theirs in zip(line.split(), ("e5", "d3", "f8"), strict=True):
        state.play(mine).play(theirs)
    assert not state.is_over


def test_three_and_four_at_once_win() -> None:
    """c3 ends the line c3-c4-c5 and fills the gap of a1-b2-d4."""
    state = State(make("yavalath")).play_line("a1 i9 b2 i7 d4 h9 c4 g5 c5 f9")
    assert state.turn == 0
    assert state.copy().play("c6").scores == (-1.0, 1.0)
    assert state.play("c3").scores == (1.0, -1.0)


def test_two_players_need_not_block() -> None:
    state = State(make("yavalath")).play_line("e1 a1 e2 a5 e4")
    assert len(state.legal_moves) == 56
    assert state.play("i9").play("e3").scores == (1.0, -1.0)


def test_full_board_is_a_draw() -> None:
    """Colours in pairs along the rows, shifted from row to row, make no three in any direction."""
    game = make("yavalath")
    by_colour: dict[int, list[str]] = {0: [], 1: []}
    for letter, number in Naive(2).board:
        by_colour[(number + letter + 2) // 2 % 2].append(f"{Naive.ROWS[letter]}{number}")
    line = [name for pair in zip_longest(*by_colour.values()) for name in pair if name]
    state = State(game).play_line(line)
    assert (len(line), state.turn, state.scores) == (61, OVER, (0.0, 0.0))


def test_swap_takes_the_stone_over() -> None:
    game = make("yavalath(swap=True)")
    state = State(game)
    assert len(state.legal_moves) == 61
    state.play("c3")
    assert (len(state.legal_moves), state.legal_moves[-1].name) == (61, "swap")
    state.play("swap")
    assert state.turn == 0
    assert state.cells[game.board.index("c3")] == 2
    assert "swap" not in [move.name for move in state.legal_moves]
    state.play_line("a1 c4 i9")
    assert state.play("c5").scores == (1.0, -1.0)  # c3 counts as black's
    declined = State(game).play_line("c3 c4")
    assert [declined.cells[game.board.index(name)] for name in ("c3", "c4")] == [1, 2]
    with pytest.raises(IllegalMove):
        declined.play("swap")


# ---- three players ----


def names(state: State) -> list[str]:
    return sorted(move.name for move in state.legal_moves)


def test_the_next_players_win_must_be_blocked() -> None:
    state = State(make("yavalath(players=3)")).play_line("a1 e1 i9 a3 e2 i7 b4 e4")
    assert (state.turn, len(names(state))) == (2, 53)  # the threat is of the seat before: two turns away
    state.play("g5")
    assert (state.turn, names(state)) == (0, ["e3"])
    with pytest.raises(IllegalMove, match="'a5' is not legal here"):
        state.play("a5")
    assert state.play("e3").turn == 1


def test_a_block_may_make_three_and_put_its_player_out() -> None:
    state = State(make("yavalath(players=3)")).play_line("c3 e1 i9 d3 e2 i7 b1 e4 g5")
    assert names(state) == ["e3"]
    state.play("e3")  # c3-d3-e3
    assert (state.turn, state.scores) == (1, (-1.0, 0.0, 0.0))
    assert state.cells[state.game.board.index("e3")] == 1  # the stones stay
    assert [state.play(move).turn for move in ("a5", "h9", "a4", "h5")] == [2, 1, 2, 1]  # two go on
    state.play("a3")  # three again: the last one left wins
    assert state.scores == (-1.0, -1.0, 1.0)
    assert state.is_over


def test_a_player_who_is_out_threatens_nothing() -> None:
    """Seat 1 goes out with e1-e2-e3; that e4 would make five for it need not be blocked."""
    state = State(make("yavalath(players=3)")).play_line("a1 e1 i9 b4 e2 i7 h5 e5 g5 d3 e3")
    assert (state.turn, state.scores) == (2, (0.0, -1.0, 0.0))
    assert len(names(state)) == 61 - 11
    assert [state.play(move).turn for move in ("a3", "f2", "d1", "g9")] == [0, 2, 0, 2]


def test_of_several_wins_one_must_be_blocked_and_who_makes_four_need_not() -> None:
    """e4 makes two threats at once, e1-e4 and e4-e7; the last seat can block but one of them."""
    state = State(make("yavalath(players=3)")).play_line("e1 a1 i9 e2 a2 i7 e6 b5 g4 e7 c1 f8 e4 a4")
    assert (state.turn, names(state)) == (2, ["e3", "e5"])
    state.play("e3")
    assert (state.turn, names(state)) == (0, ["a3", "e5"])  # a3 would be the next seat's four, e5 is the mover's own
    assert state.copy().play("a3").turn == 1
    assert state.play("e5").scores == (1.0, -1.0, -1.0)


def test_blocking_goes_on_with_two_left() -> None:
    state = State(make("yavalath(players=3)")).play_line("a1 e1 i9 a2 h4 i6 a3 e2 i5 e4")
    assert (state.turn, state.scores) == (2, (-1.0, 0.0, 0.0))
    assert names(state) == ["e3"]


def test_draw_of_those_left() -> None:
    game, rng = make("yavalath(players=3)"), random.Random(9)
    ours = Runner(game)
    found = set()
    for _ in range(3000):
        naive, line = Naive(3), 0
        ours.start()
        turn, legal, scores = ours.look()
        while turn != OVER:
            cells = {m: naive.longest(turn, naive.cell(game.moves[m].name)) for m in legal}
            move = rng.choice([m for m in legal if cells[m] < 3] or legal)
            ours.play(move)
            naive.play(game.moves[move].name)
            line += 1
            turn, legal, scores = ours.look()
        if 1.0 not in scores:
            assert line == 61
            found.add(tuple(sorted(scores)))
        if len(found) == 2:
            break
    assert found == {(0.0, 0.0, 0.0), (-1.0, 0.0, 0.0)}


# ---- the rest ----


def test_all_twelve_symmetries_of_the_hexagon() -> None:
    for players in (2, 3):
        symmetries = make("yavalath", players=players).symmetries
        assert len({symmetry.moves for symmetry in symmetries}) == 12
        assert not any(symmetry.swaps for symmetry in symmetries)


def test_positions_are_equal_however_they_were_reached() -> None:
    game = make("yavalath")
    assert State(game).play_line("e1 a1 e2 a2 e4 i9") == State(game).play_line("e4 i9 e1 a2 e2 a1")
    three = make("yavalath(players=3)")  # seat 0 goes out with a1-a2-a3
    assert State(three).play_line("a1 e1 i9 a2 h4 i6 a3") == State(three).play_line("a1 h4 i9 a3 e1 i6 a2")


@pytest.mark.parametrize("expression", ["yavalath(swap=True)", "yavalath(players=3)"])
def test_laws_of_games(expression: str, compiled_in_soak: bool) -> None:
    check_game(make(expression), games=4 if compiled_in_soak else 1, gpu=False)


@pytest.mark.parametrize(
    ("expression", "message"),
    [("yavalath(players=4)", "from 2 to 3"), ("yavalath(players=3, swap=True)", "only two players can swap")],
)
def test_impossible_parameters_are_refused(expression: str, message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        make(expression)
