"""The documentation shows what the code does."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from meijin.cli.app import app
from meijin.core.catalogue import games
from meijin.core.check import check_game
from meijin.core.registry import load_file

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def script(name: str) -> Any:
    """A script that writes a page, as a module."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", ROOT / "docs" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_readme_shows_the_example_as_it_is() -> None:
    example = (ROOT / "examples" / "chomp.py").read_text(encoding="utf-8")
    assert example in blocks(ROOT / "README.md", "python")
    (entry,) = load_file(ROOT / "examples" / "chomp.py", games)
    check_game(entry.factory(), games=5)


def test_the_python_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (session,) = (block for block in blocks(ROOT / "README.md", "python") if block.startswith("import meijin"))
    exec(compile(session, "README.md", "exec"), {})
    assert capsys.readouterr().out


def test_the_python_of_the_arena_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks are one session, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    (plan,) = blocks(ROOT / "docs" / "arena.md", "toml")
    (tmp_path / "cup.toml").write_text(plan, encoding="utf-8")
    session = "\n".join(blocks(ROOT / "docs" / "arena.md", "python"))
    exec(compile(session, "arena.md", "exec"), {})
    assert (tmp_path / "games.db").exists() and (tmp_path / "report" / "index.html").exists()


def test_the_python_of_the_page_on_zero_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("torch", "safetensors", "onnxruntime", "onnxscript"):
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for session in blocks(ROOT / "docs" / "zero.md", "python"):
        exec(compile(session, "zero.md", "exec"), names)
    assert capsys.readouterr().out and (tmp_path / "net.onnx").exists()


def test_every_setting_of_zero_is_documented() -> None:
    pytest.importorskip("torch")
    settings = script("settings")
    assert settings.page() == settings.PAGE.read_text(encoding="utf-8"), "run python docs/settings.py"


def test_the_page_of_champions_says_what_they_say() -> None:
    champions = script("champions")
    assert champions.page() == champions.PAGE.read_text(encoding="utf-8"), "run python docs/champions.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_pictures_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#]+)\)", text) + re.findall(r'src="([^"]+)"', text)
    for target in targets:
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_exist_with_their_options(page: Path) -> None:
    from typer.main import get_command

    commands = get_command(app).commands  # type: ignore[attr-defined]
    for block in blocks(page, "sh"):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["meijin"]:
                command, rest = commands[words[1]], words[2:]
                while rest and rest[0] in getattr(command, "commands", {}):  # meijin games-db list
                    command, rest = command.commands[rest[0]], rest[1:]
                known = {option for parameter in command.params for option in parameter.opts}
                assert {word for word in words if word.startswith("--")} <= known, line
