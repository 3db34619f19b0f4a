"""A run of AlphaZero: self-play, training, gate and evaluation, again and again."""

from __future__ import annotations

import copy
import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch

from meijin.agents.zero import OfNet
from meijin.cluster.connection import Cluster
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.expression import Call
from meijin.core.statistics import elo
from meijin.learning import files
from meijin.learning.config import RunConfig
from meijin.learning.nets.config import NetConfig
from meijin.learning.zero import checkpoint, fused
from meijin.learning.zero.config import TrainingConfig, ZeroConfig
from meijin.learning.zero.inference import INT8, make_current
from meijin.learning.zero.learner import Learner
from meijin.learning.zero.nets import Net
from meijin.learning.zero.positions import Positions, imitated
from meijin.learning.zero.replay import deduplicate
from meijin.search.forest.scale import by_chance, unscalable
from meijin.training import net_views
from meijin.training.early import Early
from meijin.training.events import Gated, Progress, Trained, WarmStarted, Warned
from meijin.training.net_matches import NetMatches
from meijin.training.replicas import Replicas
from meijin.training.run import Cut, Row, Run
from meijin.training.sources import Background, Local, Processes, Source
from meijin.training.warm import check_warm, warm_games
from meijin.training.window import Window

RISING = "rising/"  # in a checkpoint: the weights that have not passed the gate yet
RATED_GAMES, RATED_SIMULATIONS, RATED_PLIES = 128, 32, 4  # of the match that Elo is measured by
COMPILE_PAYS = 400.0  # seconds of a run from which on torch.compile saves more time than it takes
FIRST_GAMES = 3.0  # seconds that they may take before the learner compiles, which slows down what Python does
WARM_SHARE = 0.5  # of a run's time, at most, to play the games of a warm start


class ZeroRun(Run[ZeroConfig]):
    """One run of AlphaZero; see `Run`."""

    CONFIG: ClassVar[type[RunConfig]] = ZeroConfig
    MEMORY: ClassVar[str] = "lower selfplay.games, training.batch or replay.window, then --resume"

    def __init__(
        self,
        folder: str | Path,
        config: ZeroConfig | None = None,
        *,
        device: str = "cpu",
        selfplay_devices: tuple[str, ...] = (),
        ray: str | None = None,
        actors: int | None = None,
        early: Early | None = None,
        **options: Any,
    ):
        """`device`: where the net learns; `selfplay_devices`: where games are played, by default the same.

        The net may learn on several devices (`"cuda:0,cuda:1"`): each takes its share of every batch. Everything else
        is done on the first one.

        With `ray`, the address of a Ray cluster, games are played by actors there, at most `actors` of them, on all its
        devices or those kinds ("cpu", "cuda") that `selfplay_devices` names. "" is the address in RAY_ADDRESS, or else
        a cluster is started on this machine. `early` compiles meanwhile what self-play needs first.
        """
        device, *self.more_devices = (name.strip() for name in device.split(","))
        self.replicas: Replicas | None = None
        self.early = early
        self.address, self.actors = ray, actors
        self.cluster: Cluster | None = None
        self._warnings: list[str] = []  # of the cluster, before there was anybody to hear them
        if ray is None:
            self.devices = selfplay_devices or (device,)
            if actors is not None:
                raise BadParameter(f"--actors {actors} needs --ray")
        else:
            self.devices = selfplay_devices
            if other := next((name for name in selfplay_devices if name not in ("cpu", "cuda")), None):
                raise BadParameter(
                    f"--selfplay-device {other}: with --ray, write cpu, cuda or cpu,cuda; Ray finds them"
                )
            if actors is not None and actors < 1:
                raise BadParameter(f"--actors {actors}: must be at least 1")
        for name in (device, *self.more_devices, *(self.devices if ray is None else ())):
            check_device(name)
        try:
            super().__init__(folder, config, device=device, **options)
        except BaseException:
            self._disconnect()
            raise

    def _check_several(self) -> None:
        learn = (self.device, *self.more_devices)
        named = [str(torch.device(name)).replace("cuda:0", "cuda") for name in learn if name != "cpu"]
        if len(set(named)) < len(named) or 0 < len(named) < len(learn):
            raise BadParameter(f"device '{','.join(learn)}': name different GPUs, such as cuda:0,cuda:1")
        if self.config.variants and (len(learn) > 1 or self.devices != (self.device,)):
            raise BadParameter("variants are played and learned on one device; name one, and no cluster")
        if len(learn) > (least := min(self.config.training.batch, self.config.length.positions)):
            raise BadParameter(
                f"device '{','.join(learn)}': a batch has {least} positions; name at most {least} devices"
            )

    def _check_dtype(self) -> None:
        if self.config.selfplay.dtype == INT8 and self.address is None:
            for name in self.devices:
                if why := fused.problem(self.playing, torch.device(name), True):
                    raise BadParameter(f"selfplay.dtype={INT8} on device '{name}': {why}")

    def _build(self) -> None:
        config, device = self.config, self.device
        if why := unscalable(self.game):
            raise BadParameter(f"{self.game} cannot be learned by zero: {why}")
        if not self.resumed:
            check_warm(self.game, config.warm)
        self._check_several()
        self.games = [self.game, *map(make, config.variants)]
        self._use_device()
        with torch.random.fork_rng(devices=[]):  # leaves the caller's random numbers alone
            torch.manual_seed(config.training.seed)
            self.learner = Learner(self._net(), self._training(), device, self.games[1:])
        # With a gate, the net that plays is not the one that learns until that one has beaten it.
        self.playing = copy.deepcopy(self.learner.averaged) if config.gate.games else self.learner.averaged
        self._check_dtype()
        self.window = Window(self.games, config.replay, self.folder.games, device)
        for buffer, lesson in zip(self.window.buffers, self.learner.lessons, strict=True):
            lesson.lists_all = buffer.width == buffer.game.branching
        self.matches = NetMatches(self.game, config, device)
        self.elo = 0.0
        self.rival = 0  # the iteration whose net the next Elo is measured against
        self.source: Source | None = None
        self._surplus: list[Path] = []  # files to remove after the next checkpoint
        self._costs["training"] = 0.0  # seconds per new position
        if self.address is not None:  # last: everything else is quicker to check
            from meijin.training.ray_source import check_gpus

            self.cluster = Cluster(self.address, self._warnings.append)
            self.cluster.need_nodes()
            check_gpus(self.devices)

    def _training(self) -> TrainingConfig:
        """As the config has it, but not compiled in a short run."""
        training, seconds = self.config.training, self.config.length.seconds
        return dataclasses.replace(training, compiled=training.compiled and not 0 < seconds < COMPILE_PAYS)

    def _net(self) -> Net:
        net = Net(self.game, self.config.shape)
        if self.config.training.initial == "xavier":
            net.begin_as_xavier()
        if net.value.units is not None:  # a net that knows nothing expects the scores of random play
            net.value.units.copy_(torch.tensor(by_chance(self.game)))
        if self.config.warm.init and not self.resumed:
            net.load_state_dict(self._first(net.config))
        return net

    def _first(self, shape: NetConfig) -> Mapping[str, Any]:
        """The weights of another net, to start from."""
        name = self.config.warm.init
        path = files.champion(self.game) if name == "champion" else files.find(name)
        if path is None:
            raise BadParameter(f"warm.init=champion: {self.game} has no champion")
        found = checkpoint.load(path).net
        if why := found.unfit(self.game):
            raise BadParameter(f"warm.init='{name}': it is a net of {found.game}: {why}")
        theirs, mine = found.config.to_dict(), shape.to_dict()
        differ = [key for key, value in theirs.items() if value != mine[key] and key != "draw"]
        if other := [f"net.{key}={json.dumps(theirs[key])}" for key in differ]:
            raise BadParameter(f"warm.init='{name}': it is a net of another shape; set {', '.join(other)}")
        return found.for_game(self.game).state_dict()

    def _use_device(self) -> None:
        if self.device != "cpu":
            make_current(self.device)  # in whichever thread this is

    def agent(self) -> OfNet:
        search = self.config.search
        return OfNet(self.playing, self.config.evaluation.simulations, c=search.c, fpu=search.fpu, device=self.device)

    def _store(self, path: Path) -> str:
        checkpoint.save(path, self.playing)
        search, simulations = self.config.search, self.config.evaluation.simulations
        return str(Call("zero", (str(path),), {"simulations": simulations, "c": search.c, "fpu": search.fpu}))

    def expression(self, path: Path) -> str:
        return str(Call("zero", (str(path),)))

    def close(self) -> None:
        super().close()
        if self.early is not None:
            self.early.close()
        if self.source is not None:
            self.source.close()
            self.source = None
        if self.replicas is not None:
            self.replicas.close()
            self.replicas = None
        self._disconnect()

    def _disconnect(self) -> None:
        if self.cluster is not None:
            self.cluster.close()

    # ---- an iteration ----

    def _iterate(self) -> Row:
        config, progress = self.config, self.progress
        self._use_device()
        warm = config.warm
        if (warm.agent or warm.records) and not self.iteration and not self.learner.steps:
            self._start_warm()
        first = self.source is None
        if first and self.early is not None:
            self.early.wait()
        self.source = self.source or self._source()
        self.source.load(self.playing, self.folder.latest, progress, self.iteration)
        if first and self.learner.config.compiled and not self.more_devices:
            self.emit(Progress("self-play", self.source.wait(FIRST_GAMES), config.length.positions, {}))
            self.learner.prepare()
        began = self.clock.elapsed
        new, row = self.source.collect(config.length.positions, self._played)
        count = sum(map(len, new))
        if not count:
            raise Cut
        played, playing = self.clock.elapsed - began, row.pop("playing_seconds")
        self.window.add(self.iteration + 1, new, **self.source.account())
        data, aside = self.window.latest(config.training.validation)
        learned = self.positions >= config.replay.start
        if learned:
            row |= self._train(data, count)
            validation = self.learner.validate(aside)
            row |= {f"validation_{name}": validation[name] for name in ("policy", "value") if name in validation}
        trained = self.clock.elapsed - began - played
        if learned and config.gate.games:
            row |= self._gate()

        row |= {"positions": self.positions, "window": sum(map(len, data))} | _calibration(new)
        row |= {"selfplay_seconds": played, "training_seconds": trained}
        row["simulations_per_second"] = row.get("simulations", 0) / max(playing, 1e-9)
        row["positions_per_second"] = count / max(playing, 1e-9)
        row["learner_idle"] = played / max(self.clock.elapsed - began, 1e-9)  # share of the time
        # iterations since the net that played a position
        age = self.iteration - torch.cat([each.nets for each in new]).float()
        row |= {"staleness": float(age.mean()), "staleness_max": float(age.max())}
        if config.selfplay.curriculum:
            row["simulations_a_move"] = config.search_at(progress).simulations
        behind, dropped, size = self.window.surplus()
        self._surplus = behind + dropped
        row["games_mb"] = size / 2**20
        if config.replay.disk_mb:
            row["dropped_for_disk"] = len(dropped)
        return row

    def _played(self, done: int, total: int) -> bool:
        # At the end of the run's time, what has been played is still to be learned and saved.
        return self.report("self-play", done, total, done * self._costs["training"] + self._costs["saving"])

    @property
    def positions(self) -> int:
        """Of self-play and the warm start, so far."""
        return sum(self.window.totals)

    def _train(self, data: list[Positions], new: int) -> Row:
        config, before, began = self.config.training, self.learner.steps, self.clock.elapsed
        losses = self._fit(data, max(1, round(new * config.reuse / config.batch)))
        self._costs["training"] = (self.clock.elapsed - began) / new
        self.emit(Trained(sum(map(len, data)), self.learner.steps - before, losses))
        return {f"loss_{name}" if "entropy" not in name else name: value for name, value in losses.items()} | {
            "steps": self.learner.steps,
            "rate": self.learner.rate(self.progress),
        }

    def _fit(self, data: Sequence[Positions], steps: int) -> dict[str, float]:
        if self.device == "cpu":
            torch.set_num_threads(self.config.training.threads)

        def on_slice(done: int, total: int) -> bool:
            return self.report("training", done, total, self._costs["saving"])

        if not self.more_devices:
            return self.learner.fit(data, steps, lambda: self.progress, on_slice)
        try:
            self.replicas = self.replicas or Replicas(self.learner, self.more_devices)
            return self.learner.fit(data, steps, lambda: self.progress, on_slice)
        except (RuntimeError, OSError) as error:
            raise (self.replicas.explained(error) if self.replicas is not None else error) from None

    def _source(self) -> Source:
        config = self.config
        seed = config.selfplay.seed + 104_729 * self.iteration  # a resumed run plays other games
        if self.cluster is not None:
            from meijin.training.ray_source import RaySource

            for text in self._warnings:
                self._warn(text)
            return RaySource(self.cluster, config, self.devices, seed, self.actors, self._warn)
        if self.devices == (self.device,):
            if not config.selfplay.overlap:
                return Local(self.playing, config, self.device, seed)
            return Background(self.playing, config, self.device, seed, config.replay.start - self.positions)
        self.save()  # what the workers start with
        return Processes(self.folder.path / "inbox", config, self.devices, self.folder.latest, seed, self._warn)

    def _warn(self, text: str) -> None:
        self.emit(Warned(text))

    # ---- warm start ----

    def _start_warm(self) -> None:
        """Learn from others' games first; they stay in the buffer until self-play has filled it."""
        given, config = self.warm_positions(), self.config.training
        if self.stopping:
            raise Cut
        data = given.to(self.device)
        if self.config.replay.deduplicate:
            data = deduplicate(data)
        losses = self._fit([data], self.config.warm.steps or max(1, round(len(given) * config.reuse / config.batch)))
        if self.stopping:
            raise Cut
        self.playing.load_state_dict(self.learner.averaged.state_dict())
        self.window.add(0, [given])
        self.save()
        self.emit(WarmStarted(len(given), self.learner.steps, losses))

    def warm_positions(self) -> Positions:
        """The positions of a warm start."""
        config = self.config
        reserve = WARM_SHARE * self.clock.limit if config.length.seconds else 0.0

        def on_game(done: int, total: int) -> bool:
            return self.report("warm start", done, total, reserve)

        self.emit(Progress("warm start", 0, config.warm.games))
        played = warm_games(self.game, config.warm, config.selfplay.seed, on_game)
        return imitated(self.game, played, config.replay.policy_width, config.shape.draw)

    # ---- matches between nets ----

    def _gate(self) -> Row:
        """Whether the new weights may play; if not, the old ones keep playing while the new ones keep learning."""
        if not self.fits("gate"):
            return {}
        new, step = self.learner.averaged, self._step("gate")
        try:
            with self.timed("gate"):
                share, games, passed = self.matches.gate(new, self.playing, self.iteration, lambda: step(0, 1))
        except Cut:
            return {}
        self.emit(Gated(share, games, passed))
        if passed:
            self.playing.load_state_dict(new.state_dict())
        seconds = self._costs["gate"]
        return {"gate": share, "gate_games": games, "gate_passed": int(passed), "gate_seconds": seconds}

    def _measure(self) -> Row:
        """Elo against the net of the last evaluation."""
        if self.game.seats != 2 or self.game.chance:
            return {}
        found: Row = {}
        if (rival := self._rival(self.rival)).exists():
            old, step = checkpoint.load(rival, self.game).net.to(self.device), self._step("Elo")
            settings = RATED_GAMES, RATED_SIMULATIONS, RATED_PLIES, self.iteration
            share = float(self.matches.results(self.playing, old, *settings, check=lambda: step(0, 1)).mean())
            share = min(max(share, 0.5 / RATED_GAMES), 1 - 0.5 / RATED_GAMES)
            self.elo += elo(share)
            found = {"elo": self.elo, "points_against_last": share}
        self.rival = self.iteration
        checkpoint.save(self._rival(self.rival), self.playing, iteration=self.iteration)
        return found

    # ---- files ----

    def _rival(self, iteration: int) -> Path:
        return self.folder.checkpoints / f"rival-{iteration:06d}.safetensors"

    def _facts(self) -> Row:
        totals = self.window.totals
        return {
            "elo": self.elo,
            "rival": self.rival,
            "positions": sum(totals),
            "positions_by_variant": totals,
            "aside": self.window.aside,
        }

    def _write(self, path: Path, facts: Mapping[str, Any], whole: bool) -> None:
        extra = {}
        if whole:
            extra = self.learner.state()
            if self.playing is not self.learner.averaged:
                extra |= {RISING + name: tensor for name, tensor in self.learner.averaged.state_dict().items()}
        checkpoint.save(path, self.playing, half=not whole, extra=extra, **facts)

    def _load(self, path: Path) -> Mapping[str, Any]:
        found = checkpoint.load(path, self.game)
        if found.net.config != self.learner.net.config:
            raise MeijinError(
                f"{path} holds another net than the config asks for; restore the old `net`, or start a new run"
            )
        for net in {self.learner.net, self.learner.averaged, self.playing}:
            net.load_state_dict(found.net.state_dict())
        if found.extra:
            self.learner.restore(found.extra)
        if rising := {n.removeprefix(RISING): t for n, t in found.extra.items() if n.startswith(RISING)}:
            self.learner.averaged.load_state_dict(rising)
        self.elo, self.rival = float(found.facts.get("elo", 0.0)), int(found.facts.get("rival", 0))
        return found.facts

    def _reload(self, facts: Mapping[str, Any]) -> None:
        totals = facts.get("positions_by_variant") or [int(facts.get("positions", 0))]
        self.window.aside = float(facts.get("aside", self.window.aside))
        self.window.read(self.iteration if self.learner.steps + self.iteration else -1, totals)

    def _saved(self) -> None:
        rivals = set(self.folder.checkpoints.glob("rival-*.safetensors")) - {self._rival(self.rival)}
        for path in (*self._surplus, *rivals):
            path.unlink(missing_ok=True)

    def _pictures(self) -> net_views.Arrays:
        return net_views.pictures(self.learner.averaged, self.device, values=self.milestone)

    def _spreads(self) -> net_views.Arrays:
        return net_views.numbers(self.learner, self.window.buffers[0])


def check_device(name: str) -> None:
    """Raise unless PyTorch can use the device."""
    if not re.fullmatch(r"cpu|cuda(:\d+)?", name):
        raise BadParameter(f"device '{name}': write cpu, cuda, or cuda:1 for the second GPU")
    index = int(name.partition(":")[2] or 0)
    if name != "cpu" and (not torch.cuda.is_available() or index >= torch.cuda.device_count()):
        raise BadParameter(f"device '{name}': PyTorch finds {torch.cuda.device_count()} GPUs here; choose cpu")


def _calibration(new: Sequence[Positions]) -> dict[str, float]:
    """How far the search's values are from the outcomes: the mean gap over ten classes of values."""
    mover = torch.cat([each.facts[:, :1] for each in new]).long()
    values = torch.cat([each.values for each in new]).float().gather(1, mover)[:, 0]
    outcomes = torch.cat([each.outcomes for each in new]).float().gather(1, mover)[:, 0]
    classes = ((values.clamp(-1, 1) + 1) * 4.9999).long()
    gap = 0.0
    for k in range(10):
        mine = classes == k
        if int(mine.sum()):
            gap += float((values[mine].mean() - outcomes[mine].mean()).abs()) * float(mine.float().mean())
    return {"calibration_gap": gap, "value_error": float((values - outcomes).square().mean())}
