"""Seconds from the start of a process to the end of the first game of a run of `zero` in it.

    python benchmarks/first_game.py draughts --load examples/draughts.py --preset strong --device cuda

The first process of a kind of machine compiles rules, trees and nets; the next ones find the machine code on the disk.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time

CODE = """
import sys
from meijin import training
from meijin.agents.registrations import load
from meijin.training.events import Progress

game, file, preset, device, out = sys.argv[1:]
if file:
    load(file)
run = training.zero(game, preset=preset, out=out, seconds=600, device=device)

def seen(event):
    if isinstance(event, Progress) and event.phase == "self-play" and event.done and not run.stopping:
        print(event.done, flush=True)
        run.stop()

run.go(seen)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game")
    parser.add_argument("--load", default="", help="a file with the game")
    parser.add_argument("--preset", default="strong")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--processes", type=int, default=3, help="one after the other")
    options = parser.parse_args()
    for number in range(1, options.processes + 1):
        with tempfile.TemporaryDirectory() as out:
            given = options.game, options.load, options.preset, options.device, f"{out}/run"
            began = time.perf_counter()
            with subprocess.Popen([sys.executable, "-c", CODE, *given], stdout=subprocess.PIPE, text=True) as child:
                assert child.stdout is not None
                positions = child.stdout.readline().strip()
                seconds = time.perf_counter() - began
        print(f"process {number}: {seconds:.1f} s ({positions} positions)", flush=True)


if __name__ == "__main__":
    main()
