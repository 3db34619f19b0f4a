"""My game: tiles that lie in hand until they are placed.

Try it:   meijin check --load my_game.py
          meijin play my_game --load my_game.py
"""

from typing import Annotated

import numpy as np

from meijin import OVER, Game, Piece, Range, boards, game

SIDE = 3
AREA = SIDE * SIDE
COLOURS = ("#c8342c", "#2c5ea6")


@game("my_game", title="My game")
def my_game(tiles: Annotated[int, Range(5, 9)] = 5) -> Game:
    """Place your numbered tiles; whoever has the larger sum in more rows and columns wins.

    Both seats hold the tiles from 1 up and place one in turn, until the board is full. Then each row and each column
    belongs to the seat whose tiles there add up to more. A move is written as the tile and the cell: x3b2.

    `tiles`: how many tiles each seat holds.
    """
    # Trays are cells for pieces in hand. They follow those of the board: 0 to 8, then seat 0's tray, then seat 1's.
    board = boards.square(SIDE).with_trays({k: [f"{'xo'[k]}{n + 1}" for n in range(tiles)] for k in (0, 1)})
    lines = np.array(
        [[3 * r + c for c in range(3)] for r in range(3)] + [[3 * r + c for r in range(3)] for c in range(3)]
    )

    state = np.dtype(
        [
            ("board", "i1", (AREA,)),  # 0 empty, else 1 + tile, where seat 1's tiles follow those of seat 0
            ("held", "i1", (2 * tiles,)),  # [tile] -> 1 while it is in hand
            ("ply", "i2"),
        ]
    )

    def start(s):
        for cell in range(AREA):
            s.board[cell] = 0
        for tile in range(2 * tiles):
            s.held[tile] = 1
        s.ply = 0

    def turn(s):
        return OVER if s.ply == AREA else s.ply % 2

    def legal(s, moves):  # a move is tile * AREA + cell, so that it means the same at any time
        n = 0
        seat = s.ply % 2
        for tile in range(seat * tiles, (seat + 1) * tiles):
            for cell in range(AREA):
                if s.held[tile] == 1 and s.board[cell] == 0:
                    moves[n] = tile * AREA + cell
                    n += 1
        return n

    def play(s, move):
        tile, cell = move // AREA, move % AREA
        s.held[tile] = 0
        s.board[cell] = 1 + tile
        s.ply += 1

    def lead(s, line):  # seat 0's sum in a line, less seat 1's
        total = 0
        for k in range(SIDE):
            tile = s.board[lines[line, k]] - 1
            if tile >= tiles:
                total -= tile - tiles + 1
            elif tile >= 0:
                total += tile + 1
        return total

    def tally(s, counts):  # [tally, seat]: numbers worth showing during the game, see `tallies`
        counts[0, 0] = 0.0
        counts[0, 1] = 0.0
        for line in range(2 * SIDE):
            if lead(s, line) > 0:
                counts[0, 0] += 1
            elif lead(s, line) < 0:
                counts[0, 1] += 1

    def score(s, scores):
        scores[0] = 0.0
        scores[1] = 0.0
        if s.ply == AREA:
            more = 0
            for line in range(2 * SIDE):
                more += np.sign(lead(s, line))
            scores[0] = np.sign(more)
            scores[1] = -np.sign(more)

    def cells(s, out):  # the board, then both trays
        for cell in range(AREA):
            out[cell] = s.board[cell]
        for tile in range(2 * tiles):
            out[AREA + tile] = 1 + tile if s.held[tile] == 1 else 0

    men = [
        Piece(f"{'XO'[k]}{n + 1}", owner=k, fill=COLOURS[k], label=True, glyph=str(n + 1))
        for k in (0, 1)
        for n in range(tiles)
    ]
    return Game(
        state=state,
        board=board,
        pieces=(Piece("."), *men),
        seats=2,
        seat_names=("X", "O"),
        num_moves=2 * tiles * AREA,
        path=lambda move: (AREA + move // AREA, move % AREA),  # click the tile in hand, then the cell
        longest=AREA,
        tallies=("lines",),
        rules=(start, turn, legal, play, score, cells, tally),
    )
