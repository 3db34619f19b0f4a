"""`Weights`: a net as data, read from a checkpoint of `meijin train GAME zero` without PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.learning import checkpoint, files
from meijin.learning.nets.config import NetConfig
from meijin.learning.nets.plan import Plan
from meijin.learning.nets.program import Program
from meijin.learning.nets.tower import assemble


class HasWeights(Protocol):
    """Such as a PyTorch net."""

    @property
    def game(self) -> Game: ...

    @property
    def config(self) -> NetConfig: ...

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
    if (kind := files.kind(path)).startswith("classic-"):
        own = kind.removeprefix("classic-")
        raise MeijinError(f"'{path}' holds a classic {own} net: play it as {own}(\"{path}\")")
    found, tensors = checkpoint.read(path, [checkpoint.ZERO])
    try:
        plan = Plan(found.game, NetConfig.from_dict(found.net))
    except (MeijinError, TypeError) as error:
        raise MeijinError(f"{path}: its net cannot be built ({error}); the file may be from a newer Meijin") from None
    weights = Weights(plan, tensors, found.facts)
    try:
        weights.program  # noqa: B018 - whether everything is there is seen when it is put together
    except MeijinError as error:
        raise MeijinError(f"{path}: {error}. The file is damaged; use another checkpoint") from None
    return weights
