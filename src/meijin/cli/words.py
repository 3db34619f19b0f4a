"""Positions, seats, scores and results as a person reads them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text

from meijin.cli.console import out
from meijin.core.contract import CHANCE
from meijin.core.pieces import contrast

if TYPE_CHECKING:
    from meijin.core.agent import Analysis, MoveInfo
    from meijin.core.game import Game
    from meijin.core.moves import Move
    from meijin.core.state import State


ARROWS = ("up", "down", "left", "right")


def board(state: State, marks: Sequence[int] = ()) -> Text:
    """The board in colour, with a margin. A board wider than the terminal is not cut."""
    drawn = state.game.board.text(state.cells, state.game.pieces, last=state.last_cells, marks=marks, ansi=True)
    rows = Text.from_ansi(drawn, no_wrap=True, overflow="ignore").split("\n")
    made = Text.assemble("\n", *(part for row in rows for part in ("  ", row, "\n")))
    made.no_wrap, made.overflow = True, "ignore"
    return made


def seat_name(game: Game, seat: int) -> Text:
    """The name of a seat, in the colour of its pieces."""
    own = next((piece for piece in game.pieces if piece.owner == seat and piece.fill), None)
    name = game.seat_name(seat)
    if own is None or own.fill is None:
        return Text(name, "bold")
    console = out()
    pad = " " * (console.color_system is not None and not console.no_color)  # only a coloured name needs room
    return Text(f"{pad}{name}{pad}", Style(bold=True, bgcolor=own.fill, color=contrast(own.fill)))


def prose(summary: str) -> str:
    """A line of a docstring without its code marks."""
    return summary.replace("`", "")


# ---- numbers ----


def win_or_loss(game: Game) -> bool:
    """Whether the scores say who won and little more, so that they are not worth showing."""
    low, high = game.score_range
    return high - low <= 2


def number(value: float) -> str:
    """A score without needless digits."""
    return f"{value:,.0f}" if value % 1 == 0 else f"{value:,.2f}"  # infinities too


def count(number: int, thing: str) -> str:
    """A number of things: "1 game", "1,200 games"."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def value(game: Game, worth: float | None) -> str:
    """An estimate of a score."""
    if worth is None or not math.isfinite(worth):
        return "-"
    low, high = game.score_range
    if not game.bounded or high - low > 100:
        return f"{worth:,.1f}"
    return f"{worth:+.3f}" if low < 0 else f"{worth:.3f}"


def mine(info: MoveInfo | Analysis, seat: int) -> float | None:
    """The mover's view of a value vector."""
    return None if info.value is None else info.value[seat]


def worth(game: Game, info: MoveInfo, seat: int) -> Text:
    """A move's value for a seat, in words where it is proven and means a win, a draw or a loss."""
    own = mine(info, seat)
    text = value(game, own)
    if not info.proven or own is None:
        return Text(text)
    if game.seats == 2 and game.score_range == (-1.0, 1.0) and own in (-1.0, 0.0, 1.0):
        word, colour = {1.0: ("win", "green"), 0.0: ("draw", "yellow"), -1.0: ("loss", "red")}[own]
        return Text(word, f"bold {colour}")
    return Text(f"{text} proven", "bold")


def line(moves: Sequence[Move], most: int = 12) -> str:
    """Moves on a line, cut where it gets long."""
    return " ".join(move.name for move in moves[:most]) + (" ..." if len(moves) > most else "")


def arrows(state: State) -> dict[str, str]:
    """Arrow key -> move, where all legal moves are directions by their name or path; else nothing."""
    found: dict[str, str] = {}
    for move in state.legal_moves:
        path = state.game.paths[move] or ()
        named = [move.name.lower(), *(str(step).lower() for step in path if len(path) == 1)]
        arrow = next((word for word in named if word in ARROWS), None)
        if arrow is None:
            return {}
        found[arrow] = move.name
    return {arrow: arrow for arrow in ARROWS} | found if found else {}


def scores(state: State) -> Text:
    """What the game counts and every seat's score so far, on one line; empty where there is nothing to show."""
    game = state.game
    rows = dict(state.tallies)
    if not win_or_loss(game):
        rows["score"] = state.scores
    parts = []
    for name, numbers in rows.items():
        if game.seats == 1:
            parts.append(Text(f"{name} {number(numbers[0])}"))
        else:
            seats = (Text.assemble(seat_name(game, k), f" {number(n)}") for k, n in enumerate(numbers))
            parts.append(Text.assemble(f"{name}  ", Text("  ").join(seats)))
    return Text("   ").join(parts)


def movers(state: State) -> list[int]:
    """Who made each move of the history: a seat, or CHANCE."""
    walk = state.copy()
    turns = []
    for _ in state.history:
        walk.undo()
        turns.append(walk.turn)
    return turns[::-1]


def last_mover(state: State) -> int:
    """Who made the latest move; CHANCE also where there is none."""
    if not state.history:
        return CHANCE
    before = state.copy()
    before.undo()
    return before.turn


def mover(game: Game, turn: int) -> Text:
    return Text("chance", "dim") if turn < 0 else seat_name(game, turn)


# ---- results ----


def result(state: State, you: int | None = None) -> Text:
    """How a finished game ended, and why. `you` is the seat of the only person who played."""
    game, ends = state.game, state.scores
    why = f": {state.ending}" if state.ending else ""
    if game.seats == 1:
        return Text(f"final score {number(ends[0])}{why}", "bold")
    points = "" if win_or_loss(game) else " " + " to ".join(number(score) for score in ends)
    best = [seat for seat, score in enumerate(ends) if score == max(ends)]
    if len(best) == game.seats:
        return Text(f"a draw{points}{why}", "bold")
    names = Text(" and ").join(seat_name(game, seat) for seat in best)
    verb = "wins" if len(best) == 1 else "share the win"
    won = you is not None and you in best
    said = Text.assemble(names, (f" {verb}{points}{why}", "bold green" if won else "bold"))
    if you is not None:
        said.append(". You win!" if won and len(best) == 1 else "" if won else ". You lose.")
    return said
