"""One conversation between a board and an agent: a game, an agent that thinks in a thread, and lines to answer."""

from __future__ import annotations

import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable

from meijin.agents.catalogue import build
from meijin.core.agent import Agent, Analysis, Limit
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.expression import Call, parse
from meijin.core.game import Game
from meijin.core.state import State

Say = Callable[[str], None]  # writes a line, from any thread

WARM_UP = 30.0  # seconds, at most
LINGER = 30.0  # seconds that a thought has to end when the board has gone
EVERY = 0.5  # seconds between lines of information
LONGEST = 10_000  # characters of a line that is read
MOST_SHOWN = 200  # characters of a command in a message


def shortened(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."


class Session(ABC):
    """Subclasses answer lines in `handle`, which never raises and returns at once: the agent thinks in a thread.

    While a thought lasts, only its thread may touch `state`; `halt` and `wait` end it.
    """

    #: Whether a thought with a limit is finished when the input ends.
    patient = False
    #: The agent that plays games which the one asked for cannot play; None: they are refused.
    stand_in: str | None = None

    def __init__(self, game: Game, agent: str, say: Say, limit: Limit = Limit()):  # noqa: B008 - frozen
        if game.seats > 2:
            raise BadParameter(f"{game} has {game.seats} seats; engine protocols are for one or two")
        self.game, self.state, self.say, self.limit = game, State(game), say, limit
        self.agent: Agent = build(agent, game)
        self._asked = self.agent.name  # for this agent
        self._thinker: threading.Thread | None = None
        self._dropped = False  # nobody wants the result of the thought
        self._endless = False
        self._warm: Game | None = None

    @abstractmethod
    def handle(self, line: str) -> bool:
        """Answer a line; False ends the conversation."""

    def close(self) -> None:
        """The input has ended."""
        if self.patient and not self._endless:
            self.wait(LINGER)
        self.halt()
        self.agent.close()

    # ---- what protocols use ----

    def change_game(self, **parameters: int | float) -> None:
        """The same game with other parameters, at its start."""
        call = parse(self.game.id)
        game = make(str(Call(call.name, call.args, {**call.kwargs, **parameters})))
        self.take_up(game)

    def take_up(self, game: Game) -> None:
        """The start of a game, with an agent that can play it."""
        if self.agent.name != self._asked or self.agent.unfit(game):
            try:
                self._replace(build(self._asked, game))
            except BadParameter as error:
                if self.stand_in is None:
                    raise
                print(f"warning: {error}; {self.stand_in} plays instead", file=sys.stderr, flush=True)
                self._replace(build(self.stand_in, game))
        self.game, self.state = game, State(game)

    def change_agent(self, expression: str) -> None:
        self._replace(build(expression, self.game))
        self._asked = self.agent.name

    def _replace(self, agent: Agent) -> None:
        self.agent.close()
        self.agent, self._warm = agent, None

    def warm_up(self) -> None:
        """Think once, so that what must be compiled is compiled before a clock runs."""
        if self._warm is self.game:
            return
        self._warm = self.game
        state = State(self.game)
        if state.turn < 0:
            return
        alarm = threading.Timer(WARM_UP, self.agent.stop)
        alarm.daemon = True
        alarm.start()
        try:
            self.agent.analyse(state, Limit(seconds=0.01, simulations=2, depth=1, nodes=2))
        except MeijinError:
            pass  # said again when it is asked for a move
        finally:
            alarm.cancel()

    def begin(
        self,
        limit: Limit,
        finish: Callable[[Analysis], None],
        *,
        report: Callable[[Analysis], None] = lambda _: None,
        fail: Callable[[str], None],
        every: float = EVERY,
        endless: bool = False,
    ) -> None:
        """Think about the position in a thread; then `finish`, or `fail` with the reason."""
        self.halt()
        state, self._dropped, self._endless = self.state.copy(), False, endless
        given = limit if limit or endless else self.limit

        def think() -> None:
            last: Analysis | None = None
            try:
                for last in self.agent.watch(state, given, every):
                    if not self._dropped:
                        report(last)
                if last is None:
                    raise MeijinError(f"{self.agent.name} yields no analysis")
                if not self._dropped:
                    finish(last if endless else self.agent.chosen(state, last))
            except Exception as error:  # an agent's mistake must not end the conversation
                if not self._dropped:
                    fail(" ".join(str(error).split()) or type(error).__name__)

        self._thinker = threading.Thread(target=think, name="meijin-engine", daemon=True)
        self._thinker.start()

    @property
    def thinking(self) -> bool:
        return self._thinker is not None and self._thinker.is_alive()

    def wait(self, seconds: float | None = None) -> None:
        """Let the thought end by itself, or go on after so many seconds."""
        if self._thinker is not None:
            self._thinker.join(seconds)
            if not self._thinker.is_alive():
                self._thinker = None

    def halt(self, drop: bool = True) -> None:
        """End the thought now; with `drop` its result is not used."""
        if (thinker := self._thinker) is None:
            return
        self._dropped = drop or self._dropped
        while thinker.is_alive():
            self.agent.stop()  # again and again: it may not have begun
            thinker.join(0.005)
        self._thinker = None

    def played(self, text: str) -> None:
        """Play a move by name on a copy of the position, so that an error leaves it as it was."""
        self.state = self.state.copy().play(text)
