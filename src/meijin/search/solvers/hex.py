"""Hex solved: who wins after every move, on boards up to 7x7.

A depth-first search for the winner, which also returns a proof: a set of empty cells such that the winner needs no
other, even if all others were the loser's stones. What keeps it small:

- cells that cannot matter, or are as good as taken, are filled in first (`_hex_cells`);
- virtual connections tell who wins long before the stones join (`_hex_links`);
- must-play: a move outside a proof for the other seat leaves that proof intact, so only the cells that all proofs so
  far have in common are worth a move. Proofs come from weak connections of the other seat and from moves already
  refuted. When no cell is left the position is lost, and those proofs together are its proof;
- positions are stored with the cells filled in, as the smaller of themselves and their half turn, and whole: no two
  are ever taken for each other.

After Hayward, Bjornsson, Johanson, Kan, Po and van Rijswijck, "Solving 7x7 Hex" (2003).
"""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import numpy as np

from meijin.core.agent import Analysis, Limit, MoveInfo, must_move
from meijin.core.bits import count, lowest, without_lowest
from meijin.core.compile import Function
from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.core.moves import Move
from meijin.core.records import Record
from meijin.core.state import State
from meijin.search.pace import Alarm
from meijin.search.solvers._hex_cells import BLACK, LARGEST, WHITE, Shape, fill, shape, turned
from meijin.search.solvers._hex_current import current
from meijin.search.solvers._hex_links import ACROSS, WEAK_KEPT, Links, connect, links

LOST, WON, OPEN = 0, 1, 2  # for the seat to move
NODES, STOPPED = 0, 1  # slots of `info`
TABLE_BITS = 20  # the table has 2**20 slots
MOST_SECONDS = 60.0  # where no limit is given: 6x6 takes a few, the first moves of 7x7 far more

_NONE, _ONE = np.uint64(0), np.uint64(1)
_WHITE_MOVES, _IS_WON, _IN_USE = _ONE << np.uint64(63), _ONE << np.uint64(62), _ONE << np.uint64(63)

#: A solved position: its stones with `_WHITE_MOVES` in `black`, `_IS_WON` and `_IN_USE` in `white`.
SLOT = np.dtype((Record, np.dtype([("black", "u8"), ("white", "u8"), ("proof", "u8")])))


class Work(NamedTuple):
    """All that one search reads and writes."""

    shape: Shape
    links: Links
    table: Any  # [slot]
    moves: Any  # [ply, i]
    ranks: Any  # [ply, i]: what is tried first, the least
    refuted: Any  # [ply, i]: proofs for the other seat
    proof: Any  # [ply]: what the search below found
    must: Any  # [1]: where the seat to move has to play, as `judge` found it
    band: Any  # room for `current`
    info: Any  # NODES, STOPPED
    stop: Any  # [1]: set by a timer


def work(size: int) -> Work:
    area = size * size
    plies = area + 2
    return Work(
        shape(size),
        links(size),
        np.zeros(1 << TABLE_BITS, SLOT),
        np.zeros((plies, area), np.int64),
        np.zeros((plies, area)),
        np.zeros((plies, area + WEAK_KEPT), np.uint64),
        np.zeros(plies, np.uint64),
        np.zeros(1, np.uint64),
        np.zeros((area, size + 2)),
        np.zeros(2, np.int64),
        np.zeros(1, np.int64),
    )


def smallest(sets: Any, n: int) -> Any:
    best = sets[0]
    for i in range(1, n):
        if count(sets[i]) < count(best):
            best = sets[i]
    return best


def together(sets: Any, n: int, empty: Any) -> Any:
    """The union of some of the sets, few and small ones, that have no cell of `empty` in common. Reorders the sets."""
    while True:
        worst = -1
        for i in range(n):
            common = empty
            for j in range(n):
                if j != i:
                    common &= sets[j]
            if common == _NONE and (worst < 0 or count(sets[i]) > count(sets[worst])):
                worst = i
        if worst < 0:
            union = _NONE
            for i in range(n):
                union |= sets[i]
            return union
        n -= 1
        sets[worst] = sets[n]


def judge(w: Any, ply: int, black: Any, white: Any, seat: int) -> int:
    """Who wins as far as connections tell; the proof goes to `w.proof[ply]`.

    If they do not tell, `w.must[0]` has the cells worth a move, and `w.refuted[ply]` the proofs that say so.
    """
    k = w.links
    for turn in range(2):  # the seat to move, then the other
        mover = seat if turn == 0 else 1 - seat
        result = WON if turn == 0 else LOST
        if connect(w.shape, k, black if mover == BLACK else white, white if mover == BLACK else black, mover):
            w.proof[ply] = _NONE
            return result
        if turn == 0 and k.num_weak[ACROSS, 0] > 0:
            w.proof[ply] = smallest(k.weak[ACROSS, 0], k.num_weak[ACROSS, 0])
            return result
        if k.num_safe[ACROSS, 0] > 0:
            w.proof[ply] = smallest(k.safe[ACROSS, 0], k.num_safe[ACROSS, 0])
            return result
    must = w.shape.board & ~(black | white)
    for i in range(k.num_weak[ACROSS, 0]):
        w.refuted[ply, i] = k.weak[ACROSS, 0, i]
        must &= k.weak[ACROSS, 0, i]
    w.must[0] = must
    return OPEN


def look(w: Any, ply: int, black: Any, white: Any, seat: int) -> Any:
    """List the moves worth a search, best first; the result if none is needed, how many, and the refutations."""
    must, sets = w.must[0], w.links.num_weak[ACROSS, 0]
    n, left = 0, must
    while left != _NONE:
        cell = lowest(left)
        bit = _ONE << np.uint64(cell)
        left = without_lowest(left)
        b, v = (black | bit, white) if seat == BLACK else (black, white | bit)
        b, v, by_black, by_white = fill(w.shape, b, v)
        answer = judge(w, ply + 1, b, v, 1 - seat)
        found = w.proof[ply + 1]
        if answer == LOST:
            w.proof[ply] = found | bit | (by_black if seat == BLACK else by_white)
            return WON, 0, 0
        if answer == WON:
            found |= by_white if seat == BLACK else by_black
            w.refuted[ply, sets] = found
            sets += 1
            must &= found
            left &= found
            continue
        lead = math.log(current(w.shape.size, w.band, b, v, BLACK) / current(w.shape.size, w.band, v, b, WHITE))
        rank = count(w.must[0]) - 5.0 * (lead if seat == BLACK else -lead)
        i = n
        while i > 0 and w.ranks[ply, i - 1] > rank:
            w.ranks[ply, i], w.moves[ply, i] = w.ranks[ply, i - 1], w.moves[ply, i - 1]
            i -= 1
        w.ranks[ply, i], w.moves[ply, i] = rank, cell
        n += 1
    w.must[0] = must
    return OPEN, n, sets


def prover() -> Function:
    """`prove(w, ply, black, white, seat)`: WON or LOST for the seat to move; the proof goes to `w.proof[ply]`."""

    def prove(w: Any, ply: int, black: Any, white: Any, seat: int) -> int:
        w.info[NODES] += 1
        if w.info[NODES] & 63 == 0 and w.stop[0] != 0:
            w.info[STOPPED] = 1
        if w.info[STOPPED] != 0:
            return OPEN

        black, white, by_black, by_white = fill(w.shape, black, white)
        mine, theirs = (by_black, by_white) if seat == BLACK else (by_white, by_black)
        key, rest = turned(w.shape, black), turned(w.shape, white)
        turn = key < black or (key == black and rest < white)
        if not turn:
            key, rest = black, white
        if seat == WHITE:
            key |= _WHITE_MOVES
        mix = (key * np.uint64(0x9E3779B97F4A7C15)) ^ (rest * np.uint64(0xC2B2AE3D27D4EB4F))
        mix = (mix ^ (mix >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        slot = w.table[mix >> np.uint64(64 - TABLE_BITS)]
        if slot.black == key and (slot.white & ~_IS_WON) == (rest | _IN_USE):
            proof = turned(w.shape, slot.proof) if turn else slot.proof
            won = slot.white & _IS_WON != _NONE
            w.proof[ply] = proof | (mine if won else theirs)
            return WON if won else LOST

        result = judge(w, ply, black, white, seat)
        if result == OPEN:
            result, n, sets = look(w, ply, black, white, seat)
            must = w.must[0]
            for i in range(n):
                bit = _ONE << np.uint64(w.moves[ply, i])
                if must & bit == _NONE:
                    continue
                b, v = (black | bit, white) if seat == BLACK else (black, white | bit)
                answer = prove(w, ply + 1, b, v, 1 - seat)
                if w.info[STOPPED] != 0:
                    return OPEN
                found = w.proof[ply + 1]
                if answer == LOST:
                    result = WON
                    w.proof[ply] = found | bit
                    break
                w.refuted[ply, sets] = found
                sets += 1
                must &= found
            if result == OPEN:
                result = LOST
                w.proof[ply] = together(w.refuted[ply], sets, w.shape.board & ~(black | white))

        proof = w.proof[ply]
        slot.black, slot.white = key, rest | _IN_USE | (_IS_WON if result == WON else _NONE)
        slot.proof = turned(w.shape, proof) if turn else proof
        w.proof[ply] = proof | (mine if result == WON else theirs)
        return result

    prove.recursive = True  # type: ignore[attr-defined]
    return prove


_prove = prover()


def solve(w: Any, black: Any, white: Any, seat: int) -> int:
    return _prove(w, np.int64(0), black, white, seat)  # typed: a literal would make a second, recursive copy


def solver(game: Game) -> Function:
    return solve  # the same for all sizes


class Solver:
    """Knows who wins after every move. Keeps what it has solved between calls."""

    def __init__(self, game: Game):
        if why := self.unfit(game):
            raise MeijinError(f"{game} cannot be solved: {why}")
        self.game = game
        self._work = work(game.params["size"])
        self.stop_flag = self._work.stop

    @staticmethod
    def unfit(game: Game) -> str | None:
        if game.name != "hex":
            return "this is a solver of Hex"
        if game.params["size"] > LARGEST:
            return f"Hex is solved up to size={LARGEST} here; size={game.params['size']} is too large"
        return None

    def expected_seconds(self, state: State) -> float:
        return float(2.0 ** (state.cells.count(0) - 29))

    def analyse(self, state: State, limit: Limit = Limit()) -> Analysis:  # noqa: B008 - frozen
        """Every move's exact value. Of two moves that win, the one that needs fewer cells for it comes first, and of
        two that lose the one that makes the other seat need more."""
        must_move(state)
        everywhere, kernel = np.uint64((1 << len(self.game.board.cells)) - 1), self.game.kernel(solver)
        kernel(self._work, everywhere, _NONE, BLACK)  # nothing to search: on the first use this compiles, off the clock
        began, me = time.perf_counter(), state.turn
        self._work.info[:] = 0
        seconds = limit.seconds or MOST_SECONDS
        with Alarm(seconds, self.stop_flag):
            found = self._moves(state, me)
        if len(found) < len(state.legal_moves):
            raise MeijinError(
                f"{state.game} was not solved in {seconds:g} s ({int(self._work.info[NODES])} positions); "
                "allow more seconds, or ask again: what has been solved is kept"
            )
        found.sort(key=lambda item: (-item[1], item[2] if item[1] > 0 else -item[2]))
        infos = tuple(
            MoveInfo(move, value=(value, -value) if me == BLACK else (-value, value), proven=True, pv=(move,))
            for move, value, _ in found
        )
        nodes, spent = int(self._work.info[NODES]), time.perf_counter() - began
        return Analysis(turn=me, moves=infos, value=infos[0].value, proven=True, nodes=nodes, seconds=spent)

    def _moves(self, state: State, me: int) -> list[tuple[Move, float, int]]:
        """Each move, its value for the mover, and how many cells the proof has; the first few if time ran out."""
        found: list[tuple[Move, float, int]] = []
        refuted: list[int] = []  # proofs that the mover loses; a move outside any of them loses as well
        for move in state.legal_moves:
            known = [proof for proof in refuted if move.name != "swap" and not proof >> int(move) & 1]
            if known:
                found.append((move, -1.0, min(proof.bit_count() for proof in known)))
                continue
            after = state.copy().play(move)
            solved = self._value(after, me)
            if solved is None:
                break
            value, proof = solved
            found.append((move, value, proof.bit_count()))
            swappable = any(m.name == "swap" for m in after.legal_moves)
            if value < 0 and move.name != "swap" and not swappable:
                refuted.append(proof)
        return found

    def _value(self, state: State, seat: int) -> tuple[float, int] | None:
        """The value of a position for the seat, and a proof of it; None if time ran out."""
        if state.is_over:
            return state.scores[seat], 0
        for move in state.legal_moves:
            if move.name == "swap":
                swapped = self._value(state.copy().play(move), seat)
                if swapped is None or (swapped[0] < 0) == (seat != state.turn):  # it wins for whoever may swap
                    return swapped
        black, white = (np.uint64(word) for word in state.record.stones[:, 0])
        result = self.game.kernel(solver)(self._work, black, white, state.turn)
        if result == OPEN:
            return None
        return (1.0 if (result == WON) == (state.turn == seat) else -1.0), int(self._work.proof[0])
