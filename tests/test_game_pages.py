"""Every game has a page and a picture, and they are as `python docs/games.py` would write them now."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from meijin.core import compile as compiling

ROOT = Path(__file__).parent.parent
COMMAND = "run python docs/games.py"


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("game_pages", ROOT / "docs" / "games.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


pages: Any = _load()
NAMES = pages.own_games()


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page needs a few moves, which are played sooner than compiled."""
    monkeypatch.setattr(compiling, "JIT", False)


def assert_written(path: Path, text: str) -> None:
    """Fail with the first line that differs."""
    where = path.relative_to(ROOT)
    if not path.exists():
        pytest.fail(f"there is no {where}; {COMMAND}", pytrace=False)
    old, new = path.read_text(encoding="utf-8").splitlines(), text.splitlines()
    for number, (was, now) in enumerate(zip([*old, None], [*new, None], strict=False), 1):
        if was != now:
            pytest.fail(f"{where} is out of date; {COMMAND}. Line {number}:\n- {was}\n+ {now}", pytrace=False)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_of_a_game_is_up_to_date(name: str) -> None:
    assert_written(ROOT / "docs" / "games" / f"{name}.md", pages.page(name))


@pytest.mark.parametrize("name", NAMES)
def test_the_picture_of_a_game_is_up_to_date(name: str) -> None:
    assert_written(ROOT / "docs" / "images" / f"{name}.svg", pages.picture(name))


def test_the_lists_of_games_are_up_to_date() -> None:
    assert_written(ROOT / "docs" / "games" / "README.md", pages.index(NAMES))
    readme = ROOT / "README.md"
    assert_written(readme, pages.readme(readme.read_text(encoding="utf-8"), NAMES))


def test_every_page_belongs_to_a_game() -> None:
    folder = ROOT / "docs" / "games"
    strays = {path.stem for path in [*folder.glob("*.md"), *(folder / "notes").glob("*.md")]} - {*NAMES, "README"}
    assert not strays, "no game has these names; delete their pages, notes and pictures"
