"""Checkpoints of all learners: tensors with a description of themselves in one safetensors file. Needs no PyTorch.

The metadata of the file holds the checkpoint's `kind` ("zero", "classic-policy", ...) and, under "meijin", one JSON
object: the format's version, the game's expression and shape, what the net is built from, a digest of the tensors, and
facts about the run (iteration, positions, ...). Tensors named "extra/..." belong to the trainer and not to the net
(moments of the optimizer, ...). Nothing is ever unpickled, and files are replaced whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from meijin.core.atomic import write_file
from meijin.core.catalogue import make
from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.learning.nets import safetensors
from meijin.learning.nets.safetensors import NotSafetensors

FORMAT = 1
EXTRA = "extra/"
ZERO = "zero"  # the kind of files without one, written before there were others

N = TypeVar("N")
Tensors = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Checkpoint(Generic[N]):
    """A saved net of any kind; `read` gives its description."""

    path: Path
    kind: str
    game: Game
    net: N
    facts: dict[str, Any]  # whatever was saved with it
    extra: dict[str, Any]  # tensors of the trainer


def write(
    path: Path,
    kind: str,
    game: Game,
    net: Mapping[str, Any],
    weights: Mapping[str, NDArray[Any]],
    facts: Mapping[str, Any],
    extra: Mapping[str, NDArray[Any]] | None = None,
) -> Path:
    """Write a checkpoint; `net` is what the learner builds the net from, as plain JSON."""
    tensors = {**weights, **{EXTRA + name: tensor for name, tensor in (extra or {}).items()}}
    about = {
        "format": FORMAT,
        "game": str(game),
        "shape": _shape(game),
        "net": dict(net),
        "digest": _digest(tensors),
        "facts": dict(facts),
    }
    try:
        text = json.dumps(about)
    except TypeError as error:
        raise MeijinError(f"{path}: facts about a checkpoint must be plain JSON values ({error})") from None
    write_file(path, safetensors.pack(tensors, {"kind": kind, "meijin": text}))
    return path


def read(
    path: str | Path, kinds: Collection[str], game: Game | None = None
) -> tuple[Checkpoint[dict[str, Any]], Tensors]:
    """The description of a checkpoint and the weights of its net. With `game`, it must be one of that very game."""
    path = Path(path)
    tensors, metadata = _read(path)
    about = _described(path, metadata)
    if about["kind"] not in kinds:
        raise MeijinError(f"{path} holds a net of kind '{about['kind']}'; give one of kind {' or '.join(kinds)}")
    if game is None:
        try:
            game = make(about["game"])
        except MeijinError as error:
            raise MeijinError(
                f"{path} is for the game {about['game']}, which cannot be made here: {error}. "
                "If it is your own game, load its file first (--load)"
            ) from None
    elif str(game) != about["game"]:
        raise MeijinError(f"{path} is for {about['game']}, not for {game}; choose another checkpoint or that game")
    if _shape(game) != about["shape"]:
        raise MeijinError(
            f"{path} was made when {game} had {_words(about['shape'])}; now it has {_words(_shape(game))}. "
            "Train a new net, or use the version of the game it was made with"
        )
    if _digest(tensors) != about.get("digest"):
        raise MeijinError(f"{path}: the tensors are not those that were saved; the file is damaged, use another one")
    extra = {name.removeprefix(EXTRA): tensors.pop(name) for name in list(tensors) if name.startswith(EXTRA)}
    return Checkpoint(path, about["kind"], game, about["net"], dict(about["facts"]), extra), tensors


def describe(path: str | Path) -> dict[str, Any]:
    """What a checkpoint says about itself: kind, format, game, shape, net and facts."""
    return _described(Path(path), _read(Path(path))[1])


def _described(path: Path, metadata: Mapping[str, str]) -> dict[str, Any]:
    if "meijin" not in metadata:
        raise MeijinError(f"{path} is a safetensors file, but not a checkpoint of Meijin; `meijin train` makes them")
    try:
        about = json.loads(metadata["meijin"])
        version, typed = about["format"], {"game": str, "shape": dict, "net": dict, "facts": dict}
        sound = isinstance(version, int) and (
            version > FORMAT or all(isinstance(about[key], kind) for key, kind in typed.items())
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        sound = False
    if not sound:
        raise MeijinError(f"{path}: its description cannot be read; the file is damaged, use another one")
    if version > FORMAT:
        raise MeijinError(
            f"{path} has format {version}, this Meijin reads up to {FORMAT}; use a newer version of Meijin"
        )
    return {"kind": metadata.get("kind", ZERO), **about}


def _read(path: Path) -> tuple[Tensors, dict[str, str]]:
    if not path.is_file():
        what = "a directory" if path.is_dir() else "not there"
        raise MeijinError(f"{path} is {what}; give the path of a checkpoint (*.safetensors)")
    try:
        return safetensors.read(path)
    except NotSafetensors as error:
        raise MeijinError(f"{path} is damaged or not a safetensors file ({error}); use another checkpoint") from None
    except OSError as error:
        raise MeijinError(f"{path} cannot be read: {error.strerror or error}") from None


def _shape(game: Game) -> dict[str, int]:
    return {
        "planes": game.num_planes or 0,
        "cells": len(game.board.cells),
        "moves": game.num_moves,
        "seats": game.seats,
    }


def _words(shape: Mapping[str, Any]) -> str:
    return ", ".join(f"{count} {name}" for name, count in shape.items())


def _digest(tensors: Mapping[str, NDArray[Any]]) -> str:
    total = hashlib.sha256()
    for name in sorted(tensors):
        total.update(name.encode())
        total.update(np.ascontiguousarray(tensors[name]).reshape(-1).view(np.uint8).data)  # no copy of gigabytes
    return total.hexdigest()
