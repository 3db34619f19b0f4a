"""`meijin check`: does a game keep the laws of games, and what does its random play look like?"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from meijin.cli.common import prepare
from meijin.cli.console import busy, out, print_json
from meijin.cli.program import FAILED, complain
from meijin.core.catalogue import games as registry
from meijin.core.catalogue import make
from meijin.core.check import Report, Statistics, check_game
from meijin.core.errors import BadParameter, RuleError


def check(
    name: str | None,
    load: Sequence[Path],
    games: int,
    seed: int,
    timeout: float,
    strict: bool,
    as_json: bool,
    browser: bool = False,
) -> None:
    loaded = prepare(load)
    own = [entry.name for entry in loaded if entry.name in registry.names() and registry.get(entry.name) is entry]
    names = own if name is None else [name]
    if not names:
        raise BadParameter("there is nothing to check; give a game, or a file that makes one with --load")
    reports: list[dict[str, Any]] = []
    failed = False
    for each in names:
        try:
            report = _check(each, games, seed, timeout, browser)
        except RuleError as error:  # the other games of the file are worth a look all the same
            failed = True
            reports.append({"game": each, "error": str(error)})
            if not as_json:
                complain(str(error))
        else:
            failed |= strict and bool(report.warnings)
            reports.append({"error": None, **asdict(report)})
            if not as_json:
                _print(out(), report)
    if as_json:
        print_json(reports)
    if failed:
        raise typer.Exit(FAILED)


def _check(name: str, games: int, seed: int, timeout: float, browser: bool) -> Report:
    game = make(name)
    with ExitStack() as shown:

        def show(what: str) -> None:
            shown.close()
            shown.enter_context(busy(f"checking {game}: {what}"))

        return check_game(game, games=games, seed=seed, browser=browser, timeout=timeout, progress=show)


# ---- the report in the terminal ----


def _print(console: Console, report: Report) -> None:
    count = len(report.warnings)
    warned = f"  {count} warning{'s' * (count > 1)}" if count else ""
    console.print(Text.assemble((report.game, "bold"), ("  every law holds", "bold green"), (warned, "bold yellow")))
    console.print(_indented(_laws(report)))
    seen = report.statistics
    console.print(Text.assemble(("random play", "bold"), (f"  {seen.games:,} games, seed {seen.seed}", "dim")))
    console.print(_indented(_facts(seen)))
    console.print(_indented(_seats(seen)))
    if report.warnings:
        console.print(Text("warnings", "bold yellow"))
        rows = Table.grid(padding=(0, 1, 0, 0))
        for warning in report.warnings:
            rows.add_row(Text("!", "bold yellow"), warning)
        console.print(_indented(rows))


def _indented(table: Table) -> Padding:
    return Padding(table, (0, 0, 0, 2))


def _laws(report: Report) -> Table:
    rows = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(3):
        rows.add_column(no_wrap=True)
    for law in report.laws:
        left_out = law.count == 0
        style = "dim" if left_out else ""
        rows.add_row(
            Text("-", "dim") if left_out else Text("✓", "bold green"),
            Text(law.name, style),
            Text("" if left_out else f"{law.count:,} {law.unit}", style),
            Text(law.note or "nothing to try" * left_out, "dim"),
        )
    return rows


def _facts(seen: Statistics) -> Table:
    """What is true of the game as a whole, a line for each."""
    rows = Table.grid(padding=(0, 2, 0, 0))
    length, branching = seen.length, seen.branching
    rows.add_row("length", f"{length.mean:,.1f} plies ({_range(length.low, length.high)})")
    if seen.unfinished:
        rows.add_row("", f"{seen.unfinished:,} games were still going at the end")
    if seen.chance:
        rows.add_row("chance", f"{seen.chance:.0%} of the plies; such as {' '.join(seen.outcome_names)}")
    rows.add_row(
        "choice",
        f"{branching.mean:,.1f} legal moves ({_range(branching.low, branching.high)}); {seen.forced:.1%} of the turns "
        "are forced",
    )
    used = sum(count > 0 for count in seen.played)
    rows.add_row("moves", f"{used:,} of {len(seen.played):,} were played; such as {' '.join(seen.move_names)}")
    if len(seen.seats) > 1:
        even = 1 / len(seen.seats)
        rows.add_row("draws", f"{seen.draws:.1%}")
        rows.add_row(
            "first seat", f"takes {seen.first_seat:.1%} ± {seen.first_seat_margin:.1%} of the points (even: {even:.1%})"
        )
    return rows


def _seats(seen: Statistics) -> Table:
    """A line for each seat."""
    rows = Table.grid(padding=(0, 2, 0, 0))
    several = len(seen.seats) > 1
    for seat in seen.seats:
        rows.add_row(
            seat.name,
            f"{seat.moves:,.1f} moves",
            f"wins {seat.wins:.1%}" if several else "",
            f"mean score {_number(seat.score.mean)} ({_range(seat.score.low, seat.score.high)})",
        )
    return rows


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _range(low: float, high: float) -> str:
    return f"always {low:,g}" if low == high else f"{low:,g} to {high:,g}"
