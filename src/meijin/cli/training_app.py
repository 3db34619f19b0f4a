"""The commands that train, and their options. Nothing here imports more than typer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from meijin.cli.options import GameName, Json, Load, Ray

Events = Annotated[bool, typer.Option("--json", help="Print events as JSON lines.")]
Workers = Annotated[
    int, typer.Option("--workers", metavar="N", min=1, help="Processes that train, one run each; by default 1.")
]

tables = typer.Typer(no_args_is_help=True, help="Networks that td, sarsa and q have trained.")
champions = typer.Typer(no_args_is_help=True, help="The trained nets that come with Meijin, and your own.")


def train(
    game: GameName,
    method: Annotated[
        str,
        typer.Argument(metavar="METHOD", help="zero (AlphaZero), classic (two small nets), or td, sarsa, q (tables)."),
    ],
    preset: Annotated[
        str | None,
        typer.Option("--preset", metavar="NAME", help="quick (two CPU cores), strong (a GPU) or tiny (a trial)."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="Settings that differ from the preset's, as JSON or TOML."),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="One setting, such as search.simulations=64; repeatable."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="The run's directory, or s3://BUCKET/...; by default runs/GAME."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in that directory.")] = False,
    device: Annotated[
        str | None, typer.Option("--device", metavar="cpu|cuda", help="Where everything runs; by default cpu.")
    ] = None,
    selfplay_device: Annotated[
        str | None,
        typer.Option("--selfplay-device", metavar="D,D", help="Where games are played, such as cuda:0,cuda:1."),
    ] = None,
    train_device: Annotated[
        str | None,
        typer.Option("--train-device", metavar="D", help="Where the net learns, such as cuda:0 or cuda:0,cuda:1."),
    ] = None,
    ray: Ray = None,
    actors: Annotated[
        int | None,
        typer.Option("--actors", metavar="N", help="With --ray: self-play actors at most; by default on every core."),
    ] = None,
    warm: Annotated[
        str | None, typer.Option("--warm", metavar="AGENT", help="Learn from games of this agent first.")
    ] = None,
    warm_games: Annotated[
        int | None, typer.Option("--warm-games", metavar="N", help="How many of its games; by default 200.")
    ] = None,
    from_games: Annotated[
        Path | None,
        typer.Option("--from-games", metavar="FILE", help="Learn from the games of a file or database first."),
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
        float | None,
        typer.Option("--seconds", metavar="S", help="Wall-clock time of the run, its earlier sessions included."),
    ] = None,
    iterations: Annotated[
        int | None,
        typer.Option("--iterations", metavar="N", help="Iterations of the run, its earlier sessions included."),
    ] = None,
    repeat: Annotated[
        int | None,
        typer.Option("--repeat", metavar="N", min=1, help="Do N runs with different seeds, and average their curves."),
    ] = None,
    workers: Workers = 1,
    profile: Annotated[
        bool, typer.Option("--profile", help="Write into the run's directory where it spends its time.")
    ] = False,
    load: Load = None,
    json: Events = False,
) -> None:
    """Train a net to play a game. A run that was stopped or killed continues with --resume."""
    from meijin.cli import train as command

    options = {
        "preset": preset,
        "config": config,
        "changes": command.assignments(changes or []) or None,
        "out": out,
        "resume": resume or None,
        "device": train_device or device,
        "selfplay_device": selfplay_device or (device if train_device else None),
        "warm": warm,
        "warm_games": warm_games,
        "from_games": from_games,
        "evaluate": evaluate or None,
        "seconds": seconds,
        "iterations": iterations,
        "ray": ray,
        "actors": actors,
        "profile": profile or None,
    }
    if repeat is not None:
        from meijin.cli import sweep as sweeping

        sweeping.repeat(game, method, repeat, workers, load or [], json, **options)
    else:
        command.train(game, method, load or [], json, **options)


def sweep(
    plan: Annotated[
        Path, typer.Argument(metavar="PLAN", help="A TOML file, or the directory of a sweep, which then continues.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="The sweep's directory; by default runs/PLAN.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the sweep in that directory.")] = False,
    workers: Workers = 1,
    device: Annotated[str, typer.Option("--device", metavar="cpu|cuda", help="Where everything runs.")] = "cpu",
    ray: Ray = None,
    load: Load = None,
    json: Events = False,
) -> None:
    """Train with every combination of some settings, several times each, and compare the curves."""
    from meijin.cli import sweep as command

    command.sweep(plan, out, resume, workers, device, load or [], json, ray)


@champions.command("list")
def champion_list(json: Json = False) -> None:
    """List all champions."""
    from meijin.cli import champion as command

    command.list_(json)


@champions.command("make")
def champion_make(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run's directory, or one of its checkpoints.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where to put it; by default your own champions.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Name of the file; by default the game's.")
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option("--measure", metavar="EVALUATOR", help="Such as 'vs(mcts(simulations=5000))'; repeatable."),
    ] = None,
    simulations: Annotated[
        int, typer.Option("--simulations", metavar="N", help="Simulations of the champion when it is measured.")
    ] = 200,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", help="Processes that play; by default one per processor.")
    ] = None,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="A remark to keep with it.")] = "",
    load: Load = None,
) -> None:
    """Make a champion from a run: its net in half precision with config, curve and measured strength."""
    from meijin.cli import champion as command

    command.make(run, out, name, measure or [], simulations, workers, note, load or [])


@tables.command("show")
def td_show(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run's directory, or one of its checkpoints.")],
    most: Annotated[int, typer.Option("--most", metavar="N", min=1, help="Tuples to draw; by default 12.")] = 12,
    load: Load = None,
    json: Json = False,
) -> None:
    """Draw the tuples of a network on the board, those with the largest weights first."""
    from meijin.cli import td as command

    command.show(run, most, load or [], json)
