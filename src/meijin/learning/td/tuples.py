"""Which cells the tuples of a network see, and the numbers that kernels compute their table indices from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from meijin.core.errors import BadParameter, suggest
from meijin.core.game import Game
from meijin.core.symmetry import Permutation
from meijin.learning.td.config import TuplesConfig

ENTRIES = 20_000  # of a table whose length is not given: nine cells of three values
MOST = 2**26  # weights of a network whose tuples are not given
OFTEN = 16  # how many features see each cell, if the number of tuples is not given

Tuples = tuple[tuple[int, ...], ...]


class Layout(NamedTuple):
    """How a position becomes weights. A feature is one tuple seen through one symmetry of the game.

    The index of feature f is `first[f]` and, for each entry e of each cell, `codes[e, value of the cell]`.
    """

    first: Any  # int64 [feature]: where its table begins
    begins: Any  # int32 [cell + 1]: the entries of each cell
    features: Any  # int32 [entry]: which feature it belongs to
    codes: Any  # int32 [entry, value]: what it adds to the index
    seen_cells: Any  # int32 [seat, cell]: where a seat sees the cell
    seen_values: Any  # int32 [seat, value]: as what it sees the value
    seen_moves: Any  # int32 [seat, move]: as what it sees the move
    blocks: Any  # int64 [feature, move]: what the move adds to the index; [feature, 0] if tables know no moves
    networks: Any  # int64 [seat]: where its network begins
    stages: Any  # int32 [stage - 1]: the least value of a cell with which it begins
    stage_size: int  # weights of one stage


def layout(game: Game, config: TuplesConfig, tuples: Tuples, moves: bool) -> tuple[Layout, int]:
    """The layout of a network and how many weights it has. `moves`: every move has tables of its own."""
    cells, values = len(game.board.cells), len(game.pieces)
    code = _codes(game, config.values)
    symmetries = [s for s in game.symmetries if not s.swaps][: config.symmetries or None]
    by_cell: list[list[tuple[int, NDArray[np.int32]]]] = [[] for _ in range(cells)]
    first, size, feature = [], 0, 0
    for places in tuples:
        strides = np.cumprod([1, *(code[c].max() + 1 for c in places)])
        for symmetry in symmetries:
            came_from = np.argsort(symmetry.cells)  # of the image
            for cell, stride in zip(places, strides[:-1], strict=True):
                seen = (stride * code[cell][list(symmetry.values)]).astype(np.int32)
                by_cell[came_from[cell]].append((feature, seen))
            first.append(size)
            feature += 1
        size += int(strides[-1])
    flat = [entry for entries in by_cell for entry in entries]
    blocks = np.zeros((feature, 0), np.int64)
    if moves:
        per_symmetry = np.array([symmetry.moves for symmetry in symmetries], np.int64) * size
        blocks = np.tile(per_symmetry, (len(tuples), 1))
        size *= game.num_moves
    seen_cells, seen_values = _seen(game, config.share)
    networks = np.arange(game.seats, dtype=np.int64) * (0 if config.share else size)
    stage_size = size * (1 if config.share else game.seats)
    found = Layout(
        first=np.array(first, np.int64),
        begins=np.cumsum([0, *map(len, by_cell)]).astype(np.int32),
        features=np.array([f for f, _ in flat], np.int32),
        codes=np.array([seen for _, seen in flat], np.int32).reshape(-1, values),
        seen_cells=seen_cells,
        seen_values=seen_values,
        seen_moves=_seen_moves(game, config.share),
        blocks=blocks,
        networks=networks,
        stages=np.array(config.stages, np.int32),
        stage_size=stage_size,
    )
    return found, stage_size * (1 + len(config.stages))


def find_tuples(game: Game, config: TuplesConfig, moves: bool, seed: int) -> Tuples:
    """The tuples of a config: those it names, or random ones."""
    if config.cells:
        return tuple(_named(game, names) for names in config.cells)
    sizes = _codes(game, config.values).max(axis=1) + 1
    useful = [c for c in range(len(sizes)) if sizes[c] > 1]
    if config.length > len(useful):
        raise BadParameter(f"tuples.length={config.length}: {game} has {len(useful)} cells that can change")
    copies = (1 if config.share else game.seats) * (1 + len(config.stages)) * (game.num_moves if moves else 1)
    symmetries = len([s for s in game.symmetries if not s.swaps][: config.symmetries or None])
    ordered = np.sort(sizes[useful])[::-1]
    length, count = config.length, config.count
    if not length:
        fitting = np.cumprod(ordered.astype(float)) <= min(ENTRIES, max(8.0, MOST / copies / 16))
        length = max(1, min(len(useful), int(fitting.sum())))
    count = count or max(4, math.ceil(OFTEN * len(useful) / (length * symmetries)))
    rng = np.random.default_rng((seed, 15))
    found: dict[frozenset[int], tuple[int, ...]] = {}
    for _ in range(20 * count):  # where there are few different ones, fewer have to do
        if len(found) == count:
            break
        places = _walk(game, useful, length, config.kind, rng)
        found.setdefault(frozenset(places), places)
    return tuple(found.values())


def _walk(game: Game, useful: Sequence[int], length: int, kind: str, rng: np.random.Generator) -> tuple[int, ...]:
    places: list[int] = []
    while len(places) < length:
        near = {n for c in places for n in game.board.neighbours[c] if n in useful} if kind == "walk" else set()
        open_ = sorted((near or set(useful)) - set(places)) or sorted(set(useful) - set(places))
        places.append(int(rng.choice(open_)))
    return tuple(sorted(places))


def _named(game: Game, names: str) -> tuple[int, ...]:
    numbers = {cell.name: i for i, cell in enumerate(game.board.cells)}
    words = names.split()
    for word in words:
        if word not in numbers:
            raise BadParameter(
                f"tuples.cells: {game} has no cell '{word}' (in '{names}'){suggest(word, numbers)}"
            )
    if not words or len(set(words)) < len(words):
        raise BadParameter(f"tuples.cells: '{names}' must name one or more different cells")
    return tuple(numbers[word] for word in words)


def _codes(game: Game, most: int) -> NDArray[np.int64]:
    """[cell, value] -> its number among the values that the cell can have."""
    values = len(game.pieces)
    found = np.zeros((len(game.board.cells), values), np.int64)
    for cell, row in enumerate(found):
        alphabet = range(values) if game.alphabets is None else game.alphabets[cell]
        for number, value in enumerate(alphabet):
            row[value] = min(number, most - 1) if most else number
    return found


def _seen(game: Game, share: bool) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Where and as what each seat sees a cell: as it is, unless seats share a network."""
    cells: Permutation = tuple(range(len(game.board.cells)))
    values = tuple(range(len(game.pieces)))
    places, pieces = [cells] * game.seats, [values] * game.seats
    if share:
        places = list(game.turned or places)
        pieces[1] = game.exchanged[1]
    return np.array(places, np.int32), np.array(pieces, np.int32)


def _seen_moves(game: Game, share: bool) -> NDArray[np.int32]:
    if share and game.views is not None:
        return game.views
    return np.tile(np.arange(game.num_moves, dtype=np.int32), (game.seats, 1))
