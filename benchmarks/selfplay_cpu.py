"""AlphaZero self-play on a processor: Othello on 6 x 6 with 25 simulations, beside alpha-zero-general in the same run.

    python benchmarks/selfplay_cpu.py --peer FOLDER_OF_ALPHA_ZERO_GENERAL --threads 2

The peer plays whole games by its own `Coach.executeEpisode` with its default settings and its default net (PyTorch),
once with `threads` threads of PyTorch and once with one, and the faster one counts: on busy cores more threads are
slower. It needs `tqdm`. Ours is whole self-play too, with the record of every position, PUCT and as many simulations.
Both count every position of a game once, and both have fresh nets. Where our search has proven the value of a position
it moves at once, so its positions take a little less than the full number of simulations.

"theirs, in our self-play" is `PeerNet`, a plain PyTorch net of exactly the peer's layers, which our forest asks in
place of its own. "in PyTorch" are our nets, evaluated by PyTorch rather than by our own kernels. All are measured in
turns, and the median counts. MFLOP are multiplications and additions of the convolutions and dense layers.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from common import human, machine, table
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

from meijin import make
from meijin.core.game import Game
from meijin.learning.nets.config import NetConfig
from meijin.learning.nets.evaluator import Evaluator
from meijin.learning.zero.inference import InferenceNet, cpu_dtype
from meijin.learning.zero.nets import Net, Outputs
from meijin.learning.zero.selfplay import SelfPlay
from meijin.search.forest import Settings, layout

Rates = tuple[float, float]  # positions/s, simulations/s


class PeerNet(nn.Module):
    """A net of the layers of alpha-zero-general's Othello net, for a two-seat game on a grid.

    Four convolutions of 512 channels, the last two of which shrink the board, and dense layers of 1024 and 512 units
    with dropout. It sees one plane: 1 where the mover's pieces are, -1 where the other's are.
    """

    def __init__(self, game: Game, channels: int = 512, dropout: float = 0.3):
        super().__init__()
        assert game.board.grid is not None and game.seats == 2
        self.game, self.grid = game, game.board.grid
        left = (self.grid[0] - 4) * (self.grid[1] - 4)
        self.convolutions = nn.ModuleList(
            nn.Conv2d(inputs, channels, 3, padding=padding)
            for inputs, padding in ((1, 1), (channels, 1), (channels, 0), (channels, 0))
        )
        self.dense = nn.ModuleList([nn.Linear(channels * left, 1024), nn.Linear(1024, 512)])
        self.norms: nn.ModuleList = nn.ModuleList(nn.BatchNorm2d(channels) for _ in self.convolutions)
        self.dense_norms: nn.ModuleList = nn.ModuleList(nn.BatchNorm1d(layer.out_features) for layer in self.dense)
        self.dropout = dropout
        self.policy, self.value = nn.Linear(512, game.num_moves), nn.Linear(512, 1)

    def outputs(self, planes: Tensor) -> Outputs:
        """As `Net.outputs`, so that the same learner trains it."""
        x = (planes[:, 0] - planes[:, 1]).view(-1, 1, *self.grid)
        x = x.to(self.convolutions[0].weight.dtype)
        for layer, norm in zip(self.convolutions, self.norms, strict=True):
            x = F.relu(norm(layer(x)))
        x = x.flatten(1)
        for layer, norm in zip(self.dense, self.dense_norms, strict=True):
            x = F.dropout(F.relu(norm(layer(x))), self.dropout, self.training)
        x = x.to(self.policy.weight.dtype)
        value = torch.tanh(self.value(x))
        return Outputs(self.policy(x), torch.cat([value, -value], 1))

    @torch.no_grad()
    def for_inference(self, dtype: torch.dtype) -> PeerNet:
        """A copy with its batch norms folded in, in that precision but for the last layers."""
        net = copy.deepcopy(self).eval()
        for layers, norms, fuse in (
            (net.convolutions, net.norms, fuse_conv_bn_eval),
            (net.dense, net.dense_norms, fuse_linear_bn_eval),
        ):
            for i in range(len(layers)):
                layers[i] = fuse(layers[i], norms[i])
                norms[i] = nn.Identity()
            layers.to(dtype)
        return net.to(memory_format=torch.channels_last)


class InPyTorch:
    """Answers in place of another evaluator, in the same memory."""

    def __init__(self, net: Net | PeerNet, place: Evaluator):
        self.x, self.logits, self.values = map(torch.from_numpy, place.arrays)
        self.arrays = place.arrays
        coarse = cpu_dtype()
        inference = InferenceNet(net, coarse) if isinstance(net, Net) else net.for_inference(coarse).outputs
        self.answers: Callable[[Tensor], tuple[Tensor, ...]] = inference

    def run(self) -> None:
        if torch.get_num_threads() != 1:
            torch.set_num_threads(1)
        with torch.inference_mode():
            logits, values, *_ = self.answers(self.x)
            self.logits.copy_(logits)
            self.values.copy_(values)


def mflop(net: nn.Module, planes: Tensor) -> float:
    """Millions of multiplications and additions that a position takes, of convolutions and dense layers."""
    total = 0

    def count(layer: nn.Module, _: Any, out: Tensor) -> None:
        nonlocal total
        if isinstance(layer, nn.Conv2d | nn.Linear):
            places = out[0, 0].numel() if isinstance(layer, nn.Conv2d) else 1
            total += 2 * layer.weight.numel() * places

    hooks = [layer.register_forward_hook(count) for layer in net.modules()]
    with torch.inference_mode():
        net.eval().outputs(planes)  # type: ignore[operator]
    for hook in hooks:
        hook.remove()
    return total / 1e6


def theirs(folder: Path, simulations: int, threads: int, seconds: float) -> Callable[[], Rates]:
    """Whole games by the peer's own code, with its own settings, for at least so long."""
    sys.path.insert(0, str(folder))
    from Coach import Coach
    from MCTS import MCTS
    from othello.OthelloGame import OthelloGame
    from othello.pytorch.NNet import NNetWrapper
    from utils import dotdict

    OthelloGame.stringRepresentation = lambda self, board: board.tobytes()  # NumPy has no `tostring` any more
    game = OthelloGame(6)
    net = NNetWrapper(game)
    coach = Coach(game, net, dotdict({"numMCTSSims": simulations, "cpuct": 1, "tempThreshold": 15}))

    def rates() -> Rates:
        torch.set_num_threads(threads)
        positions, began = 0, time.perf_counter()
        while time.perf_counter() - began < seconds:
            coach.mcts = MCTS(game, net, coach.args)  # as its `learn` begins every game
            positions += len(coach.executeEpisode()) // 8  # it lists every position in 8 symmetries
        rate = positions / (time.perf_counter() - began)
        return rate, rate * simulations

    return rates


def ours(
    net: Net | PeerNet, simulations: int, threads: int, games: int, seconds: float, pytorch: bool
) -> Callable[[], Rates]:
    """Whole self-play with that net."""
    settings = Settings(simulations=simulations, c=1.0, alpha=1.0, warm=15)
    own = net if isinstance(net, Net) else Net(net.game, NetConfig(1, 8))  # the other one stands in for it
    play = SelfPlay(own, games, settings, threads=threads)
    if pytorch:
        for worker in play.workers:
            worker.evaluator = InPyTorch(net, worker.evaluator)  # type: ignore[assignment]

    def written() -> int:
        return sum(int(worker.forest.host("info")[:, layout.SLOT].sum()) for worker in play.workers)

    play.advance(2)  # compiles

    def rates() -> Rates:
        play.stats()
        positions, began = written(), time.perf_counter()
        while time.perf_counter() - began < seconds:
            play.advance(simulations)
        spent = time.perf_counter() - began
        return (written() - positions) / spent, play.stats()["simulations"] / spent

    return rates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", type=Path, help="a folder with alpha-zero-general; without it only ours is measured")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--simulations", type=int, default=25)
    parser.add_argument("--games", type=int, default=64, help="games at once, per thread")
    parser.add_argument("--sizes", nargs="*", default=["nano", "tiny"], help="of our nets")
    parser.add_argument("--seconds", type=float, default=20.0, help="a measurement")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if options.peer and not (options.peer / "Coach.py").exists():
        parser.error(f"--peer {options.peer}: no Coach.py there; name a folder with the sources of alpha-zero-general")
    game = make("othello(size=6)")
    planes = torch.zeros(1, game.num_planes or 0, len(game.board.cells))
    simulations, seconds, games = options.simulations, options.seconds, options.games * options.threads
    peer = PeerNet(game)
    nets: dict[str, Net | PeerNet] = {}
    for size in options.sizes:
        nets[size] = nets[f"{size}, in PyTorch"] = Net(game, NetConfig.sized(size)).eval()
    nets["theirs, in our self-play"] = peer
    kinds = {
        name: ours(net, simulations, options.threads, games, seconds, name not in options.sizes)
        for name, net in nets.items()
    }
    for threads in sorted({1, options.threads}) if options.peer else ():
        name = f"alpha-zero-general, {threads} thread{'s' * (threads > 1)}"
        kinds[name], nets[name] = theirs(options.peer, simulations, threads, seconds), peer
    print(f"{machine()}; {game}, {simulations} simulations, {options.threads} threads, {games} games at once\n")
    seen: dict[str, list[Rates]] = {name: [] for name in kinds}
    for number in range(options.rounds):
        for name, measure in kinds.items():
            seen[name].append(measure())
            print(f"round {number + 1}: {name}: {seen[name][-1][0]:.1f} positions/s", file=sys.stderr, flush=True)
    middle = {name: [statistics.median(column) for column in zip(*rates, strict=True)] for name, rates in seen.items()}
    base = max((rates[0] for name, rates in middle.items() if name.startswith("alpha-zero")), default=None)
    rows = [
        [
            name,
            human(sum(weight.numel() for weight in nets[name].parameters())),
            f"{mflop(nets[name], planes):.1f}",
            f"{positions:.1f}",
            human(rate),
            f"{positions / base:.1f}x" if base else "",
        ]
        for name, (positions, rate) in middle.items()
    ]
    print(table(["net", "weights", "MFLOP a position", "positions/s", "simulations/s", "ratio"], rows))


if __name__ == "__main__":
    main()
