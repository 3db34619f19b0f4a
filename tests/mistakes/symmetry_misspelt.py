"""`keeps` names a symmetry that the board does not have."""

from mistakes._games import row

SAYS = "its board has no symmetry 'miror'"
REMEDY = "correct `keeps` and `swaps`; the board has identity, rotate180"


def faulty():
    return row(keeps=("miror",))
