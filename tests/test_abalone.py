"""Abalone against abalone-boai, published counts, and positions made for each rule."""

from __future__ import annotations

import functools
import os
import random
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from meijin.core import kernels
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, IllegalMove
from meijin.core.game import OVER, Game, Symmetry
from meijin.core.state import State
from meijin.games import _abalone_tables as tables
from meijin.games.abalone import BRANCHING, from_aichholzer, noisy, to_aichholzer

LAYOUTS = ("standard", "belgian_daisy", "german_daisy")
PERFT = {"standard": [44, 1936, 98912], "belgian_daisy": [52, 2692, 149322]}

#: Games against abalone-boai, which takes about half a second for each.
GAMES = int(os.environ.get("MEIJIN_ABALONE_GAMES", "12"))


def setup(black: str, white: str = "", *, seat: int = 0, game: Game | None = None) -> State:
    """A position with marbles on the named cells, the seat to move."""
    state = State(game or make("abalone"))
    for owner, cells in enumerate((black, white)):
        state.record.marbles[owner] = tables.cell_set([state.game.board.index(cell) for cell in cells.split()])
    state.record.ply = seat
    return State(state.game, state.record)


def marbles(state: State, seat: int) -> set[str]:
    return {state.game.board.cells[i].name for i, value in enumerate(state.cells) if value == seat + 1}


def names(state: State) -> set[str]:
    return {move.name for move in state.legal_moves}


def image(state: State, symmetry: Symmetry) -> State:
    """The position with every marble where the symmetry takes it."""
    other = State(state.game, state.record)
    for seat in (0, 1):
        cells = [symmetry.cells[i] for i, value in enumerate(state.cells) if value == seat + 1]
        other.record.marbles[seat] = tables.cell_set(cells)
    return State(state.game, other.record)


def lively_game(game: Game, rng: random.Random) -> Iterator[tuple[State, int]]:
    """The positions of a random game and the move made in each; half the time a push, so that marbles fall."""
    state = State(game)
    while not state.is_over:
        moves: Any = state.legal_moves
        if rng.random() < 0.5:
            moves = [m for m in moves if noisy(state.record, m)] or moves
        move = rng.choice(moves)
        yield state, move
        state.play(move)
    yield state, -1


# ---- counts and other programs ----


@pytest.mark.parametrize("layout", PERFT)
def test_perft(layout: str) -> None:
    game = make("abalone", layout=layout)
    depth = len(PERFT[layout])
    states = game.states(depth + 1)
    moves, probs = np.zeros((depth, BRANCHING), np.int32), kernels.buffers(game)[1]
    counts, nexts = np.zeros(depth, np.int64), np.zeros(depth, np.int64)
    game.kernel(kernels.start)(states, 0)
    perft = game.kernel(kernels.perft)
    assert [perft(states, d, moves, probs, counts, nexts) for d in range(1, depth + 1)] == PERFT[layout]


class Peer:
    """A game of abalone-boai. Legal moves are found by trying, as it does itself, but without its deep copies."""

    def __init__(self, layout: str):
        self._enums = pytest.importorskip("abalone.enums", reason="needs pip install abalone-boai")
        self._module = pytest.importorskip("abalone.game")
        for name in ("neighbor", "line_from_to", "line_to_edge"):  # pure functions of a few arguments
            if not hasattr(getattr(self._module, name), "cache_info"):
                setattr(self._module, name, functools.cache(getattr(self._module, name)))
        start = "DEFAULT" if layout == "standard" else layout.upper()
        self._game = self._module.Game(self._enums.InitialPosition[start])

    def legal(self) -> dict[str, Any]:
        """Name -> arguments of `play`."""
        found = {}
        before = self._game.board
        for line in self._game.generate_own_marble_lines():
            ends = line if isinstance(line, tuple) else (line,)
            for direction in self._enums.Direction:
                self._game.board = [row[:] for row in before]
                try:
                    self._game.move(line, direction)
                except self._module.IllegalMoveException:
                    continue
                finally:
                    self._game.board = before
                where = "".join(word[0] for word in direction.value.split("-")).upper()
                found["".join(end.name for end in ends) + where] = (line, direction)
        return found

    def play(self, arguments: Any) -> None:
        self._game.move(*arguments)
        self._game.switch_player()

    @property
    def seat(self) -> int:
        return 0 if self._game.turn is self._enums.Player.BLACK else 1

    @property
    def cells(self) -> list[int]:
        return [{0: 0, 1: 1, -1: 2}[marble.value] for row in self._game.board for marble in row]

    @property
    def taken(self) -> list[int]:
        black, white = self._game.get_score()
        return [14 - white, 14 - black]


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_random_games_agree_with_abalone_boai(layout: str) -> None:
    game, rng = make("abalone", layout=layout), random.Random(layout)
    fallen = 0
    for number in range(-(-GAMES // len(LAYOUTS))):
        ours, theirs = State(game), Peer(layout)
        while not ours.is_over:
            legal = theirs.legal()
            assert names(ours) == legal.keys(), ours.text
            assert ours.turn == theirs.seat
            choice: Any = ours.legal_moves
            if number % 2 and rng.random() < 0.5:
                choice = [m for m in choice if noisy(ours.record, m)] or choice
            move = rng.choice(choice)
            ours.play(move)
            theirs.play(legal[move.name])
            assert list(ours.cells) == theirs.cells, ours.text
            assert ours.record.taken.tolist() == theirs.taken, ours.text
        fallen += sum(theirs.taken)
    assert fallen > 0


# ---- inline moves and sumito, in every direction ----

#: black, white, the move, and then: None if it is blocked, or black and white afterwards and how many were pushed off
SUMITO = {
    "one steps": ("e4", "", "E4E", ("e5", "", 0)),
    "two step": ("e3 e4", "", "E3E", ("e4 e5", "", 0)),
    "three step": ("e2 e3 e4", "", "E2E", ("e3 e4 e5", "", 0)),
    "four are too many": ("e1 e2 e3 e4", "", "E1E", None),
    "the front three of four": ("e1 e2 e3 e4", "", "E2E", ("e1 e3 e4 e5", "", 0)),
    "the front one of two": ("e3 e4", "", "E4E", ("e3 e5", "", 0)),
    "off the board": ("e9", "", "E8E", None),
    "two off the board": ("e8 e9", "", "E8E", None),
    "1 v 1": ("e4", "e5", "E4E", None),
    "2 v 1": ("e3 e4", "e5", "E3E", ("e4 e5", "e6", 0)),
    "2 v 1, the front alone": ("e3 e4", "e5", "E4E", None),
    "3 v 1": ("e2 e3 e4", "e5", "E2E", ("e3 e4 e5", "e6", 0)),
    "3 v 1, the front two": ("e2 e3 e4", "e5", "E3E", ("e2 e4 e5", "e6", 0)),
    "3 v 2": ("e2 e3 e4", "e5 e6", "E2E", ("e3 e4 e5", "e6 e7", 0)),
    "3 v 2, the front two": ("e2 e3 e4", "e5 e6", "E3E", None),
    "2 v 2": ("e3 e4", "e5 e6", "E3E", None),
    "3 v 3": ("e2 e3 e4", "e5 e6 e7", "E2E", None),
    "4 v 3": ("e1 e2 e3 e4", "e5 e6 e7", "E1E", None),
    "4 v 3, the front three": ("e1 e2 e3 e4", "e5 e6 e7", "E2E", None),
    "4 v 1": ("e1 e2 e3 e4", "e5", "E1E", None),
    "2 v 1, own marble behind": ("e3 e4 e6", "e5", "E3E", None),
    "3 v 1, own marble behind": ("e2 e3 e4 e6", "e5", "E2E", None),
    "3 v 2, own marble behind": ("e2 e3 e4 e7", "e5 e6", "E2E", None),
    "2 v 1, a gap before it": ("e3 e4", "e6", "E3E", ("e4 e5", "e6", 0)),
    "2 v 1, a gap behind it": ("e3 e4", "e5 e7", "E3E", ("e4 e5", "e6 e7", 0)),
    "3 v 2, a gap behind them": ("e2 e3 e4", "e5 e6 e8", "E2E", ("e3 e4 e5", "e6 e7 e8", 0)),
    "a gap among the pushers": ("e2 e4", "e5", "E2E", ("e3 e4", "e5", 0)),
    "1 v 1 at the edge": ("e8", "e9", "E8E", None),
    "2 v 1 at the edge": ("e7 e8", "e9", "E7E", ("e8 e9", "", 1)),
    "3 v 1 at the edge": ("e6 e7 e8", "e9", "E6E", ("e7 e8 e9", "", 1)),
    "3 v 2 at the edge": ("e5 e6 e7", "e8 e9", "E5E", ("e6 e7 e8", "e9", 1)),
    "2 v 2 at the edge": ("e6 e7", "e8 e9", "E6E", None),
    "3 v 3 at the edge": ("e4 e5 e6", "e7 e8 e9", "E4E", None),
    "2 v 1, one step from the edge": ("e6 e7", "e8", "E6E", ("e7 e8", "e9", 0)),
    "2 v 1 along the edge into the corner": ("a3 a4", "a5", "A3E", ("a4 a5", "", 1)),
    "somebody else's marble": ("a1", "e5", "E5E", None),
    "an empty cell": ("a1", "e6", "E5E", None),
}


@pytest.mark.parametrize("case", SUMITO)
def test_sumito(case: str) -> None:
    black, white, name, expected = SUMITO[case]
    spare = " i5"  # so that white is never without a move
    game = make("abalone")
    base = setup(black, white + spare)
    for symmetry in game.symmetries:
        state = image(base, symmetry)
        move = symmetry.moves[game.find(name)]
        if expected is None:
            assert move not in state.legal_moves
            continue
        before = marbles(state, 1)
        pushed = noisy(state.record, move)
        state.play(move)
        after = image(setup(expected[0], expected[1] + spare), symmetry)
        assert (marbles(state, 0), marbles(state, 1)) == (marbles(after, 0), marbles(after, 1))
        assert state.record.taken.tolist() == [expected[2], 0]
        assert pushed == (before != marbles(state, 1))
        assert state.turn == 1


# ---- broadside moves ----

BROADSIDE = {
    "two": ("c3 c4", "", "C3C4NE", "d4 d5"),
    "three": ("c3 c4 c5", "", "C3C5NE", "d4 d5 d6"),
    "two of three": ("c3 c4 c5", "", "C4C5NE", "c3 d5 d6"),
    "three along NE": ("c3 d4 e5", "", "C3E5E", "c4 d5 e6"),
    "three along NW": ("c3 d3 e3", "", "C3E3SW", "b2 c2 d2"),
    "an opponent in the way": ("c3 c4 c5", "d5", "C3C5NE", None),
    "an opponent in the way of the last": ("c3 c4", "d5", "C3C4NE", None),
    "an own marble in the way": ("c3 c4 c5 d4", "", "C3C5NE", None),
    "no push even at the edge": ("h7 h8", "i7", "H7H8NW", None),
    "off the board": ("i5 i6", "", "I5I6NW", None),
    "one of them off the board": ("f2 g3", "", "F2G3W", None),
    "a gap in the line": ("c3 c5", "", "C3C5NE", None),
    "an opponent in the line": ("c3 c5", "c4", "C3C5NE", None),
}


@pytest.mark.parametrize("case", BROADSIDE)
def test_broadside(case: str) -> None:
    black, white, name, expected = BROADSIDE[case]
    game = make("abalone")
    base = setup(black, white + " a5")
    for symmetry in game.symmetries:
        state = image(base, symmetry)
        move = symmetry.moves[game.find(name)]
        if expected is None:
            assert move not in state.legal_moves
        else:
            assert not noisy(state.record, move)
            assert marbles(state.play(move), 0) == marbles(image(setup(expected, "a5"), symmetry), 0)
            assert state.record.taken.tolist() == [0, 0]


def test_all_moves_of_one_line() -> None:
    assert names(setup("e5 e6")) == (
        {f"E5{d}" for d in ("NE", "SE", "SW", "W", "NW", "E")}
        | {f"E6{d}" for d in ("NE", "SE", "SW", "W", "NW", "E")}
        | {f"E5E6{d}" for d in ("NE", "SE", "SW", "NW")}
    )


# ---- the end ----


def test_the_sixth_marble_wins_whatever_was_lost() -> None:
    state = setup("e7 e8", "e9 a1")
    state.record.taken[:] = 5
    state = State(state.game, state.record)
    assert state.scores == (0.0, 0.0)
    state.play("E7E")
    assert (state.turn, state.scores) == (OVER, (1.0, -1.0))
    state = setup("e9 a1", "e7 e8", seat=1)
    state.record.taken[:] = 0, 5
    assert State(state.game, state.record).play("E7E").scores == (-1.0, 1.0)


@pytest.mark.parametrize(
    ("taken", "move", "scores"),
    [
        ((2, 1), "E1NE", (1 / 6, -1 / 6)),
        ((0, 4), "E1NE", (-4 / 6, 4 / 6)),
        ((3, 3), "E1NE", (0.0, 0.0)),
        ((2, 3), "E7E", (0.0, 0.0)),  # the last ply counts
        ((5, 5), "E7E", (1.0, -1.0)),  # and wins
    ],
)
def test_after_the_last_ply_marbles_are_counted(taken: tuple[int, int], move: str, scores: tuple[float, float]) -> None:
    for ply, over in ((196, max(taken) == 5), (198, True)):
        state = setup("e1 e7 e8", "e9 a1", game=make("abalone(max_plies=199)"))
        state.record.taken[:] = taken
        state.record.ply = ply
        state = State(state.game, state.record).play(move)
        assert state.is_over == over
        assert state.scores == pytest.approx(scores)


@pytest.mark.parametrize(("taken", "score"), [((2, 1), 1.0), ((0, 4), -1.0), ((3, 3), 0.0)])
def test_after_the_last_ply_the_majority_may_win(taken: tuple[int, int], score: float) -> None:
    state = setup("e1 e7 e8", "e9 a1", game=make("abalone(max_plies=199, at_limit='majority')"))
    state.record.taken[:] = taken
    state.record.ply = 198
    before = State(state.game, state.record)
    assert before.scores == pytest.approx(((taken[0] - taken[1]) / 6, (taken[1] - taken[0]) / 6))  # still under way
    state = before.play("E1NE")
    assert state.is_over and state.scores == (score, -score)


def test_what_was_learned_in_one_layout_plays_the_others() -> None:
    assert make("abalone(layout='german_daisy', max_plies=60)").alike(make("abalone"))


def test_games_are_as_long_as_asked() -> None:
    state, rng = State(make("abalone(max_plies=7)")), random.Random(1)
    while not state.is_over:
        state.play(rng.choice(state.legal_moves))
    assert len(state.history) == 7


def test_a_seat_without_a_move_loses() -> None:
    state = setup("a1", "a2 b1 c2", seat=1)
    state.play("C2SE")  # b2: black's only marble is locked in the corner
    assert marbles(state, 0) == {"a1"}
    assert (state.turn, state.scores) == (OVER, (-1.0, 1.0))
    state = setup("a2 b1 c2", "a1")
    assert state.play("C2SE").scores == (1.0, -1.0)


def test_a_seat_that_can_only_push_is_not_without_a_move() -> None:
    around = "a2 b1 b3 c2 c3"
    state = setup("a1 b2", f"{around} i9", seat=1).play("I9W")
    assert names(state) == {"A1NE"}
    state = setup("a1 b2", f"{around} d4 i9", seat=1).play("I9W")
    assert (state.turn, state.scores) == (OVER, (-1.0, 1.0))


# ---- the table of moves ----


def test_the_table_is_a_bijection_of_1452_names() -> None:
    game = make("abalone")
    assert game.num_moves == len({move.name for move in game.moves}) == 1452
    pattern = re.compile(r"([A-I][1-9]){1,2}(NE|E|SE|SW|W|NW)")
    for move in game.moves:
        assert pattern.fullmatch(move.name)
        assert game.find(move.name) == move
        assert game.find(move.name.lower()) == move
    assert sum(entry.kind == 0 for entry in tables.ENTRIES) == 312
    for entry in tables.ENTRIES:
        ends = [game.board.cells[i].name for i in (entry.first, entry.last)]
        assert entry.kind == 0 or ends == sorted(ends)  # ordered by row, then by diagonal


def test_1272_of_them_can_be_legal_and_180_leave_the_board() -> None:
    game = make("abalone")
    legal = {
        move
        for move in game.moves
        if move in setup(" ".join(game.board.cells[i].name for i in tables.ENTRIES[move].marbles)).legal_moves
    }
    assert len(legal) == 1272
    assert legal == {move for move in game.moves if tables.ENTRIES[move].possible}


def test_tables_fit_in_constant_memory() -> None:
    used = (tables.BIT, tables.RIGHT, tables.LEFT, tables.INNER, tables.AXES, tables.BEYOND, tables.LINE, tables.NUMBER)
    assert sum(table.nbytes for table in used) < 48_000


def test_most_moves_known_in_a_position() -> None:
    """Found by simulated annealing; `branching` is proven, and somewhat larger."""
    state = setup("b2 b3 b4 b5 d2 d4 e3 e5 f4 f6 g5 g7 h6 h8")
    assert len(state.legal_moves) == 150 <= BRANCHING


# ---- symmetries ----


@pytest.mark.parametrize("layout", LAYOUTS)
def test_twelve_symmetries(layout: str) -> None:
    """Most of them change the start, so images of positions are made here instead of played."""
    game, rng = make("abalone", layout=layout), random.Random(2)
    assert len(game.symmetries) == 12
    for state, move in lively_game(game, rng):
        for symmetry in game.symmetries:
            mirrored = image(state, symmetry)
            assert tuple(mirrored.cells[i] for i in symmetry.cells) == state.cells
            assert (mirrored.turn, mirrored.scores) == (state.turn, state.scores)
            assert sorted(symmetry.moves[m] for m in state.legal_moves) == list(mirrored.legal_moves)
            if move >= 0:
                mirrored.play(symmetry.moves[move])
                after = State(game, state.record).play(move)
                assert tuple(mirrored.cells[i] for i in symmetry.cells) == after.cells
                assert (mirrored.turn, mirrored.scores) == (after.turn, after.scores)
                assert mirrored.record.taken.tolist() == after.record.taken.tolist()


def test_a_symmetry_permutes_all_moves_and_keeps_impossible_ones_impossible() -> None:
    game = make("abalone")
    for symmetry in game.symmetries:
        assert sorted(symmetry.moves) == list(range(1452))
        for entry, target in zip(tables.ENTRIES, symmetry.moves, strict=True):
            other = tables.ENTRIES[target]
            assert entry.possible == other.possible
            if entry.possible:  # the others have no path: they are never legal, and stay put
                assert {symmetry.cells[i] for i in entry.marbles} == set(other.marbles)


# ---- notations, and what else people and nets see ----


def test_aichholzer_round_trip() -> None:
    for state, _ in lively_game(make("abalone(layout='belgian_daisy', max_plies=60)"), random.Random(3)):
        written = [to_aichholzer(move) for move in state.legal_moves]
        assert len(set(written)) == len(written)
        assert [from_aichholzer(state, text) for text in written] == list(state.legal_moves)


def test_aichholzer_as_people_write_it() -> None:
    state = State(make("abalone"))
    assert to_aichholzer(state.game.find("A1NE")) == "A1B2"
    assert to_aichholzer(state.game.find("C3C5NE")) == "C3C5D4"
    for text in ("A1B2", "a1-b2", " a1 b2 "):
        assert from_aichholzer(state, text).name == "A1NE"
    for text in ("C3C5D4", "c3-c5-d4", "C5C3D6"):  # a line may be named from either end
        assert from_aichholzer(state, text).name == "C3C5NE"
    for text, message in (("A1", "not two or three cells"), ("A1NE", "not two or three"), ("E5E6", "legal: ")):
        with pytest.raises(IllegalMove, match=message):
            from_aichholzer(state, text)
    with pytest.raises(IllegalMove, match="leaves the board"):
        to_aichholzer(state.game.find("I5I6NW"))


def test_planes_are_the_movers_view() -> None:
    state = setup("a1 a2", "i9", seat=1)
    state.record.taken[:] = 3, 1
    state.record.ply = 51
    own, other, taken, lost, over = State(state.game, state.record).planes
    assert (own.sum(), own[state.game.board.index("i9")], other.sum()) == (1, 1, 2)
    for plane, value in ((taken, 1 / 6), (lost, 3 / 6), (over, 51 / 200)):
        assert plane == pytest.approx(np.full(61, value))


def estimate(state: State) -> float:
    out = np.zeros(2)
    state.game.kernel(kernels.heuristic)(state.records, 0, out)
    assert -1.0 <= out[0] == -out[1] <= 1.0
    return float(out[0])


def test_heuristic_knows_what_matters() -> None:
    for layout in LAYOUTS:
        assert estimate(State(make("abalone", layout=layout))) == 0.0
    assert estimate(setup("e5", "a1")) > estimate(setup("d4", "a1")) > 0.0  # the centre
    assert estimate(setup("d4 d5", "f5 e3")) > 0.0  # adjacency
    assert estimate(setup("e5", "e4 e6")) > estimate(setup("e5", "d4 e6"))  # between two of the others
    assert estimate(setup("e7 e8", "e9")) > estimate(setup("e7 d8", "e9"))  # e9 would fall
    assert estimate(setup("e5 e6 e7", "e8 e9")) > estimate(setup("e5 e6 d7", "e8 e9"))  # the first of two
    ahead = setup("e5", "e6")
    ahead.record.taken[0] = 1
    assert estimate(ahead) > 0.1


def test_a_greedy_player_beats_random_play() -> None:
    """One ply of lookahead with the heuristic pushes marbles off; a random opponent practically never does."""
    game, rng = make("abalone"), random.Random(4)
    state = State(game)
    while not state.is_over:
        if state.turn == 0:
            state.play(max(state.legal_moves, key=lambda m: estimate(State(game, state.record).play(m))))
        else:
            state.play(rng.choice(state.legal_moves))
    assert state.scores == (1.0, -1.0)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("abalone(layout='belgian')", "did you mean 'belgian_daisy'"),
        ("abalone(max_plies=0)", "from 1 to 10000"),
        ("abalone(layout=3)", "choose one of 'standard'"),
    ],
)
def test_impossible_parameters_are_refused(expression: str, message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        make(expression)
