"""Programs that take a position and print a move, without a protocol."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator

from meijin.core.agent import Analysis, Limit
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.state import State
from meijin.protocols.client.external import External, ranked
from meijin.protocols.client.process import EngineError, Process

FIELDS = ("game", "position", "moves", "text", "seat", "legal")


class Pipe(External):
    """A program that reads a position and prints a move: pipe("./mybot --fast", "{position} {moves}").

    `template` is the line it gets. It may use {game}, {position}, {moves} from the start, {text} (all three), {seat}
    and {legal}. The first word of the next line that is not empty is the move. A program that ends after its answer is
    started again for the next.
    """

    goodbye = ""

    def __init__(self, command: str, template: str = "{text}", timeout: float = 60.0, memory_mb: int = 0):
        super().__init__(command, timeout, memory_mb)
        try:
            used = [name for _, name, _, _ in string.Formatter().parse(template) if name is not None]
        except ValueError as error:
            raise BadParameter(f"template={template!r}: {error}") from None
        for name in used:
            if name not in FIELDS:
                raise BadParameter(f"template={template!r}: '{name}' is not one of {', '.join(FIELDS)}")
        self.template, self._fields = template, set(used)

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        used = self._process is not None
        try:
            yield from super().think(state, limit, every)
        except EngineError as error:
            if not (used and " ended" in str(error)):
                raise
            yield from super().think(state, limit, every)  # it had ended after its latest answer

    def greet(self, process: Process, game: Game) -> None: ...

    def ask(self, process: Process, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        values = {
            "game": str(state.game),
            "position": state.position if "position" in self._fields else "",
            "moves": " ".join(move.name for move in state.history),
            "text": state.text,
            "seat": str(state.turn),
            "legal": " ".join(move.name for move in state.legal_moves),
        }
        line = re.sub(r"\{(\w+)\}", lambda found: values[found[1]], self.template)
        process.send(line)
        said = process.until(lambda line: bool(line.strip()), self.timeout, "a position", self.stopper(process, None))
        yield Analysis(state.turn, ranked(state, self.checked(state, said.split()[0])))
