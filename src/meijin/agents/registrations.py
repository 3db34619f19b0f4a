"""Games, agents and features that worker processes must know: those of files and modules outside this package."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from meijin.agents.catalogue import agents
from meijin.core.catalogue import games
from meijin.core.registry import Entry, Registry, load_file
from meijin.learning.td.features import feature_sets

Registrations = tuple[tuple[str, str], ...]  # ("file", its path) or ("module", its name)


def load(path: str | Path, *more: Registry[Any]) -> tuple[Entry[Any], ...]:
    """Load a file of games, agents and features; returns what it registers, in `more` registries too."""
    return load_file(path, games, agents, feature_sets, *more)


def registrations() -> Registrations:
    """Where the games, agents and features of this process come from that are not in its packages."""
    found: dict[tuple[str, str], None] = {}
    for registry in (games, agents, feature_sets):
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
            load(name)
        else:
            with suppress(ImportError):  # made in some other way; a game that needs it says so
                import_module(name)
