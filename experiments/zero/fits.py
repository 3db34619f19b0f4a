"""How fast nets of different training settings learn the same positions: those that a run of `zero` left.

    python experiments/zero/fits.py runs/draughts --load examples/draughts.py --device cuda --seconds 15 \\
        optimizer=adamw optimizer=muon "optimizer=muon,batch=1024"

Every variant changes `training` of the run's config, begins with new weights, and has the same time to learn, without
compilation. The losses are those of the averaged weights on 20,000 positions that nobody learns.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import torch

import meijin
from meijin.agents.registrations import load
from meijin.learning.zero.config import TrainingConfig, ZeroConfig
from meijin.learning.zero.learner import Learner
from meijin.learning.zero.nets import Net
from meijin.learning.zero.positions import Positions
from meijin.learning.zero.replay import deduplicate, set_aside

ASIDE = 20_000


def changed(config: TrainingConfig, text: str) -> TrainingConfig:
    """The config with changes such as "optimizer=muon,rate=0.004"."""
    changes = dict(part.split("=") for part in text.split(",") if part)
    return replace(config, **{name: _value(value) for name, value in changes.items()})


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("variants", nargs="+")
    parser.add_argument("--load", help="a file with the game")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--seeds", type=int, default=1, help="runs of each variant, from different weights")
    options = parser.parse_args()
    if options.load:
        load(options.load)
    config = ZeroConfig.load(options.run / "config.json")
    game = meijin.make(config.game)
    parts = [Positions.load(path, game) for path in sorted((options.run / "games").glob("*.safetensors"))]
    data = deduplicate(Positions.cat(parts).to(options.device))
    learned, aside = set_aside(data, ASIDE / len(data))
    print(f"{game}: {len(learned):,} positions, {options.seconds:g} s each", flush=True)
    print("variant | seed | steps | policy | value", flush=True)
    for variant in options.variants:
        training = changed(config.training, variant)
        for seed in range(options.seeds):
            torch.manual_seed(seed)
            learner = Learner(Net(game, config.shape), replace(training, seed=seed), options.device)
            learner.lessons[0].lists_all = learned.moves.shape[1] == game.branching
            learner.fit(learned, 4, 0.0)  # compile and record; four steps at a low rate change little
            began = time.perf_counter()

            def share(began: float = began) -> float:
                return (time.perf_counter() - began) / options.seconds

            learner.fit(learned, 10**9, share, lambda done, total, share=share: share() < 1.0)
            learner.net.load_state_dict(learner.averaged.state_dict())
            found = learner.validate([aside])
            cells = variant, seed, learner.steps, f"{found['policy']:.4f}", f"{found['value']:.4f}"
            print(" | ".join(map(str, cells)), flush=True)


if __name__ == "__main__":
    main()
