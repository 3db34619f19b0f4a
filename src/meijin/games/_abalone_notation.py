"""Aichholzer's notation of Abalone moves: the cells that marbles leave and reach, as in the program Aba-Pro."""

from __future__ import annotations

import re

from meijin.core.errors import IllegalMove
from meijin.core.moves import Move
from meijin.core.state import State
from meijin.games._abalone_tables import BOARD, ENTRIES, step


def to_aichholzer(move: int) -> str:
    """`A1B2`: the rear marble of an inline move and its next cell. `C3C5D4`: the ends of a broadside move's line, and
    where the first of them lands."""
    entry = ENTRIES[move]
    landing = step(entry.first, entry.direction)
    if landing is None or not entry.possible:
        raise IllegalMove(f"'{entry.name}' leaves the board, so it has no landing cell to write")
    ends = (entry.first,) if entry.kind == 0 else (entry.first, entry.last)
    return "".join(BOARD.cells[cell].name.upper() for cell in (*ends, landing))


def from_aichholzer(state: State, text: str) -> Move:
    """The legal move that Aichholzer's notation means: `a1-b2` and `A1B2` alike, and a line from either end."""
    words = re.fullmatch(r"([a-i][1-9])[-\s]*([a-i][1-9])[-\s]*([a-i][1-9])?", text.strip().lower())
    if words is None:
        raise IllegalMove(f"'{text}' is not two or three cells, as in 'A1B2' (inline) or 'C3C5D4' (broadside)")
    named = tuple(BOARD.index(cell) for cell in words.groups() if cell is not None)
    for move in state.legal_moves:
        entry = ENTRIES[move]
        ends = (entry.first,) if entry.kind == 0 else (entry.first, entry.last)
        if named[:-1] in (ends, ends[::-1]) and named[-1] == step(named[0], entry.direction):
            return move
    raise IllegalMove(f"'{text}' is not legal here; legal: {', '.join(to_aichholzer(m) for m in state.legal_moves)}")
