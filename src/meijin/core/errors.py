"""Errors meant for users: each names the thing, the value and the remedy.

The command line prints the message of a `MeijinError` alone, without a traceback; any other exception is a
bug in Meijin or in a user's own code and keeps its traceback.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

#: What a terminal cannot show or would obey: control characters, and halves of characters that UTF-8 does not have.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class MeijinError(Exception):
    """Base of every error whose message is written for the person who caused it. It can always be printed."""

    def __str__(self) -> str:
        return _UNPRINTABLE.sub(lambda found: repr(found[0])[1:-1], super().__str__())


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
