"""Tournaments: plans and their mistakes, planted strength, resuming after a kill, forfeits, the report."""

from __future__ import annotations

import csv
import math
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from meijin.arena import report
from meijin.arena.plan import EXAMPLE, parse_plan, read_plan
from meijin.arena.ratings import PRIOR, Z95, bradley_terry
from meijin.arena.store import Store
from meijin.arena.tournament import Tournament, database_path
from meijin.core.errors import BadParameter, MeijinError, UnknownName

#: Agents for the tests, as a user would write them.
AGENTS = '''
import os, time
from pathlib import Path
import numpy as np
from meijin.agents.catalogue import agents, build
from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.rng import below, stream, uniform

moves = [0]
HOLD = 160  # moves of this process


class Choice(Agent):
    def __init__(self, seed=None):
        self._rng = stream(seed or 0)

    def reseed(self, seed):
        self._rng = stream(seed)

    def think(self, state, limit, every):
        with np.errstate(over="ignore"):
            yield Analysis(state.turn, (MoveInfo(self.choose(state)),))


@agents.register("noisy")
class Noisy(Choice):
    """Perfect, but for a random move now and then."""

    def __init__(self, p=0.5, seed=None):
        super().__init__(seed)
        self.p, self.best = float(p), build("perfect(vary=True)")

    def reseed(self, seed):
        super().reseed(seed)
        self.best.seed(seed)

    def choose(self, state):
        if uniform(self._rng) < self.p:
            return state.legal_moves[below(self._rng, len(state.legal_moves))]
        return self.best.act(state)


@agents.register("holding")
class Holding(Choice):
    """Random, but stops in the middle of a tournament for as long as there is a file 'hold'."""

    def __init__(self, style=0, seed=None):
        super().__init__(seed)
        self.style = style

    def choose(self, state):
        moves[0] += 1
        while moves[0] > HOLD and Path(__file__).with_name("hold").exists():
            time.sleep(0.01)
        legal = state.legal_moves
        return legal[-1] if self.style and below(self._rng, 3) else legal[below(self._rng, len(legal))]


@agents.register("raising")
class Raising(Choice):
    def choose(self, state):
        raise RuntimeError("no | idea <b>")


@agents.register("cheating")
class Cheating(Choice):
    def choose(self, state):
        return 10**6


@agents.register("unborn")
class Unborn(Choice):
    def __init__(self):
        raise ZeroDivisionError("at birth")
'''


def plan_text(agents: dict[str, str], *lines: str, name: str = "cup") -> str:
    head = ["[tournament]", f'name = "{name}"', *lines]
    return "\n".join([*head, *(f'[[agents]]\nname = "{n}"\nexpression = "{e}"' for n, e in agents.items())])


@pytest.fixture(scope="module", autouse=True)
def agents_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file for all tests in this process, as its agents have their names once."""
    file = tmp_path_factory.mktemp("agents") / "agents.py"
    file.write_text(AGENTS)
    _shared.append(file)
    return file


_shared: list[Path] = []


def prepared(folder: Path, text: str, own: bool = False) -> Path:
    """A plan in a folder; with `own`, the agents lie there too, for a process of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    if own:
        (folder / "agents.py").write_text(AGENTS)
    (folder / "cup.toml").write_text(text.replace("AGENTS", "agents.py" if own else str(_shared[-1])))
    return folder / "cup.toml"


def run(file: Path) -> Tournament:
    plan = read_plan(file)
    tournament = Tournament(plan, Store(database_path(plan, file)))
    tournament.run(workers=0)
    return tournament


LOAD = 'load = ["AGENTS"]'
TWO = {"a": "random", "b": "random"}


# ---- plans ----


def test_the_example_is_a_plan() -> None:
    plan = parse_plan(EXAMPLE)
    assert plan.games == ("connect_four",)
    assert [agent.name for agent in plan.agents] == ["random", "small search", "large search"]
    # Every line that is commented out is right too.
    whole = parse_plan(re.sub(r"(?m)^# (?=\w+ =)", "", EXAMPLE).replace('kind = "round_robin"', 'kind = "gauntlet"'))
    assert (whole.repeats, whole.limit.simulations, whole.workers, whole.anchor) == (2, 1000, 2, "random")
    assert whole.agents[2].challenger
    assert whole.agents[2].limit.seconds == 0.1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tournament]\ngames = [", "(at end of document)"),
        ("[tournament\n", "line 1"),
        ("", "there is no table [tournament]"),
        ("[turnament]\n", "cup.toml: unknown key 'turnament'; did you mean 'tournament'?"),
        ("rounds = 3\n[tournament]\n", "cup.toml: unknown key 'rounds'; it belongs below [tournament]"),
        (plan_text(TWO, 'games = ["nim"]', "rouns = 3"), "cup.toml: unknown key 'rouns'; did you mean 'rounds'?"),
        (plan_text(TWO, 'games = ["nim"]', 'rounds = "3"'), "cup.toml: rounds = '3': must be a whole number"),
        (plan_text(TWO, 'games = ["nim"]', "rounds = true"), "must be a whole number"),
        (plan_text(TWO, "rounds = 2"), "missing key 'games'"),
        (plan_text(TWO, "games = []"), "games: must not be empty"),
        (plan_text(TWO, 'games = ["nim", "nim"]'), "'nim' is named twice"),
        (plan_text(TWO, "games = 7"), "must be a string or a list"),
        (plan_text(TWO, 'games = ["nim("]'), "cannot read the expression"),
        (plan_text(TWO, 'games = ["nim"]', 'kind = "swis"'), "did you mean 'swiss'?"),
        (plan_text(TWO, 'games = ["nim"]', "limit = { second = 1 }"), "unknown key 'second'; did you mean 'seconds'?"),
        (plan_text(TWO, 'games = ["nim"]', "limit = 3"), "must be a table"),
        (plan_text(TWO, 'games = ["nim"]', "move_timeout = 0"), "must be above 0"),
        (plan_text(TWO, 'games = ["nim"]', 'judges = ["caps(3)"]'), "unknown judge 'caps'; did you mean 'cap'?"),
        (plan_text(TWO, 'games = ["nim"]', 'anchor = "c"'), "anchor = 'c': not one of the agents"),
        (plan_text({}, 'games = ["nim"]'), "no agents"),
        (plan_text(TWO, 'games = ["nim"]', "patience = 5"), "unknown key 'patience'; it is now called 'move_timeout'"),
        (plan_text(TWO, 'games = ["nim"]', 'text = "x"'), "unknown key 'text'"),
        (plan_text(TWO, 'games = ["nim"]', 'agents = []'), "no agents"),
        (plan_text(TWO, 'games = ["nim"]', "x = " + "[" * 1000), "cup.toml: nested too deeply"),
        (plan_text(TWO, 'games = ["nim"]', "x = " + "{a=" * 1000), "cup.toml: nested too deeply"),
        (plan_text(TWO, 'games = ["nim"]', "x" + ".x" * 5000 + " = 1"), "cup.toml: unknown key 'x'"),
        (plan_text(TWO, 'games = ["nim"]', f"rounds = {'9' * 77}"), "rounds: 99999"),
        (plan_text(TWO, 'games = ["nim"]', f"rounds = {'9' * 5000}"), "not valid TOML"),
        (plan_text(TWO, 'games = ["nim"]', f"move_timeout = {'9' * 400}"), "does not fit into 64 bits"),
        (plan_text(TWO, 'games = ["nim"]', "move_timeout = inf"), "inf is not a finite number"),
        (plan_text(TWO, 'games = ["nim"]', "limit = { seconds = nan }"), "limit.seconds: nan is not a finite number"),
        (plan_text(TWO, 'games = ["nim"]', f"limit = {{ depth = {'9' * 77} }}"), "does not fit into 64 bits"),
        (plan_text(TWO, 'games = ["nim"]', f"judges = ['cap({'9' * 77})']"), "does not fit into 64 bits"),
        (plan_text(TWO, 'games = ["nim"]', f"judges = ['agree({'9' * 400})']"), "does not fit into 64 bits"),
        (plan_text(TWO, 'games = ["nim"]', "rounds = 1_000_000_000"), "must be at most 1000000"),
        (plan_text(TWO, 'games = ["nim"]', "workers = 5000"), "must be at most 1024"),
        ('[tournament]\nname = "a\\u0000b"\ngames = "nim"\nagents = []', "no agents"),
        ('[tournament]\nname = "a\\u0000b"\ngames = "nim"\n[[agents]]\nexpression = "random"', "not allowed here"),
        (plan_text({"a": "random", "x" * 500: "random"}, 'games = ["nim"]'), "must have at most 100 characters"),
        (plan_text(TWO, 'games = ["nim"]') + "\nexpresion = 1", "agents[1]: unknown key 'expresion'; did you mean"),
        (plan_text(TWO, 'games = ["nim"]') + '\n[[agents]]\nname = "c"', "agents[2]: missing key 'expression'"),
        (plan_text(TWO, 'games = ["nim"]') + '\n[[agents]]\nname = "a"\nexpression = "random"',
         "cup.toml: agents[2].name: two agents are named 'a'"),
        (plan_text(TWO, 'games = ["nim"]') + "\nchallenger = true", "has no challengers; choose gauntlet"),
    ],
)  # fmt: skip
def test_mistakes_in_a_plan_say_where_and_what(text: str, message: str) -> None:
    with pytest.raises(BadParameter) as caught:
        parse_plan(text, "cup.toml")
    assert message in str(caught.value)


def test_files_of_a_plan_lie_beside_it(tmp_path: Path) -> None:
    text = plan_text(TWO, 'games = ["nim"]', LOAD, "openings = 'file(\"lines.txt\", shuffle=True)'")
    plan = parse_plan(text.replace("AGENTS", "agents.py"), folder=tmp_path)
    assert plan.load == (str(tmp_path / "agents.py"),)
    assert str(tmp_path / "lines.txt") in plan.openings and "shuffle=True" in plan.openings


@pytest.mark.parametrize(
    ("agents", "lines", "error", "message"),
    [
        (TWO, ['games = ["nimm"]'], UnknownName, "did you mean 'nim'"),
        ({"a": "random", "b": "rando"}, ['games = ["nim"]'], UnknownName, "agent 'b': unknown agent 'rando'"),
        ({"a": "random", "b": "alphabeta(depth=2)"}, ['games = ["2048"]'], BadParameter, "agent 'b': alphabeta"),
        ({"a": "random"}, ['games = ["nim"]'], BadParameter, "needs at least 2"),
        (TWO, ['games = ["nim(players=3)"]'], BadParameter, "needs at least 3"),
        (TWO, ['games = ["nim"]', 'kind = "gauntlet"'], BadParameter, "needs challengers"),
        (TWO, ['games = ["nim"]', 'openings = "random(99)"'], MeijinError, "use a shorter opening"),
    ],
)
def test_a_plan_that_cannot_be_played_is_refused_before_the_first_game(
    tmp_path: Path, agents: dict[str, str], lines: list[str], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        run(prepared(tmp_path, plan_text(agents, *lines)))


def test_a_changed_plan_is_noticed_and_more_rounds_are_welcome(tmp_path: Path) -> None:
    text = plan_text(TWO, 'games = ["nim"]', "rounds = 2", "seed = 1")
    file = prepared(tmp_path, text)
    first = run(file)
    assert first.played == first.total == 4
    games = list(first.store.games())
    file.write_text(text.replace("seed = 1", "seed = 2").replace('expression = "random"', 'expression = "mc"', 1))
    with pytest.raises(MeijinError, match=r"agents 'a' \(random before, now mc\); seed \(1 before, now 2\)\."):
        run(file)
    file.write_text(text.replace("rounds = 2", "rounds = 3\nworkers = 1\nnotes = 'times'"))
    longer = run(file)
    assert longer.played == longer.total == 6
    assert list(longer.store.games())[:4] == games  # nothing was played again
    file.write_text(text)
    with pytest.raises(MeijinError, match="rounds can be added, but not removed"):
        run(file)


# ---- playing ----


def test_agents_of_planted_strength_are_ranked_right_and_covered(tmp_path: Path) -> None:
    """The share of random moves orders the agents; and as often as they may, their intervals hold the truth."""
    strength = {"always": 1.0, "often": 0.5, "seldom": 0.2, "hardly": 0.05}
    agents = {name: f"noisy({p})" for name, p in strength.items()}
    lines = ['games = ["nim(heaps=(3, 4, 5))"]', "rounds = 25", 'anchor = "always"', LOAD]
    lines.append('openings = "random(1)"')  # from the start, the first seat wins if it never errs
    tournament = run(prepared(tmp_path, plan_text(agents, *lines)))
    (table,) = tournament.tables()
    names = ["hardly", "seldom", "often", "always"]
    assert [line.name for line in table.rows] == names
    assert table.rows[-1].rating.elo == 0
    assert table.rows[0].rating.low > table.rows[2].rating.high
    assert [line.glicko.rating for line in table.rows] == sorted((x.glicko.rating for x in table.rows), reverse=True)
    for seat in range(2):
        assert sum(tallies[seat].games for tallies in table.tallies.values()) == 300  # 6 pairs, 2 seatings, 25 rounds

    # Let the shares of these games be the true ones, which no set of strengths fits exactly, and draw 500 tournaments.
    share = np.array([[table.pairs[a, b].share if a != b else 0.0 for b in names] for a in names])
    truth = bradley_terry(share).strengths
    rng = np.random.default_rng(1)
    inside = []
    for _ in range(500):
        points = np.triu(rng.binomial(40, share), 1).astype(float)
        points += np.tril(40 - points.T, -1)
        fit = bradley_terry(points, prior=PRIOR)
        inside.append(np.abs(fit.strengths - truth) <= Z95 * fit.errors())
    # Four standard deviations of a share of 500: one right program in 4,000 fails.
    assert np.all(np.abs(np.mean(inside, axis=0) - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 500))


def test_forfeits_are_named_and_stop_nothing(tmp_path: Path) -> None:
    agents = {"good": "random", "raises": "raising", "cheats": "cheating", "unborn": "unborn"}
    file = prepared(tmp_path, plan_text(agents, 'games = ["nim"]', "rounds = 1", LOAD))
    tournament = run(file)
    (table,) = tournament.tables()
    assert len(table.played) == table.total == 12
    assert {f.agent for f in table.forfeits} == {"raises", "cheats", "unborn"}
    assert table.rows[0].name == "good" and table.rows[0].tally.wins == 6
    report.write(tournament.summary(), tmp_path / "out")
    page = (tmp_path / "out" / "index.html").read_text()
    assert "no | idea &lt;b&gt;" in page and "<b>" not in page
    markdown = (tmp_path / "out" / "report.md").read_text()
    assert "no \\| idea \\<b\\>" in markdown and "is not legal" in markdown


@pytest.mark.parametrize("kind", ["round_robin", "sampled"])
def test_three_seats(tmp_path: Path, kind: str) -> None:
    agents = dict.fromkeys("abcde", "random") | {"z": "raising"}
    lines = ['games = ["nim(heaps=(2, 3), players=3)"]', "rounds = 1", f'kind = "{kind}"', LOAD]
    tournament = run(prepared(tmp_path, plan_text(agents, *lines, *["tables = 8"] * (kind == "sampled"))))
    (table,) = tournament.tables()
    assert table.total == len(table.played) == (60 if kind == "round_robin" else 24)
    assert table.rows[-1].name == "z"
    report.write(tournament.summary(), tmp_path / "out")


def test_alone_at_the_board_everybody_gets_the_same_luck(tmp_path: Path) -> None:
    agents = {"one": "random", "another": "random", "search": "mc(simulations=20)"}
    tournament = run(prepared(tmp_path, plan_text(agents, 'games = ["2048(size=2)", "nim"]', "rounds = 3")))
    alone, nim = tournament.tables()
    assert (alone.total, nim.total) == (9, 18)
    records = [record for record in tournament.store.games() if record.task.game == alone.game]
    for number in range(3):
        begins = {record.moves[:2] for record in records if record.task.round == number}
        assert len(begins) == 1  # the first two tiles
    assert {line.name for line in alone.rows} == set(agents)
    assert [line.tally.mean for line in alone.rows] == sorted((x.tally.mean for x in alone.rows), reverse=True)
    assert alone.pairs["one", "search"].games == 3
    summary = tournament.summary()
    assert all(line.tally.games == 12 + 3 for line in summary.overall)
    report.write(summary, tmp_path / "out")


# ---- killed and resumed ----


def cli(file: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "meijin", "tournament", str(file), *arguments]


ENVIRONMENT = {**os.environ, "MEIJIN_JIT": "0", "NO_COLOR": "1"}  # interpreted: nothing to compile, quick to start


@pytest.mark.parametrize("kind", ["round_robin", "swiss"])
def test_killed_and_resumed_equals_uninterrupted(tmp_path: Path, kind: str) -> None:
    agents = {f"agent {k}": f"holding({k % 2})" for k in range(6)}
    rounds = 2 if kind == "round_robin" else 6
    lines = ['games = ["nim(heaps=(5, 6, 7, 8))"]', f"rounds = {rounds}", f'kind = "{kind}"', LOAD]
    text = plan_text(agents, *lines)
    # A game has at most 26 moves. So the 6 games of a Swiss round end before any worker has made 160; and as all games
    # have more than 320 moves, two workers cannot end them all. Of a round robin, each worker hands over its first.
    sure = 6 if kind == "swiss" else 2

    whole = prepared(tmp_path / "whole", text, own=True)
    subprocess.run(cli(whole, "--workers", "1"), env=ENVIRONMENT, check=True, capture_output=True, timeout=120)

    file = prepared(tmp_path / "killed", text, own=True)
    hold = file.with_name("hold")
    hold.touch()  # the agents stop in the middle of the tournament
    process = subprocess.Popen(
        cli(file, "--workers", "2"), env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        deadline = time.monotonic() + 120
        while not file.with_name("cup.db").exists() or len(stored(file)) < sure:
            assert process.poll() is None, process.communicate()[1].decode()
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    hold.unlink()
    before = stored(file)
    total = rounds * (30 if kind == "round_robin" else 6)
    assert 0 < len(before) < total
    subprocess.run(cli(file, "--workers", "2"), env=ENVIRONMENT, check=True, capture_output=True, timeout=120)

    after = stored(file)
    assert sorted(after) == list(range(total))  # none lost
    assert {number: after[number] for number in before} == before  # none played again
    names = sorted(path.name for path in (whole.parent / "cup-report").iterdir())
    assert names == sorted(path.name for path in (file.parent / "cup-report").iterdir())
    for name in names:
        assert (whole.parent / "cup-report" / name).read_bytes() == (file.parent / "cup-report" / name).read_bytes()


def stored(file: Path) -> dict[int, tuple[str, tuple[int, ...]]]:
    """number -> when the game began, and its moves."""
    with Store(file.with_name("cup.db")) as store:
        return {record.task.number: (record.began, record.moves) for record in store.games(event="cup")}


# ---- the report ----

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Strict(HTMLParser):
    """Makes sure that tags nest, ids are unique, and nothing is asked of the network."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        assert tag not in ("script", "link", "iframe", "img", "object")
        for name, value in attrs:
            assert not name.startswith("on")
            assert "//" not in (value or ""), (tag, name, value)
            if name == "id":
                self.ids.append(value or "")
            if name == "href":
                self.links.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_report_is_whole_and_well_formed(tmp_path: Path) -> None:
    agents = {"<i>one</i> & | two": "random", "b": "random", "c": "raising"}
    lines = ['games = ["nim", "tic_tac_toe", "2048(size=2)"]', "rounds = 2", LOAD]
    tournament = run(prepared(tmp_path, plan_text(agents, *lines)))
    paths = report.write(tournament.summary(), tmp_path / "out")
    assert {path.name for path in paths} == {path.name for path in (tmp_path / "out").iterdir()}
    page = Strict()
    text = paths[0].read_text(encoding="utf-8")
    page.feed(text)
    page.close()
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    assert "<i>" not in text and "url(" not in text and "@import" not in text
    tables = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "| agent | player 1 | player 2 |" in tables and "| agent | X | O |" in tables  # the seats, as elsewhere
    for path in paths:
        if path.suffix == ".svg":
            root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
            assert root.find("{http://www.w3.org/2000/svg}title") is not None
    with (tmp_path / "out" / "ratings.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["game"] for row in rows[::3]] == ["nim", "tic_tac_toe", "2048(size=2)", "all games"]
    for row in rows:
        assert float(row["elo_low"]) < float(row["elo"]) < float(row["elo_high"])
    with (tmp_path / "out" / "crosstable.csv").open(newline="") as file:
        met = {(row["game"], row["agent"], row["opponent"]): row for row in csv.DictReader(file)}
    for (game, one, other), row in met.items():
        mirror = met[game, other, one]
        assert (row["wins"], row["draws"], row["losses"]) == (mirror["losses"], mirror["draws"], mirror["wins"])
    with (tmp_path / "out" / "games.csv").open(newline="") as file:
        assert len(list(csv.reader(file))) == 1 + 2 * (6 * 2 + 6 * 2 + 3)


def test_a_report_of_an_unfinished_tournament_says_so(tmp_path: Path) -> None:
    file = prepared(tmp_path, plan_text(TWO, 'games = ["nim"]'))
    plan = read_plan(file)
    tournament = Tournament(plan, Store(database_path(plan, file)))
    summary = tournament.summary()
    assert summary.progress == "0 of 20 games: not finished"
    assert "not finished" in report.markdown(summary)
    report.write(summary, tmp_path / "out")


def test_the_command_prints_an_example_and_refuses_what_is_missing(tmp_path: Path) -> None:
    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "meijin", "tournament", *arguments]
        return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False)

    assert call("--example").stdout == EXAMPLE
    nothing = call()
    assert nothing.returncode == 2 and "--example" in nothing.stderr
    file = prepared(tmp_path, plan_text(TWO, 'games = ["nim"]'))
    early = call(str(file), "--report-only")
    assert early.returncode == 2 and "no game of 'cup' has been played yet" in early.stderr
    assert not (tmp_path / "cup.db").exists()
