"""One iteration after the other: get data, train, keep the model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import Game
from meijin.learning.classic import checkpoint, examples, fitting
from meijin.learning.classic.choice import chooser
from meijin.learning.classic.config import ClassicConfig
from meijin.learning.classic.encoding import Encoder
from meijin.learning.classic.matches import Moves, play
from meijin.learning.classic.nets import PolicyNet, ValueNet, build, one_thread
from meijin.learning.classic.run import model_path
from meijin.search.solvers import unsolved


class Trainer:
    """The net, its optimizer and its data. `begin` once, then `iterate` and `keep` in turn."""

    def __init__(self, game: Game, config: ClassicConfig, folder: Path):
        Encoder(game)  # raises for games without bounds
        if config.learn == "exact" and (why := unsolved(game)):
            raise BadParameter(f"learn=exact cannot train {game}: {why}; learn=mcts needs no solver")
        self.game, self.config, self.folder = game, config, folder
        self.state = folder / f"trainer{checkpoint.SUFFIX}"
        self.net = self._fresh()
        self.optimizer = fitting.make_optimizer(self.net, config)
        self.start = folder / "checkpoints" / f"start{checkpoint.SUFFIX}"
        self.window: list[Moves] = []
        self.examples: examples.Examples | None = None
        self._config = json.dumps(config.as_dict())

    def _fresh(self) -> PolicyNet | ValueNet:
        config = self.config
        if config.init is not None and not self.state.exists():
            kept = checkpoint.load(config.init, config.net, self.game)
            net = build(self.game, config.shape)
            try:
                net.load_state_dict(kept.net.state_dict())
            except RuntimeError:
                raise BadParameter(
                    f"init='{config.init}' is a net of another shape; give features, kernel and relu as it was trained"
                ) from None
            return net
        with torch.random.fork_rng(devices=[]):  # leaves the caller's random numbers alone
            torch.manual_seed(config.seed)
            return build(self.game, config.shape)

    # ---- an iteration ----

    def begin(self, on_data: Callable[[int, int], None]) -> int:
        """Take up the run where it was left; the number of the next iteration."""
        first = self._restore(self.state) if self.state.exists() else 0
        if first == 0:
            checkpoint.save(self.start, self.net, self.game, self.config.shape, -1, self._config)
        if self.config.learn != "reinforce":
            self.examples = self._answers(on_data)
        return first

    def iterate(self, iteration: int) -> dict[str, Any]:
        """Train once; what `Progress` wants to know of it."""
        try:
            with one_thread():
                return self._iterate(iteration)
        except MeijinError as error:
            raise MeijinError(f"iteration {iteration}: {error}") from error

    def _iterate(self, iteration: int) -> dict[str, Any]:
        config, seed = self.config, (self.config.seed, iteration)
        if self.examples is not None:
            loss = fitting.example_loss(self.game, self.net, self.examples)
            means = fitting.fit(loss, len(self.examples), self.optimizer, config, seed)
            best, keeps = fitting.agreement(self.game, self.net, self.examples)
            solved = config.learn == "exact"  # the means of a tree search cross zero without a meaning
            return _outcome(means, len(self.examples), best=best, keeps=keeps if solved else None)
        wins, draws, losses = self._play(iteration)
        moves = Moves.joined(self.window)
        loss = fitting.move_loss(self.game, self.net, moves, config.baseline, config.entropy)
        means = fitting.fit(loss, len(moves), self.optimizer, config, seed)
        return _outcome(means, len(moves), wins=wins, draws=draws, losses=losses)

    def _play(self, iteration: int) -> tuple[int, int, int]:
        """Add the iteration's games to the window; wins, draws and losses of the learner."""
        config = self.config
        seats = [0] if config.seat == "first" else None
        seed = int(np.random.default_rng((config.seed, iteration, 7)).integers(1 << 62))
        learner, other = chooser(self.net, config.epsilon), chooser(self._opponent(iteration), config.epsilon)
        moves, results = play(self.game, learner, other, config.matches, seed, seats, config.alpha)
        self.window = [*self.window, moves][-config.window :]
        return results.total

    def _opponent(self, iteration: int) -> PolicyNet | ValueNet:
        """The net before the first iteration; every `refresh` iterations the latest model, or any one of the pool."""
        block = iteration // self.config.refresh
        if block == 0:
            return checkpoint.load(self.start, self.config.net, self.game).net
        latest = block * self.config.refresh - 1
        if self.config.opponent == "pool":
            latest = int(np.random.default_rng((self.config.seed, block, 8)).integers(latest + 1))
        return checkpoint.load(model_path(self.folder, latest), self.config.net, self.game).net

    # ---- what is kept ----

    def keep(self, iteration: int) -> None:
        """Keep the model, then all that the next iteration needs."""
        checkpoint.save(
            model_path(self.folder, iteration), self.net, self.game, self.config.shape, iteration, self._config
        )
        tensors = {f"net.{key}": value for key, value in self.net.state_dict().items()}
        for number, slots in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{number}.{key}": torch.as_tensor(v) for key, v in slots.items() if v is not None}
        for number, moves in enumerate(self.window):
            tensors[f"window.{number}.states"] = _as_bytes(moves.states)
            tensors[f"window.{number}.moves"] = torch.from_numpy(moves.moves)
            tensors[f"window.{number}.rewards"] = torch.from_numpy(moves.rewards)
        about = {"kind": "classic-trainer", "format": checkpoint.FORMAT, "iteration": str(iteration)}
        checkpoint.save_tensors(self.state, tensors, about)

    def _restore(self, file: Path) -> int:
        tensors, about = checkpoint.load_tensors(file)
        try:
            self.net.load_state_dict({k.removeprefix("net."): v for k, v in tensors.items() if k.startswith("net.")})
            slots: dict[int, dict[str, Any]] = {}
            windows: dict[int, dict[str, Any]] = {}
            for key, value in tensors.items():
                group, number, *rest = key.split(".")
                if group in ("optimizer", "window"):
                    (slots if group == "optimizer" else windows).setdefault(int(number), {})[rest[0]] = value
            self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": slots})
            self.window = [
                Moves(_as_states(w["states"], self.game), w["moves"].numpy(), w["rewards"].numpy())
                for _, w in sorted(windows.items())
            ]
            return int(about["iteration"]) + 1
        except (KeyError, ValueError, RuntimeError) as error:
            reason = (str(error) or repr(error)).splitlines()[0]
            raise BadParameter(
                f"'{file}' does not fit this run ({reason}); remove the run, or begin another with init='checkpoint'"
            ) from error

    def _answers(self, on_data: Callable[[int, int], None]) -> examples.Examples:
        """The positions and answers of a supervised run, made once."""
        file, config = self.folder / f"data{checkpoint.SUFFIX}", self.config
        if file.exists():
            kept, _ = checkpoint.load_tensors(file)
            try:
                arrays = [kept[key].numpy() for key in ("policy", "rewards", "known")]
                return examples.Examples(_as_states(kept["states"], self.game), *arrays)
            except (KeyError, ValueError) as error:
                raise BadParameter(
                    f"'{file}' does not fit this run ({error}); remove it, and it is made again"
                ) from None
        states = examples.positions(self.game, config.positions, config.seed)

        def told(row: int) -> None:
            on_data(row, len(states))

        if config.learn == "exact":
            made = examples.exact(self.game, states, config.alpha, told)
        else:
            made = examples.searched(self.game, states, config.simulations, config.seed, told)
        tensors = {
            "states": _as_bytes(made.states),
            "policy": torch.from_numpy(made.policy),
            "rewards": torch.from_numpy(made.rewards),
            "known": torch.from_numpy(made.known),
        }
        checkpoint.save_tensors(file, tensors, {"kind": "classic-data", "game": self.game.id})
        return made


def _outcome(means: list[float], positions: int, **known: Any) -> dict[str, Any]:
    blank = dict.fromkeys(("wins", "draws", "losses", "best", "keeps"))
    return {**blank, "first_loss": means[0], "loss": means[-1], "positions": positions, **known}


def _as_bytes(states: Any) -> torch.Tensor:
    return torch.from_numpy(np.frombuffer(states.tobytes(), np.uint8).reshape(len(states), -1).copy())


def _as_states(rows: torch.Tensor, game: Game) -> Any:
    if rows.ndim != 2 or rows.shape[1] != game.dtype.itemsize:
        raise ValueError(f"records of {tuple(rows.shape)} bytes, and one of {game} has {game.dtype.itemsize}")
    states = game.states(len(rows))
    states[:] = np.frombuffer(rows.numpy().tobytes(), game.dtype)
    return states
