"""The commands that work on recorded games, and their options. Nothing here imports more than typer."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from meijin.cli.options import Json, Load, Moves, Seconds, Simulations

games_db = typer.Typer(no_args_is_help=True, help="List, count, import and export recorded games.")

Database = Annotated[Path, typer.Argument(metavar="DB", help="The database of games, such as games.db.")]
FileFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="F",
        help="jsonl, sgf, pgn, ggf, usi, kif or csa; csv to export only; by default from the file's name.",
    ),
]

#: Filters that every command on recorded games has.
FILTERS: dict[str, Any] = {
    "event": Annotated[str | None, typer.Option("--event", metavar="NAME", help="Only games of this event.")],
    "game": Annotated[
        str | None, typer.Option("--game", metavar="GAME", help="Only this game; 'othello*' is any size.")
    ],
    "agent": Annotated[
        str | None, typer.Option("--agent", metavar="AGENT", help="Only games of this agent; 'mcts*' is any mcts.")
    ],
    "seat": Annotated[int | None, typer.Option("--seat", metavar="K", help="Only games with the agent in seat K.")],
    "result": Annotated[
        str | None, typer.Option("--result", metavar="win|draw|loss", help="Only this result of the agent or seat.")
    ],
    "ending": Annotated[
        str | None, typer.Option("--ending", metavar="rules|forfeit|judged|cap", help="Only this ending.")
    ],
    "since": Annotated[str | None, typer.Option("--since", metavar="DATE", help="Only games from 2026-08-01 on.")],
    "until": Annotated[str | None, typer.Option("--until", metavar="DATE", help="Only games up to this day.")],
}


def filtered(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `FILTERS`; their values are its first argument, as one dictionary."""
    own = list(inspect.signature(command).parameters.values())[1:]
    hints = get_type_hints(command, include_extras=True)

    def run(**given: Any) -> None:
        filters = {name: given.pop(name) for name in FILTERS}
        command({name: value for name, value in filters.items() if value is not None}, **given)

    keyword = inspect.Parameter.KEYWORD_ONLY
    added = [inspect.Parameter(name, keyword, default=None, annotation=kind) for name, kind in FILTERS.items()]
    parameters = [p.replace(kind=keyword, annotation=hints[p.name]) for p in own]
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = inspect.Signature([*parameters, *added])  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in (*parameters, *added)}
    return run


@games_db.command("list")
@filtered
def list_(
    filters: Any,  # by `filtered`
    db: Database,
    most: Annotated[int, typer.Option("--most", metavar="N", min=0, help="Show N games; 0 for all.")] = 30,
    json: Json = False,
) -> None:
    """List games: the players and the results."""
    from meijin.cli import games_db as command

    command.list_(db, filters, most, json)


@games_db.command()
@filtered
def stats(
    filters: Any,  # by `filtered`
    db: Database,
    crosstable: Annotated[
        bool, typer.Option("--crosstable", help="Also show what each agent scored against each other.")
    ] = False,
    json: Json = False,
) -> None:
    """Count games, endings and results, by event, game and agent."""
    from meijin.cli import games_db as command

    command.stats(db, filters, crosstable, json)


@games_db.command()
@filtered
def tree(
    filters: Any,  # by `filtered`
    db: Database,
    moves: Moves = "",
    depth: Annotated[int, typer.Option("--depth", metavar="N", min=1, max=20, help="Show N plies.")] = 1,
    least: Annotated[int, typer.Option("--least", metavar="N", min=1, help="Hide moves with fewer games.")] = 1,
    load: Load = None,
    json: Json = False,
) -> None:
    """Show which moves were played in a position, and their results."""
    from meijin.cli import games_db as command

    command.tree(db, filters, moves, depth, least, load or [], json)


@games_db.command()
@filtered
def export(
    filters: Any,  # by `filtered`
    db: Database,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file to write; '-' prints (needs --format).")],
    format: FileFormat = None,
    load: Load = None,
    json: Json = False,
) -> None:
    """Write games to a file that other programs read."""
    from meijin.cli import games_db as command

    command.export(db, filters, file, format, load or [], json)


@games_db.command("import")
def import_(
    db: Database,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files of games.")],
    format: FileFormat = None,
    event: Annotated[
        str | None,
        typer.Option("--event", metavar="NAME", help="Event for games without one; by default the file's name."),
    ] = None,
    load: Load = None,
    json: Json = False,
) -> None:
    """Read and check games from files, and store the new ones: all of them or, on an error, none."""
    from meijin.cli import games_db as command

    command.import_(db, files, format, event, load or [], json)


def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE|DB", help="A file of games, or a database of them.")],
    game: Annotated[
        int,
        typer.Option(
            "--game", metavar="N", min=1, help="The N-th game of the file; in a database, game N of its list."
        ),
    ] = 1,
    ply: Annotated[
        int | None, typer.Option("--ply", metavar="N", min=0, help="Show only the position after N plies.")
    ] = None,
    analyse: Annotated[
        str | None, typer.Option("--analyse", metavar="AGENT", help="Show what an agent thinks of each position.")
    ] = None,
    step: Annotated[
        bool | None,
        typer.Option("--step/--no-step", help="Step by commands, or show all; by default, step in a terminal."),
    ] = None,
    seconds: Seconds = None,
    simulations: Simulations = None,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same analysis.")] = 0,
    format: FileFormat = None,
    load: Load = None,
    json: Json = False,
) -> None:
    """Step through a recorded game in the terminal, with the values and times of the players."""
    from meijin.cli import replay as command

    command.replay(file, game, ply, analyse, step, seconds, simulations, seed, format, load or [], json)
