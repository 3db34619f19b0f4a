"""Minishogi: shogi on 5 x 5. Captured men change sides and are dropped back; checkmate wins.

A move's number is 69 * cell + plane, as in the literature's 5 x 5 x 69 encoding: planes 0-31 move the man on the cell
(8 directions clockwise from straight up, x 4 distances), 32-63 do so and promote, 64-68 drop a pawn, silver, bishop,
rook or gold on it. Numbers that would leave the board are never legal. The literature counts cells and directions
from the mover's side; a move of a `Game` has one number and one name, so here both players' moves are counted from
the first player's side. `relative_move` (and `Game.views`) gives the mover's own number, the one that belongs to
the planes, which show the board from the mover's side.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from meijin.core.bits import count, lowest, nth, without_lowest
from meijin.core.catalogue import game, make
from meijin.core.errors import BadParameter
from meijin.core.game import OVER, Game
from meijin.core.parameters import Range
from meijin.core.rng import below
from meijin.core.state import State
from meijin.games._minishogi_men import (
    attackers,
    bit,
    can_move,
    drops,
    flights,
    king_of,
    mates,
    occupied,
    pins,
    safe,
    split,
)
from meijin.games._minishogi_notation import PIECES, START, board, move_name, parse_sfen, path, write_sfen
from meijin.games._minishogi_tables import (
    AREA,
    BETWEEN,
    DROPPING,
    GOLD,
    HAND_KEYS,
    KINDS,
    KING,
    MAN_KEYS,
    NUM_MOVES,
    PAWN,
    PLANE,
    PLANES,
    PROMOTED,
    PROMOTING,
    ROTATED,
    TARGET,
    TURN_KEY,
)

SENTE, GOTE = 0, 1  # the seats; sente begins, from the lower side of the board
DRAW = 2

#: [cell] -> where the second player sees it: the board is turned by half, the trays change sides.
TURNED = (*range(AREA - 1, -1, -1), *range(AREA + GOLD, AREA + 2 * GOLD), *range(AREA, AREA + GOLD))

#: [kind] -> what a man is worth to players (Tanigawa's scale), on the board and in hand.
WORTH = np.array([0, 1, 5, 8, 10, 6, 0, 7, 6, 10, 12], np.int64)

FIRST = np.array(parse_sfen(START)[0], np.int8)  # [cell] -> its value at the start

_ZERO, _ONE, _EVERY = np.uint64(0), np.uint64(1), np.uint64((1 << AREA) - 1)


def relative_move(move: int, seat: int) -> int:
    """The number of a move counted from that seat's side of the board; the same function turns it back."""
    return int(ROTATED[move]) if seat == GOTE else move


# ---- changing a position; each returns what the hash changes by ----


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


def repeated(s: Any) -> int:
    """Who wins because the position has arisen for the fourth time; -1 if it has not."""
    word, times = s.history[s.ply], 0
    for ply in range(s.ply & 1, s.ply, 2):  # nearly always in vain, so without a branch
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
    if mover & other & _ONE != _ZERO:
        return DRAW
    if mover & _ONE != _ZERO:
        return 1 - s.seat
    if other & _ONE != _ZERO:
        return s.seat
    return GOTE


# ---- the contract ----


def turn(s: Any) -> int:
    return s.seat if s.winner < 0 else OVER


def add(moves: Any, n: int, first: int, cell: int, found: Any) -> int:
    """Append the man's moves to the cells in `found`, by ascending number; `first` is 0 or PROMOTING."""
    start = n
    while found != _ZERO:
        move = PLANES * cell + first + PLANE[cell, lowest(found)]
        at = n
        while at > start and moves[at - 1] > move:
            moves[at] = moves[at - 1]
            at -= 1
        moves[at] = move
        n += 1
        found = without_lowest(found)
    return n


def legal(s: Any, moves: Any) -> int:
    n, own, king = 0, np.uint64(s.men[s.seat, 0]), king_of(s, s.seat)
    places = (drops(s, 1), drops(s, 2), drops(s, 3), drops(s, 4), drops(s, 5))
    todo = own | places[0] | places[1] | places[2] | places[3] | places[4]
    while todo != _ZERO:
        cell = lowest(todo)
        if cell == king:
            n = add(moves, n, 0, cell, flights(s, s.seat, occupied(s)))
        elif own & bit(cell) != _ZERO:
            staying, promoting = split(s, cell)
            n = add(moves, n, 0, cell, staying)
            n = add(moves, n, PROMOTING, cell, promoting)
        else:
            for k in range(GOLD):
                if places[k] & bit(cell) != _ZERO and (k + 1 != PAWN or not mates(s, cell)):
                    moves[n] = PLANES * cell + DROPPING + k
                    n += 1
        todo = without_lowest(todo)
    return n


def number(s: Any) -> int:
    """How many moves there are, with those of the king to attacked cells and pawn drops that are mate."""
    n, own = 0, np.uint64(s.men[s.seat, 0])
    while own != _ZERO:
        staying, promoting = split(s, lowest(own))
        n += count(staying) + count(promoting)
        own = without_lowest(own)
    for kind in range(PAWN, GOLD + 1):
        n += count(drops(s, kind))
    return n


def pick(s: Any, n: int) -> int:
    """The n-th of the moves that `number` counts; -1 if it is not legal."""
    seat = s.seat
    own = np.uint64(s.men[seat, 0])
    while own != _ZERO:
        cell = lowest(own)
        staying, promoting = split(s, cell)
        if n < count(staying):
            to = nth(staying, n)
            if s.board[cell] == KING + 10 * seat and not safe(s, seat, to, occupied(s)):
                return -1
            return PLANES * cell + PLANE[cell, to]
        n -= count(staying)
        if n < count(promoting):
            return PLANES * cell + PROMOTING + PLANE[cell, nth(promoting, n)]
        n -= count(promoting)
        own = without_lowest(own)
    kind = PAWN
    places = drops(s, PAWN)
    while n >= count(places):
        n -= count(places)
        kind += 1
        places = drops(s, kind)
    cell = nth(places, n)
    if kind == PAWN and mates(s, cell):
        return -1
    return PLANES * cell + DROPPING + kind - 1


def sample(s: Any, rng: Any) -> int:
    n = number(s)
    move = pick(s, below(rng, n))
    while move < 0:
        move = pick(s, below(rng, n))
    return move


def score(s: Any, out: Any) -> None:
    out[SENTE] = 1.0 if s.winner == SENTE else -1.0 if s.winner == GOTE else 0.0
    out[GOTE] = -out[SENTE]


def heuristic(s: Any, out: Any) -> None:
    """Whose men, on the board and in hand, are worth more."""
    lead = 0
    for cell in range(AREA):
        value = s.board[cell]
        lead += -WORTH[value - 10] if value > 10 else WORTH[value]
    for k in range(GOLD):
        lead += WORTH[k + 1] * (s.hands[SENTE, k] - s.hands[GOTE, k])
    out[SENTE] = lead / (abs(lead) + 20.0)
    out[GOTE] = -out[SENTE]


def noisy(s: Any, move: int) -> bool:
    """Captures."""
    cell, plane = move // PLANES, move % PLANES
    return plane < DROPPING and s.board[TARGET[cell, plane % PROMOTING]] != 0


def cells(s: Any, out: Any) -> None:
    for cell in range(AREA):
        out[cell] = s.board[cell]
    for seat in range(2):
        for k in range(GOLD):
            held = s.hands[seat, k]
            out[AREA + GOLD * seat + k] = 0 if held == 0 else k + 1 + 10 * seat if held == 1 else 21 + GOLD * seat + k


# ---- positions as text ----


def to_sfen(state: State) -> str:
    """The position as SFEN: board, mover, hands and the number of the next move. How it came about is not in it."""
    s = state.record
    return write_sfen(s.board.tolist(), s.hands.tolist(), int(s.seat), int(s.ply) + 1)


def from_sfen(text: str, game: Game | None = None) -> State:
    """A state that begins with the position that SFEN describes, as one of `game` (default: `minishogi`)."""
    game = game or make("minishogi")
    values, hands, seat, move = parse_sfen(text)
    if move > game.longest:
        raise BadParameter(f"SFEN '{text}': move {move} comes after the end of {game}, at ply {game.longest}")
    s = game.states(1)[0]
    with np.errstate(over="ignore"):  # words wrap around, as in compiled rules
        clear(s)
        key = TURN_KEY if seat == GOTE else _ZERO
        for cell, value in enumerate(values):
            if value:
                key ^= put(s, int(value > 10), value - 10 * (value > 10), cell)
        for owner in (SENTE, GOTE):
            for k, held in enumerate(hands[owner]):
                key ^= pocket(s, owner, k + 1, held)
        s.seat, s.ply = seat, move - 1
        if attackers(s, 1 - seat, king_of(s, 1 - seat), occupied(s)):
            raise BadParameter(f"SFEN '{text}': the king of the player who is not to move is in check")
        enter(s, key)
    return State(game, s)


@game("minishogi", title="Minishogi")
def minishogi(max_plies: Annotated[int, Range(1, 2000)] = 300) -> Game:
    """Checkmate the king on 5 x 5; captured men are dropped back. Moves are written as in USI: 5d5c, 1b1a+, P*3c.

    Who cannot move loses. When a position arises for the fourth time the first player loses; but if since the first
    time every move of one player gave check, that player loses (every move of both: a draw). A game that is
    undecided after `max_plies` moves is a draw.
    """

    state = np.dtype(
        [
            # [ply] -> hash of the position, the lowest bit replaced by whether the mover is in check; 0: unknown
            ("history", "u8", (max_plies + 1,)),
            ("men", "u4", (2, len(KINDS))),  # [seat, kind] -> where they are; kind 0: all of the seat's
            ("goal", "u4"),  # where the mover's men but the king must go: in check, between king and checker or on it
            ("pinned", "u4"),  # the mover's men that shield their king
            ("board", "i1", (AREA,)),  # kind + 10 * seat; 0: empty
            ("hands", "i1", (2, GOLD)),  # [seat, kind - 1] -> how many
            ("ply", "i2"),
            ("seat", "i1"),  # to move
            ("winner", "i1"),  # a seat or DRAW; -1: not decided yet
        ],
        align=True,
    )

    def start(s: Any) -> None:
        clear(s)
        key = _ZERO
        for cell in range(AREA):
            value = FIRST[cell]
            if value > 0:
                seat = GOTE if value > 10 else SENTE
                key ^= put(s, seat, value - 10 * seat, cell)
        enter(s, key)

    def play(s: Any, move: int) -> None:
        seat, cell, plane = s.seat, move // PLANES, move % PLANES
        key = s.history[s.ply] ^ TURN_KEY
        if plane >= DROPPING:
            kind = plane - DROPPING + 1
            key ^= pocket(s, seat, kind, -1) ^ put(s, seat, kind, cell)
        else:
            to, kind = TARGET[cell, plane % PROMOTING], s.board[cell] - 10 * seat
            key ^= take(s, seat, kind, cell)
            if s.board[to] != 0:
                captured = s.board[to] - 10 * (1 - seat)
                key ^= take(s, 1 - seat, captured, to)
                key ^= pocket(s, seat, captured - PROMOTED if captured > PROMOTED else captured, 1)
            key ^= put(s, seat, kind + PROMOTED if plane >= PROMOTING else kind, to)
        s.ply += 1
        s.seat = 1 - seat
        enter(s, key)
        if s.winner < 0:
            s.winner = repeated(s)
            if s.winner < 0 and s.ply == max_plies:
                s.winner = DRAW

    def planes(s: Any, out: Any) -> None:
        """The literature's 32 planes, all from the mover's side of the board (turned by half for the second player).

        10 of the mover's men, 10 of the other's, by kind; 5 of the mover's hand and 5 of the other's (how many, over
        2); 1 for the second player; the ply over `max_plies`. (The thesis that says 32 lists 7 planes a hand, the
        number of shogi; minishogi has five kinds to hold, and 32 is right.)
        """
        seat = s.seat
        for k in range(20):
            for cell in range(AREA + 2 * GOLD):
                out[k, cell] = 0.0
        for cell in range(AREA):
            value = s.board[cell]
            if value > 0:
                owner = GOTE if value > 10 else SENTE
                kind = value - 10 * owner
                out[kind - 1 + (0 if owner == seat else 10), cell if seat == SENTE else AREA - 1 - cell] = 1.0
        for cell in range(AREA + 2 * GOLD):
            for k in range(GOLD):
                out[20 + k, cell] = s.hands[seat, k] / 2.0
                out[25 + k, cell] = s.hands[1 - seat, k] / 2.0
            out[30, cell] = seat
            out[31, cell] = s.ply / max_plies

    return Game(
        state=state,
        board=board(),
        pieces=PIECES,
        seats=2,
        num_moves=NUM_MOVES,
        longest=max_plies,
        # One of each kind in hand fits on 5 x 18 cells; the others on the board, with the king, have at most
        # 6 + 8 + 12 + 16 + 6 + 8 moves (promoted pawn, silver, bishop, rook, gold, king).
        branching=146,
        num_planes=32,
        turned=(range(AREA + 2 * GOLD), TURNED),
        path=path,
        move_name=move_name,
        keeps=(),  # the rules keep left and right, but the start does not; turned by half, it exchanges the seats
        rules=(start, turn, legal, play, score, cells, planes, heuristic, sample, noisy),
    )
