"""Games and agents that worker processes must know: those of files and modules outside this package."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module

from meijin.agents.catalogue import agents
from meijin.core.catalogue import games
from meijin.core.registry import load_file

Registrations = tuple[tuple[str, str], ...]  # ("file", its path) or ("module", its name)


def registrations() -> Registrations:
    """Where the games and agents of this process come from that are not in its packages."""
    found: dict[tuple[str, str], None] = {}
    for registry in (games, agents):
        for entry in registry._entries.values():
            name = entry.factory.__module__
            module = sys.modules.get(name)
            if name.startswith("meijin_file_") and module is not None and module.__file__:
                found["file", module.__file__] = None
            elif name not in ("__main__", "__mp_main__") and not name.startswith("meijin."):
                found["module", name] = None
    return tuple(found)


def register_again(found: Registrations) -> None:
    """Load in another process what `registrations` found in this one."""
    for kind, name in found:
        if kind == "file":
            load_file(name, games, agents)
        else:
            with suppress(ImportError):  # made in some other way; a game that needs it says so
                import_module(name)
