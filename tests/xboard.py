"""XBoard without a screen: a match of minishogi, and its PGN replayed by our rules."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

from meijin.core.catalogue import make
from meijin.core.state import State
from meijin.protocols.notation import usi_move

#: The two names that a variant has in XBoard's protocol, and how XBoard is told to use each.
VARIANTS = {
    "minishogi": "-variant minishogi",
    "5x5+5_shogi": "-variant shogi -boardWidth 5 -boardHeight 5 -holdingsSize 5",
}
_SAN = re.compile(r"(?:\+?([PSBRG])@|(\+?[SBRGKP])?([a-e])??([1-5])??x?)([a-e][1-5])([+=])?#?")


def play(xboard: str, xvfb: str, theirs: str, variant: str, agent: str, folder: Path, options: str = "") -> str:
    """The PGN of two games between our engine and another, in a variant of that name."""
    ours = folder / "engine"
    ours.write_text(f"#!/bin/sh\nexec {sys.executable} -m meijin engine minishogi --protocol cecp --agent '{agent}'\n")
    ours.chmod(0o755)
    display = f":{80 + os.getpid() % 100}"
    with subprocess.Popen([xvfb, display, "-nolisten", "tcp"], stderr=subprocess.DEVNULL) as screen:
        for _ in range(500):
            if Path(f"/tmp/.X11-unix/X{display[1:]}").exists():
                break
            time.sleep(0.01)
        try:
            command = (
                f"{xboard} -noGUI -fcp {ours} -scp {theirs} {VARIANTS[variant]} -mg 2 -tc 1 -inc 1 -matchPause 100 "
                f"-popupExitMessage false -sgf games.pgn {options or '-depth 2'}"
            )
            subprocess.run(
                command.split(), cwd=folder, env={**os.environ, "DISPLAY": display, "HOME": str(folder)},
                timeout=300, check=False, capture_output=True,
            )  # fmt: skip
        finally:
            screen.terminate()
    return (folder / "games.pgn").read_text()


def replayed(pgn: str) -> list[tuple[str, str]]:
    """(result in the file, result by our rules) of each game; "*" where our rules do not see an end."""
    found = []
    for game in pgn.split("[Event ")[1:]:
        said = re.search(r'\[Result "([^"]*)"\]', game)
        assert said is not None
        text = "\n".join(line for line in game.splitlines()[1:] if not line.startswith("["))
        moves = re.sub(r"\{[^}]*\}|\d+\.(?=\s)|(?:\*|\S*-\S*)\Z", " ", text.rstrip())
        state = State(make("minishogi"))
        for word in moves.split():
            state.play(_resolved(state, word))
        scores = state.scores
        ended = "1-0" if scores[0] > scores[1] else "0-1" if scores[0] < scores[1] else "1/2-1/2"
        found.append((said[1], ended if state.is_over else "*"))
    return found


def _resolved(state: State, word: str) -> str:
    """A move in XBoard's short notation: Sxd4, a5+, P@c3."""
    san = _SAN.fullmatch(word)
    assert san is not None, word
    dropped, man, file, rank, to, promotion = san.groups()
    if dropped:
        return usi_move(f"{dropped}@{to}")
    letters = {cell.name: piece for cell, piece in zip(state.game.board.cells, map(str, _letters(state)), strict=True)}
    fitting = []
    for move in state.legal_moves:
        if "*" in move.name:
            continue
        begin = _xboard_cell(move.name[:2])
        fits = _xboard_cell(move.name[2:4]) == to and letters[move.name[:2]] == (man or "P")
        if fits and file in (None, begin[0]) and rank in (None, begin[1]):
            fitting.append(move.name)
    exact = [name for name in fitting if name.endswith("+") == (promotion == "+")]
    assert len(exact or fitting) == 1, (word, fitting, str(state))
    return (exact or fitting)[0]


def _letters(state: State) -> list[str]:
    """[cell] -> the letter of its man, such as P or +P; "" for an empty cell or one in hand."""
    return ["" if not value else ("", *"PSBRGK", "+P", "+S", "+B", "+R")[(value - 1) % 10 + 1] for value in state.cells]


def _xboard_cell(usi: str) -> str:
    return "edcba"[int(usi[0]) - 1] + "54321"["abcde".index(usi[1])]
