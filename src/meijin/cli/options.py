"""Options that several commands have. Nothing here imports more than typer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

PLAY, TRAIN, LOOK, WRITE = "Play", "Train", "Look inside", "Write a game"  # panels of the help

GameName = Annotated[str, typer.Argument(metavar="GAME", help="The game, such as 'connect_four(width=9)'.")]
Load = Annotated[
    list[Path] | None,
    typer.Option("--load", metavar="FILE.py", help="Load games and agents from your file; repeatable."),
]
Ray = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="[ADDRESS]",
        help="Play on a Ray cluster: HOST:PORT, ray://HOST:10001, auto or local. Without ADDRESS, that of RAY_ADDRESS, "
        "or one is started on this machine.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Seconds = Annotated[float | None, typer.Option("--seconds", metavar="S", help="Let agents think S seconds per move.")]
Simulations = Annotated[
    int | None, typer.Option("--simulations", metavar="N", help="Let agents search N simulations per move.")
]
Position = Annotated[
    str,
    typer.Option(
        "--position",
        metavar="TEXT",
        help="Begin with this position, such as '1OX/3/2X 1'; 'meijin rules GAME' says how it is written.",
    ),
]
Moves = Annotated[str, typer.Option("--moves", metavar="LINE", help="Begin after these moves: '4 4 3'.")]
