"""Engines that speak CECP, the protocol of XBoard, for minishogi: sjaakii, Fairy-Stockfish, Shokidoki."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import suppress

from meijin.core.agent import Analysis, Limit, MoveInfo
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.moves import Move
from meijin.core.options import at_least
from meijin.core.state import State
from meijin.protocols.client.external import STARTUP, Due, External, ranked
from meijin.protocols.client.process import EngineError, Process
from meijin.protocols.notation import fen, usi_move, xboard_move
from meijin.protocols.scores import from_centipawns, valued

LONG = 86_400  # seconds, where there is no limit
OLD = 2.0  # seconds after which an engine without "feature done" counts as ready, by the protocol

#: Depth, score, time, nodes, sometimes more numbers, and the line.
_POST = re.compile(r"\s*(\d{1,4})[.+]?\s+([+-]?\d{1,9})\s+(\d{1,12})\s+(\d{1,15})(?:\s+\d{1,15}){0,4}\s+(.*)")


class Cecp(External):
    """An engine that speaks XBoard's protocol, such as cecp("sjaakii", seconds=1)."""

    measures = ("seconds", "depth")

    def __init__(
        self,
        command: str,
        variant: str = "minishogi",
        seconds: float | None = None,
        depth: int | None = None,
        timeout: float = 60.0,
        memory_mb: int = 0,
    ):
        super().__init__(command, timeout, memory_mb)
        if depth is not None:
            at_least("depth", depth, 1, whole=True)
        self.variant = variant
        self.limit = Limit(seconds=1.0 if seconds is None and depth is None else seconds, depth=depth)
        self._features: dict[str, str] = {}
        self._sent: tuple[bytes, list[int]] | None = None  # where the engine's game begins, and its moves

    def unfit(self, game: Game) -> str | None:
        return None if game.name == "minishogi" else "CECP is for minishogi here"

    def greet(self, process: Process, game: Game) -> None:
        self._features, self._sent = {}, None
        process.send("xboard", "protover 2")
        deadline = time.monotonic() + OLD
        while (line := process.line(deadline)) is not None or self._features.get("done") == "0":
            if line is None:
                deadline = time.monotonic() + STARTUP
                self._features["done"] = ""
                continue
            for name, quoted, plain in re.findall(r'(\w+)=(?:"([^"]*)"|(\S+))', line) if "feature " in line else ():
                self._features[name] = quoted or plain
                process.send(f"accepted {name}")
            if self._features.get("done") == "1":
                break
        known = self._features.get("variants", "")
        if known and self.variant not in known.replace(" ", "").split(","):
            raise self.failed(f"does not know the variant '{self.variant}'")
        process.send("easy", "post")

    def ask(self, process: Process, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        self._bring(process, state)
        if limit.seconds is not None:
            process.send(f"st {max(1, round(min(limit.seconds, LONG)))}")
        if limit.depth is not None:
            process.send(f"sd {limit.depth}")
        post: re.Match[str] | None = None
        due, said = Due(every), ""
        process.send("go")
        for said in process.lines(self.patience(limit), "go", self.stopper(process, "?")):
            if said.startswith("Illegal move"):
                raise self.failed(f"answered '{said[:80]}'")
            if said.startswith(("move ", "resign", "1-0", "0-1", "1/2")):
                break
            post = _POST.match(said) or post
            if post is not None and due and (line := _line(state, post[5])):
                yield _analysis(state, line[0], post)
        if not said.startswith("move "):
            raise EngineError(f"engine {process.name} ended the game: {said[:60]}")
        process.send("force")
        try:
            name = usi_move(said.removeprefix("move ").strip())
        except BadParameter:
            raise self.failed(f"answered '{said[:40]}', which is not a move") from None
        move = self.checked(state, name)
        assert self._sent is not None
        self._sent[1].append(int(move))
        yield _analysis(state, move, post)

    def _bring(self, process: Process, state: State) -> None:
        """Bring the engine to the position, in force mode."""
        moves = [int(move) for move in state.history]
        if self._sent is None or self._sent[0] != state.origin or self._sent[1] != moves[: len(self._sent[1])]:
            process.send("new", f"variant {self.variant}", "force")
            if not self.is_start(state):
                process.send(f"setboard {fen(self.begun(state).position)}")
            self._sent = state.origin, []
        word = "usermove " if self._features.get("usermove") == "1" else ""
        for move in state.history[len(self._sent[1]) :]:
            process.send(word + xboard_move(move.name))
            self._sent[1].append(int(move))
        if self._features.get("ping") == "1":
            number = str(len(moves) + 1)
            process.send(f"ping {number}")
            process.until(lambda line: self._pong(line, number), STARTUP, "ping")

    def _pong(self, line: str, number: str) -> bool:
        if line.startswith("Illegal move"):
            raise self.failed(f"refuses a move that is legal: {line[:60]}")
        return line.split() == ["pong", number]


def _analysis(state: State, move: Move, post: re.Match[str] | None) -> Analysis:
    """The move, and what the engine's latest line about its thinking says."""
    if post is None:
        return Analysis(state.turn, ranked(state, move))
    depth, score, _, nodes, text = post.groups()
    value = valued(state.game, from_centipawns(int(score)), state.turn)
    line = _line(state, text)
    moves = ranked(state, move, (MoveInfo(move, value=value, pv=line if line[:1] == (move,) else (move,)),))
    return Analysis(state.turn, moves, value, nodes=int(nodes), depth=int(depth))


def _line(state: State, text: str) -> tuple[Move, ...]:
    """The moves that begin a line, as far as they are written in coordinates and legal."""
    moves: list[Move] = []
    state = state.copy()
    for word in text.split():
        with suppress(Exception):
            moves.append(state._resolve(usi_move(word)))
            state.play(moves[-1])
            continue
        break
    return tuple(moves)
