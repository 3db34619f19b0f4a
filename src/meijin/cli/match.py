"""`meijin match`: agents play many games, and their results are counted."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.text import Text

from meijin.agents.catalogue import build
from meijin.arena.judges import Agreement, Cap, play_rules
from meijin.arena.match import MatchResult, MatchStanding, match_tasks
from meijin.arena.match import match as play_match
from meijin.arena.openings import openings
from meijin.arena.play import now
from meijin.arena.pool import cores
from meijin.arena.stats import EloDifference, Tally
from meijin.cli import words
from meijin.cli.common import limit, prepare, shown
from meijin.cli.console import counting, err, out, print_json, table, warn
from meijin.cli.program import INTERRUPTED, until_stopped
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter
from meijin.core.expression import parse
from meijin.core.game import Game
from meijin.core.statistics import Sprt

if TYPE_CHECKING:
    from meijin.arena.record import GameRecord, Task
    from meijin.arena.store import Store

STORE_SECONDS = 1.0  # between writes to the database


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
    *,
    source: str | None = None,
    workers: int | None = None,
    elos: tuple[float, float] | None = None,
    cap: int | None = None,
    agree: float | None = None,
    judges: Sequence[str] = (),
    move_timeout: float | None = None,
    patience: float | None = None,
    db: Path | None = None,
    event: str | None = None,
    notes: str | None = None,
    ray: str | None = None,
) -> None:
    prepare(load)
    game = make(name)
    for agent in agents:
        if parse(agent).name == "human":
            raise BadParameter(f"{agent}: a match is between agents; to play yourself, use `meijin play {name}`")
    if patience is not None:
        raise BadParameter("--patience is now called --move-timeout")
    if source is not None and opening_plies is not None:
        raise BadParameter(f"--openings {source} and --opening-plies {opening_plies}: give only one of them")
    if db is None and (event is not None or notes is not None):
        raise BadParameter("--event and --notes need a database; name one with --db games.db")
    options: dict[str, Any] = {"notes": notes or ("times" if db else "none")}
    if cap is not None:
        options["cap"] = Cap(cap)
    if agree is not None:
        options["agreement"] = Agreement(agree)
    if move_timeout is not None:
        options["move_timeout"] = move_timeout
    rules = play_rules(judges, **options)
    begins = openings(source) if source is not None else None
    test = Sprt(*elos) if elos is not None else None
    total = games * (len(agents) if game.seats == 1 else 1)
    stop = threading.Event()
    begun: list[MatchResult] = []
    began = time.perf_counter()
    event = (event or f"{game} {now()[:23].replace('T', ' ')}") if db else ""
    first = next(match_tasks(game, [str(parse(agent)) for agent in agents], 1, seed, event=event)) if agents else None
    with _stored(db, first) as keep, counting(str(game), total, hidden=as_json) as step:

        def on_game(record: GameRecord) -> None:
            keep(record)
            step()

        result, stopped = until_stopped(
            lambda: play_match(
                game, agents, games, seed, limit(seconds, simulations), opening_plies, on_game,
                openings=begins, workers=cores() if workers is None and ray is None else workers, rules=rules,
                sprt=test, event=event, ray=ray, warn=warn, stopping=stop.is_set, on_begin=begun.append,
            ),
            stop.set,
            so_far=lambda: begun[0] if begun else None,
        )  # fmt: skip
    if stopped and not result.games:
        err().print("stopped before a game ended")
    elif as_json:
        print_json(_as_json(result, seed, stopped))
    else:
        given = limit(seconds, simulations)
        for standing in result.standings:
            standing.name = shown(build(standing.name), given)
        of = f" of {games:,}, stopped" if stopped else ""
        _print(result, seed, time.perf_counter() - began, of)
    if stopped:
        raise typer.Exit(INTERRUPTED)


@contextmanager
def _stored(path: Path | None, first: Task | None) -> Iterator[Callable[[GameRecord], None]]:
    """The function that stores a game. Games are written in batches; at the end all are in the file."""
    if path is None:
        yield lambda record: None
        return
    from meijin.arena.store import Store

    store = Store(path)  # now, so that a file that cannot be written is an error before the first game
    if first is not None:
        _expect_same(store, first)
    waiting: list[GameRecord] = []
    wrote = time.monotonic()
    turn = threading.Lock()  # Ctrl-C closes the file while another thread still plays

    def keep(record: GameRecord) -> None:
        nonlocal wrote
        with turn:
            waiting.append(record)
            if time.monotonic() - wrote > STORE_SECONDS:
                store.add(waiting)
                waiting.clear()
                wrote = time.monotonic()

    try:
        yield keep
    finally:
        with turn:
            store.add(waiting)
            store.close()
            waiting.clear()


def _expect_same(store: Store, task: Task) -> None:
    """An event can be continued; raise before the first game if it holds games of another match."""
    found = next(iter(store.games(event=task.event)), None)
    if found is None:
        return
    mine, theirs = ((t.game, sorted(t.agents), t.seed) for t in (task, found.task))
    if found.task.number == task.number and mine != theirs:
        store.close()
        raise BadParameter(
            f"event '{task.event}' of '{store.path}' is another match ({found.task.game}: "
            f"{', '.join(found.task.agents)}, or another seed); choose another name with --event"
        )


def _score(game: Game, tally: Tally) -> tuple[float, tuple[float, float]]:
    """Share of the points, or the mean score in a game for one; with its 95 % interval."""
    return (tally.mean, tally.mean_interval) if game.seats == 1 else (tally.share, tally.interval)


# ---- JSON ----


def _as_json(result: MatchResult, seed: int, stopped: bool) -> dict[str, Any]:
    def counts(tally: Tally) -> dict[str, Any]:
        score, interval = _score(result.game, tally)
        counts = {"wins": tally.wins, "draws": tally.draws, "losses": tally.losses}
        return {**counts, "score": score, "interval": interval}

    def agent(standing: MatchStanding) -> dict[str, Any]:
        seats = [{"name": standing.name, **counts(tally)} for tally in standing.seats]
        return {"name": standing.name, **counts(standing.total), "forfeits": standing.forfeits, "seats": seats}

    return {
        "game": str(result.game),
        "games": result.games,
        "stopped": stopped,
        "plies": result.plies,
        "seed": seed,
        "openings": result.openings,
        "agents": [agent(standing) for standing in result.standings],
        "elo": result.elo and asdict(result.elo),
        "sprt": result.sprt and asdict(result.sprt),
        "endings": dict(result.endings),
        "forfeits": dict(result.forfeits),
    }


# ---- text ----


def _print(result: MatchResult, seed: int, seconds: float, of: str) -> None:
    game, solo = result.game, result.game.seats == 1
    console = out()
    rate = f"{result.plies:,} plies in {seconds:.1f} s"
    begun = "" if result.openings == "none" else f", openings {result.openings}"
    played = f"{result.games:,}{of}" if of else f"{result.games:,} games"
    console.print(Text.assemble((game.title, "bold"), (f"  {played}, seed {seed}{begun}, {rate}", "dim")))
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
    _print_more(result, console)


def _print_more(result: MatchResult, console: Console) -> None:
    """Below the table: Elo, the sequential test, games that ended early, forfeits."""
    elo = result.elo
    if elo is not None:
        first, second = (standing.name for standing in result.standings)
        who, whom = (first, "the other") if first != second else (f"the first {first}", "the second")
        console.print(
            Text.assemble(
                (who, "cyan"),
                f" against {whom}: ",
                *elo_words(elo),
                f"; stronger with probability {100 * elo.superiority:.1f} %",
            )
        )
    if result.sprt is not None:
        colour = {"H1": "bold green", "H0": "bold red", None: "bold"}[result.sprt.decision]
        console.print(Text(str(result.sprt), colour))
    early = {"judged": "ended by a judge", "cap": "ended by the cap"}
    for ending, said in early.items():
        if count := result.endings[ending]:
            console.print(Text(f"{words.count(count, 'game')} {said}", "dim"))
    for reason, count in result.forfeits.most_common():
        console.print(Text.assemble((f"{words.count(count, 'game')} forfeited by ", "red"), (reason, "bold red")))


def elo_words(elo: EloDifference) -> tuple[tuple[str, str], str]:
    """The difference and its interval; where one agent won every game, only the end of it that is known."""
    low, high = elo.interval
    if math.isinf(elo.value):
        bound = f"at least {low:+.0f}" if elo.value > 0 else f"at most {high:+.0f}"
        return (f"{bound} Elo", "bold"), " (95 %)"
    return (f"{elo.value:+.0f} Elo", "bold"), f", 95 % interval {low:+.0f} to {high:+.0f}"
