"""A run of AlphaZero: a directory, and the loop of self-play, training and gate that fills it.

    runs/NAME/config.json             every hyper-parameter
              metrics.csv             a row an iteration; `tensorboard/` shows the same as curves
              checkpoints/latest.safetensors    the net that plays, and all that is needed to go on
              checkpoints/000010.safetensors    a net now and then, small
              games/000010.safetensors          the positions of an iteration, as long as the window reaches back

Every file is written beside its place and renamed. The checkpoint comes last: what an iteration left before it is
thrown away when the run resumes, so a kill costs the iteration in flight and nothing else.
"""

from __future__ import annotations

import copy
import csv
import io
import math
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.statistics import elo
from meijin.learning.nets.config import NetConfig
from meijin.learning.zero import checkpoint, tensorboard
from meijin.learning.zero.config import ZeroConfig
from meijin.learning.zero.files import LATEST
from meijin.learning.zero.inference import make_current
from meijin.learning.zero.learner import Learner
from meijin.learning.zero.matches import Matches
from meijin.learning.zero.nets import Net
from meijin.learning.zero.positions import Positions, policy_width
from meijin.learning.zero.replay import Window, deduplicate
from meijin.learning.zero.sources import Background, Local, Processes, Source
from meijin.search.forest.scale import by_chance

RISING = "rising/"  # in a checkpoint: the weights that have not passed the gate yet
LEAST_FREE = 64 * 2**20  # bytes of disk below which a run stops while it still can

Report = Callable[[dict[str, Any]], None]


class Run:
    """One run directory, new or resumed. `iterate` does one iteration, `go` all of them."""

    def __init__(
        self,
        folder: Path,
        config: ZeroConfig | None = None,
        *,
        resume: bool = False,
        device: str = "cpu",
        selfplay_devices: tuple[str, ...] = (),
        report: Report = lambda event: None,
        evaluate: Callable[[Net], dict[str, float]] | None = None,
        warm: Callable[[], Positions] | None = None,
    ):
        self.folder, self.report, self.evaluate, self.warm, self.device = folder, report, evaluate, warm, device
        self.enough = ""  # why the run may end before its length; set by whoever evaluates
        config = self._open(config, resume)
        self.config, self.game = config, make(config.game)
        if why := config.unfit(self.game):
            raise BadParameter(f"config: {why}")
        self.iteration, self.seconds, self.elo = 0, 0.0, 0.0
        self.rival = 0  # the iteration whose net the next Elo is measured against
        if device != "cpu":
            make_current(device)
        torch.manual_seed(config.training.seed)
        self.learner = Learner(self._net(), config.training, device)
        # With a gate the net that plays is another than the one that learns, until that has beaten it.
        self.playing = copy.deepcopy(self.learner.averaged) if config.gate.games else self.learner.averaged
        self._make_folder()  # now that the config has proved sound
        width = policy_width(self.game, config.replay.policy_width)
        self.learner.lists_all = width == self.game.branching
        self.window = Window(self.game, config.replay.window, width, device)
        if resume:
            self._restore()
        # Only now: a resume that is refused leaves the run's own config as it was.
        checkpoint.write_whole(self.folder / "config.json", config.to_json().encode())
        self.devices = selfplay_devices or (device,)
        self.source: Source | None = None
        self.matches = Matches(self.game, config, device)

    # ---- the directory ----

    def _open(self, config: ZeroConfig | None, resume: bool) -> ZeroConfig:
        path = self.folder / "config.json"
        if resume:
            if not path.exists():
                raise MeijinError(f"{self.folder} holds no run to resume; leave out --resume to begin one there")
            kept = ZeroConfig.load(path)
            if config is not None and config.game != kept.game:
                raise MeijinError(f"{self.folder} is a run of {kept.game}, not of {config.game}")
            config = config or kept
        elif path.exists():
            raise MeijinError(
                f"{self.folder} holds a run already; add --resume to go on with it, or choose another name"
            )
        elif config is None:
            raise MeijinError("a new run needs a config")
        return config

    def _make_folder(self) -> None:
        for part in ("checkpoints", "games"):
            try:
                (self.folder / part).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise MeijinError(f"{self.folder} cannot be made: {error.strerror or error}") from None

    def _net(self) -> Net:
        shape = dict(self.config.net)
        size = shape.pop("size", "nano")
        net = Net(self.game, NetConfig.sized(size, **shape))
        if net.value.units is not None:  # to think nothing of a position is to expect what random play makes of it
            net.value.units.copy_(torch.tensor(by_chance(self.game)))
        return net

    @property
    def latest(self) -> Path:
        return self.folder / "checkpoints" / LATEST

    def _restore(self) -> None:
        # Without the latest checkpoint the newest of those that stay is the one to go on from.
        kept = sorted(path for path in self.latest.parent.glob("*.safetensors") if path.stem.isdigit())
        path = self.latest if self.latest.exists() else kept[-1] if kept else None
        total = 0
        if path is not None:
            try:
                found = checkpoint.load(path, self.game)
            except MeijinError as error:
                if path != self.latest or not kept:
                    raise
                raise MeijinError(f"{error}. Without {path.name}, --resume goes on from {kept[-1].name}") from None
            if found.net.config != self.learner.net.config:
                raise MeijinError(
                    f"{path} holds another net than config.json asks for; put the old `net` back, or begin a new run"
                )
            for net in {self.learner.net, self.learner.averaged, self.playing}:
                net.load_state_dict(found.net.state_dict())
            if found.extra:
                self.learner.restore(found.extra)
            if rising := {n.removeprefix(RISING): t for n, t in found.extra.items() if n.startswith(RISING)}:
                self.learner.averaged.load_state_dict(rising)
            facts = found.facts
            self.iteration, self.rival = int(facts["iteration"]), int(facts.get("rival", 0))
            total = int(facts.get("positions", 0))
            self.seconds, self.elo = float(facts["seconds"]), float(facts["elo"])
        games = sorted((self.folder / "games").glob("*.safetensors"))
        for path in games:
            if int(path.stem) > self.iteration:
                path.unlink()  # the iteration in flight when the run was stopped
        games = [path for path in games if path.exists()]
        self.window.before = max(0, total - sum(map(_rows, games)))
        for path in games:
            kept_rows = Positions.load(path, self.game)
            if (width := kept_rows.moves.shape[1]) != self.window.width:
                raise MeijinError(
                    f"replay.policy_width: the run's positions list {width} moves each, and the config asks for "
                    f"{self.window.width}; put the old width back, or begin a new run"
                )
            self.window.add(kept_rows)
        self._trim_metrics()

    # ---- the loop ----

    @property
    def progress(self) -> float:
        """The share of the run that is done."""
        length = self.config.length
        parts = [self.iteration / length.iterations]
        if length.seconds:
            parts.append(self.seconds / length.seconds)
        return min(1.0, max(parts))

    def go(self) -> None:
        """Iterate to the end of the run."""
        try:
            while self.progress < 1.0 and not self.enough:
                self.iterate()
        except Exception as error:
            if "out of memory" not in str(error).lower().replace("_", " "):
                raise
            raise MeijinError(
                f"no memory is left on {', '.join({self.device, *self.devices})} after iteration {self.iteration} "
                f"({str(error).splitlines()[0]}); lower selfplay.games, training.batch or replay.window, then --resume"
            ) from error
        finally:
            self.close()

    def close(self) -> None:
        tensorboard.close(self.folder)
        if self.source is not None:
            self.source.close()
            self.source = None

    def iterate(self) -> dict[str, float]:
        """Self-play, training, gate, evaluation, checkpoint."""
        config, began = self.config, time.perf_counter()
        self._room()
        if self.warm is not None and not self.iteration and not self.window.total:
            self._begin_warm(self.warm)
        if self.source is None:
            self.source = self._source()
        progress = self.progress
        self.source.load(self.playing, self.latest, progress)
        new, row = self.source.collect(config.length.positions, self._progress("self-play"))
        played, playing = time.perf_counter() - began, row.pop("playing_seconds")
        iteration = self.iteration + 1
        new.save(self.folder / "games" / f"{iteration:06d}.safetensors", game=str(self.game))
        self.window.add(new)

        data = self.window.latest(self._reach())
        if config.replay.deduplicate:
            data = deduplicate(data)
        learned = self.window.total >= config.replay.start
        if learned:
            self.report({"what": "training"})
            row |= self._train(data, len(new))
        trained = time.perf_counter() - began - played

        row |= {"iteration": iteration, "positions": self.window.total, "window": len(data)}
        row |= _calibration(new)
        if config.selfplay.curriculum:
            row["simulations_a_move"] = config.search_at(progress).simulations
        if learned and config.gate.games:
            row |= self._gate()
        self.iteration = iteration
        self.seconds += time.perf_counter() - began
        if config.length.evaluate and iteration % config.length.evaluate == 0:
            self.report({"what": "evaluation"})
            row |= self._evaluate()
        row |= {"seconds": self.seconds, "selfplay_seconds": played, "training_seconds": trained}
        row["simulations_per_second"] = row.get("simulations", 0) / max(playing, 1e-9)
        behind, dropped, size = self._surplus()
        row["games_mb"] = size / 2**20
        if config.replay.disk_mb:
            row["dropped_for_disk"] = len(dropped)
        self._write_metrics(row)
        self._save()
        for path in behind + dropped:
            path.unlink(missing_ok=True)
        self.report({"what": "iteration", **row})
        return row

    def _begin_warm(self, warm: Callable[[], Positions]) -> None:
        """Learn from others' games first; they stay in the window until self-play has filled it."""
        self.report({"what": "warm start"})
        began = time.perf_counter()
        given, config = warm(), self.config.training
        given.save(self.folder / "games" / f"{0:06d}.safetensors", game=str(self.game))
        self.window.add(given)
        data = deduplicate(given.to(self.device)) if self.config.replay.deduplicate else given.to(self.device)
        steps = self.config.warm.steps or max(1, round(len(given) * config.reuse / config.batch))
        losses = self.learner.fit(data, steps, self.progress)
        self.playing.load_state_dict(self.learner.averaged.state_dict())
        self.seconds += time.perf_counter() - began
        self._save()
        self.report({"what": "warmed", "positions": len(given), "steps": steps, **losses})

    def _train(self, data: Positions, new: int) -> dict[str, float]:
        config = self.config.training
        if self.device == "cpu":
            torch.set_num_threads(config.threads)
        steps = max(1, round(new * config.reuse / config.batch))
        losses = self.learner.fit(data, steps, self.progress)
        return {f"loss_{name}" if "entropy" not in name else name: value for name, value in losses.items()} | {
            "steps": self.learner.steps,
            "rate": self.learner.rate(self.progress),
        }

    def _reach(self) -> int:
        replay = self.config.replay
        return int(min(replay.window, max(replay.start, replay.growth * self.window.total)))

    def _source(self) -> Source:
        config = self.config
        seed = config.selfplay.seed + 104_729 * self.iteration  # a run that is resumed plays other games
        if len(self.devices) == 1 and self.devices[0] == self.device:
            kind = Background if config.selfplay.overlap else Local
            return kind(self.playing, config, self.device, seed)
        self._save()  # what the workers begin with
        return Processes(self.folder, config, self.devices, self.latest, seed, self.report)

    def _progress(self, what: str) -> Callable[[int, int], None]:
        return lambda done, total: self.report({"what": what, "done": done, "total": total})

    # ---- matches between nets ----

    def _gate(self) -> dict[str, float]:
        """Whether the new weights may play; else the old ones play on while the new ones go on learning."""
        new = self.learner.averaged
        share, games, passed = self.matches.gate(new, self.playing, self.iteration)
        self.report({"what": "gate", "share": share, "games": games, "passed": passed})
        if passed:
            self.playing.load_state_dict(new.state_dict())
        return {"gate": share, "gate_games": games, "gate_passed": int(passed)}

    def _evaluate(self) -> dict[str, float]:
        """Elo against the last net that was kept, and what the caller wants to know."""
        found: dict[str, float] = {}
        net = self.playing
        if self.game.seats == 2 and not self.game.chance:
            rival = self._rival(self.rival)
            if rival.exists():
                old = checkpoint.load(rival, self.game).net.to(self.device)
                share = float(self.matches.results(net, old, 128, 32, 4, self.iteration).mean())
                share = min(max(share, 0.5 / 128), 1 - 0.5 / 128)
                self.elo += elo(share)
                found |= {"elo": self.elo, "points_against_last": share}
            self.rival = self.iteration
            checkpoint.save(self._rival(self.rival), net, iteration=self.iteration)
        if self.evaluate is not None:
            found |= self.evaluate(net)
        return found

    # ---- files ----

    def _rival(self, iteration: int) -> Path:
        return self.folder / "checkpoints" / f"rival-{iteration:06d}.safetensors"

    def _save(self) -> None:
        folder, length = self.folder / "checkpoints", self.config.length
        facts: dict[str, Any] = {
            "iteration": self.iteration,
            "seconds": self.seconds,
            "elo": self.elo,
            "rival": self.rival,
            "positions": self.window.total,
            "progress": self.progress,
        }
        net, extra = self.playing, self.learner.state()
        if net is not self.learner.averaged:
            extra |= {RISING + name: tensor for name, tensor in self.learner.averaged.state_dict().items()}
        if length.keep and self.iteration % length.keep == 0 and self.iteration:
            checkpoint.save(folder / f"{self.iteration:06d}.safetensors", net, half=True, **facts)
        checkpoint.save(self.latest, net, extra=extra, **facts)
        for path in folder.glob("rival-*.safetensors"):
            if path != self._rival(self.rival):
                path.unlink()

    def _surplus(self) -> tuple[list[Path], list[Path], int]:
        """Files of positions behind the window, those the disk's budget has no room for, and the bytes of the rest."""
        behind: list[Path] = []
        dropped: list[Path] = []
        reach, size, budget = len(self.window), 0, self.config.replay.disk_mb * 2**20 or math.inf
        for path in sorted((self.folder / "games").glob("*.safetensors"), reverse=True):  # newest first
            if reach <= 0:
                behind.append(path)
            elif dropped or (size and size + path.stat().st_size > budget):  # the newest stays in any case
                dropped.append(path)
            else:
                size += path.stat().st_size
            reach -= _rows(path)
        return behind, dropped, size

    def _room(self) -> None:
        free = shutil.disk_usage(self.folder).free
        if free < LEAST_FREE:
            raise MeijinError(
                f"{self.folder}: only {free // 2**20} MiB of disk are free; make room, then go on with --resume"
            )

    def _write_metrics(self, row: dict[str, Any]) -> None:
        path = self.folder / "metrics.csv"
        rows = [*_read_rows(path), {name: _short(value) for name, value in row.items()}]
        checkpoint.write_whole(path, _as_csv(rows).encode())
        tensorboard.write(self.folder, self.iteration, row, self.learner.averaged)

    def _trim_metrics(self) -> None:
        path = self.folder / "metrics.csv"
        rows = [row for row in _read_rows(path) if int(float(row["iteration"])) <= self.iteration]
        if rows:
            checkpoint.write_whole(path, _as_csv(rows).encode())


def _rows(path: Path) -> int:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np") as file:
            return int(file.get_slice("bits").get_shape()[0])
    except (SafetensorError, OSError):
        return 0


def _calibration(new: Positions) -> dict[str, float]:
    """How far the search's values are from what came of them: the mean gap over ten classes of values."""
    values = new.values.float().gather(1, new.facts[:, :1].long())[:, 0]
    outcomes = new.outcomes.float().gather(1, new.facts[:, :1].long())[:, 0]
    classes = ((values.clamp(-1, 1) + 1) * 4.9999).long()
    gap = 0.0
    for k in range(10):
        mine = classes == k
        if int(mine.sum()):
            gap += float((values[mine].mean() - outcomes[mine].mean()).abs()) * float(mine.float().mean())
    return {"calibration_gap": gap, "value_error": float((values - outcomes).square().mean())}


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)


def _read_rows(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [row for row in csv.DictReader(file) if row.get("iteration")]


def _as_csv(rows: list[dict[str, str]]) -> str:
    names = list(dict.fromkeys(["iteration", "seconds", *(name for row in rows for name in row)]))
    out = io.StringIO()
    writer = csv.DictWriter(out, names, restval="")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
