"""Checkpoints: tensors in a safetensors file with what they are in its metadata. Nothing is unpickled.

Metadata: `kind` ("classic-policy" or "classic-value"), `format`, `game` (its expression), `shape` (JSON: what the net
is built from), `iteration`, `config` (JSON).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import Game

if TYPE_CHECKING:
    import torch

    from meijin.learning.classic.nets import PolicyNet, ValueNet

FORMAT = "1"
SUFFIX = ".safetensors"
KINDS = ("classic-policy", "classic-value")


def need_torch(what: str) -> None:
    """Raise an error that says what to install, unless PyTorch and safetensors are there."""
    try:
        import safetensors  # noqa: F401
        import torch  # noqa: F401
    except ImportError as error:
        raise MeijinError(
            f"{what} needs PyTorch, and there is no module '{error.name}' here: "
            "pip install torch safetensors tensorboard"
        ) from error


def write(path: Path, writer: Callable[[Path], None]) -> None:
    """Write a file under a temporary name, flush it and rename it: there is the old file or the new one, never half."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        writer(temporary)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise MeijinError(
            f"cannot write '{path}': {error.strerror or error}; what was kept before is whole: make room and resume"
        ) from error


def save_tensors(path: Path, tensors: dict[str, torch.Tensor], about: dict[str, str]) -> None:
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    def writer(temporary: Path) -> None:
        try:
            save_file({key: value.contiguous() for key, value in tensors.items()}, temporary, about)
        except SafetensorError as error:  # how safetensors reports a full disk
            raise OSError(str(error)) from error

    write(path, writer)


def load_tensors(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """(tensors, metadata) of a safetensors file."""
    need_torch(f"'{path}'")
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            return {key: file.get_tensor(key) for key in file.keys()}, dict(file.metadata() or {})  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise BadParameter(
            f"'{path}' is not a whole safetensors file ({error}); give another checkpoint of the run, or train again"
        ) from error


def find(path: str | Path) -> Path:
    """The checkpoint a path means: the file itself, or the latest one of a run's directory."""
    given = Path(path)
    if given.is_dir():
        folder = given / "checkpoints" if (given / "checkpoints").is_dir() else given
        kept = sorted(file for file in folder.glob(f"*{SUFFIX}") if file.stem.isdigit())
        if not kept:
            raise BadParameter(f"there is no checkpoint in '{folder}' yet; train first, or give a {SUFFIX} file")
        return kept[-1]
    if not given.is_file():
        raise BadParameter(f"there is no checkpoint '{path}'; give a run's directory or a {SUFFIX} file")
    return given


def metadata(path: str | Path) -> dict[str, str]:
    """What a checkpoint says of itself; `kind` says who made it."""
    need_torch(f"'{path}'")
    from safetensors import SafetensorError, safe_open

    file = find(path)
    try:
        with safe_open(file, framework="np") as opened:
            return dict(opened.metadata() or {})
    except (OSError, SafetensorError) as error:
        raise BadParameter(
            f"'{file}' is not a whole safetensors file ({error}); give another checkpoint of the run, or train again"
        ) from error


@dataclass(frozen=True)
class Checkpoint:
    """A net that was kept, with the game it was trained for."""

    path: Path
    kind: str  # one of KINDS
    game: str
    iteration: int
    net: PolicyNet | ValueNet


def save(path: Path, net: PolicyNet | ValueNet, game: Game, shape: dict[str, Any], iteration: int, config: str) -> None:
    about = {
        "kind": f"classic-{shape['net']}",
        "format": FORMAT,
        "game": game.id,
        "shape": json.dumps(shape),
        "iteration": str(iteration),
        "config": config,
    }
    save_tensors(path, net.state_dict(), about)


def load(path: str | Path, want: str | None = None, game: Game | None = None) -> Checkpoint:
    """Read a checkpoint. `want`: "policy" or "value", whichever it has to be; `game`: what it has to be trained for."""
    file = find(path)
    tensors, about = load_tensors(file)
    kind = about.get("kind", "")
    if kind not in KINDS:
        said = f"its kind is '{kind}'" if kind else "it says nothing of its kind"
        raise BadParameter(f"'{file}' is not a checkpoint of a classic net: {said}; give one of {' or '.join(KINDS)}")
    if about.get("format") != FORMAT:
        raise BadParameter(
            f"'{file}' has format {about.get('format')!r}, and this version of Meijin reads '{FORMAT}'; "
            "use the version that wrote it, or train again"
        )
    if want is not None and kind != f"classic-{want}":
        other = kind.removeprefix("classic-")
        raise BadParameter(f"'{file}' holds a {other} net, not a {want} net: play it as {other}(\"{file}\")")
    if game is not None and about.get("game") != game.id:
        raise BadParameter(f"'{file}' was trained for {about.get('game')}, not for {game}; give one for {game}")
    from meijin.learning.classic.nets import build

    try:
        net = build(game or make(about["game"]), json.loads(about["shape"]))
        net.load_state_dict(tensors)
        iteration = int(about["iteration"])
    except (KeyError, ValueError, TypeError, RuntimeError) as error:
        reason = (str(error) or repr(error)).splitlines()[0]
        raise BadParameter(
            f"the weights in '{file}' do not fit the net it describes ({reason}); "
            "give another checkpoint of the run, or train again"
        ) from error
    return Checkpoint(file, kind, about["game"], iteration, net.eval())
