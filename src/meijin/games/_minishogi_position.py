"""Minishogi positions: placing men, completing a record, repetitions."""

from __future__ import annotations

from typing import Any

import numpy as np

from meijin.core.bits import count, lowest, without_lowest
from meijin.games._minishogi_men import attackers, bit, can_move, king_of, occupied, pins
from meijin.games._minishogi_tables import (
    AREA,
    BETWEEN,
    GOLD,
    HAND_KEYS,
    KINDS,
    KING,
    MAN_KEYS,
    PAWN,
    PROMOTED,
    SIZE,
    TURN_KEY,
)

SENTE, GOTE = 0, 1  # the seats; sente begins, from the lower side of the board
DRAW = 2

_ZERO, _ONE, _EVERY = np.uint64(0), np.uint64(1), np.uint64((1 << AREA) - 1)
_FILE = np.uint64(sum(1 << (SIZE * row) for row in range(SIZE)))


# ---- men on the board and in hand; each function returns what the hash changes by ----


def put(s: Any, seat: int, kind: int, cell: int) -> Any:
    s.board[cell] = kind + 10 * seat
    s.men[seat, kind] |= np.uint32(bit(cell))
    s.men[seat, 0] |= np.uint32(bit(cell))
    return MAN_KEYS[cell, kind + 10 * seat]


def take(s: Any, seat: int, kind: int, cell: int) -> Any:
    s.board[cell] = 0
    s.men[seat, kind] ^= np.uint32(bit(cell))
    s.men[seat, 0] ^= np.uint32(bit(cell))
    return MAN_KEYS[cell, kind + 10 * seat]


def pocket(s: Any, seat: int, kind: int, more: int) -> Any:
    held = s.hands[seat, kind - 1]
    s.hands[seat, kind - 1] = held + more
    return HAND_KEYS[seat, kind - 1, held] ^ HAND_KEYS[seat, kind - 1, held + more]


def clear(s: Any) -> None:
    for ply in range(s.history.shape[0]):
        s.history[ply] = 0
    for seat in range(2):
        for kind in range(len(KINDS)):
            s.men[seat, kind] = 0
        for k in range(GOLD):
            s.hands[seat, k] = 0
    for cell in range(AREA):
        s.board[cell] = 0
    s.ply = 0
    s.seat = SENTE
    s.winner = -1


def enter(s: Any, key: Any) -> None:
    """Complete the record of a position whose men, hands and mover are set."""
    king, men = king_of(s, s.seat), occupied(s)
    checkers = attackers(s, s.seat, king, men)
    s.pinned = np.uint32(pins(s, s.seat, men))
    s.goal = np.uint32(0)
    if checkers == _ZERO:
        s.goal = np.uint32(_EVERY)
    elif without_lowest(checkers) == _ZERO:
        s.goal = np.uint32(checkers | np.uint64(BETWEEN[king, lowest(checkers)]))
    s.history[s.ply] = (key & ~_ONE) | (_ONE if checkers != _ZERO else _ZERO)
    if not can_move(s):
        s.winner = 1 - s.seat


def perpetual(s: Any) -> int:
    """If the position has arisen for the fourth time: whether since the first time all moves of the seat to move gave
    check (bit 0), and all moves of the other (bit 1). If it has not: -1."""
    word, times = s.history[s.ply], 0
    for ply in range(s.ply & 1, s.ply, 2):  # nearly always without effect, so without a branch
        times += s.history[ply] == word
    if times < 3:
        return -1
    first = s.ply & 1
    while s.history[first] != word:
        first += 2
    mover, other = _ONE, _ONE  # whether all moves of the seat to move, and of the other, gave check
    for ply in range(first + 1, s.ply + 1):
        if (s.ply - ply) & 1:
            mover &= s.history[ply]
        else:
            other &= s.history[ply]
    return (1 if mover & _ONE != _ZERO else 0) + (2 if other & _ONE != _ZERO else 0)


def repeated(s: Any) -> int:
    """Who wins because the position has arisen for the fourth time; -1 if it has not."""
    checks = perpetual(s)
    if checks < 0:
        return -1
    if checks == 0:
        return GOTE
    return DRAW if checks == 3 else 1 - s.seat if checks == 1 else s.seat


# ---- set-up ----


def setup(s: Any, values: Any, mover: int) -> int:
    """The position with these cells and that seat to move, as the first of its game; else why there is none."""
    clear(s)
    s.seat = mover
    key = TURN_KEY if mover == GOTE else _ZERO
    for cell in range(AREA):
        if values[cell] > 0:
            seat = GOTE if values[cell] > 10 else SENTE
            key ^= put(s, seat, values[cell] - 10 * seat, cell)
    for seat in range(2):
        for k in range(GOLD):
            value = values[AREA + GOLD * seat + k]
            key ^= pocket(s, seat, k + 1, 0 if value == 0 else 1 if value <= 20 else 2)
    for seat in range(2):
        if count(np.uint64(s.men[seat, KING])) != 1:
            return 1
        pawns = np.uint64(s.men[seat, PAWN])
        while pawns != _ZERO:
            cell = lowest(pawns)
            pawns = without_lowest(pawns)
            if pawns & (_FILE << np.uint64(cell % SIZE)) != _ZERO:
                return 2
    for k in range(GOLD):
        number = s.hands[SENTE, k] + s.hands[GOTE, k]
        for seat in range(2):
            number += count(np.uint64(s.men[seat, k + 1]))
            if k + 1 != GOLD:
                number += count(np.uint64(s.men[seat, k + 1 + PROMOTED]))
        if number > 2:
            return 3
    if attackers(s, 1 - mover, king_of(s, 1 - mover), occupied(s)) != _ZERO:
        return 4
    enter(s, key)
    return 0
