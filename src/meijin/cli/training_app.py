"""The commands that train, and their options. Nothing here imports more than typer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from meijin.cli.options import GameName, Json, Load

champions = typer.Typer(no_args_is_help=True, help="The trained nets that come with Meijin, and your own.")


def train(
    game: GameName,
    method: Annotated[str, typer.Argument(metavar="METHOD", help="zero (AlphaZero) or classic (two small nets).")],
    preset: Annotated[
        str | None,
        typer.Option("--preset", metavar="NAME", help="quick (two processors), strong (a GPU) or tiny (a try)."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE.json", help="Settings that differ from the preset's.")
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="One setting, such as search.simulations=64; repeatable."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="The run's directory; by default runs/GAME.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run that is there.")] = False,
    device: Annotated[
        str | None, typer.Option("--device", metavar="cpu|cuda", help="Where everything runs; by default cpu.")
    ] = None,
    selfplay_device: Annotated[
        str | None,
        typer.Option("--selfplay-device", metavar="D,D", help="Where games are played, such as cuda:0,cuda:1."),
    ] = None,
    train_device: Annotated[
        str | None, typer.Option("--train-device", metavar="D", help="Where the net learns, such as cuda:0.")
    ] = None,
    warm: Annotated[
        str | None, typer.Option("--warm", metavar="AGENT", help="Begin with what this agent's games teach.")
    ] = None,
    warm_games: Annotated[
        int | None, typer.Option("--warm-games", metavar="N", help="So many of its games; by default 200.")
    ] = None,
    from_games: Annotated[
        Path | None,
        typer.Option("--from-games", metavar="FILE", help="Begin with the games of a file or database."),
    ] = None,
    evaluate: Annotated[
        list[str] | None,
        typer.Option(
            "--evaluate",
            metavar="EVALUATOR",
            help="Measure the net by 'vs(mcts(simulations=200), games=40, goal=0.9)'; repeatable. Goals end the run.",
        ),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", metavar="S", help="Train so long, earlier runs included.")
    ] = None,
    iterations: Annotated[
        int | None, typer.Option("--iterations", metavar="N", help="Train so many iterations in all.")
    ] = None,
    load: Load = None,
    json: Annotated[bool, typer.Option("--json", help="Print what happens as JSON lines.")] = False,
) -> None:
    """Train a net to play a game. A run that was stopped or killed goes on with --resume."""
    from meijin.cli import train as command

    options = command.Options(
        preset, config, changes or [], out, resume, device, selfplay_device, train_device, warm, warm_games, from_games,
        evaluate or [], seconds, iterations, json,
    )  # fmt: skip
    command.train(game, method, options, load or [])


@champions.command("list")
def champion_list(json: Json = False) -> None:
    """List the champions there are."""
    from meijin.cli import champion as command

    command.list_(json)


@champions.command("make")
def champion_make(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run's directory, or one of its checkpoints.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where it goes; by default your own champions.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Of the file; by default the game's.")
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option("--measure", metavar="EVALUATOR", help="Such as 'vs(mcts(simulations=5000))'; repeatable."),
    ] = None,
    simulations: Annotated[
        int, typer.Option("--simulations", metavar="N", help="Of the champion when it is measured.")
    ] = 200,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", help="Processes that play; by default one a processor.")
    ] = None,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="A remark to keep with it.")] = "",
    load: Load = None,
) -> None:
    """Make a champion of a run: its net in half precision with config, curve and measured strength."""
    from meijin.cli import champion as command

    command.make(run, out, name, measure or [], simulations, workers, note, load or [])
