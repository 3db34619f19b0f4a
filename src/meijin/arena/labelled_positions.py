"""Labelled positions in text files: one position per line, as moves in the game's notation, and what is known of it.

    44444 2            Connect Four's usual test sets: columns, then a score that is positive if the mover wins
    d3c5d6 = 1         the exact value for the seat to move, in the game's own scores
    f5d6c3 bm d3 c4    the moves that keep the value
    f5d6c3             no label: the game's solver decides

A # begins a comment. A line that begins with `=` or `bm` is about the start position.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from meijin.arena.text_lines import read_lines
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import Game
from meijin.core.rng import below, stream
from meijin.core.state import State

TRIES = 1000  # random games for one position


@dataclass(frozen=True, slots=True)
class LabelledPosition:
    """One position; `value` and `best` are None if unknown."""

    state: State
    place: str = ""  # "positions.txt:17"
    value: float | None = None  # for the seat to move
    best: tuple[int, ...] | None = None  # the moves that keep the value


def read_positions(path: str | Path, game: Game) -> list[LabelledPosition]:
    """All positions of a file, or an error that names the line."""
    lines = read_lines(Path(path), "position")
    scored = game.name == "connect_four" and all(re.fullmatch(r"[1-9]+\s+[+-]?\d+", line) for _, line in lines)
    found = []
    for number, line in lines:
        place = f"{path}:{number}"
        try:
            found.append(_position(game, re.sub(r"\s+", " = ", line) if scored else line, place))
        except MeijinError as error:
            raise BadParameter(f"{place}: {error}") from None
    return found


def _position(game: Game, line: str, place: str) -> LabelledPosition:
    moves, mark, label = re.fullmatch(r"(.*?)(?:(?:^|\s+)(=|bm)\s+(.*))?", line).groups("")  # type: ignore[union-attr]
    state = State(game).play_line(moves)
    if state.turn < 0:
        raise BadParameter(f"{'chance moves' if state.is_chance else 'the game is over'} after '{moves}'")
    if mark == "bm":
        best = [int(state.copy().play(word).history[-1]) for word in re.split(r"[\s,]+", label.strip())]
        return LabelledPosition(state, place, best=tuple(best))
    if mark == "=":
        try:
            value = float(label)
        except ValueError:
            raise BadParameter(f"'{label}' is not a value; write a number after '='") from None
        if game.score_range == (-1.0, 1.0):  # the label may count the distance to the end, or discs
            value = float(np.sign(value))
        return LabelledPosition(state, place, value)
    return LabelledPosition(state, place)


def random_position(game: Game, seed: int, number: int, least: int = 0) -> LabelledPosition:
    """Random position `number` of a seed: one with a choice of moves, after `least` plies or more."""
    rng = stream(seed, number)
    for _ in range(TRIES):
        state = State(game)
        while not state.roll(rng).is_over:
            with np.errstate(over="ignore"):
                state.play(state.legal_moves[below(rng, len(state.legal_moves))])
        turns = []  # plies to take back to each choice of a seat
        past = state.copy()
        for back in range(1, len(state.history) + 1):
            past.undo()
            if past.turn >= 0 and len(past.legal_moves) > 1 and len(past.history) >= least:
                turns.append(back)
        if turns:
            with np.errstate(over="ignore"):
                for _ in range(turns[below(rng, len(turns))]):
                    state.undo()
            return LabelledPosition(State(game).play_line(list(state.history)))
    raise MeijinError(f"{game}: none of {TRIES} random games has a choice of moves after {least} plies")
