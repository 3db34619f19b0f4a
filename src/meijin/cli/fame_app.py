"""The commands of `meijin fame` and their options. Nothing here imports more than typer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from meijin.cli.options import Json, Load

hall = typer.Typer(no_args_is_help=True, help="Agents and their ratings over many tournaments.")
Hall = Annotated[
    Path | None,
    typer.Option("--hall", metavar="PATH", help="The file; by default fame.db in MEIJIN_DATA or your data folder."),
]


@hall.command("list")
def fame_list(
    game: Annotated[str | None, typer.Argument(metavar="[GAME]", help="Only this game.")] = None,
    path: Hall = None,
    json: Json = False,
) -> None:
    """List the agents and their Glicko-2 ratings, game by game."""
    from meijin.cli import fame as command

    command.list_(path, game, json)


@hall.command("show")
def fame_show(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="The agent's name.")],
    path: Hall = None,
    json: Json = False,
) -> None:
    """Show an agent's tournaments and how its rating came about."""
    from meijin.cli import fame as command

    command.show(path, agent, json)


@hall.command("add")
def fame_add(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The plan of a finished tournament.")],
    db: Annotated[
        Path | None, typer.Option("--db", metavar="PATH", help="Where its games are; by default beside the plan.")
    ] = None,
    path: Hall = None,
    load: Load = None,
) -> None:
    """Enter a finished tournament, once."""
    from meijin.cli import fame as command

    command.add(path, file, db, load or [])


@hall.command("remove")
def fame_remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The tournament, or the agent.")], path: Hall = None
) -> None:
    """Take out a tournament with its results, or an agent with all it played."""
    from meijin.cli import fame as command

    command.remove(path, name)
