"""Draws the pictures of README.md and docs/ as SVG files: `python docs/pictures.py`."""

from __future__ import annotations

from pathlib import Path

from meijin import make
from meijin.core.state import State

FOLDER = Path(__file__).parent / "images"
LINES = {"othello": "f5d6c3d3c4f4f6f3e6e7", "connect_four": "44536322"}


def picture(state: State) -> str:
    """The board after the latest move, with the legal moves marked."""
    marks = [step for move in state.legal_moves for step in state.game.paths[move] if isinstance(step, int)]
    return state.game.board.svg(state.cells, state.game.pieces, last=state.last_cells, marks=marks, size=420)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, line in LINES.items():
        (FOLDER / f"{name}.svg").write_text(picture(State(make(name)).play_line(line)), encoding="utf-8")
