"""Othello on 6 x 6: our small nets against the much larger net of alpha-zero-general, taught by the same positions.

    python experiments/zero/othello6.py --out runs/othello6

A short run of self-play with the smallest net leaves positions. A net of exactly alpha-zero-general's layers (with its
batch norm and its dropout) and ours each learn from scratch from these, from equally many samples and by the same
learner. Then they play with the same search, every opening of random plies twice with the sides exchanged. Prints our
share of the points, a draw counting one half, with the 95 % Wilson interval. What is in the folder already (positions,
trained nets) is not made again.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from meijin import make
from meijin.arena.stats import wilson
from meijin.core.game import Game
from meijin.learning.nets.config import NetConfig
from meijin.learning.zero.batch_search import BatchSearch
from meijin.learning.zero.config import TrainingConfig
from meijin.learning.zero.duel import duel, points
from meijin.learning.zero.learner import Learner
from meijin.learning.zero.nets import Net
from meijin.learning.zero.positions import Positions
from meijin.learning.zero.presets import preset
from meijin.learning.zero.replay import deduplicate
from meijin.search.forest import Settings
from meijin.training.zero_run import ZeroRun

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from selfplay_cpu import InPyTorch, PeerNet

GAME = "othello(size=6)"
PEER = "alpha-zero-general's layers"
PARTS = 20  # of the training; the rate falls from one to the next
RATE, RATES = 2e-3, {PEER: 1e-3}  # ours, and the peer's own


def positions(folder: Path, game: Game, seconds: float) -> Positions:
    """The positions in the window of a run of self-play."""
    if not (folder / "config.json").exists():
        config = preset("quick", game).changed(
            {
                "search": {"simulations": 25, "random_share": 0.5, "random_plies": 10},
                "training": {"optimizer": "adamw", "rate": RATE},
                "length": {"positions": 6_000, "evaluate": 0, "keep": 0},
            }
        )
        ZeroRun(folder, config.finish_in(seconds, None)).go()
    parts = [Positions.load(path, game) for path in sorted((folder / "games").glob("*.safetensors"))]
    whole = Positions.cat(parts)
    print(f"{len(whole)} positions of self-play", end="", flush=True)
    whole = deduplicate(whole)
    print(f", {len(whole)} different ones", flush=True)
    return whole


def trained(name: str, net: Net | PeerNet, data: Positions, samples: int, batch: int, path: Path) -> Net | PeerNet:
    """The net after so many samples of the data, each in a random symmetry."""
    if path.exists():
        net.load_state_dict(load_file(path))
        return net.eval()
    began = time.perf_counter()
    training = TrainingConfig(batch=batch, rate=RATES.get(name, RATE), ema=0.998)
    learner = Learner(net, training)  # type: ignore[arg-type]  # all that it asks of a net, both have
    for part in range(PARTS):
        losses = learner.fit(data, samples // batch // PARTS, part / PARTS)
        spent = time.perf_counter() - began
        print(f"  {spent:4.0f} s: policy {losses['policy']:.3f}, value {losses['value']:.3f}", file=sys.stderr)
    save_file({key: tensor.contiguous() for key, tensor in learner.averaged.state_dict().items()}, path)
    print(
        f"{name}: {samples} samples in {spent:.0f} s, loss of the policy {losses['policy']:.3f} and of the value "
        f"{losses['value']:.3f} at the end",
        flush=True,
    )
    return learner.averaged


def player(net: Net | PeerNet, batch: int, simulations: int) -> BatchSearch:
    """The net with search."""
    settings = Settings(simulations=simulations)
    if isinstance(net, Net):
        return BatchSearch(net, batch, settings)
    searcher = BatchSearch(Net(net.game, NetConfig(1, 8)), batch, settings)
    searcher.worker.evaluator = InPyTorch(net, searcher.worker.evaluator)  # type: ignore[assignment]
    return searcher


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=300.0, help="of self-play and of the net that plays")
    parser.add_argument("--samples", type=int, default=240_000, help="that each net learns from")
    parser.add_argument("--batch", type=int, default=64, help="samples a step")
    parser.add_argument("--sizes", nargs="*", default=["nano"], help="of our nets")
    parser.add_argument("--games", type=int, default=400, help="of each match")
    parser.add_argument("--simulations", type=int, default=25)
    parser.add_argument("--plies", type=int, default=6, help="random plies that open each pair of games")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    game = make(GAME)
    data = positions(options.out / "run", game, options.seconds)
    torch.set_num_threads(1)  # faster than more, on cores that do anything else
    nets: dict[str, Net | PeerNet] = {}
    for name in (*options.sizes, PEER):
        torch.manual_seed(options.seed)
        fresh = PeerNet(game) if name == PEER else Net(game, NetConfig.sized(name))
        path = options.out / f"{'peer' if name == PEER else name}-{options.samples}.safetensors"
        nets[name] = trained(name, fresh, data, options.samples, options.batch, path)
    batch = min(128, options.games)
    other = player(nets[PEER], batch, options.simulations)
    head = ["ours", "weights", "against", "weights", "games", "points, 95 %", "won-drawn-lost"]
    print(f"\n| {' | '.join(head)} |\n{'|---' * len(head)}|")
    for name in options.sizes:
        one = player(nets[name], batch, options.simulations)
        scores = duel(one, other, game, options.games, plies=options.plies, seed=options.seed)
        low, high = wilson(points(scores), len(scores))
        counts = [sum(weight.numel() for weight in nets[key].parameters()) for key in (name, PEER)]
        print(
            f"| {name} | {counts[0]:,} | {PEER} | {counts[1]:,} | {len(scores)} | "
            f"{points(scores):.1%} ({low:.1%} to {high:.1%}) | "
            f"{(scores > 0).sum()}-{(scores == 0).sum()}-{(scores < 0).sum()} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
