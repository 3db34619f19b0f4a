"""Engines that speak GTP: GNU Go, KataGo, GRhino (Othello), MoHex."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise

from meijin.core.agent import Analysis, Limit, MoveInfo
from meijin.core.errors import BadParameter, IllegalMove
from meijin.core.game import Game
from meijin.core.moves import Move
from meijin.core.state import State
from meijin.protocols.client.external import STARTUP, Due, External, ranked
from meijin.protocols.client.process import EngineError, Process
from meijin.protocols.scores import valued

MOST = 200_000  # characters of a line of analysis


class Gtp(External):
    """An engine that speaks GTP, such as gtp("gnugo --mode gtp --level 10"). Black is the first seat.

    The engine must have the rules of the game: for GNU Go add "--chinese-rules --positional-superko".
    """

    measures = ("seconds",)

    def __init__(self, command: str, seconds: float | None = None, timeout: float = 60.0, memory_mb: int = 0):
        super().__init__(command, timeout, memory_mb)
        self.limit = Limit(seconds=seconds)
        self._known: set[str] = set()
        self._sent: list[int] = []  # the moves that the engine has
        self._seconds: float | None = None

    def unfit(self, game: Game) -> str | None:
        if game.seats != 2 or game.chance:
            return "GTP is for two players without chance"
        return None

    def greet(self, process: Process, game: Game) -> None:
        self._sent, self._seconds = [], None
        self._known = set(self._tell(process, "list_commands", STARTUP).split())
        if "set_game" in self._known and game.name != "go":
            self._tell(process, f"set_game {game.title}", STARTUP)
        if "size" in game.params:
            self._tell(process, f"boardsize {game.params['size']}", STARTUP)
        if "komi" in game.params:
            self._tell(process, f"komi {game.params['komi']:g}", STARTUP)
        self._tell(process, "clear_board", STARTUP)
        if game.params.get("handicap"):
            self._tell(process, f"fixed_handicap {game.params['handicap']}", STARTUP)

    def ask(self, process: Process, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        if not self.is_start(state):
            raise BadParameter(f"{self.name}: GTP cannot set up a position; give the moves from the start")
        self._bring(process, state)
        if [move.name for move in state.legal_moves] == ["pass"]:  # some Othello engines know only the other moves
            yield Analysis(state.turn, ranked(state, state.legal_moves[0]))
            return
        colour = "bw"[state.turn]
        endless = limit.seconds == math.inf
        if limit.seconds is not None and not endless:
            if self._seconds != limit.seconds and "time_settings" in self._known:
                self._tell(process, f"time_settings 0 {max(1, round(limit.seconds))} 1", STARTUP)
                self._seconds = limit.seconds
            if "time_left" in self._known:
                self._tell(process, f"time_left {colour} {max(1, round(limit.seconds))} 1", STARTUP)
        word = "analyze" if endless else "genmove_analyze"
        for kind in ("kata", "lz"):
            if f"{kind}-{word}" in self._known:
                yield from self._watch(process, state, f"{kind}-{word} {colour}", limit, every)
                return
        said = self._tell(process, f"genmove {colour}", self.patience(limit), stop=True)
        yield Analysis(state.turn, ranked(state, self._moved(process, state, said)))

    def _moved(self, process: Process, state: State, said: str) -> Move:
        """The move that the engine has chosen, and made on its own board."""
        if said.lower() == "resign":
            raise EngineError(f"engine {process.name} resigned")
        move = self.checked(state, _name(said))
        self._sent.append(int(move))
        return move

    def _watch(self, process: Process, state: State, command: str, limit: Limit, every: float) -> Iterator[Analysis]:
        """Lines of analysis, then the move; an endless analysis ends without a move, at any line it is sent."""
        endless = "-analyze" in command
        patience = self.patience(limit)
        process.send(f"{command} {max(1, round(100 * min(every, 1.0)))}")
        first = process.until(lambda line: line[:1] in ("=", "?"), patience, command, self.stopper(process, None))
        if first.startswith("?"):
            raise self.failed(f"refused '{command}': {first[1:].strip() or 'no reason'}")
        due, found, said = Due(every), None, ""
        for line in process.lines(patience, command, self.stopper(process, "" if endless else None)):
            if not line.strip():
                break
            if line.startswith("play "):
                said = line.removeprefix("play ").strip()
            elif infos := _infos(state, line):
                visits = sum(info.visits or 0 for info in infos)
                found = Analysis(state.turn, ranked(state, infos[0].move, infos), infos[0].value, simulations=visits)
                if due:
                    yield found
        if said:
            move = self._moved(process, state, said)
            infos = found.moves if found is not None else ()
            best = next((info for info in infos if info.move == move), None)
            value = best.value if best is not None else None
            visits = found.simulations if found is not None else 0
            yield Analysis(state.turn, ranked(state, move, infos), value, simulations=visits)
        elif endless and found is not None:
            yield found
        else:
            raise self.failed(f"gave no {'analysis' if endless else 'move'} to {command}")

    def _bring(self, process: Process, state: State) -> None:
        """Bring the engine to the position, by as few commands as possible."""
        moves = [int(move) for move in state.history]
        if self._sent != moves[: len(self._sent)]:
            self._tell(process, "clear_board", STARTUP)
            if state.game.params.get("handicap"):
                self._tell(process, f"fixed_handicap {state.game.params['handicap']}", STARTUP)
            self._sent = []
        replay = State(state.game)
        for k, move in enumerate(state.history):
            if k >= len(self._sent):
                name = "swap-pieces" if move.name == "swap" else move.name
                forced = len(replay.legal_moves) == 1 and name == "pass"
                self._tell(process, f"play {'bw'[replay.turn]} {name}", STARTUP, refusable=forced)
                self._sent.append(int(move))
            replay.play(move)

    def _tell(self, process: Process, command: str, seconds: float, stop: bool = False, refusable: bool = False) -> str:
        """The text of the engine's answer, which ends with an empty line."""
        process.send(command)
        poll = self.stopper(process, None) if stop else None
        first = process.until(lambda line: line[:1] in ("=", "?"), seconds, command, poll)
        answer = [first.lstrip("=?0123456789").strip()]

        def ends(line: str) -> bool:
            answer.append(line)
            return not line.strip()

        process.until(ends, seconds, command)
        text = "\n".join(line for line in answer if line).strip()
        if first.startswith("?") and not refusable:
            raise self.failed(f"refused '{command}': {text or 'no reason'}")
        return text


def _name(text: str) -> str:
    """Our name of a move."""
    return {"swap-pieces": "swap"}.get(text.lower(), text.lower())


def _infos(state: State, line: str) -> tuple[MoveInfo, ...]:
    """What a line `info move D4 visits 10 winrate 0.5 ... pv D4 C3 info move ...` says, best first."""
    found = []
    for part in re.split(r"(?:^|\s)info(?=\s)", line[:MOST])[1:]:
        words = part.split()
        said = dict(pairwise(words))
        try:
            move = state._resolve(_name(said["move"]))
        except (KeyError, IllegalMove):
            continue
        pv: list[Move] = []
        replay = state.copy()
        with suppress(IllegalMove):
            for word in words[words.index("pv") + 1 :] if "pv" in words else ():
                pv.append(replay._resolve(_name(word)))
                replay.play(pv[-1])
        visits, rate = said.get("visits", ""), said.get("winrate", "")
        value = None
        if re.fullmatch(r"\d{1,6}(?:\.\d{1,12})?(?:e-\d{1,3})?", rate):
            chance = float(rate) if "." in rate or "e" in rate else float(rate) / 10_000  # Leela Zero's whole numbers
            value = valued(state.game, 2 * min(1.0, chance) - 1, state.turn)
        found.append(
            MoveInfo(move, int(visits) if re.fullmatch(r"\d{1,12}", visits) else None, value=value, pv=tuple(pv))
        )
    return tuple(found)
