"""Two right games to make mistakes in: `row` and `dice`, with rules or declarations exchanged."""

from __future__ import annotations

from typing import Any

import numpy as np

from meijin import CHANCE, OVER, Game, Piece, boards
from meijin.core.contract import CONTRACT


def row(**changes: Any) -> Game:
    """Two seats fill a row of three; who holds the middle wins."""

    def start(s: Any) -> None:
        s.ply = 0
        s.word = 0
        for i in range(3):
            s.held[i] = 0

    def turn(s: Any) -> int:
        return s.ply & 1 if s.ply < 3 else OVER

    def legal(s: Any, moves: Any) -> int:
        n = 0
        for i in range(3):
            if s.held[i] == 0:
                moves[n] = i
                n += 1
        return n

    def play(s: Any, move: int) -> None:
        s.held[move] = (s.ply & 1) + 1
        s.ply += 1

    def score(s: Any, scores: Any) -> None:
        scores[0] = 0.0
        scores[1] = 0.0
        if s.held[1] > 0:
            scores[s.held[1] - 1] = 1.0
            scores[2 - s.held[1]] = -1.0

    def cells(s: Any, out: Any) -> None:
        for i in range(3):
            out[i] = s.held[i]

    rules: dict[str, Any] = {
        "state": np.dtype([("word", "u8"), ("held", "i1", (3,)), ("ply", "i1")], align=True),
        "board": boards.square(1, 3),
        "pieces": (Piece("."), Piece("X", owner=0), Piece("O", owner=1)),
        "seats": 2,
        "num_moves": 3,
        "longest": 3,
        "start": start,
        "turn": turn,
        "legal": legal,
        "play": play,
        "score": score,
        "cells": cells,
    }
    return _made("row", rules, changes)


def dice(**changes: Any) -> Game:
    """One seat and chance take turns; chance puts a stone on the left or the right."""

    def start(s: Any) -> None:
        s.ply = 0
        s.held[0] = 0
        s.held[1] = 0

    def turn(s: Any) -> int:
        return OVER if s.ply == 4 else CHANCE if s.ply & 1 else 0

    def legal(s: Any, moves: Any) -> int:
        moves[0] = 0
        moves[1] = 1
        return 2

    def odds(s: Any, moves: Any, probs: Any) -> int:
        for i in range(2):
            moves[i] = i
            probs[i] = 0.5
        return 2

    def play(s: Any, move: int) -> None:
        s.held[move] += 1
        s.ply += 1

    def score(s: Any, scores: Any) -> None:
        scores[0] = s.held[0] * s.held[1]

    def cells(s: Any, out: Any) -> None:
        out[0] = s.held[0]
        out[1] = s.held[1]

    rules: dict[str, Any] = {
        "state": np.dtype([("held", "i1", (2,)), ("ply", "i1")]),
        "board": boards.square(1, 2),
        "pieces": tuple(Piece(str(n)) for n in range(5)),
        "seats": 1,
        "num_moves": 2,
        "num_outcomes": 2,
        "longest": 4,
        "score_range": (0, 4),
        "start": start,
        "turn": turn,
        "legal": legal,
        "play": play,
        "score": score,
        "cells": cells,
        "odds": odds,
    }
    return _made("dice", rules, changes)


def _made(name: str, right: dict[str, Any], changes: dict[str, Any]) -> Game:
    """The game with what was changed; rules that are None are left out."""
    given = {**right, **changes}
    rules = {rule: given.pop(rule) for rule in CONTRACT if rule in given}
    return Game(name=name, rules=rules, **given)
