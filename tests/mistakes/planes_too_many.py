"""`planes` writes more planes than declared."""

from mistakes._games import row

SAYS = "rule 'planes' fails: index 1 is out of bounds"
REMEDY = "num_planes=1"


def planes(s, out):
    for i in range(3):
        for k in range(2):
            out[k, i] = 1.0 if s.held[i] == k + 1 else 0.0  # wrong


def faulty():
    return row(planes=planes, num_planes=1)
