"""Every game still plays as its golden playthrough says."""

from __future__ import annotations

import itertools

import pytest

import golden
from meijin.core import compile as compiling

FILES = {file: expression for name in golden.own_games() for file, expression in golden.playthroughs(name).items()}


@pytest.mark.parametrize("file", FILES)
def test_a_game_plays_as_written_down(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Interpreted, because one game is played sooner than compiled; that both are the same is a law of `check_game`.
    monkeypatch.setattr(compiling, "JIT", False)
    path = golden.FOLDER / f"{file}.txt"
    name = FILES[file].partition("(")[0]
    if not path.exists():
        pytest.fail(f"there is no {path.name} in tests/golden; run {golden.COMMAND} {name}", pytrace=False)
    written = path.read_text(encoding="utf-8").splitlines()
    played = golden.text(file, FILES[file]).splitlines()
    for number, (old, new) in enumerate(itertools.zip_longest(written, played, fillvalue="(no line)"), 1):
        if old != new:
            before = "".join(f"\n  {line}" for line in written[max(0, number - 4) : number - 1])
            pytest.fail(
                f"{FILES[file]} plays differently from line {number} of tests/golden/{file}.txt on:{before}\n"
                f"- {old}\n+ {new}\nIf that is meant, run {golden.COMMAND} {name} and read the difference.",
                pytrace=False,
            )


def test_every_playthrough_belongs_to_a_game() -> None:
    strays = {path.stem for path in golden.FOLDER.glob("*.txt")} - set(FILES)
    assert not strays, "no game has these names; delete the files"


def test_compiled_games_play_the_same() -> None:
    """One game of each kind, with and without chance; the other golden files are read interpreted."""
    for name in ("tic_tac_toe", "2048-3x2"):
        assert golden.text(name, FILES[name]) == (golden.FOLDER / f"{name}.txt").read_text(encoding="utf-8")
