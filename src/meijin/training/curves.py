"""A run's curves, pictures and histograms for TensorBoard, if that is installed."""

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
DARKEST = 0.2  # of the move with the lowest value; cells without a move are black
BINS = 40  # of a histogram

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

    def write(
        self,
        iteration: int,
        row: Mapping[str, Any],
        pictures: Mapping[str, NDArray[np.float32]],
        spreads: Mapping[str, NDArray[np.float32]],
    ) -> None:
        """Add an iteration. It hides what a killed session wrote about this and later ones."""
        try:
            from tensorboard.compat.proto.event_pb2 import Event, SessionLog
            from tensorboard.compat.proto.summary_pb2 import Summary
            from tensorboard.summary.writer.event_file_writer import EventFileWriter
        except ImportError:
            return
        values = [Summary.Value(tag=tag, simple_value=float(value)) for tag, value in _tagged(row)]
        values += [Summary.Value(tag=tag, image=_png(picture)) for tag, picture in pictures.items()]
        for tag, numbers in spreads.items():
            if len(known := numbers[np.isfinite(numbers)]):
                values.append(Summary.Value(tag=tag, histo=_histogram(known)))
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


def _histogram(numbers: NDArray[np.float32]) -> Any:
    from tensorboard.compat.proto.summary_pb2 import HistogramProto

    numbers = numbers.astype(np.float64)
    counts, edges = np.histogram(numbers, BINS)
    return HistogramProto(
        min=numbers.min(), max=numbers.max(), num=len(numbers), sum=numbers.sum(),
        sum_squares=np.square(numbers).sum(), bucket_limit=edges[1:], bucket=counts,
    )  # fmt: skip


def weights(net: Any) -> dict[str, NDArray[np.float32]]:
    """The weights of a net of PyTorch by layer, without biases and norms."""
    return {
        f"weights/{name.removesuffix('.weight')}": part.detach().float().cpu().numpy().ravel()
        for name, part in net.named_parameters()
        if part.ndim > 1
    }


def heat_map(state: State, priors: Sequence[float]) -> NDArray[np.float32] | None:
    """A policy as a picture of the board, the most likely cell white; None if the board is not a grid."""
    cells, grid = _cells(state), state.game.board.grid
    if cells is None or grid is None:
        return None
    image = np.zeros(grid, np.float32)
    for places, p in zip(cells, priors, strict=True):
        image.flat[places] += p
    return _enlarged(image / image.max()) if image.max() > 0 else None


def value_map(state: State, values: Sequence[float]) -> NDArray[np.float32] | None:
    """What moves are worth as a picture of the board: the best cell white, the worst dark, those without a move black.

    None if the board is not a grid.
    """
    cells, grid = _cells(state), state.game.board.grid
    if cells is None or grid is None or not any(cells):
        return None
    low, high = min(values), max(values)
    image = np.zeros(grid, np.float32)
    for places, value in zip(cells, values, strict=True):
        shade = DARKEST + (1 - DARKEST) * (value - low) / (high - low) if high > low else 1.0
        image.flat[places] = np.maximum(image.flat[places], shade)  # of several moves on a cell, the best
    return _enlarged(image)


def _cells(state: State) -> list[list[int]] | None:
    """Where each legal move is on the board, by places of the grid; None if the board is none."""
    game = state.game
    if game.board.grid is None or game.board.grid_index is None:
        return None
    place, found = dict(enumerate(game.board.grid_index)), []
    for move in state.legal_moves:
        step = next((step for step in game.paths[move] or () if isinstance(step, int | frozenset)), None)
        cells = () if step is None else (step,) if isinstance(step, int) else step
        found.append([place[cell] for cell in cells if cell in place])
    return found


def _enlarged(image: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.kron(image, np.ones((PIXELS, PIXELS), np.float32))
