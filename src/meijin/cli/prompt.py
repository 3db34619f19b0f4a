"""The prompt at which a person types moves and commands, the same for every interactive command.

    prompt = Prompt([Command("next", "go to the next position", forward, aliases=("", "n"))])
    while prompt.ask("replay (help for commands): ") is Then.GO_ON:
        show()

In a terminal, lines can be edited and recalled, and Tab completes commands and moves. Piped input is read as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from rich.text import Text

from meijin.cli.console import out, say, typed
from meijin.cli.words import ARROWS
from meijin.core.errors import MeijinError, suggest

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession


class Then(Enum):
    """What follows a line."""

    ASK = auto()  # the same question again
    GO_ON = auto()  # something changed
    STOP = auto()  # leave
    END = auto()  # the input has ended


@dataclass(frozen=True, slots=True)
class Command:
    """A word that does something. `run` gets the rest of the line."""

    name: str
    help: str
    run: Callable[[str], Then]
    argument: str = ""  # what follows the word, as help shows it: "FILE", or "[SECONDS]" if it may be left out
    aliases: Sequence[str] = ()
    unavailable: Callable[[], str] = str  # why it cannot be used now; "" when it can


class Prompt:
    """Reads lines until one of them changes something."""

    def __init__(
        self,
        commands: Sequence[Command],
        *,
        words: Callable[[], Sequence[str]] = tuple,
        otherwise: Callable[[str], Then | None] = lambda text: None,
        keys: Callable[[], Mapping[str, str]] = dict,
        about: str = "",
    ):
        """`words` are other things that may be typed now, such as the legal moves; they take precedence over commands.

        `otherwise` gets what is not a command, and returns None if it cannot use it. `keys` says what an arrow key
        on an empty line means. `about` is the line of help on `words`.
        """
        self.commands = [*commands, Command("help", "list the commands", self._help, aliases=("?",))]
        self.words, self.otherwise, self.keys, self.about = words, otherwise, keys, about
        self._names = {name: each for each in self.commands for name in (each.name, *each.aliases)}
        self._session: PromptSession[str] | None = None

    def ask(self, text: str, *, optional: bool = False) -> Then:
        """Ask until a line changes something. `optional`: a piped input that ends here is shown no prompt."""
        while True:
            line = self._read(text, optional)
            if line is None:
                return Then.END
            try:
                then = self.obey(line)
            except MeijinError as error:
                say(Text(str(error), "red"))
                continue
            if then is not Then.ASK:
                return then

    def obey(self, line: str) -> Then:
        """Do what a line says."""
        if line.lower() not in (word.lower() for word in self.words()):
            word, _, rest = line.partition(" ")
            command, rest = self._names.get(word.lower()), rest.strip()
            if command is not None and (not rest or command.argument):
                if why := command.unavailable():
                    raise MeijinError(f"{command.name}: {why}")
                if command.argument and not rest and not command.argument.startswith("["):
                    raise MeijinError(f"{command.name}: write {command.name} {command.argument}")
                return command.run(rest)
            if not line:
                return Then.ASK
        then = self.otherwise(line)
        if then is None:
            what = "neither a legal move nor a command" if self.about else "not a command"
            hint = suggest(line, [*self.words(), *self._available()])
            raise MeijinError(f"'{line}' is {what}{hint or '; help lists them'}")
        return then

    def _available(self) -> list[str]:
        return [command.name for command in self.commands if not command.unavailable()]

    def _help(self, rest: str) -> Then:
        rows = [("MOVE", self.about)] if self.about else []
        rows += [(f"{c.name} {c.argument}".strip(), c.help) for c in self.commands if not c.unavailable()]
        width = max(len(name) for name, _ in rows)
        for name, meaning in rows:
            say(Text.assemble((f"{name:<{width}}", "cyan"), f"  {meaning}"))
        return Then.ASK

    # ---- reading ----

    def _read(self, prompt: str, optional: bool) -> str | None:
        if sys.stdin.isatty() and sys.stdout.isatty():
            return self._edited(prompt)
        if not optional or sys.stdin.isatty():
            return typed(prompt)
        line = sys.stdin.readline()
        if not line:
            return None
        out().print(f"{prompt}{line.rstrip()}")
        return line.strip()

    def _edited(self, prompt: str) -> str | None:
        """A line from the terminal, with editing, history and completion."""
        if self._session is None:
            self._session = self._make_session()
        try:
            return self._session.prompt(prompt).strip()
        except EOFError:
            return None

    def _make_session(self) -> PromptSession[str]:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import Completer, Completion
        from prompt_toolkit.filters import Condition
        from prompt_toolkit.key_binding import KeyBindings
        from prompt_toolkit.output import create_output
        from prompt_toolkit.shortcuts import CompleteStyle

        prompt = self

        class Words(Completer):
            def get_completions(self, document: Any, complete_event: Any) -> Iterator[Completion]:
                text = document.text_before_cursor.lower()
                for word in (*prompt.words(), *prompt._available()):
                    if word.lower().startswith(text):
                        yield Completion(word, start_position=-len(text))

        bindings = KeyBindings()
        for arrow in ARROWS:

            def press(event: Any, arrow: str = arrow) -> None:
                event.current_buffer.text = prompt.keys()[arrow]
                event.current_buffer.validate_and_handle()

            def usable(arrow: str = arrow) -> bool:
                return self._session is not None and not self._session.default_buffer.text and arrow in self.keys()

            bindings.add(arrow, filter=Condition(usable))(press)

        output = create_output()
        if hasattr(output, "enable_cpr"):
            output.enable_cpr = False  # nothing here depends on where the cursor is, and not every terminal says
        return PromptSession(
            completer=Words(),
            complete_while_typing=False,
            complete_style=CompleteStyle.READLINE_LIKE,
            key_bindings=bindings,
            output=output,
        )
