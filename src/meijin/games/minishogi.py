"""Minishogi: shogi on 5 x 5. Captured men change sides and are dropped back; checkmate wins.

A move's number is 69 * cell + plane, as in the literature's 5 x 5 x 69 encoding: planes 0-31 move the man on the cell
(8 directions clockwise from straight up, x 4 distances), 32-63 do so and promote, 64-68 drop a pawn, silver, bishop,
rook or gold on it. The literature counts cells and directions from the mover's side of the board; a move of a `Game`
has one number and one name, so here both players' moves are counted from the first player's side. `relative_move`
(or the table `VIEWS`) gives the mover's own number, the one that belongs to the planes, which show the mover's view.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from meijin.core.bits import count, lowest, nth, without_lowest
from meijin.core.boards import Board, Label, square
from meijin.core.catalogue import game, make
from meijin.core.drawing import Piece
from meijin.core.errors import MeijinError
from meijin.core.game import OVER, Game, check_sizes
from meijin.core.moves import Path
from meijin.core.rng import below
from meijin.core.state import State
from meijin.games import _minishogi_tables as tables
from meijin.games._minishogi_tables import (
    AREA, BISHOP, DROPPING, GOLD, KING, KINDS, NUM_MOVES, PAWN, PLANES, PROMOTED, PROMOTING, ROOK, SHIFT, SILVER, SIZE,
)  # fmt: skip

SENTE, GOTE = 0, 1  # the seats; sente begins, at the bottom of the board
DRAW = 2
START = "rbsgk/4p/5/P4/KGSBR b - 1"

#: [seat, move] -> the number of the move in the literature's encoding, from that seat's side of the board.
VIEWS = np.stack([np.arange(NUM_MOVES, dtype=np.int16), tables.ROTATED])

#: What men are worth to players (Tanigawa's scale), by kind; the same on the board and in hand.
WORTH = np.array([0, 1, 5, 8, 10, 6, 0, 7, 6, 10, 12], np.int64)


def relative_move(move: int, seat: int) -> int:
    """The number of a move from that seat's side of the board; the same function turns it back."""
    return int(VIEWS[seat, move])


@game("minishogi", title="Minishogi")
def minishogi(max_plies: int = 300) -> Game:
    """Checkmate the king on 5 x 5; captured men are dropped back. Moves are written as in USI: 5d5c, 1b1a+, P*3c.

    Who cannot move loses. The fourth time a position arises the first player loses, but if every move of one player
    since the first time gave check, that player loses (if both players' did, it is a draw). Undecided after `max_plies`
    moves, the game is a draw.
    """
    check_sizes(max_plies=(max_plies, 1, 2000))
    zero, one, every = np.uint64(0), np.uint64(1), np.uint64((1 << AREA) - 1)
    one_file = np.uint64(sum(1 << (SIZE * row) for row in range(SIZE)))
    step, between, line, last_rank = tables.STEP, tables.BETWEEN, tables.LINE, tables.LAST_RANK
    diagonals, diagonal_mask, diagonal_magic = tables.DIAGONALS, tables.DIAGONAL_MASK, tables.DIAGONAL_MAGIC
    straights, straight_mask, straight_magic = tables.STRAIGHTS, tables.STRAIGHT_MASK, tables.STRAIGHT_MAGIC
    diagonal_reach, straight_reach = tables.DIAGONAL_REACH, tables.STRAIGHT_REACH
    target, plane, fan, fan_size = tables.TARGET, tables.PLANE, tables.FAN, tables.FAN_SIZE
    man_keys, hand_keys, turn_key = tables.MAN_KEYS, tables.HAND_KEYS, tables.TURN_KEY
    first_board, worth = _board_of(START.split()[0]), WORTH
    shift, few, many = np.uint64(SHIFT), np.uint64(15), np.uint64(63)

    state = np.dtype(
        [
            # [ply] -> hash of the position, its lowest bit replaced by whether the mover is in check; 0 if unknown
            ("history", "u8", (max_plies + 1,)),
            ("men", "u4", (2, len(KINDS))),  # [seat, kind] -> where they are; kind 0: all of the seat's
            ("goal", "u4"),  # where the mover's men other than the king must go: everywhere unless in check
            ("pinned", "u4"),  # the mover's men that shield their king
            ("board", "i1", (AREA,)),  # kind + 10 * seat; 0: empty
            ("hands", "i1", (2, GOLD)),  # [seat, kind - 1] -> how many
            ("ply", "i2"),
            ("seat", "i1"),  # to move
            ("winner", "i1"),  # -1: not decided yet
        ],
        align=True,
    )

    # ---- who attacks what ----

    def bit(cell: int) -> Any:
        return one << np.uint64(cell)

    def occupied(s: Any) -> Any:
        return np.uint64(s.men[SENTE, 0]) | np.uint64(s.men[GOTE, 0])

    def king_of(s: Any, seat: int) -> Any:
        return lowest(np.uint64(s.men[seat, KING]))

    def steppers(s: Any, seat: int, cell: int) -> Any:
        """The other seat's men that reach the cell in one step. Their steps mirror those of the seat's own men."""
        men = s.men[1 - seat]
        golds = men[GOLD] | men[PAWN + PROMOTED] | men[SILVER + PROMOTED]
        kings = men[KING] | men[BISHOP + PROMOTED] | men[ROOK + PROMOTED]
        return np.uint64(
            (step[seat, PAWN, cell] & men[PAWN])
            | (step[seat, SILVER, cell] & men[SILVER])
            | (step[seat, GOLD, cell] & golds)
            | (step[seat, KING, cell] & kings)
        )

    def sliders(s: Any, seat: int, cell: int) -> Any:
        """The other seat's men that would slide to the cell on an empty board."""
        men = s.men[1 - seat]
        return np.uint64(
            (diagonals[cell] & (men[BISHOP] | men[BISHOP + PROMOTED]))
            | (straights[cell] & (men[ROOK] | men[ROOK + PROMOTED]))
        )

    def attackers(s: Any, seat: int, cell: int, men: Any) -> Any:
        """The other seat's men that reach the cell when the cells in `men` are occupied."""
        found, far = steppers(s, seat, cell), sliders(s, seat, cell)
        while far != zero:
            if np.uint64(between[cell, lowest(far)]) & men == zero:
                found |= far & (~far + one)
            far = without_lowest(far)
        return found

    def pins(s: Any, seat: int, king: int, men: Any) -> Any:
        """The seat's men that alone stand between their king and a man that would slide to it."""
        found, far, own = zero, sliders(s, seat, king), np.uint64(s.men[seat, 0])
        while far != zero:
            shield = np.uint64(between[king, lowest(far)]) & men
            if without_lowest(shield) == zero:
                found |= shield & own
            far = without_lowest(far)
        return found

    def safe(s: Any, seat: int, cell: int) -> bool:
        """Whether the seat's king may step to the cell: it does not shield cells behind it from an attack."""
        return attackers(s, seat, cell, occupied(s) & ~np.uint64(s.men[seat, KING])) == zero

    # ---- where men may go ----

    def reach(s: Any, cell: int) -> Any:
        """Where the mover's man on the cell may go; for a king, cells that are attacked are still among them."""
        seat = s.seat
        kind = s.board[cell] - 10 * seat
        men = occupied(s)
        found = np.uint64(step[seat, kind, cell])
        if kind == BISHOP or kind == BISHOP + PROMOTED:
            way = ((men & np.uint64(diagonal_mask[cell])) * diagonal_magic[cell]) >> shift
            found |= np.uint64(diagonal_reach[cell, way & few])
        elif kind == ROOK or kind == ROOK + PROMOTED:
            way = ((men & np.uint64(straight_mask[cell])) * straight_magic[cell]) >> shift
            found |= np.uint64(straight_reach[cell, way & many])
        found &= ~np.uint64(s.men[seat, 0])
        if kind != KING:
            found &= np.uint64(s.goal)
            if np.uint64(s.pinned) & bit(cell) != zero:
                found &= np.uint64(line[king_of(s, seat), cell])
        return found

    def split(s: Any, cell: int, found: Any) -> Any:
        """Of the cells a man may go to: where it can stay as it is, and where it can promote."""
        seat = s.seat
        kind = s.board[cell] - 10 * seat
        zone = np.uint64(last_rank[seat])
        promoting = zero
        if kind <= ROOK:
            promoting = found if bit(cell) & zone != zero else found & zone
        return found & ~zone if kind == PAWN else found, promoting

    def drops(s: Any, kind: int) -> Any:
        """Where the mover may drop such a man; a pawn drop that would be mate is still among them."""
        seat = s.seat
        if s.hands[seat, kind - 1] == 0:
            return zero
        found = np.uint64(s.goal) & ~occupied(s)
        if kind == PAWN:  # not where it could never move, and one to a file
            p = np.uint64(s.men[seat, PAWN])
            files = p | (p >> np.uint64(5)) | (p >> np.uint64(10)) | (p >> np.uint64(15)) | (p >> np.uint64(20))
            found &= ~np.uint64(last_rank[seat]) & ~((files & np.uint64(31)) * one_file)
        return found

    def mates(s: Any, cell: int) -> bool:
        """Whether a pawn that the mover drops on the cell is mate."""
        seat, them = s.seat, 1 - s.seat
        king = king_of(s, them)
        if np.uint64(step[seat, PAWN, cell]) & bit(king) == zero:
            return False
        flights = np.uint64(step[them, KING, king]) & ~np.uint64(s.men[them, 0])
        while flights != zero:
            if safe(s, them, lowest(flights)):
                return False
            flights = without_lowest(flights)
        # Nothing fits between; only another man that takes the pawn, and may leave its place, helps.
        men = occupied(s) | bit(cell)
        takers = attackers(s, seat, cell, men) & ~bit(king)
        stuck = pins(s, them, king, men) & ~np.uint64(line[king, cell])
        return takers & ~stuck == zero

    def can_move(s: Any) -> bool:
        """Whether the mover has a legal move."""
        own = np.uint64(s.men[s.seat, 0])
        king = king_of(s, s.seat)
        rest = own & ~bit(king)
        while rest != zero:
            if reach(s, lowest(rest)) != zero:
                return True
            rest = without_lowest(rest)
        flights = reach(s, king)
        while flights != zero:
            if safe(s, s.seat, lowest(flights)):
                return True
            flights = without_lowest(flights)
        for kind in range(PAWN + 1, GOLD + 1):
            if drops(s, kind) != zero:
                return True
        pawns = drops(s, PAWN)
        while pawns != zero:
            if not mates(s, lowest(pawns)):
                return True
            pawns = without_lowest(pawns)
        return False

    # ---- the rules ----

    def put(s: Any, seat: int, kind: int, cell: int) -> Any:
        """Place a man; returns what the hash changes by."""
        s.board[cell] = kind + 10 * seat
        s.men[seat, kind] |= np.uint32(bit(cell))
        s.men[seat, 0] |= np.uint32(bit(cell))
        return man_keys[cell, kind + 10 * seat]

    def take(s: Any, seat: int, kind: int, cell: int) -> Any:
        s.board[cell] = 0
        s.men[seat, kind] ^= np.uint32(bit(cell))
        s.men[seat, 0] ^= np.uint32(bit(cell))
        return man_keys[cell, kind + 10 * seat]

    def pocket(s: Any, seat: int, kind: int, by: int) -> Any:
        held = s.hands[seat, kind - 1]
        s.hands[seat, kind - 1] = held + by
        return hand_keys[seat, kind - 1, held] ^ hand_keys[seat, kind - 1, held + by]

    def enter(s: Any, key: Any) -> None:
        """Complete the record of a position, of which the men, the hands and the mover are set."""
        seat = s.seat
        king = king_of(s, seat)
        men = occupied(s)
        checkers = attackers(s, seat, king, men)
        s.pinned = np.uint32(pins(s, seat, king, men))
        if checkers == zero:
            s.goal = np.uint32(every)
        elif without_lowest(checkers) == zero:
            s.goal = np.uint32(checkers | np.uint64(between[king, lowest(checkers)]))
        else:
            s.goal = np.uint32(0)
        s.history[s.ply] = (key & ~one) | (one if checkers != zero else zero)

    def start(s: Any) -> None:
        for ply in range(max_plies + 1):
            s.history[ply] = 0
        for seat in range(2):
            for kind in range(len(KINDS)):
                s.men[seat, kind] = 0
            for k in range(GOLD):
                s.hands[seat, k] = 0
        key = zero
        for cell in range(AREA):
            s.board[cell] = 0
            value = first_board[cell]
            if value > 0:
                seat = 1 if value > 10 else 0
                key ^= put(s, seat, value - 10 * seat, cell)
        s.ply = 0
        s.seat = SENTE
        s.winner = -1
        enter(s, key)

    def turn(s: Any) -> int:
        return s.seat if s.winner < 0 else OVER

    def legal(s: Any, moves: Any) -> int:
        n = 0
        seat = s.seat
        own, men = np.uint64(s.men[seat, 0]), occupied(s)
        king = king_of(s, seat)
        open_to = (drops(s, 1), drops(s, 2), drops(s, 3), drops(s, 4), drops(s, 5))
        for cell in range(AREA):
            here = bit(cell)
            if own & here != zero:
                staying, promoting = split(s, cell, reach(s, cell))
                for k in range(fan_size[cell]):
                    to = target[cell, fan[cell, k]]
                    if staying & bit(to) != zero and (cell != king or safe(s, seat, to)):
                        moves[n] = PLANES * cell + fan[cell, k]
                        n += 1
                if promoting != zero:
                    for k in range(fan_size[cell]):
                        if promoting & bit(target[cell, fan[cell, k]]) != zero:
                            moves[n] = PLANES * cell + PROMOTING + fan[cell, k]
                            n += 1
            elif men & here == zero:
                for k in range(GOLD):
                    if open_to[k] & here != zero and (k + 1 != PAWN or not mates(s, cell)):
                        moves[n] = PLANES * cell + DROPPING + k
                        n += 1
        return n

    def nth_move(s: Any, n: int) -> int:
        """The n-th of the mover's moves, man by man and then the drops; -n - 1 if there are n of them or fewer.

        Among these are moves of the king to cells that are attacked (and they alone, and pawn drops that mate, are
        not legal), which come out as -1 although... 
        """
        return n

    return Game(state=state)  # type: ignore


def _board_of(text: str) -> Any: ...
