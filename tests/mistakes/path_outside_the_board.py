"""`path` numbers the cells from 1."""

from mistakes._games import row

SAYS = "`path` of move 2 is (3,), on a board of 3 cells"
REMEDY = "cells are 0 to 2"


def faulty():
    return row(path=lambda move: (move + 1,))  # wrong
