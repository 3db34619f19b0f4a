"""`path` looks a move up that is not there."""

from mistakes._games import row

SAYS = "`path` fails for move 2: KeyError: 2"
REMEDY = "it is called with every move from 0 to num_moves-1"


def path(move):
    return {0: (0,), 1: (1,)}[move]  # wrong


def faulty():
    return row(path=path)
