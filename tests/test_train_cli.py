"""`meijin train` and `meijin champion` as a person or a script meets them."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from commands import good, run

pytest.importorskip("torch")
pytest.importorskip("safetensors")

GAME = "tic_tac_toe"
#: The kinds of search that other tests compile too, and little of everything.
QUICK = (
    "--preset=tiny", "--set=net.blocks=1", "--set=net.channels=8", "--set=search.simulations=8",
    "--set=length.positions=60", "--set=replay.start=50", "--set=length.evaluate=0",
)  # fmt: skip


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEIJIN_DATA", str(tmp_path / "data"))


def bad(*args: str) -> str:
    result = run(*args)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("error: ")
    return str(result.stderr)


def rows(folder: str) -> list[dict[str, str]]:
    with (Path(folder) / "metrics.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_run_from_first_to_last() -> None:
    text = good("train", GAME, "zero", *QUICK, "--iterations", "2")
    assert "iteration 1 of 2" in text and "iteration 2 of 2" in text and "policy" in text and "sims/s" in text
    assert (
        "done after 2 iterations: all iterations are done" in text and """--seat 1='zero("runs/tic_tac_toe")'""" in text
    )
    config = json.loads(Path("runs/tic_tac_toe/config.json").read_text())
    assert config["search"]["simulations"] == 8 and config["net"]["channels"] == 8
    assert "add --resume" in bad("train", GAME, "zero", *QUICK)
    assert "is finished (2 iterations" in bad("train", GAME, "zero", "--resume")
    assert "another net than the config asks for" in bad(
        "train", GAME, "zero", "--resume", "--set=net.blocks=2", "--iterations=3"
    )
    assert "iteration 3 of 3" in good("train", GAME, "zero", "--resume", "--iterations", "3")
    assert next(iter(rows("runs/tic_tac_toe")[0])) == "iteration"
    assert len(rows("runs/tic_tac_toe")) == 3
    assert "is for tic_tac_toe, not for othello" in bad(
        "train", "othello", "zero", "--resume", "--out", "runs/tic_tac_toe"
    )
    played = good("match", GAME, 'zero("runs/tic_tac_toe", simulations=8)', "random", "--games", "2", "--workers", "0")
    assert "zero" in played


def test_events_and_goals() -> None:
    lines = good(
        "train", GAME, "zero", *QUICK, "--json", "--out", "r", "--iterations", "9", "--set", "length.evaluate=1",
        "--set", "evaluation.times=2", "--set", "evaluation.simulations=8",
        "--evaluate", "vs(random, games=4, goal=0.0)",
    )  # fmt: skip
    events = [json.loads(line) for line in lines.splitlines()]
    iteration = ["trained", "evaluated", "iteration_done"]
    assert [event["event"] for event in events] == ["run_started", *iteration, *iteration, "finished"]
    assert events[-1]["reason"] == "all goals are reached"
    row = events[3]["metrics"]
    assert row["goal_streak"] == 1 and row["eval_vs_random_games_4_goal_0.0"] == events[2]["value"]
    assert rows("r")[1]["goal_streak"] == "2"


def test_warm_starts() -> None:
    text = good("train", GAME, "zero", *QUICK, "--iterations=1", "--out=w", "--warm=random", "--warm-games=6")
    assert "warm start: " in text
    good("match", GAME, "random", "random", "--games", "4", "--db", "g.db", "--workers", "0")
    for name in ("g.db", "g.jsonl"):
        if name == "g.jsonl":
            good("games-db", "export", "g.db", name)
        out = f"--out=from-{name}"
        assert "warm start: " in good("train", GAME, "zero", *QUICK, "--iterations=1", out, "--from-games", name)
    assert "there is no file of games" in bad("train", GAME, "zero", *QUICK, "--out=x", "--from-games=none.db")
    assert "did you mean 'random'" in bad("train", GAME, "zero", *QUICK, "--out=x", "--warm=randon")
    assert not Path("x").exists()


def test_mistakes_are_named_before_anything_is_written() -> None:
    train = ("train", GAME, "zero", "--out", "x")
    assert "did you mean 'zero'" in bad("train", GAME, "zeros")
    assert "did you mean 'tiny'" in bad(*train, "--preset", "tinny")
    assert "write NAME=VALUE" in bad(*train, "--set", "search.simulations")
    assert "search: unknown key 'sims'" in bad(*train, "--set", "search.sims=3")
    assert "did you mean 'search.simulations'" in bad(*train, "--set", "simulations=3")
    assert "must be a whole number" in bad(*train, "--set", "search.simulations=many")
    assert "training.ema = 1.5: must be at most 1" in bad(*train, "--set", "training.ema=1.5")
    assert "warm.games=0" in bad(*train, "--set", "warm.agent=random")
    assert "unknown net size 'huge'" in bad(*train, "--preset=tiny", "--set", "net.size=huge")
    assert "write cpu, cuda" in bad(*train, "--device", "gpu")
    assert "unknown evaluator 'vss'" in bad(*train, "--evaluate", "vss(random)")
    assert "does not fit" in bad(*train, "--evaluate", "score")
    assert "holds no run to resume" in bad(*train, "--resume")
    Path("c.json").write_text('{"game": "othello"}')
    assert "c.json is for othello" in bad(*train, "--config", "c.json")
    Path("c.json").write_text("[]")
    assert "c.json: []: must be a table" in bad(*train, "--config", "c.json")
    Path("c.toml").write_text("[length]\niterations = 0")
    assert "c.toml: length.iterations = 0: must be at least 1" in bad(*train, "--config", "c.toml")
    Path("c.toml").write_text("length = { iterations = 1" + "0" * 77 + " }")
    assert "64 bits" in bad(*train, "--config", "c.toml")
    assert "--warm-games is not an option of classic" in bad("train", GAME, "classic", "--warm-games", "3")
    assert "seconds=0.0: must be above 0" in bad(*train, "--seconds", "0")
    assert "iterations = 0: must be at least 1" in bad(*train, "--iterations", "0")
    assert not Path("x").exists()


def test_a_toml_file_configures_a_run() -> None:
    Path("c.toml").write_text(
        'game = "tic_tac_toe"\n[net]\nblocks = 1\nchannels = 8\n[search]\nsimulations = 8\n'
        "[length]\niterations = 1\npositions = 60\nevaluate = 0\n"
    )
    good("train", GAME, "zero", "--preset=tiny", "--config", "c.toml", "--out", "r")
    config = json.loads(Path("r/config.json").read_text())
    assert config["method"] == "zero" and config["length"]["positions"] == 60 and config["net"]["channels"] == 8


def test_a_game_of_ones_own_trains_in_worker_processes() -> None:
    from meijin.games import tic_tac_toe

    Path("my game.py").write_text(Path(tic_tac_toe.__file__).read_text().replace('@game("', '@game("my_'))
    command = [
        sys.executable, "-m", "meijin", "train", "my_tic_tac_toe", "zero", *QUICK, "--iterations=1", "--out=r",
        "--load", "my game.py", "--selfplay-device", "cpu,cpu", "--set=length.positions=20", "--set=replay.start=16",
    ]  # fmt: skip
    interpreted = {**os.environ, "MEIJIN_JIT": "0"}  # quicker than compiling for a game that is used once
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=interpreted)
    assert """meijin play 'my_tic_tac_toe' --load 'my game.py' --seat 1='zero("r")'""" in done.stdout, done.stderr
    assert "warning" not in done.stdout
    assert float(rows("r")[0]["games"]) > 0


def test_classic_nets() -> None:
    Path("c.json").write_text(json.dumps({"learn": "exact", "epochs": 1, "positions": 200}))
    text = good("train", GAME, "classic", "--config", "c.json", "--iterations", "2")
    assert "iteration 2 of 2" in text and 'policy("runs/tic_tac_toe-classic")' in text
    more = good("train", GAME, "classic", "--resume", "--iterations", "3")
    assert "iteration 3 of 3" in more and "iteration 2 of 3" not in more
    assert "is finished (3 iterations," in bad("train", GAME, "classic", "--resume")


def test_interrupted_it_says_how_to_go_on() -> None:
    command = [sys.executable, "-m", "meijin", "train", GAME, "zero", *QUICK, "--iterations=100000", "--out=r"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
    assert child.stdout is not None
    assert child.stdout.readline().startswith("iteration 1 of 100000")
    child.send_signal(signal.SIGINT)
    text, errors = child.communicate(timeout=60)
    assert child.returncode == 130, errors
    assert "continue with --resume" in text and "Traceback" not in errors
    done = len(rows("r"))
    assert f"everything up to iteration {done} is in r" in text
    assert f"iteration {done + 1} of {done + 1}" in good(
        "train", GAME, "zero", "--out=r", "--resume", "--iterations", str(done + 1)
    )


def test_a_run_becomes_a_champion_and_is_played_against(monkeypatch: pytest.MonkeyPatch) -> None:
    from meijin.learning import files

    monkeypatch.setattr(files, "PACKAGED", Path("none"))
    assert "no champions yet" in good("champion", "list")
    assert "mcts(seconds=1)" in good("play", GAME, input="quit\n")
    good("train", GAME, "zero", *QUICK, "--iterations", "1", "--out", "r")
    text = good(
        "champion", "make", "r", "--measure", "vs(random, games=4)", "--simulations", "8", "--workers", "0",
        "--note", "a try",
    )  # fmt: skip
    assert "vs(random, games=4)" in text
    (said,) = json.loads(good("champion", "list", "--json"))
    assert said["game"] == GAME and said["facts"]["note"] == "a try" and said["facts"]["config"]["game"] == GAME
    assert said["facts"]["strength"][0]["games"] == 4 and said["facts"]["curve"]
    assert Path(said["path"]).stat().st_size < 3_000_000
    assert [path.name for path in Path("data/champions").iterdir()] == ["tic_tac_toe.safetensors"]
    shown = good("play", GAME, "--simulations", "8", input="b2\nquit\n")
    assert "champion(simulations=8)" in shown and "last move O" in shown
    monkeypatch.setattr(files, "torch_missing", lambda: "torch")
    assert "champion(simulations=400)" in good("play", GAME, input="quit\n")  # playing needs no PyTorch
    assert "pip install torch" in bad("train", GAME, "zero", *QUICK, "--out", "r2")
