"""My game: a race with a die.

Try it:   meijin check --load my_game.py
          meijin play my_game --load my_game.py
"""

from typing import Annotated

import numpy as np

from meijin import CHANCE, OVER, Game, Piece, Range, boards, game

STONES = 3  # of each seat


@game("my_game", title="My game")
def my_game(length: Annotated[int, Range(7, 15)] = 9, faces: Annotated[int, Range(2, 6)] = 3) -> Game:
    """Throw the die and move one of your stones that far; the first stone to reach the far end wins.

    X runs to the right and O to the left. A stone may not stop on one of its own colour; a stone of the other colour
    there is taken. Whoever takes them all wins too. Moves are the cells of the stones that move.

    `length`: cells of the track.
    `faces`: the die shows 1 to this number.
    """
    state = np.dtype(
        [
            ("stones", "i1", (length,)),  # 0 empty, 1 and 2 for the stones of seats 0 and 1
            ("seat", "i1"),  # whose throw or move it is
            ("die", "i1"),  # 0: to be thrown
            ("winner", "i1"),  # or -1
        ]
    )

    def start(s):
        for cell in range(length):
            s.stones[cell] = 1 if cell < STONES else 2 if cell >= length - STONES else 0
        s.seat = 0
        s.die = 0
        s.winner = -1

    def turn(s):
        if s.winner >= 0:
            return OVER
        return CHANCE if s.die == 0 else s.seat

    def odds(s, moves, probs):  # when chance moves: the outcomes in ascending order and their probabilities
        for face in range(faces):
            moves[face] = face
            probs[face] = 1.0 / faces
        return faces

    def target(s, cell):  # where a stone there would go; the far end is far enough
        if s.seat == 0:
            return min(cell + s.die, length - 1)
        return max(cell - s.die, 0)

    def legal(s, moves):  # the stone in front can always move, so there is always a move
        n = 0
        for cell in range(length):
            if s.stones[cell] == s.seat + 1 and s.stones[target(s, cell)] != s.seat + 1:
                moves[n] = cell
                n += 1
        return n

    def play(s, move):  # the outcomes of chance are played like moves
        if s.die == 0:
            s.die = move + 1
            return
        to = target(s, move)
        s.stones[move] = 0
        s.stones[to] = s.seat + 1
        others = 0
        for cell in range(length):
            if s.stones[cell] == 2 - s.seat:
                others += 1
        if others == 0 or to == (0 if s.seat == 1 else length - 1):
            s.winner = s.seat
        s.seat = 1 - s.seat
        s.die = 0

    def score(s, scores):
        scores[0] = 0.0
        scores[1] = 0.0
        if s.winner >= 0:
            scores[s.winner] = 1.0
            scores[1 - s.winner] = -1.0

    def cells(s, out):  # the track, and then the die
        for cell in range(length):
            out[cell] = s.stones[cell]
        out[length] = 2 + s.die if s.die > 0 else 0

    dice = [Piece(str(face), label=True, shape="die") for face in range(1, faces + 1)]
    return Game(
        state=state,
        board=boards.square(1, length).with_trays({0: ("die",)}),  # the die lies beside the track
        pieces=(Piece("."), Piece("X", owner=0, fill="#c8342c"), Piece("O", owner=1, fill="#2c5ea6"), *dice),
        seats=2,
        num_moves=length,  # move i takes the stone on cell i
        num_outcomes=faces,
        outcome_path=lambda outcome: (str(outcome + 1),),  # a word, which is its name too
        longest=4 * STONES * length,  # a throw and a move each, and every move goes ahead
        keeps=(),  # the two seats run different ways, so the board cannot be turned
        rules=(start, turn, odds, legal, play, score, cells),
    )
