"""A game described as plain data: all that a page, a drawing or another program needs to show it and take moves.

Steps of a path are cells (a number), sets of cells of which any will do (a list), or words (a button). Whoever
collects clicks offers the steps that continue some legal move's path. Where the clicks so far are a whole path and
also the beginning of another, both are offered: the words of `words` label them, and "" labels stopping there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from colorsys import hls_to_rgb
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from meijin.core.moves import Move, Path

if TYPE_CHECKING:
    from meijin.core.game import Game

VERSION = 1  # of this format


def describe(game: Game) -> dict[str, Any]:
    return {
        "version": VERSION,
        "name": game.name,
        "id": game.id,
        "title": game.title,
        "help": game.help,
        "parameters": [asdict(each) | {"value": game.params[each.name]} for each in game.parameters],
        "seats": [{"name": game.seat_name(seat), "colour": _colour(game, seat)} for seat in range(game.seats)],
        "chance": game.chance,
        "score_range": [end if math.isfinite(end) else None for end in game.score_range],
        "longest": game.longest,
        "board": game.board.describe(),
        "pieces": [piece.describe() for piece in game.pieces],
        "alphabets": game.alphabets,
        "moves": _moves(game.moves, game.paths),
        "outcomes": _moves(game.outcomes, game.outcome_paths),
        "words": dict(game.words),
        "tallies": game.tallies,
        "endings": game.endings,
        "setup": game.setup is not None,
        "refusals": game.refusals,
    }


def _colour(game: Game, seat: int) -> str | None:
    """That of a seat's pieces. Where they have none, several seats are told apart by hues far from each other."""
    own = next((piece.fill for piece in game.pieces if piece.owner == seat and piece.fill), None)
    if own or game.seats == 1:
        return own
    return "#" + "".join(f"{round(255 * part):02x}" for part in hls_to_rgb((0.58 + 0.618 * seat) % 1, 0.45, 0.45))


def _moves(moves: Sequence[Move], paths: Sequence[Path | None]) -> list[dict[str, Any]]:
    return [
        {
            "name": move.name,
            "path": None if path is None else [sorted(s) if isinstance(s, frozenset) else s for s in path],
        }
        for move, path in zip(moves, paths, strict=True)
    ]
