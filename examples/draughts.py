import numpy as np

from meijin import OVER, Game, Piece, boards, game

SIZE, AREA = 8, 64
EMPTY, MAN = 0, 1  # men are 1 and 2, kings 3 and 4: (value - 1) % 2 is the seat of a piece
DRAW = 2
BLOCKED, QUIET = 0, 1  # places in `endings`


@game("draughts", title="English draughts")
def draughts(patience: int = 40) -> Game:
    """Capture all pieces of the other side, or leave it without a move.

    Black begins, at the bottom. Men step diagonally forward, kings in all four diagonal directions. A piece jumps over
    an adjacent piece of the other side onto the empty cell behind it and captures it. Captures are compulsory, and a
    piece that can jump again must do so. A man that reaches the far row becomes a king, and the turn ends.

    `patience`: number of moves in a row without a capture after which the game is drawn.
    """
    table = []  # [move] -> from, to, the cell that is jumped over or -1; all jumps, then all steps
    for length in (2, 1):
        for cell in range(AREA):
            for down, right in ((-1, -1), (-1, 1), (1, -1), (1, 1)):
                row, column = cell // SIZE + length * down, cell % SIZE + length * right
                if (cell // SIZE + cell) % 2 and 0 <= row < SIZE and 0 <= column < SIZE:
                    over = cell + SIZE * down + right if length == 2 else -1
                    table.append((cell, SIZE * row + column, over))
    ways = np.array(table)
    jumps = sum(over >= 0 for _, _, over in table)

    state = np.dtype([("at", "i1", (AREA,)), ("seat", "i1"), ("jumper", "i1"), ("winner", "i1"), ("quiet", "i2")])

    def start(s):
        for cell in range(AREA):
            s.at[cell] = EMPTY
            if (cell // SIZE + cell) % 2 and not 24 <= cell < 40:
                s.at[cell] = MAN if cell >= 40 else MAN + 1
        s.seat = 0
        s.jumper = -1  # the cell of a piece that must jump again
        s.winner = -1
        s.quiet = 0

    def turn(s):
        return s.seat if s.winner < 0 else OVER

    def can(s, move):
        origin, target, over = ways[move]
        piece = s.at[origin]
        if piece == EMPTY or (piece - 1) % 2 != s.seat or s.at[target] != EMPTY:
            return False
        if piece <= MAN + 1 and (target < origin) != (s.seat == 0):  # men go forward
            return False
        return over < 0 or (s.at[over] != EMPTY and (s.at[over] - 1) % 2 != s.seat)

    def legal(s, moves):
        n = 0
        for move in range(jumps):
            if (s.jumper < 0 or s.jumper == ways[move, 0]) and can(s, move):
                moves[n] = move
                n += 1
        if n == 0:
            for move in range(jumps, len(ways)):
                if can(s, move):
                    moves[n] = move
                    n += 1
        return n

    def play(s, move):
        origin, target, over = ways[move]
        crowned = s.at[origin] <= MAN + 1 and target // SIZE == (0 if s.seat == 0 else SIZE - 1)
        s.at[target] = s.at[origin] + 2 if crowned else s.at[origin]
        s.at[origin] = EMPTY
        s.quiet += 1
        s.jumper = -1
        if over >= 0:
            s.at[over] = EMPTY
            s.quiet = 0
            if not crowned:
                for jump in range(jumps):
                    if ways[jump, 0] == target and can(s, jump):
                        s.jumper = target
                        return
        s.seat = 1 - s.seat
        for reply in range(len(ways)):
            if can(s, reply):
                if s.quiet >= patience:
                    s.winner = DRAW
                return
        s.winner = 1 - s.seat

    def score(s, scores):
        for seat in range(2):
            scores[seat] = 0.0 if s.winner < 0 or s.winner == DRAW else 1.0 if s.winner == seat else -1.0

    def cells(s, out):
        for cell in range(AREA):
            out[cell] = s.at[cell]

    def heuristic(s, scores):  # a king is worth one and a half men
        lead = 0.0
        for cell in range(AREA):
            if s.at[cell] != EMPTY:
                worth = 2.0 if s.at[cell] <= MAN + 1 else 3.0
                lead += worth if (s.at[cell] - 1) % 2 == 0 else -worth
        scores[0] = lead / (abs(lead) + 8.0)
        scores[1] = -scores[0]

    def planes(s, out):  # men and kings of the mover, those of the other, who moves, what must jump again, patience
        for plane in range(7):
            for cell in range(AREA):
                out[plane, cell] = 0.0
        for cell in range(AREA):
            if s.at[cell] != EMPTY:
                theirs, king = (s.at[cell] - 1) % 2 != s.seat, s.at[cell] > MAN + 1
                out[2 * theirs + king, cell] = 1.0
            out[4, cell] = s.seat
            out[6, cell] = s.quiet / patience
        if s.jumper >= 0:
            out[5, s.jumper] = 1.0

    def tally(s, counts):
        for seat in range(2):
            counts[0, seat] = 0.0
        for cell in range(AREA):
            if s.at[cell] != EMPTY:
                counts[0, (s.at[cell] - 1) % 2] += 1

    def ending(s):
        return QUIET if s.winner == DRAW else BLOCKED

    black, white = "#3a2a22", "#f4f1e8"
    return Game(
        state=state,
        board=boards.square(SIZE, theme="chess"),
        pieces=(
            Piece("."),
            Piece("b", owner=0, fill=black),
            Piece("w", owner=1, fill=white),
            Piece("B", owner=0, fill=black, glyph="♛", shape="disc"),
            Piece("W", owner=1, fill=white, glyph="♛", shape="disc"),
        ),
        seats=2,
        seat_names=("Black", "White"),
        num_moves=len(table),
        path=lambda move: table[move][:2],
        longest=25 * patience,  # at most 24 captures
        num_planes=7,
        keeps=(),
        swaps=("rotate180",),
        tallies=("pieces",),
        endings=("the other side cannot move", "too many moves without a capture"),
        rules=(start, turn, legal, play, score, cells, heuristic, planes, tally, ending),
    )
