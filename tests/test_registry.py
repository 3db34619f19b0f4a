"""Registries: finding names, binding arguments, entry points and users' files."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import meijin.core.registry as registry_module
from meijin.core.errors import BadParameter, MeijinError, UnknownName, suggest
from meijin.core.expression import Call, parse
from meijin.core.registry import Registry, load_file

Install = Callable[..., None]


def hex_game(size: int = 11, *, swap: bool = False) -> tuple[object, ...]:
    """Connect two sides.

    More text.
    """
    return ("hex", size, swap)


def nim(heaps: tuple[int, ...], players: int = 2) -> tuple[object, ...]:
    return ("nim", heaps, players)


@pytest.fixture
def games(monkeypatch: pytest.MonkeyPatch) -> Registry[tuple[object, ...]]:
    monkeypatch.setattr(registry_module, "entry_points", lambda group: ())
    made: Registry[tuple[object, ...]] = Registry("game", "meijin.games")
    made.register("hex", hex_game)
    made.register("nim", nim, seats=(2, 3))
    return made


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Install:
    """Pretend that packages with these entry points are installed: `install(name="module:attribute")`."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)

    def pretend(**values: str) -> None:
        points = [EntryPoint(name, value, "meijin.games") for name, value in values.items()]
        monkeypatch.setattr(registry_module, "entry_points", lambda group: points)
        for name in set(sys.modules) - before:
            if name.startswith("pretend"):
                monkeypatch.delitem(sys.modules, name)

    return pretend


def test_suggest() -> None:
    assert suggest("mtcs", ["random", "mcts"]) == "; did you mean 'mcts'?"
    assert suggest("MCTS", ["random", "mcts"]) == "; did you mean 'mcts'?"
    assert suggest("zzz", ["random", "mcts"]) == ""


def test_names_and_entries(games: Registry[tuple[object, ...]]) -> None:
    assert games.names() == ["hex", "nim"]
    assert games.get("hex").summary == "Connect two sides."
    assert games.get("nim").summary == ""
    assert games.get("nim").metadata == {"seats": (2, 3)}
    assert list(games.get("hex").parameters) == ["size", "swap"]
    assert "test_registry.py:" in games.get("hex").place


def test_unknown_names_say_what_is_near_or_known(games: Registry[tuple[object, ...]]) -> None:
    with pytest.raises(UnknownName, match=r"^unknown game 'hexx'; did you mean 'hex'\?$"):
        games.get("hexx")
    with pytest.raises(UnknownName, match=r"^unknown game 'zzzzz'; known games: hex, nim$"):
        games.get("zzzzz")


def test_decorator_returns_the_function(games: Registry[tuple[object, ...]]) -> None:
    @games.register("sim", seats=(2,))
    def sim() -> tuple[object, ...]:
        return ("sim",)

    assert sim() == ("sim",)
    assert games.get("sim").factory is sim


def test_duplicates_name_both_places(games: Registry[tuple[object, ...]]) -> None:
    games.register("hex", hex_game)  # the same thing again is no duplicate
    with pytest.raises(BadParameter, match=r"two games are named 'hex': .*test_registry\.py:\d+, .*\.py:\d+"):
        games.register("hex", nim)
    assert games.get("hex").factory is hex_game


def test_a_notebook_cell_may_run_twice(games: Registry[tuple[object, ...]]) -> None:
    def cell() -> Callable[[], tuple[object, ...]]:
        scope: dict[str, Callable[[], tuple[object, ...]]] = {}
        exec("def sim(): return ()", {"__name__": "__main__"}, scope)
        return scope["sim"]

    games.register("sim", cell())
    newest = games.register("sim", cell())
    assert games.get("sim").factory is newest


def test_only_sensible_things_register(games: Registry[tuple[object, ...]]) -> None:
    with pytest.raises(BadParameter, match=r"'hex\(3\)' cannot name a game"):
        games.register("hex(3)", nim)
    with pytest.raises(BadParameter, match="game 'x' is 3; register the function"):
        games.register("x", 3)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("hex", ("hex", 11, False)),
        ("hex(5, swap=True)", ("hex", 5, True)),
        ("nim(heaps=(1, 2))", ("nim", (1, 2), 2)),
    ],
)
def test_make(games: Registry[tuple[object, ...]], text: str, made: object) -> None:
    assert games.make(text) == made
    assert games.make(parse(text)) == made


def test_bind_fills_in_the_defaults(games: Registry[tuple[object, ...]]) -> None:
    assert games.bind(Call("hex")).arguments == {"size": 11, "swap": False}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hex(sise=3)", "hex: unknown parameter 'sise'; did you mean 'size'? it takes size=11, swap=False"),
        ("hex(komi=3)", "hex: unknown parameter 'komi'; it takes size=11, swap=False"),
        (
            "hex(3, True)",
            "hex: 2 arguments without a name, but it takes at most 1; it takes size=11, swap=False",
        ),
        (
            "hex(3, size=4)",
            "hex: parameter 'size' is given twice, the first time as 3; it takes size=11, swap=False",
        ),
        ("nim", "nim: parameter 'heaps' is missing; it takes heaps, players=2"),
    ],
)
def test_wrong_arguments(games: Registry[tuple[object, ...]], text: str, message: str) -> None:
    with pytest.raises(BadParameter) as caught:
        games.bind(parse(text))
    assert str(caught.value) == message


def test_leading_arguments_of_the_program_are_not_the_users(games: Registry[tuple[object, ...]]) -> None:
    agents: Registry[object] = Registry("agent", "meijin.agents")
    agents.register("mcts", lambda game, simulations=100: (game, simulations))
    agents.register("vote", lambda game, *members, **options: (game, members, options))
    assert agents.make("mcts(simulations=5)", "hex") == ("hex", 5)
    assert agents.make("vote(1, 2, x=3)", "hex") == ("hex", (1, 2), {"x": 3})
    with pytest.raises(BadParameter, match=r"unknown parameter 'game'; it takes simulations=100$"):
        agents.make("mcts(game=1)", "hex")


def test_entry_points_load_when_needed(install: Install, tmp_path: Path) -> None:
    (tmp_path / "pretend_a.py").write_text("def go(size=9): return size")
    (tmp_path / "pretend_b.py").write_text("def sim(): return 6")
    install(go="pretend_a:go", sim="pretend_b:sim")
    games: Registry[int] = Registry("game", "meijin.games")
    assert games.make("go(13)") == 13
    assert "pretend_b" not in sys.modules  # one game must not pay for the imports of all
    assert games.names() == ["go", "sim"]
    assert games.make("sim") == 6


def test_entry_point_of_a_module_whose_decorators_register(install: Install, tmp_path: Path) -> None:
    games: Registry[int] = Registry("game", "meijin.games")
    (tmp_path / "pretend_home.py").write_text("games = None")
    install(go="pretend_go", nothing="pretend_home")
    import pretend_home  # type: ignore[import-not-found]

    pretend_home.games = games
    (tmp_path / "pretend_go.py").write_text(
        "from pretend_home import games\n"
        "@games.register('go')\ndef go(): return 1\n"
        "@games.register('atari_go')\ndef atari(): return 2\n"
    )
    assert games.make("atari_go") == 2
    assert games.names() == ["atari_go", "go"]
    assert games.broken == {"nothing": "MeijinError: module pretend_home registers no game"}


def test_modules_of_the_own_package_load_when_needed(install: Install, tmp_path: Path) -> None:
    package = tmp_path / "pretend_games"
    package.mkdir()
    (package / "__init__.py").write_text("from meijin.core.registry import Registry\nhome = None\n")
    for name in ("go", "sim"):
        (package / f"{name}.py").write_text(
            f"import pretend_games\n@pretend_games.home.register('{name}')\ndef {name}(): return '{name}'\n"
        )
    (package / "helper.py").write_text("")
    install(sim="pretend_games.go:go")
    games: Registry[str] = Registry("game", "meijin.games", package="pretend_games")
    import pretend_games  # type: ignore[import-not-found]

    pretend_games.home = games
    assert games.make("go") == "go"
    assert "pretend_games.sim" not in sys.modules
    assert games.names() == ["go", "sim"]
    assert games.make("sim") == "sim"
    assert games.broken == {}


def test_two_packages_that_bring_one_name(install: Install, tmp_path: Path) -> None:
    (tmp_path / "pretend_one.py").write_text("def go(): return 1")
    (tmp_path / "pretend_two.py").write_text("def go(): return 2")
    points = [EntryPoint("go", f"pretend_{n}:go", "meijin.games") for n in ("one", "two")]
    install()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry_module, "entry_points", lambda group: points)
        games: Registry[int] = Registry("game", "meijin.games")
        assert games.make("go") == 1
    assert "two games are named 'go'" in games.broken["go"]


def test_a_broken_entry_point_is_reported_and_skipped(
    install: Install, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "pretend_good.py").write_text("def good(): return 1")
    (tmp_path / "pretend_bad.py").write_text("import pretend_missing")
    install(bad="pretend_bad:bad", absent="pretend_good:absent", good="pretend_good:good")
    games: Registry[int] = Registry("game", "meijin.games")
    with caplog.at_level(logging.WARNING):
        assert games.names() == ["good"]
    assert "'bad' of entry point pretend_bad:bad: ModuleNotFoundError" in caplog.text
    assert "'absent'" in caplog.text
    with pytest.raises(UnknownName, match=r"game 'bad' could not be loaded: ModuleNotFoundError.*pretend_missing"):
        games.get("bad")


HEADER = "from pretend_home import games\n"


@pytest.fixture
def home(games: Registry[tuple[object, ...]], monkeypatch: pytest.MonkeyPatch) -> Registry[tuple[object, ...]]:
    """Make `from pretend_home import games` give a file the registry."""
    module = type(sys)("pretend_home")
    module.games = games  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pretend_home", module)
    return games


def test_load_file(home: Registry[tuple[object, ...]], tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(HEADER + "@games.register('mine')\ndef mine(n=3): return (n,)\n")
    (entry,) = home.load_file(file)
    assert entry.name == "mine"
    assert home.make("mine(4)") == (4,)
    assert entry.place == f"{file}:2"

    # Same length, same second: an edit shows all the same.
    file.write_text(HEADER + "@games.register('mine')\ndef mine(n=5): return (n,)\n")
    home.load_file(str(file))
    assert home.make("mine") == (5,)
    assert not list(tmp_path.glob("__pycache__"))


def test_two_files_of_one_name_do_not_meet(home: Registry[tuple[object, ...]], tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(HEADER + f"games.register('{folder}', lambda: ('{folder}',))\n")
        home.load_file(tmp_path / folder / "mine.py")
    assert home.make("a") == ("a",)
    assert home.make("b") == ("b",)


def test_a_file_may_serve_several_registries(home: Registry[tuple[object, ...]], tmp_path: Path) -> None:
    agents: Registry[int] = Registry("agent", "meijin.agents")
    file = tmp_path / "mine.py"
    file.write_text(HEADER + "games.register('mine', lambda: ())\n")
    assert [entry.name for entry in load_file(file, agents, home)] == ["mine"]
    file.write_text("x = 1\n")
    with pytest.raises(BadParameter, match=r"mine\.py registers no agent and no game"):
        load_file(file, agents, home)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\ny = (\n", r"mine\.py:2: SyntaxError"),
        ("\n\nprint(undefined)\n", r"mine\.py:3: NameError: name 'undefined'"),
        ("def f():\n    raise ValueError('no')\nf()\n", r"mine\.py:2: ValueError: no"),
        ("import sys\nsys.exit(3)\n", r"mine\.py:2: SystemExit: 3"),
        (HEADER + "games.register('hex', lambda: ())\n", r"mine\.py:2: two games are named 'hex'"),
        ("x = 1\n", r"mine\.py registers no game"),
    ],
)
def test_a_bad_file_is_named_with_its_line_and_leaves_no_trace(
    home: Registry[tuple[object, ...]], tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(HEADER + "games.register('mine', lambda: ())\n")
    home.load_file(file)
    modules = {name: module for name, module in sys.modules.items() if name.startswith("meijin_file")}
    kept = home.get("mine")

    file.write_text(text)
    with pytest.raises(MeijinError, match=message):
        home.load_file(file)
    assert home.names() == ["hex", "mine", "nim"]
    assert home.get("mine") is kept
    assert {n: m for n, m in sys.modules.items() if n.startswith("meijin_file")} == modules


def test_a_file_that_is_not_there(home: Registry[tuple[object, ...]], tmp_path: Path) -> None:
    with pytest.raises(BadParameter, match=r"cannot read '.*none\.py': No such file"):
        home.load_file(tmp_path / "none.py")


def test_a_file_cannot_hide_an_installed_game(
    home: Registry[tuple[object, ...]], install: Install, tmp_path: Path
) -> None:
    install(go="pretend_go:go")
    file = tmp_path / "mine.py"
    file.write_text(HEADER + "games.register('go', lambda: ())\n")
    with pytest.raises(BadParameter, match=r"two games are named 'go': .*mine\.py:2.*pretend_go:go"):
        home.load_file(file)


def test_a_game_is_found_without_importing_the_others() -> None:
    """Each game's module is named after it, or listed; only then does `make` import a single game."""
    code = (
        "import sys; from meijin.core.catalogue import make; make(sys.argv[1])\n"
        "print(*(m for m in sys.modules if m.startswith('meijin.games.') and not m.startswith('meijin.games._')))"
    )
    for name, module in (("2048", "twenty48"), ("gomoku", "gomoku"), ("hex", "hex")):
        run = subprocess.run([sys.executable, "-c", code, name], capture_output=True, text=True, check=True)
        assert run.stdout.split() == [f"meijin.games.{module}"]
