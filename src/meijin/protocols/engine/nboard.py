"""NBoard's protocol, of Othello boards: the board sends whole games in GGF, and asks for moves or hints."""

from __future__ import annotations

import re
from collections.abc import Callable

from meijin import __version__
from meijin.core.agent import Analysis, Limit
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import Game
from meijin.protocols.engine.session import Say, Session, shortened
from meijin.protocols.ggf import read_ggf
from meijin.protocols.scores import standing


class NBoard(Session):
    patient = True

    def __init__(self, game: Game, agent: str, say: Say, limit: Limit = Limit()):  # noqa: B008 - frozen
        super().__init__(game, agent, say, limit)
        if game.name != "othello" or game.params["size"] != 8:
            raise BadParameter(f"{game}: NBoard's protocol is for othello")
        self._depth: int | None = None

    def handle(self, line: str) -> bool:
        word, _, rest = line.partition(" ")
        rest = rest.strip()
        commands: dict[str, Callable[[str], None]] = {
            "nboard": self._introduce,
            "set": self._set,
            "move": self._move,
            "go": self._go,
            "hint": self._hint,
            "ping": self._ping,
            "quit": lambda _: self.halt(),
        }
        try:
            if word in commands:
                commands[word](rest)
            elif word not in ("", "learn", "analyze"):
                self.say(f"status unknown command {shortened(word)}")
        except MeijinError as error:
            self.say("status error: " + " ".join(str(error).split()))
        return word != "quit"

    def _introduce(self, rest: str) -> None:
        if rest not in ("1", "2"):
            raise BadParameter(f"version '{shortened(rest)}' of the protocol is not known")
        self.say(f"set myname Meijin {__version__}")

    def _set(self, rest: str) -> None:
        name, _, value = rest.partition(" ")
        self.halt()
        if name == "depth":
            if not re.fullmatch(r"\d{1,3}", value):
                raise BadParameter(f"depth '{shortened(value)}' is not a number")
            self._depth = max(1, int(value))
        elif name == "game":
            self.state = read_ggf(self.game, value)
        elif name not in ("contempt", "time"):
            raise BadParameter(f"no setting '{shortened(name)}'")

    def _move(self, rest: str) -> None:
        self.halt()
        text = rest.partition("/")[0].strip().lower()
        self.played("pass" if text in ("pa", "pass") else text)

    def _go(self, rest: str) -> None:
        self.halt()
        if self.state.turn < 0:
            raise BadParameter("the game is over")
        self.say("status thinking")

        def finish(analysis: Analysis) -> None:
            score = self._score(analysis)
            self.say(f"=== {_named(analysis.best.name)}{score}/{analysis.seconds:.2f}")
            self.say("status")

        def fail(problem: str) -> None:
            self.say(f"status error: {problem}")

        self.begin(Limit(depth=self._depth), finish, fail=fail)

    def _score(self, analysis: Analysis) -> str:
        """Discs, roughly: the protocol has no other unit."""
        mine = standing(self.game, analysis)
        return "/" if mine is None else f"/{64 * mine:.2f}"

    def _hint(self, rest: str) -> None:
        self.halt()
        count = int(rest) if re.fullmatch(r"\d{1,3}", rest) else 1
        if self.state.turn < 0:
            raise BadParameter("the game is over")
        self.say("status analyzing")

        def finish(analysis: Analysis) -> None:
            nodes = analysis.simulations or analysis.nodes
            for info in analysis.moves[: max(1, count)]:
                mine = standing(self.game, Analysis(analysis.turn, (), info.value or analysis.value)) or 0.0
                pv = "".join(_named(move.name) for move in info.pv or (info.move,))
                self.say(f"search {pv} {64 * mine:.2f} 0 {max(1, analysis.depth)}")
            self.say(f"nodestats {nodes} {analysis.seconds:.2f}")
            self.say("status")

        self.begin(Limit(depth=self._depth), finish, fail=lambda problem: self.say(f"status error: {problem}"))

    def _ping(self, rest: str) -> None:
        self.halt()
        self.say(f"pong {rest}")


def _named(name: str) -> str:
    return "PA" if name == "pass" else name.upper()
