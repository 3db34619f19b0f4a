"""Where checkpoints are: those of runs, and the champions that come with the package. Needs no PyTorch."""

from __future__ import annotations

import json
import os
import re
import struct
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from meijin.core.catalogue import make
from meijin.core.errors import MeijinError
from meijin.core.folders import data_folder
from meijin.core.game import Game

SUFFIX = ".safetensors"
LATEST = f"latest{SUFFIX}"
PACKAGED = Path(__file__).parents[1] / "data" / "champions"
SCALES = PACKAGED.parent / "levels.json"
INSTALL_TORCH = "pip install torch safetensors tensorboard"  # the same in a clone and for an installed package
MOVED = "MEIJIN_MOVED"  # variable on nodes of a cluster: JSON, path -> the copy of that checkpoint on this machine
LONGEST_HEADER = 16 * 2**20  # bytes of a safetensors header that are read


def torch_missing() -> str | None:
    """The module that training needs and that is not installed; None when all are."""
    return next((name for name in ("torch", "safetensors") if find_spec(name) is None), None)


def need_torch(what: str) -> None:
    """Raise an error that says what to install, unless PyTorch and safetensors are installed."""
    if missing := torch_missing():
        raise MeijinError(f"{what} needs PyTorch, and there is no module '{missing}' here: {INSTALL_TORCH}")


def numbered(folder: Path) -> list[Path]:
    """The checkpoints in a folder that are named by their iteration, oldest first."""
    return sorted(file for file in folder.glob(f"*{SUFFIX}") if file.stem.isdigit())


def find(path: str | Path) -> Path:
    """The checkpoint a path means: the file itself, or the newest one of a run's directory."""
    given = Path(json.loads(os.environ.get(MOVED, "{}")).get(str(path), path)).expanduser()
    if given.is_file():
        return given
    if not given.is_dir() and re.match(r"[a-z][a-z0-9+.-]+:/", str(path)):
        raise MeijinError(f"agents do not read object stores: copy '{path}' to this machine and give the copy")
    if not given.is_dir():
        raise MeijinError(f"there is no '{path}'; give a run's directory or a checkpoint (*{SUFFIX})")
    folder = given / "checkpoints" if (given / "checkpoints").is_dir() else given
    if (folder / LATEST).is_file():
        return folder / LATEST
    if not (kept := numbered(folder)):
        raise MeijinError(f"'{path}' holds no checkpoint yet; the first iteration of `meijin train` writes one")
    return kept[-1]


def header(path: Path) -> dict[str, str]:
    """The metadata of a safetensors file; empty if it is not one."""
    try:
        with path.open("rb") as file:
            size = struct.unpack("<Q", file.read(8))[0]
            if size > LONGEST_HEADER:
                return {}
            found = json.loads(file.read(size)).get("__metadata__")
    except (OSError, ValueError, struct.error, AttributeError, RecursionError):
        return {}
    return {str(name): str(text) for name, text in found.items()} if isinstance(found, dict) else {}


def kind(path: str | Path) -> str:
    """Which learner made the checkpoint that a path means: "zero", "classic-policy", ...; empty for none."""
    try:
        found = header(find(path))
    except MeijinError:
        return ""
    return found.get("kind", "zero") if "meijin" in found else ""


def is_zero(path: str | Path) -> bool:
    """Whether a path means a checkpoint of a zero net, as opposed to a classic one or none at all."""
    return kind(path) == "zero"


def about(path: Path) -> dict[str, Any] | None:
    """What a checkpoint says about itself (game, shape, net, facts); None if it cannot be read."""
    try:
        found = json.loads(header(path).get("meijin", "null"))
    except ValueError:
        return None
    return found if isinstance(found, dict) and isinstance(found.get("game"), str) else None


# ---- champions ----


def champion_folders() -> tuple[Path, ...]:
    """Where champions are searched for: the user's own first, then those of the package."""
    return data_folder() / "champions", PACKAGED


def champions() -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every champion and what it says about itself."""
    for folder in champion_folders():
        for path in sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else ():
            if not path.name.startswith(".") and (said := _about(path, path.stat().st_mtime_ns)) is not None:
                yield path, said


@lru_cache(maxsize=64)
def _about(path: Path, changed: int) -> dict[str, Any] | None:
    return about(path)


def scale(path: Path) -> list[Any] | None:
    """How a champion that comes with the package plays at the levels 1 to 9, if matches have calibrated them."""
    return _scales().get(path.stem) if path.parent == PACKAGED else None


@lru_cache(maxsize=1)
def _scales() -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = json.loads(SCALES.read_text(encoding="utf-8"))
    return found


def champion(game: Game) -> Path | None:
    """The champion of a game with these parameters: one trained for it or its like, else one that can play its size."""
    named = [(path, said) for path, said in champions() if said["game"].partition("(")[0] == game.name]
    for path, said in named:
        if said["game"] == game.id:
            return path
    for path, said in named if game.beginnings else ():
        if make(said["game"]).alike(game):
            return path
    pooled = [
        path for path, said in named if dict(said.get("net", {})).get("pooling") and _same_rules(game, said["game"])
    ]
    if not pooled:
        return None
    from meijin.learning.nets.weights import load

    return next((path for path in pooled if load(path).unfit(game) is None), None)


def _same_rules(game: Game, other: str) -> bool:
    """Whether a game differs from another of its name in its size only, or in what its champions need not know."""
    try:
        base = make(other)
        mine = {name: value for name, value in game.params.items() if name not in game.beginnings}
        differ = [name for name, value in mine.items() if value != base.params[name]]
        return all(  # what changes the board is its size
            len(make(game.name, **{**base.params, name: game.params[name]}).board.cells) != len(base.board.cells)
            for name in differ
        )
    except MeijinError:  # a size that does not go with the other's rules, or a game that is no more
        return False
