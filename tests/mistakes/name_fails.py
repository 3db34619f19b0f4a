"""`outcome_name` has no name for the last outcome."""

from mistakes._games import dice

SAYS = "`outcome_name` fails for outcome 1: IndexError"
REMEDY = "it is called with every outcome from 0 to num_outcomes-1"


def outcome_name(outcome):
    return ("left",)[outcome]  # wrong


def faulty():
    return dice(outcome_name=outcome_name)
