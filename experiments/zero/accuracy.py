"""How often a player's move gives up the game's value, on Connect Four positions with known scores.

    python experiments/zero/accuracy.py CHECKPOINT FILE... --simulations 400 --device cuda
    python experiments/zero/accuracy.py 'champion(simulations=400)' FILE...

A line of a file: the moves as 1-based columns, and the exact scores of the seven columns for the side to move ("."
where full); `tools/connect_four_positions.py` makes such files. A move is wrong if its score has another sign than the
best one's. Prints, for every file, the share of wrong moves: of a net alone and after search, or of an agent.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from meijin import build, make
from meijin.core.state import State
from meijin.learning.zero import checkpoint
from meijin.learning.zero.batch_search import BatchSearch
from meijin.learning.zero.nets import Net
from meijin.learning.zero.raw_net import RawNet
from meijin.search.forest import Settings


def read(game, path: Path) -> tuple[np.ndarray, list[set[int]]]:
    """Records, and for each the moves that keep its value."""
    lines = path.read_text().split("\n")
    records, good = [], []
    for line in filter(None, lines):
        moves, *scores = line.split()
        state = State(game).play_line([int(column) - 1 for column in moves])
        known = {column: int(score) for column, score in enumerate(scores) if score != "."}
        best = np.sign(max(known.values()))
        good.append({column for column, score in known.items() if np.sign(score) == best})
        records.append(state.record)
    array = game.states(len(records))
    for i, record in enumerate(records):
        array[i] = record
    return array, good


def wrong(player, records: np.ndarray, good: list[set[int]]) -> float:
    found = []
    for at in range(0, len(records), player.batch):
        found += list(player.moves(records[at : at + player.batch]))
    return 100 * float(np.mean([move not in keep for move, keep in zip(found, good, strict=True)]))


def accuracy(
    net: Net, files: list[Path], simulations: int, device: str, symmetries: bool
) -> dict[str, tuple[float, float]]:
    net = net.to(device).eval()
    raw = RawNet(net, 1000, device, symmetries)
    searching = BatchSearch(net, 1000, Settings(simulations=simulations), device=device)
    found = {}
    for path in files:
        records, good = read(net.game, path)
        found[path.stem] = wrong(raw, records, good), wrong(searching, records, good)
    return found


def wrong_of_agent(expression: str, path: Path) -> float:
    """The same share for any agent, position by position."""
    game = make("connect_four")
    records, good = read(game, path)
    with build(expression, game) as agent:
        found = [int(agent.act(State(game, record))) for record in records]
    return 100 * float(np.mean([move not in keep for move, keep in zip(found, good, strict=True)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("player", help="a checkpoint, or the expression of an agent")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--simulations", type=int, default=400)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--symmetries", action="store_true", help="the net alone says the mean over mirror images")
    options = parser.parse_args()
    if not Path(options.player).exists():
        print("| positions | wrong moves |\n| --- | --- |")
        for path in options.files:
            print(f"| {path.stem} | {wrong_of_agent(options.player, path):.1f} % |", flush=True)
        return
    net = checkpoint.load(Path(options.player)).net
    print(f"| positions | wrong moves, net alone | with {options.simulations} simulations |\n| --- | --- | --- |")
    found = accuracy(net, options.files, options.simulations, options.device, options.symmetries)
    for name, (raw, searched) in found.items():
        print(f"| {name} | {raw:.1f} % | {searched:.1f} % |")


if __name__ == "__main__":
    main()
