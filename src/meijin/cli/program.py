"""How the program ends: errors in one line, Ctrl-C at once, a closed pipe silently."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import typer
from typer.core import TyperGroup

T = TypeVar("T")

HELP = ["-h", "--help"]

FAILED = 2  # a mistake of the person at the keyboard
INTERRUPTED = 130  # as shells report SIGINT
CLOSED = 141  # as shells report SIGPIPE
SOON, PATIENCE = 1.0, 5.0  # seconds that stopped work gets: to end, and to give a result


class Program(TyperGroup):
    """The group of all commands, which turns exceptions into an exit status."""

    def __init__(self, **attributes: Any):
        super().__init__(**attributes)
        _show_flags_without_values(self)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        args = spelled_out(sys.argv[1:] if args is None else args)
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
            if type(error).__name__ == "NoArgsIsHelpError":  # a command that is only a group of commands
                print(error.ctx.get_help())  # type: ignore[attr-defined]
                sys.exit(0)
            message = explained(error, self._command(args))
            if message is None:  # a bug, here or in a user's game: the traceback helps
                raise
            complain(message)
            status = FAILED
        if status == INTERRUPTED:
            if sys.stderr.isatty():
                print(file=sys.stderr)  # so that the shell's prompt does not follow ^C
            if _running:  # Python would wait for the work and its threads
                sys.stdout.flush()
                os._exit(INTERRUPTED)
        sys.exit(status if isinstance(status, int) else 0)

    def _command(self, args: Sequence[str]) -> str:
        """The command that the arguments name: "meijin champion list"."""
        words, group = ["meijin"], cast(Any, self)
        for word in args:
            group = getattr(group, "commands", {}).get(word)
            if group is None:
                break
            words.append(word)
        return " ".join(words)


def _show_flags_without_values(command: Any) -> None:
    """Typer's help would say `--json <bool>`."""
    for option in command.get_params(typer.Context(command, help_option_names=HELP)):
        if getattr(option, "is_flag", False):
            option.metavar = ""
    for each in getattr(command, "commands", {}).values():
        _show_flags_without_values(each)


def spelled_out(args: Sequence[str]) -> list[str]:
    """The arguments, with a value for an option that may go without: `--ray` -> `--ray ''`."""
    found: list[str] = []
    for at, text in enumerate(args):
        found.append(text)
        if text == "--ray" and (at + 1 == len(args) or args[at + 1].startswith("-")):
            found.append("")
    return found


_running: list[threading.Thread] = []  # work that Ctrl-C left behind


def interruptible(work: Callable[[], T], stop: Callable[[], None] | None = None) -> T:
    """Run work in a thread, so that Ctrl-C raises at once: compiled code does not look at signals.

    `stop` asks the work to end early, as `Agent.stop` does.
    """
    result, stopped = until_stopped(work, stop, SOON)
    if stopped:
        raise KeyboardInterrupt
    return result


def until_stopped(
    work: Callable[[], T],
    stop: Callable[[], None] | None,
    patience: float = PATIENCE,
    so_far: Callable[[], T | None] = lambda: None,
) -> tuple[T, bool]:
    """Like `interruptible`, but what the work returns after `stop` within `patience` seconds is kept.

    If it takes longer, or Ctrl-C is pressed again, that is what there is `so_far`, unless that is None. Returns the
    result, and whether the work was stopped. An error of the work is raised, also after Ctrl-C.
    """
    results: list[T] = []
    errors: list[BaseException] = []
    done = threading.Event()  # and not `Thread.join`, after which an interrupted thread can seem to have ended

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        while not done.wait(0.1):  # in parts, as Ctrl-C does not wake this thread if the system tells another
            pass
    except KeyboardInterrupt:
        with contextlib.suppress(KeyboardInterrupt):  # pressed again: it waits no longer
            end = time.monotonic() + patience
            while stop is not None and not done.is_set() and time.monotonic() < end:
                stop()  # again and again: an agent may not have begun
                done.wait(0.05)
        if not done.is_set():
            _running.append(thread)
        if errors:  # such as a full disk: what there is so far may not be stored
            raise errors[0] from None
        found = results[0] if results else so_far()
        if found is None:
            raise
        return found, True
    if errors:
        raise errors[0]
    return results[0], False


def explained(error: Exception, command: str) -> str | None:
    """The message for the person who caused the error with that command; None for a bug."""
    from meijin.core.errors import MeijinError, suggest

    if isinstance(error, MeijinError):
        return str(error)
    describe = getattr(error, "format_message", None)  # a mistake in the arguments, found by typer
    if describe is None:
        return None
    text = str(describe()).strip().rstrip(".")
    if isinstance(unknown := getattr(error, "option_name", None), str) and hasattr(error, "possibilities"):
        # Typer suggests what has little in common but the dashes.
        options = cast(Any, error).ctx.command.params
        known = [name[2:] for each in options for name in each.opts if name.startswith("--")]
        text = f"no such option: {unknown}" + suggest(unknown.lstrip("-"), known).replace("'", "'--", 1)
    return f"{text[:1].lower()}{text[1:]}; see '{command} --help'"


def complain(message: str) -> None:
    """Print an error on stderr, in red on a terminal."""
    red = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    print(f"\x1b[31merror: {message}\x1b[0m" if red else f"error: {message}", file=sys.stderr)


def _drop(stream: Any) -> None:
    """Discard what is still buffered: nobody reads it, and flushing it at exit would fail with a message."""
    with contextlib.suppress(OSError, ValueError):  # not a file, or closed already
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
