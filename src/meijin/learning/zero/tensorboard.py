"""A run's curves and pictures for TensorBoard, where that is installed."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meijin.core.rng import stream
from meijin.core.state import State
from meijin.learning.zero.nets import Net
from meijin.learning.zero.raw_net import RawNet

PIXELS = 16  # a cell in a picture is so wide

_writers: dict[Path, Any] = {}

_SECTIONS = (
    ("loss", "loss"),
    ("score_seat", "games"),
    ("game", "games"),
    ("resign", "games"),
    ("elo", "strength"),
    ("points", "strength"),
    ("gate", "strength"),
    ("eval_", "strength"),
    ("calibration", "value"),
    ("value_error", "value"),
)


def write(folder: Path, iteration: int, row: dict[str, Any], net: Net) -> None:
    """Add an iteration. What a stopped run wrote beyond the last checkpoint is hidden by what is written now."""
    writer = _writer(folder, iteration)
    if writer is None:
        return
    with contextlib.suppress(OSError):  # a full disk is told where it matters
        for name, value in row.items():
            section = next((section for start, section in _SECTIONS if name.startswith(start)), "run")
            writer.add_scalar(f"{section}/{name}", float(value), iteration)
        for seat in range(net.game.seats if net.game.seats > 1 and net.game.bounded else 0):
            if (score := row.get(f"score_seat_{seat}")) is not None:
                writer.add_scalar(f"games/win_rate_seat_{seat}", (float(score) + 1) / 2, iteration)
        picture = heat_map(net)
        if picture is not None:
            writer.add_image("policy/start", picture, iteration, dataformats="HW")
        writer.flush()


def heat_map(net: Net) -> NDArray[np.float32] | None:
    """The net's policy in the start position as a picture of the board, the likeliest cell white."""
    game = net.game
    if game.board.grid is None or game.board.grid_index is None:
        return None
    state = State(game).roll(stream(1))
    if state.is_over:
        return None
    rows, columns = game.board.grid
    image = np.zeros(rows * columns, np.float32)
    place = dict(enumerate(game.board.grid_index))
    for move, p in zip(state.legal_moves, RawNet(net).priors(state), strict=True):
        step = next((step for step in game.paths[move] or () if isinstance(step, int | frozenset)), None)
        cells = () if step is None else (step,) if isinstance(step, int) else step
        image[[place[cell] for cell in cells if cell in place]] += p
    if not image.max() > 0:
        return None
    return np.kron(image.reshape(rows, columns) / image.max(), np.ones((PIXELS, PIXELS), np.float32))


def close(folder: Path) -> None:
    """Write what is left; nothing more will come."""
    writer = _writers.pop(folder.resolve(), None)
    if writer is not None:
        with contextlib.suppress(OSError):
            writer.close()


def _writer(folder: Path, iteration: int) -> Any:
    folder = folder.resolve()
    if folder not in _writers:
        try:
            from torch.utils.tensorboard import SummaryWriter

            _writers[folder] = SummaryWriter(str(folder / "tensorboard"), purge_step=iteration)
        except (ImportError, OSError):
            _writers[folder] = None
    return _writers[folder]
