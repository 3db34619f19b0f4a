import numpy as np

from meijin import OVER, Game, Piece, boards, game


@game("chomp")
def chomp(rows: int = 4, columns: int = 5) -> Game:
    """Eat a square and everything above and right of it. The last one, a1, is poisoned."""
    size = rows * columns
    poison = size - columns  # cells count from the top left, so this is a1
    state = np.dtype([("left", "i1", (size,)), ("ply", "i2")])

    def start(s):
        for cell in range(size):
            s.left[cell] = 1
        s.ply = 0

    def turn(s):
        return s.ply % 2 if s.left[poison] else OVER

    def legal(s, moves):
        n = 0
        for cell in range(size):
            if s.left[cell]:
                moves[n] = cell
                n += 1
        return n

    def play(s, move):
        for cell in range(size):
            if cell // columns <= move // columns and cell % columns >= move % columns:
                s.left[cell] = 0
        s.ply += 1

    def score(s, scores):  # who ate the poison lost
        for seat in range(2):
            scores[seat] = 0.0 if s.left[poison] else 1.0 if seat == s.ply % 2 else -1.0

    def cells(s, out):
        for cell in range(size):
            out[cell] = s.left[cell]

    return Game(
        state=state, seats=2, num_moves=size, longest=size, keeps=(),
        board=boards.square(rows, columns), pieces=(Piece("."), Piece("#", fill="#6b3f1d")),
        rules=(start, turn, legal, play, score, cells),
    )  # fmt: skip
