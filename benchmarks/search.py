"""Full-width search and alpha-beta: positions per second, and the depth that one second reaches, game by game.

    python benchmarks/search.py
    python benchmarks/search.py othello abalone --seconds 5

Every game is searched from a few positions of a random game by one thread; figures are medians over them. A position is
counted when it is looked at, whether it is searched, estimated or found in the table.
"""

from __future__ import annotations

import argparse
import statistics

from common import human, machine, table

from meijin import make
from meijin.core.agent import Agent, Limit
from meijin.core.catalogue import games
from meijin.core.game import Game
from meijin.core.opening import opening
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.search.alphabeta import AlphaBeta
from meijin.search.maxn import MaxN

PLIES = (4, 8, 12)  # random plies before the positions that are searched


def positions(game: Game) -> list[State]:
    return [opening(game, min(plies, game.longest // 3), stream(7, k)) for k, plies in enumerate(PLIES)]


def measure(agent: Agent, game: Game, seconds: float) -> tuple[str, str]:
    """Positions per second, and the depth reached."""
    if agent.unfit(game):
        return "-", "-"
    found = []
    for state in positions(game):
        agent.act(state, Limit(depth=1))  # compiles, if nothing else did
        found.append(agent.analyse(state, Limit(seconds=seconds)))
    # A search that ended early, because the position was solved, says nothing about speed.
    rates = [a.nodes / a.seconds for a in found if a.seconds > seconds / 2] or [a.nodes / a.seconds for a in found]
    depth = statistics.median(a.depth for a in found)
    return human(statistics.median(rates)), f"{depth:g}" + (" (solved)" if all(a.proven for a in found) else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("games", nargs="*", help="game expressions; by default every game")
    parser.add_argument("--seconds", type=float, default=1.0, help="time for one search (default 1)")
    options = parser.parse_args()
    rows = []
    for name in options.games or games.names():
        game = make(name)
        full = measure(MaxN(seconds=1), game, options.seconds)
        cut = measure(AlphaBeta(seconds=1), game, options.seconds)
        rows.append([name, *full, *cut, "yes" if game.heuristic else "", "yes" if game.noisy else ""])
    print(f"{machine()}; {options.seconds:g} s a search, all moves valued\n")
    head = ["game", "maxn /s", "depth", "alphabeta /s", "depth", "heuristic", "quiescence"]
    print(table(head, rows))


if __name__ == "__main__":
    main()
