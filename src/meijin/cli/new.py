"""`meijin new`: the file a new game starts from."""

from __future__ import annotations

import keyword
from pathlib import Path

from rich.text import Text

from meijin.cli.console import out
from meijin.core.catalogue import games
from meijin.core.errors import BadParameter, MeijinError

TEMPLATE = '''"""@TITLE@: a small complete game to start your own from. Whoever makes three in a row loses.

Try it:   meijin check --load @NAME@.py
          meijin play @NAME@ --load @NAME@.py
"""

import numpy as np

from meijin import OVER, Game, Piece, boards, game
from meijin.core.game import check_sizes


@game("@NAME@", title="@TITLE@")
def @NAME@(size: int = 4) -> Game:
    """Place stones in turn; whoever makes three in a row loses. Moves are cells, a1 at the bottom left."""
    check_sizes(size=(size, 3, 9))
    board = boards.square(size)  # cells 0, 1, ... row by row from the top left

    # Tables that the rules read. Every run of three cells: [line, 3] -> cell
    steps = ((0, 1), (1, 0), (1, 1), (1, -1))
    inside = range(size)
    runs = [[(r + k * dr, c + k * dc) for k in range(3)] for r in inside for c in inside for dr, dc in steps]
    lines = np.array(
        [[r * size + c for r, c in run] for run in runs if all(r in inside and c in inside for r, c in run)]
    )

    # A position is one record of fixed size. The rules below read and write it in place, and as they are compiled
    # they use only numbers, loops, these fields and constant tables.
    state = np.dtype([("stones", "i1", (size * size,)), ("ply", "i2"), ("loser", "i1")])

    def start(s):  # set every field: the record may hold an old game
        for cell in range(size * size):
            s.stones[cell] = 0
        s.ply = 0
        s.loser = -1

    def turn(s):  # the seat to move, counted from 0, or OVER
        if s.loser >= 0 or s.ply == size * size:
            return OVER
        return s.ply % 2

    def legal(s, moves):  # write the legal moves in ascending order and return how many there are
        n = 0
        for cell in range(size * size):
            if s.stones[cell] == 0:
                moves[n] = cell
                n += 1
        return n

    def play(s, move):  # only ever called with a legal move
        seat = s.ply % 2
        s.stones[move] = seat + 1
        s.ply += 1
        for line in lines:
            if s.stones[line[0]] == seat + 1 and s.stones[line[1]] == seat + 1 and s.stones[line[2]] == seat + 1:
                s.loser = seat

    def score(s, scores):  # one score a seat: 1 for a win, 0 for a draw or a game that goes on, -1 for a loss
        scores[0] = 0.0
        scores[1] = 0.0
        if s.loser >= 0:
            scores[s.loser] = -1.0
            scores[1 - s.loser] = 1.0

    def cells(s, out):  # what lies on each cell, as an index into `pieces`
        for cell in range(size * size):
            out[cell] = s.stones[cell]

    return Game(
        state=state,
        board=board,
        pieces=(Piece("."), Piece("X", owner=0, fill="#c8342c"), Piece("O", owner=1, fill="#2c5ea6")),
        seats=2,
        num_moves=size * size,  # move i puts a stone on cell i; other moves are described with `path`
        longest=size * size,  # no game lasts more plies
        rules=(start, turn, legal, play, score, cells),
    )
'''


def new(name: str, force: bool) -> None:
    if not name.isidentifier() or not name.isascii() or keyword.iskeyword(name):
        raise BadParameter(f"'{name}' cannot name a game; use letters, digits and '_', as in my_game")
    if name in games.names():
        raise BadParameter(f"there is a game named '{name}' already; choose another name")
    path = Path(f"{name}.py")
    title = name.replace("_", " ").strip().capitalize() or name
    try:
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(TEMPLATE.replace("@NAME@", name).replace("@TITLE@", title))
    except FileExistsError:
        raise MeijinError(f"{path} exists; choose another name, or overwrite it with --force") from None
    except OSError as error:
        raise MeijinError(f"cannot write {path}: {error.strerror}") from error
    console = out()
    console.print(Text.assemble("wrote ", (str(path), "bold"), ", a small complete game. Now try:\n"))
    commands = (
        (f"meijin check --load {path}", "does it keep the laws of games?"),
        (f"meijin play {name} --load {path}", "play it"),
        (f"meijin match {name} mcts random --load {path}", "let agents play it"),
    )
    width = max(len(command) for command, _ in commands)
    for command, meaning in commands:
        console.print(Text.assemble("  ", (f"{command:<{width}}", "cyan"), (f"   {meaning}", "dim")))
    console.print(Text("\nThen edit the rules and check again.", "dim"))
