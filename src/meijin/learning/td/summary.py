"""What a checkpoint tells of its tuples in its header: the tables behind it may have hundreds of megabytes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from meijin.core.catalogue import make
from meijin.core.config import convert
from meijin.core.errors import MeijinError
from meijin.learning.files import about
from meijin.learning.td.config import TuplesConfig
from meijin.learning.td.tuples import count_weights, find_tuples, named_symmetries, table_sizes


@dataclass(frozen=True)
class TupleSummary:
    number: int  # from 1, in the order of the network
    cells: list[int]
    entries: int  # of its table for one seat, stage and move
    mean_weight: float | None  # without signs; None in a checkpoint that does not tell


@dataclass(frozen=True)
class Summary:
    games: int | None  # that it has learned from; None in a checkpoint that does not tell
    weights: int
    symmetries: int  # of the game that share weights
    tuples: list[TupleSummary]  # those with the largest weights first


def summary(path: Path) -> Summary | None:
    """The tuples of a checkpoint; None if its network has features instead, or is of another learner."""
    said = about(path) or {}
    try:
        net = dict(said["net"])
        if "tuples" not in net:
            return None
        game, moves = make(said["game"]), net["learn"] != "td"
        config = convert(TuplesConfig, dict(net["tuples"]), str(path), {})
        tuples = find_tuples(game, config, moves, 0)
        entries = table_sizes(game, config, tuples)
        means = [float(mean) for mean in net["mean_weights"]] if "mean_weights" in net else [None] * len(tuples)
        found = [
            TupleSummary(number, list(cells), size, mean)
            for number, (cells, size, mean) in enumerate(zip(tuples, entries, means, strict=True), 1)
        ]
        found.sort(key=lambda each: -(each.mean_weight or 0.0))
        symmetries = len(named_symmetries(game, config, net.get("symmetries")))
        games, weights = said["facts"].get("games"), count_weights(game, config, tuples, moves)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise MeijinError(f"{path}: its description cannot be read ({error}); use another checkpoint") from None
    return Summary(games, weights, symmetries, found)
