"""Rubik's Cube, 2x2x2 and 3x3x3: chance scrambles it, one person turns its faces until it is solved."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from meijin.core.boards import cube as cube_board
from meijin.core.catalogue import game
from meijin.core.errors import BadParameter
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.parameters import Range
from meijin.core.pieces import Piece
from meijin.core.rng import below

FACES = "URFDLB"
COLOURS = ("#f7f7f2", "#c8342c", "#2e9a4b", "#f2cf2e", "#e8842a", "#2c5ea6")  # white up, green in front
SUFFIXES = ("", "'", "2")  # clockwise as seen from outside, the other way, half a turn
QUARTERS = np.array((1, 3, 2))  # [suffix] -> how many quarter turns clockwise
NO_FACE = -1


@game("cube", title="Rubik's Cube")
def cube(
    size: Annotated[int, Range(2, 3)] = 2,
    metric: str = "half",
    twists: Annotated[int, Range(1, 1000)] = 10,
    max_moves: Annotated[int, Range(1, 1000)] = 20,
) -> Game:
    """Turn faces until every face has one colour: that scores 1, and `max_moves` turns without it score 0.

    Moves are the usual R (right face clockwise), R' (the other way) and, with metric="half", R2; metric="quarter" has
    no half turns. The start is the solved cube after `twists` random twists: all are equally likely except those of
    the face turned last. So it can be solved in `twists` moves, if not in fewer.

    The centres of the 3x3x3 stay where they are. On the 2x2x2 only U, R and F turn, which leaves the corner d3-l3-b4
    in place: turning D, L or B instead would be the same twist seen from another side. So a position has one form
    only, and there are exactly 3,674,160.
    """
    if metric not in ("half", "quarter"):
        raise BadParameter(f"metric={metric!r}: choose 'half' or 'quarter'")
    kinds = 3 if metric == "half" else 2  # of turns a face
    faces = 3 if size == 2 else 6
    count = faces * kinds  # moves: face by face, in the order of SUFFIXES
    names = [face + suffix for face in FACES[:faces] for suffix in SUFFIXES[:kinds]]
    area = size * size
    stickers = 6 * area
    cycles = _cycles(size)[:faces]  # [face, cycle, place]: a quarter turn takes a sticker one place further
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
        for i in range(n):
            probs[i] = 1.0 / n
        return n

    def sample(s: Any, rng: Any) -> int:
        if s.twists == 0 or s.face == NO_FACE:
            return below(rng, count)
        twist = below(rng, count - kinds)
        return twist if twist < kinds * s.face else twist + kinds

    def solved(s: Any) -> bool:
        for i in range(stickers):
            if s.stickers[i] != 1 + i // area:
                return False
        return True

    def play(s: Any, move: int) -> None:
        face, far = move // kinds, QUARTERS[move % kinds]
        for k in range(per_face):
            a, b = s.stickers[cycles[face, k, 0]], s.stickers[cycles[face, k, 1]]
            c, d = s.stickers[cycles[face, k, 2]], s.stickers[cycles[face, k, 3]]
            s.stickers[cycles[face, k, far]] = a
            s.stickers[cycles[face, k, far + 1 & 3]] = b
            s.stickers[cycles[face, k, far + 2 & 3]] = c
            s.stickers[cycles[face, k, far + 3 & 3]] = d
        if s.twists > 0:
            s.twists -= 1
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

    return Game(
        state=state,
        board=cube_board(size),
        pieces=(Piece("."), *(Piece(face, fill=fill) for face, fill in zip(FACES, COLOURS, strict=True))),
        seats=1,
        num_moves=count,
        num_outcomes=count,
        longest=twists + max_moves,
        score_range=(0.0, 1.0),
        path=lambda move: (names[move],),
        outcome_path=lambda twist: (names[twist],),
        keeps=(),  # the board's net has no symmetries
        rules=(start, turn, legal, odds, play, sample, score, cells),
    )


def _cycles(size: int) -> Any:
    """[face, cycle, place] -> cell: where a clockwise quarter turn of each face takes its stickers, four by four."""
    # Twice the stickers' places in space: x right, y up, z to the viewer. Each face is (outwards, right, down).
    axes = {
        "U": ((0, 1, 0), (1, 0, 0), (0, 0, 1)),
        "R": ((1, 0, 0), (0, 0, -1), (0, -1, 0)),
        "F": ((0, 0, 1), (1, 0, 0), (0, -1, 0)),
        "D": ((0, -1, 0), (1, 0, 0), (0, 0, -1)),
        "L": ((-1, 0, 0), (0, 0, 1), (0, -1, 0)),
        "B": ((0, 0, -1), (-1, 0, 0), (0, -1, 0)),
    }
    places = [
        tuple(int(v) for v in size * np.array(out) + (2 * c + 1 - size) * np.array(right) + (2 * r + 1 - size) * down)
        for out, right, down in ((o, r, np.array(d)) for o, r, d in (axes[face] for face in FACES))
        for r in range(size)
        for c in range(size)
    ]
    cell_at = {place: i for i, place in enumerate(places)}
    found = []
    for face in FACES:
        out = np.array(axes[face][0])
        cycles: list[list[int]] = []
        for i, place in enumerate(places):
            if out @ place > size - 2 and not any(i in cycle for cycle in cycles):  # in the layer of the face
                cycle = [i]
                for _ in range(3):  # seen from outside, v x out is v turned clockwise
                    v = np.array(places[cycle[-1]])
                    turned = np.cross(v, out) + (out @ v) * out
                    cycle.append(cell_at[tuple(int(x) for x in turned)])
                if cycle[1] != i:  # a centre only turns on its place
                    cycles.append(cycle)
        found.append(cycles)
    return np.array(found, np.uint8)
