"""Rubik's Cube, 2x2x2 and 3x3x3: chance scrambles it, one person turns its faces until it is solved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import numpy as np

from meijin.core.boards import cube as cube_board
from meijin.core.catalogue import game
from meijin.core.game import CHANCE, OVER, Game, Symmetry
from meijin.core.parameters import Range
from meijin.core.pieces import Piece
from meijin.core.rng import below
from meijin.games._cube_geometry import FACES, STILL, corners, edges, rotations, turns

NAMES = {"U": "up", "R": "right", "F": "front", "D": "down", "L": "left", "B": "back"}
COLOURS = ("#f7f7f2", "#c8342c", "#2e9a4b", "#f2cf2e", "#e8842a", "#2c5ea6")  # white up, green in front
SUFFIXES = ("", "'", "2")  # clockwise as seen from outside, the other way, half a turn
QUARTERS = np.array((1, 3, 2))  # [suffix] -> how many quarter turns clockwise
NO_FACE = -1


@game("cube", title="Rubik's Cube")
def cube(
    size: Annotated[int, Range(2, 3)] = 2,
    metric: Literal["half", "quarter"] = "half",
    twists: Annotated[int, Range(1, 1000)] = 10,
    max_moves: Annotated[int, Range(1, 1000)] = 20,
    spread: bool = False,
) -> Game:
    """Turn the faces of a scrambled cube until every face has one colour.

    Goal: solve the cube within `max_moves` turns. Solving it scores 1, running out of turns 0.

    Moves: chance first scrambles the solved cube with `twists` random turns, never of the same face twice in a row.
    With `spread` it stops after 1 to `twists` turns, each number being as likely. Then one player turns one face per
    move: clockwise, counter-clockwise or, with metric="half", half around.

    On the 2x2x2 only the faces U, R and F turn, so the corner d3-l3-b4 stays in place: turning D, L or B would be the
    same turn seen from another side. So every position has one form only, and there are exactly 3,674,160.

    End: the cube is solved, or `max_moves` turns are used up.

    Notation: the faces are U (up), R (right), F (front), D (down), L (left) and B (back). R turns the right face
    clockwise as seen from outside, R' counter-clockwise, R2 half around. Cells are stickers, numbered in reading order
    on each face of the unfolded cube: u1, u2, ...

    Set-up: any cube that turning faces can reach. The turns are counted from 0. Positions are written as the colours of
    the faces U, R, F, D, L and B, each in reading order.

    `size`: stickers along an edge, 2 or 3.
    `metric`: "half" counts half turns as one move, "quarter" has quarter turns only.
    `twists`: turns of the scramble.
    `max_moves`: turns that the player has.
    `spread`: whether scrambles are of any length up to `twists`, so that a learner meets easy cubes too.
    """
    kinds = 3 if metric == "half" else 2  # of turns per face
    faces = 3 if size == 2 else 6
    count = faces * kinds  # moves: face by face, in the order of SUFFIXES
    names = [face + suffix for face in FACES[:faces] for suffix in SUFFIXES[:kinds]]
    outcomes = [*names, "stop"] if spread else names
    area = size * size
    stickers = 6 * area
    cycles = turns(size)[:faces]  # [face, cycle, place]: a quarter turn takes a sticker one place further
    corner_cells, edge_cells = corners(size), edges(size)  # [corner, sticker], [edge, sticker] -> cell
    corner_colours, edge_colours = 1 + corner_cells // area, 1 + edge_cells // area
    num_edges = 12 if size == 3 else 0
    per_face = cycles.shape[1]

    state = np.dtype(
        [
            ("stickers", "u1", (stickers,)),  # [cell] -> colour, 1 + the number of its face
            ("twists", "i2"),  # still to come
            ("face", "i1"),  # while scrambling: the face turned last
            ("moves", "i2"),
            ("solved", "i1"),  # after scrambling
        ],
        align=True,
    )

    def start(s: Any) -> None:
        for i in range(stickers):
            s.stickers[i] = 1 + i // area
        s.twists = twists
        s.face = NO_FACE
        s.moves = 0
        s.solved = 0

    def turn(s: Any) -> int:
        if s.twists > 0:
            return CHANCE
        return OVER if s.solved or s.moves == max_moves else 0

    def legal(s: Any, moves: Any) -> int:
        for move in range(count):
            moves[move] = move
        return count

    def odds(s: Any, moves: Any, probs: Any) -> int:
        n = 0
        for twist in range(count):
            if twist // kinds != s.face:
                moves[n] = twist
                n += 1
        stop = 1.0 / (s.twists + 1) if spread and s.face != NO_FACE else 0.0
        for i in range(n):
            probs[i] = (1.0 - stop) / n
        if stop > 0.0:
            moves[n], probs[n] = count, stop
            n += 1
        return n

    def sample(s: Any, rng: Any) -> int:
        if s.twists == 0 or s.face == NO_FACE:
            return below(rng, count)
        if spread and below(rng, s.twists + 1) == 0:
            return count
        twist = below(rng, count - kinds)
        return twist if twist < kinds * s.face else twist + kinds

    def solved(s: Any) -> bool:
        for i in range(stickers):
            if s.stickers[i] != 1 + i // area:
                return False
        return True

    def play(s: Any, move: int) -> None:
        face, far = move // kinds, QUARTERS[move % kinds]
        for k in range(per_face if move < count else 0):
            a, b = s.stickers[cycles[face, k, 0]], s.stickers[cycles[face, k, 1]]
            c, d = s.stickers[cycles[face, k, 2]], s.stickers[cycles[face, k, 3]]
            s.stickers[cycles[face, k, far]] = a
            s.stickers[cycles[face, k, far + 1 & 3]] = b
            s.stickers[cycles[face, k, far + 2 & 3]] = c
            s.stickers[cycles[face, k, far + 3 & 3]] = d
        if s.twists > 0:
            s.twists = s.twists - 1 if move < count else 0
            s.face = face if s.twists > 0 else NO_FACE  # forgotten, so that equal positions are equal records
        else:
            s.moves += 1
        if s.twists == 0:
            s.solved = 1 if solved(s) else 0

    def score(s: Any, out: Any) -> None:
        out[0] = 1.0 if s.solved else 0.0

    def cells(s: Any, out: Any) -> None:
        for i in range(stickers):
            out[i] = s.stickers[i]

    def corner_at(values: Any, place: int) -> int:
        """Which corner is there, times 3, plus how it is twisted; -1 if there is no such corner."""
        for corner in range(8):
            for twist in range(3):
                if (
                    values[corner_cells[place, twist]] == corner_colours[corner, 0]
                    and values[corner_cells[place, (twist + 1) % 3]] == corner_colours[corner, 1]
                    and values[corner_cells[place, (twist + 2) % 3]] == corner_colours[corner, 2]
                ):
                    return 3 * corner + twist
        return -1

    def edge_at(values: Any, place: int) -> int:
        """Which edge is there, times 2, plus whether it is flipped; -1 if there is no such edge."""
        for edge in range(num_edges):
            for flip in range(2):
                if (
                    values[edge_cells[place, flip]] == edge_colours[edge, 0]
                    and values[edge_cells[place, 1 - flip]] == edge_colours[edge, 1]
                ):
                    return 2 * edge + flip
        return -1

    def inversions(order: Any, length: int) -> int:
        """Of an order, four bits for each: how many pairs stand the wrong way round."""
        n = 0
        for b in range(length):
            for a in range(b):
                n += order >> 4 * a & 15 > order >> 4 * b & 15
        return n

    def setup(s: Any, values: Any, mover: int) -> int:
        start(s)
        twisted = flipped = seen = 0
        corner_order = edge_order = np.int64(0)
        for place in range(8):
            found = corner_at(values, place)
            if found < 0 or seen >> found // 3 & 1:
                return 1
            seen |= 1 << found // 3
            corner_order |= np.int64(found // 3) << 4 * place
            twisted += found % 3
        seen = 0
        for place in range(num_edges):
            found = edge_at(values, place)
            if found < 0 or seen >> found // 2 & 1:
                return 1
            seen |= 1 << found // 2
            edge_order |= np.int64(found // 2) << 4 * place
            flipped += found % 2
        if twisted % 3 != 0:
            return 2
        if flipped % 2 != 0:
            return 3
        if num_edges > 0 and (inversions(corner_order, 8) + inversions(edge_order, 12)) % 2 != 0:
            return 4
        for i in range(stickers):
            s.stickers[i] = values[i]
        s.solved = 1 if solved(s) else 0
        if mover == CHANCE:
            if not s.solved:
                return 5
            s.solved = 0
        else:
            s.twists = 0
        return 0

    def tally(s: Any, counts: Any) -> None:
        counts[0, 0] = s.moves

    def ending(s: Any) -> int:
        return 0 if s.solved else 1

    def rotated(game: Game) -> Iterator[Symmetry]:
        """The cube turned and mirrored as a whole, with the colours of the faces renamed as they go. On the 2x2x2 only
        those that leave the corner d3-l3-b4 in place."""
        for cells, to, mirrored in rotations(size):
            if max(to[:faces]) >= faces:
                continue
            kind = (1, 0, 2) if mirrored else (0, 1, 2)  # in a mirror, clockwise is counter-clockwise
            moves = [kinds * to[move // kinds] + kind[move % kinds] for move in range(count)]
            name = ("mirror_" if mirrored else "faces_") + "".join(FACES[face] for face in to)
            values = (0, *(1 + face for face in to))
            turned = [*moves, count][: len(outcomes)]
            if found := game.symmetry(name, cells, moves=moves, outcomes=turned, values=values):
                yield found

    # Stickers that never move: the centres, or those of the corner that stays.
    fixed = range(4, stickers, area) if size == 3 else corner_cells[STILL].tolist()
    ways = {"": "clockwise", "'": "counter-clockwise", "2": "half a turn"}
    return Game(
        state=state,
        board=cube_board(size),
        pieces=(Piece("."), *(Piece(face, fill=fill) for face, fill in zip(FACES, COLOURS, strict=True))),
        seats=1,
        seat_names=("player",),
        num_moves=count,
        num_outcomes=len(outcomes),
        longest=twists + max_moves,
        score_range=(0.0, 1.0),
        path=lambda move: (names[move],),
        outcome_path=lambda twist: (outcomes[twist],),
        words={name: f"{name}: {NAMES[name[0]]} {ways[name[1:]]}" for name in names},
        keeps=(),  # the board's net has no symmetries
        more_symmetries=rotated,
        beginnings=("twists", "max_moves", "spread"),
        alphabets=tuple((1 + i // area,) if i in fixed else range(1, 7) for i in range(stickers)),
        tallies=("moves",),
        endings=("solved", f"not solved within {max_moves} moves"),
        refusals=(
            "the stickers are not those of a cube: a piece is missing or there twice",
            "a corner is twisted: turning faces never leads there",
            "an edge is flipped: turning faces never leads there",
            "two pieces are exchanged: turning faces never leads there",
            "chance scrambles only a solved cube; give the cube to the player",
        ),
        rules=(start, turn, legal, odds, play, sample, score, cells, setup, tally, ending),
    )
