"""`keeps` is a text: a comma is missing."""

from mistakes._games import row

SAYS = "keeps"
REMEDY = "keeps=('mirror',)"


def faulty():
    return row(keeps=("mirror"))
