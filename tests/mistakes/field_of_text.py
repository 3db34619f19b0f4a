"""A field holds a text."""

import numpy as np

from mistakes._games import row

SAYS = "`state` has fields that are not numbers: name"
REMEDY = "use integer, float or bool fields"


STATE = np.dtype([("word", "u8"), ("held", "i1", (3,)), ("ply", "i1"), ("name", "U5")])


def faulty():
    return row(state=STATE)
