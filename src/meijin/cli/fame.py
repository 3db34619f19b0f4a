"""`meijin fame`: the hall of fame, agents and their ratings over many tournaments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

from rich.text import Text

from meijin.arena.fame import Fame, Place
from meijin.cli.console import out, print_json, table
from meijin.cli.tournament import opened


def _existing(path: Path | None) -> Fame:
    """The hall to show. If a path was given it must exist, so that a typo does not create a file."""
    return Fame(path, create=path is None)


def list_(path: Path | None, game: str | None, as_json: bool) -> None:
    with _existing(path) as fame:
        places = fame.places(game)
        where = fame.path
    if as_json:
        print_json([asdict(place) for place in places])
        return
    console = out()
    if not places:
        console.print(Text(f"The hall of fame is empty ({where}); add a finished tournament with"))
        console.print(Text("  meijin fame add FILE.toml"))
        return
    for title, group in groupby(places, key=lambda place: place.game):
        console.print(Text(title, "bold"))
        console.print(_list(list(group)))


def _list(places: Sequence[Place]) -> object:
    shown = table("#", "agent", "rating", "95 %", "games", "tournaments", "expression",
                  right=("#", "rating", "95 %", "games", "tournaments"))  # fmt: skip
    for rank, place in enumerate(places, 1):
        low, high = place.rating.interval
        shown.add_row(
            str(rank), Text(place.name, "bold cyan"), f"{place.rating.rating:.0f}", f"{low:.0f} - {high:.0f}",
            f"{place.games:,}", str(place.tournaments), Text(place.definition, "dim"),
        )  # fmt: skip
    return shown


def show(path: Path | None, name: str, as_json: bool) -> None:
    with _existing(path) as fame:
        periods = fame.history(name)
    if as_json:
        print_json([asdict(period) for period in periods])
        return
    shown = table("game", "tournament", "added", "score", "rating", "95 %", right=("score", "rating", "95 %"))
    for period in periods:
        low, high = period.rating.interval
        score = f"{100 * period.points / period.games:.1f} %" if period.games else "-"
        shown.add_row(
            Text(period.game, "bold"), Text(period.tournament), period.added[:10], score,
            f"{period.rating.rating:.0f}", f"{low:.0f} - {high:.0f}",
        )  # fmt: skip
    console = out()
    console.print(Text(name, "bold cyan"))
    console.print(shown)


def add(path: Path | None, file: Path, database: Path | None, load: Sequence[Path]) -> None:
    with Fame(path) as fame, opened(file, database, load, create=False) as run:
        changed = fame.add(run)
        name = run.plan.name
    words = f"added '{name}': {', '.join(changed)}" if changed else f"'{name}' is already in the hall of fame"
    out().print(Text(words))


def remove(path: Path | None, name: str) -> None:
    with _existing(path) as fame:
        kind = fame.remove(name)
    out().print(Text(f"removed the {kind} '{name}'"))
