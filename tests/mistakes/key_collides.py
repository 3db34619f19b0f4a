"""`key` is made of too little."""

import numpy as np

from mistakes._games import row

SAYS = "rule 'key' gives 1 for two positions that differ in `legal`"
REMEDY = "make the key of all that matters"


def key(s):  # wrong
    return np.uint64(s.ply)


def faulty():
    return row(key=key)
