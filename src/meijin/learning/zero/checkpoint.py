"""Checkpoints: a net's weights with all that is needed to use them, in one safetensors file.

The metadata of the file holds one JSON value under "meijin": the format's version, the game's expression and shape,
the net's config, a digest of the tensors, and facts about the run (iteration, games, positions, rating, ...). Tensors
named "extra/..." are not the net's but the trainer's (moments, averaged weights). Nothing is ever unpickled, and a
file is written beside its final place and renamed, so that a reader never sees half of one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from meijin.core.catalogue import make
from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.learning.nets.config import NetConfig
from meijin.learning.zero.nets import Net

FORMAT = 1
_EXTRA = "extra/"


@dataclass(frozen=True)
class Checkpoint:
    net: Net
    game: Game
    facts: dict[str, Any]  # whatever was saved with it
    extra: dict[str, Tensor] = field(default_factory=dict)


def save(
    path: str | Path,
    net: Net,
    game: Game | None = None,
    *,
    half: bool = False,
    extra: Mapping[str, Tensor] | None = None,
    **facts: Any,
) -> Path:
    """Write a checkpoint; `half` stores all but vectors as float16, half the size and exact enough to play."""
    path, game = Path(path), game or net.game
    tensors: dict[str, Tensor] = {}
    for name, tensor in net.state_dict().items():
        tensor = tensor.detach().cpu()
        if tensor.is_floating_point():
            tensor = tensor.to(torch.float16 if half and tensor.ndim > 1 else torch.float32)
            if not bool(torch.isfinite(tensor).all()):
                raise MeijinError(
                    f"{path}: not written, because the net's {name} holds infinite or undefined numbers; "
                    "go back to an earlier checkpoint and lower the learning rate"
                )
        tensors[name] = tensor.contiguous()
    for name, tensor in (extra or {}).items():
        tensors[_EXTRA + name] = tensor.detach().cpu().contiguous()
    about = {
        "format": FORMAT,
        "game": str(game),
        "shape": _shape(game),
        "net": net.config.to_dict(),
        "digest": _digest(tensors),
        "facts": facts,
    }
    try:
        text = json.dumps(about)
    except TypeError as error:
        raise MeijinError(f"{path}: facts about a checkpoint must be plain JSON values ({error})") from None
    write_whole(path, to_bytes(tensors, {"meijin": text}))
    return path


def load(path: str | Path, game: Game | None = None) -> Checkpoint:
    """Read a checkpoint, on the CPU and in `eval` mode. With `game`, it must be one of that very game.

    A net with pooling moves to other sizes by `checkpoint.net.for_game(other)`.
    """
    path = Path(path)
    about = describe(path)
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
    try:
        config = NetConfig.from_dict(about["net"])
    except (MeijinError, TypeError) as error:
        raise MeijinError(f"{path}: its net cannot be built ({error}); the file may be from a newer Meijin") from None
    with _opened(path) as file:
        with torch.device("meta"):  # shapes first: a forged config must not ask for more memory than the file has
            wanted = {name: list(tensor.shape) for name, tensor in Net(game, config).state_dict().items()}
        found = {name: list(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
        for name in sorted(wanted.keys() | {name for name in found if not name.startswith(_EXTRA)}):
            if wanted.get(name) != found.get(name):
                raise MeijinError(
                    f"{path}: the weights do not fit its own net: {name} is {found.get(name, 'missing')}, "
                    f"but should be {wanted.get(name, 'absent')}. The file is damaged; use another checkpoint"
                )
        tensors = {name: file.get_tensor(name) for name in found}
    if _digest(tensors) != about.get("digest"):
        raise MeijinError(f"{path}: the weights are not those that were saved; the file is damaged, use another one")
    extra = {name.removeprefix(_EXTRA): tensors.pop(name) for name in found if name.startswith(_EXTRA)}
    net = Net(game, config)
    net.load_state_dict(tensors)  # casts float16 back
    return Checkpoint(net.eval(), game, dict(about["facts"]), extra)


def describe(path: str | Path) -> dict[str, Any]:
    """What a checkpoint says about itself: format, game, shape, net and facts. Reads no weights."""
    path = Path(path)
    with _opened(path) as file:
        text = (file.metadata() or {}).get("meijin")
    if text is None:
        raise MeijinError(f"{path} is a safetensors file, but holds no net that `meijin train GAME zero` made")
    try:
        about = json.loads(text)
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


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that, whatever happens, the old one or the new one is there, never half of one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise MeijinError(
            f"{path} could not be written: {error.strerror or error}; what was there is still there"
        ) from None
    with contextlib.suppress(OSError):  # the name itself; some systems cannot
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Any]:
    if not path.is_file():
        what = "a directory" if path.is_dir() else "not there"
        raise MeijinError(f"{path} is {what}; give the path of a checkpoint (*.safetensors)")
    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            yield file
    except SafetensorError as error:
        raise MeijinError(
            f"{path} is damaged or no safetensors file ({error}); use another checkpoint of the run"
        ) from None
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


def _digest(tensors: Mapping[str, Tensor]) -> str:
    total = hashlib.sha256()
    for name in sorted(tensors):
        total.update(name.encode())
        total.update(tensors[name].contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return total.hexdigest()
