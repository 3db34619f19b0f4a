"""Sessions over standard input and output."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO

from meijin.core.agent import Limit
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, suggest
from meijin.core.game import Game
from meijin.protocols.engine.cecp import Cecp
from meijin.protocols.engine.gtp import Gtp
from meijin.protocols.engine.nboard import NBoard
from meijin.protocols.engine.session import LONGEST, Say, Session
from meijin.protocols.engine.ugi import Ugi, Usi

PROTOCOLS: dict[str, type[Session]] = {"gtp": Gtp, "usi": Usi, "ugi": Ugi, "cecp": Cecp, "nboard": NBoard}
ALIASES = {"xboard": "cecp", "winboard": "cecp"}


def protocol_for(game: Game) -> str:
    """The protocol that boards of this game usually speak."""
    usual = {"minishogi": "usi", "go": "gtp", "othello": "gtp", "hex": "gtp", "gomoku": "gtp"}
    return usual.get(game.name, "ugi")


def open_session(
    game: str | Game,
    agent: str,
    protocol: str | None,
    say: Say,
    limit: Limit = Limit(),  # noqa: B008 - frozen
) -> Session:
    made = make(game) if isinstance(game, str) else game
    name = ALIASES.get(protocol or "", protocol) or protocol_for(made)
    if name not in PROTOCOLS:
        raise BadParameter(f"unknown protocol '{name}'{suggest(name, PROTOCOLS)}; known: {', '.join(PROTOCOLS)}")
    return PROTOCOLS[name](made, agent, say, limit)


def serve(
    game: str | Game,
    agent: str,
    protocol: str | None = None,
    limit: Limit = Limit(),  # noqa: B008
    stand_in: str | None = None,
) -> None:
    """Talk over standard input and output until "quit" or the end of the input. `stand_in`: see `Session`.

    What games, agents and libraries print goes to standard error, so that the conversation stays clean.
    """
    sys.stdout.flush()
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    session = open_session(game, agent, protocol, writer(answers), limit)
    session.stand_in = stand_in
    converse(session, sys.stdin.buffer)


def writer(file: BinaryIO) -> Say:
    """Lines to a file, each at once and whole. A reader that has gone away is no error: the input will end, too."""
    lock = threading.Lock()

    def say(text: str) -> None:
        with lock, suppress(BrokenPipeError, ValueError):
            file.write(text.encode("utf-8", "replace") + b"\n")
            file.flush()

    return say


def converse(session: Session, file: BinaryIO) -> None:
    try:
        for line in lines(file):
            try:
                if not session.handle(line):
                    break
            except Exception as error:  # a mistake in a game or an agent must not cost the board its engine
                print(f"meijin: {line[:80]!r} failed: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
    finally:
        session.close()


def lines(file: BinaryIO) -> Iterator[str]:
    """The lines of a file without their ends, each cut at `LONGEST`; control characters are spaces."""
    cut = False
    while piece := file.readline(LONGEST):
        whole = piece.endswith(b"\n")
        if not cut:
            text = piece.decode("utf-8", "replace")
            yield "".join(c if c.isprintable() else " " for c in text.replace("\t", " ").strip("\r\n")).strip()
        cut = not whole
