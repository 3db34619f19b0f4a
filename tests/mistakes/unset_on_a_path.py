"""`turn` sets its result on one path only."""

from mistakes._games import row

SAYS = "rule 'turn' fails: cannot access local variable 'seat'"
REMEDY = "define it before it is used, on every path"


def turn(s):
    if s.ply < 3:
        seat = s.ply & 1
    return seat  # wrong


def faulty():
    return row(turn=turn)
