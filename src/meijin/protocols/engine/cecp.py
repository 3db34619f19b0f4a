"""CECP, the protocol of XBoard and WinBoard (version 2), for minishogi. XBoard's "white" is sente, who begins."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace

from meijin import __version__
from meijin.core.agent import Analysis, Clock, Limit
from meijin.core.errors import BadParameter, IllegalMove, MeijinError
from meijin.core.game import Game
from meijin.core.state import State
from meijin.protocols.engine.session import Say, Session, shortened
from meijin.protocols.notation import START_FEN, sfen, usi_move, xboard_move
from meijin.protocols.scores import centipawns, standing

VARIANTS = ("minishogi", "5x5+5_shogi")
#: Which letters are pieces, as XBoard numbers them, and where they begin: XBoard itself does not know minishogi.
SETUP = f"setup (P.BR.S...G.+.++.+Kp.br.s...g.+.++.+k) 5x5+5_shogi {START_FEN}"
IGNORED = (
    *("xboard", "accepted", "rejected", "random", "computer", "name", "rating", "ics", "hint", "bk", "otim", "draw"),
    *("memory", "cores", "nps", "pause", "resume", "egtpath", "partner", "white", "black", "."),
)


class Cecp(Session):
    def __init__(self, game: Game, agent: str, say: Say, limit: Limit = Limit()):  # noqa: B008 - frozen
        super().__init__(game, agent, say, limit)
        if game.name != "minishogi":
            raise BadParameter(f"{game}: CECP is for minishogi here; use gtp or ugi")
        self.seat: int | None = 1  # the engine's; None: it only watches ("force")
        self.posting = self.pondering = False
        self._level: tuple[int, float, float] | None = None  # moves per session, seconds, increment
        self._left: float | None = None  # seconds on the engine's clock
        self._seconds: float | None = None
        self._depth: int | None = None
        self._pings: list[str] = []
        self._analysing = False

    def handle(self, line: str) -> bool:
        word, _, rest = line.partition(" ")
        rest = rest.strip()
        if not word or word in IGNORED:
            return True
        try:
            return self._answer(word, rest)
        except IllegalMove as error:
            self.say(f"Illegal move: {shortened(rest or word)}")
            self.say("# " + shortened(" ".join(str(error).split())))
        except MeijinError as error:
            self.say(f"Error ({' '.join(str(error).split())}): {shortened(line)}")
        return True

    def _answer(self, word: str, rest: str) -> bool:
        commands: dict[str, Callable[[str], None]] = {
            "protover": self._features,
            "new": self._new,
            "variant": self._variant,
            "force": self._force,
            "result": self._force,
            "go": self._go,
            "playother": self._play_other,
            "usermove": self._user_move,
            "?": lambda _: self.halt(drop=False),
            "ping": self._ping,
            "setboard": self._set_board,
            "undo": lambda _: self._take_back(1),
            "remove": lambda _: self._take_back(2),
            "level": self._set_level,
            "st": self._set_seconds,
            "sd": self._set_depth,
            "time": self._time,
            "post": lambda _: self._post(True),
            "nopost": lambda _: self._post(False),
            "hard": lambda _: self._ponder(True),
            "easy": lambda _: self._ponder(False),
            "analyze": self._analyse,
            "exit": self._exit,
            "option": self._option,
            "quit": lambda _: self.halt(),
        }
        if word in commands:
            commands[word](rest)
        elif re.fullmatch(r"[a-e][1-5][a-e][1-5][+=]?|[A-Za-z]@[a-e][1-5]", word):
            self._user_move(word)
        else:
            self.say(f"Error (unknown command): {shortened(word)}")
        return word != "quit"

    # ---- setting up ----

    def _features(self, rest: str) -> None:
        self.say("feature done=0")
        self.warm_up()
        self.say(
            f'feature myname="Meijin {__version__}" variants="{",".join(VARIANTS)}" setboard=1 ping=1 usermove=1 '
            "time=1 draw=0 sigint=0 sigterm=0 reuse=1 analyze=1 colors=0 san=0 playother=1 name=0 memory=0"
        )
        self.say(f'feature option="Agent -string {self.agent.name}"')
        self.say("feature done=1")

    def _new(self, rest: str) -> None:
        self._stop()
        self.state, self.seat, self._depth, self._seconds = State(self.game), 1, None, None

    def _variant(self, rest: str) -> None:
        if rest not in VARIANTS:
            raise BadParameter("unsupported variant")
        self.say(SETUP)

    def _set_board(self, rest: str) -> None:
        self._stop()
        try:
            self.state = State.from_position(self.game, sfen(rest))
        except MeijinError as error:
            self.say(f"tellusererror Illegal position: {error}")

    def _option(self, rest: str) -> None:
        name, _, value = rest.partition("=")
        if name != "Agent":
            raise BadParameter("unknown option")
        self._stop()
        self.change_agent(value)

    def _stop(self) -> None:
        """End all thinking without a move."""
        self.halt()
        self._analysing = False
        self.agent.stop()
        self._pong()

    # ---- playing ----

    def _force(self, rest: str) -> None:
        self._stop()
        self.seat = None

    def _go(self, rest: str) -> None:
        self._stop()
        self.seat = self.state.turn if self.state.turn >= 0 else None
        self._move()

    def _play_other(self, rest: str) -> None:
        self._stop()
        self.seat = 1 - self.state.turn if self.state.turn >= 0 else None

    def _user_move(self, text: str) -> None:
        analysing = self._analysing
        try:
            name = usi_move(text)
        except MeijinError as error:
            raise IllegalMove(str(error)) from None
        self._stop()
        self.played(name)
        if analysing:
            self._analyse("")
        elif not self._announce_end():
            self._move()

    def _move(self) -> None:
        if self.seat is None or self.state.turn != self.seat:
            return

        def finish(analysis: Analysis) -> None:
            self.played(analysis.best.name)
            self.say(f"move {xboard_move(analysis.best.name)}")
            self._pong()
            if not self._announce_end() and self.pondering:
                self.agent.ponder(self.state)

        self.begin(self._limit(), finish, report=self._report, fail=self._failed)

    def _failed(self, problem: str) -> None:
        self.say(f"tellusererror {problem}")
        self.say("resign")
        self._pong()

    def _announce_end(self) -> bool:
        if not self.state.is_over:
            return False
        scores = self.state.scores
        result = "1/2-1/2" if scores[0] == scores[1] else "1-0" if scores[0] > scores[1] else "0-1"
        self.say(f"{result} {{{self.state.ending}}}")
        return True

    def _take_back(self, plies: int) -> None:
        analysing = self._analysing
        self._stop()
        if len(self.state.history) < plies:
            raise BadParameter("no moves to undo")
        self.state = self.state.copy()
        for _ in range(plies):
            self.state.undo()
        if analysing:
            self._analyse("")

    def _ping(self, rest: str) -> None:
        self._pings.append(rest)
        if not self.thinking or self._analysing:  # a move that is being thought about comes first
            self._pong()

    def _pong(self) -> None:
        while self._pings:
            self.say(f"pong {self._pings.pop(0)}")

    # ---- analysis ----

    def _analyse(self, rest: str) -> None:
        self._stop()
        self.seat, self._analysing = None, True
        if self.state.turn >= 0:
            self.begin(
                Limit(seconds=math.inf),
                lambda analysis: None,
                report=self._inform,
                fail=lambda problem: self.say(f"tellusererror {problem}"),
                endless=True,
            )

    def _exit(self, rest: str) -> None:
        self._stop()

    def _post(self, on: bool) -> None:
        self.posting = on

    def _report(self, analysis: Analysis) -> None:
        if self.posting:
            self._inform(analysis)

    def _inform(self, analysis: Analysis) -> None:
        """Ply, score in centipawns, time in centiseconds, nodes and the line."""
        mine = standing(self.game, analysis)
        pv = " ".join(xboard_move(move.name) for move in analysis.pv)
        nodes = analysis.simulations or analysis.nodes
        score = 0 if mine is None else centipawns(mine)
        self.say(f"{max(1, analysis.depth)} {score} {round(100 * analysis.seconds)} {nodes} {pv}")

    def _ponder(self, on: bool) -> None:
        self.pondering = on
        if not on and not self.thinking:
            self.agent.stop()

    # ---- time ----

    def _set_level(self, rest: str) -> None:
        found = re.fullmatch(r"(\d{1,6}) (\d{1,6})(?::(\d{1,2}))? (\d{1,6}(?:\.\d+)?)", rest)
        if found is None:
            raise BadParameter("level needs moves, minutes and increment")
        self._level = int(found[1]), 60.0 * int(found[2]) + int(found[3] or 0), float(found[4])
        self._left, self._seconds = self._level[1], None

    def _set_seconds(self, rest: str) -> None:
        self._seconds, self._level = max(0.01, _number(rest)), None

    def _set_depth(self, rest: str) -> None:
        self._depth = max(1, round(_number(rest)))

    def _time(self, rest: str) -> None:
        self._left = max(0.0, _number(rest) / 100)

    def _limit(self) -> Limit:
        limit = Limit(depth=self._depth, seconds=self._seconds and max(0.01, 0.95 * self._seconds))
        if self._level is None:
            return limit
        moves, minutes, increment = self._level
        left = minutes if self._left is None else self._left
        to_go = moves - (len(self.state.history) // 2) % moves if moves else None
        return replace(limit, clock=Clock(left, increment, to_go))


def _number(text: str) -> float:
    if not re.fullmatch(r"-?\d{1,9}(?:\.\d{1,9})?", text):
        raise BadParameter("a number is missing")
    return float(text)
