"""How the program ends: errors in one line, Ctrl-C and a closed pipe without a word."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Sequence
from typing import Any

from typer.core import TyperGroup

FAILED = 2  # a mistake of the person at the keyboard
INTERRUPTED = 130  # as shells report SIGINT
CLOSED = 141  # as shells report SIGPIPE


class Program(TyperGroup):
    """The group of all commands, which turns exceptions into an exit status."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        run = functools.partial(super().main, args, prog_name, complete_var, False, windows_expand_args, **extra)
        if not standalone_mode:
            return run()
        try:
            status = run()
            sys.stdout.flush()
        except KeyboardInterrupt:
            status = INTERRUPTED
        except BrokenPipeError:
            _drop(sys.stdout)
            status = CLOSED
        except Exception as error:
            message = explained(error)
            if message is None:  # a bug, here or in a user's game: its traceback is what helps
                raise
            complain(message)
            status = FAILED
        if status == INTERRUPTED and sys.stderr.isatty():
            print(file=sys.stderr)  # so that the shell's prompt does not follow ^C
        sys.exit(status if isinstance(status, int) else 0)


def explained(error: Exception) -> str | None:
    """The message for the person who caused the error, None for an error that nobody foresaw."""
    from meijin.core.errors import MeijinError

    if isinstance(error, MeijinError):
        return str(error)
    context = getattr(error, "ctx", None)
    describe = getattr(error, "format_message", None)  # a mistake in the arguments, found by typer
    if describe is None:
        return None
    text = str(describe()).strip().rstrip(".")
    return f"{text[:1].lower()}{text[1:]}; see '{context.command_path} --help'" if context else text


def complain(message: str) -> None:
    """Print an error on stderr, in red on a terminal."""
    red = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    print(f"\x1b[31merror: {message}\x1b[0m" if red else f"error: {message}", file=sys.stderr)


def _drop(stream: Any) -> None:
    """Send what is still buffered nowhere: nobody reads it, and flushing it at exit would fail aloud."""
    with contextlib.suppress(OSError, ValueError):  # not a file, or closed already
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
