"""Which cells a person clicks to make an action of an OpenSpiel game.

OpenSpiel does not say, so usual numberings and notations are tried, and one is taken if it fits random games: a cell that
is clicked must change with the move. Where none fits, moves are chosen from a list.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from meijin.core.moves import Path

GAMES, PLIES = 3, 60  # that are tried
FITS = 20  # moves that must have been seen to fit

_FROM_TO = re.compile(r"([a-z])(\d{1,2})([a-z])(\d{1,2})\W?")


def clicks(
    theirs: Any, names: Sequence[str], rows: int, columns: int, drawn: Callable[[Any], Any]
) -> list[Path | None]:
    """[action] -> its path. `drawn` gives the value of every cell of a state."""
    changes = list(_changes(theirs, drawn))
    for paths in _candidates(names, rows, columns):
        seen = [(paths[action], changed) for action, changed in changes if _on_board(paths[action])]
        if len(seen) >= min(FITS, len(changes)) > 0 and all(_fits(path, changed) for path, changed in seen):
            return paths
    return [None] * len(names)


def _candidates(names: Sequence[str], rows: int, columns: int) -> Iterator[list[Path | None]]:
    area = rows * columns
    if len(names) in (area, area + 1):  # one action per cell, and perhaps a pass
        yield [(k,) if k < area else ("pass",) for k in range(len(names))]
    if len(names) == columns:
        yield [(frozenset(range(k, area, columns)),) for k in range(columns)]
    moves = [_FROM_TO.fullmatch(name) for name in names]
    for upwards in (True, False):  # where row 1 is
        found: list[Path | None] = []
        for move in moves:
            if move is None:
                found.append(None)
                continue
            ranks = [rows - int(move[k]) if upwards else int(move[k]) - 1 for k in (2, 4)]
            files = [ord(move[k]) - ord("a") for k in (1, 3)]
            inside = all(0 <= rank < rows for rank in ranks) and all(file < columns for file in files)
            found.append(tuple(r * columns + f for r, f in zip(ranks, files, strict=True)) if inside else None)
        if any(found):
            yield found


def _changes(theirs: Any, drawn: Callable[[Any], Any]) -> Iterator[tuple[int, frozenset[int]]]:
    """(action, the cells that it changed) of random games."""
    draw = random.Random(1)
    for _ in range(GAMES):
        state = theirs.new_initial_state()
        for _ in range(PLIES):
            if state.is_terminal():
                break
            chance = state.is_chance_node()
            action, before = draw.choice(state.legal_actions()), drawn(state)
            state.apply_action(action)
            if not chance and not state.is_terminal() and not state.is_chance_node():
                yield action, frozenset((drawn(state) != before).nonzero()[0].tolist())


def _on_board(path: Path | None) -> bool:
    return path is not None and not isinstance(path[0], str)


def _fits(path: Path | None, changed: frozenset[int]) -> bool:
    return all(bool(step & changed) if isinstance(step, frozenset) else step in changed for step in path or ())
