"""`owners` names a seat that does not exist."""

from mistakes._games import row

SAYS = "rule 'owners' writes 2 to cell"
REMEDY = "owners are the seats 0 to 1, and -1 for nobody"


def owners(s, owners):  # wrong
    for i in range(3):
        owners[i] = s.held[i]


def faulty():
    return row(owners=owners)
