"""Warnings: what no law forbids but hardly anybody means, seen in random play.

A warning is one function in one list that returns its sentence, or None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from meijin.core.check.laws import Evidence
from meijin.core.check.statistics import Statistics
from meijin.core.game import CHANCE, Game

_ENOUGH = 20  # games below which nothing is said about what never happens
_FAR = 20  # a declaration this many times as large as anything seen is pointed out,
_FAR_LENGTH = 1000  # the same for the length: good play can last far longer than random play


def warnings(evidence: Evidence) -> tuple[str, ...]:
    """The warnings about a game that keeps the laws."""
    assert evidence.statistics is not None
    found = [sentence for warning in WARNINGS for sentence in warning(evidence.game, evidence.statistics)]
    return (*found, *senseless_names(evidence))


def idle_seats(game: Game, seen: Statistics) -> Iterator[str]:
    """A seat never moves."""
    for k, seat in enumerate(seen.seats):
        if seat.moves == 0:
            yield f"seat {k} never moves; does `play` pass the turn on, and does `turn` return that seat?"


def losing_seats(game: Game, seen: Statistics) -> Iterator[str]:
    """A seat never wins although others do."""
    wins = [seat.wins for seat in seen.seats]
    if seen.games >= _ENOUGH and any(wins):
        for k, won in enumerate(wins):
            if won == 0:
                yield f"seat {k} never wins; does `score` give the points to the right seat?"


def same_result(game: Game, seen: Statistics) -> Iterator[str]:
    """Every game ends with the same scores."""
    if seen.games >= _ENOUGH and seen.results == 1 and not any(seat.wins for seat in seen.seats):
        scores = ", ".join(f"{seat.score.mean:g}" for seat in seen.seats)
        if game.seats == 1:
            yield f"every random game ends with the score {scores}; is that so, or does `score` miss something?"
        else:
            yield f"every game ends with the same scores ({scores}); does `score` tell who won when the game is over?"
    elif seen.games >= _ENOUGH and seen.draws == 1:
        yield "every game is a draw; does `score` tell who won when the game is over?"


def no_choice(game: Game, seen: Statistics) -> Iterator[str]:
    """There is only one move, ever."""
    used = sum(count > 0 for count in seen.played)
    if used == 1 and game.num_moves > 1:
        yield f"'{seen.move_names[0]}' is the only move that is ever played, of {game.num_moves:,}; see `legal`"
    elif seen.forced == 1 and game.num_moves > 1:
        yield "there is never more than one legal move, so nobody has a choice; see `legal`"


def impossible_outcomes(game: Game, seen: Statistics) -> Iterator[str]:
    """Some chance outcomes never occur."""
    never = [o for o, count in enumerate(seen.occurred) if count == 0]
    if seen.games >= _ENOUGH and never:
        names = ", ".join(f"'{game.outcomes[o].name}'" for o in never[:4]) + (", ..." if len(never) > 4 else "")
        yield (
            f"{len(never):,} of {game.num_outcomes:,} chance outcomes never occur ({names}); "
            "does `odds` list them, and is `num_outcomes` right?"
        )


def cut_short(game: Game, seen: Statistics) -> Iterator[str]:
    """No game ends before `longest`, and not because the board is full."""
    if seen.games >= _ENOUGH and seen.length.low >= game.longest and seen.last_branching.high > 1:
        yield (
            f"every random game is cut off after longest={game.longest:,} plies; is the goal that hard to reach by "
            "chance, or does `turn` not see it?"
        )


def far_declarations(game: Game, seen: Statistics) -> Iterator[str]:
    """A declared number is far larger than anything seen."""
    if game.longest > _FAR_LENGTH * seen.length.high:
        yield f"longest={game.longest:,}, but no random game lasts more than {seen.length.high:,g} plies"
    branching = game.branching or 0
    if branching < max(game.num_moves, game.num_outcomes) and branching > _FAR * seen.branching.high:
        yield f"branching={branching:,}, but no position has more than {seen.branching.high:,g} legal moves"
    if seen.games >= _ENOUGH and seen.unused_moves > 1 - 1 / _FAR:
        used = sum(count > 0 for count in seen.played)
        yield f"num_moves={game.num_moves:,}, but only {used:,} different moves are ever played"
    low, high = (min(s.score.low for s in seen.seats), max(s.score.high for s in seen.seats))
    if game.bounded and seen.results > 1 and (high - low) * _FAR < game.score_range[1] - game.score_range[0]:
        yield f"score_range={game.score_range}, but random games score {low:g} to {high:g} only"


WARNINGS: tuple[Callable[[Game, Statistics], Iterator[str]], ...] = (
    idle_seats,
    losing_seats,
    same_result,
    no_choice,
    impossible_outcomes,
    cut_short,
    far_declarations,
)


def senseless_names(evidence: Evidence) -> Iterator[str]:
    """Moves or outcomes are named after cells, as they are by default, but do not change those cells."""
    game = evidence.game
    for kind, names, given in (
        ("move", game.moves, game.path or game.move_name),
        ("outcome", game.outcomes, game.outcome_path or game.outcome_name),
    ):
        if given is not None or len(names) > len(game.board.cells):
            continue
        changed = [
            here.cells[here.move] != after.cells[here.move]
            for positions in evidence.trace
            for here, after in pairwise(positions)
            if (here.turn == CHANCE) == (kind == "outcome")
        ]
        if sum(changed) * 2 < len(changed):
            shown = ", ".join(f"'{name}'" for name in names[:3])
            yield (
                f"{kind}s are called {shown} after cells of the board that they do not change; "
                f"give `{kind}_name`" + (" and `path`" if kind == "move" else "")
            )
