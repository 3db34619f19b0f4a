"""What each game sets up and refuses, what it counts and how it ends; and the laws of these rules."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from meijin.core import compile as compiling
from meijin.core.boards import square
from meijin.core.catalogue import game_names, make
from meijin.core.check import laws, setups
from meijin.core.check.laws import Evidence
from meijin.core.check.supervise import Watch
from meijin.core.errors import BadParameter, RuleError
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.pieces import Piece
from meijin.core.state import State

#: `test_check.py` tries the compiled rules of these. It tries the interpreted rules of the others, by these laws too.
COMPILED = ("2048", "abalone", "cube", "einstein", "minishogi", "nim")

OWN = [name for name in game_names() if make(name).setup is not None]

#: Interpreted, smaller boards will do; the others have other records or other rules than the defaults.
SMALLER = {"go": "go(size=5)", "gomoku": "gomoku(size=9)", "hex": "hex(size=5)"}
VARIANTS = [
    "cube(size=3)",
    "einstein(layout='random')",
    "go(size=4, superko='situational', suicide=True)",
    "hex(size=3, swap=True)",
    "othello(size=10)",
    "sim(players=3)",
    "yavalath(players=3)",
    "yavalath(swap=True)",
]


def evidence(game: Game, games: int = 2) -> Evidence:
    found = Evidence(game, games, 0, Watch(game, 60.0))
    laws.interpreted_play(found)
    return found


# ---- every game ----


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(
    "name",
    [
        *(name if name in COMPILED else pytest.param(SMALLER.get(name, name), marks=pytest.mark.soak) for name in OWN),
        *VARIANTS,
    ],
)
def test_every_game_keeps_the_laws_interpreted(name: str) -> None:
    """Interpreted, where an index outside an array is an error at its line."""
    found = evidence(make(name), 1)
    for law in setups.LAWS:
        law(found)


@pytest.mark.skipif(not compiling.JIT, reason="nothing is compiled with MEIJIN_JIT=0")
@pytest.mark.parametrize("name", ["connect_four", "nim", "tic_tac_toe"])
def test_strange_set_ups_play_to_the_end_compiled(name: str) -> None:
    """A small part of `tests/soak/setup.py`, which does so for every game."""
    found = evidence(make(name))
    seeds = np.array([position.cells for position in found.positions])
    assert setups.play_strange_set_ups(make(name), seeds, 5000, 1) > 500
    for law in setups.LAWS:
        law(found)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("name", OWN)
def test_every_game_describes_itself(name: str) -> None:
    game = make(name)
    assert game.endings and len(set(game.endings)) == len(game.endings)
    assert all(text and text[-1] != "." for text in (*game.endings, *game.refusals))
    assert "Goal: " in game.help and "Notation: " in game.help and "Set-up: " in game.help
    assert all(parameter.help for parameter in game.parameters), "a line '`name`: ...' for each in the docstring"
    assert len(game.help.splitlines()[0]) <= 80, "the summary stands in lists"
    buttons = {step for path in game.paths if path for step in path if isinstance(step, str)}
    assert buttons <= set(game.words), "every button has a text"


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("name", OWN)
def test_clicks_make_one_move(name: str) -> None:
    """No two legal moves have the same path, and one that begins another is told from it by a word."""
    game, rng, state = make(name), np.random.default_rng(2), State(make(name))
    while not state.is_over and len(state.history) < 60:
        if not state.is_chance:
            paths = [game.paths[move] for move in state.legal_moves]
            assert None not in paths and len(set(paths)) == len(paths)
            clicked: Counter[tuple[Any, ...]] = Counter()
            for path in paths:
                steps = [[s] if not isinstance(s, frozenset) else sorted(s) for s in path or ()]
                clicked.update({tuple(choice) for choice in _ways(steps)})
            assert set(clicked.values()) == {1}, "one click would mean two moves"
            begun = {path[:n] for path in paths if path for n in range(1, len(path))} & set(paths)
            assert not begun or "" in game.words
        state.play(rng.choice(state.legal_moves))


def _ways(steps: list[list[Any]]) -> list[list[Any]]:
    return [[first, *rest] for first in steps[0] for rest in _ways(steps[1:])] if steps else [[]]


# ---- refusals ----

FREE = ".,.,.,.,./" * 4  # the upper rows of an EinStein board


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(
    ("game", "position", "reason"),
    [
        ("connect_four", "7/7/7/7/X6/7 1", "a disc hangs in the air"),
        ("connect_four", "7/7/7/7/7/XO5 1", "even number"),
        ("connect_four", "7/7/XO5/XO5/XO5/XO5 0", "both sides have four in a row"),
        ("tic_tac_toe", "XXX/3/3 0", "with an odd number O's"),
        ("tic_tac_toe", "XXX/OOO/3 0", "both sides have three in a row"),
        ("othello(size=4)", "-----OX--X------ X", "at least four discs"),
        ("breakthrough", "8/8/8/8/8/8/8/8 0", "both sides have won"),
        ("breakthrough", "W7/8/8/8/8/8/8/B7 0", "both sides have won"),
        ("breakthrough", "8/BBBBBBBB/BBBBBBBB/B7/8/8/8/W7 0", "more than 16 pieces"),
        ("yavalath", "WWWW1/BBBB2/7/8/9/8/7/6/5 0", "more than one side has four in a row"),
        ("yavalath", "WWW2/BBB3/7/8/9/8/7/6/5 0", "every side has three in a row"),
        ("yavalath(players=3)", "WWW2/BB4/7/8/9/8/7/6/5 0", "is out"),
        ("yavalath(swap=True)", "WW3/6/7/8/9/8/7/6/5 1", "one white stone at black's turn"),
        ("yavalath(swap=True)", "5/6/7/8/9/8/7/6/5 1", "none at white's"),
        ("abalone", "OOOOO/OOOOOO/2OOO2/8/9/8/1XXXX2/XXXXXX/XXXXX 0", "more than 14 marbles"),
        ("abalone", "OOOOO/6/7/8/9/8/2XXX2/XXXXXX/XXXXX 0", "fewer than 8"),
        ("abalone", "OOOOO/OOO3/7/8/9/8/7/XXX3/XXXXX 0", "both sides have pushed off six"),
        ("abalone(max_plies=1)", "OOOOO/OOOOOO/2OOO2/8/9/8/2XXX2/XXXXXX/XXXXX 1", "only black moves"),
        ("go(size=3)", "XO1/O2/3 0", "a group has no liberties"),
        ("go(size=2)", "XX/XX 0", "a group has no liberties"),
        ("go(size=2)", "XO/OX 0", "a group has no liberties"),
        ("sim", "X=ab,ac,bc/O=de,df,ef 0", "every side has a triangle"),
        ("sim(players=3)", "X=ab,ac,bc 0", "is out"),
        ("2048(size=2)", ".,./.,. 0", "no tile to slide"),
        ("2048(size=2)", "2,4/8,16 chance", "needs an empty cell"),
        ("2048(size=2)", "32,32/.,. 0", "add up to 64 or more"),
        ("einstein", "X1,.,.,.,./.,.,.,.,./.,.,.,.,./.,.,.,.,./.,.,.,.,O1:.:. chance", "whose throw is next"),
        ("einstein", "X1,X1,.,.,./.,.,.,.,./.,.,.,.,./.,.,.,.,./.,.,.,.,O1:X2:. 0", "twice"),
        ("einstein", "X1,.,.,.,./.,.,.,.,./.,.,.,.,./.,.,.,.,./.,.,.,.,O1:.:. 0", "must show a throw"),
        ("einstein", "X1,.,.,.,./.,.,.,.,./.,.,.,.,./.,.,.,.,./.,.,.,.,O1:X1:O1 0", "and the other die none"),
        ("einstein", "O1,.,.,.,./.,.,.,.,./.,.,.,.,./.,.,.,.,./.,.,.,.,X1:X1:. 0", "both sides have won"),
        ("einstein", f"{FREE}.,.,.,.,.:X1:. 0", "both sides have won"),
        ("cube", "UUUU/RRRR/FFFF/DDDD/LLLL/BBBB 0", ""),
        ("cube", "UUUU/RRRR/FFFF/DDDD/LLLL/BBBB chance", ""),
        ("cube", "UUUF/RRRR/UFFF/DDDD/LLLL/BBBB 0", "not those of a cube"),
        ("cube", "UUUR/FRRR/FUFF/DDDD/LLLL/BBBB 0", "a corner is twisted"),
        ("cube", "UUUU/FFRR/LLFF/DDDD/BBLL/RRBB chance", "chance scrambles only a solved cube"),
    ],
)
def test_what_cannot_come_up_is_refused(game: str, position: str, reason: str) -> None:
    if not reason:
        State.from_position(make(game), position)
        return
    with pytest.raises(BadParameter) as caught:
        State.from_position(make(game), position)
    assert reason in str(caught.value)


@pytest.mark.usefixtures("interpreted")
def test_a_cube_that_was_taken_apart_is_refused() -> None:
    """Of the twelve ways to put a 3x3x3 together, turning faces leads to one."""
    game = make("cube(size=3)")
    cells, board = list(State(game).cells), game.board

    def exchanged(*cycles: str) -> str:
        found = list(cells)
        for cycle in cycles:
            names = cycle.split()
            for name, other in zip(names, [*names[1:], names[0]], strict=True):
                found[board.index(other)] = cells[board.index(name)]
        with pytest.raises(BadParameter) as caught:
            State.set_up(game, found, 0)
        return str(caught.value)

    assert "a corner is twisted" in exchanged("u9 r1 f3")
    assert "an edge is flipped" in exchanged("u8 f2")
    assert "two pieces are exchanged" in exchanged("u8 u6", "f2 r2")
    assert "two pieces are exchanged" in exchanged("u9 u3", "r1 b1", "f3 r3")
    assert "not those of a cube" in exchanged("u9 f2")
    for line in ("R", "R U2 F' L D B2"):
        state = State.set_up(game, cells, CHANCE)
        for _ in range(game.params["twists"]):
            state.play(state.legal_moves[0])
        state.play_line(line)
        assert State.set_up(game, state.cells, 0).cells == state.cells


# ---- what is useful for study is allowed ----


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(
    ("game", "position", "turn", "scores", "ending"),
    [
        ("connect_four", "7/7/7/7/7/XXXX3 0", OVER, (1, -1), "four in a row"),
        ("connect_four", "7/7/7/7/7/OOO4 1", 1, (0, 0), ""),
        ("tic_tac_toe", "XOX/XOO/OXX 1", OVER, (0, 0), "the board is full"),
        ("hex(size=3)", "X2/X2/X2 0", OVER, (1, -1), "a chain joins both sides"),
        ("hex(size=3)", "OO1/1OO/3 0", OVER, (-1, 1), "a chain joins both sides"),
        ("othello(size=4)", "XXXXXXXXXXXXXXXX O", OVER, (1, -1), "the board is full"),
        ("othello(size=4)", "XXXX------------ O", OVER, (1, -1), "one side has no discs left"),
        ("othello(size=4)", "X------O-------X X", None, None, None),
        ("breakthrough(rows=4, columns=3)", "W2/3/3/BBB 1", None, None, None),
        ("breakthrough(rows=4, columns=3)", "1W1/B2/3/3 1", OVER, (1, -1), "the far row was reached"),
        ("breakthrough(rows=4, columns=3)", "3/B2/3/3 0", OVER, (-1, 1), "all pieces were captured"),
        ("yavalath", "WWWW1/6/7/8/9/8/7/6/5 1", OVER, (1, -1), "four in a row"),
        ("yavalath", "WWW2/6/7/8/9/8/7/6/5 1", OVER, (-1, 1), "three in a row"),
        ("yavalath(players=3)", "WWW2/6/7/8/9/8/7/6/5 1", 1, (-1, 0, 0), ""),
        ("yavalath(players=3)", "WWW2/RRR3/7/8/9/8/7/6/5 1", OVER, (-1, 1, -1), "three in a row"),
        ("abalone", "OOOOO/OOO3/7/8/9/8/2XXX2/XXXXXX/XXXXX 0", OVER, (1, -1), "six marbles pushed off"),
        ("go(size=2)", "2/2 1", 1, (0, 0), ""),
        ("sim", "X=ab,ac,bc 1", OVER, (-1, 1), "a triangle"),
        ("sim(players=3)", "X=ab,ac,bc 1", 1, (-1, 0, 0), ""),
        ("sim(points=3, players=3)", "X=ab/O=ac/Y=bc 0", OVER, (0, 0, 0), "every link is coloured"),
        ("nim", "0,0,0,0 1", OVER, (1, -1), "the last stone was taken"),
        ("2048(size=2)", "2,4/4,2 0", OVER, (8,), "no slide is possible"),
        ("2048(size=2)", "16,32/.,. 0", 0, (176,), ""),
        ("einstein", f"{FREE}O1,.,.,.,X1:.:. 1", OVER, (1, -1), "the corner was reached"),
        ("einstein", f"{FREE}X1,.,.,.,.:.:. 1", OVER, (1, -1), "all stones were captured"),
        ("cube", "UUUU/RRRR/FFFF/DDDD/LLLL/BBBB 0", OVER, (1,), "solved"),
    ],
)  # fmt: skip
def test_positions_for_study(game: str, position: str, turn: Any, scores: Any, ending: Any) -> None:
    if turn is None:
        with pytest.raises(BadParameter):
            State.from_position(make(game), position)
        return
    state = State.from_position(make(game), position)
    assert (state.turn, state.scores, state.ending) == (turn, scores, ending)
    assert State.parse(state.text) == state


@pytest.mark.usefixtures("interpreted")
def test_a_set_up_go_position_has_groups_liberties_and_no_past() -> None:
    """Stones that were set up are captured as those that were played."""
    game = make("go(size=5)")
    eye = State.from_position(game, "1X3/X4/5/5/5 1")
    assert "a5" not in {move.name for move in eye.legal_moves}
    captured = State.from_position(game, "1XXX1/XOO1X/1XXX1/5/5 0").play("d4")
    assert captured.tallies["captured"] == (2, 0) and captured.cells.count(2) == 0
    assert State.set_up(game, captured.cells, captured.turn).tallies["captured"] == (0, 0), "prisoners are not on it"


# ---- tallies ----


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(
    ("game", "line", "tallies"),
    [
        ("othello", "", {"discs": (2, 2)}),
        ("othello", "d3", {"discs": (4, 1)}),
        ("breakthrough(rows=4, columns=3)", "a1a2 b4b3 a2b3", {"pieces": (3, 2)}),
        ("einstein", "1 a5b4", {"stones": (5, 6)}),
        ("2048", "a1=2 a2=2 up", {"score": (4,), "largest tile": (4,)}),
        ("2048", "", {"score": (0,), "largest tile": (0,)}),
        ("go(size=3, komi=0.5)", "a1 b1 c3 a2", {"captured": (0, 1), "points": (1, 3.5)}),
        ("go(size=3, komi=0.5, scoring='territory')", "a1 b1 c3 a2", {"captured": (0, 1), "points": (0, 2.5)}),
        ("tic_tac_toe", "b2", {}),
    ],
)
def test_tallies(game: str, line: str, tallies: dict[str, tuple[float, ...]]) -> None:
    assert State(make(game)).play_line(line).tallies == tallies


@pytest.mark.usefixtures("interpreted")
def test_marbles_that_are_missing_were_pushed_off() -> None:
    state = State.from_position(make("abalone"), "OOOOO/OOOOO1/2OOO2/8/9/8/2X1X2/XXXXXX/XXXX1 0")
    assert state.tallies == {"pushed off": (1, 2)} and state.scores == (-1 / 6, 1 / 6)


@pytest.mark.usefixtures("interpreted")
def test_points_of_a_finished_go_game() -> None:
    """Exact, komi included, by both kinds of scoring: as `final_score` counts them."""
    from meijin.games.go import final_score

    for scoring in ("area", "territory"):
        game = make(f"go(size=4, scoring='{scoring}')")
        state = State(game).play_line("b1 c1 b2 c2 b3 c3 b4 c4 pass d2 a2 d3 pass pass")
        assert state.is_over and state.ending == "two passes"
        black, white = state.tallies["points"]
        assert black - white == final_score(state)


# ---- symmetries that geometry does not show ----


def test_the_numbers_of_symmetries() -> None:
    counts = {
        "sim": 720,
        "sim(points=3)": 6,
        "sim(players=3)": 720,
        "cube": 6,  # those that leave a corner in place, with reflections
        "cube(size=3)": 48,
        "nim": 1,
        "nim(heaps=(2, 3, 3, 3, 2))": 12,
        "nim(heaps=(1, 1, 1, 1, 1, 1, 1))": 22,  # 5040 would be too many: the exchanges of two
        "minishogi": 4,
        "einstein": 4,
        "2048": 8,
        "2048(width=2, height=3)": 4,
    }
    assert {name: len(make(name).symmetries) for name in counts} == counts
    for name in counts:
        game = make(name)
        images = [(s.cells, s.moves, s.outcomes, s.seats, s.values) for s in game.symmetries]
        assert len(set(images)) == len(images)
        for cells, moves, outcomes, _, _ in images:
            assert sorted(cells) == list(range(len(game.board.cells)))
            assert sorted(moves) == list(range(game.num_moves)) and sorted(outcomes) == list(range(game.num_outcomes))


def test_symmetries_of_a_cube_rename_its_colours() -> None:
    """Turned as a whole, a solved cube is solved: each face goes where its colour goes."""
    for symmetry in make("cube(size=3)").symmetries:
        for cell, to in enumerate(symmetry.cells):
            assert symmetry.values[1 + cell // 9] == 1 + to // 9


# ---- mistakes ----


def tiny(**changes: Any) -> Game:
    """Two seats fill a row of three."""

    def start(s: Any) -> None:
        s.ply = 0
        for i in range(3):
            s.held[i] = 0

    def turn(s: Any) -> int:
        return s.ply & 1 if s.ply < 3 else OVER

    def legal(s: Any, moves: Any) -> int:
        n = 0
        for i in range(3):
            if s.held[i] == 0:
                moves[n] = i
                n += 1
        return n

    def play(s: Any, move: int) -> None:
        s.held[move] = (s.ply & 1) + 1
        s.ply += 1

    def score(s: Any, scores: Any) -> None:
        scores[0] = 0.0
        scores[1] = 0.0

    def cells(s: Any, out: Any) -> None:
        for i in range(3):
            out[i] = s.held[i]

    def setup(s: Any, values: Any, mover: int) -> int:
        s.ply = 0
        for i in range(3):
            s.held[i] = values[i]
            s.ply += 1 if values[i] > 0 else 0
        return 1 if s.ply & 1 != mover else 0

    def tally(s: Any, counts: Any) -> None:
        for seat in range(2):
            counts[0, seat] = s.ply

    def ending(s: Any) -> int:
        return 0

    given: dict[str, Any] = {
        "state": np.dtype([("held", "i1", (3,)), ("ply", "i1")], align=True),
        "board": square(1, 3),
        "pieces": (Piece("."), Piece("X", owner=0), Piece("O", owner=1)),
        "seats": 2,
        "num_moves": 3,
        "longest": 3,
        "tallies": ("plies",),
        "endings": ("full",),
        "refusals": ("parity",),
        "name": "tiny",
    }
    rules = {fn.__name__: fn for fn in (start, turn, legal, play, score, cells, setup, tally, ending)}
    for name in list(changes):
        if name in rules:
            rules[name] = changes.pop(name)
    return Game(rules=rules, **{**given, **changes})


def judged(law: Any, **changes: Any) -> str:
    with pytest.raises(RuleError) as caught:
        law(evidence(tiny(**changes), 4))
    return str(caught.value)


@pytest.mark.usefixtures("interpreted")
def test_a_good_game_passes() -> None:
    found = evidence(tiny(), 4)
    tried = {law.__name__: law(found) for law in setups.LAWS}
    assert tried["set_up_again"].count == 12 and tried["endings"].note == "4 full"
    assert tried["images"].count > 0 and tried["tallies"].count == 16
    assert tried["alphabets"].note == "left out: the game declares no `alphabets`"
    plain = evidence(tiny(setup=None, tally=None, ending=None, tallies=(), endings=(), refusals=()))
    assert {law(plain).count for law in setups.LAWS} == {0}


@pytest.mark.usefixtures("interpreted")
def test_mistakes_of_setup_are_named() -> None:
    def forgets(s: Any, values: Any, mover: int) -> int:
        s.ply = 0
        for i in range(2):  # the third cell keeps what it had
            s.held[i] = values[i]
            s.ply += 1 if values[i] > 0 else 0
        return 1 if s.ply & 1 != mover else 0

    def backwards(s: Any, values: Any, mover: int) -> int:
        s.ply = mover
        for i in range(3):
            s.held[i] = values[2 - i]
        return 0

    def outside(s: Any, values: Any, mover: int) -> int:
        s.ply = mover
        for i in range(4):
            s.held[i] = values[i]
        return 0

    def nonsense(s: Any, values: Any, mover: int) -> int:
        return 7

    def never(s: Any, values: Any, mover: int) -> int:
        return 1

    def trusting(s: Any, values: Any, mover: int) -> int:
        s.ply = mover  # however many cells are filled: a full board with a seat to move has no moves
        for i in range(3):
            s.held[i] = values[i]
        return 0

    assert "leaves a field as it was: held[2]" in judged(setups.set_up_again, setup=forgets)
    assert "makes other cells than it was given" in judged(setups.set_up_again, setup=backwards)
    assert "out of bounds" in judged(setups.set_up_again, setup=outside)
    assert "returns 7" in judged(setups.set_up_again, setup=nonsense)
    assert "refuses every position" in judged(setups.set_up_again, setup=never)
    assert "lists nothing although it is seat" in judged(setups.strange_set_ups, setup=trusting)


@pytest.mark.usefixtures("interpreted")
def test_mistakes_of_text_are_named() -> None:
    def write(cells: tuple[int, ...], turn: int) -> str:
        return "".join(map(str, cells)) + f" {turn}"

    def read(text: str) -> tuple[list[int], int]:
        return [int(c) for c in text[:3]], 0

    assert "as another position" in judged(setups.set_up_again, write=write, read=read)
    assert "other than ']'" in judged(setups.set_up_again, write=lambda cells, turn: "]", read=read)


@pytest.mark.usefixtures("interpreted")
def test_mistakes_of_symmetries_are_named_even_where_no_game_leads_to_an_image() -> None:
    def shifted(game: Game) -> Any:
        yield game.symmetry("shifted", (1, 2, 0), moves=(0, 1, 2))

    assert "breaks the symmetry 'shifted'" in judged(setups.images, more_symmetries=shifted)


@pytest.mark.usefixtures("interpreted")
def test_mistakes_of_tallies_endings_and_alphabets_are_named() -> None:
    def half(s: Any, counts: Any) -> None:
        counts[0, 0] = 1.0

    def writes(s: Any, counts: Any) -> None:
        s.ply = 0
        counts[0, 0] = counts[0, 1] = 0.0

    def elsewhere(s: Any) -> int:
        return 1

    assert "leaves 'plies' of seat 1 unwritten" in judged(setups.tallies, tally=half)
    assert "changes the record: ply" in judged(setups.tallies, tally=writes)
    assert "returns 1" in judged(setups.endings, ending=elsewhere)
    assert "writes 2 to cell" in judged(setups.alphabets, alphabets=((0, 1), (0, 1), (0, 1)))
