"""Othello engines that speak NBoard's protocol: NTest, Edax."""

from __future__ import annotations

import re
from collections.abc import Iterator

from meijin.core.agent import Analysis, Limit, MoveInfo
from meijin.core.game import Game
from meijin.core.options import at_least
from meijin.core.state import State
from meijin.protocols.client.external import STARTUP, External, ranked
from meijin.protocols.client.process import Process
from meijin.protocols.ggf import write_ggf
from meijin.protocols.scores import valued


class NBoard(External):
    """An Othello engine that speaks NBoard's protocol, such as nboard("edax -nboard", depth=10)."""

    measures = ("depth",)

    def __init__(self, command: str, depth: int | None = None, timeout: float = 60.0, memory_mb: int = 0):
        super().__init__(command, timeout, memory_mb)
        if depth is not None:
            at_least("depth", depth, 1, whole=True)
        self.limit = Limit(depth=depth)

    def unfit(self, game: Game) -> str | None:
        return None if game.name == "othello" and game.params["size"] == 8 else "NBoard's protocol is for othello"

    def greet(self, process: Process, game: Game) -> None:
        process.send("nboard 2", "ping 1")
        process.until(lambda line: line.split() == ["pong", "1"], STARTUP, "ping")

    def ask(self, process: Process, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        if limit.depth is not None:
            process.send(f"set depth {limit.depth}")
        process.send(f"set game {write_ggf(state)}", "ping 2")
        process.until(lambda line: line.split() == ["pong", "2"], STARTUP, "ping")
        process.send("go")
        said = process.until(
            lambda line: line.startswith("==="), self.patience(limit), "go", self.stopper(process, None)
        )
        found = re.match(r"===\s*([A-Za-z][A-Za-z0-9]*)(?:/\s*([+-]?\d+(?:\.\d+)?))?", said)
        name = found[1].lower() if found else said[:40]
        move = self.checked(state, "pass" if name in ("pa", "pass") else name)
        value = None
        if found and found[2]:
            value = valued(state.game, max(-1.0, min(1.0, float(found[2]) / 64)), state.turn)
        yield Analysis(state.turn, ranked(state, move, (MoveInfo(move, value=value),)), value)
