"""The conformance kit: every game passes it, and each kind of mistake is reported with its rule, line and remedy."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from meijin.core import compile as compiling
from meijin.core import cuda
from meijin.core.boards import square
from meijin.core.catalogue import games, make
from meijin.core.check import Report, check_game
from meijin.core.diagnose import explain
from meijin.core.errors import BadParameter, NoDevice, RuleError
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.pieces import Piece
from meijin.core.rng import below
from meijin.core.state import State

compiled = pytest.mark.skipif(not compiling.JIT, reason="nothing is compiled with MEIJIN_JIT=0")

TABLE = np.array([1, 2, 4])
COLOURS = {0: "red", 1: "blue"}


@pytest.mark.parametrize("name", games.names())
def test_every_game_keeps_the_laws(name: str) -> None:
    report = check_game(make(name), games=3)
    assert report.positions > 0
    assert {law.name for law in report.laws} >= {"notation", "compiled equals interpreted", "symmetries"}


# ---- a tiny game to make mistakes in: two seats fill a row of three; who holds the middle wins ----


def tiny(**changes: Any) -> Game:
    def start(s: Any) -> None:
        s.ply = 0
        s.word = 0
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
        if s.held[1] > 0:
            scores[s.held[1] - 1] = 1.0
            scores[2 - s.held[1]] = -1.0

    def cells(s: Any, out: Any) -> None:
        for i in range(3):
            out[i] = s.held[i]

    rules: dict[str, Any] = {
        "state": np.dtype([("word", "u8"), ("held", "i1", (3,)), ("ply", "i1")], align=True),
        "board": square(1, 3),
        "pieces": (Piece("."), Piece("X", owner=0), Piece("O", owner=1)),
        "seats": 2,
        "num_moves": 3,
        "longest": 3,
        "start": start,
        "turn": turn,
        "legal": legal,
        "play": play,
        "score": score,
        "cells": cells,
    }
    return Game(name="tiny", **{**rules, **changes})


def dice(probability: float = 0.5, **changes: Any) -> Game:
    """One seat and chance take turns; chance puts a stone on the left or the right."""

    def start(s: Any) -> None:
        s.ply = 0
        s.held[0] = 0
        s.held[1] = 0

    def turn(s: Any) -> int:
        return OVER if s.ply == 4 else CHANCE if s.ply & 1 else 0

    def legal(s: Any, moves: Any) -> int:
        moves[0] = 0
        moves[1] = 1
        return 2

    def odds(s: Any, moves: Any, probs: Any) -> int:
        moves[0] = 0
        moves[1] = 1
        probs[0] = probability
        probs[1] = 0.5
        return 2

    def play(s: Any, move: int) -> None:
        s.held[move] += 1
        s.ply += 1

    def score(s: Any, scores: Any) -> None:
        scores[0] = s.held[0] * s.held[1]

    def cells(s: Any, out: Any) -> None:
        out[0] = s.held[0]
        out[1] = s.held[1]

    rules: dict[str, Any] = {
        "state": np.dtype([("held", "i1", (2,)), ("ply", "i1")]),
        "board": square(1, 2),
        "pieces": tuple(Piece(str(n)) for n in range(5)),
        "seats": 1,
        "num_moves": 2,
        "num_outcomes": 2,
        "longest": 4,
        "score_range": (0, 4),
        "start": start,
        "turn": turn,
        "legal": legal,
        "play": play,
        "score": score,
        "cells": cells,
        "odds": odds,
    }
    return Game(name="dice", **{**rules, **changes})


def laws(report: Report) -> dict[str, tuple[int, str]]:
    return {law.name: (law.count, law.note) for law in report.laws}


@compiled
def test_the_tiny_game_is_right() -> None:
    report = check_game(tiny(), gpu=False)
    assert (report.games, report.positions, report.branching, report.longest) == (20, 80, 3, 3)
    tried = laws(report)
    assert tried["moves listed"] == (60, "")
    assert tried["compiled equals interpreted"] == (80, "")
    assert tried["symmetries"][0] == 80
    assert tried["round trips"] == (5, "text left out: the game is not registered")
    assert "every law holds" in str(report)


def test_chance_and_one_seat() -> None:
    tried = laws(check_game(dice()))
    assert tried["moves listed"] == tried["outcomes listed"] == (40, "")


def test_interpreted_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "JIT", False)
    tried = laws(check_game(tiny(), games=2))
    assert tried["compiled equals interpreted"] == (0, "left out: MEIJIN_JIT=0")
    assert tried["seeding"][0] == 2


def test_words_may_wrap_and_sample_may_draw() -> None:
    """Hashes wrap around 64 bits on purpose; narrower numbers never do."""

    def play(s: Any, move: int) -> None:
        s.word = (s.word ^ np.uint64(move + 77)) * np.uint64(0x9E3779B97F4A7C15)
        s.word -= np.uint64(1) + s.word
        s.held[move] = (s.ply & 1) + 1
        s.ply += 1

    def sample(s: Any, rng: Any) -> int:
        while True:
            i = below(rng, 3)
            if s.held[i] == 0:
                return i  # type: ignore[no-any-return]

    assert laws(check_game(tiny(play=play, sample=sample)))["sampling"][0] > 0


# ---- one mistake each. The line at fault ends in "# wrong" ----


def writes_outside_the_record() -> Game:
    def play(s: Any, move: int) -> None:
        s.held[s.ply + 1] = 1  # wrong
        s.ply += 1

    return tiny(play=play)


def writes_outside_the_buffer() -> Game:
    return tiny(branching=2)


def lists_in_descending_order() -> Game:
    def legal(s: Any, moves: Any) -> int:  # wrong
        n = 0
        for i in range(3):
            if s.held[2 - i] == 0:
                moves[n] = 2 - i
                n += 1
        return n

    return tiny(legal=legal)


def lists_nothing() -> Game:
    def legal(s: Any, moves: Any) -> int:  # wrong
        return 0

    return tiny(legal=legal)


def legal_changes_the_record() -> Game:
    right = tiny().legal

    def legal(s: Any, moves: Any) -> int:  # wrong
        s.word += np.uint64(1)
        return right(s, moves)  # type: ignore[no-any-return]

    return tiny(legal=legal)


def start_forgets_a_field() -> Game:
    def start(s: Any) -> None:  # wrong
        s.ply = 0
        for i in range(3):
            s.held[i] = 0

    return tiny(start=start)


def writes_a_constant_table() -> Game:
    def cells(s: Any, out: Any) -> None:
        for i in range(3):
            out[i] = s.held[i]
            TABLE[i] = 0  # wrong

    return tiny(cells=cells)


def probabilities_sum_to_less() -> Game:
    return dice(probability=0.25)


def names_clash() -> Game:
    return tiny(move_name=lambda move: "middle" if move else "left")


def scores_out_of_range() -> Game:
    def score(s: Any, scores: Any) -> None:  # wrong
        scores[0] = s.ply
        scores[1] = -s.ply

    return tiny(score=score)


def score_forgets_a_seat() -> Game:
    def score(s: Any, scores: Any) -> None:  # wrong
        scores[0] = 0.0

    return tiny(score=score)


def cells_forgets_a_cell() -> Game:
    def cells(s: Any, out: Any) -> None:  # wrong
        out[0] = 0
        out[2] = 0

    return tiny(cells=cells)


def not_symmetric() -> Game:
    def score(s: Any, scores: Any) -> None:  # wrong
        scores[0] = 1.0 if s.held[0] == 1 else 0.0
        scores[1] = 0.0

    return tiny(score=score)


def never_ends() -> Game:
    return tiny(longest=2)


def unknown_seat() -> Game:
    def turn(s: Any) -> int:  # wrong
        return 2 if s.ply == 1 else 0

    return tiny(turn=turn)


def narrow_integer_overflows() -> Game:
    def play(s: Any, move: int) -> None:
        s.held[move] = (s.ply & 1) + 1
        s.ply += 1
        s.word = np.uint64(s.ply * 100)  # wrong

    return tiny(play=play)


def too_large_for_its_field() -> Game:
    def play(s: Any, move: int) -> None:
        s.held[move] = (s.ply & 1) + 1
        s.ply += 1 + 0 * move
        s.held[0] = 300 if s.ply == 9 else s.held[0]
        s.held[move] = 200 + move  # wrong

    return tiny(play=play)


def words_meet_signed_integers() -> Game:
    def play(s: Any, move: int) -> None:  # wrong
        s.held[move] = (s.ply & 1) + 1
        s.ply += 1
        s.word = (s.word - 1) % 7

    return tiny(play=play)


def shifts_a_word_by_a_signed_integer() -> Game:
    def play(s: Any, move: int) -> None:
        s.held[move] = (s.ply & 1) + 1
        s.word = s.word >> s.ply  # wrong
        s.ply += 1

    return tiny(play=play)


def unknown_field() -> Game:
    def cells(s: Any, out: Any) -> None:
        for i in range(3):
            out[i] = s.hold[i]  # wrong

    return tiny(cells=cells)


def appends_to_a_list() -> Game:
    def free(s: Any) -> int:
        found = []  # wrong
        for i in range(3):
            if s.held[i] == 0:
                found.append(i)
        return len(found)

    def turn(s: Any) -> int:
        return s.ply & 1 if free(s) > 0 else OVER

    return tiny(turn=turn)


def makes_a_dict() -> Game:
    def cells(s: Any, out: Any) -> None:
        values = {0: 0, 1: 1, 2: s.ply * 0 + 2}  # wrong
        for i in range(3):
            out[i] = values[s.held[i]]

    return tiny(cells=cells)


def makes_a_string() -> Game:
    def turn(s: Any) -> int:
        return OVER if f"{s.ply}" == "3" else s.ply & 1  # wrong

    return tiny(turn=turn)


def allocates() -> Game:
    def cells(s: Any, out: Any) -> None:
        scratch = np.zeros(3)  # wrong
        for i in range(3):
            out[i] = s.held[i] + scratch[i]

    return tiny(cells=cells)


def uses_a_global_dict() -> Game:
    def cells(s: Any, out: Any) -> None:
        for i in range(3):
            out[i] = s.held[i] if 0 in COLOURS else 0  # wrong

    return tiny(cells=cells)


def biased_sample() -> Game:
    def sample(s: Any, rng: Any) -> int:  # wrong
        i = below(rng, 3)
        while s.held[i] != 0:
            i = (i + 1) % 3
        return i  # type: ignore[no-any-return]

    return tiny(sample=sample)


def field_that_numpy_shadows() -> Game:
    return tiny(state=np.dtype([("word", "u8"), ("held", "i1", (3,)), ("ply", "i1"), ("size", "i1")]))


MISTAKES: list[tuple[Callable[[], Game], str, str, str]] = [
    # the mistake, the rule, what is said of it, and a part of the remedy
    (writes_outside_the_record, "play", "index 3 is out of bounds", "declare them larger"),
    (writes_outside_the_buffer, "legal", "index 2 is out of bounds", "branching=2"),
    (lists_in_descending_order, "legal", "lists 2 before 1", "ascending"),
    (lists_nothing, "legal", "lists nothing although it is seat 0's turn", "let `turn` say OVER"),
    (legal_changes_the_record, "legal", "changes the record: word 0 -> 1", "only `start` and `play` write"),
    (start_forgets_a_field, "start", "leaves a field as it was: word", "set every field"),
    (writes_a_constant_table, "cells", "writes to a constant table", "field of the record"),
    (probabilities_sum_to_less, "odds", "sum to 0.75", "divide each by their sum"),
    (names_clash, "move_name", "moves 1 and 2 are both called 'middle'", "different paths or names"),
    (scores_out_of_range, "score", "outside score_range=(-1.0, 1.0)", "wider `score_range`"),
    (score_forgets_a_seat, "score", "leaves seat 1 unwritten", "write every entry"),
    (cells_forgets_a_cell, "cells", "leaves cell 1 ('b1') unwritten", "write every entry"),
    (not_symmetric, "score", "breaks the symmetry", "out of `keeps`"),
    (never_ends, "turn", "goes on after longest=2 plies", "larger `longest`"),
    (unknown_seat, "turn", "returns 2", "0 to 1, CHANCE (-1) or OVER (-2)"),
    (narrow_integer_overflows, "play", "grows beyond its type", "wider type"),
    (too_large_for_its_field, "play", "out of bounds for int8", "wider type"),
    (words_meet_signed_integers, "play", "interpreted -> compiled: word", "np.uint64 on both sides"),
    (shifts_a_word_by_a_signed_integer, "play", "a word (uint64) meets a signed integer", "np.uint64 on both sides"),
    (unknown_field, "cells", "no field 'hold'; did you mean 'held'?", "its fields are word, held, ply"),
    (appends_to_a_list, "turn", "makes a Python list", "a field of the record"),
    (makes_a_dict, "cells", "makes a Python dict", "look numbers up by index"),
    (makes_a_string, "turn", "makes a string", "numbers only"),
    (allocates, "cells", "np.zeros allocates", "rules allocate nothing"),
    (uses_a_global_dict, "cells", "'COLOURS' is a Python object", "make it a number"),
    (biased_sample, "sample", "are expected", "uniformly"),
    (field_that_numpy_shadows, "state", "['size'] means something else to numpy", "rename"),
]

NEEDS_COMPILER = (words_meet_signed_integers, uses_a_global_dict, biased_sample)  # the last needs many draws


@pytest.mark.parametrize(("mistake", "rule", "problem", "remedy"), MISTAKES, ids=[m[0].__name__ for m in MISTAKES])
def test_a_mistake_is_named(mistake: Callable[[], Game], rule: str, problem: str, remedy: str) -> None:
    if mistake in NEEDS_COMPILER and not compiling.JIT:
        pytest.skip("nothing is compiled with MEIJIN_JIT=0")
    with pytest.raises(RuleError) as caught:
        check_game(mistake(), gpu=False)
    text = str(caught.value)
    assert rule in text.splitlines()[0]
    assert problem in text
    assert remedy in text
    _assert_plain(caught.value)
    if "# wrong" in inspect.getsource(mistake):
        assert "test_check.py:" in text
        assert "# wrong" in text


def _assert_plain(error: RuleError) -> None:
    """No compiler report: neither in the text nor in what Python prints before it."""
    text = str(error)
    assert error.__suppress_context__ or error.__context__ is None
    assert "numba" not in text.lower()
    assert "\x1b" not in text
    assert "Traceback" not in text
    assert len(text.splitlines()) <= 5


def test_the_position_can_be_replayed() -> None:
    with pytest.raises(RuleError, match=r"position: tiny ([abc]1 ?)+\n"):
        check_game(scores_out_of_range())


# ---- errors of the compiler, met in play without the kit ----


def wrong_type_on_one_path() -> Game:
    def turn(s: Any) -> int:
        if s.ply == 3:
            return OVER  # wrong, or
        return s.held  # type: ignore[no-any-return]  # wrong: the compiler names either

    return tiny(turn=turn)


def none_on_one_path() -> Game:
    def legal(s: Any, moves: Any) -> int | None:  # wrong
        if s.ply < 3:
            moves[0] = 0
            return 1
        return None

    return tiny(legal=legal)


def undefined_name() -> Game:
    def helper(s: Any) -> int:
        return s.ply + nowhere  # type: ignore[name-defined, no-any-return]  # noqa: F821  # wrong

    def turn(s: Any) -> int:
        return helper(s)

    return tiny(turn=turn)


def float_index() -> Game:
    def cells(s: Any, out: Any) -> None:
        for i in range(3):
            out[i] = s.held[i / 1]  # wrong

    return tiny(cells=cells)


def calls_itself() -> Game:
    def down(n: int) -> int:  # wrong
        return 0 if n == 0 else down(n - 1)

    def turn(s: Any) -> int:
        return down(s.ply)

    return tiny(turn=turn)


UNCOMPILED: list[tuple[Callable[[], Game], str, str, str]] = [
    (unknown_field, "cells", "no field 'hold'; did you mean 'held'?", "its fields are word, held, ply"),
    (wrong_type_on_one_path, "turn", "different types on different paths", "one type on every path"),
    (none_on_one_path, "legal", "returns None on some path", "return a whole number on every path"),
    (undefined_name, "turn", "'nowhere' is not defined", "define it before the rule"),
    (float_index, "cells", "a float is used as an index", "divide with //"),
    (calls_itself, "turn", "a function calls itself", "write it as a loop"),
    (appends_to_a_list, "turn", "makes a Python list", "a field of the record"),
    (uses_a_global_dict, "cells", "'COLOURS' is a Python object", "make it a number"),
]


@compiled
@pytest.mark.parametrize(("mistake", "rule", "problem", "remedy"), UNCOMPILED, ids=[m[0].__name__ for m in UNCOMPILED])
def test_a_compiler_error_is_explained(mistake: Callable[[], Game], rule: str, problem: str, remedy: str) -> None:
    with pytest.raises(RuleError) as caught:
        explain(mistake(), Exception())
    text = str(caught.value)
    assert f"rule '{rule}'" in text.splitlines()[0]
    assert problem in text
    assert remedy in text
    assert "# wrong" in text
    _assert_plain(caught.value)


@compiled
def test_play_meets_the_explanation() -> None:
    with pytest.raises(RuleError, match="rule 'cells' cannot be compiled: the record has no field 'hold'"):
        State(unknown_field()).cells  # noqa: B018


# ---- the rest of the contract of the kit itself ----


def test_a_symmetry_that_moves_the_start_must_be_named() -> None:
    def start(s: Any) -> None:
        s.ply = 0
        s.word = 0
        s.held[0] = 1
        s.held[1] = 0
        s.held[2] = 0

    with pytest.raises(RuleError, match="the start is not its own image"):
        check_game(tiny(start=start, longest=4, turn=_until_full), gpu=False)
    name = tiny().symmetries[1].name
    report = check_game(tiny(start=start, longest=4, turn=_until_full, keeps=(name,)), gpu=False)
    assert laws(report)["symmetries"] == (0, f"{name} not tried: it moves the start")


def _until_full(s: Any) -> int:
    return s.ply & 1 if s.ply < 2 else OVER


def test_tables_can_be_written_again_afterwards() -> None:
    with pytest.raises(RuleError):
        check_game(writes_a_constant_table())
    assert TABLE.flags.writeable
    assert TABLE.tolist() == [1, 2, 4]


def test_the_same_seed_reports_the_same_mistake() -> None:
    def text(seed: int) -> str:
        with pytest.raises(RuleError) as caught:
            check_game(not_symmetric(), seed=seed)
        return str(caught.value)

    assert text(3) == text(3)


def test_no_games_is_an_error() -> None:
    with pytest.raises(BadParameter, match="games=0"):
        check_game(tiny(), games=0)


@pytest.mark.skipif(cuda.available(), reason="there is a GPU here")
def test_a_required_gpu_is_missing() -> None:
    with pytest.raises(NoDevice):
        check_game(tiny(), games=1, gpu=True)


@pytest.mark.gpu
def test_gpu_equals_cpu() -> None:
    assert laws(check_game(make("connect_four"), games=2, gpu=True))["gpu equals cpu"][0] > 0


# ---- rules that only searches ask ----


def outer(s: Any, move: int) -> bool:
    return move != 1


def packed(s: Any) -> Any:
    return np.uint64(s.ply + 4 * (s.held[0] + 3 * s.held[1] + 9 * s.held[2]))


def test_rules_for_searches_are_tried() -> None:
    count, note = laws(check_game(tiny(noisy=outer, key=packed)))["keys"]
    assert count > 0 and note.endswith("keys")
    assert laws(check_game(tiny()))["keys"] == (0, "left out: the game has no `key`")


def test_noisy_only_reads_and_answers() -> None:
    def writes(s: Any, move: int) -> bool:
        s.word = 1
        return True

    def silent(s: Any, move: int) -> Any:
        return None

    with pytest.raises(RuleError, match="rule 'noisy' changes the record: word"):
        check_game(tiny(noisy=writes))
    with pytest.raises(RuleError, match="rule 'noisy'"):
        check_game(tiny(noisy=silent))


def test_a_key_tells_positions_apart() -> None:
    def blind(s: Any) -> Any:
        return np.uint64(s.ply)

    def writes(s: Any) -> Any:
        s.word += np.uint64(1)
        return s.word

    with pytest.raises(RuleError, match=r"(?s)rule 'key' gives 1 for two positions that differ in `legal`.*all that"):
        check_game(tiny(key=blind))
    with pytest.raises(RuleError, match="rule 'key' changes the record"):
        check_game(tiny(key=writes))


# ---- whose the cells are ----


def test_owners_are_tried_at_the_end() -> None:
    def nobody(s: Any, owners: Any) -> None:
        for cell in range(3):
            owners[cell] = -1

    def strange(s: Any, owners: Any) -> None:
        for cell in range(3):
            owners[cell] = 2

    def lazy(s: Any, owners: Any) -> None:
        owners[0] = 0

    def writes(s: Any, owners: Any) -> None:
        nobody(s, owners)
        s.word = 1

    def lopsided(s: Any, owners: Any) -> None:
        nobody(s, owners)
        owners[0] = 0

    def long(s: Any, owners: Any) -> None:
        owners[3] = 0

    assert laws(check_game(tiny(owners=nobody), gpu=False))["cells owned"] == (20, "")
    assert laws(check_game(tiny(), games=2, gpu=False))["cells owned"] == (0, "")
    for rule, problem in (
        (strange, r"(?s)rule 'owners' writes 2 to cell 0.*seats 0 to 1, and -1 for nobody"),
        (lazy, "rule 'owners' leaves cell 1 .* unwritten"),
        (writes, "rule 'owners' changes the record: word"),
        (lopsided, "rule 'owners' breaks the symmetry"),
        (long, r"(?s)rule 'owners' fails.*`owners` holds one entry for each of the 3 cells"),
    ):
        with pytest.raises(RuleError, match=problem):
            check_game(tiny(owners=rule), gpu=False)
