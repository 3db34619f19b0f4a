"""`meijin engine`: an agent as an engine of another program's board."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from meijin.cli import common
from meijin.cli.advisor import SEARCH, strongest
from meijin.core.catalogue import make


def engine(
    name: str,
    protocol: str | None,
    agent: str | None,
    seconds: float | None,
    simulations: int | None,
    load: Sequence[Path],
) -> None:
    from meijin.protocols.engine import serve

    common.prepare(load)
    game = make(name)
    stand_in = None
    if agent is None:
        stand_in = SEARCH
        with strongest(game) as best:
            agent = best.name
    serve(game, agent, protocol, common.limit(seconds, simulations), stand_in)
