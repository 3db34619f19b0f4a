"""From positions to weights on a GPU, where the threads of a warp share out the features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from meijin.core.compile import Function
from meijin.learning.td.tuples import Layout

LANES = 32  # threads of a warp


class Lookup(NamedTuple):
    """A `Layout` by feature instead of by cell. All features have as many entries as the longest; the rest add 0."""

    first: Any  # int32 [feature]
    cells: Any  # int32 [view * entry * feature]: the cell of an entry
    codes: Any  # int32 [view * entry * value * feature]: what its value adds to the index
    views: Any
    networks: Any
    stages: Any
    stage_size: int


def by_feature(layout: Layout) -> tuple[Lookup, tuple[int, int, int]]:
    """A layout as a GPU reads it; how many features it has, and entries and values of each."""
    views, _, values = layout.codes.shape
    features = len(layout.first)
    lists: list[list[list[Any]]] = [[[] for _ in range(features)] for _ in range(views)]
    for view in range(views):
        cells = np.repeat(np.arange(len(layout.begins[view]) - 1), np.diff(layout.begins[view]))
        for e, (cell, feature) in enumerate(zip(cells, layout.features[view], strict=True)):
            lists[view][feature].append((cell, layout.codes[view, e]))
    longest = max(len(found) for view in lists for found in view)
    cells = np.zeros((views, longest, features), np.int32)
    codes = np.zeros((views, longest, values, features), np.int32)
    for view, row in enumerate(lists):
        for feature, found in enumerate(row):
            for e, (cell, code) in enumerate(found):
                cells[view, e, feature], codes[view, e, :, feature] = cell, code
    lookup = Lookup(
        first=layout.first,
        cells=cells.reshape(-1),
        codes=codes.reshape(-1),
        views=layout.views,
        networks=layout.networks,
        stages=layout.stages,
        stage_size=layout.stage_size,
    )
    return lookup, (features, longest, values)


def make_index(cells: int, features: int, entries: int, values: int) -> Function:
    """The function that tells where a feature's weight is, for boards of so many cells and a `Lookup` of that shape."""

    def index(lookup: Any, view: int, seen: Any, j: int, f: int) -> Any:
        """What feature f adds to where the tables of a seat begin, if the cells are those of row j."""
        found = np.uint32(lookup.first[f])
        for entry in range(view * entries, (view + 1) * entries):
            value = seen[np.uint64(j * cells + lookup.cells[np.uint64(entry * features + f)])]
            found = np.uint32(found + lookup.codes[np.uint64((entry * values + value) * features + f)])
        return np.uint64(found)

    return index


def make_look_up(weight: Function, cells: int, features: int, entries: int, values: int) -> Function:
    """The function that adds up weights, `weight(table, i)`."""

    def look_up(lookup: Any, table: Any, view: int, seen: Any, at: Any, parts: Any, count: int, lane: int) -> None:
        """This thread's part of the values of some positions. Those of four arrive together."""
        for j in range(0, count, 4):  # rows beyond the last are of earlier positions
            x0 = x1 = x2 = x3 = 0.0
            for f in range(lane, features, LANES):
                i0 = i1 = i2 = i3 = np.uint32(lookup.first[f])
                of_cell, of_code = view * entries * features + f, view * entries * values * features + f
                for entry in range(entries):
                    cell = j * cells + lookup.cells[np.uint64(of_cell + entry * features)]
                    code = of_code + entry * values * features
                    i0 = np.uint32(i0 + lookup.codes[np.uint64(code + seen[np.uint64(cell)] * features)])
                    i1 = np.uint32(i1 + lookup.codes[np.uint64(code + seen[np.uint64(cell + cells)] * features)])
                    i2 = np.uint32(i2 + lookup.codes[np.uint64(code + seen[np.uint64(cell + 2 * cells)] * features)])
                    i3 = np.uint32(i3 + lookup.codes[np.uint64(code + seen[np.uint64(cell + 3 * cells)] * features)])
                x0 += weight(table, at[j] + np.uint64(i0))
                x1 += weight(table, at[j + 1] + np.uint64(i1))
                x2 += weight(table, at[j + 2] + np.uint64(i2))
                x3 += weight(table, at[j + 3] + np.uint64(i3))
            parts[j, lane], parts[j + 1, lane], parts[j + 2, lane], parts[j + 3, lane] = x0, x1, x2, x3

    return look_up


def sum_of_lanes(parts: Any, j: int) -> Any:
    """What all threads have written for row j."""
    a = b = c = d = 0.0  # four sums, as each addition would wait for the one before
    for i in range(0, LANES, 4):
        a += parts[j, i]
        b += parts[j, i + 1]
        c += parts[j, i + 2]
        d += parts[j, i + 3]
    return (a + b) + (c + d)


def rest(a: int, b: int) -> Any:
    """a % b of small numbers: 32 bits are divided in a fraction of the time of 64."""
    return np.int64(np.uint64(np.uint32(a)) % np.uint64(np.uint32(b)))
