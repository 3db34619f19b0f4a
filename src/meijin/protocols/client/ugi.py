"""Engines that speak USI (shogi) or UGI (any game); UCI engines that take the game as a variant speak the former."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import pairwise

from meijin.core.agent import Analysis, Limit, MoveInfo
from meijin.core.errors import BadParameter, IllegalMove
from meijin.core.game import Game
from meijin.core.moves import Move
from meijin.core.options import at_least
from meijin.core.state import State
from meijin.protocols.client.external import STARTUP, Due, External, ranked
from meijin.protocols.client.process import EngineError, Process
from meijin.protocols.scores import from_centipawns, valued

MOST = 20_000  # characters of a line of information that are read


def listed(options: str | tuple[str, ...]) -> tuple[str, ...]:
    """Options as NAME=VALUE; a single one may be given without parentheses."""
    found = (options,) if isinstance(options, str) else options
    if not isinstance(found, tuple | list) or any(not isinstance(each, str) or "=" not in each for each in found):
        raise BadParameter(f"options={options!r}: write NAME=VALUE, as in options=('Hash=64', 'Threads=1')")
    return tuple(found)


class Ugi(External):
    """An engine that speaks UGI, such as ugi("meijin engine connect_four --protocol ugi")."""

    measures = ("seconds", "nodes", "depth")
    word, setup = "ugi", "fen"
    ponders = True  # such engines keep what they found

    def __init__(
        self,
        command: str,
        options: str | tuple[str, ...] = (),
        seconds: float | None = None,
        nodes: int | None = None,
        depth: int | None = None,
        timeout: float = 60.0,
        memory_mb: int = 0,
    ):
        """`options`: what to set, as in options=("Hash=64", "Skill Level=5")."""
        super().__init__(command, timeout, memory_mb)
        self.options = listed(options)
        for name, value in (("nodes", nodes), ("depth", depth)):
            if value is not None:
                at_least(name, value, 1, whole=True)
        self.limit = Limit(seconds=seconds, nodes=nodes, depth=depth)

    def greet(self, process: Process, game: Game) -> None:
        process.send(self.word)
        process.until(lambda line: line.strip() == f"{self.word}ok", STARTUP, self.word)
        for option in self.options:
            name, _, value = option.partition("=")
            process.send(f"setoption name {name.strip()} value {value.strip()}")
        process.send("isready")
        process.until(lambda line: line.strip() == "readyok", self.timeout + STARTUP, "isready")
        process.send(f"{self.word}newgame")

    def ask(self, process: Process, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        where = "startpos" if self.is_start(state) else f"{self.setup} {self.begun(state).position}"
        moves = " ".join(move.name for move in state.history)
        process.send(f"position {where}" + (f" moves {moves}" if moves else ""))
        words = ["go"]
        if limit.seconds is not None:
            words += (
                ["infinite"] if limit.seconds == math.inf else ["movetime", str(max(1, round(1000 * limit.seconds)))]
            )
        for name in ("nodes", "depth"):
            if (value := getattr(limit, name)) is not None:
                words += [name, str(value)]
        process.send(" ".join(words if len(words) > 1 else ["go", "movetime", "1000"]))
        heard, due, said = _Heard(state), Due(every), ""
        for said in process.lines(self.patience(limit), "go", self.stopper(process, "stop")):
            if said.startswith("bestmove"):
                break
            heard.take(said)
            if heard.lines and due:
                yield heard.analysis()
        best = [*said.split(), ""][1]
        if best in ("resign", "win", "none", "(none)", "0000", ""):
            raise EngineError(f"engine {process.name} {'resigned' if best == 'resign' else f'has no move ({best})'}")
        yield heard.analysis(self.checked(state, best))


class Usi(Ugi):
    """An engine that speaks USI, such as usi("fairy-stockfish", variant="minishogi", nodes=10000)."""

    word, setup = "usi", "sfen"

    def __init__(
        self,
        command: str,
        variant: str | None = None,
        options: str | tuple[str, ...] = (),
        seconds: float | None = None,
        nodes: int | None = None,
        depth: int | None = None,
        timeout: float = 60.0,
        memory_mb: int = 0,
    ):
        """`variant`: the option UCI_Variant, of engines for many games. `options`: as in options=("Hash=64",)."""
        options = (*(() if variant is None else (f"UCI_Variant={variant}",)), *listed(options))
        super().__init__(command, options, seconds, nodes, depth, timeout, memory_mb)

    def unfit(self, game: Game) -> str | None:
        return None if game.name == "minishogi" else "USI is for minishogi"


class _Heard:
    """What `info` lines have said about a position."""

    def __init__(self, state: State):
        self.state = state
        self.lines: dict[int, MoveInfo] = {}  # multipv -> its line
        self.depth = self.nodes = 0
        self.seconds = 0.0

    def take(self, line: str) -> None:
        if not line.startswith("info ") or " string " in line:
            return
        words = line[:MOST].split()
        found = {a: b for a, b in pairwise(words) if re.fullmatch(r"\d{1,15}", b)}
        self.depth = max(self.depth, int(found.get("depth", 0)))
        self.nodes = max(self.nodes, int(found.get("nodes", 0)))
        self.seconds = int(found.get("time", 0)) / 1000
        score = re.search(r" score (cp|mate) ([+-]?\d{0,9})", line)
        pv = self._moves(words[words.index("pv") + 1 :]) if "pv" in words else ()
        if score is None or not pv:
            return
        value = None
        proven = False
        if self.state.game.seats == 2:
            if score[1] == "mate":
                value, proven = valued(self.state.game, -1.0 if score[2][:1] == "-" else 1.0, self.state.turn), True
            elif score[2].lstrip("+-"):
                value = valued(self.state.game, from_centipawns(int(score[2])), self.state.turn)
        self.lines[int(found.get("multipv", 1))] = MoveInfo(pv[0], value=value, proven=proven, pv=pv)

    def _moves(self, names: list[str]) -> tuple[Move, ...]:
        """The moves of a line, as far as they are legal."""
        state, moves = self.state.copy(), []
        for name in names:
            try:
                moves.append(state._resolve(name))
                state.play(moves[-1])
            except IllegalMove:
                break
        return tuple(moves)

    def analysis(self, best: Move | None = None) -> Analysis:
        """What is known; until the engine has answered, its first line is the best."""
        infos = tuple(self.lines[k] for k in sorted(self.lines))
        moves = ranked(self.state, infos[0].move if best is None else best, infos)
        return Analysis(
            self.state.turn, moves, moves[0].value, moves[0].proven,
            nodes=self.nodes, depth=self.depth, seconds=self.seconds,
        )  # fmt: skip
