"""Is the published champion the champion? How often its move gives up a Connect Four position's value, here and there.

    python experiments/publish/champion.py --positions 500 --simulations 200

Positions are random, of ply 8 to 24, not over, and such that some moves keep the exact value and some do not. A move is
wrong if its score has another sign than the best one's. "There" is the published page's engine in Chromium, whose net
has float16 weights; "here" the agent `champion`. Each position is searched afresh. The test is McNemar's, exact: given
that the two differ in being wrong in n positions, either is as likely to be the wrong one.
"""

from __future__ import annotations

import argparse
import base64
import math
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from chromium import chromium

from meijin import make
from meijin.agents.champion import Champion
from meijin.core.state import State
from meijin.search.solvers.connect_four import Solver
from meijin.web.wasm.bundle import bundle
from meijin.web.wasm.script import joined, module

GAME = make("connect_four")
PAGE = """
import { localEngine } from "./engine_local.js";
globalThis.open = async (files, script) => {
  const bytes = (name) => Uint8Array.from(atob(files[name]), (c) => c.charCodeAt(0));
  const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  globalThis.engine = await localEngine({
    json: async (name) => JSON.parse(new TextDecoder().decode(bytes(name))),
    bytes: async (name) => bytes(name).buffer,
    worker: () => new Worker(address),
  });
};
globalThis.best = async (moves, agent) => {
  let last;
  for await (const analysis of engine.analyse({ game: "connect_four", moves }, { agent })) last = analysis;
  return last.moves[0].move;
};
"""


def positions(count: int, seed: int) -> list[tuple[State, set[int]]]:
    """Positions, and the moves that keep their value."""
    rng, solver, found = random.Random(seed), Solver(GAME), []
    while len(found) < count:
        state, plies = State(GAME), rng.randint(8, 24)
        while not state.is_over and len(state.history) < plies:
            state.play(rng.choice(state.legal_moves))
        if state.is_over:
            continue
        signs = {int(move): (score > 0) - (score < 0) for move, score in solver.scores(state).items()}
        keep = {move for move, sign in signs.items() if sign == max(signs.values())}
        if len(keep) < len(signs):
            found.append((state, keep))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--positions", type=int, default=500)
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chosen = positions(options.positions, options.seed)
    here = Champion(simulations=options.simulations, reuse=False, exact=False)
    agent = f"champion(simulations={options.simulations}, reuse=False)"
    files = {name: base64.b64encode(data).decode() for name, data in bundle([GAME]).files.items()}
    counts = {"here": 0, "there": 0, "only here": 0, "only there": 0, "other move": 0}
    with chromium() as browser:
        browser.page.add_script_tag(content=joined(PAGE))
        browser.page.evaluate("given => open(...given)", [files, module("worker.js")])
        for state, keep in chosen:
            mine = int(here.act(state))
            theirs = browser.page.evaluate("given => best(...given)", [[int(m) for m in state.history], agent])
            wrong = mine not in keep, theirs not in keep
            counts["here"] += wrong[0]
            counts["there"] += wrong[1]
            counts["only here"] += wrong[0] and not wrong[1]
            counts["only there"] += wrong[1] and not wrong[0]
            counts["other move"] += mine != theirs
    n, k = counts["only here"] + counts["only there"], min(counts["only here"], counts["only there"])
    chance = min(1.0, 2 * sum(math.comb(n, i) for i in range(k + 1)) / 2**n)
    print(f"{len(chosen)} positions, {options.simulations} simulations")
    print(f"wrong: {counts['here']} here, {counts['there']} there; another move in {counts['other move']}")
    print(f"wrong only here: {counts['only here']}, only there: {counts['only there']}")
    print(f"McNemar's exact test: p = {chance:.2f}")


if __name__ == "__main__":
    main()
