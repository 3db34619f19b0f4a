"""Minishogi: shogi on 5 x 5. Captured men change sides and are dropped back; checkmate wins.

A move's number is 69 * cell + plane, as in the literature's 5 x 5 x 69 encoding: planes 0-31 move the man on the cell
(8 directions clockwise from straight up, x 4 distances), 32-63 do so and promote, 64-68 drop a pawn, silver, bishop,
rook or gold on it. Numbers that would leave the board are never legal. The literature counts cells and directions
from the mover's side; a move of a `Game` has one number and one name, so here both players' moves are counted from
the first player's side. `relative_move` (and `Game.views`) gives the mover's own number, the one that belongs to
the planes, which show the board from the mover's side.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np

from meijin.core.bits import count, lowest, nth, without_lowest
from meijin.core.catalogue import game
from meijin.core.errors import BadParameter
from meijin.core.game import OVER, Game, Symmetry
from meijin.core.parameters import Range
from meijin.core.rng import below
from meijin.core.state import State
from meijin.games._minishogi_men import (
    bit,
    can_move,
    drops,
    flights,
    king_of,
    mates,
    occupied,
    safe,
    split,
)
from meijin.games._minishogi_notation import PIECES, START, board, in_tray, move_name, path, read_sfen, write_sfen
from meijin.games._minishogi_position import (
    DRAW,
    GOTE,
    SENTE,
    clear,
    enter,
    perpetual,
    pocket,
    put,
    repeated,
    setup,
    take,
)
from meijin.games._minishogi_tables import (
    AREA,
    DROPPING,
    GOLD,
    KINDS,
    KING,
    NUM_MOVES,
    PAWN,
    PLANE,
    PLANES,
    PROMOTED,
    PROMOTING,
    ROTATED,
    SIZE,
    TARGET,
    TURN_KEY,
)

__all__ = ["GOTE", "SENTE", "from_planes", "minishogi", "relative_move", "repeated"]

#: [cell] -> where the second player sees it: the board is turned by half, the trays change sides.
TURNED = (*range(AREA - 1, -1, -1), *range(AREA + GOLD, AREA + 2 * GOLD), *range(AREA, AREA + GOLD))

#: [kind] -> what a man is worth to players (Tanigawa's scale), on the board and in hand.
WORTH = np.array([0, 1, 5, 8, 10, 6, 0, 7, 6, 10, 12], np.int64)

FIRST = np.array(read_sfen(START)[0][:AREA], np.int8)  # [cell] -> its value at the start

#: [cell] -> the values it can have. A pawn on its last rank could never move; a tray cell holds one kind of one side.
_STUCK = (*[PAWN] * SIZE, *[-1] * (AREA - 2 * SIZE), *[PAWN + 10] * SIZE)
ALPHABETS = (
    *(tuple(value for value in range(21) if value != stuck) for stuck in _STUCK),
    *(tuple(in_tray(seat, k, held) for held in range(3)) for seat in (0, 1) for k in range(GOLD)),
)

_ZERO, _ONE = np.uint64(0), np.uint64(1)


def relative_move(move: int, seat: int) -> int:
    """The number of a move counted from that seat's side of the board; the same function turns it back."""
    return int(ROTATED[move]) if seat == GOTE else move


def from_planes(game: Game, planes: Any) -> State:
    """The position that `State.planes` shows. Planes do not say what came before: no earlier position counts as a
    repetition, and as in every position that is set up, plies are counted from 0 again."""
    planes, shape = np.asarray(planes), (32, AREA + 2 * GOLD)
    if planes.shape != shape:
        raise BadParameter(f"planes of shape {planes.shape}: give those of minishogi, of shape {shape}")
    seat = GOTE if planes[30, 0] else SENTE
    seats = (seat, 1 - seat)  # of the first ten planes and of the next
    cells = [0] * AREA
    for plane, cell in np.argwhere(planes[:20, :AREA]).tolist():
        cells[cell if seat == SENTE else AREA - 1 - cell] = plane % 10 + 1 + 10 * seats[plane // 10]
    held = np.clip(np.rint(2 * planes[20:30, 0]), 0, 2).astype(int).reshape(2, GOLD)
    cells += [in_tray(owner, k, held[seats.index(owner), k]) for owner in (SENTE, GOTE) for k in range(GOLD)]
    state = State.set_up(game, cells, seat)
    if not np.array_equal(state.planes[:31], planes[:31]):
        raise BadParameter("these planes show no position of minishogi; give what `State.planes` writes")
    return state


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


def ending(s: Any) -> int:
    if not can_move(s):
        return 0 if s.history[s.ply] & _ONE != _ZERO else 1
    checks = perpetual(s)
    return 4 if checks < 0 else 2 if checks == 0 else 3


def symmetries(game: Game) -> Iterator[Symmetry]:
    """The board turned by half with the seats exchanged, as it is and mirrored. They hold but for a fourth repetition
    without checks, which the rules always decide against sente."""
    values = (0, *range(11, 21), *range(1, 11), *range(26, 31), *range(21, 26))
    mirror = game.board.symmetries["mirror"]
    for name, cells in (("rotate180", TURNED), ("flip", tuple(TURNED[cell] for cell in mirror))):
        if found := game.symmetry(name, cells, seats=(1, 0), values=values):
            yield found


@game("minishogi", title="Minishogi")
def minishogi(max_plies: Annotated[int, Range(1, 2000)] = 300) -> Game:
    """Shogi on 5 x 5: checkmate the king; captured men change sides.

    Goal: checkmate the other king: attack it so that no move saves it.

    Moves: sente begins, at the bottom. Each side has a king (K), a gold (G), a silver (S), a bishop (B), a rook (R) and
    a pawn (P). The king steps one cell in any direction; the gold too, but not diagonally backwards; the silver
    diagonally or straight forward; the pawn straight forward. The bishop slides diagonally, the rook straight. Moving
    onto a man of the other side captures it: it goes to your hand, shown beside the board, and instead of moving you
    may later drop it on an empty cell as your own.

    A man that moves to or from the farthest rank may promote, and a pawn that gets there must. A promoted pawn or
    silver moves as a gold; a promoted bishop or rook also steps one cell in any direction. Captured men lose their
    promotion. A pawn may not be dropped on the farthest rank, on a file with another unpromoted pawn of yours, or to
    give mate.

    End: whoever is checkmated, or cannot move, loses. When a position arises for the fourth time (same men, hands and
    side to move), sente loses; but if every move of one side since the first time gave check, that side loses (if of
    both: a draw). After `max_plies` moves of both sides together the game is a draw.

    Notation: as in USI. Files are numbered 5 to 1 from the left and ranks lettered a to e from the top. 5d5c moves,
    1b1a+ moves and promotes, P*3c drops a pawn.

    Set-up: at most two men of each kind, promoted or not, on the board and in hand together. Positions are written as
    SFEN; the number of the move is ignored. Earlier positions do not count as repetitions, and `max_plies` starts at 0.

    `max_plies`: moves of both sides together after which the game is a draw.
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
        2); 1 for the second player; the ply over `max_plies`. (The thesis that says 32 lists 7 planes per hand, the
        number in shogi; minishogi has five kinds to hold, and 32 is right.)
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
        seat_names=("sente", "gote"),
        num_moves=NUM_MOVES,
        longest=max_plies,
        # One of each kind in hand fits on 5 x 18 cells; the others on the board, with the king, have at most
        # 6 + 8 + 12 + 16 + 6 + 8 moves (promoted pawn, silver, bishop, rook, gold, king).
        branching=146,
        num_planes=32,
        turned=(range(AREA + 2 * GOLD), TURNED),
        path=path,
        move_name=move_name,
        words={"+": "promote", "": "do not promote"},
        keeps=("mirror",),  # the start is not its own image, but the rules do not tell left from right
        more_symmetries=symmetries,
        alphabets=ALPHABETS,
        endings=(
            *("checkmate", "no legal move", "fourth repetition", "perpetual check"),
            f"the limit of {max_plies} moves",
        ),
        refusals=(
            "each side needs exactly one king",
            "two pawns of one side are on one file",
            "there are more than two men of a kind",
            "the side that is not to move is in check",
        ),
        write=write_sfen,
        read=read_sfen,
        rules=(start, turn, legal, play, score, cells, planes, heuristic, sample, noisy, setup, ending),
    )
