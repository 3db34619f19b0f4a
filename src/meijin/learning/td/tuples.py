"""Which cells the tuples of a network see, and the numbers that kernels compute their table indices from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from meijin.core.contract import Symmetry
from meijin.core.errors import BadParameter, UnknownName, suggest
from meijin.core.game import Game
from meijin.learning.td.config import TuplesConfig

ENTRIES = 20_000  # of a table whose length is not given: nine cells of three values
MOST = 2**24  # weights of a network whose tuples are not given: 200 MB with what coherence needs
PATIENCE = 20  # where that many times as many walks as are known bring no new one, there are no more, or hardly any
OFTEN = 16  # how many features see each cell, if the number of tuples is not given

DENSE = 2**17  # bytes at most of `Layout.dense`, so that it stays in the processor's fastest memory

Tuples = tuple[tuple[int, ...], ...]


class Layout(NamedTuple):
    """How a position becomes weights. A feature is one tuple seen through one symmetry of the game.

    An entry is one cell of a feature. The index of a feature is where its table begins and, for each of its entries,
    what the value of that cell adds. A view is a way to see the board: one for all seats, or one for each if they share
    a network.
    """

    first: Any  # int32 [feature]: where its table begins
    begins: Any  # int32 [view, cell + 1]: the entries of each cell
    features: Any  # int32 [view, entry]: its feature
    codes: Any  # int32 [view, entry, value]: what it adds to the index
    dense: Any  # int32 [view, cell, value, feature]: the same for all features at once; no cells if that were large
    blocks: Any  # int32 [view, feature, move]: what the move adds to the index; no moves if tables know none
    views: Any  # int64 [seat]: its view
    networks: Any  # int64 [seat]: where its network begins
    stages: Any  # int32 [stage - 1]: the least value of a cell with which it begins
    stage_size: int  # weights of one stage


def layout(
    game: Game, config: TuplesConfig, tuples: Tuples, moves: bool, symmetries: Sequence[Symmetry]
) -> tuple[Layout, int]:
    """The layout of a network and how many weights it has. `moves`: every move has tables of its own."""
    cells = len(game.board.cells)
    code = _codes(game, config.values)
    sizes = table_sizes(game, config, tuples)
    first = np.repeat(np.cumsum([0, *sizes[:-1]]), len(symmetries))
    size = sum(sizes)
    owner = np.repeat(np.arange(len(first)), np.repeat([len(places) for places in tuples], len(symmetries)))
    begins, features, codes, blocks = [], [], [], []
    for seen_cells, seen_values, seen_moves in _views(game, config.share):
        at, add = [], []
        for places in tuples:
            strides = np.cumprod([1, *(code[c].max() + 1 for c in places)])[:-1]
            for symmetry in symmetries:
                came_from = np.argsort(np.array(symmetry.cells)[seen_cells])  # of what the symmetry shows
                at += [came_from[c] for c in places]
                values = np.arange(code.shape[1])
                values[: len(symmetry.values)] = np.array(symmetry.values)[seen_values]
                add += [n * code[c][values] for c, n in zip(places, strides, strict=True)]
        order = np.argsort(at, kind="stable")
        begins.append(np.searchsorted(np.array(at)[order], np.arange(cells + 1)))
        features.append(owner[order])
        codes.append(np.array(add)[order])
        images = [np.array(s.moves)[seen_moves] * size for s in symmetries] if moves else np.zeros((len(symmetries), 0))
        blocks.append(np.tile(np.array(images), (len(tuples), 1)))
    size *= game.num_moves if moves else 1
    seats = np.arange(game.seats, dtype=np.int64)
    stage_size = size * (1 if config.share else game.seats)
    found = Layout(
        first=first.astype(np.int32),
        begins=np.array(begins, np.int32),
        features=np.array(features, np.int32),
        codes=np.array(codes, np.int32),
        dense=_dense(begins, features, codes, len(first)),
        blocks=np.array(blocks, np.int32),
        views=seats if config.share else 0 * seats,
        networks=0 * seats if config.share else size * seats,
        stages=np.array(config.stages, np.int32),
        stage_size=stage_size,
    )
    return found, stage_size * (1 + len(config.stages))


def _dense(begins: Any, features: Any, codes: Any, count: int) -> NDArray[np.int32]:
    """`codes` as `Layout.dense` has them."""
    cells, values = len(begins[0]) - 1, codes[0].shape[1]
    if 4 * len(begins) * cells * values * count > DENSE:
        return np.zeros((len(begins), 0, values, count), np.int32)
    found = np.zeros((len(begins), cells, values, count), np.int32)
    for view, row in enumerate(found):
        cell = np.repeat(np.arange(cells), np.diff(begins[view]))
        row[cell, :, features[view]] = codes[view]
    return found


def table_sizes(game: Game, config: TuplesConfig, tuples: Tuples) -> list[int]:
    """The number of entries of each tuple's table."""
    values = [int(n) + 1 for n in _codes(game, config.values).max(axis=1)]
    return [math.prod(values[c] for c in places) for places in tuples]


def count_weights(game: Game, config: TuplesConfig, tuples: Tuples, moves: bool) -> int:
    """The number of weights of a network."""
    return sum(table_sizes(game, config, tuples)) * _copies(game, config, moves)


def least_weights(game: Game, config: TuplesConfig, moves: bool) -> int:
    """The number of weights of random tuples, before they are drawn, which may take long; fewer where there are not as
    many different ones as were asked for."""
    if config.cells:
        return 0
    sizes, useful = _useful(game, config)
    length, count, possible = _how_many(game, config, moves)
    smallest = sorted(int(sizes[c]) for c in useful)[:length]
    return min(count, possible) * math.prod(smallest) * _copies(game, config, moves)


def choose_symmetries(game: Game, config: TuplesConfig, seed: int) -> tuple[Symmetry, ...]:
    """The symmetries that share weights, the identity first: all, or a random choice."""
    found = _sharing(game)
    if config.symmetries > len(found):
        alike = " that leave the seats as they are" if len(found) < len(game.symmetries) else ""
        raise BadParameter(f"tuples.symmetries={config.symmetries}: {game} has {len(found)} symmetries{alike}")
    if not config.symmetries:
        return found
    if len({symmetry.name for symmetry in found}) < len(found):  # a checkpoint could not name its choice
        raise BadParameter(f"tuples.symmetries={config.symmetries}: symmetries of {game} have equal names; rename them")
    others = np.random.default_rng((seed, 17)).permutation(len(found) - 1)[: config.symmetries - 1]
    return tuple(found[k] for k in (0, *sorted(others + 1)))


def named_symmetries(game: Game, config: TuplesConfig, names: Sequence[str] | None) -> tuple[Symmetry, ...]:
    """Those of a checkpoint. None are named where all share weights, and in an old one, which has the first."""
    found = _sharing(game)
    if names is None:
        return found[: config.symmetries or None]
    known = {symmetry.name: symmetry for symmetry in found}
    if gone := [name for name in names if name not in known]:
        raise UnknownName(f"{game} has no symmetry '{gone[0]}'")
    return tuple(known[name] for name in names)


def _sharing(game: Game) -> tuple[Symmetry, ...]:
    return tuple(symmetry for symmetry in game.symmetries if not symmetry.swaps)


def find_tuples(game: Game, config: TuplesConfig, moves: bool, seed: int) -> Tuples:
    """The tuples of a config: those it names, or random ones."""
    if config.cells:
        return tuple(_named(game, names) for names in config.cells)
    _, useful = _useful(game, config)
    length, count, possible = _how_many(game, config, moves)
    rng, near = np.random.default_rng((seed, 15)), _near(game, useful, config.kind)
    found: dict[frozenset[int], tuple[int, ...]] = {}
    since = 0  # walks since the last new one
    while len(found) < min(count, possible) and since <= PATIENCE * (1 + len(found)):
        places = _walk(near, length, rng)
        since = 0 if frozenset(places) not in found else since + 1
        found.setdefault(frozenset(places), places)
    return tuple(found.values())


def _how_many(game: Game, config: TuplesConfig, moves: bool) -> tuple[int, int, int]:
    """(cells of each random tuple, how many are asked for, how many different ones there may be)"""
    sizes, useful = _useful(game, config)
    if config.length > len(useful):
        raise BadParameter(f"tuples.length={config.length}: {game} has {len(useful)} cells that can change")
    copies, symmetries = _copies(game, config, moves), len(_sharing(game)[: config.symmetries or None])
    lengths = np.arange(1, len(useful) + 1)
    enough = np.maximum(4, np.ceil(OFTEN * len(useful) / (lengths * symmetries)))  # tuples of each length
    entries = np.cumprod(np.sort(sizes[useful])[::-1].astype(float))
    fitting = (entries <= ENTRIES) & (entries * (min(config.count, 2**62) or enough) * copies <= MOST)
    length = config.length or max(1, int(fitting.sum()))
    return length, config.count or int(enough[length - 1]), math.comb(len(useful), length)


def _useful(game: Game, config: TuplesConfig) -> tuple[NDArray[np.int64], list[int]]:
    """How many values each cell has, and the cells that have more than one."""
    sizes = _codes(game, config.values).max(axis=1) + 1
    return sizes, [c for c in range(len(sizes)) if sizes[c] > 1]


def _copies(game: Game, config: TuplesConfig, moves: bool) -> int:
    """How many networks there are: of seats, stages and moves."""
    return (1 if config.share else game.seats) * (1 + len(config.stages)) * (game.num_moves if moves else 1)


def _walk(near: Mapping[int, set[int]], length: int, rng: np.random.Generator) -> tuple[int, ...]:
    """A walk from cell to cell; where it cannot go on, it goes on from an earlier cell, or else anywhere."""
    places = [int(rng.choice(sorted(near)))]
    while len(places) < length:
        seen = set(places)
        ways = near[places[-1]] - seen or set().union(*(near[c] for c in places)) - seen or near.keys() - seen
        places.append(int(rng.choice(sorted(ways))))
    return tuple(sorted(places))


def _near(game: Game, useful: Sequence[int], kind: str) -> dict[int, set[int]]:
    """Where a walk can go from each cell: to its neighbours, and to cells that share two neighbours with it, which on
    squares are the diagonal ones and on hexagons those of a bridge. Points are walks that cannot go anywhere."""
    next_to = [set(cells) for cells in game.board.neighbours]
    if kind == "points":
        return {c: set() for c in useful}
    return {c: {n for n in useful if n != c and (n in next_to[c] or len(next_to[c] & next_to[n]) > 1)} for c in useful}


def _named(game: Game, names: str) -> tuple[int, ...]:
    numbers = {cell.name: i for i, cell in enumerate(game.board.cells)}
    words = names.split()
    for word in words:
        if word not in numbers:
            raise BadParameter(f"tuples.cells: {game} has no cell '{word}' (in '{names}'){suggest(word, numbers)}")
    if not words or len(set(words)) < len(words):
        raise BadParameter(f"tuples.cells: '{names}' must name one or more different cells")
    return tuple(numbers[word] for word in words)


def _codes(game: Game, most: int) -> NDArray[np.int64]:
    """[cell, value] -> its number among the values that the cell can have."""
    values = len(game.pieces) + (game.supports is not None)  # an empty cell that can be filled is another value
    found = np.zeros((len(game.board.cells), values), np.int64)
    for cell, row in enumerate(found):
        alphabet = (
            [*range(values)] if game.alphabets is None else [*game.alphabets[cell], *range(len(game.pieces), values)]
        )
        for number, value in enumerate(alphabet):
            row[value] = min(number, most - 1) if most else number
    return found


def _views(game: Game, share: bool) -> list[list[NDArray[np.int64]]]:
    """Where a cell, as what a value and as what a move is seen: as they are, and by a second seat that shares."""
    same = [np.arange(n) for n in (len(game.board.cells), len(game.pieces), game.num_moves)]
    if not share:
        return [same]
    moves = same[2] if game.views is None else game.views[1].astype(np.int64)
    return [same, [np.array(game.turned[1]) if game.turned else same[0], np.array(game.exchanged[1]), moves]]
