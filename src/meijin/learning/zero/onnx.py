"""Nets for other programs: ONNX files, and an evaluator that runs one with onnxruntime.

A file takes "planes", float [batch, plane, cell] with any batch, and gives "logits" [batch, move] and "values"
[batch, seat], as every evaluator does. Its metadata names the game, so that the evaluator knows what it evaluates.
"""

from __future__ import annotations

import contextlib
import json
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from meijin.core.atomic import write_file
from meijin.core.catalogue import make
from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.learning.nets.evaluator import Evaluator, check_batch

if TYPE_CHECKING:
    from meijin.learning.zero.nets import Net

_REMEDY = "pip install onnx onnxruntime onnxscript"


def export(net: Net, path: str | Path) -> Path:
    """Write a net as an ONNX file, its batch norms folded."""
    try:
        import onnx
        import onnxscript  # noqa: F401  (PyTorch's exporter needs it)
    except ImportError as error:
        raise MeijinError(f"ONNX export needs the package {error.name}: {_REMEDY}") from None
    import torch

    from meijin.learning.zero.inference import InferenceNet

    path = Path(path)
    example = torch.zeros(2, net.game.num_planes or 0, len(net.game.board.cells))
    with _quiet():
        program: Any = torch.onnx.export(
            InferenceNet(net).cpu().eval(),
            (example,),
            input_names=["planes"],
            output_names=["logits", "values"],
            dynamic_shapes={"x": {0: torch.export.Dim("batch")}},
            dynamo=True,
            verbose=False,
        )
    model = program.model_proto
    about = {"game": str(net.game), "net": net.config.to_dict()}
    onnx.helper.set_model_props(model, {"meijin": json.dumps(about)})
    write_file(path, model.SerializeToString())
    return path


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without the exporter's remarks about its internals and about packages that are not needed here."""
    logger = logging.getLogger("torch.onnx._internal.exporter._registration")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


class OnnxEvaluator(Evaluator):
    """Evaluates with onnxruntime."""

    def __init__(self, path: str | Path, batch: int, *, game: Game | None = None, threads: int | None = None):
        try:
            import onnxruntime
        except ImportError:
            raise MeijinError(f"an ONNX file needs the package onnxruntime: {_REMEDY}") from None
        check_batch(batch)
        path = Path(path)
        if not path.is_file():
            raise MeijinError(f"there is no file {path}; give the path of an ONNX file")
        options = onnxruntime.SessionOptions()
        if threads is not None:
            options.intra_op_num_threads = threads
        try:
            self._session: Any = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime has a class of its own for every way a file can be wrong
            raise MeijinError(f"{path} is damaged or not an ONNX file ({str(error).splitlines()[0]})") from None
        self.game, self.batch, self.path = game or self._game(path), batch, path
        shape = self.game.num_planes or 0, len(self.game.board.cells)
        expected = [("planes", [*shape]), ("logits", [self.game.num_moves]), ("values", [self.game.seats])]
        found = [(port.name, list(port.shape[1:])) for port in self._session.get_inputs() + self._session.get_outputs()]
        if found != expected:
            raise MeijinError(f"{path} does not fit {self.game}: it has {found}, the game needs {expected}")
        self.x = np.zeros((batch, *shape), np.float32)
        self.logits = np.zeros((batch, self.game.num_moves), np.float32)
        self.values = np.zeros((batch, self.game.seats), np.float32)

    def _game(self, path: Path) -> Game:
        try:
            name = json.loads(self._session.get_modelmeta().custom_metadata_map["meijin"])["game"]
        except (KeyError, TypeError, ValueError):
            raise MeijinError(f"{path} does not say which game it is for; give the game") from None
        return make(name)

    def load(self, net: Any) -> None:
        raise MeijinError(f"{self.path} is an ONNX file, whose weights stay as they are; export the other net")

    def run(self, count: int | None = None) -> None:
        count = self.batch if count is None else count
        self.logits[:count], self.values[:count] = self._session.run(None, {"planes": self.x[:count]})
