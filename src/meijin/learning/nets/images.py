"""Images of positions, as their movers see them, under the symmetries that leave a game's seats and pieces alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meijin.core.game import Game


@dataclass(frozen=True, slots=True)
class Images:
    """Tables with a row for each symmetry, or where seats see the board differently, for each seat and symmetry."""

    count: int  # symmetries
    views: int  # one for each seat, or one for all
    sources: NDArray[np.int64]  # [row, cell]: the cell whose value comes there
    moves: NDArray[np.int64]  # [row, move]: what it becomes

    def rows(self, symmetries: Any, seats: Any) -> Any:
        """Where the tables say what these symmetries do to positions of which those seats are the movers."""
        return symmetries + self.count * seats if self.views > 1 else symmetries


@lru_cache(maxsize=64)
def images(game: Game) -> Images:
    kept = [s for s in game.symmetries if not s.swaps and s.values == game.symmetries[0].values]
    same = range(len(game.board.cells))
    cells = np.array(game.turned if game.turned is not None else [same])  # [view, cell] -> where it is seen
    moves = game.views if game.views is not None else np.arange(game.num_moves)[None]  # [view, move] -> its number
    sources = [_composed(view, np.argsort(s.cells)) for view in cells for s in kept]
    becomes = [_composed(view, np.array(s.moves)) for view in moves for s in kept]
    return Images(len(kept), len(cells), np.array(sources), np.array(becomes))


def _composed(view: NDArray[Any], permutation: NDArray[Any]) -> NDArray[np.int64]:
    """A permutation as it looks through a view: view, then what it does, then back."""
    found = np.zeros(len(view), np.int64)
    found[view] = view[permutation]
    return found
