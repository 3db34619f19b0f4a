"""Tic-tac-toe from scratch to perfect play, checked in every position that can arise.

    python experiments/zero/tic_tac_toe.py --out runs/tic_tac_toe

Trains until neither the net alone nor the net with 25 simulations gives up the value of any of the 4,520 positions in
which somebody is to move, whichever seat that is. Says how long it took.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from accuracy import wrong

from meijin.core.agent import Limit
from meijin.core.catalogue import make
from meijin.core.state import State
from meijin.learning.zero.batch_search import BatchSearch
from meijin.learning.zero.config import ZeroConfig
from meijin.learning.zero.raw_net import RawNet
from meijin.search.forest import Settings
from meijin.search.solvers import solver_for
from meijin.training.zero_run import ZeroRun

CONFIG = Path(__file__).with_name("tic_tac_toe.json")


def every_position() -> tuple[np.ndarray, list[set[int]]]:
    """All positions with a seat to move, and the moves that keep the value of each."""
    game = make("tic_tac_toe")
    solver, found = solver_for(game), {}
    waiting = [State(game)]
    while waiting:
        state = waiting.pop()
        if state.is_over or state in found:
            continue
        infos = solver.analyse(state, Limit()).moves
        best = max(info.value[state.turn] for info in infos)
        found[state] = {int(info.move) for info in infos if info.value[state.turn] == best}
        waiting += [state.copy().play(move) for move in state.legal_moves]
    records = game.states(len(found))
    for i, state in enumerate(found):
        records[i] = state.record
    return records, list(found.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--simulations", type=int, default=25)
    options = parser.parse_args()
    records, good = every_position()
    began = time.perf_counter()
    run = ZeroRun(options.out, ZeroConfig.load(CONFIG))
    raw, searcher = RawNet(run.learner.averaged, 512), None
    print(f"{len(records)} positions; wrong moves of the net alone, and with {options.simulations} simulations:")
    while run.progress < 1.0:
        run.iterate()
        if run.iteration % 4:
            continue
        net = run.learner.averaged
        searcher = searcher or BatchSearch(net, 512, Settings(simulations=options.simulations))
        torch.set_num_threads(1)
        raw.load(net)
        searcher.load(net)
        alone, searched = wrong(raw, records, good), wrong(searcher, records, good)
        print(
            f"{time.perf_counter() - began:6.0f} s  iteration {run.iteration:3}  {alone:6.2f} %  {searched:6.2f} %",
            flush=True,
        )
        if alone == searched == 0:
            break
    run.close()


if __name__ == "__main__":
    main()
