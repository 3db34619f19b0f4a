"""A run of the classic nets: get data, train, keep the model, again and again.

Equal configs make equal runs, however often they are stopped or killed: the iteration in flight is done again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load as from_bytes
from safetensors.torch import save as to_bytes
from torch import Tensor

from meijin.core.atomic import write_file
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.expression import Call
from meijin.core.game import Game
from meijin.learning.classic import checkpoint, examples, fitting
from meijin.learning.classic.choice import chooser
from meijin.learning.classic.config import ClassicConfig
from meijin.learning.classic.encoding import Encoder
from meijin.learning.classic.episodes import Moves, play
from meijin.learning.classic.nets import PolicyNet, ValueNet, build, one_thread
from meijin.learning.config import RunConfig
from meijin.search.solvers import unsolved
from meijin.training.curves import weights
from meijin.training.events import Trained
from meijin.training.run import Cut, Row, Run


class ClassicRun(Run[ClassicConfig]):
    """One run of a classic net; see `Run`. The net before the first iteration is kept as checkpoint 0."""

    CONFIG: ClassVar[type[RunConfig]] = ClassicConfig
    MEMORY: ClassVar[str] = "start another run with lower matches, positions or batch"

    def _build(self) -> None:
        config = self.config
        if self.device != "cpu":
            raise BadParameter(f"device '{self.device}': classic nets train on the CPU")
        Encoder(self.game)  # raises for games without bounds
        if config.learn == "exact" and (why := unsolved(self.game)):
            raise BadParameter(f"learn=exact cannot train {self.game}: {why}; learn=mcts needs no solver")
        self.net = self._fresh()
        self.optimizer = fitting.make_optimizer(self.net, config)
        self.window: list[Moves] = []
        self.examples: examples.Examples | None = None

    def _fresh(self) -> PolicyNet | ValueNet:
        config = self.config
        with torch.random.fork_rng(devices=[]):  # leaves the caller's random numbers alone
            torch.manual_seed(config.seed)
            net = build(self.game, config.shape)
        if config.init is not None and not self.resumed:
            try:
                net.load_state_dict(checkpoint.load(config.init, config.net, self.game).net.state_dict())
            except RuntimeError:
                raise BadParameter(
                    f"init='{config.init}' is a net of another shape; set features, kernel and relu as it was trained"
                ) from None
        return net

    def expression(self, path: Path) -> str:
        return str(Call(self.config.net, (str(path),)))

    # ---- an iteration ----

    def _iterate(self) -> Row:
        if not self.folder.latest.exists():
            self._write(self.folder.numbered(0), {"iteration": 0}, whole=False)
        with one_thread():
            return self._learn_from_examples() if self.config.learn != "reinforce" else self._reinforce()

    def _learn_from_examples(self) -> Row:
        if self.examples is None:
            self.examples = self._answers()
        row = self._fit(fitting.example_loss(self.game, self.net, self.examples), len(self.examples))
        row["best"], keeps = fitting.agreement(self.game, self.net, self.examples)
        if self.config.learn == "exact":  # the means of a tree search cross zero without a meaning
            row["keeps"] = keeps
        return row

    def _reinforce(self) -> Row:
        """Play against the opponent and learn from the games of the last iterations."""
        config = self.config
        seats = [0] if config.seat == "first" else None
        seed = int(np.random.default_rng((config.seed, self.iteration, 7)).integers(1 << 62))
        learner, other = chooser(self.net, config.epsilon), chooser(self._opponent(), config.epsilon)

        def on_ply(done: int) -> None:
            if not self.report("self-play", done, config.matches):
                raise Cut

        new, results = play(self.game, learner, other, config.matches, seed, seats, config.alpha, on_ply)
        window = [*self.window, new][-config.window :]
        moves = Moves.joined(window)
        row = self._fit(fitting.move_loss(self.game, self.net, moves, config.baseline, config.entropy), len(moves))
        self.window = window
        return row | dict(zip(("wins", "draws", "losses"), results.total, strict=True))

    def _fit(self, loss: fitting.Loss, count: int) -> Row:
        config = self.config

        def on_slice(done: int, total: int) -> bool:
            return self.report("training", done, total, self._costs["saving"])

        try:
            means, steps = fitting.fit(loss, count, self.optimizer, config, (config.seed, self.iteration), on_slice)
        except MeijinError as error:
            raise MeijinError(f"iteration {self.iteration + 1}: {error}") from error
        if self.stopping or not means:  # done again when the run resumes
            raise Cut
        self.emit(Trained(count, steps, {"loss": means[-1]}))
        return {"loss": means[-1], "first_loss": means[0], "positions": count}

    def _opponent(self) -> PolicyNet | ValueNet:
        """The net before the first iteration; every `refresh` iterations the latest model, or any one of the pool."""
        config = self.config
        block = self.iteration // config.refresh
        latest = block * config.refresh
        if block and config.opponent == "pool":
            latest = 1 + int(np.random.default_rng((config.seed, block, 8)).integers(latest))
        return checkpoint.load(self.folder.numbered(latest), config.net, self.game).net

    def _spreads(self) -> Mapping[str, NDArray[np.float32]]:
        return weights(self.net)

    # ---- files ----

    def _write(self, path: Path, facts: Mapping[str, Any], whole: bool) -> None:
        checkpoint.save(path, self.net, self.game, self.config.shape, extra=self._state() if whole else None, **facts)

    def _state(self) -> dict[str, Tensor]:
        """All that the next iteration needs besides the net."""
        found: dict[str, Tensor] = {}
        for number, slots in self.optimizer.state_dict()["state"].items():
            found |= {f"optimizer.{number}.{key}": torch.as_tensor(v) for key, v in slots.items() if v is not None}
        for number, moves in enumerate(self.window):
            found[f"window.{number}.states"] = _as_bytes(moves.states)
            found[f"window.{number}.moves"] = torch.from_numpy(moves.moves)
            found[f"window.{number}.rewards"] = torch.from_numpy(moves.rewards)
        return found

    def _load(self, path: Path) -> Mapping[str, Any]:
        kept = checkpoint.load(path, self.config.net, self.game)
        slots: dict[int, dict[str, Any]] = {}
        windows: dict[int, dict[str, Any]] = {}
        try:
            self.net.load_state_dict(kept.net.state_dict())
            for key, value in kept.extra.items():
                group, number, name = key.split(".")
                (slots if group == "optimizer" else windows).setdefault(int(number), {})[name] = value
            self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": slots})
            self.window = [
                Moves(_as_states(w["states"], self.game), w["moves"].numpy(), w["rewards"].numpy())
                for _, w in sorted(windows.items())
            ]
        except (KeyError, ValueError, RuntimeError) as error:
            reason = (str(error) or repr(error)).splitlines()[0]
            raise BadParameter(
                f"{path} does not fit this run ({reason}); start another run with init='{path}'"
            ) from None
        return kept.facts

    def _answers(self) -> examples.Examples:
        """The positions and answers of a supervised run, made once."""
        file, config = self.folder.path / "data.safetensors", self.config
        if file.exists():
            try:
                kept = from_bytes(file.read_bytes())
                arrays = [kept[key].numpy() for key in ("policy", "rewards", "known")]
                return examples.Examples(_as_states(kept["states"], self.game), *arrays)
            except (OSError, SafetensorError, KeyError, ValueError) as error:
                raise MeijinError(f"{file} does not fit this run ({error}); remove it, and it is made again") from None
        states = examples.positions(self.game, config.positions, config.seed)

        def on_row(row: int) -> None:
            if not self.report("positions", row, len(states)):
                raise Cut

        if config.learn == "exact":
            made = examples.exact(self.game, states, config.alpha, on_row)
        else:
            made = examples.searched(self.game, states, config.simulations, config.seed, on_row)
        tensors = {"states": _as_bytes(made.states)}
        for name in ("policy", "rewards", "known"):
            tensors[name] = torch.from_numpy(getattr(made, name))
        write_file(file, to_bytes(tensors))
        return made


def _as_bytes(states: Any) -> Tensor:
    return torch.from_numpy(np.frombuffer(states.tobytes(), np.uint8).reshape(len(states), -1).copy())


def _as_states(rows: Tensor, game: Game) -> Any:
    if rows.ndim != 2 or rows.shape[1] != game.dtype.itemsize:
        raise ValueError(f"records of {tuple(rows.shape)} bytes, and one of {game} has {game.dtype.itemsize}")
    states = game.states(len(rows))
    states[:] = np.frombuffer(rows.numpy().tobytes(), game.dtype)
    return states
