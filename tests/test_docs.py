"""The documentation shows what the code does: blocks run, commands exist, links lead somewhere, lists are complete."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from commands import run
from meijin.cli.app import app
from meijin.core import compile as compiling
from meijin.core import cuda
from meijin.core.batch import simulate
from meijin.core.catalogue import games
from meijin.core.check import check_game
from meijin.core.contract import CONTRACT
from meijin.core.game import Game
from meijin.core.registry import load_file

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]

INTERPRETED = {"docs/your-first-game.md"}  # its blocks check a game, which takes seconds to compile

# Pages whose commands are run as well, and the commands that take a moment only.
COMMANDS = {"your-first-game.md", "moving-pieces.md", "game-reference.md", "writing-an-agent.md"}
QUICK = {"agents", "check", "games", "new", "play", "rules"}


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> list[tuple[str, str]]:
    """(file name or "", text) of each block: ```python title="snort.py" is a file that the reader saves.

    A block after the comment `<!-- needs: pandas -->` is left out where that is missing.
    """
    block = rf'(?:<!-- needs: ([^>]*) -->\n)?```{language}(?: title="(.*?)")?\n(.*?)```'
    found = re.findall(block, page.read_text(encoding="utf-8"), re.DOTALL)
    return [(title, text) for needs, title, text in found if all(map(available, needs.split()))]


def available(what: str) -> bool:
    if what == "server":  # tests/test_server_analyses.py runs it
        return False
    if what == "gpu":
        return cuda.available() and not cuda.simulated()
    return importlib.util.find_spec(what) is not None


def save_files(page: Path, folder: Path) -> None:
    for language in ("python", "toml"):
        for title, text in blocks(page, language):
            if title:
                (folder / title).write_text(text, encoding="utf-8")


def script(name: str) -> Any:
    """A script that writes a page, as a module."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to work in, as a reader would; the modules of a page are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    modules = set(sys.modules)
    yield tmp_path
    for module in set(sys.modules) - modules:
        if str(getattr(sys.modules[module], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[module]


# ---- what readers copy ----


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name)
def test_the_python_of_a_page_runs(
    page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In order, as one session, and prints what its comments `# -> ...` say. What has a title is a file to import."""
    save_files(page, folder)
    if name(page) in INTERPRETED:
        monkeypatch.setattr(compiling, "JIT", False)
    names: dict[str, object] = {"__name__": "session"}
    for number, (title, text) in enumerate(blocks(page, "python")):
        if not title:
            file = folder / f"block_{number}.py"  # a file, so that errors show lines
            file.write_text(text, encoding="utf-8")
            exec(compile(text, str(file), "exec"), names)
            printed = capsys.readouterr().out
            for expected in re.findall(r"# -> (.*)", text):
                assert expected in printed
    monkeypatch.setattr(compiling, "JIT", True)
    for entry in list(games._entries.values()):
        if entry.factory.__module__ in {title.removesuffix(".py") for title, _ in blocks(page, "python")}:
            simulate(entry.factory(), 5, threads=1)  # the rules compile


@pytest.mark.parametrize("page", [page for page in PAGES if page.name in COMMANDS], ids=name)
def test_the_commands_of_a_page_run(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "JIT", False)
    save_files(page, folder)
    ran = 0
    for _, block in blocks(page, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["meijin"] and words[1] in QUICK:
                few = ["--games", "3"] if words[1] == "check" else []
                result = run(*words[1:], *few, input="quit\n" if words[1] == "play" else None)
                assert result.exit_code == 0, f"{line}\n{result.output}"
                ran += 1
    assert ran


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_exist_with_their_options(page: Path) -> None:
    from typer.main import get_command

    commands = get_command(app).commands  # type: ignore[attr-defined]
    for _, block in blocks(page, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["meijin"]:
                command, rest = commands[words[1]], words[2:]
                while rest and rest[0] in getattr(command, "commands", {}):  # meijin games-db list
                    command, rest = command.commands[rest[0]], rest[1:]
                known = {option for parameter in command.params for option in parameter.opts}
                assert {word for word in words if word.startswith("--")} <= known, line


def test_the_readme_shows_the_example_as_it_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example = (ROOT / "examples" / "chomp.py").read_text(encoding="utf-8")
    assert ("chomp.py", example) in blocks(ROOT / "README.md", "python")
    monkeypatch.setattr(compiling, "JIT", False)  # compiled, it has been played as a block of the page
    (entry,) = load_file(ROOT / "examples" / "chomp.py", games)
    check_game(entry.factory(), games=5)


# ---- lists that must be complete ----


def test_the_reference_has_every_field_of_a_game_and_every_rule() -> None:
    page = (DOCS / "game-reference.md").read_text(encoding="utf-8")
    declared = {field.name for field in fields(Game)}
    described = set(re.findall(r"^\| `(\w+)[`(]", page, re.MULTILINE))
    assert declared | set(CONTRACT) <= described, "write a row for each of these"
    for rule, arguments in CONTRACT.items():
        assert f"| `{rule}({', '.join(arguments)})` |" in page


def test_the_site_has_every_page() -> None:
    """MkDocs reads the list when `make docs` builds the site, which is not part of the tests."""
    listed = set(re.findall(r"([\w/.-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md") if page.parent.name != "notes"}
    outside = set(re.findall(r'^    "([\w.-]+\.md)": ', (DOCS / "hooks.py").read_text(encoding="utf-8"), re.MULTILINE))
    assert outside and listed == pages | outside


def test_every_setting_of_a_run_is_documented() -> None:
    pytest.importorskip("torch")
    settings = script("settings")
    assert settings.page() == settings.PAGE.read_text(encoding="utf-8"), "run python docs/settings.py"
    assert settings.td_page() == settings.TD_PAGE.read_text(encoding="utf-8"), "run python docs/settings.py"


def test_the_page_of_champions_says_what_they_say() -> None:
    champions = script("champions")
    assert champions.page() == champions.PAGE.read_text(encoding="utf-8"), "run python docs/champions.py"


# ---- links ----


def anchors(page: Path) -> set[str]:
    """The headings of a page as GitHub and MkDocs name them in links."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_and_pictures_exist(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)]+)\)", text) + re.findall(r'(?:src|href)="([^"]+)"', text)
    for target in targets:
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path) if path else page
        assert found.exists(), target
        if anchor and found.suffix == ".md":
            assert anchor in anchors(found), target
