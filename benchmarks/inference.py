"""A champion's net on one thread of the CPU: PyTorch, onnxruntime and our own kernels, measured in turns.

    python benchmarks/inference.py                 # champions that come with Meijin
    python benchmarks/inference.py --net medium    # fresh nets of that size instead
    python benchmarks/inference.py --device cuda --batches 1 64 1024    # PyTorch alone, on a GPU

Evaluations are of the net alone, on positions of random play. Simulations are those of the agent `champion`: one tree
that asks about one leaf at a time. PyTorch has its fastest precision on this machine, batch norms folded and channels
last; onnxruntime has float32.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import Rate, compare, human, machine, table

from meijin import make
from meijin.core.game import Game
from meijin.core.rng import below, stream
from meijin.core.state import State
from meijin.learning import files
from meijin.learning.nets.config import NetConfig
from meijin.learning.nets.evaluator import CpuEvaluator, Evaluator
from meijin.learning.nets.weights import Weights, load
from meijin.learning.zero.inference import TorchEvaluator
from meijin.learning.zero.nets import Net
from meijin.learning.zero.onnx import OnnxEvaluator, export
from meijin.learning.zero.player import Player
from meijin.search.forest import Forest

NAMES = ("PyTorch", "onnxruntime", "ours")


def positions(game: Game, count: int) -> np.ndarray:
    """Planes of positions of random play."""
    found, rng = [], stream(3)
    with np.errstate(over="ignore"):
        while len(found) < count:
            state = State(game).roll(rng)
            for _ in range(int(below(rng, min(40, game.longest)))):
                if not state.is_over:
                    state.play(state.legal_moves[int(below(rng, len(state.legal_moves)))]).roll(rng)
            if not state.is_over:
                found.append(state.planes)
    return np.stack(found)


def evaluations(evaluator: Evaluator, planes: np.ndarray, seconds: float) -> Rate:
    gpu = isinstance(evaluator, TorchEvaluator) and evaluator.device.type == "cuda"
    torch.as_tensor(evaluator.x)[:] = torch.from_numpy(planes[: evaluator.batch])

    def rate() -> float:
        count, began = 0, time.perf_counter()
        while (spent := time.perf_counter() - began) < seconds:
            evaluator.run()
            if gpu:
                torch.cuda.synchronize()
            count += evaluator.batch
        return count / spent

    return rate


def simulations(player: Player, seconds: float) -> Rate:
    """Of a search from the start position, a new tree each time."""
    state = State(player.game).roll(stream(1))

    def rate() -> float:
        player.look(state, keep=False)
        kept = player.begin()
        began = time.perf_counter()
        player.aim(None)
        while time.perf_counter() - began < seconds and not player.finished:
            player.advance()
        return player.report(state, kept, 0.0).simulations / (time.perf_counter() - began)

    return rate


def with_evaluator(player: Player, evaluator: Evaluator) -> Player:
    """The same search, but another evaluator answers."""
    x, logits, values = evaluator.arrays
    player.worker.evaluator = evaluator
    player.worker.replace(Forest(player.game, 1, player.forest.settings, x=x, logits=logits, outlook=values))
    return player


def measure(weights: Weights, options: argparse.Namespace, folder: Path) -> None:
    net, game, batches = Net.of(weights), weights.game, options.batches
    planes, cpu = positions(game, max(batches)), options.device == "cpu"
    file = export(net, folder / "net.onnx") if cpu else None

    def evaluators(batch: int) -> list[Evaluator]:
        found: list[Evaluator] = [TorchEvaluator(net, batch, device=options.device, threads=1)]
        if file is not None:
            found += [OnnxEvaluator(file, batch, game=game, threads=1), CpuEvaluator(weights, batch)]
        return found

    precise = [each(planes) for each in evaluators(max(batches))]
    columns: dict[str, list[str]] = {}
    for batch in batches:
        rates = compare([evaluations(each, planes, options.seconds) for each in evaluators(batch)], options.rounds)
        if batch == 1:
            columns["ms for one position"] = [f"{1000 / rate:.2f}" for rate in rates]
        columns[f"evaluations/s, batch {batch}"] = cells(rates)
    if cpu:
        players: list[Any] = [Player(weights, 4096, c=1.5, fpu=0.15) for _ in NAMES]
        players = [with_evaluator(*pair) for pair in zip(players, evaluators(1), strict=True)]
        rates = compare([simulations(each, 2 * options.seconds) for each in players], options.rounds)
        columns["simulations/s of the agent"] = cells(rates)
    names = NAMES[: len(precise)]
    config, where = weights.config, "one thread" if cpu else torch.cuda.get_device_name(options.device)
    print(f"\n{game}, {config.blocks} blocks x {config.channels} channels, {machine()}, {where}\n")
    print(table(["", *columns], [list(row) for row in zip(names, *columns.values(), strict=True)]))
    with torch.inference_mode():
        exact = [part.numpy() for part in net.double()(torch.from_numpy(planes).double())]
    for name, found in zip(names, precise, strict=True):
        errors = [float(np.abs(a - b).max()) for a, b in zip(exact, found, strict=True)]
        print(f"{name}: off by at most {errors[0]:.1e} in logits, {errors[1]:.1e} in values")


def cells(rates: list[float]) -> list[str]:
    """Rates, each with its ratio to the first."""
    return [f"{human(rate)} ({rate / rates[0]:.2f}x)" for rate in rates]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", nargs="*", default=["othello", "connect_four", "abalone"])
    parser.add_argument("--net", help="a size of net, with fresh weights, in place of the champions")
    parser.add_argument("--device", default="cpu", help="or a GPU for PyTorch: cuda")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 4, 8, 16], help="positions at once")
    parser.add_argument("--seconds", type=float, default=0.5, help="a measurement")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name in options.games:
        game = make(name)
        champion = files.champion(game)
        if options.net:
            weights = Net(game, NetConfig.sized(options.net)).eval().weights()
        elif champion is not None:
            weights = load(champion).for_game(game)
        else:
            parser.error(f"{name} has no champion; choose --net SIZE")
        with tempfile.TemporaryDirectory() as folder:
            measure(weights, options, Path(folder))


if __name__ == "__main__":
    main()
