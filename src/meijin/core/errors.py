"""Errors meant for users: each names the thing, the value and the remedy.

The command line prints the message of a `MeijinError` alone, without a traceback; any other exception is a
bug in Meijin or in a user's own code and keeps its traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class MeijinError(Exception):
    """Base of every error whose message is written for the person who caused it."""


class UnknownName(MeijinError):
    """A game, agent, cell, symmetry or other named thing that does not exist."""


class IllegalMove(MeijinError, ValueError):
    """A move that the rules do not allow in the position it was made in."""


class RuleError(MeijinError):
    """A game that breaks the contract of games."""


class BadParameter(MeijinError, ValueError):
    """An argument that a game, agent or board cannot work with."""


class NoDevice(MeijinError):
    """Work that needs a GPU, on a machine where none can be used."""


def suggest(word: str, candidates: Iterable[str]) -> str:
    """Return "; did you mean 'mcts'?" for the candidate closest to `word`, or "" when none is close."""
    # Compared without case, so that "MCTS" finds "mcts"; the first spelling of a name is the one shown.
    spellings: dict[str, str] = {}
    for candidate in candidates:
        spellings.setdefault(candidate.lower(), candidate)
    close = difflib.get_close_matches(word.lower(), spellings, n=1)
    return f"; did you mean '{spellings[close[0]]}'?" if close else ""
