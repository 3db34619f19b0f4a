"""`meijin games` and `meijin agents`: what there is."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from meijin.agents.catalogue import agents as agent_registry
from meijin.agents.catalogue import build
from meijin.cli import words
from meijin.cli.common import prepare
from meijin.cli.console import out, print_json, table
from meijin.core.catalogue import games as game_registry
from meijin.core.catalogue import make
from meijin.core.errors import MeijinError
from meijin.core.registry import Entry


def games(load: Sequence[Path], as_json: bool) -> None:
    prepare(load)
    rows = [_game_row(game_registry.get(name)) for name in game_registry.names()]
    if as_json:
        print_json(rows)
        return
    shown = table("game", "", "seats")
    for row in rows:
        about = Text.assemble((row["title"], "bold"), (f"  {_parameters(row['parameters'])}", "dim cyan"))
        about.append(f"\n{words.prose(row['summary'])}")
        seats = f"{row['seats'] or '?'}{' + chance' if row['chance'] else ''}"
        shown.add_row(Text(row["name"], "bold cyan"), about, seats)
        shown.add_section() if row is not rows[-1] else None
    console = out()
    console.print(shown)
    console.print(_hint("play one: ", "meijin play connect_four"))


def agents(game: str | None, load: Sequence[Path], as_json: bool) -> None:
    prepare(load)
    played = make(game) if game else None
    rows: list[dict[str, Any]] = []
    for name in agent_registry.names():
        entry = agent_registry.get(name)
        row: dict[str, Any] = {"name": name, "summary": entry.summary, "parameters": _defaults(entry)}
        if played:
            row["fits"], row["why"] = _fits(name, played)
        rows.append(row)
    if as_json:
        print_json(rows)
        return
    shown = table("agent", "", *([f"plays {played}"] if played else []))
    for row in rows:
        about = Text.assemble(words.prose(row["summary"]), "\n" if row["summary"] and row["parameters"] else "")
        about.append(_parameters(row["parameters"]), "dim cyan")
        fit = [] if played is None else [_verdict(row["fits"], row["why"])]
        shown.add_row(Text(row["name"], "bold cyan"), about, *fit)
        shown.add_section() if row is not rows[-1] else None
    console = out()
    console.print(shown)
    console.print(_hint("watch two: ", 'meijin play connect_four --seat 0=random --seat 1="mcts(seconds=1)"'))


def _game_row(entry: Entry[Any]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": entry.name,
        "title": entry.metadata.get("title") or entry.name.replace("_", " "),
        "summary": entry.summary,
        "parameters": _defaults(entry),
    }
    try:
        made = make(entry.name)
    except MeijinError:  # no defaults, or a mistake in a user's file: the name is worth listing all the same
        return row | {"seats": None, "chance": None}
    return row | {"seats": made.seats, "chance": made.chance}


def _defaults(entry: Entry[Any]) -> dict[str, Any]:
    """Parameters a person can write, with their defaults; those without one have none to show."""
    return {
        name: None if parameter.default is inspect.Parameter.empty else parameter.default
        for name, parameter in entry.parameters.items()
        if not callable(parameter.default) or parameter.default is inspect.Parameter.empty
    }


def _parameters(defaults: dict[str, Any]) -> str:
    def show(item: Any) -> str:
        return f"{item:.4g}" if isinstance(item, float) else repr(item)

    return "  ".join(f"{name}={show(item)}" for name, item in defaults.items())


def _fits(name: str, game: Any) -> tuple[bool | None, str | None]:
    """Whether an agent with its default parameters can play a game, and if not, why. None: it cannot be told."""
    try:
        why = build(name).unfit(game)
    except MeijinError as error:
        return None, str(error)
    return why is None, why


def _verdict(fits: bool | None, why: str | None) -> Text:
    if fits:
        return Text("yes", "green")
    return Text.assemble(("no", "red") if fits is False else ("?", "yellow"), f": {why}")


def _hint(words: str, command: str) -> Text:
    return Text.assemble((words, "dim"), (command, "cyan"))
