"""Runs an engine and ends it, with all its processes, as soon as the program that wanted it has gone.

Run as a script by a bare interpreter: `guard.py LIFELINE MEMORY_MB COMMAND...`. LIFELINE is the number of a pipe that
nobody writes to; its end means that the owner has closed the engine or has died, however that happened. Only the
standard library's light modules are used, so that an engine starts in milliseconds.
"""

import os
import resource
import signal
import sys
import threading
from contextlib import suppress


def main() -> None:
    lifeline, memory, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.close(lifeline)
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory << 20, memory << 20))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        try:
            os.execvp(command[0], command)
        except OSError as error:
            os.write(2, f"cannot start {command[0]}: {error.strerror}\n".encode())
        os._exit(127)
    with suppress(OSError):  # whichever of the two comes first; it may have gone on to its program already
        os.setpgid(child, child)
    for stream in (0, 1, 2):
        os.close(stream)  # so that the owner sees the end of the engine's output

    def watch() -> None:
        while os.read(lifeline, 1):
            pass
        _kill(child)

    threading.Thread(target=watch, daemon=True).start()
    status = os.waitpid(child, 0)[1]
    _kill(child)  # what the engine has started itself
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _kill(group: int) -> None:
    with suppress(OSError):
        os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
