"""The commands and their options. Nothing here imports more than typer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from meijin.cli.fame_app import hall
from meijin.cli.options import (
    LOOK,
    PLAY,
    TRAIN,
    WRITE,
    GameName,
    Json,
    Load,
    Moves,
    Position,
    Ray,
    Seconds,
    Simulations,
)
from meijin.cli.program import HELP, Program
from meijin.cli.records_app import games_db, replay
from meijin.cli.training_app import champions, sweep, tables, train

app = typer.Typer(
    cls=Program,
    help="Play, search and compare board games, and write your own.",
    epilog="A game or an agent is a name, with parameters in parentheses: 'othello(size=6)', "
    "'mcts(simulations=2000)'. See 'meijin COMMAND --help' for more about a command.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": HELP},
)


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
    """List the games."""
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
    """List the agents, and say which of them can play a game."""
    from meijin.cli import listings

    listings.agents(game, load or [], json)


@app.command(rich_help_panel=PLAY)
def play(
    game: Annotated[
        str | None, typer.Argument(metavar="GAME", help="The game, such as 'connect_four(width=9)'.")
    ] = None,
    seat: Annotated[
        list[str] | None,
        typer.Option(
            "--seat",
            metavar="K=AGENT",
            help="Who plays seat K; repeatable. By default you play seat 0 against the game's champion, or against "
            "mcts(seconds=1) if it has none.",
        ),
    ] = None,
    level: Annotated[
        int | None,
        typer.Option(
            "--level", metavar="N", help="Play against the champion at this level, 1 (beginner) to 10 (full strength)."
        ),
    ] = None,
    position: Position = "",
    moves: Moves = "",
    seconds: Seconds = None,
    simulations: Simulations = None,
    seed: Annotated[int | None, typer.Option("--seed", help="The same seed gives the same dice and agents.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue your latest unfinished game, of GAME or of any.")
    ] = False,
    load: Load = None,
) -> None:
    """Play a game in the terminal against agents or other people, or watch agents play."""
    from meijin.cli import play as command

    command.play(game, seat or [], level, position, moves, seconds, simulations, seed, load or [], resume)


@app.command(rich_help_panel=PLAY)
def rules(game: GameName, load: Load = None) -> None:
    """Show the rules of a game and its parameters."""
    from meijin.cli import rules as command

    command.rules(game, load or [])


@app.command(rich_help_panel=PLAY)
def serve(
    host: Annotated[str, typer.Option("--host", metavar="HOST", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="The port; 0: any.")] = 8000,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    load: Load = None,
    token: Annotated[
        str | None,
        typer.Option("--token", metavar="TEXT", help="What full access needs; beyond this machine one is made up."),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option("--name", metavar="NAME", help="A name under which others reach this machine; repeatable."),
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option("--agent", metavar="AGENT", help="Offer an agent that names files or programs; repeatable."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="Where games are kept; by default your data folder.")
    ] = None,
    runs: Annotated[Path, typer.Option("--runs", metavar="DIR", help="Where training runs are.")] = Path("runs"),
    no_training: Annotated[
        bool, typer.Option("--no-training", help="Nobody can start, stop or resume training; runs are shown.")
    ] = False,
) -> None:
    """Open the web app: play, look inside agents, run tournaments and training."""
    from meijin.cli import serve as command

    command.serve(host, port, open_, load or [], token, name or [], agent or [], data, runs, not no_training)


@app.command(rich_help_panel=PLAY)
def engine(
    game: GameName,
    protocol: Annotated[
        str | None,
        typer.Option(
            "--protocol",
            metavar="gtp|usi|cecp|ugi|nboard",
            help="What the board speaks; by default usi for minishogi, gtp for Go, Othello, Hex and gomoku, else ugi. "
            "xboard is cecp.",
        ),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option("--agent", metavar="AGENT", help="The agent; by default the champion, or mcts(seconds=1)."),
    ] = None,
    seconds: Seconds = None,
    simulations: Simulations = None,
    load: Load = None,
) -> None:
    """Be an engine for another program's board: XBoard, Sabaki, ShogiGUI, NBoard."""
    from meijin.cli import engine as command

    command.engine(game, protocol, agent, seconds, simulations, load or [])


@app.command(rich_help_panel=PLAY)
def publish(
    games: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[GAME...]",
            help="The games; by default those of the loaded files, or all. One game with several "
            "parameters offers a choice: 'hex(size=7)' 'hex(size=11)'.",
        ),
    ] = None,
    load: Load = None,
    agent: Annotated[
        list[str] | None,
        typer.Option("--agent", metavar="AGENT", help="Publish this agent too, such as 'mcts(rave=300)'; repeatable."),
    ] = None,
    net: Annotated[
        list[Path] | None,
        typer.Option("--net", metavar="RUN", help="Publish the newest net of a training run, or a checkpoint."),
    ] = None,
    no_champion: Annotated[
        bool, typer.Option("--no-champion", help="Leave out the nets that come with Meijin (2 MB each).")
    ] = False,
    single_file: Annotated[
        bool, typer.Option("--single-file", help="One HTML file, which opens from the disk by a double click.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="PATH", help="The folder, or with --single-file the file.")
    ] = None,
) -> None:
    """Make a page that plays games against the computer without a server, for any static host."""
    from meijin.cli import publish as command

    command.publish(games or [], load or [], agent or [], net or [], not no_champion, single_file, out)


@app.command(rich_help_panel=PLAY)
def match(
    game: GameName,
    agents: Annotated[
        list[str], typer.Argument(metavar="AGENT...", help="The agents, one per seat, such as 'mcts(c=1)' random.")
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
            help="Open each game with K random plies; by default only if all games would be the same otherwise.",
        ),
    ] = None,
    openings: Annotated[
        str | None,
        typer.Option(
            "--openings",
            metavar="SOURCE",
            help="Where games begin: 'random(plies=4)', 'file(\"lines.txt\")', 'all(depth=2)', "
            "'balanced(6, alphabeta(depth=4), margin=0.1)' or none.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            metavar="N",
            help="Processes that play; by default one per core. 0: this process, which cannot time agents out.",
        ),
    ] = None,
    ray: Ray = None,
    sprt: Annotated[
        tuple[float, float] | None,
        typer.Option(
            "--sprt",
            metavar="ELO0 ELO1",
            help="Stop as soon as a sequential test (5 % errors) decides between two Elo differences.",
        ),
    ] = None,
    cap: Annotated[int | None, typer.Option("--cap", metavar="N", help="End games as a draw after N plies.")] = None,
    agree: Annotated[
        float | None,
        typer.Option(
            "--agree", metavar="T", help="End games in which all agents give one seat a value of T (0 to 1) or more."
        ),
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            "--judge",
            metavar="JUDGE",
            help="End games early by 'cap(200, score=True)', 'agree(0.9, plies=8, draw=0.02)' or "
            "'perfect(after=20)'; repeatable.",
        ),
    ] = None,
    move_timeout: Annotated[
        float | None,
        typer.Option("--move-timeout", metavar="S", help="An agent that takes S seconds forfeits; by default 300."),
    ] = None,
    patience: Annotated[float | None, typer.Option("--patience", hidden=True)] = None,
    db: Annotated[
        Path | None, typer.Option("--db", metavar="FILE.db", help="Store the games in this database.")
    ] = None,
    event: Annotated[
        str | None,
        typer.Option("--event", metavar="NAME", help="The name to store them under; by default game and time."),
    ] = None,
    notes: Annotated[
        str | None,
        typer.Option("--notes", metavar="none|times|analyses", help="What to store of every move; by default times."),
    ] = None,
    load: Load = None,
    json: Json = False,
) -> None:
    """Play many games between agents in all seats, and count the results."""
    from meijin.cli import match as command

    command.match(
        game, agents, games, seed, seconds, simulations, opening_plies, load or [], json,
        source=openings, workers=workers, elos=sprt, cap=cap, agree=agree, judges=judge or [],
        move_timeout=move_timeout, patience=patience, db=db, event=event, notes=notes, ray=ray,
    )  # fmt: skip


@app.command(rich_help_panel=PLAY)
def evaluate(
    game: GameName,
    agent: Annotated[
        str | None, typer.Argument(metavar="[AGENT]", help="The agent; without one, the evaluators are listed.")
    ] = None,
    evaluators: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[EVALUATOR...]",
            help="Such as 'vs(random, games=200)', 'accuracy(\"positions.txt\")' or 'vs(perfect, goal=0.5)'; "
            "by default those that fit the game.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same games.")] = 0,
    seconds: Seconds = None,
    simulations: Simulations = None,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", help="Processes that play; by default one per core.")
    ] = None,
    ray: Ray = None,
    load: Load = None,
    json: Json = False,
) -> None:
    """Measure how good an agent is. The exit status is 1 if a goal is missed."""
    from meijin.cli import evaluate as command

    command.run(game, agent, evaluators or [], seed, seconds, simulations, workers, load or [], json, ray)


app.command(rich_help_panel=TRAIN)(train)
app.command(rich_help_panel=TRAIN)(sweep)
app.add_typer(tables, name="td", rich_help_panel=TRAIN)
app.add_typer(champions, name="champion", rich_help_panel=TRAIN)


@app.command(rich_help_panel=PLAY)
def tournament(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE.toml", help="The plan: agents, games, rounds; see --example.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder of the report; by default beside the plan.")
    ] = None,
    db: Annotated[
        Path | None, typer.Option("--db", metavar="PATH", help="Database of the games; by default beside the plan.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", metavar="N", min=0, help="Games at a time; by default one per core."),
    ] = None,
    ray: Ray = None,
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Only write the report of what was played so far.")
    ] = False,
    example: Annotated[bool, typer.Option("--example", help="Print an example of a plan.")] = False,
    load: Load = None,
    json: Json = False,
) -> None:
    """Play or continue a tournament, and write its report."""
    from meijin.cli import tournament as command

    command.tournament(file, out, db, workers, report_only, example, load or [], json, ray)


app.add_typer(hall, name="fame", rich_help_panel=PLAY)
app.add_typer(games_db, name="games-db", rich_help_panel=LOOK)
app.command(rich_help_panel=LOOK)(replay)


@app.command(rich_help_panel=LOOK)
def inspect(
    game: GameName,
    position: Position = "",
    moves: Moves = "",
    agent: Annotated[
        str | None,
        typer.Option("--agent", metavar="AGENT", help="The agent that looks; by default mcts(simulations=10000)."),
    ] = None,
    seconds: Seconds = None,
    simulations: Simulations = None,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same chance and search.")] = 0,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch", help="Show the analysis while the agent thinks, until its limit or Ctrl-C; by default mcts."
        ),
    ] = False,
    load: Load = None,
    json: Json = False,
) -> None:
    """Show what an agent thinks of every move in a position."""
    from meijin.cli import inspect as command

    command.inspect(game, position, moves, agent, seconds, simulations, seed, watch, load or [], json)


@app.command(rich_help_panel=LOOK)
def perft(
    game: GameName,
    depth: Annotated[int, typer.Option("--depth", metavar="N", help="Count lines of up to N plies.")],
    position: Position = "",
    moves: Moves = "",
    load: Load = None,
    json: Json = False,
) -> None:
    """Count the lines of play to a depth, to compare with published numbers."""
    from meijin.cli import measure

    measure.perft(game, depth, position, moves, load or [], json)


@app.command(rich_help_panel=LOOK)
def bench(
    game: GameName,
    seconds: Annotated[float, typer.Option("--seconds", metavar="S", help="How long to measure each.")] = 2.0,
    device: Annotated[str, typer.Option("--device", metavar="cpu|cuda", help="The processor to measure.")] = "cpu",
    threads: Annotated[
        int | None, typer.Option("--threads", metavar="T", help="Threads; by default 1, on a GPU 131072.")
    ] = None,
    load: Load = None,
    json: Json = False,
) -> None:
    """Measure the random moves and search playouts per second of this machine."""
    from meijin.cli import measure

    measure.bench(game, seconds, device, threads, load or [], json)


@app.command(rich_help_panel=WRITE)
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new game's name, such as my_game.")],
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            metavar="placement|movement|dice|hand",
            help="What the example shows: placing stones, moving pieces in several steps, dice, or pieces in hand.",
        ),
    ] = "placement",
    force: Annotated[bool, typer.Option("--force", help="Overwrite NAME.py if it exists.")] = False,
) -> None:
    """Write NAME.py, a small complete game that you can turn into your own."""
    from meijin.cli import new as command

    command.new(name, kind, force)


@app.command(rich_help_panel=WRITE)
def check(
    game: Annotated[
        str | None,
        typer.Argument(metavar="[GAME]", help="The game; by default every game of the loaded files."),
    ] = None,
    load: Load = None,
    games: Annotated[
        int, typer.Option("--games", metavar="N", help="Random games to interpret; fewer where games are long.")
    ] = 20,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same games.")] = 0,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="S", help="Seconds after which a rule counts as hanging.")
    ] = 30.0,
    strict: Annotated[bool, typer.Option("--strict", help="Fail if there are warnings.")] = False,
    browser: Annotated[
        bool, typer.Option("--browser", help="Also try the rules as WebAssembly, as `publish` compiles them.")
    ] = False,
    json: Json = False,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="AGENT", help="Check this agent on GAME instead of the rules.")
    ] = None,
) -> None:
    """Check that a game keeps the laws of games, and describe its random play."""
    if agent is not None:
        from meijin.cli import check_agent

        check_agent.check_agent(game, agent, load or [], seed)
        return
    from meijin.cli import check as command

    command.check(game, load or [], games, seed, timeout, strict, json, browser)
