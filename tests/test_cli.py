"""The command line as a person or a script meets it."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import EntryPoint
from io import StringIO
from pathlib import Path
from typing import Any, cast

import pytest
from rich.cells import cell_len
from rich.console import Console

from commands import good, run
from meijin.agents.catalogue import agents, build
from meijin.arena.stats import elo_difference
from meijin.cli.inspect import moves_table
from meijin.cli.match import elo_words
from meijin.core.agent import Analysis, MoveInfo
from meijin.core.catalogue import make
from meijin.core.errors import MeijinError, UnknownName
from meijin.core.state import State
from meijin.learning import files

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


def test_help_lists_every_command() -> None:
    text = good("--help")
    for command in ("games", "agents", "play", "rules", "match", "inspect", "perft", "bench", "new", "check"):
        assert command in text
        assert "Usage: meijin" in good(command, "--help")


def test_help_shows_flags_without_a_value() -> None:
    for command in (["inspect"], ["champion", "list"]):
        text = good(*command, "--help")
        assert "--json" in text and "--help" in text and "-h " in text
        assert "bool" not in text.lower()


def test_version() -> None:
    import meijin

    assert good("--version").strip() == f"meijin {meijin.__version__}"
    assert shell("--version").stdout.strip() == f"meijin {meijin.__version__}"


def test_a_command_without_arguments_shows_its_help() -> None:
    for words in ((), ("fame",), ("champion",), ("games-db",)):
        done = shell(*words)
        assert (done.returncode, done.stderr) == (0, "") and f"Usage: {' '.join(('meijin', *words))} " in done.stdout


def test_mistakes_in_the_arguments() -> None:
    assert "see 'meijin inspect --help'" in bad("inspect")
    assert "'meijin games' lists them" in bad("play")
    assert "'meijin --help'" in bad("plya")
    assert "--dpeth" in bad("perft", SMALL, "--dpeth", "3")
    assert "'--depth'" in bad("perft", SMALL, "--depth", "abc")


def test_an_unknown_option_is_compared_with_those_of_its_command() -> None:
    said = bad("inspect", SMALL, "--postion", "x")
    assert said == "error: no such option: --postion; did you mean '--position'?; see 'meijin inspect --help'\n"
    assert bad("bench", SMALL, "--position", "x") == "error: no such option: --position; see 'meijin bench --help'\n"
    assert "error: option '--sprt' requires 2 arguments; see 'meijin match --help'" in bad(
        "match", SMALL, "--sprt", "0"
    )


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
    assert rows["nim"]["seat_range"] == [2, 16] and "2 to 16" in text
    assert rows["2048"]["chance"] is True


def test_agents() -> None:
    text = good("agents")
    assert "mcts" in text and "random" in text and "c=1.414" in text
    rows = {row["name"]: row for row in good_json("agents")}
    assert rows["mcts"]["parameters"]["threads"] == 1 and rows["mcts"]["broken"] is None
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


def test_an_agent_that_cannot_be_loaded_does_not_hide_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "_entries", dict(agents._entries))
    monkeypatch.setattr(agents, "broken", dict(agents.broken))
    monkeypatch.setattr(agents, "_waiting", [*agents._unloaded(), EntryPoint("gone", "no_such_module:Agent", "")])
    rows = {row["name"]: row for row in good_json("agents")}
    assert "no_such_module" in rows["gone"]["broken"] and rows["mcts"]["broken"] is None


def test_rules() -> None:
    text = " ".join(good("rules", "connect_four(width=5)").split())
    assert "Connect Four connect_four(width=5)" in text and "Drop discs into columns" in text and "`" not in text
    assert "seats: yellow, red" in text
    assert "parameter type default here allowed" in text and "width int 7 5 1 to 26" in text
    assert "default allowed" in " ".join(good("rules", "connect_four").split())
    assert "did you mean 'othello'?" in bad("rules", "otello")


# ---- the arguments of agents ----


def complaint(agent: str) -> str:
    """What the command line would print after "error: " about an agent; "" if it can be made."""
    try:
        build(agent).close()
    except MeijinError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "value", ['"a"', "-1", "1.5", "1e999", "1" + 30 * "0", "[1, 2]", "True", "None", "nan", "mcts"]
)
def test_bad_arguments_of_agents_are_named_in_one_line(value: str) -> None:
    wrong = {'"a"': "int float bool", "[1, 2]": "int float bool str", "1.5": "int bool str", "True": "int float str"}
    for name in agents.names():
        try:
            entry = agents.get(name)
        except UnknownName:
            continue  # its dependencies are not installed
        if not cast(Any, entry.factory).__module__.startswith("meijin."):
            continue  # another test's
        kinds = {p.name: str(p.annotation).removesuffix(" | None") for p in entry.parameters.values()}
        needed = [p.name for p in entry.parameters.values() if p.default is p.empty]
        for parameter, kind in kinds.items() if name != "human" else ():
            given = {other: "random" if kinds[other] == "Agent" else '"nowhere"' for other in needed}
            said = ", ".join(f"{key}={text}" for key, text in (given | {parameter: value}).items())
            error = complaint(f"{name}({said})")
            assert "\n" not in error and "supported" not in error and "NoneType" not in error, error
            accepted = not error or "nowhere" in error
            fits = value == '"a"' and "str" in kind  # a text, of which only its meaning can be wrong
            assert accepted or fits or error.startswith(f"{parameter}="), error
            assert not accepted or kind not in wrong.get(value, "").split(), (name, parameter, value)


def test_bad_arguments_of_agents_at_the_command_line() -> None:
    assert (
        bad("inspect", SMALL, "--agent", "mcts(simulations='a')") == "error: simulations='a': must be a whole number\n"
    )
    assert bad("match", SMALL, "random(seed=[1])", "random") == "error: seed=(1,): must be a whole number\n"
    assert bad("play", SMALL, "--seat", "1=alphabeta(table_mb=-1)").startswith("error: table_mb=-1: ")
    assert bad("play", SMALL, "--seconds", "nan").startswith("error: seconds=nan: ")


# ---- match ----

MATCH_KEYS = {"name", "wins", "draws", "losses", "score", "interval"}


def test_match() -> None:
    command = ["match", SMALL, "mcts(simulations=50)", "random", "--games", "6", "--seed", "4"]
    text = good(*command)
    assert "mcts(simulations=50)" in text and "as X" in text and "95 % interval" in text
    result = good_json(*command)
    assert set(result) == {
        "game", "games", "plies", "seed", "openings", "agents", "elo", "sprt", "endings", "forfeits", "stopped",
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


def test_match_names_the_limit_that_holds() -> None:
    text = good("match", SMALL, "mcts(seconds=1)", "random", "--games", "2", "--simulations", "20", "--workers", "0")
    assert "mcts(simulations=20)" in text and "seconds=1" not in text and " random " in text


def test_match_of_one_seat_gives_the_mean_score() -> None:
    result = good_json("match", "2048", "random", "--games", "3")
    agent = result["agents"][0]
    assert agent["score"] > 1 and agent["interval"][0] <= agent["score"] <= agent["interval"][1]
    assert good_json("match", "2048", "random", "--games", "1")["agents"][0]["interval"] == [None, None]
    assert "mean score" in good("match", "2048", "random", "--games", "2")


def test_a_match_won_by_one_side_alone_gives_a_bound_of_the_difference() -> None:
    assert elo_words(elo_difference([[1.0, 1.0]] * 10)) == (("at least +287 Elo", "bold"), " (95 %)")
    assert elo_words(elo_difference([[0.0, 0.0]] * 10)) == (("at most -287 Elo", "bold"), " (95 %)")


def test_a_limit_that_nobody_can_wait_for_is_refused() -> None:
    assert "--seconds inf: nobody can wait that long; give at most 1,000,000" in bad(
        "inspect", SMALL, "--seconds", "inf"
    )
    for command in (
        ["inspect", SMALL],
        ["match", SMALL, "random", "random"],
        ["play", SMALL],
        ["evaluate", SMALL, "mcts"],
    ):
        assert "nobody can wait that long" in bad(*command, "--simulations", "9" * 20)


def test_match_errors() -> None:
    assert "2 seats; name that many agents, not 1" in bad("match", SMALL, "random")
    assert "not 3" in bad("match", SMALL, "random", "random", "random")
    assert "did you mean 'mcts'?" in bad("match", SMALL, "mtcs", "random")
    assert "must be at least 1" in bad("match", SMALL, "random", "random", "--games", "0")
    assert "meijin play" in bad("match", SMALL, "human", "random")
    assert "must be above 0" in bad("match", SMALL, "random", "random", "--seconds", "0")


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


def test_inspect_agents_that_say_little_and_games_of_three(interpreted: None) -> None:
    result = good_json("inspect", SMALL, "--agent", "random")
    assert result["value"] is None and result["moves"][0]["visits"] is None
    assert result["moves"][0]["prior"] == pytest.approx(1 / 9)
    assert "11.1 %" in good("inspect", SMALL, "--agent", "random")
    assert len(good_json("inspect", THREE_SEATS)["moves"][0]["values"]) == 3
    assert "player 3" in good("inspect", THREE_SEATS)


def test_inspect_draws_chance_by_the_seed() -> None:
    command = ["inspect", "2048", "--agent", "random", "--seed"]
    first = good_json(*command, "1")
    assert len(first["history"]) == 2 and first == good_json(*command, "1")
    assert first["history"] != good_json(*command, "2")["history"]
    assert "player" not in good(*command, "1")  # there is only one


def test_inspect_names_the_limit_that_holds() -> None:
    command = ["inspect", SMALL, "--agent", "mcts(seconds=1, c=2)"]
    assert "mcts(c=2, simulations=50): 50 simulations" in good(*command, "--simulations", "50")
    assert good_json(*command, "--seconds", "0.01")["agent"] == "mcts(c=2, seconds=0.01)"
    assert good_json("inspect", SMALL, "--agent", "random", "--seconds", "0.5")["agent"] == "random"


def test_inspect_watch_without_a_terminal_prints_the_end_of_it() -> None:
    text = good("inspect", SMALL, "--watch", "--simulations", "300")
    assert "mcts(simulations=300): 300 simulations" in text and text.count("expected line") == 1


@pytest.mark.parametrize("width", [120, 80, 60, 40, 30])
@pytest.mark.parametrize("game", [SMALL, THREE_SEATS])
def test_a_narrow_table_shortens_the_line_and_never_a_number(game: str, width: int) -> None:
    state = State(make(game))
    line = (*state.legal_moves, *state.legal_moves, *state.legal_moves)
    values = (0.125, -0.25, -0.625)[: state.game.seats]
    infos = tuple(MoveInfo(move, 1234567, 0.4375, values, pv=line) for move in state.legal_moves)
    console = Console(width=width, file=StringIO(), legacy_windows=False)
    console.print(moves_table(state, Analysis(state.turn, infos, values), width=width))
    rows = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert all(cell_len(row.rstrip()) <= width for row in rows)
    for move, row in zip(state.legal_moves, rows[3:], strict=False):
        assert all(text in row for text in (f" {move.name} ", "1,234,567", "+0.125"))
        assert "43.8 %" in row or width < 40
        assert "…" in row or "expected line" not in rows[1] or width == 120
    assert "expected line" in rows[1] or width < (80 if state.game.seats > 2 else 60)


def test_inspect_errors() -> None:
    assert "the game is over" in bad("inspect", SMALL, "--moves", "a1 a2 b1 b2 c1")
    assert "give one of them" in bad("inspect", SMALL, "--watch", "--json")
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


def test_a_position_to_begin_from() -> None:
    cross = ("--position", "1OX/3/2X 1")
    found = good_json("inspect", SMALL, *cross, "--moves", "b2", "--agent", "perfect")
    assert (found["position"], found["history"], found["best"]) == (cross[1], ["b2"], "c2")
    assert good_json("perft", SMALL, "--depth", "2", *cross)["nodes"] == [6, 30]
    assert "--position '1OX 1': " in bad("perft", SMALL, "--depth", "2", "--position", "1OX 1")
    assert "the game is over in this position" in bad("inspect", "nim(heaps=(1, 2))", "--position", "0,0 0")


def test_bench() -> None:
    result = good_json("bench", SMALL, "--seconds", "0.05", "--threads", "2")
    assert set(result) == {"game", "moves_per_second", "playouts_per_second", "threads", "device", "machine"}
    assert (result["game"], result["threads"], result["device"]) == (SMALL, 2, "cpu")
    assert result["moves_per_second"] > 0 and result["playouts_per_second"] > 0
    assert "random moves" in good("bench", SMALL, "--seconds", "0.05")


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


@pytest.mark.parametrize("kind", ["placement", "movement", "dice", "hand"])
def test_every_kind_of_new_game_keeps_the_laws_and_can_be_played(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled_in_soak: None
) -> None:
    monkeypatch.chdir(tmp_path)
    name = f"try_{kind}"
    good("new", name, "--kind", kind)
    source = Path(f"{name}.py").read_text()
    assert "my_game" not in source and f'"{name}"' in source and f'title="Try {kind}"' in source
    assert "every law holds" in good("check", "--load", f"{name}.py", "--games", "5")
    watched = good("play", name, "--load", f"{name}.py", "--seat", "0=random", "--seat", "1=random", "--seed", "1")
    assert "game over: " in watched
    assert ("stones  X" in watched) == (kind == "movement") and ("lines  X" in watched) == (kind == "hand")
    assert ("the other side is reached" in watched or "no move is left" in watched) == (kind == "movement")
    assert "parameter" in good("rules", name, "--load", f"{name}.py")


def test_the_starters_are_all_offered() -> None:
    from meijin.cli.new import kinds

    assert kinds() == ["dice", "hand", "movement", "placement"]
    assert "--kind='dise': choose one of" in bad("new", "unwritten", "--kind", "dise")


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
    assert "O wins" in played.splitlines()[-1]
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


def test_publish_says_that_pages_play_no_n_tuple_networks() -> None:
    said = bad("publish", "nim", "--net", str(files.PACKAGED / "nim.safetensors"))
    assert "n-tuple network" in said and "meijin train nim zero" in said


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
    assert "longest=area," in source
    (tmp_path / "faulty.py").write_text(source.replace("longest=area,", "longest=3,"))
    assert "longest=3" in bad("check", "--load", "faulty.py")
    assert "give a game" in bad("check")


def test_check_of_an_agent(tmp_path: Path) -> None:
    text = good("check", SMALL, "--agent", "mcts(simulations=50)")
    assert "keeps its promises" in text and "✓ The move it makes is legal." in text
    file = tmp_path / "deaf.py"
    file.write_text(
        "from meijin.agents.catalogue import agents\n"
        "from meijin.core.agent import Agent, Analysis, MoveInfo\n"
        "@agents.register('careless')\n"
        "class Careless(Agent):\n"
        "    def think(self, state, limit, every):\n"
        "        yield Analysis(state.turn, tuple(map(MoveInfo, state.game.moves)))\n"
    )
    assert "list one or more legal moves" in bad("check", SMALL, "--agent", "careless", "--load", str(file))
    assert "name the game" in bad("check", "--agent", "mcts")
