"""`meijin match`: agents play many games, and their results are counted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from meijin.arena.match import MatchResult, Standing, Tally
from meijin.arena.match import match as play_match
from meijin.cli import words
from meijin.cli.common import limit, prepare
from meijin.cli.console import err, out, print_json, table, telling
from meijin.cli.program import interruptible
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter
from meijin.core.expression import parse
from meijin.core.game import Game


def match(
    name: str,
    agents: Sequence[str],
    games: int,
    seed: int,
    seconds: float | None,
    simulations: int | None,
    opening_plies: int | None,
    load: Sequence[Path],
    as_json: bool,
) -> None:
    prepare(load)
    game = make(name)
    for agent in agents:
        if parse(agent).name == "human":
            raise BadParameter(f"{agent}: a match is for agents; a person plays with `meijin play {name}`")
    total = games * (len(agents) if game.seats == 1 else 1)
    began = time.perf_counter()
    with _progress(str(game), total, hidden=as_json) as step:
        result = interruptible(
            lambda: play_match(
                game, agents, games, seed, limit(seconds, simulations), opening_plies, on_game=lambda _: step()
            )
        )
    if as_json:
        print_json(_as_json(result, seed))
    else:
        _print(result, seed, time.perf_counter() - began)


@contextmanager
def _progress(what: str, total: int, hidden: bool) -> Iterator[Callable[[], None]]:
    """A bar on stderr where a person is looking; gives the function that counts one more game."""
    console = err()
    if hidden or not console.is_terminal:
        yield lambda: None
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, expand=True) as progress:
        task = progress.add_task(what, total=total)
        with telling(lambda message: progress.update(task, description=message or what)):
            yield lambda: progress.advance(task)


def _score(game: Game, tally: Tally) -> tuple[float, tuple[float, float]]:
    """Share of the points, or where there is nobody to beat the mean score; with its 95 % interval."""
    return (tally.mean, tally.mean_interval) if game.seats == 1 else (tally.points, tally.interval)


def _as_json(result: MatchResult, seed: int) -> dict[str, Any]:
    def counts(tally: Tally) -> dict[str, Any]:
        score, interval = _score(result.game, tally)
        return {
            "wins": tally.wins,
            "draws": tally.draws,
            "losses": tally.losses,
            "score": score,
            "interval": list(interval),
        }

    def agent(standing: Standing) -> dict[str, Any]:
        seats = [{"name": standing.name, **counts(tally)} for tally in standing.seats]
        return {"name": standing.name, **counts(standing.total), "seats": seats}

    return {
        "game": str(result.game),
        "games": result.games,
        "seed": seed,
        "agents": [agent(standing) for standing in result.standings],
    }


def _print(result: MatchResult, seed: int, seconds: float) -> None:
    game, solo = result.game, result.game.seats == 1
    console = out()
    rate = f"{result.plies:,} plies in {seconds:.1f} s"
    console.print(Text.assemble((game.title, "bold"), (f"  {result.games:,} games, seed {seed}, {rate}", "dim")))
    numbers = ("games", "mean score") if solo else ("wins", "draws", "losses", "score")
    shown = table("agent", *numbers, "95 % interval", right=(*numbers, "95 % interval"))

    def show(who: Text, tally: Tally, style: str) -> None:
        score, (low, high) = _score(game, tally)
        counts = [tally.games] if solo else [tally.wins, tally.draws, tally.losses]
        if tally.games == 0:  # fewer games than seats
            of = interval = "-"
        elif solo:
            of, interval = words.number(round(score, 2)), f"{low:,.1f} - {high:,.1f}" if tally.games > 1 else "-"
        else:
            of, interval = f"{100 * score:.1f} %", f"{100 * low:.1f} - {100 * high:.1f} %"
        shown.add_row(who, *(f"{n:,}" for n in counts), of, interval, style=style)

    for standing in sorted(result.standings, key=lambda s: -_score(game, s.total)[0]):
        show(Text(standing.name, "bold cyan"), standing.total, "bold" if not solo else "")
        for seat, tally in enumerate(standing.seats if not solo else ()):
            show(Text.assemble("  as ", words.seat_name(game, seat)), tally, "dim")
    console.print(shown)
