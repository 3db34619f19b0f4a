"""Positions, seats, scores and results as a person reads them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.color import Color
from rich.style import Style
from rich.text import Text

if TYPE_CHECKING:
    from meijin.core.agent import Analysis, MoveInfo
    from meijin.core.game import Game
    from meijin.core.moves import Move
    from meijin.core.pieces import Piece
    from meijin.core.state import State


def board(state: State, marks: Sequence[int] = ()) -> Text:
    """The board in colour, set off from what is around it."""
    drawn = state.game.board.text(state.cells, state.game.pieces, last=state.last_cells, marks=marks, ansi=True)
    rows = Text.from_ansi(drawn, no_wrap=True).split("\n")
    return Text.assemble("\n", *(part for row in rows for part in ("  ", row, "\n")))


def seat_name(game: Game, seat: int) -> Text:
    """How a seat is shown: a chip with its piece, or "seat 2" where no piece is its own."""
    own = [piece for piece in game.pieces if piece.owner == seat]
    if not own:
        return Text(f"seat {seat}", "bold")
    if len({piece.text for piece in own}) > 1:  # as in shogi: no one letter stands for the seat
        return Text(f"seat {seat}", _chip(own[0]))
    return Text(f" {own[0].text} ", _chip(own[0]))


def plain_seat(game: Game, seat: int) -> str:
    return seat_name(game, seat).plain.strip()


def _chip(piece: Piece) -> Style:
    if piece.fill is None:
        return Style(bold=True)
    red, green, blue = Color.parse(piece.fill).get_truecolor()
    dark = 0.299 * red + 0.587 * green + 0.114 * blue <= 140
    return Style(bold=True, bgcolor=piece.fill, color="#ffffff" if dark else "#1f1f1f")


def prose(summary: str) -> str:
    """A line of a docstring without its code marks."""
    return summary.replace("`", "")


# ---- numbers ----


def win_or_loss(game: Game) -> bool:
    """Whether the scores say who won and hardly more: no points worth counting."""
    low, high = game.score_range
    return high - low <= 2


def number(value: float) -> str:
    """A score without needless digits."""
    return f"{value:,.0f}" if value == round(value) else f"{value:,.2f}"


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
    """A move's value for the mover, in words where it is proven and means a win, a draw or a loss."""
    own = mine(info, seat)
    text = value(game, own)
    if not info.proven or own is None:
        return Text(text)
    if game.seats == 2 and game.score_range == (-1.0, 1.0) and own in (-1.0, 0.0, 1.0):
        word, colour = {1.0: ("win", "green"), 0.0: ("draw", "yellow"), -1.0: ("loss", "red")}[own]
        return Text(word, f"bold {colour}")
    return Text(f"={text}", "bold")


def line(moves: Sequence[Move], most: int = 12) -> str:
    """Moves on a line, cut where it gets long."""
    return " ".join(move.name for move in moves[:most]) + (" ..." if len(moves) > most else "")


def scores(state: State) -> Text:
    """Every seat's score so far."""
    if state.game.seats == 1:
        return Text(f"score {number(state.scores[0])}")
    parts = [Text.assemble(seat_name(state.game, k), f" {number(score)}") for k, score in enumerate(state.scores)]
    return Text.assemble("score ", Text("  ").join(parts))


def movers(state: State) -> list[int]:
    """Who made each move of the history: a seat, or CHANCE."""
    walk = state.copy()
    turns = []
    for _ in state.history:
        walk.undo()
        turns.append(walk.turn)
    return turns[::-1]


def mover(game: Game, turn: int) -> Text:
    return Text("chance", "dim") if turn < 0 else seat_name(game, turn)


# ---- results ----


def result(state: State, you: int | None = None) -> Text:
    """How a finished game ended. `you` is the seat of the only person who played."""
    game, ends = state.game, state.scores
    if game.seats == 1:
        return Text(f"final score {number(ends[0])}", "bold")
    points = "" if win_or_loss(game) else ", " + " to ".join(number(score) for score in ends)
    best = [seat for seat, score in enumerate(ends) if score == max(ends)]
    if len(best) == game.seats:
        return Text(f"a draw{points}", "bold")
    names = Text(" and ").join(seat_name(game, seat) for seat in best)
    if len(best) > 1:
        return Text.assemble(names, (f" share the win{points}", "bold"))
    if you is None:
        return Text.assemble(names, (f" wins{points}", "bold"))
    if you == best[0]:
        return Text.assemble(names, (f" wins{points}: well played!", "bold green"))
    return Text.assemble(names, (f" wins{points}", "bold"), "; you lose")
