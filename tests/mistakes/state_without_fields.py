"""`state` is a plain type."""

from mistakes._games import row

SAYS = "state must be a record"
REMEDY = "a dtype with named fields"


def faulty():
    return row(state="i8")
