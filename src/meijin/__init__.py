"""Meijin: play, search, learn and compare any board game.

import meijin

state = meijin.State(meijin.make("othello"))
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from meijin import training as training
    from meijin.agents.catalogue import agent_names as agent_names
    from meijin.agents.catalogue import build as build
    from meijin.agents.check import check_agent as check_agent
    from meijin.arena.match import match as match
    from meijin.core import boards as boards
    from meijin.core import rng as rng
    from meijin.core.agent import Agent as Agent
    from meijin.core.agent import Analysis as Analysis
    from meijin.core.agent import Clock as Clock
    from meijin.core.agent import Limit as Limit
    from meijin.core.agent import MoveInfo as MoveInfo
    from meijin.core.batch import States as States
    from meijin.core.batch import simulate as simulate
    from meijin.core.boards import Board as Board
    from meijin.core.catalogue import game as game
    from meijin.core.catalogue import game_names as game_names
    from meijin.core.catalogue import make as make
    from meijin.core.check import check_game as check_game
    from meijin.core.contract import CHANCE as CHANCE
    from meijin.core.contract import OVER as OVER
    from meijin.core.contract import Symmetry as Symmetry
    from meijin.core.errors import MeijinError as MeijinError
    from meijin.core.game import Game as Game
    from meijin.core.moves import Move as Move
    from meijin.core.parameters import Range as Range
    from meijin.core.pieces import Piece as Piece
    from meijin.core.state import State as State
    from meijin.learning.td.features import features as features
    from meijin.web.notebook import board as board

__version__ = "0.1.0"

# Public names and where they live; imported when first asked for, so that `meijin --help` stays quick.
_PUBLIC = {
    "CHANCE": "core.contract",
    "OVER": "core.contract",
    "Agent": "core.agent",
    "Analysis": "core.agent",
    "Board": "core.boards",
    "Clock": "core.agent",
    "Game": "core.game",
    "Limit": "core.agent",
    "MeijinError": "core.errors",
    "Move": "core.moves",
    "MoveInfo": "core.agent",
    "Piece": "core.pieces",
    "Range": "core.parameters",
    "State": "core.state",
    "States": "core.batch",
    "Symmetry": "core.contract",
    "agent_names": "agents.catalogue",
    "board": "web.notebook",
    "build": "agents.catalogue",
    "check_agent": "agents.check",
    "check_game": "core.check",
    "features": "learning.td.features",
    "game": "core.catalogue",
    "game_names": "core.catalogue",
    "make": "core.catalogue",
    "match": "arena.match",
    "simulate": "core.batch",
}
_MODULES = {"boards": "meijin.core.boards", "rng": "meijin.core.rng", "training": "meijin.training"}

__all__ = [
    "CHANCE",
    "OVER",
    "Agent",
    "Analysis",
    "Board",
    "Clock",
    "Game",
    "Limit",
    "MeijinError",
    "Move",
    "MoveInfo",
    "Piece",
    "Range",
    "State",
    "States",
    "Symmetry",
    "agent_names",
    "board",
    "boards",
    "build",
    "check_agent",
    "check_game",
    "features",
    "game",
    "game_names",
    "make",
    "match",
    "rng",
    "simulate",
    "training",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name not in _PUBLIC:
        raise AttributeError(f"module 'meijin' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"meijin.{_PUBLIC[name]}"), name)
    return value


def __dir__() -> list[str]:
    return __all__
