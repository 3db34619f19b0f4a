"""`planes` writes the stones and forgets the empty cells."""

from mistakes._games import row

SAYS = "rule 'planes' leaves plane 0, cell 0 unwritten"
REMEDY = "write every entry, every time"


def planes(s, out):  # wrong
    for i in range(3):
        if s.held[i] > 0:
            out[s.held[i] - 1, i] = 1.0


def faulty():
    return row(planes=planes, num_planes=2)
