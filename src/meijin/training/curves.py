"""A run's curves and pictures for TensorBoard, if that is installed."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meijin.core.state import State

PIXELS = 16  # width of a cell in a picture

#: Beginning of a metric's name -> the group that TensorBoard shows it in.
_GROUPS = (
    ("loss", "loss"),
    ("score_seat", "games"),
    ("game", "games"),
    ("resign", "games"),
    ("elo", "strength"),
    ("points", "strength"),
    ("gate_seconds", "run"),
    ("gate", "strength"),
    ("eval_", "strength"),
    ("calibration", "value"),
    ("value_error", "value"),
)


class Curves:
    """Writes event files; without the package `tensorboard`, nothing."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._writer: Any = None

    def write(self, iteration: int, row: Mapping[str, Any], image: NDArray[np.float32] | None = None) -> None:
        """Add an iteration. It hides what a killed session wrote about this and later ones."""
        try:
            from tensorboard.compat.proto.event_pb2 import Event, SessionLog
            from tensorboard.compat.proto.summary_pb2 import Summary
            from tensorboard.summary.writer.event_file_writer import EventFileWriter
        except ImportError:
            return
        values = [Summary.Value(tag=tag, simple_value=float(value)) for tag, value in _tagged(row)]
        if image is not None:
            values.append(Summary.Value(tag="policy/start", image=_png(image)))
        with contextlib.suppress(OSError):  # a full disk is reported where it matters
            now = time.time()
            if self._writer is None:
                self._writer = EventFileWriter(str(self._folder))
                restart = SessionLog(status=SessionLog.START)
                self._writer.add_event(Event(wall_time=now, step=iteration, session_log=restart))
            self._writer.add_event(Event(wall_time=now, step=iteration, summary=Summary(value=values)))
            self._writer.flush()

    def close(self) -> None:
        if self._writer is not None:
            with contextlib.suppress(OSError):
                self._writer.close()
            self._writer = None


def _tagged(row: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [
        (f"{next((group for start, group in _GROUPS if name.startswith(start)), 'run')}/{name}", value)
        for name, value in row.items()
    ]


def _png(image: NDArray[np.float32]) -> Any:
    from PIL import Image
    from tensorboard.compat.proto.summary_pb2 import Summary

    out = io.BytesIO()
    Image.fromarray((image * 255).astype(np.uint8)).save(out, format="PNG")
    return Summary.Image(height=len(image), width=image.shape[1], colorspace=1, encoded_image_string=out.getvalue())


def heat_map(state: State, priors: Sequence[float]) -> NDArray[np.float32] | None:
    """A policy as a picture of the board, the most likely cell white; None if the board is not a grid."""
    game = state.game
    if game.board.grid is None or game.board.grid_index is None:
        return None
    rows, columns = game.board.grid
    image = np.zeros(rows * columns, np.float32)
    place = dict(enumerate(game.board.grid_index))
    for move, p in zip(state.legal_moves, priors, strict=True):
        step = next((step for step in game.paths[move] or () if isinstance(step, int | frozenset)), None)
        cells = () if step is None else (step,) if isinstance(step, int) else step
        image[[place[cell] for cell in cells if cell in place]] += p
    if not image.max() > 0:
        return None
    return np.kron(image.reshape(rows, columns) / image.max(), np.ones((PIXELS, PIXELS), np.float32))
