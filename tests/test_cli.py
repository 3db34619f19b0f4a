"""The command line as a person or a script meets it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from commands import good, run

# Small enough to be searched to the end in no time.
SMALL = "tic_tac_toe"

BROKEN = "import meijin\n\nboard = meijin.boards.square(0)\n"
THREE_SEATS = "nim(heaps=(1, 2), players=3)"


def good_json(*args: str) -> Any:
    return json.loads(good(*args, "--json"))


def bad(*args: str) -> str:
    """The error of a command that must fail: one message on stderr, nothing else anywhere."""
    result = run(*args)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    return str(result.stderr)


def shell(*args: str, **kwargs: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "meijin", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **kwargs)


# ---- the program ----


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys, meijin.cli, meijin.cli.app\n"
        "print([m for m in ('numba', 'numpy', 'rich', 'meijin.core.game') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_help_lists_every_command() -> None:
    text = good("--help")
    for command in ("games", "agents", "play", "match", "inspect", "perft", "bench", "new", "check"):
        assert command in text
        assert "Usage: meijin" in good(command, "--help")


def test_version() -> None:
    import meijin

    assert good("--version").strip() == f"meijin {meijin.__version__}"
    assert shell("--version").stdout.strip() == f"meijin {meijin.__version__}"


def test_mistakes_in_the_arguments() -> None:
    assert "see 'meijin play --help'" in bad("play")
    assert "'meijin --help'" in bad("plya")
    assert "--dpeth" in bad("perft", SMALL, "--dpeth", "3")
    assert "'--depth'" in bad("perft", SMALL, "--depth", "abc")


def test_error_is_one_line_without_traceback() -> None:
    done = shell("inspect", "conect_four")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: unknown game 'conect_four'; did you mean 'connect_four'?\n"


def test_closed_pipe_is_quiet() -> None:
    program = subprocess.Popen(
        [sys.executable, "-m", "meijin", "play", SMALL, "--seat", "0=random", "--seat", "1=random"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert program.stdout is not None and program.stderr is not None
    program.stdout.close()
    errors = program.stderr.read()
    assert program.wait(timeout=120) != 0
    assert errors == b""


def test_interrupt_ends_even_compiled_code_quietly() -> None:
    # Where this test runs in the background, SIGINT is ignored and the program would inherit that.
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from meijin.cli import main; main()"
    )
    program = subprocess.Popen(
        [sys.executable, "-u", "-c", code, "play", "connect_four", "--seat", "1=mcts(seconds=600, threads=2)"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert program.stdin is not None and program.stdout is not None and program.stderr is not None
    program.stdin.write("4\n")
    program.stdin.flush()
    while "help for commands): 4" not in program.stdout.readline():
        pass  # once the move is echoed, the agent thinks for ten minutes
    program.send_signal(signal.SIGINT)
    assert program.wait(timeout=60) == 130
    assert program.stderr.read() == ""


# ---- listings ----


def test_games() -> None:
    text = good("games")
    assert "connect_four" in text and "Connect Four" in text and "connect=4" in text
    rows = {row["name"]: row for row in good_json("games")}
    row = rows["connect_four"]
    assert row["title"] == "Connect Four"
    assert row["summary"].startswith("Drop discs")
    assert row["parameters"] == {"width": 7, "height": 6, "connect": 4}
    assert (row["seats"], row["chance"]) == (2, False)
    assert rows["2048"]["chance"] is True


def test_agents() -> None:
    text = good("agents")
    assert "mcts" in text and "random" in text and "c=1.414" in text
    rows = {row["name"]: row for row in good_json("agents")}
    assert rows["mcts"]["parameters"]["threads"] == 1
    assert rows["human"]["parameters"] == {}
    assert "fits" not in rows["mcts"]


def test_agents_say_why_they_do_not_fit(tmp_path: Path) -> None:
    file = tmp_path / "picky.py"
    file.write_text(
        "from meijin.agents.catalogue import agents\n"
        "from meijin.agents.random import Random\n"
        "@agents.register('picky')\n"
        "class Picky(Random):\n"
        "    def unfit(self, game):\n"
        "        return 'it dislikes crosses' if game.name == 'tic_tac_toe' else None\n"
    )
    rows = {row["name"]: row for row in good_json("agents", "--game", SMALL, "--load", str(file))}
    assert (rows["picky"]["fits"], rows["picky"]["why"]) == (False, "it dislikes crosses")
    assert (rows["mcts"]["fits"], rows["mcts"]["why"]) == (True, None)
    assert "it dislikes crosses" in good("agents", "--game", SMALL, "--load", str(file))
    assert "it dislikes crosses" in bad("match", SMALL, "picky", "random", "--load", str(file))


# ---- play ----


def test_play_with_piped_moves() -> None:
    done = shell("play", SMALL, "--seat", "1=human", input="a1\na2\nb1\nb2\nc1\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("your move (help for commands): ") == 5
    assert "X  wins" in done.stdout.splitlines()[-1]
    assert "\x1b" not in done.stdout


def test_play_against_the_default_agent_and_win_or_not() -> None:
    text = good("play", SMALL, "--simulations", "200", "--seed", "3", input="b2\nquit\n")
    assert "mcts(seconds=1)" in text
    assert "O  plays" in text


def test_play_commands() -> None:
    commands = ["help", "moves", "history", "undo", "redo", "a1", "b2", "history", "undo", "redo", "undo", "undo"]
    lines = [*commands, "c3", "zz", "hlep", "", "hint", "resign"]
    text = good("play", SMALL, "--seat", "1=human", input="\n".join(lines) + "\n")
    assert "take back your last move" in text
    assert "a3 b3 c3 a2 b2 c2 a1 b1 c1" in text
    assert "no move has been made" in text
    assert "nothing to undo: you have not moved yet" in text
    assert "nothing to redo" in text
    assert "'zz' is not a move of tic_tac_toe" in text
    assert "'hlep' is neither a move nor a command; did you mean 'help'?" in text
    assert "expected line" in text and "simulations" in text
    assert text.splitlines()[-1] == "game over: O resigns;  X  wins"


def test_undo_goes_back_over_the_agents_reply() -> None:
    text = good("play", SMALL, "--seat", "1=random", "--seed", "1", input="b2\nundo\nhistory\nredo\nhistory\n")
    assert "no move has been made" in text
    last = text.split("history\n")[-1]
    assert "1  X  b2" in last and "2  O " in last
    assert "no more input: the game stays unfinished" in last


def test_play_from_a_line_and_illegal_line() -> None:
    text = good("play", SMALL, "--moves", "a1 a2 b1 b2", "--seat", "1=human", input="c1\n")
    assert "last move  O  b2" in text and "X  wins" in text
    error = bad("play", SMALL, "--moves", "a1 a1")
    assert "--moves 'a1 a1': 'a1' is not legal here" in error and "(after: a1)" in error


def test_agents_alone_just_play() -> None:
    watch = ["play", SMALL, "--seat", "0=random", "--seat", "1=random", "--seed", "5"]
    assert good(*watch) == good(*watch)
    assert "game over: " in good(*watch)


def test_play_alone_with_chance_and_score() -> None:
    text = good("play", "2048", "--seed", "1", input="left\nup\nright\ndown\nresign\n")
    assert "chance: " in text and "score " in text
    assert "you stop with a score of " in text
    assert "final score" in good("play", "2048", "--seat", "0=random", "--seed", "1")


def test_play_with_three_seats() -> None:
    text = good("play", THREE_SEATS, "--seat", "1=random", "--seat", "2=random", "--seed", "1", input="a1\n")
    assert "seat 2" in text


def test_bad_seats() -> None:
    assert "write SEAT=AGENT" in bad("play", SMALL, "--seat", "random")
    assert "write SEAT=AGENT" in bad("play", SMALL, "--seat", "x=random")
    assert "no seat 2; its seats are 0, 1" in bad("play", SMALL, "--seat", "2=random")
    assert "given twice" in bad("play", SMALL, "--seat", "0=random", "--seat", "0=random")
    assert "did you mean 'random'?" in bad("play", SMALL, "--seat", "0=randon")


def test_play_in_a_terminal() -> None:
    pexpect = pytest.importorskip("pexpect")
    child = pexpect.spawn(
        sys.executable,
        ["-m", "meijin", "play", SMALL, "--seat", "1=random", "--seed", "1"],
        encoding="utf-8",
        dimensions=(24, 80),
        timeout=120,
        env={**os.environ, "TERM": "xterm-256color"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background ignore it
    )
    child.expect_exact("your move (help for commands): ")
    assert "\x1b[" in child.before  # colours
    child.sendline("b2")
    child.expect("plays")
    child.expect_exact("your move (help for commands): ")
    for _ in range(6):  # Python notices one that comes between its prompt and its wait for a key only with the next
        child.sendintr()
        if child.expect([pexpect.EOF, pexpect.TIMEOUT], timeout=20) == 0:
            break
    child.close()
    assert child.exitstatus == 130
    assert "Traceback" not in child.before


# ---- match ----

MATCH_KEYS = {"name", "wins", "draws", "losses", "score", "interval"}


def test_match() -> None:
    command = ["match", SMALL, "mcts(simulations=50)", "random", "--games", "6", "--seed", "4"]
    text = good(*command)
    assert "mcts(simulations=50)" in text and "as  X" in text and "95 % interval" in text
    result = good_json(*command)
    assert set(result) == {
        "game", "games", "plies", "seed", "openings", "agents", "elo", "sprt", "endings", "forfeits",
    }  # fmt: skip
    assert (result["game"], result["games"], result["seed"]) == (SMALL, 6, 4)
    assert [agent["name"] for agent in result["agents"]] == ["mcts(simulations=50)", "random"]
    for agent in result["agents"]:
        assert set(agent) == MATCH_KEYS | {"forfeits", "seats"}
        assert agent["wins"] + agent["draws"] + agent["losses"] == 6
        assert agent["score"] == pytest.approx((agent["wins"] + agent["draws"] / 2) / 6)
        low, high = agent["interval"]
        assert 0 <= low <= agent["score"] <= high <= 1
        assert [set(seat) for seat in agent["seats"]] == [MATCH_KEYS] * 2
        assert sum(seat["wins"] for seat in agent["seats"]) == agent["wins"]
    assert good_json(*command) == result


def test_match_of_one_seat_gives_the_mean_score() -> None:
    result = good_json("match", "2048", "random", "--games", "3")
    agent = result["agents"][0]
    assert agent["score"] > 1 and agent["interval"][0] <= agent["score"] <= agent["interval"][1]
    assert good_json("match", "2048", "random", "--games", "1")["agents"][0]["interval"] == [None, None]
    assert "mean score" in good("match", "2048", "random", "--games", "2")


def test_match_errors() -> None:
    assert "2 seats; name that many agents, not 1" in bad("match", SMALL, "random")
    assert "not 3" in bad("match", SMALL, "random", "random", "random")
    assert "did you mean 'mcts'?" in bad("match", SMALL, "mtcs", "random")
    assert "at least one game" in bad("match", SMALL, "random", "random", "--games", "0")
    assert "meijin play" in bad("match", SMALL, "human", "random")
    assert "above zero" in bad("match", SMALL, "random", "random", "--seconds", "0")


# ---- inspect ----


def test_inspect() -> None:
    command = ["inspect", SMALL, "--moves", "a1 a2 b1 b2", "--agent", "mcts(simulations=500)"]
    text = good(*command)
    assert "c1" in text and "win" in text and "expected line" in text and "to move" in text
    result = good_json(*command)
    assert {"best", "moves", "value", "simulations", "seconds", "turn"} <= set(result)
    assert (result["best"], result["turn"], result["value"]) == ("c1", 0, 1.0)
    assert len(result["moves"]) == 5
    best = result["moves"][0]
    assert set(best) == {"move", "visits", "prior", "value", "values", "pv", "proven"}
    assert (best["move"], best["value"], best["values"]) == ("c1", 1.0, [1.0, -1.0])
    assert best["proven"] is True and best["pv"][0] == "c1"


def test_inspect_values_are_the_movers() -> None:
    result = good_json("inspect", SMALL, "--moves", "a1 a2 b1 b2 c3", "--agent", "mcts(simulations=500)")
    assert (result["turn"], result["best"], result["value"]) == (1, "c2", 1.0)
    assert result["values"] == [-1.0, 1.0]


def test_inspect_agents_that_say_little_and_games_of_three() -> None:
    result = good_json("inspect", SMALL, "--agent", "random")
    assert result["value"] is None and result["moves"][0]["visits"] is None
    assert result["moves"][0]["prior"] == pytest.approx(1 / 9)
    assert "11.1 %" in good("inspect", SMALL, "--agent", "random")
    assert len(good_json("inspect", THREE_SEATS)["moves"][0]["values"]) == 3
    assert "seat 2" in good("inspect", THREE_SEATS)


def test_inspect_errors() -> None:
    assert "the game is over" in bad("inspect", SMALL, "--moves", "a1 a2 b1 b2 c1")
    assert "chance moves next" in bad("inspect", "2048")
    assert "is not legal here" in bad("inspect", SMALL, "--moves", "d9")
    assert "did you mean 'mcts'?" in bad("inspect", SMALL, "--agent", "mctss")
    assert "unknown parameter" in bad("inspect", SMALL, "--agent", "mcts(sims=3)")
    assert "an agent that searches" in bad("inspect", SMALL, "--agent", "human")


# ---- perft and bench ----


def test_perft() -> None:
    assert good_json("perft", "connect_four", "--depth", "5")["nodes"] == [7, 49, 343, 2401, 16807]
    assert good_json("perft", SMALL, "--depth", "2", "--moves", "b2")["nodes"] == [8, 56]
    assert "16,807" in good("perft", "connect_four", "--depth", "5")
    assert "--depth 0: choose from 1" in bad("perft", SMALL, "--depth", "0")


def test_bench() -> None:
    result = good_json("bench", SMALL, "--seconds", "0.05", "--threads", "2")
    assert set(result) == {"game", "moves_per_second", "playouts_per_second", "threads", "device", "machine"}
    assert (result["game"], result["threads"], result["device"]) == (SMALL, 2, "cpu")
    assert result["moves_per_second"] > 0 and result["playouts_per_second"] > 0
    assert "random moves" in good("bench", "2048", "--seconds", "0.05")


def test_bench_errors() -> None:
    assert "choose cpu or cuda" in bad("bench", SMALL, "--device", "tpu")
    assert "--threads 0" in bad("bench", SMALL, "--threads", "0")
    assert "--seconds 0" in bad("bench", SMALL, "--seconds", "0")


def test_bench_without_a_gpu() -> None:
    from meijin.core import cuda

    if cuda.available():
        pytest.skip("there is a GPU")
    assert "no GPU can be used" in bad("bench", SMALL, "--device", "cuda")


@pytest.mark.gpu
def test_bench_on_the_gpu() -> None:
    result = good_json("bench", SMALL, "--device", "cuda", "--seconds", "0.1")
    assert result["moves_per_second"] > 0 and result["playouts_per_second"] is None


# ---- a person's own game ----


def test_new_then_check_then_play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = good("new", "first_try")
    assert "meijin check --load first_try.py" in text and "meijin play first_try --load first_try.py" in text
    checked = good("check", "--load", "first_try.py")
    assert "first_try" in checked and "✓" in checked
    good("check", "first_try(size=3)", "--load", "first_try.py")
    played = good(
        "play", "first_try(size=3)", "--load", "first_try.py", "--seat", "1=human", input="a1\na2\nb1\nb2\nc1\n"
    )
    assert "O  wins" in played.splitlines()[-1]
    assert "choose a whole number" in bad("play", "first_try(size=2)", "--load", "first_try.py")
    assert "first_try" in good("games", "--load", "first_try.py")


def test_new_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("precious")
    assert "--force" in bad("new", "mine")
    assert (tmp_path / "mine.py").read_text() == "precious"
    good("new", "mine", "--force")
    assert "def mine(" in (tmp_path / "mine.py").read_text()
    for name in ("two words", "class", "../up", "3d", ""):
        assert "cannot name a game" in bad("new", name)
    assert "already" in bad("new", "connect_four")


def test_load_of_a_broken_file(tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text(BROKEN)
    assert "broken.py:3: " in bad("games", "--load", str(file))
    file.write_text("def (:\n")
    assert "broken.py:1: SyntaxError" in bad("play", SMALL, "--load", str(file))
    file.write_text("x = 1\n")
    assert "registers no game" in bad("check", "--load", str(file))
    assert "cannot read" in bad("perft", SMALL, "--depth", "1", "--load", str(tmp_path / "none.py"))


def test_check_names_the_law_a_game_breaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    good("new", "faulty")
    source = (tmp_path / "faulty.py").read_text()
    assert "longest=size * size," in source
    (tmp_path / "faulty.py").write_text(source.replace("longest=size * size,", "longest=3,"))
    assert "longest=3" in bad("check", "--load", "faulty.py")
    assert "give a game" in bad("check")
