"""`meijin td show`: the tuples of a network drawn on the board, or its features."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.columns import Columns
from rich.text import Text

from meijin.cli.common import prepare
from meijin.cli.console import out, print_json, table
from meijin.cli.words import count
from meijin.core.pieces import Piece
from meijin.learning.td.feature_network import FeatureNetwork
from meijin.learning.td.network import Network
from meijin.learning.td.network import load as load_network

PIECES = (Piece("."), Piece("#", fill="#2166ac"))  # other cells, and those of the tuple


def show(run: Path, most: int, load: Sequence[Path], as_json: bool) -> None:
    prepare(load)
    found = load_network(run)
    net = found.net
    if isinstance(net, FeatureNetwork):
        _show_features(net, most, as_json)
        return
    sizes = net.mean_weights()
    order = sorted(range(len(net.tuples)), key=lambda k: -sizes[k])
    if as_json:
        rows = [{"cells": net.tuple_names[k], "entries": net.entries[k], "mean_weight": sizes[k]} for k in order]
        about = {"game": str(net.game), "learn": net.learn, "weights": len(net.weights), "symmetries": net.symmetries}
        print_json({**about, "facts": found.facts, "tuples": rows})
        return
    console = out()
    console.print(Text.assemble((str(net.game), "bold"), f"  {net.learn}  ", (str(found.path), "dim")))
    games = f"; {count(found.facts['games'], 'game')}" if "games" in found.facts else ""
    seen = f"{count(len(net.tuples), 'tuple')}, seen in {net.symmetries} of the game's symmetries"
    console.print(f"{seen}, {len(net.weights):,} weights{games}")
    drawn = [_drawn(net, k, sizes[k]) for k in order[:most]]
    console.print(Columns(drawn, padding=(1, 3), equal=False))
    if len(order) > most:
        console.print(Text(f"and {len(order) - most} more; --most {len(order)} draws all", "dim"))


def _drawn(net: Network, number: int, size: float) -> Text:
    values = [int(cell in net.tuples[number]) for cell in range(len(net.game.board.cells))]
    head = f"tuple {number + 1}: {net.entries[number]:,} entries\nmean weight {size:.3g}\n"
    return Text.assemble((head, "dim"), Text.from_ansi(net.game.board.text(values, PIECES, ansi=True)))


def _show_features(net: FeatureNetwork, most: int, as_json: bool) -> None:
    """Features and, if there are no hidden units, their weights, the largest first."""
    inputs = net.features.names
    weights = None if net.config.hidden else net.weights.reshape(net.game.seats, -1)[:, :-1]
    order = sorted(range(len(inputs)), key=lambda k: 0.0 if weights is None else -float(np.abs(weights[:, k]).max()))
    seats = [net.game.seat_name(seat) for seat in range(net.game.seats)] if weights is not None else []
    rows = [(inputs[k], *(weights[:, k].tolist() if weights is not None else ())) for k in order]
    if as_json:
        about = {"game": str(net.game), "learn": net.learn, "features": net.config.by, "hidden": net.config.hidden}
        print_json({**about, "weights": {name: list(found) for name, *found in rows}})
        return
    made = table("feature", *seats, right=tuple(seats))
    for name, *found in rows[:most]:
        made.add_row(name, *(f"{weight:+.3f}" for weight in found))
    units = f", {net.config.hidden} hidden units" if net.config.hidden else ""
    out().print(Text.assemble((str(net.game), "bold"), f"  {net.config.by}: {count(len(inputs), 'feature')}{units}"))
    out().print(made)
