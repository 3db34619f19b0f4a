"""`meijin check`: does a game keep the laws of games?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer
from rich.table import Table
from rich.text import Text

from meijin.cli.common import prepare
from meijin.cli.console import busy, out
from meijin.cli.program import FAILED, complain, interruptible
from meijin.core.catalogue import games as registry
from meijin.core.catalogue import make
from meijin.core.check import Report, check_game
from meijin.core.errors import BadParameter, RuleError


def check(name: str | None, load: Sequence[Path], games: int | None, seed: int) -> None:
    loaded = prepare(load)
    own = [entry.name for entry in loaded if entry.name in registry.names() and registry.get(entry.name) is entry]
    names = own if name is None else [name]
    if not names:
        raise BadParameter("there is nothing to check; give a game, or a file that makes one with --load")
    broken = False
    for each in names:
        try:
            _check(each, games, seed)
        except RuleError as error:  # the other games of the file are worth a look all the same
            complain(str(error))
            broken = True
    if broken:
        raise typer.Exit(FAILED)


def _check(name: str, games: int | None, seed: int) -> None:
    game = make(name)
    with busy(f"checking {game}"):
        report = interruptible(
            lambda: check_game(game, seed=seed) if games is None else check_game(game, games=games, seed=seed)
        )
    _print(report)


def _print(report: Report) -> None:
    console = out()
    most = f"up to {report.branching:,} moves a position and {report.longest:,} plies a game"
    console.print(Text.assemble((report.game, "bold"), ("  every law holds", "bold green")))
    shown = Table.grid(padding=(0, 2, 0, 0))
    for law in report.laws:
        left_out = law.count == 0
        style = "dim" if left_out else ""
        shown.add_row(
            Text("-", "dim") if left_out else Text("✓", "bold green"),
            Text(law.name, style),
            Text("" if left_out else f"{law.count:,} {law.unit}", style),
            Text(law.note or "nothing to try" * left_out, "dim"),
        )
    console.print(shown)
    console.print(Text(f"seen: {report.positions:,} positions, {most}", "dim"))
