"""USI, the protocol of shogi boards, and UGI, its likeness for any game.

USI describes minishogi by SFEN; UGI describes other games by the text of `State.position` (`position fen ...`), calls
the players p1 and p2, and can be asked for the rules' view of the position with `query`. In games with chance, the
outcomes are among the moves of a position.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from itertools import pairwise

from meijin import __version__
from meijin.core.agent import Analysis, Clock, Limit
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import Game
from meijin.core.state import State
from meijin.protocols.engine.session import Say, Session, shortened
from meijin.protocols.scores import centipawns, standing

OVERHEAD = 0.1  # seconds of byoyomi that are not for thinking
NAMES = ("agent", "multipv", "usi_ponder", "usi_hash", "uci_variant")


class Ugi(Session):
    word = "ugi"
    clocks = (("p1time", "p2time"), ("p1inc", "p2inc"))
    setup = "fen"
    nothing = "none"  # the best move where there is none

    def __init__(self, game: Game, agent: str, say: Say, limit: Limit = Limit()):  # noqa: B008 - frozen
        super().__init__(game, agent, say, limit)
        self.lines = 1  # MultiPV
        self._pondered: Limit | None = None  # the limit that holds after "ponderhit"
        self._kept: Analysis | None = None  # a thought that ended before it was asked to

    def handle(self, line: str) -> bool:
        word, _, rest = line.partition(" ")
        try:
            return self._answer(word, rest.strip())
        except MeijinError as error:
            self._complain(str(error))
        return True

    def _answer(self, word: str, rest: str) -> bool:
        simple: dict[str, Callable[[], None]] = {
            self.word: self._introduce,
            f"{self.word}newgame": self._new_game,
            "isready": self._ready,
            "stop": self._stop,
            "ponderhit": self._ponder_hit,
            "gameover": self.halt,
            "quit": self.halt,
        }
        with_rest: dict[str, Callable[[str], None]] = {
            "position": self._position,
            "go": self._go,
            "setoption": self._set_option,
            "query": self._query,
        }
        if word in simple:
            simple[word]()
        elif word in with_rest:
            with_rest[word](rest)
        elif word:
            self._complain(f"unknown command: {shortened(word)}")
        return word != "quit"

    def _complain(self, problem: str) -> None:
        self.say("info string error: " + " ".join(shortened(problem).split()))

    # ---- commands ----

    def _introduce(self) -> None:
        self.say(f"id name Meijin {__version__} ({self.game}, {self.agent.name})")
        self.say("id author The Meijin authors")
        self.say(f"option name Agent type string default {self.agent.name}")
        self.say("option name MultiPV type spin default 1 min 1 max 50")
        if self.word == "usi":
            self.say("option name USI_Ponder type check default false")
            self.say("option name USI_Hash type spin default 64 min 1 max 65536")
            self.say(f"option name UCI_Variant type combo default {self.game.name} var {self.game.name}")
        self.say(f"{self.word}ok")

    def _ready(self) -> None:
        if not self.thinking:
            self.warm_up()
        self.say("readyok")

    def _new_game(self) -> None:
        self.halt()
        self.state = State(self.game)

    def _set_option(self, rest: str) -> None:
        found = re.fullmatch(r"name\s+(.*?)(?:\s+value(?:\s+(.*))?)?", rest)
        if found is None:
            raise BadParameter("write setoption name NAME value VALUE")
        name, value = found[1].lower().replace(" ", "_"), (found[2] or "").strip()
        if name not in NAMES:
            raise BadParameter(f"no option '{shortened(found[1])}'")
        self.halt()
        if name == "agent":
            self.change_agent(value)
        elif name == "multipv":
            if not re.fullmatch(r"[1-9]\d?", value):
                raise BadParameter(f"MultiPV '{shortened(value)}': give a number from 1 to 50")
            self.lines = min(50, int(value))
        elif name == "uci_variant" and value != self.game.name:
            raise BadParameter(f"this engine plays {self.game}, not '{shortened(value)}'")

    def _position(self, rest: str) -> None:
        self.halt()
        where, _, moves = f" {rest} ".partition(" moves ")
        kind, _, text = where.strip().partition(" ")
        if kind == "startpos":
            state = State(self.game)
        elif kind in (self.setup, "fen", "sfen"):
            state = State.from_position(self.game, text)
        else:
            raise BadParameter(f"write position startpos or position {self.setup} ..., then moves")
        for move in moves.split():
            state.play(move)
        self.state = state

    def _go(self, rest: str) -> None:
        self.halt()
        self._kept = None
        words = rest.split()
        if "mate" in words:
            self.say("checkmate notimplemented")
            return
        limit = self._limit(words)
        if self.state.turn < 0:
            self.say(f"bestmove {self.nothing}")
            return
        pondering = "ponder" in words
        endless = pondering or "infinite" in words
        self._pondered = limit if pondering else None
        self._think(Limit(seconds=math.inf) if endless else limit, endless)

    def _think(self, limit: Limit, endless: bool) -> None:
        self.begin(
            limit,
            self._keep if endless else self._best,
            report=self._inform,
            fail=self._failed,
            endless=endless,
        )

    def _keep(self, analysis: Analysis) -> None:
        """A thought without limits may end (the game is solved); its move is said when it is asked for."""
        self._kept = analysis

    def _stop(self) -> None:
        self.halt(drop=False)
        if self._kept is not None:
            self._best(self._kept)
            self._kept = None

    def _ponder_hit(self) -> None:
        limit, self._pondered = self._pondered, None
        if limit is not None:
            self._think(limit, False)

    def _failed(self, problem: str) -> None:
        self._complain(problem)
        self.say(f"bestmove {self.nothing}")

    def _query(self, rest: str) -> None:
        scores = self.state.scores
        p1 = "draw" if len(set(scores)) == 1 else "p1win" if scores[0] == max(scores) else "p2win"
        answers = {
            "gameover": str(self.state.is_over).lower(),
            "p1turn": str(self.state.turn == 0).lower(),
            "result": p1 if self.state.is_over else "none",
        }
        if rest not in answers:
            raise BadParameter(f"query '{shortened(rest)}': ask for {', '.join(answers)}")
        self.say(f"response {answers[rest]}")

    # ---- limits ----

    def _limit(self, words: list[str]) -> Limit:
        given: dict[str, float] = {}
        for name, value in pairwise(words):
            if re.fullmatch(r"-?\d{1,12}", value):
                given[name] = int(value)
        seat = max(0, self.state.turn)
        times, increments = self.clocks
        seconds = given["movetime"] / 1000 if "movetime" in given else None
        clock = None
        if times[seat] in given:
            left = max(0.0, given[times[seat]] / 1000)
            extra = max(0.0, given.get("byoyomi", 0) / 1000 - OVERHEAD)
            increment = max(0.0, given.get(increments[seat], 0) / 1000)
            if "byoyomi" in given:
                seconds = max(0.01, extra + (Clock(left).share() if left > 0.1 else 0.0))
            elif left or increment:
                clock = Clock(left, increment, max(1, int(given["movestogo"])) if "movestogo" in given else None)
            else:
                seconds = 0.01
        nodes = max(1, int(given["nodes"])) if "nodes" in given else None
        return Limit(
            seconds=None if seconds is None else max(0.001, seconds),
            simulations=nodes,
            nodes=nodes,
            depth=max(1, int(given["depth"])) if "depth" in given else None,
            clock=clock,
        )

    # ---- answers ----

    def _best(self, analysis: Analysis) -> None:
        expected = f" ponder {analysis.pv[1].name}" if len(analysis.pv) > 1 else ""
        self.say(f"bestmove {analysis.best.name}{expected}")

    def _inform(self, analysis: Analysis) -> None:
        nodes = analysis.simulations or analysis.nodes
        head = f"info depth {max(1, analysis.depth)}"
        tail = f"nodes {nodes} time {round(1000 * analysis.seconds)}"
        if analysis.seconds > 0:
            tail += f" nps {round(nodes / analysis.seconds)}"
        for k, info in enumerate(analysis.moves[: self.lines]):
            value = info.value or (analysis.value if k == 0 else None)
            score, proven = "", info.proven or (k == 0 and analysis.proven)
            if value is not None:
                mine = standing(self.game, Analysis(analysis.turn, (), value)) or 0.0
                if proven and abs(mine) > 0.999:
                    score = f" score mate {'+' if mine > 0 else '-'}"
                else:
                    score = f" score cp {centipawns(mine)}"
            pv = " ".join(move.name for move in info.pv or (info.move,))
            self.say(f"{head} multipv {k + 1}{score} {tail} pv {pv}")


class Usi(Ugi):
    word = "usi"
    clocks = (("btime", "wtime"), ("binc", "winc"))  # black is sente
    setup = "sfen"
    nothing = "resign"
