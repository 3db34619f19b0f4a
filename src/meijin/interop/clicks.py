"""Which cells a person clicks to make an action of an OpenSpiel game.

OpenSpiel does not say, so usual numberings and notations are tried, and one is taken if it fits random games: a cell
that is clicked must change with the move. Where none fits, moves are chosen from a list.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from meijin.core.moves import Path

GAMES, PLIES = 30, 60  # that are tried
FITS = 20  # moves that must have been seen to fit

_FROM_TO = re.compile(r"([a-z])(\d{1,2})[-x]?([a-z])(\d{1,2})\W?")


def clicks(theirs: Any, rows: int, columns: int, drawn: Callable[[Any], Any]) -> list[Path | None]:
    """[action] -> its path. `drawn` gives the value of every cell of a state."""
    count = theirs.num_distinct_actions()
    names: list[str | None] = [None] * count
    changes = list(_changes(theirs, drawn, names))
    for paths in _candidates(names, rows, columns):
        seen = [(paths[action], changed) for action, changed in changes if _on_board(paths[action])]
        if len(seen) >= min(FITS, len(changes)) > 0 and all(_fits(path, changed) for path, changed in seen):
            return paths
    return [None] * count


def _candidates(names: Sequence[str | None], rows: int, columns: int) -> Iterator[list[Path | None]]:
    area = rows * columns
    if len(names) in (area, area + 1):  # one action per cell, and perhaps a pass
        yield [(k,) if k < area else ("pass",) for k in range(len(names))]
    if len(names) == columns:
        yield [(frozenset(range(k, area, columns)),) for k in range(columns)]
    moves = [_FROM_TO.fullmatch(name or "") for name in names]
    for upwards in (True, False):  # where row 1 is
        found: list[Path | None] = []
        taken: set[Path] = set()
        for move in moves:
            path = None
            if move is not None:
                ranks = [rows - int(move[k]) if upwards else int(move[k]) - 1 for k in (2, 4)]
                files = [ord(move[k]) - ord("a") for k in (1, 3)]
                if all(0 <= rank < rows for rank in ranks) and all(file < columns for file in files):
                    path = _free(ranks[0] * columns + files[0], ranks[1] * columns + files[1], taken)
            found.append(path)
        if any(found):
            yield found


def _free(begin: int, end: int, taken: set[Path]) -> Path | None:
    """These two clicks, written as no other path is: a move and a capture may be two actions with the same cells."""
    one, other = frozenset((begin,)), frozenset((end,))
    for path in ((begin, end), (begin, other), (one, end), (one, other)):
        if path not in taken:
            taken.add(path)
            return path
    return None


def _changes(theirs: Any, drawn: Callable[[Any], Any], names: list[str | None]) -> Iterator[tuple[int, frozenset[int]]]:
    """(action, the cells that it changed) of random games. Fills in the names of actions that were legal there:
    OpenSpiel may crash when asked for others."""
    draw = random.Random(1)
    for _ in range(GAMES):
        state = theirs.new_initial_state()
        for _ in range(PLIES):
            if state.is_terminal():
                break
            chance, legal = state.is_chance_node(), state.legal_actions()
            if not chance:
                for action in legal:
                    names[action] = names[action] or state.action_to_string(action)
            action, before = draw.choice(legal), drawn(state)
            state.apply_action(action)
            if not chance and not state.is_terminal() and not state.is_chance_node():
                yield action, frozenset((drawn(state) != before).nonzero()[0].tolist())


def _on_board(path: Path | None) -> bool:
    return path is not None and not isinstance(path[0], str)


def _fits(path: Path | None, changed: frozenset[int]) -> bool:
    return all(bool(step & changed) if isinstance(step, frozenset) else step in changed for step in path or ())
