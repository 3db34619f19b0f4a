"""`meijin games` and `meijin agents`."""

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
from meijin.core.agent import Agent
from meijin.core.catalogue import games as game_registry
from meijin.core.catalogue import make
from meijin.core.errors import MeijinError, UnknownName
from meijin.core.expression import Call
from meijin.core.registry import Entry


def games(load: Sequence[Path], as_json: bool) -> None:
    prepare(load)
    rows = [_game_row(game_registry.get(name)) for name in game_registry.names()]
    if as_json:
        print_json(rows)
        return
    shown = table("game", "", "seats")
    for row in rows:
        about = Text.assemble((row["title"], "bold"), (f"  {_parameters(row)}", "dim cyan"))
        about.append(f"\n{words.prose(row['summary'])}")
        fewest, most = row["seat_range"] or ("?", "?")
        seats = f"{fewest}{f' to {most}' if most != fewest else ''}{' + chance' if row['chance'] else ''}"
        shown.add_row(Text(row["name"], "bold cyan"), about, seats)
        shown.add_section() if row is not rows[-1] else None
    console = out()
    console.print(shown)
    console.print(_hint("play one: ", "meijin play connect_four"))


def agents(game: str | None, load: Sequence[Path], as_json: bool) -> None:
    prepare(load)
    played = make(game) if game else None
    rows: list[dict[str, Any]] = []
    for name in sorted({*agent_registry.names(), *agent_registry.broken}):
        row = _agent_row(name)
        if played:
            row["fits"], row["why"] = (
                (False, row["broken"]) if row["broken"] else _fits(agent_registry.get(name), played)
            )
        rows.append(row)
    if as_json:
        print_json(rows)
        return
    shown = table("agent", "", *([f"plays {played}"] if played else []))
    for row in rows:
        parameters = _parameters(row)
        about = Text.assemble(words.prose(row["summary"]), "\n" if row["summary"] and parameters else "")
        about.append(parameters, "dim cyan")
        if row["broken"] and not played:
            about.append(row["broken"], "red")
        fit = [] if played is None else [_verdict(row["fits"], row["why"])]
        shown.add_row(Text(row["name"], "bold cyan"), about, *fit)
        shown.add_section() if row is not rows[-1] else None
    console = out()
    console.print(shown)
    console.print(_hint("watch two: ", 'meijin play connect_four --seat 0=random --seat 1="mcts(seconds=1)"'))


def _agent_row(name: str) -> dict[str, Any]:
    try:
        entry = agent_registry.get(name)
    except UnknownName as error:  # its module fails; the others are worth listing
        return {"name": name, "summary": "", "parameters": {}, "needs": {}, "broken": str(error)}
    return {"name": name, "summary": entry.summary, **_signature(entry), "broken": None}


def _game_row(entry: Entry[Any]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": entry.name,
        "title": entry.metadata.get("title") or entry.name.replace("_", " "),
        "summary": entry.summary,
    } | _signature(entry)
    try:
        made = make(entry.name)
    except MeijinError:  # a parameter without a default, or a mistake in a user's file
        return row | {"seats": None, "seat_range": None, "chance": None}
    return row | {"seats": made.seats, "seat_range": made.seat_range, "chance": made.chance}


def _signature(entry: Entry[Any]) -> dict[str, Any]:
    """The parameters with a default, and what must be given: name -> what it is."""
    empty = inspect.Parameter.empty
    plain = {
        name: parameter
        for name, parameter in entry.parameters.items()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }
    return {
        "parameters": {n: p.default for n, p in plain.items() if p.default is not empty and not callable(p.default)},
        "needs": {n: "an agent" if _is_agent(p) else "a value" for n, p in plain.items() if p.default is empty},
    }


def _is_agent(parameter: inspect.Parameter) -> bool:
    return parameter.annotation in (Agent, "Agent")


def _parameters(row: dict[str, Any]) -> str:
    def show(item: Any) -> str:
        return f"{item:.4g}" if isinstance(item, float) else repr(item)

    needed = [f"{name} ({'' if what == 'a value' else f'{what}, '}required)" for name, what in row["needs"].items()]
    return "  ".join([*needed, *(f"{name}={show(item)}" for name, item in row["parameters"].items())])


def _fits(entry: Entry[Any], game: Any) -> tuple[bool | None, str | None]:
    """Whether an agent with its default parameters can play a game, and why not. None: that depends on a parameter.

    An agent that wraps others is tried with `mcts` inside, which plays everything.
    """
    missing = [p for p in entry.parameters.values() if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    needed = [p for p in missing if _is_agent(p)]
    if len(needed) < len(missing):  # a file, for example
        return None, f"on {', '.join(p.name for p in missing if not _is_agent(p))}"
    call = Call(entry.name, tuple(Call("mcts") for _ in needed))
    try:
        why = build(call).unfit(game)
    except Exception as error:  # a user's own agent may fail in any way; the others are still listed
        return False, f"it cannot be made: {error}"
    return why is None, f"with an agent inside that plays it, as in {call}" if needed and why is None else why


def _verdict(fits: bool | None, why: str | None) -> Text:
    word = ("yes", "green") if fits else ("no", "red") if fits is False else ("depends", "yellow")
    return Text.assemble(word, f"{' ' if fits is None else ': '}{why}" if why else "")


def _hint(words: str, command: str) -> Text:
    return Text.assemble((words, "dim"), (command, "cyan"))
