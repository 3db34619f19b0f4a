"""`turn` misspells a constant."""

from mistakes._games import row

SAYS = "rule 'turn' fails: name 'OVR' is not defined"
REMEDY = "correct its spelling"


def turn(s):
    return s.ply & 1 if s.ply < 3 else OVR  # noqa: F821  # wrong


def faulty():
    return row(turn=turn)
