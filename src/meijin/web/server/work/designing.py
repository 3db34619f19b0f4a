"""What a person who writes a game wants to know of it: whether it loads, whether it keeps the laws, how it plays."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from meijin.agents.catalogue import agents
from meijin.agents.registrations import load
from meijin.core.catalogue import games
from meijin.core.errors import MeijinError
from meijin.web.server.work.rules import game_of

if TYPE_CHECKING:
    from meijin.web.server.work.worker import Ask

SEARCH = "mcts(simulations={})"
STRONG, WEAK = 400, 100  # simulations
MOST_SECONDS = 20.0  # of each match


def trial(ask: Ask) -> dict[str, Any]:
    """Load a file for the first time; says which games it has, or what is wrong."""
    try:
        found = load(Path(ask.args["file"]))
    except MeijinError as error:
        return {"games": [], "agents": [], "problem": str(error)}
    except Exception as error:
        return {"games": [], "agents": [], "problem": f"{type(error).__name__}: {error}"}
    return {
        "games": [entry.name for entry in found if games._entries.get(entry.name) is entry],
        "agents": [entry.name for entry in found if agents._entries.get(entry.name) is entry],
        "problem": None,
    }


def check(ask: Ask) -> dict[str, Any]:
    """Try all laws on a game, describe its random play, and let searches play it; told step by step."""
    from meijin.core.check import check_game

    game = game_of(ask.args["game"])
    report = check_game(game, gpu=False, progress=lambda law: ask.part({"event": "progress", "phase": law}))
    ask.part({"event": "report", "report": msgspec.to_builtins(asdict(report), enc_hook=_plain)})
    ask.part({"event": "progress", "phase": "searches play each other"})
    ask.part({"event": "search", "search": _played(ask, game)})
    return {"laws": len(report.laws), "warnings": list(report.warnings)}


def _played(ask: Ask, game: Any) -> dict[str, Any]:
    """How searches fare: with equal strength, who of the seats wins and how often anybody does; then the stronger."""
    if game.seats == 1:
        means = {name: _solo(ask, game, name) for name in ("random", SEARCH.format(STRONG))}
        return {"seats": 1, "means": means}
    equal = _matches(ask, game, SEARCH.format(STRONG), SEARCH.format(STRONG))
    uneven = _matches(ask, game, SEARCH.format(STRONG), SEARCH.format(WEAK))
    return {
        "seats": game.seats,
        "agent": SEARCH.format(STRONG),
        "games": len(equal),
        "decisive": _share(equal, lambda scores: list(scores).count(max(scores)) == 1),
        "wins": [_share(equal, lambda scores, k=k: scores[k] == max(scores) > min(scores)) for k in range(game.seats)],
        "plies": sum(len(moves) for _, moves in equal) / max(1, len(equal)),
        "weaker": SEARCH.format(WEAK),
        "uneven_games": len(uneven),
        "stronger_wins": _share(uneven, lambda scores: scores[0] == max(scores) > min(scores)),
    }


Played = list[tuple[tuple[float, ...], tuple[int, ...]]]


def _share(played: Played, wanted: Callable[..., bool]) -> float | None:
    return sum(bool(wanted(scores)) for scores, _ in played) / len(played) if played else None


def _matches(ask: Ask, game: Any, first: str, others: str) -> Played:
    """(scores with those of `first` in front, moves) of some games in which `first` takes every seat in turn."""
    from meijin.arena.play import play_task
    from meijin.arena.record import Task

    found: Played = []
    until = time.monotonic() + MOST_SECONDS
    for number in range(ask.args["games"]):
        if ask.stopped or time.monotonic() > until:
            break
        mine = number % game.seats if first != others else 0
        seated = [others] * game.seats
        seated[mine] = first
        record = play_task(Task(str(game), tuple(seated), seed=number, number=number), game=game)
        scores = (
            record.scores
            if first == others
            else (record.scores[mine], *record.scores[:mine], *record.scores[mine + 1 :])
        )
        found.append((tuple(scores), record.moves))
        ask.part(
            {"event": "progress", "phase": f"{first} against {others}", "done": number + 1, "total": ask.args["games"]}
        )
    return found


def _solo(ask: Ask, game: Any, agent: str) -> float | None:
    from meijin.arena.play import play_task
    from meijin.arena.record import Task

    scores: list[float] = []
    until = time.monotonic() + MOST_SECONDS / 2
    for number in range(ask.args["games"]):
        if ask.stopped or time.monotonic() > until:
            break
        scores.append(play_task(Task(str(game), (agent,), seed=number, number=number), game=game).scores[0])
        ask.part({"event": "progress", "phase": f"{agent} plays alone", "done": number + 1, "total": ask.args["games"]})
    return sum(scores) / len(scores) if scores else None


def _plain(value: Any) -> Any:
    return float(value)


def calls() -> dict[str, Callable[[Ask], Any]]:
    return {"trial": trial, "check": check}
