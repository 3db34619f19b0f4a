"""A field has a name that means something else to numpy."""

import numpy as np

from mistakes._games import row

SAYS = "`state` has fields that mean something else to numpy: size"
REMEDY = "rename them"


STATE = np.dtype([("word", "u8"), ("held", "i1", (3,)), ("ply", "i1"), ("size", "i1")])


def faulty():
    return row(state=STATE)
