"""`Weights`: a net as data, read from a checkpoint of `meijin train GAME zero` without PyTorch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

from meijin.core.catalogue import make
from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.learning.nets.config import NetConfig
from meijin.learning.nets.plan import Plan
from meijin.learning.nets.program import Program
from meijin.learning.nets.safetensors import NotSafetensors, read
from meijin.learning.nets.tower import assemble

FORMAT = 1
EXTRA = "extra/"  # tensors of this prefix are not the net's but the trainer's


class HasWeights(Protocol):
    """Such as a PyTorch net."""

    @property
    def game(self) -> Game: ...

    def weights(self) -> Weights: ...


@dataclass(frozen=True, eq=False)
class Weights:
    """The tensors of a net by the names that `meijin.learning.zero.nets.Net` gives them, and what they are for."""

    plan: Plan
    tensors: Mapping[str, NDArray[Any]]
    facts: Mapping[str, Any] = field(default_factory=dict)  # what a checkpoint says about them

    @property
    def game(self) -> Game:
        return self.plan.game

    @property
    def config(self) -> NetConfig:
        return self.plan.config

    @cached_property
    def program(self) -> Program:
        """Made once and shared by all evaluators."""
        return assemble(self.plan, self.tensors)

    def weights(self) -> Weights:
        return self

    def unfit(self, game: Game) -> str | None:
        """Why they do not fit another game; None when they do."""
        return self.plan.unfit(game)

    def for_game(self, game: Game) -> Weights:
        """The same weights on another size of board."""
        if game is self.game:
            return self
        if problem := self.unfit(game):
            raise MeijinError(f"the net of {self.game} cannot play {game}: {problem}")
        return Weights(Plan(game, self.config), self.tensors, self.facts)


def load(path: str | Path) -> Weights:
    """Read a checkpoint; one that is missing, damaged or of another kind is an error that names the remedy.

    A file is read once as long as it stays as it is.
    """
    path = Path(path)
    if not path.is_file():
        what = "a directory" if path.is_dir() else "not there"
        raise MeijinError(f"{path} is {what}; give the path of a checkpoint (*.safetensors)")
    found = path.stat()
    return _load(path, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=8)
def _load(path: Path, changed: int, size: int) -> Weights:
    try:
        tensors, metadata = read(path)
    except OSError as error:
        raise MeijinError(f"{path} cannot be read: {error.strerror or error}") from None
    except NotSafetensors as error:
        raise MeijinError(
            f"{path} is damaged or no safetensors file ({error}); use another checkpoint of the run"
        ) from None
    about = _described(path, metadata)
    plan = _planned(path, about)
    if digest(tensors) != about.get("digest"):
        raise MeijinError(f"{path}: the weights are not those that were saved; the file is damaged, use another one")
    own = {name: tensor for name, tensor in tensors.items() if not name.startswith(EXTRA)}
    weights = Weights(plan, own, about["facts"])
    try:
        weights.program  # noqa: B018 - whether everything is there is seen when it is put together
    except MeijinError as error:
        raise MeijinError(f"{path}: {error}. The file is damaged; use another checkpoint") from None
    return weights


def _described(path: Path, metadata: Mapping[str, str]) -> dict[str, Any]:
    """What a checkpoint says about itself: format, game, shape, net, digest and facts."""
    kind = metadata.get("kind", "")
    if kind.startswith("classic-"):
        own = kind.removeprefix("classic-")
        raise MeijinError(f"'{path}' holds a classic {own} net: play it as {own}(\"{path}\")")
    if "meijin" not in metadata:
        raise MeijinError(f"{path} is a safetensors file, but holds no net that `meijin train GAME zero` made")
    try:
        about = json.loads(metadata["meijin"])
        version, typed = about["format"], {"game": str, "shape": dict, "net": dict, "facts": dict}
        sound = isinstance(version, int) and (
            version > FORMAT or all(isinstance(about[key], kind) for key, kind in typed.items())
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        sound = False
    if not sound:
        raise MeijinError(f"{path}: what it says about itself cannot be read; the file is damaged, use another one")
    if version > FORMAT:
        raise MeijinError(
            f"{path} has format {version}, this Meijin reads up to {FORMAT}: upgrade (pip install -U meijin)"
        )
    return dict(about)


def _planned(path: Path, about: Mapping[str, Any]) -> Plan:
    """The game and the net that a checkpoint is for, as they are here."""
    try:
        game = make(about["game"])
    except MeijinError as error:
        raise MeijinError(
            f"{path} is for the game {about['game']}, which cannot be made here: {error}. "
            "If it is your own game, load its file first (--load)"
        ) from None
    if shape(game) != about["shape"]:
        raise MeijinError(
            f"{path} was made when {game} had {_words(about['shape'])}; now it has {_words(shape(game))}. "
            "Train a new net, or use the version of the game it was made with"
        )
    try:
        return Plan(game, NetConfig.from_dict(about["net"]))
    except (MeijinError, TypeError) as error:
        raise MeijinError(f"{path}: its net cannot be built ({error}); the file may be from a newer Meijin") from None


def shape(game: Game) -> dict[str, int]:
    """The numbers of a game that a net depends on."""
    cells = len(game.board.cells)
    return {"planes": game.num_planes or 0, "cells": cells, "moves": game.num_moves, "seats": game.seats}


def _words(numbers: Mapping[str, Any]) -> str:
    return ", ".join(f"{count} {name}" for name, count in numbers.items())


def digest(tensors: Mapping[str, NDArray[Any]]) -> str:
    total = hashlib.sha256()
    for name in sorted(tensors):
        total.update(name.encode())
        total.update(tensors[name].tobytes())
    return total.hexdigest()
