"""`meijin tournament`: play the games of a plan that are not played yet, and write the report."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.text import Text

from meijin.arena import report
from meijin.arena.plan import EXAMPLE, read_plan
from meijin.arena.report_tables import Summary, forfeit_rows, rating_rows
from meijin.arena.standings import StandingsRow
from meijin.arena.store import Store
from meijin.arena.tournament import Tournament, database_path, report_path
from meijin.cli import words
from meijin.cli.common import prepare
from meijin.cli.console import counting, err, out, print_json, table, warn
from meijin.cli.program import until_stopped
from meijin.core.errors import BadParameter, MeijinError


def tournament(
    file: Path | None,
    folder: Path | None,
    database: Path | None,
    workers: int | None,
    report_only: bool,
    example: bool,
    load: Sequence[Path],
    as_json: bool,
    ray: str | None = None,
) -> None:
    if example:
        print(EXAMPLE, end="")
        return
    if file is None:
        raise BadParameter("name the plan of a tournament; 'meijin tournament --example' prints one to start from")
    with opened(file, database, load, create=not report_only) as run:
        if not report_only:
            _play(run, workers, hidden=as_json, ray=ray)
        summary = run.summary()
        paths = report.write(summary, folder or report_path(run.plan, file))
    if as_json:
        print_json(_as_json(summary, paths))
    else:
        _print(summary, paths)


@contextmanager
def opened(file: Path, database: Path | None, load: Sequence[Path], create: bool) -> Iterator[Tournament]:
    """The tournament of a plan and the games it has played."""
    plan = read_plan(file)
    prepare(load)
    path = database or database_path(plan, file)
    if not create and not path.exists():
        raise MeijinError(f"there is no '{path}': no game of '{plan.name}' has been played yet")
    with Store(path, create=create) as store:
        yield Tournament(plan, store)


def _play(run: Tournament, workers: int | None, hidden: bool, ray: str | None) -> None:
    with counting(run.plan.name, run.total, done=run.played, hidden=hidden) as step:
        try:
            stop = threading.Event()

            def play() -> None:
                run.run(workers, lambda _: step(), ray=ray, warn=warn, stopping=stop.is_set)

            if until_stopped(play, stop.set)[1]:
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            done = f"stopped after {run.played:,} of {run.total:,} games, which are saved"
            err().print(Text(f"{done}; the same command continues"))
            raise


def _as_json(summary: Summary, paths: Sequence[Path]) -> dict[str, Any]:
    def line(each: StandingsRow) -> dict[str, Any]:
        rating, tally = each.rating, each.tally
        return {
            "rank": each.rank,
            "name": each.name,
            "elo": rating.elo,
            "interval": [rating.low, rating.high],
            "glicko2": asdict(each.glicko),
            "games": tally.games,
            "wins": tally.wins,
            "draws": tally.draws,
            "losses": tally.losses,
            "mean_score": tally.mean,
        }

    return {
        "name": summary.name,
        "finished": summary.done,
        "games": [
            {
                "game": each.game,
                "played": len(each.played),
                "total": each.total,
                "agents": [line(one) for one in each.rows],
                "forfeits": [asdict(forfeit) for forfeit in each.forfeits],
            }
            for each in summary.tables
        ],
        "overall": [line(each) for each in summary.overall],
        "files": [str(path) for path in paths],
    }


def _print(summary: Summary, paths: Sequence[Path]) -> None:
    console = out()
    console.print(Text.assemble((summary.name, "bold"), (f"  {summary.progress}", "dim")))
    if summary.overall:
        _print_list("all games", summary.overall, solo=False)
    for each in summary.tables:
        _print_list(each.title, each.rows, each.solo)
        for agent, count, games, reason in forfeit_rows(each)[1]:
            counted = words.count(int(count), "game")
            console.print(Text.assemble((agent, "bold"), f" forfeited {counted} ({games}): {reason}"))
    console.print(Text(f"report: {paths[0]}", "dim"), soft_wrap=True)


def _print_list(title: str, lines: Sequence[StandingsRow], solo: bool) -> None:
    """The list, with as many columns as fit a terminal."""
    headings, rows = rating_rows(lines, solo)
    keep = [k for k, heading in enumerate(headings) if heading not in ("Glicko-2", "wins", "draws", "losses")]
    names = [headings[k] or "#" for k in keep]
    shown = table(*names, right=tuple(name for name in names if name != "agent"))
    for row in rows:
        shown.add_row(*(Text(row[k], "bold cyan" if headings[k] == "agent" else "") for k in keep))
    console = out()
    console.print(Text(title, "bold"))
    console.print(shown)
