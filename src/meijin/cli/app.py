"""The commands and their options. Nothing here imports more than typer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from meijin.cli.program import Program

app = typer.Typer(
    cls=Program,
    help="Play, search and compare board games, and write your own.",
    epilog="A game or an agent is a name, with parameters in parentheses: 'othello(size=6)', "
    "'mcts(simulations=2000)'. See 'meijin COMMAND --help' for more about a command.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

PLAY, LOOK, WRITE = "Play", "Look inside", "Write a game"

GameName = Annotated[str, typer.Argument(metavar="GAME", help="The game, such as 'connect_four(width=9)'.")]
Load = Annotated[
    list[Path] | None,
    typer.Option("--load", metavar="FILE.py", help="Load games and agents from your file; repeatable."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Seconds = Annotated[float | None, typer.Option("--seconds", metavar="S", help="Let agents think S seconds a move.")]
Simulations = Annotated[
    int | None, typer.Option("--simulations", metavar="N", help="Let agents search N simulations a move.")
]
Moves = Annotated[str, typer.Option("--moves", metavar="LINE", help="Begin after these moves: '4 4 3'.")]


def _version(wanted: bool) -> None:
    if wanted:
        from meijin import __version__

        print(f"meijin {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None: ...


@app.command(rich_help_panel=PLAY)
def games(load: Load = None, json: Json = False) -> None:
    """List the games there are."""
    from meijin.cli import listings

    listings.games(load or [], json)


@app.command(rich_help_panel=PLAY)
def agents(
    game: Annotated[
        str | None, typer.Option("--game", metavar="GAME", help="Say which agents can play this game.")
    ] = None,
    load: Load = None,
    json: Json = False,
) -> None:
    """List the agents there are, and which of them can play a game."""
    from meijin.cli import listings

    listings.agents(game, load or [], json)


@app.command(rich_help_panel=PLAY)
def play(
    game: GameName,
    seat: Annotated[
        list[str] | None,
        typer.Option(
            "--seat",
            metavar="K=AGENT",
            help="Who plays seat K; repeatable. By default you play seat 0 and mcts(seconds=1) the others.",
        ),
    ] = None,
    moves: Moves = "",
    seconds: Seconds = None,
    simulations: Simulations = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Repeat the same dice and agents.")] = None,
    load: Load = None,
) -> None:
    """Play a game in the terminal, against agents or other people, or watch agents play."""
    from meijin.cli import play as command

    command.play(game, seat or [], moves, seconds, simulations, seed, load or [])


@app.command(rich_help_panel=PLAY)
def match(
    game: GameName,
    agents: Annotated[
        list[str], typer.Argument(metavar="AGENT...", help="The agents, one a seat, such as 'mcts(c=1)' random.")
    ],
    games: Annotated[int, typer.Option("--games", metavar="N", help="How many games to play.")] = 100,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same games.")] = 0,
    seconds: Seconds = None,
    simulations: Simulations = None,
    opening_plies: Annotated[
        int | None,
        typer.Option(
            "--opening-plies",
            metavar="K",
            help="Open each game with K random plies; by default only where all games would be alike.",
        ),
    ] = None,
    load: Load = None,
    json: Json = False,
) -> None:
    """Let agents play many games with the seats rotated, and count."""
    from meijin.cli import match as command

    command.match(game, agents, games, seed, seconds, simulations, opening_plies, load or [], json)


@app.command(rich_help_panel=LOOK)
def inspect(
    game: GameName,
    moves: Moves = "",
    agent: Annotated[
        str, typer.Option("--agent", metavar="AGENT", help="Who looks at the position.")
    ] = "mcts(simulations=10000)",
    seconds: Seconds = None,
    simulations: Simulations = None,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same search.")] = 0,
    load: Load = None,
    json: Json = False,
) -> None:
    """Show what an agent thinks of every move in a position."""
    from meijin.cli import inspect as command

    command.inspect(game, moves, agent, seconds, simulations, seed, load or [], json)


@app.command(rich_help_panel=LOOK)
def perft(
    game: GameName,
    depth: Annotated[int, typer.Option("--depth", metavar="N", help="Count lines of up to N plies.")],
    moves: Moves = "",
    load: Load = None,
    json: Json = False,
) -> None:
    """Count the lines of play to a depth, to compare rules with published numbers."""
    from meijin.cli import measure

    measure.perft(game, depth, moves, load or [], json)


@app.command(rich_help_panel=LOOK)
def bench(
    game: GameName,
    seconds: Annotated[float, typer.Option("--seconds", metavar="S", help="How long to measure each.")] = 2.0,
    device: Annotated[str, typer.Option("--device", metavar="cpu|cuda", help="Which processor.")] = "cpu",
    threads: Annotated[
        int | None, typer.Option("--threads", metavar="T", help="Threads; by default 1, on a GPU 131072.")
    ] = None,
    load: Load = None,
    json: Json = False,
) -> None:
    """Measure how many random moves and search playouts a second this machine does."""
    from meijin.cli import measure

    measure.bench(game, seconds, device, threads, load or [], json)


@app.command(rich_help_panel=WRITE)
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new game's name, such as my_game.")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite NAME.py if it exists.")] = False,
) -> None:
    """Write NAME.py, a small complete game to start your own from."""
    from meijin.cli import new as command

    command.new(name, force)


@app.command(rich_help_panel=WRITE)
def check(
    game: Annotated[
        str | None,
        typer.Argument(metavar="[GAME]", help="The game; by default every game of the loaded files."),
    ] = None,
    load: Load = None,
    games: Annotated[int | None, typer.Option("--games", metavar="N", help="Random games to play.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same games.")] = 0,
) -> None:
    """Check that a game keeps the laws of games: notation, symmetries, scores, odds and more."""
    from meijin.cli import check as command

    command.check(game, load or [], games, seed)
