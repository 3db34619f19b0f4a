"""The conformance kit: every game passes it, and each kind of mistake is reported with its rule, line and remedy.

The mistakes are the files in `tests/mistakes`. Each says which sentence it expects and has a function that makes the
game; the line at fault, where there is one, ends in "# wrong".
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from commands import good, run
from meijin.core import compile as compiling
from meijin.core import cuda
from meijin.core.catalogue import games, make
from meijin.core.check import Report, check_game, play_statistics, supervise
from meijin.core.check.diagnose import explain
from meijin.core.errors import BadParameter, NoDevice, RuleError
from meijin.core.game import OVER, Game
from meijin.core.rng import below
from meijin.core.state import State
from mistakes._games import dice, row

compiled = pytest.mark.skipif(not compiling.JIT, reason="nothing is compiled with MEIJIN_JIT=0")

FOLDER = Path(__file__).parent / "mistakes"
MISTAKES = sorted(path.stem for path in FOLDER.glob("[!_]*.py"))
HANGING = 0.5  # seconds after which a rule of a tiny game hangs


@pytest.fixture(autouse=True, scope="module")
def _numba_is_ready() -> None:
    """Games are checked in forks of this process, each of which would have to load Numba and its tables of types."""
    if compiling.JIT:
        numba.njit(lambda: 0)()


def mistake(name: str) -> Game:
    return importlib.import_module(f"mistakes.{name}").faulty()  # type: ignore[no-any-return]


#: Between them: chance, one seat, hands and drops, repetition, hexagons, a solid and heaps.
COMPILED = ("2048", "abalone", "cube", "einstein", "minishogi", "nim")


@pytest.mark.parametrize(
    "name", [name if name in COMPILED else pytest.param(name, marks=pytest.mark.soak) for name in games.names()]
)
def test_every_game_keeps_the_laws(name: str) -> None:
    report = check_game(make(name), games=3)
    assert report.positions > 0
    assert {law.name for law in report.laws} >= {"notation", "compiled equals interpreted", "symmetries"}


#: Plain Python tries these on boards it can fill in a second.
SMALLER = {"go": "go(size=5)", "gomoku": "gomoku(size=7)", "hex": "hex(size=5)"}


@pytest.mark.parametrize("name", [name for name in games.names() if name not in COMPILED])
def test_every_game_keeps_the_laws_interpreted(name: str, interpreted: None) -> None:
    """The tests of each game try its compiled rules."""
    assert check_game(make(SMALLER.get(name, name)), games=1).positions > 0


def laws(report: Report) -> dict[str, tuple[int, str]]:
    return {law.name: (law.count, law.note) for law in report.laws}


@compiled
def test_the_tiny_game_is_right() -> None:
    report = check_game(row(), gpu=False)
    assert (report.games, report.positions) == (20, 80)
    tried = laws(report)
    assert tried["moves listed"] == (60, "")
    assert tried["compiled equals interpreted"] == (80, "")
    assert tried["symmetries"][0] == 80
    assert tried["round trips"] == (5, "text left out: not registered")
    assert "every law holds" in str(report)


def test_chance_and_one_seat() -> None:
    tried = laws(check_game(dice()))
    assert tried["moves listed"] == tried["outcomes listed"] == (40, "")


def test_interpreted_alone(interpreted: None) -> None:
    tried = laws(check_game(row(), games=2))
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

    assert laws(check_game(row(play=play, sample=sample)))["sampling"][0] > 0


# ---- one mistake each ----


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(f"mistakes.{name}")
    needs_compiler = getattr(module, "COMPILED", False)
    if needs_compiler and not compiling.JIT:
        pytest.skip("nothing is compiled with MEIJIN_JIT=0")
    if not needs_compiler:
        monkeypatch.setattr(compiling, "JIT", False)
    if getattr(module, "WARNING", False):
        said = check_game(module.faulty(), gpu=False).warnings
        assert any(module.SAYS in warning and module.REMEDY in warning for warning in said), said
        return
    with pytest.raises(RuleError) as caught:
        check_game(module.faulty(), gpu=False, timeout=HANGING if hasattr(module, "ENDLESS") else 30)
    text = str(caught.value)
    assert module.SAYS in text
    assert module.REMEDY in text
    _assert_plain(caught.value)
    source = (FOLDER / f"{name}.py").read_text()
    if hasattr(module, "ENDLESS") or "# wrong" in source:
        assert f"{name}.py:" in text
    if "# wrong" in source:
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
    with pytest.raises(RuleError, match=r"position: row ([abc]1 ?)+\n"):
        check_game(mistake("score_outside_its_range"))


def test_a_helper_may_be_compiled_already(interpreted: None) -> None:
    """Guarded records reach plain Python only."""
    import numba

    @numba.njit
    def other(s: Any) -> int:
        return s.ply & 1  # type: ignore[no-any-return]

    def turn(s: Any) -> int:
        return other(s) if s.ply < 3 else OVER

    assert check_game(row(turn=turn), games=2, gpu=False).positions > 0


# ---- rules that hang or crash ----


def compiled_only(s: Any) -> bool:
    """Whether the rules are compiled: then a word that meets a signed integer becomes a float."""
    return bool((s.word - 1) % 7 == 6)


@compiled
def test_a_compiled_rule_that_hangs_is_named() -> None:
    def cells(s: Any, out: Any) -> None:
        i = 0
        while compiled_only(s):
            i = (i + 1) % 3
            out[i] = i
        for k in range(3):
            out[k] = s.held[k]

    with pytest.raises(
        RuleError, match=r"(?s)rule 'cells' does not return when compiled: .* after 0.5 s.*test_check.py"
    ):
        check_game(row(cells=cells), gpu=False, timeout=HANGING)


@compiled
def test_a_compiled_rule_that_crashes_is_named() -> None:
    def cells(s: Any, out: Any) -> None:
        for k in range(3):
            out[k + (1 << 45 if compiled_only(s) else 0)] = s.held[k]

    with pytest.raises(RuleError, match=r"(?s)rule 'cells' crashes when compiled \(Segmentation.*position: row"):
        check_game(row(cells=cells), gpu=False)


def test_without_a_child_process(interpreted: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows: the same report, and an interpreted rule that hangs is still stopped."""
    report = check_game(row(), gpu=False)
    monkeypatch.setattr(supervise, "FORKS", False)
    assert [law.name for law in check_game(row(), gpu=False).laws] == [law.name for law in report.laws]
    with pytest.raises(RuleError, match=r"(?s)rule 'legal' does not return.*endless_legal.py:\d+, in legal"):
        check_game(mistake("endless_legal"), gpu=False, timeout=HANGING)


def test_a_child_process_ends_with_its_parent(tmp_path: Path) -> None:
    """A program that is killed while it checks leaves no process behind that runs a rule for ever."""
    script = (
        "from mistakes import endless_legal; from meijin.core.check import check_game; "
        "check_game(endless_legal.faulty(), timeout=1000, progress=lambda law: print(law, flush=True))"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(FOLDER.parent), *sys.path])},
    )
    assert parent.stdout is not None
    for line in parent.stdout:
        if "interpreted play" in line:
            break
    parent.kill()
    assert parent.stdout.read() == ""  # returns when the last process that could write has ended
    assert parent.wait() == -signal.SIGKILL


def test_a_time_limit_must_be_positive() -> None:
    with pytest.raises(BadParameter, match="timeout=0"):
        check_game(row(), timeout=0)


# ---- random play ----


@compiled
def test_statistics_of_random_play() -> None:
    seen = play_statistics(make("tic_tac_toe"), games=2000, seed=3)
    assert (seen.games, seen.unfinished, seen.chance) == (2000, 0, 0.0)
    assert (seen.length.low, seen.length.high, seen.branching.low, seen.branching.high) == (5, 9, 1, 9)
    # Exact values of uniform random play: first seat wins 58.5 %, second 28.8 %, draws 12.7 %. Four standard errors of
    # 2,000 games are 4.4 points: a false alarm in less than one of 5,000 seeds, and this seed is fixed.
    assert abs(seen.seats[0].wins - 0.585) < 0.044
    assert abs(seen.seats[1].wins - 0.288) < 0.044
    assert abs(seen.draws - 0.127) < 0.044
    assert seen.seats[0].wins + seen.seats[1].wins + seen.draws == pytest.approx(1)
    assert seen.first_seat == pytest.approx(seen.seats[0].wins + seen.draws / 2)
    assert seen.seats[0].score.mean == pytest.approx(seen.seats[0].wins - seen.seats[1].wins)
    assert sum(seen.played) == pytest.approx(2000 * seen.length.mean)
    assert seen.seats[0].moves + seen.seats[1].moves == pytest.approx(seen.length.mean)
    assert seen.unused_moves == 0 and len(seen.move_names) == 8
    again = play_statistics(make("tic_tac_toe"), games=2000, seed=3)
    assert again == seen
    assert json.loads(json.dumps(dataclasses.asdict(seen)))["games"] == 2000


def test_statistics_of_chance_and_one_seat(interpreted: None) -> None:
    seen = play_statistics(dice(), games=30)
    assert (seen.chance, seen.draws, len(seen.seats), len(seen.occurred)) == (0.5, 0.0, 1, 2)
    assert seen.outcome_names == ("a1", "b1") and seen.forced == 0
    with pytest.raises(BadParameter, match="games=0"):
        play_statistics(dice(), games=0)
    with pytest.raises(BadParameter, match="seconds=0"):
        play_statistics(dice(), seconds=0)


def test_a_right_game_has_no_warnings(interpreted: None) -> None:
    report = check_game(make("tic_tac_toe"), games=3, gpu=False)
    assert report.warnings == ()


def test_a_move_without_cells_needs_a_name(interpreted: None) -> None:
    """Law by law: None means that nobody can click the move."""
    from meijin.core.check.declarations import declarations, notation
    from meijin.core.check.laws import Evidence

    unclickable = row(path=lambda move: (move,) if move < 2 else None, move_name=lambda move: f"m{move}")
    evidence = Evidence(unclickable, 1, 0, supervise.Watch(unclickable, 1.0))
    assert declarations(evidence).count > 0
    assert notation(evidence).count == 3


# ---- the command ----


GAME_FILE = """
from meijin import game
from mistakes._games import row
from mistakes import endless_turn, score_always_to_seat_0


@game("hanging")
def hanging():
    return endless_turn.faulty()


@game("lopsided")
def lopsided():
    return score_always_to_seat_0.faulty()


@game("right")
def right():
    return row()
"""


@pytest.fixture
def game_file(tmp_path: Path, interpreted: None) -> str:
    path = tmp_path / "mine.py"
    path.write_text(GAME_FILE)
    return str(path)


def test_the_command_reports_every_game_of_a_file(game_file: str) -> None:
    result = run("check", "--load", game_file, "--timeout", str(HANGING))
    assert result.exit_code == 2
    assert "rule 'turn' does not return: it was stopped after 0.5 seconds" in result.stderr
    assert "endless_turn.py:" in result.stderr
    assert "right  every law holds" in result.stdout
    assert "lopsided  every law holds  1 warning" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    for part in ("length", "choice", "first seat", "\n  O  ", "wins 0.0%", "! seat 1 never wins"):
        assert part in result.stdout


def test_the_command_speaks_json(game_file: str) -> None:
    result = run("check", "--load", game_file, "--timeout", str(HANGING), "--json")
    hanging, lopsided, right = json.loads(result.stdout)
    assert result.exit_code == 2 and "does not return" in hanging["error"]
    assert lopsided["warnings"] and not right["warnings"]
    assert right["error"] is None and right["statistics"]["seats"][1]["moves"] == 1.0
    assert {law["name"] for law in right["laws"]} >= {"notation", "games end"}


def test_strict_fails_on_warnings(game_file: str) -> None:
    good("check", "lopsided", "--load", game_file)
    assert run("check", "lopsided", "--load", game_file, "--strict").exit_code == 2
    good("check", "tic_tac_toe", "--games", "2", "--strict")


# ---- errors of the compiler, met in play without the kit ----


UNCOMPILED = [
    ("unknown_field", "cells", "no field 'hold'; did you mean 'held'?", "its fields are word, held, ply"),
    ("two_types_of_result", "turn", "different types on different paths", "one type on every path"),
    ("turn_returns_nothing", "turn", "returns None on some path", "return a whole number on every path"),
    ("unknown_name", "turn", "'OVR' is not defined", "define it before the rule"),
    ("float_index", "cells", "a float is used as an index", "divide with //"),
    ("recursion", "turn", "a function calls itself", "write it as a loop"),
]


@compiled
@pytest.mark.parametrize(("name", "rule", "problem", "remedy"), UNCOMPILED, ids=[m[0] for m in UNCOMPILED])
def test_a_compiler_error_is_explained(name: str, rule: str, problem: str, remedy: str) -> None:
    with pytest.raises(RuleError) as caught:
        explain(mistake(name), Exception())
    text = str(caught.value)
    assert f"rule '{rule}'" in text.splitlines()[0]
    assert problem in text
    assert remedy in text
    assert "# wrong" in text
    _assert_plain(caught.value)


@compiled
def test_play_meets_the_explanation() -> None:
    with pytest.raises(RuleError, match="rule 'cells' cannot be compiled: the record has no field 'hold'"):
        State(mistake("unknown_field")).cells  # noqa: B018


# ---- the rest of the contract of the kit itself ----


def test_a_symmetry_that_moves_the_start_must_be_named() -> None:
    def start(s: Any) -> None:
        s.ply = 0
        s.word = 0
        s.held[0] = 1
        s.held[1] = 0
        s.held[2] = 0

    with pytest.raises(RuleError, match="the start is not its own image"):
        check_game(row(start=start, longest=4, turn=_until_full), gpu=False)
    name = row().symmetries[1].name
    report = check_game(row(start=start, longest=4, turn=_until_full, keeps=(name,)), gpu=False)
    assert laws(report)["symmetries"] == (0, f"{name} not tried: the start position is not the same after it")


def _until_full(s: Any) -> int:
    return s.ply & 1 if s.ply < 2 else OVER


def test_tables_can_be_written_again_afterwards() -> None:
    with pytest.raises(RuleError):
        check_game(mistake("writes_a_table"))
    table = importlib.import_module("mistakes.writes_a_table").TABLE
    assert table.flags.writeable
    assert table.tolist() == [1, 2, 4]


def test_the_same_seed_reports_the_same_mistake() -> None:
    def text(seed: int) -> str:
        with pytest.raises(RuleError) as caught:
            check_game(mistake("symmetry_that_does_not_hold"), seed=seed)
        return str(caught.value)

    assert text(3) == text(3)


def test_no_games_is_an_error() -> None:
    with pytest.raises(BadParameter, match="games=0"):
        check_game(row(), games=0)


@pytest.mark.skipif(cuda.available(), reason="there is a GPU here")
def test_a_required_gpu_is_missing() -> None:
    with pytest.raises(NoDevice):
        check_game(row(), games=1, gpu=True)


@pytest.mark.gpu
def test_gpu_equals_cpu() -> None:
    assert laws(check_game(make("connect_four"), games=2, gpu=True))["gpu equals cpu"][0] > 0


# ---- rules that only searches ask ----


def outer(s: Any, move: int) -> bool:
    return move != 1


def packed(s: Any) -> Any:
    return np.uint64(s.ply + 4 * (s.held[0] + 3 * s.held[1] + 9 * s.held[2]))


def test_rules_for_searches_are_tried() -> None:
    count, note = laws(check_game(row(noisy=outer, key=packed)))["keys"]
    assert count > 0 and note.endswith("keys")
    assert laws(check_game(row()))["keys"] == (0, "left out: no `key`")


def test_noisy_only_reads_and_answers() -> None:
    def writes(s: Any, move: int) -> bool:
        s.word = 1
        return True

    def silent(s: Any, move: int) -> Any:
        return None

    with pytest.raises(RuleError, match="rule 'noisy' changes the record: word"):
        check_game(row(noisy=writes))
    with pytest.raises(RuleError, match="rule 'noisy'"):
        check_game(row(noisy=silent))


def test_a_key_tells_positions_apart() -> None:
    def blind(s: Any) -> Any:
        return np.uint64(s.ply)

    def writes(s: Any) -> Any:
        s.word += np.uint64(1)
        return s.word

    with pytest.raises(RuleError, match=r"(?s)rule 'key' gives 1 for two positions that differ in `legal`.*all that"):
        check_game(row(key=blind))
    with pytest.raises(RuleError, match="rule 'key' changes the record"):
        check_game(row(key=writes))


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

    assert laws(check_game(row(owners=nobody), gpu=False))["cells owned"] == (20, "")
    assert laws(check_game(row(), games=2, gpu=False))["cells owned"] == (0, "")
    for rule, problem in (
        (strange, r"(?s)rule 'owners' writes 2 to cell 0.*seats 0 to 1, and -1 for nobody"),
        (lazy, "rule 'owners' leaves cell 1 .* unwritten"),
        (writes, "rule 'owners' changes the record: word"),
        (lopsided, "rule 'owners' breaks the symmetry"),
        (long, r"(?s)rule 'owners' fails.*`owners` holds one entry for each of the 3 cells"),
    ):
        with pytest.raises(RuleError, match=problem):
            check_game(row(owners=rule), gpu=False)
