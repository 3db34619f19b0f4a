"""Go against OpenSpiel, GNU Go, naive rules that keep whole boards, and positions made for each rule."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from meijin.core import compile as compiling
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, IllegalMove
from meijin.core.game import OVER, Game
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.games._go_board import stones_of
from meijin.games.go import dead_stones, final_score, handicap_cells, margin

START = -1


@contextmanager
def interpreting() -> Iterator[None]:
    """Within the block kernels run as plain Python: compiling a game takes longer than a few moves."""
    before, compiling.JIT = compiling.JIT, False
    try:
        yield
    finally:
        compiling.JIT = before


def step(game: Game) -> Callable[..., tuple[int, int, int]]:
    """Play a move, or START, and look: one kernel a game, because compiling takes longer than playing."""
    start, play, turn, legal, score, draw = game.start, game.play, game.turn, game.legal, game.score, game.sample
    assert draw is not None

    def kernel(states: Any, move: int, rng: Any, moves: Any, scores: Any) -> tuple[int, int, int]:
        s = states[0]
        if move == START:
            start(s)
        else:
            play(s, move)
        score(s, scores)
        if turn(s) == OVER:
            return OVER, 0, -1
        return turn(s), legal(s, moves), draw(s, rng)

    return kernel


class Runner:
    """One record of a game, a kernel call a move."""

    def __init__(self, game: Game, jit: bool | None = None):
        self.states, self._step, self._rng = game.states(1), game.kernel(step, jit), stream(0)
        self._moves, self._scores = np.zeros(game.num_moves, np.int32), np.zeros(2)
        self.play(START)

    def play(self, move: int) -> None:
        turn, n, self.drawn = self._step(self.states, move, self._rng, self._moves, self._scores)
        self.turn, self.legal, self.scores = int(turn), self._moves[:n].tolist(), self._scores.tolist()

    @property
    def record(self) -> Any:
        return self.states[0]


# ---- against OpenSpiel ----

# OpenSpiel forbids only to take a ko straight back. A stone that repeats an earlier position of stones is legal there
# and ends the game as a draw, which is what positional superko forbids: every move that it alone forbids must be such
# a one. Row 1 is the first in OpenSpiel's numbering and the last in ours; the rules know no direction, so equal
# numbers stand for mirrored boards. Its game length is a parameter, set to ours.


@pytest.mark.parametrize(("size", "games"), [(5, 2000), (9, 2000), (19, 300)])
def test_random_games_agree_with_open_spiel(size: int, games: int) -> None:
    pyspiel = pytest.importorskip("pyspiel")
    game = make("go", size=size)
    peer = pyspiel.load_game(f"go(board_size={size},max_game_length={game.longest})")
    ours, forbidden, cut = Runner(game), 0, 0
    for _ in range(games):
        ours.play(START)
        theirs = peer.new_initial_state()
        while not theirs.is_terminal():
            legal = theirs.legal_actions()
            if ours.legal != legal:
                repeating = set(legal) - set(ours.legal)
                assert ours.legal == [move for move in legal if move not in repeating], theirs.history()
                for move in repeating:
                    child = theirs.child(move)
                    assert child.is_terminal(), theirs.history()
                    assert child.returns() == [0.0, 0.0], theirs.history()
                forbidden += len(repeating)
            assert (ours.turn, ours.scores) == (theirs.current_player(), [0.0, 0.0]), theirs.history()
            theirs.apply_action(ours.drawn)
            ours.play(ours.drawn)
        assert (ours.turn, ours.scores) == (OVER, theirs.returns()), theirs.history()
        cut += theirs.move_number() == game.longest
    assert forbidden > 0
    assert cut < games / 50


def test_simple_ko_agrees_with_open_spiel() -> None:
    pyspiel = pytest.importorskip("pyspiel")
    game = make("go(size=4, superko='simple', komi=1)")
    peer = pyspiel.load_game(f"go(board_size=4,komi=1.0,max_game_length={game.longest})")
    ours, repeated, draws = Runner(game), 0, 0
    for _ in range(2000):
        ours.play(START)
        theirs = peer.new_initial_state()
        boards = {bytes(ours.record.color)}
        while True:
            over = theirs.is_terminal()
            repeats = bytes(ours.record.color) in boards and len(boards) > 1 and ours.record.last[0] != 16
            if over and repeats and ours.turn != OVER:  # OpenSpiel's draw by superko
                assert theirs.returns() == [0.0, 0.0]
                repeated += 1
                break
            assert (ours.turn == OVER, ours.legal) == (over, theirs.legal_actions()), theirs.history()
            if over:
                assert ours.scores == theirs.returns() or repeats
                draws += ours.scores == [0.0, 0.0]
                break
            boards.add(bytes(ours.record.color))
            theirs.apply_action(ours.drawn)
            ours.play(ours.drawn)
    assert repeated > 0
    assert draws > 0


def test_a_handicap_game_agrees_with_open_spiel() -> None:
    pyspiel = pytest.importorskip("pyspiel")
    game = make("go", size=19, handicap=5, komi=0.5)
    peer = pyspiel.load_game(f"go(board_size=19,handicap=5,komi=0.5,max_game_length={game.longest})")
    theirs, ours = peer.new_initial_state(), Runner(game)
    names = [theirs.action_to_string(0, action)[2:] for action in range(361)]
    black = [name for name, stone in zip(names, theirs.observation_tensor(0), strict=False) if stone]
    assert {game.board.cells[cell].name for cell in handicap_cells(19, 5)} == set(black)
    action = {move: names.index(move.name) for move in game.moves[:361]} | {361: 361}
    while not theirs.is_terminal():
        assert (ours.turn, sorted(action[m] for m in ours.legal)) == (theirs.current_player(), theirs.legal_actions())
        theirs.apply_action(action[ours.drawn])
        ours.play(ours.drawn)
    assert (ours.turn, ours.scores) == (OVER, theirs.returns())


# ---- against naive rules: whole boards, compared with every earlier one ----

Board = tuple[int, ...]


class Naive:
    def __init__(self, size: int, superko: str, suicide: bool):
        self.size, self.superko, self.suicide = size, superko, suicide
        self.near = [
            [
                y * size + x
                for x, y in ((c - 1, r), (c + 1, r), (c, r - 1), (c, r + 1))
                if 0 <= x < size and 0 <= y < size
            ]
            for r in range(size)
            for c in range(size)
        ]
        self.past: list[tuple[Board, int]] = [((0,) * size**2, 0)]  # with the seat to move
        self.moves: list[int] = []
        self.prisoners = [0, 0]

    @property
    def board(self) -> Board:
        return self.past[-1][0]

    @property
    def turn(self) -> int:
        return OVER if self.moves[-2:] == [self.size**2] * 2 else self.past[-1][1]

    def group(self, board: Board, cell: int) -> tuple[set[int], set[int]]:
        """The group of a stone (or region of an empty cell), and the cells around it."""
        inside, around, waiting = {cell}, set(), [cell]
        while waiting:
            for near in self.near[waiting.pop()]:
                if board[near] != board[cell]:
                    around.add(near)
                elif near not in inside:
                    inside.add(near)
                    waiting.append(near)
        return inside, around

    def after(self, move: int) -> tuple[Board, list[int]] | None:
        """The board after a move and the prisoners made, by seat; None if stones are in its way."""
        seat = self.past[-1][1]
        board, prisoners = list(self.board), [0, 0]
        if move == self.size**2:
            return self.board, prisoners
        if board[move]:
            return None
        board[move] = seat + 1
        for color in (2 - seat, seat + 1):
            for cell in [move, *self.near[move]]:
                if board[cell] == color:
                    group, around = self.group(tuple(board), cell)
                    if not any(board[c] == 0 for c in around):
                        if color == seat + 1 and (not self.suicide or len(group) == 1):
                            return None
                        prisoners[2 - color] += len(group)
                        for c in group:
                            board[c] = 0
        return tuple(board), prisoners

    def legal(self) -> list[int]:
        seat, found = self.past[-1][1], []
        for move in range(self.size**2):
            made = self.after(move)
            if made is None:
                continue
            if self.superko == "positional":
                repeats = any(made[0] == board for board, _ in self.past)
            elif self.superko == "situational":
                repeats = (made[0], 1 - seat) in self.past
            else:  # the ko rule: one stone taken, and the stone that took it could be taken back alone
                repeats = made[1][seat] == 1 and len(self.past) > 1 and made[0] == self.past[-2][0]
            if not repeats:
                found.append(move)
        return [*found, self.size**2]

    def play(self, move: int) -> None:
        made = self.after(move)
        assert made is not None
        self.prisoners = [a + b for a, b in zip(self.prisoners, made[1], strict=True)]
        self.past.append((made[0], 1 - self.past[-1][1]))
        self.moves.append(move)

    def lead(self, by_area: bool) -> int:
        total = 0 if by_area else self.prisoners[0] - self.prisoners[1]
        for cell, color in enumerate(self.board):
            owners = {color} if color else {self.board[c] for c in self.group(self.board, cell)[1]}
            if by_area or not color:
                total += (owners == {1}) - (owners == {2})
        return total


def check_record(game: Game, record: Any, naive: Naive) -> None:
    """Law: everything kept in the record move by move is what the board says."""
    point = stones_of(game).point.tolist()
    colors = [int(record.color[p]) for p in point]
    assert colors == list(naive.board)
    assert record.prisoners.tolist() == naive.prisoners
    empty = record.empty[: record.empties].tolist()
    assert sorted(empty) == [p for p, color in zip(point, colors, strict=True) if not color]
    assert [int(record.spot[p]) for p in empty] == list(range(len(empty)))
    for cell, color in enumerate(colors):
        if color:
            group, around = naive.group(naive.board, cell)
            ring, p = [point[cell]], int(record.next[point[cell]])
            while p != point[cell]:
                ring.append(p)
                p = int(record.next[p])
            head = int(record.head[point[cell]])
            assert sorted(ring) == sorted(point[c] for c in group)
            assert {int(record.head[p]) for p in ring} == {head}
            pairs = sum(naive.board[near] == 0 for c in group for near in naive.near[c])
            assert record.libs[head] == pairs
            with np.errstate(over="ignore"):
                counted = stones_of(game).liberties(record, np.uint64(head))
            assert counted == min(3, sum(naive.board[c] == 0 for c in around))


@pytest.mark.parametrize(
    ("expression", "games", "jit"),  # what is not compiled here is compiled above
    [
        ("go(size=2)", 100, False),
        ("go(size=3, superko='situational', suicide=True)", 40, False),
        pytest.param("go(size=3, superko='situational', suicide=True)", 150, True, marks=pytest.mark.soak),
        ("go(size=3, superko='simple', suicide=True, scoring='territory', komi=0)", 60, False),
        ("go(size=4, suicide=True, komi=1)", 15, False),
        pytest.param("go(size=4, suicide=True, komi=1)", 60, True, marks=pytest.mark.soak),
        ("go(size=5, superko='situational', scoring='territory', komi=0.5)", 10, False),
        ("go(size=12, scoring='territory')", 1, False),
    ],
)
def test_random_games_agree_with_naive_rules(expression: str, games: int, jit: bool) -> None:
    game = make(expression)
    params = game.params
    ours, hashes = Runner(game, jit and compiling.JIT), dict[Board, int]()
    for _ in range(games):
        ours.play(START)
        naive = Naive(params["size"], params["superko"], params["suicide"])
        while naive.turn != OVER and ours.turn != OVER:
            if params["size"] < 12 or len(naive.moves) % 10 == 0:
                assert (ours.turn, ours.legal) == (naive.turn, naive.legal()), naive.moves
                check_record(game, ours.record, naive)
            assert hashes.setdefault(naive.board, int(ours.record.hash)) == ours.record.hash
            move = ours.drawn
            ours.play(move)
            naive.play(move)
        assert ours.turn == OVER
        assert naive.turn == OVER or len(naive.moves) == game.longest
        lead = naive.lead(params["scoring"] == "area") - params["komi"]
        assert ours.scores == [np.sign(lead), -np.sign(lead)], naive.moves
        with interpreting():
            assert margin(State(game, ours.record)) == lead
    assert len(set(hashes.values())) == len(hashes)


# ---- each rule ----


@pytest.fixture
def interpreted() -> Iterator[None]:
    with interpreting():
        yield


slowly = pytest.mark.usefixtures("interpreted")


def picture(game: str, *rows: str) -> State:
    """A position of these rows, top first, made by playing the stones and passing; black is to move."""
    with interpreting():
        state = State(make(game))
    cells = "".join(rows).replace(" ", "")
    black, white = ([i for i, c in enumerate(cells) if c == color] for color in "XO")
    with interpreting():
        while black or white:
            for stones in (black, white):
                state.play(stones.pop() if stones else "pass")
    return state


def names(state: State) -> set[str]:
    return {move.name for move in state.legal_moves}


def stones_left(state: State) -> str:
    return "".join(".XO"[value] for value in state.cells)


@slowly
def test_ko_may_not_be_taken_straight_back() -> None:
    for superko in ("simple", "positional", "situational"):
        rows = (". . . . .", ". X O . .", "X O . O .", ". X O . .", ". . . . .")
        state = picture(f"go(size=5, superko='{superko}')", *rows)
        state.play("c3")
        assert state.record.prisoners.tolist() == [1, 0]
        with pytest.raises(IllegalMove, match="'b3' is not legal here"):
            state.play("b3")
        state.play_line("e5 a1")
        assert "b3" in names(state)
        state.play("b3")
        assert "c3" not in names(state)


@slowly
def test_sending_two_returning_one() -> None:
    """Black's last move makes an earlier board with the other seat to move: only positional superko forbids it."""
    rows = (". . . . O", ". . . . .", ". . . . .", "O O X . .", ". X . X .")  # as many stones each: nobody has passed
    for superko, may in (("simple", True), ("situational", True), ("positional", False)):
        state = picture(f"go(size=5, superko='{superko}')", *rows)
        before = stones_left(state)
        state.play_line("a1 c1")
        assert ("b1" in names(state)) == may, superko
        if may:
            state.play("b1")
            assert stones_left(state) == before
            state.play("pass")  # now the seat to move is the same, too
            assert ("a1" in names(state)) == (superko == "simple")


@slowly
def test_triple_ko() -> None:
    """Six moves come back to the same board and seat: both kinds of superko forbid the sixth."""
    rows = [
        "X O . O . . . . .",
        ". X O . . . . . .",
        *[". . . . . . . . ."] * 5,
        ". X O . . . X O .",
        "X . X O . X O . O",
    ]
    for superko, may in (("simple", True), ("situational", False), ("positional", False)):
        state = picture(f"go(superko='{superko}')", *rows)
        before = stones_left(state)
        state.play_line("c9 b1 h1 b9 c1")
        assert ("g1" in names(state)) == may
        if may:
            assert stones_left(state.play("g1")) == before
            assert state.turn == 0


@slowly
def test_cycles_of_simple_ko_end_at_the_longest_game() -> None:
    rows = (". . . . .", ". . . . .", ". . . . .", "O O X . .", ". X . X .")
    state = picture("go(size=5, superko='simple')", *rows)
    line = ["a1", "c1", "b1", "pass"]
    while not state.is_over:
        state.play(line[0])
        line = [*line[1:], line[0]]
    assert len(state.history) == state.game.longest
    assert state.scores == (float(np.sign(margin(state))), -float(np.sign(margin(state))))


@slowly
def test_suicide() -> None:
    rows = (". . . . .", ". . . . .", "O O . . .", "X X O . .", ". X O . .")
    state = picture("go(size=5)", *rows)
    assert "a1" not in names(state)
    state = picture("go(size=5, suicide=True)", *rows).play("a1")
    assert stones_left(state).count("X") == 0
    assert state.record.prisoners.tolist() == [0, 4]
    assert "a1" in names(state)  # white may fill what it won
    single = (". . . . .", ". . . . .", ". . . . .", "O O . . .", ". O . . .")
    for superko in ("simple", "positional", "situational"):
        assert "a1" not in names(picture(f"go(size=5, superko='{superko}', suicide=True)", *single))


@slowly
def test_filling_the_last_liberty_is_no_suicide_if_it_takes_stones() -> None:
    rows = (". . . . .", "X X . . .", "O O X . .", "X O X . .", ". O X . .")
    state = picture("go(size=5)", *rows)
    assert "a1" in names(state)
    assert stones_left(state.play("a1")).count("O") == 0


@slowly
def test_snapback() -> None:
    rows = (". . . . .", ". . . . .", "X X X . .", "O O O X .", ". . O X .")
    state = picture("go(size=5)", *rows)
    state.play_line("b1 a1 b1")  # black throws a stone in, white takes it, black takes all
    assert stones_left(state).count("O") == 0
    assert state.record.prisoners.tolist() == [5, 1]


@slowly
def test_one_stone_takes_four_groups() -> None:
    rows = (". . X . .", ". X O X .", "X O . O X", ". X O X .", ". . X . .")
    state = picture("go(size=5)", *rows).play("c3")
    assert state.record.prisoners.tolist() == [4, 0]
    assert stones_left(state) == "..X...X.X.X.X.X.X.X...X.."


def finish(state: State) -> State:
    return state.play("pass").play("pass") if state.history[-1:] != (state.game.moves[-1],) else state.play("pass")


@slowly
def test_neutral_points_and_both_ways_to_count() -> None:
    rows = (". X . O .", ". X . O .", ". X . O .", ". X X O .", ". X O O .")
    for scoring, expected in (("area", -0.5), ("territory", -0.5)):
        state = finish(picture(f"go(size=5, komi=0.5, scoring='{scoring}')", *rows))
        assert (state.is_over, margin(state), state.scores) == (True, expected, (-1.0, 1.0))


@slowly
def test_territory_counts_prisoners() -> None:
    rows = (". X O . .", ". X O . .", ". X O . .", ". X O . .", "O X O . .")
    area = picture("go(size=5, komi=0.5)", *rows).play("a2")
    territory = picture("go(size=5, komi=0.5, scoring='territory')", *rows).play("a2")
    assert territory.record.prisoners.tolist() == [1, 0]
    assert margin(area) == 10 - 15 - 0.5
    assert margin(territory) == 4 - 10 + 1 - 0.5


@slowly
def test_seki_counts_stones_and_eyes_by_area() -> None:
    # In the lower two rows black has the eye a1, white the eye e1; who fills c1 between them is taken.
    rows = (". O . X .", "O O O X X", "O O O X X", "X X X O O", ". X . O .")
    state = picture("go(size=5, komi=0)", *rows)
    assert margin(state) == (9 + 2) - (10 + 2)
    assert margin(picture("go(size=5, komi=0, scoring='territory')", *rows)) == 2 - 2
    assert state.copy().play_line("c1 a1").record.prisoners.tolist() == [0, 5]
    assert state.copy().play_line("pass c1 e1").record.prisoners.tolist() == [4, 0]


@slowly
def test_a_whole_komi_can_draw() -> None:
    rows = [". . . . . . . . .", ". . . . . . . . .", ". . . . . . . . .", "O O O O O O O O O", "X X X X X X X X O"]
    rows += ["X X X X X X X X X", ". . . . . . . . .", ". . . . . . . . .", ". . . . . . . . ."]
    state = finish(picture("go(komi=7)", *rows))
    assert (state.turn, state.scores, margin(state)) == (OVER, (0.0, 0.0), 0.0)
    assert finish(picture("go(komi=6.5)", *rows)).scores == (1.0, -1.0)
    assert finish(picture("go(komi=7.5)", *rows)).scores == (-1.0, 1.0)


@slowly
def test_passes() -> None:
    state = State(make("go(size=5)"))
    assert state.game.moves[25].name == "pass"
    assert state.game.paths[25] == ("pass",)
    state.play_line("pass c3 pass b2 pass")
    assert not state.is_over
    assert state.play("pass").is_over
    assert State(state.game).play_line("pass pass").scores == (-1.0, 1.0)


@slowly
def test_names_of_points() -> None:
    state = State(make("go(size=19)")).play_line("a1 t19 j10")
    assert [state.cells[i] for i in (18 * 19, 18, 9 * 19 + 8)] == [1, 2, 1]
    with pytest.raises(IllegalMove, match="'i5' is not a move"):
        state.play("i5")


@slowly
def test_handicap() -> None:
    expected = {
        (9, 2): "c3 g7",
        (9, 5): "c3 g7 c7 g3 e5",
        (13, 4): "d4 k10 d10 k4",
        (19, 3): "d4 q16 d16",
        (19, 6): "d4 q16 d16 q4 d10 q10",
        (19, 7): "d4 q16 d16 q4 d10 q10 k10",
        (19, 8): "d4 q16 d16 q4 d10 q10 k4 k16",
        (13, 9): "d4 k10 d10 k4 d7 k7 g4 g10 g7",
    }
    for (size, handicap), points in expected.items():
        state = State(make("go", size=size, handicap=handicap, komi=0.5))
        cells = state.game.board.cells
        assert [cells[cell].name for cell in handicap_cells(size, handicap)] == points.split()
        assert {cells[i].name for i, value in enumerate(state.cells) if value} == set(points.split())
        assert state.turn == 1
        assert margin(state) == size**2 - handicap - 0.5  # a point for white for each stone
    territory = State(make("go(handicap=2, scoring='territory', komi=0.5)"))
    assert margin(territory) == 81 - 2 - 0.5
    assert territory.play_line("e5 a1 pass pass").scores == (-1.0, 1.0)


@slowly
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("size=1", "size=1: choose a whole number from 2 to 19"),
        ("komi=0.3", "komi=0.3: give a multiple of 0.5"),
        ("superko='natural'", "superko='natural': choose one of 'simple', 'positional', 'situational'"),
        ("scoring='stones'", "scoring='stones': choose one of 'area', 'territory'"),
        ("handicap=1", "handicap=1 on size=9: give 2 to 9 stones on 9, 13 or 19, or 0 with another komi"),
        ("size=7, handicap=2", "handicap=2 on size=7: give 2 to 9 stones"),
    ],
)
def test_bad_parameters(parameters: str, message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        make(f"go({parameters})")


@slowly
def test_planes() -> None:
    rows = ("X . . . .", "O . . . .", ". . X X .", ". . O . .", ". . . . .")
    state = picture("go(size=5)", *rows).play("a3")  # takes a4's liberty but one; white is to move
    planes = dict(enumerate(state.planes))
    at = state.game.board.index

    def marked(plane: int) -> set[str]:
        return {state.game.board.cells[i].name for i in np.flatnonzero(planes[plane])}

    assert marked(0) == {"a4", "c2"}
    assert marked(1) == {"a5", "a3", "c3", "d3"}
    assert [marked(k) for k in (2, 3, 4)] == [{"a4"}, set(), {"c2"}]
    assert [marked(k) for k in (5, 6, 7)] == [{"a5"}, {"a3"}, {"c3", "d3"}]
    assert marked(8) == {"a3"}
    assert marked(9) == set()  # white had passed
    assert marked(10) == set()
    assert (planes[11] == 0).all()
    assert (planes[12] == 0).all()
    assert (planes[13] == 1).all()
    assert np.allclose(planes[14], 0.75)
    state.play("pass")
    assert np.flatnonzero(state.planes[9]).tolist() == [at("a3")]
    assert (state.planes[8] == 0).all()
    assert (state.planes[11] == 1).all()
    assert np.allclose(state.planes[14], -0.75)
    eyes = picture("go(size=5)", ". X . . .", "X X . . .", ". . . . .", ". . . . .", ". . . . .").play("e1")
    assert set(np.flatnonzero(eyes.planes[10])) == {at("a5")}


# ---- dead stones ----


def test_dead_stones_are_found_and_counted() -> None:
    rows = [". . X O . . ."] * 7
    rows[2] = "O . X O . X ."
    for scoring, after in (("area", 21 - 28), ("territory", 14 + 1 - 21 - 1)):
        state = picture(f"go(size=7, komi=0, scoring='{scoring}')", *rows)
        dead = dead_stones(state, playouts=400, seed=1)
        assert {state.game.board.cells[cell].name for cell in dead} == {"a5", "f5"}
        assert final_score(state, dead) == after
        with pytest.raises(BadParameter, match="dead=0: there is no stone"):
            final_score(state, [0])


def test_living_stones_are_not_dead() -> None:
    rows = [". X . X . O .", "X X X X X O O", "O O O O O O .", ". O . . . O O"]
    rows += ["O O O O O O .", "X X X X X O O", ". X . X . X O"]
    state = picture("go(size=7, komi=0)", *rows)
    assert dead_stones(state, playouts=300) == ()
    state.record.ply = state.game.longest  # a game that has used up its plies is judged all the same
    assert dead_stones(state, playouts=300) == ()


# ---- against GNU Go ----


def sensible_game(game: Game) -> Callable[..., int]:
    """Random play that fills no eyes, until neither side has another move."""
    on, start, play, turn = stones_of(game), game.start, game.play, game.turn
    draw, cell = on.draw_sensible, on.cell

    def kernel(states: Any, rng: Any, moves: Any) -> int:
        s = states[0]
        start(s)
        n = 0
        while turn(s) != OVER:
            move = cell[draw(s, turn(s) + 1, rng)]
            moves[n] = move
            n += 1
            play(s, move)
        return n

    return kernel


@pytest.fixture
def gnugo() -> Iterator[Callable[[str], str]]:
    path = shutil.which("gnugo") or shutil.which("gnugo", path="/usr/games")
    if path is None:
        pytest.skip("needs GNU Go: apt-get install gnugo")
    program = subprocess.Popen(
        [path, "--mode", "gtp", "--chinese-rules", "--level", "1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert program.stdin and program.stdout

    def ask(commands: str) -> str:
        assert program.stdin and program.stdout
        program.stdin.write(commands + "\n")
        program.stdin.flush()
        answer = ""
        for _ in commands.splitlines():
            answer = program.stdout.readline().strip()
            assert answer.startswith("="), (answer, commands)
            assert program.stdout.readline() == "\n"
        return answer[1:].strip()

    yield ask
    program.stdin.close()
    program.wait()


def test_scores_of_finished_games_agree_with_gnu_go(gnugo: Callable[[str], str]) -> None:
    game = make("go(komi=7)")
    kernel, states, rng, moves = game.kernel(sensible_game), game.states(1), stream(7), np.zeros(game.longest, np.int32)
    seen = 0
    while seen < 100:
        n = kernel(states, rng, moves)
        if n == game.longest:
            continue
        colors = ("black", "white")
        plays = [f"play {colors[i % 2]} {game.moves[m].name}" for i, m in enumerate(moves[:n].tolist())]
        answer = gnugo("\n".join(["boardsize 9", "clear_board", "komi 7", *plays, "final_score"]))
        lead = margin(State(game, states[0]))
        expected = "0" if lead == 0 else f"{'B' if lead > 0 else 'W'}+{abs(lead):.1f}"
        assert answer == expected, " ".join(plays)
        seen += 1
