"""Moves as people see them: the cells they click, the names they write, and their images under a symmetry.

A path is what a person clicks to make a move, in order. Each step is a cell, a set of cells of which any will do
(a column to drop into), or a word (a button such as "pass", or "+" for a promotion). Paths are unique, so the
permutation of moves under a symmetry of the board follows from them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from meijin.core.boards import Board
from meijin.core.errors import RuleError

Step = int | frozenset[int] | str
Path = tuple[Step, ...]


class Move(int):
    """A move or chance outcome: an integer for kernels, a name for people."""

    name: str

    def __new__(cls, value: int, name: str) -> Move:
        move = super().__new__(cls, value)
        move.name = name
        return move

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(self.name, spec)

    def __reduce__(self) -> tuple[type[Move], tuple[int, str]]:
        return Move, (int(self), self.name)


def checked_path(rule: str, number: int, path: Any) -> Path | None:
    """What a path function returned, or an error that says what it must return."""
    if path is None:
        return None
    if isinstance(path, tuple) and all(
        (isinstance(step, int) and not isinstance(step, bool))
        or isinstance(step, str)
        or (isinstance(step, frozenset) and all(isinstance(cell, int) for cell in step))
        for step in path
    ):
        return path
    raise RuleError(
        f"`{rule}` of number {number} is {path!r}; return a tuple of steps: cells, frozensets of cells, or words, "
        "as in (3, 12) or ('pass',)"
    )


def path_name(board: Board, path: Path) -> str:
    """The default notation: the names of the cells in click order, with words as they are."""
    return "".join(
        step if isinstance(step, str) else board.cells[min(step) if isinstance(step, frozenset) else step].name
        for step in path
    )


def named_moves(kind: str, count: int, name: Callable[[int], str]) -> tuple[Move, ...]:
    """The moves 0..count-1 with their names, which must differ and fit on a line of moves."""
    moves: list[Move] = []
    taken: dict[str, int] = {}
    for number in range(count):
        text = name(number)
        if not isinstance(text, str):
            raise RuleError(f"{kind} {number} is called {text!r}; a name must be a string")
        if not text or any(c.isspace() for c in text):
            raise RuleError(f"{kind} {number} is called {text!r}; a name must not be empty or contain spaces")
        if (other := taken.setdefault(text.lower(), number)) != number:
            raise RuleError(
                f"notation clash: {kind}s {other} and {number} are both called '{text}'; "
                "give them different paths or names"
            )
        moves.append(Move(number, text))
    return tuple(moves)


def permuted(paths: Sequence[Path | None], cells: Sequence[int]) -> tuple[int, ...] | None:
    """Where each path goes when cell i goes to `cells[i]`; None if some image is not a path.

    A move without a path stays as it is.
    """

    def image(step: Step) -> Step:
        if isinstance(step, str):
            return step
        return frozenset(cells[c] for c in step) if isinstance(step, frozenset) else cells[step]

    index = {path: number for number, path in enumerate(paths) if path is not None}
    images = [
        number if path is None else index.get(tuple(image(step) for step in path)) for number, path in enumerate(paths)
    ]
    return None if None in images else tuple(i for i in images if i is not None)
