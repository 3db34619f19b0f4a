"""A board to play on in a notebook: the page inside the cell, with rules and agents that run in the browser.

    meijin.board("connect_four")                              # against mcts
    meijin.board(state, agents=[None, "mcts(seconds=3)"])     # None: a person

It needs no server and no extension, and is saved with the notebook: an HTML export still plays.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from meijin.core.catalogue import make
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.state import State
from meijin.web.wasm.publish import Start, site

PERSON = "person"
OPPONENT = "mcts(simulations=600)"


class Board:
    """What a notebook shows as a board; `html` is the whole page."""

    def __init__(self, state: State, seats: Sequence[str | None], height: int):
        self.state, self.seats, self.height = state, tuple(seats), height
        shown = [seat for seat in dict.fromkeys(self.seats) if seat is not None]
        usual = ("mcts(seconds=1)", "random")  # others would make every notebook larger
        table = {
            "game": state.game.id,
            "position": _position(state),
            "moves": [int(move) for move in state.history],
            "seats": [{"kind": "agent", "agent": seat} if seat else {"kind": PERSON} for seat in self.seats],
        }
        made = site([state.game], shown, usual, single_file=True, start=Start(table))
        self.html = made.files["index.html"].decode()

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" title="{html.escape(self.state.game.title)}" '
            f'style="width: 100%; height: {self.height}px; border: 0" allow="clipboard-write"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<board of {self.state.text}>"


def board(what: State | Game | str, agents: Sequence[str | None] | None = None, *, height: int = 560) -> Board:
    """A board of a game or of a position. `agents`: who sits where; None is a person, who has seat 0 by default."""
    state = what if isinstance(what, State) else State(make(what) if isinstance(what, str) else what)
    count = state.game.seats
    seats = [None, *[OPPONENT] * (count - 1)] if agents is None else [None if a == PERSON else a for a in agents]
    if len(seats) != count:
        raise BadParameter(f"{len(seats)} agents for {count} seats of {state.game}; give None for a person")
    return Board(state, seats, height)


def _position(state: State) -> Any:
    """Where its line begins; None: at the game's start."""
    begun = state.copy()
    while begun.history:
        begun.undo()
    return None if begun == State(state.game) else begun.position


__all__ = ["Board", "board"]
