"""Meijin: play, search, learn and compare any board game.

import meijin
state = meijin.make("othello").start()
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# Public names and where they live; imported when first asked for, so that `meijin --help` stays quick.
_PUBLIC = {
    "Agent": "meijin.core.agent",
    "Analysis": "meijin.core.agent",
    "Board": "meijin.core.boards",
    "CHANCE": "meijin.core.game",
    "Game": "meijin.core.game",
    "Limit": "meijin.core.agent",
    "MeijinError": "meijin.core.errors",
    "OVER": "meijin.core.game",
    "Piece": "meijin.core.drawing",
    "State": "meijin.core.state",
    "boards": "meijin.core",
    "build": "meijin.agents.catalogue",
    "check_game": "meijin.core.check",
    "game": "meijin.core.catalogue",
    "games": "meijin.core.catalogue",
    "make": "meijin.core.catalogue",
    "match": "meijin.arena.match",
    "rng": "meijin.core",
}

__all__ = list(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'meijin' has no attribute {name!r}")
    value = getattr(importlib.import_module(_PUBLIC[name]), name, None)
    return value if value is not None else importlib.import_module(f"{_PUBLIC[name]}.{name}")


def __dir__() -> list[str]:
    return __all__
