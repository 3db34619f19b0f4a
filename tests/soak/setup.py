"""Random set-ups of every game, played to the end by compiled rules: nothing hangs, overflows or writes elsewhere.

    python tests/soak/setup.py [COUNT] [GAME ...]

sets up COUNT positions (default: 1,000,000) of each game and its variants, in batches with seeds of their own. A batch
that breaks a law stops the run with the position and its batch; a crash leaves the number of the batch on the screen.
"""

from __future__ import annotations

import faulthandler
import sys
import time

import numpy as np

from meijin.core.catalogue import game_names, make
from meijin.core.check.laws import Evidence, interpreted_play
from meijin.core.check.setups import play_strange_set_ups
from meijin.core.check.supervise import Watch
from meijin.core.game import Game

BATCH = 10_000
#: Beside the defaults: other sizes of records, more seats, other rules.
VARIANTS = {
    "2048": ("2048(size=2)", "2048(width=3, height=2)", "2048(size=6)"),
    "abalone": ("abalone(max_plies=1)", "abalone(layout='belgian_daisy', max_plies=40)"),
    "breakthrough": ("breakthrough(rows=2, columns=2)", "breakthrough(rows=5, columns=4)"),
    "connect_four": ("connect_four(width=9, height=8, connect=5)", "connect_four(width=1, height=4)"),
    "cube": ("cube(size=3, metric='quarter')",),
    "einstein": ("einstein(layout='random')",),
    "go": (
        "go(size=2)",
        "go(size=5, superko='simple', scoring='territory')",
        "go(size=4, superko='situational', suicide=True)",
        "go(size=13, handicap=5)",
    ),
    "gomoku": ("gomoku(size=19)",),
    "hex": ("hex(size=1, swap=True)", "hex(size=4, swap=True)"),
    "minishogi": ("minishogi(max_plies=1)",),
    "nim": ("nim(heaps=(3, 4, 4), players=3, misere=True)",),
    "othello": ("othello(size=4)", "othello(size=10)"),
    "sim": ("sim(points=3)", "sim(points=8, players=3)"),
    "tic_tac_toe": ("tic_tac_toe(width=5, height=4, connect=4)",),
    "yavalath": ("yavalath(swap=True)", "yavalath(players=3)"),
}


def soak(game: Game, count: int) -> None:
    evidence = Evidence(game, 5, 1, Watch(game, 60.0))
    interpreted_play(evidence)  # positions to change in places
    seeds = np.array([position.cells for position in evidence.positions])
    began, accepted = time.perf_counter(), 0
    for number in range(-(-count // BATCH)):
        if sys.stdout.isatty():
            print(f"\r{game}: batch {number}", end="", flush=True)
        accepted += play_strange_set_ups(game, seeds, min(BATCH, count - number * BATCH), number)
    seconds = time.perf_counter() - began
    print(f"\r{game}: {count:,} set-ups, {accepted:,} accepted and played to the end in {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    faulthandler.enable()
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    for name in sys.argv[2:] or game_names():
        for expression in (name, *VARIANTS.get(name, ())):
            soak(make(expression), wanted)
