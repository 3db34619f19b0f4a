"""The documentation shows what the code does."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from meijin.cli.app import app
from meijin.core.catalogue import games
from meijin.core.check import check_game
from meijin.core.registry import load_file

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def test_the_readme_shows_the_example_as_it_is() -> None:
    example = (ROOT / "examples" / "chomp.py").read_text(encoding="utf-8")
    assert example in blocks(ROOT / "README.md", "python")
    (entry,) = load_file(ROOT / "examples" / "chomp.py", games)
    check_game(entry.factory(), games=5)


def test_the_python_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (session,) = (block for block in blocks(ROOT / "README.md", "python") if block.startswith("import meijin"))
    exec(compile(session, "README.md", "exec"), {})
    assert capsys.readouterr().out


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
                known = {option for parameter in commands[words[1]].params for option in parameter.opts}
                assert {word for word in words if word.startswith("--")} <= known, line
