"""Engines that speak GTP: GNU Go, KataGo, GRhino (Othello), MoHex."""

from __future__ import annotations

from meijin.core.agent import Analysis, Limit
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.state import State
from meijin.protocols.client.external import STARTUP, External, ranked
from meijin.protocols.client.process import EngineError, Process


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

    def ask(self, process: Process, state: State, limit: Limit) -> Analysis:
        if not self.is_start(state):
            raise BadParameter(f"{self.name}: GTP cannot set up a position; give the moves from the start")
        self._bring(process, state)
        if [move.name for move in state.legal_moves] == ["pass"]:  # some Othello engines know only the other moves
            return Analysis(state.turn, ranked(state, state.legal_moves[0]))
        colour = "bw"[state.turn]
        if limit.seconds is not None:
            if self._seconds != limit.seconds and "time_settings" in self._known:
                self._tell(process, f"time_settings 0 {max(1, round(limit.seconds))} 1", STARTUP)
                self._seconds = limit.seconds
            if "time_left" in self._known:
                self._tell(process, f"time_left {colour} {max(1, round(limit.seconds))} 1", STARTUP)
        said = self._tell(process, f"genmove {colour}", self.patience(limit), stop=True).lower()
        if said == "resign":
            raise EngineError(f"engine {process.name} resigned")
        move = self.checked(state, {"swap-pieces": "swap"}.get(said, said))
        self._sent.append(int(move))
        return Analysis(state.turn, ranked(state, move))

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
