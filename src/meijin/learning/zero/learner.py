"""The learner: a net, its optimizer, and training steps on positions of self-play."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.learning import optimizers
from meijin.learning.zero.config import TrainingConfig
from meijin.learning.zero.inference import cpu_dtype
from meijin.learning.zero.nets import Net, Outputs
from meijin.learning.zero.positions import UNKNOWN, Positions, Symmetries, Unpacker
from meijin.learning.zero.recorded_step import RecordedStep
from meijin.search.forest.scale import LEAST_SPREAD

ADAMW, MOMENTUM = {"step", "exp_avg", "exp_avg_sq"}, {"momentum_buffer"}
MOMENTS = {"adamw": (ADAMW,), "sgd": (MOMENTUM,), "muon": (ADAMW, MOMENTUM)}  # what they keep of a weight
GPU_SLICE = 16  # steps that are queued on a GPU before it is waited for


class Diverged(MeijinError):
    """The loss is infinite or not a number."""


class Others(Protocol):
    """Other devices that take their share of every batch; see `training.replicas`."""

    def deal(self, batch: Positions, turns: Tensor | None, rate: float) -> tuple[Positions, Tensor | None, float]: ...

    def measure(self, units: Tensor) -> None: ...


class Lesson:
    """What the learner must know of a game to learn from its positions; and of each of its variants."""

    def __init__(self, net: Net, device: torch.device, compiled: bool):
        self.net, self.compiled = net, compiled
        self.unpack, self.symmetries = Unpacker(net.game, device), Symmetries(net.game, device)
        self.lists_all = True  # whether positions list every legal move, so that others need not be unlearned

    # PyTorch takes seconds to load its compiler: games can begin before.
    @cached_property
    def forward(self) -> Callable[[Tensor], Outputs]:
        if not self.compiled:
            return self.net.outputs
        # A net with pooling may see boards of several sizes, and is compiled for each.
        return torch.compile(self.net.outputs, dynamic=False if self.net.config.pooling else None)

    def log_probs(self, logits: Tensor, moves: Tensor) -> Tensor:
        """Of the moves that positions list, -1 standing for none: [position, listed move], 0 where there is none."""
        listed = moves >= 0
        chosen = logits.gather(1, moves.clamp(min=0)).masked_fill(~listed, -math.inf)
        if self.lists_all:
            found = F.log_softmax(chosen, 1)
        else:
            found = chosen - logits.logsumexp(1, keepdim=True)
        return found.masked_fill(~listed, 0.0)


class Learner:
    """Trains a net. `averaged` is the net to play with: the running mean of the weights, or the net itself.

    A net with pooling may learn variants of its game, too: `lessons` has one for each, after that of the game itself.
    """

    def __init__(
        self, net: Net, config: TrainingConfig, device: str | torch.device = "cpu", variants: Sequence[Game] = ()
    ):
        self.config, self.device = config, torch.device(device)
        self.net = net.to(self.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.averaged = copy.deepcopy(self.net).eval() if config.ema else self.net
        self.steps = 0
        nets = [self.net, *(self.net.for_game(variant) for variant in variants)]  # all with the same weights
        self.lessons = [Lesson(each, self.device, config.compiled) for each in nets]
        self.mixed = config.mixed and (self.device.type == "cuda" or cpu_dtype() is torch.bfloat16)
        self.generator = torch.Generator(device=self.device).manual_seed(config.seed)
        self.replicas: Others | None = None
        on_gpu = self.device.type == "cuda"
        # Numbers of the next step: on a GPU tensors, since recorded work reads them from its memory.
        self._rate: Any = torch.tensor(config.rate, device=self.device) if on_gpu else config.rate
        self._share: Any = torch.tensor(1.0, device=self.device) if on_gpu else 1.0
        self._recorded: dict[int, RecordedStep] = {}  # by variant

    def prepare(self) -> None:
        """Compile what a step computes, which takes a while, without learning anything; meanwhile games can begin."""
        kept = {name: buffer.clone() for name, buffer in self.net.named_buffers()}
        self.net.train()
        for lesson in self.lessons:
            blank = Positions.empty(lesson.net.game, 1, self.config.batch, self.device)
            planes = lesson.unpack(blank.bits, blank.numbers)
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.mixed):
                found = lesson.forward(planes)
            total = torch.stack([tensor.float().sum() for tensor in found if tensor is not None]).sum()
            total.backward()  # type: ignore[no-untyped-call]
        self.net.zero_grad(set_to_none=True)
        for name, buffer in self.net.named_buffers():  # means and variances of the blank positions
            buffer.copy_(kept[name])

    @cached_property
    def optimizer(self) -> torch.optim.Optimizer:
        config, on_gpu = self.config, self.device.type == "cuda"
        inner = set(self.net.blocks.parameters()) if config.optimizer == "muon" else set()
        # Norms and biases are not decayed: that would only fight the scale of the data.
        matrices = [p for p in self.net.parameters() if p.ndim > 1 and p in inner]
        decayed = [p for p in self.net.parameters() if p.ndim > 1 and p not in inner]
        others = [p for p in self.net.parameters() if p.ndim <= 1]
        groups: list[dict[str, Any]] = [
            {"params": decayed, "weight_decay": config.weight_decay, "matrix": False},
            {"params": others, "weight_decay": 0.0, "matrix": False},
        ]
        if config.optimizer == "sgd":
            return optimizers.SGD(groups, lr=config.rate, momentum=0.9, nesterov=True)
        if config.optimizer == "muon":
            groups.append({"params": matrices, "weight_decay": config.weight_decay, "matrix": True})
            return optimizers.Muon(groups, lr=self._rate, fused=on_gpu, capturable=on_gpu)
        return optimizers.AdamW(groups, lr=self._rate, fused=on_gpu, capturable=on_gpu)

    def rate(self, progress: float) -> float:
        """The learning rate at that share of the run."""
        config = self.config
        warm = min(1.0, (self.steps + 1) / config.warmup) if config.warmup else 1.0
        if config.schedule == "cosine":
            low = config.rate * config.final
            return warm * (low + (config.rate - low) * 0.5 * (1 + math.cos(math.pi * min(1.0, progress))))
        if config.schedule == "steps":
            return warm * config.rate * config.final ** sum(progress >= at for at in config.drops)
        if config.schedule == "inverse":
            return warm * config.rate / (1 + config.decay * self.steps)
        return warm * config.rate

    def turns(self, count: int, variant: int = 0) -> Tensor | None:
        """A random symmetry for each of so many positions; None if there are none."""
        symmetries = self.lessons[variant].symmetries
        if not self.config.symmetries or symmetries.count == 1:
            return None
        return torch.randint(symmetries.count, (count,), device=self.device, generator=self.generator)

    def losses(
        self, batch: Positions, turns: Tensor | None = None, variant: int = 0, learning: bool = True
    ) -> dict[str, Tensor]:
        """The parts of the loss and a few measures on a batch of positions of that variant, after these symmetries."""
        lesson, seats = self.lessons[variant], self.net.game.seats
        planes = lesson.unpack(batch.bits, batch.numbers)
        moves, probs = batch.moves.long(), batch.probs.float()
        owners = batch.owners if self.net.config.ownership or self.net.config.score else None
        if turns is not None:
            rows = lesson.symmetries.rows(turns, batch.facts[:, 0].long())
            planes, moves = lesson.symmetries.apply(rows, planes, moves)
            if owners is not None:
                owners = lesson.symmetries.of_cells(rows, owners)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.mixed):
            # what is not learned comes in batches of any size, for which nothing should be compiled
            found = lesson.forward(planes) if learning else lesson.net.outputs(planes)
        logits, values = found.logits.float(), found.values.float()
        log_probs = lesson.log_probs(logits, moves)
        probs = probs / probs.sum(1, keepdim=True).clamp(min=1e-6)
        policy = -(probs * log_probs).sum(1)
        target = self.target(batch)
        if (units := self.net.value.units) is not None:
            values, target = values / units[1], target / units[1]
        seen = (batch.facts[:, :1].long() + torch.arange(seats, device=self.device)) % seats
        value = (values - target.gather(1, seen)).square().mean(1)
        parts = {"policy": policy.mean(), "value": value.mean()}
        if found.moves_left is not None:
            left = torch.log1p(batch.facts[:, 2].float())
            parts["moves_left"] = F.smooth_l1_loss(found.moves_left.float(), left)
        if owners is not None:
            parts |= _owned(found, owners, batch.facts[:, :1])
        with torch.no_grad():
            parts["target_entropy"] = -(probs * probs.clamp(min=1e-9).log()).sum(1).mean()
            parts["policy_entropy"] = _entropy(log_probs).mean()
        return parts

    @torch.no_grad()
    def opinions(self, positions: Positions) -> tuple[Tensor, Tensor]:
        """What `averaged` says of positions of the game itself: its policy's entropy, and the mover's value."""
        lesson = self.lessons[0]
        logits, values = self.averaged.eval()(lesson.unpack(positions.bits, positions.numbers))
        return _entropy(lesson.log_probs(logits.float(), positions.moves.long())), values[:, 0].float()

    def target(self, batch: Positions) -> Tensor:
        """What the values should be, by seat."""
        mix = self.config.value_mix
        return (1 - mix) * batch.outcomes.float() + mix * batch.values.float()

    def step(self, batch: Positions, progress: float, variant: int = 0) -> dict[str, Tensor]:
        """Learn from a batch; returns the measures, with several devices those of the first one's share."""
        turns, rate, weight = self.turns(len(batch), variant), self.rate(progress), 1.0
        if self.replicas is not None:
            batch, turns, weight = self.replicas.deal(batch, turns, rate)
        elif self.device.type == "cuda" and self.config.optimizer != "sgd" and len(batch) == self.config.batch:
            self._begin(rate)
            recorded = self._recorded.setdefault(variant, RecordedStep(self.device))
            return recorded(lambda given, turned: self._learn(given, turned, 1.0, variant), batch, turns)
        return self.update(batch, turns, rate, weight, variant)

    def update(
        self, batch: Positions, turns: Tensor | None, rate: float, weight: float, variant: int = 0
    ) -> dict[str, Tensor]:
        """One step of the optimizer; `weight` is that of the batch among the shares of all devices, 1 on average."""
        self._begin(rate)
        return self._learn(batch, turns, weight, variant)

    def _begin(self, rate: float) -> None:
        """Count a step, and say how far it goes."""
        self.steps += 1
        # After few steps the mean would mostly be the first weights, so its memory grows with the steps.
        share = 1.0 - min(self.config.ema, (1 + self.steps) / (10 + self.steps))
        if self.device.type == "cuda":
            self._rate.fill_(rate)
            self._share.fill_(share)
        else:
            self._rate, self._share = rate, share
        for group in self.optimizer.param_groups:
            group["lr"] = self._rate if self.config.optimizer != "sgd" else rate

    def _learn(self, batch: Positions, turns: Tensor | None, weight: float, variant: int) -> dict[str, Tensor]:
        """What a step computes: on a GPU, nothing in here may wait for it."""
        self.net.train()
        parts = self.losses(batch, turns, variant)
        config = self.config
        loss = config.policy_weight * parts["policy"] + config.value_weight * parts["value"]
        for name in ("moves_left", "ownership", "score"):
            if name in parts:
                loss = loss + getattr(config, f"{name}_weight") * parts[name]
        self.optimizer.zero_grad(set_to_none=True)
        (weight * loss).backward()  # type: ignore[no-untyped-call]
        if config.clip:
            torch.nn.utils.clip_grad_norm_(self.net.parameters(), config.clip)
        self.optimizer.step()
        if config.ema:
            self._average()
        return {"loss": loss.detach(), **{name: part.detach() for name, part in parts.items()}}

    @torch.no_grad()
    def _average(self) -> None:
        mine = [t for t in self.averaged.state_dict().values() if t.is_floating_point()]
        theirs = [t for t in self.net.state_dict().values() if t.is_floating_point()]
        share = [self._share] * len(mine) if isinstance(self._share, Tensor) else self._share
        torch._foreach_lerp_(mine, theirs, share)

    def fit(
        self,
        data: Positions | Sequence[Positions],
        steps: int,
        progress: float | Callable[[], float],
        on_slice: Callable[[int, int], bool] = lambda done, total: True,
    ) -> dict[str, float]:
        """Make that many steps; unless surprise counts, every position comes once before any comes again.

        Returns the means of the measures.

        `data` has the positions of every variant, where there are several; a step learns from those of one.
        `progress` is the share of the run that is done, for the learning rate. `on_slice(done, total)` is called
        between steps, on a GPU after every few; once it says no, no more steps are made.
        """
        parts = [data] if isinstance(data, Positions) else data
        if not any(map(len, parts)) or steps < 1:
            return {}
        if self.net.value.units is not None:
            self._measure_in_units_of(torch.cat([self.target(each) for each in parts]))
        every = GPU_SLICE if self.device.type == "cuda" else 1
        totals: dict[str, Tensor] = {}
        done = 0
        for variant, batch in self._batches(parts, steps):
            if done % every == 0:
                if self.device.type == "cuda":
                    torch.cuda.current_stream(self.device).synchronize()  # or the clock is read ahead of the work
                if not on_slice(done, steps):
                    break
            share = progress() if callable(progress) else progress
            for name, part in self.step(batch, share, variant).items():
                totals[name] = totals.get(name, torch.zeros((), device=self.device)) + part
            done += 1
        means = {name: float(total) / done for name, total in totals.items()}
        if means and not math.isfinite(means["loss"]):
            raise Diverged(
                f"the loss became {means['loss']} after {self.steps} steps; the last checkpoint is intact. "
                "Lower `training.rate` or set `training.clip`, then resume"
            )
        return means

    @torch.no_grad()
    def validate(self, data: Sequence[Positions]) -> dict[str, float]:
        """The parts of the loss on positions that were set aside, by variant: the mean of all."""
        self.net.eval()
        totals: dict[str, float] = {}
        for variant, positions in enumerate(data):
            for at in range(0, len(positions), self.config.batch):
                batch = positions[slice(at, at + self.config.batch)]
                for name, part in self.losses(batch, None, variant, learning=False).items():
                    totals[name] = totals.get(name, 0.0) + float(part) * len(batch)
        return {name: total / sum(map(len, data)) for name, total in totals.items()}

    def _measure_in_units_of(self, target: Tensor) -> None:
        """Values without bounds are learned in units of their spread, as it is now."""
        units = torch.stack([target.mean(), target.std(correction=0).clamp(min=LEAST_SPREAD)])
        if self.replicas is not None:
            self.replicas.measure(units)
        self.measure(units)

    def measure(self, units: Tensor) -> None:
        """Express values in units of that mean and spread."""
        for net in {self.net, self.averaged}:
            net.value.measure_in(units)

    def _batches(self, parts: Sequence[Positions], steps: int) -> Iterator[tuple[int, Positions]]:
        """Batches, and of which variant they are; each has its share of the positions in any number of steps."""
        total, done = sum(map(len, parts)), [0] * len(parts)
        drawn = [self._drawn(data) for data in parts]
        for step in range(1, steps + 1):
            variant = max(range(len(parts)), key=lambda k: step * len(parts[k]) / total - done[k])
            done[variant] += 1
            yield variant, next(drawn[variant])

    def _drawn(self, data: Positions) -> Iterator[Positions]:
        size = min(self.config.batch, len(data))
        while True:
            order = self._order(data)
            for at in range(0, len(order) - size + 1, size):
                yield data[order[at : at + size]]

    def _order(self, data: Positions) -> Tensor:
        """The rows in random order; where surprising positions weigh more, each as often as its weight, on average."""
        order = torch.randperm(len(data), device=self.device, generator=self.generator)
        if not self.config.surprise or not (mean := data.surprise.float().mean()) > 0:
            return order
        weights = 1 - self.config.surprise * (1 - data.surprise[order, 0].float() / mean)
        chance = torch.rand(len(data), device=self.device, generator=self.generator)
        order = order.repeat_interleave((weights + chance).floor().long())
        return order[torch.randperm(len(order), device=self.device, generator=self.generator)]

    # ---- saving and resuming ----

    def state(self) -> dict[str, Tensor]:
        """What a checkpoint must hold besides the weights of `averaged`."""
        found: dict[str, Tensor] = {"steps": torch.tensor(self.steps), "generator": self.generator.get_state()}
        if self.config.ema:
            found.update({f"net/{name}": tensor for name, tensor in self.net.state_dict().items()})
        parameters = [p for group in self.optimizer.param_groups for p in group["params"]]
        for i, parameter in enumerate(parameters):
            for name, value in self.optimizer.state.get(parameter, {}).items():
                if isinstance(value, Tensor):
                    found[f"{self._moments}/{i}/{name}"] = value
        return found

    @property
    def _moments(self) -> str:
        """What they are called in a checkpoint: Muon has the weights in another order."""
        return "muon" if self.config.optimizer == "muon" else "optimizer"

    def restore(self, state: dict[str, Tensor]) -> None:
        """Continue from `state`; the net itself has already been loaded from the checkpoint."""
        self.steps = int(state["steps"])
        seen = state["generator"].to(torch.uint8).cpu()
        if len(seen) == len(self.generator.get_state()):  # a GPU's differs from a CPU's
            self.generator.set_state(seen)
        own = {name.removeprefix("net/"): tensor for name, tensor in state.items() if name.startswith("net/")}
        if own:
            self.net.load_state_dict(own)
        for i, parameter in enumerate(p for group in self.optimizer.param_groups for p in group["params"]):
            prefix = f"{self._moments}/{i}/"
            kept = {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
            if set(kept) in MOMENTS[self.config.optimizer]:  # another optimizer starts afresh
                on_gpu = self.device.type == "cuda"  # the fused optimizer wants even its step count there
                self.optimizer.state[parameter] = {
                    # and moments with the strides of their weights
                    name: torch.empty_like(parameter).copy_(value)
                    if value.ndim
                    else value.to(self.device if on_gpu else "cpu")
                    for name, value in kept.items()
                }


def _entropy(log_probs: Tensor) -> Tensor:
    """Of each row; a 0 that stands for no move adds nothing."""
    return -(log_probs.exp() * log_probs).sum(1)


def _owned(found: Outputs, owners: Tensor, mover: Tensor) -> dict[str, Tensor]:
    """The losses of ownership and score: squared errors, over positions of games that were played to the end."""
    known = (owners[:, 0] != UNKNOWN).float()
    # 1: mine, -1: another's, 0: nobody's
    target = (owners == mover).float() - ((owners >= 0) & (owners != mover)).float()
    errors: dict[str, Tensor] = {}
    if found.ownership is not None:  # cells without a place, such as trays, come last and are left out
        on_grid = target[:, : found.ownership.shape[1]]
        errors["ownership"] = (found.ownership.float() - on_grid).square().mean(1)
    if found.score is not None:
        errors["score"] = (found.score.float() - target.mean(1)).square()
    return {name: (error * known).sum() / known.sum().clamp(min=1) for name, error in errors.items()}
