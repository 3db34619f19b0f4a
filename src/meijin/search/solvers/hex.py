"""Hex solved: who wins after every move, on boards up to 7x7.

A depth-first search for who wins, which returns the winner's proof: a set of empty cells such that the winner needs no
other, even if all others were the loser's. What keeps it small:

- cells that cannot matter, or are as good as taken, are filled in first (`_hex_cells`);
- virtual connections tell who wins long before the stones join (`_hex_links`);
- must-play: a move outside a proof that the other seat wins leaves that proof intact, so only the cells that all the
  proofs found so far have in common are worth a move. These come from weak connections of the other seat and from the
  moves already refuted. When none is left the position is lost, and the proofs together are the proof;
- positions are stored with the cells filled in, as the smaller of themselves and their half turn, whole: no two are
  ever taken for each other.

After Hayward, Bjornsson, Johanson, Kan, Po, van Rijswijck, "Solving 7x7 Hex" (2003), and Henderson, Arneson, Hayward,
"Solving 8x8 Hex" (2009).
"""

from __future__ import annotations

import math
import threading
import time
from typing import Any, NamedTuple

import numpy as np

from meijin.core.agent import Analysis, Limit, MoveInfo
from meijin.core.bits import count, lowest, without_lowest
from meijin.core.compile import Function
from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.core.moves import Move
from meijin.core.state import State
from meijin.search.solvers._hex_cells import BLACK, LARGEST, WHITE, filler, turner
from meijin.search.solvers._hex_current import current_of
from meijin.search.solvers._hex_links import ACROSS, WEAK_KEPT, Links, connector, links

LOST, WON, OPEN = 0, 1, 2  # for the seat to move
NODES, STOPPED = 0, 1  # slots of `info`
TABLE_BITS = 20
FIRST_QUOTA, GROWTH = 16, 4

_NONE, _ONE = np.uint64(0), np.uint64(1)
_TO_MOVE, _RESULT = np.uint64(63), np.uint64(62)  # bits of a stored position that are no cells

SLOT = np.dtype((np.record, np.dtype([("black", "u8"), ("white", "u8"), ("proof", "u8")])))


class Work(NamedTuple):
    """All that one search reads and writes."""

    links: Links
    table: Any  # [slot]: a power of two
    moves: Any  # [ply, i]
    ranks: Any  # [ply, i]
    proof: Any  # [ply]: what the search below found
    refuted: Any  # [ply, i]: proofs for the other seat, each of which the moves outside leave intact
    must: Any  # [1]: where the seat to move has to play, as `judge` found it
    band: Any  # room for `current`
    info: Any  # NODES, STOPPED
    stop: Any  # [1]: set by a timer


def work(size: int) -> Work:
    area = size * size
    table = np.zeros(1 << TABLE_BITS, SLOT)
    return Work(
        links(size),
        table,
        np.zeros((area + 2, area), np.int64),
        np.zeros((area + 2, area)),
        np.zeros(area + 2, np.uint64),
        np.zeros((area + 2, area + WEAK_KEPT), np.uint64),
        np.zeros(1, np.uint64),
        np.zeros((area, size + 2)),
        np.zeros(2, np.int64),
        np.zeros(1, np.int64),
    )


def rank(n: int, lead: float) -> float:
    return n - 5.0 * math.log(lead)


def together(refuted: Any, n: int, empty: Any) -> Any:
    """The union of some of the n sets, as few cells as may be, that have no cell of `empty` in common."""
    while True:
        worst = -1
        for i in range(n):
            common = empty
            for j in range(n):
                if j != i:
                    common &= refuted[j]
            if common == _NONE and (worst < 0 or count(refuted[i]) > count(refuted[worst])):
                worst = i
        if worst < 0:
            union = _NONE
            for i in range(n):
                union |= refuted[i]
            return union
        n -= 1
        refuted[worst] = refuted[n]


def judge_of(size: int) -> Function:
    """`judge(w, ply, own, other, seat)`: who wins as far as connections tell; the proof goes to `w.proof[ply]`.

    If they do not tell, the proof is what has been needed so far, and `w.must[0]` the cells worth a move.
    """
    connect = connector(size)
    board = (_ONE << np.uint64(size * size)) - _ONE

    def judge(w: Any, ply: int, own: Any, other: Any, seat: int) -> int:
        k = w.links
        if connect(k, own, other, seat):
            w.proof[ply] = _NONE
            return WON
        if k.num_weak[ACROSS, 0] > 0:
            best = 0
            for i in range(1, k.num_weak[ACROSS, 0]):
                if count(k.weak[ACROSS, 0, i]) < count(k.weak[ACROSS, 0, best]):
                    best = i
            w.proof[ply] = k.weak[ACROSS, 0, best]
            return WON
        if k.num_safe[ACROSS, 0] > 0:
            w.proof[ply] = k.safe[ACROSS, 0, 0]
            return WON
        if connect(k, other, own, 1 - seat):
            w.proof[ply] = _NONE
            return LOST
        if k.num_safe[ACROSS, 0] > 0:
            best = 0
            for i in range(1, k.num_safe[ACROSS, 0]):
                if count(k.safe[ACROSS, 0, i]) < count(k.safe[ACROSS, 0, best]):
                    best = i
            w.proof[ply] = k.safe[ACROSS, 0, best]
            return LOST
        must = board & ~(own | other)
        for i in range(k.num_weak[ACROSS, 0]):
            w.refuted[ply, i] = k.weak[ACROSS, 0, i]
            must &= k.weak[ACROSS, 0, i]
        w.must[0] = must
        return OPEN

    return judge


def prover(game: Game) -> Function:
    """`prove(w, ply, own, other, seat)`: whether the seat to move wins; the winner's proof goes to `w.proof[ply]`."""
    size = game.params["size"]
    board = (_ONE << np.uint64(size * size)) - _ONE
    fill, answered = filler(size)
    turned, judge, current = turner(size), judge_of(size), current_of(size)

    def prove(w: Any, ply: int, own: Any, other: Any, seat: int, until: int) -> int:
        w.info[NODES] += 1
        if w.info[NODES] & 255 == 0 and w.stop[0] != 0:
            w.info[STOPPED] = 1
        if w.info[STOPPED] != 0:
            return OPEN

        # ---- what needs no search ----
        if seat == BLACK:
            own, other, mine, theirs = fill(own, other)
            black, white = own, other
        else:
            other, own, theirs, mine = fill(other, own)
            black, white = other, own
        black_now, white_now = black, white
        turned_black, turned_white = turned(black), turned(white)
        turn = turned_black < black or (turned_black == black and turned_white < white)
        if turn:
            black, white = turned_black, turned_white
        black |= np.uint64(seat) << _TO_MOVE
        mix = (black * np.uint64(0x9E3779B97F4A7C15)) ^ (white * np.uint64(0xC2B2AE3D27D4EB4F))
        mix = (mix ^ (mix >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        slot = w.table[mix >> np.uint64(64 - TABLE_BITS)]
        if slot.black == black and (slot.white & ~(_ONE << _RESULT)) == (white | _ONE << _TO_MOVE):
            proof = turned(slot.proof) if turn else slot.proof
            if slot.white >> _RESULT & _ONE != _NONE:
                w.proof[ply] = proof | mine
                return WON
            w.proof[ply] = proof | theirs
            return LOST

        result = judge(w, ply, own, other, seat)
        proof = w.proof[ply]
        if result == OPEN:
            must, sets = w.must[0], w.links.num_weak[ACROSS, 0]
            idle, replies = answered(black_now, white_now, 1 - seat)
            empty = board & ~(own | other | idle)
            must &= ~idle

            # ---- one look at every move ----
            n = 0
            left = must
            while left != _NONE and result == OPEN:
                cell = lowest(left)
                bit = _ONE << np.uint64(cell)
                left = without_lowest(left)
                if seat == BLACK:
                    black2, white2, taken, lost = fill(own | bit, other)
                    answer = judge(w, ply + 1, white2, black2, WHITE)
                else:
                    black2, white2, lost, taken = fill(other, own | bit)
                    answer = judge(w, ply + 1, black2, white2, BLACK)
                if answer == LOST:
                    result = WON
                    proof = w.proof[ply + 1] | taken | bit
                elif answer == WON:
                    refuted = w.proof[ply + 1] | lost
                    must &= refuted
                    left &= refuted
                    w.refuted[ply, sets] = refuted
                    sets += 1
                else:
                    w.moves[ply, n] = cell
                    lead = current(w.band, black2, white2, BLACK) / current(w.band, white2, black2, WHITE)
                    w.ranks[ply, n] = rank(count(w.must[0]), lead if seat == BLACK else 1.0 / lead)
                    n += 1

            # ---- search, the moves first that look best, all a little before any goes deep ----
            for i in range(1, n):
                for j in range(i, 0, -1):
                    if w.ranks[ply, j] >= w.ranks[ply, j - 1]:
                        break
                    w.ranks[ply, j], w.ranks[ply, j - 1] = w.ranks[ply, j - 1], w.ranks[ply, j]
                    w.moves[ply, j], w.moves[ply, j - 1] = w.moves[ply, j - 1], w.moves[ply, j]
            quota = FIRST_QUOTA
            while result == OPEN and must != _NONE:
                for i in range(n):
                    bit = _ONE << np.uint64(w.moves[ply, i])
                    if must & bit == _NONE:
                        continue
                    if w.info[NODES] >= until:
                        return OPEN
                    last = until if must == bit else min(until, w.info[NODES] + quota)
                    answer = prove(w, ply + 1, other, own | bit, 1 - seat, last)
                    if w.info[STOPPED] != 0:
                        return OPEN
                    if answer == LOST:
                        result = WON
                        proof = w.proof[ply + 1] | bit
                        break
                    if answer == WON:
                        must &= w.proof[ply + 1]
                        w.refuted[ply, sets] = w.proof[ply + 1]
                        sets += 1
                quota *= GROWTH
            if result == OPEN:
                result = LOST
                proof = together(w.refuted[ply], sets, empty) | idle | replies

        slot.black = black
        slot.white = white | (_ONE << _TO_MOVE) | (np.uint64(result) << _RESULT)
        slot.proof = turned(proof) if turn else proof
        w.proof[ply] = proof | (mine if result == WON else theirs)
        return result

    prove.recursive = True  # type: ignore[attr-defined]
    return prove


def root(game: Game) -> Function:
    prove = prover(game)

    def kernel(w: Any, own: Any, other: Any, seat: int) -> int:
        return prove(w, np.int64(0), own, other, seat, np.int64(1 << 62))

    return kernel
