"""WebAssembly in Chromium against native code: random moves, MCTS playouts, and the search with the champions' nets.

    python benchmarks/wasm.py
    python benchmarks/wasm.py connect_four go --seconds 1 --rounds 9

One thread each, in turns in the same run; figures are medians, per second of processor time, so that other programs
disturb them less. A search has a new tree each time. The page's own drivers run the searches, in the page's thread. It
needs Playwright and Chromium. --sizes prints what a visitor downloads, --frames how busy the page is meanwhile.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import itertools
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from chromium import Chromium, chromium
from common import Rate, compare, human, machine, table

from meijin.agents.champion import Champion
from meijin.core import kernels
from meijin.core.agent import Limit
from meijin.core.catalogue import games, make
from meijin.core.game import Game
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.core.wasm.module import Builder
from meijin.core.wasm.trial import add_trial
from meijin.learning import files
from meijin.search.mcts import MCTS
from meijin.search.mcts.selection import PLAIN
from meijin.web.wasm import parts
from meijin.web.wasm.nets import net_file
from meijin.web.wasm.publish import site
from meijin.web.wasm.script import joined

PAGE = """
import { WasmModule } from "./wasm_module.js";
import { Zero } from "./worker_net.js";
import { Mcts } from "./worker_search.js";
const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const last = (thinking) => {
  for (;;) {
    const { value, done } = thinking.next();
    if (done) return value;
  }
};
let module, facts, searches, tasks = 0;
globalThis.bench = {
  async open(code, manifest, given, net) {
    facts = given;
    module = new WasmModule(await WebAssembly.compile(bytes(code)), manifest);
    searches = { mcts: new Mcts(module, facts, { seed: 1n }) };
    const another = new WasmModule(await WebAssembly.compile(bytes(code)), manifest);
    if (net) searches.zero = new Zero(another, facts, { net: bytes(net).buffer });
  },
  moves(games) {
    module.array("trial.rng")[0] ||= 1n;
    return module.run("random_games", games);
  },
  search(name, record, turn, legal, simulations) {
    const origin = String(tasks++), limit = { simulations };
    const task = { record: bytes(record), origin, moves: [], turn, legal, limit, every: Infinity, act: false };
    return last(searches[name].think(task)).simulations;
  },
};
"""


class Page:
    """A game in Chromium."""

    def __init__(self, browser: Chromium, game: Game):
        self.page, self.game = browser.page, game
        b = Builder(game.name)
        parts.rules(b, game)
        add_trial(b, game)
        parts.mcts(b, game, PLAIN)
        net = None
        if files.champion(game) is not None:
            parts.forest(b, game)
            parts.net(b)
            net = _text(net_file(Champion().net(game).weights()))
        module = b.build()
        low, high = game.describe()["score_range"]
        facts = {"seats": game.seats, "range": [low, high], "longest": game.longest, "size": game.dtype.itemsize}
        given = [_text(module.code), module.manifest, facts | {"slots": parts.SLOTS}, net]
        self.page.evaluate("given => bench.open(...given)", given)
        state = State(game)
        state.roll(stream(0))
        self.at = _text(state.records.tobytes()), state.turn, [int(move) for move in state.legal_moves]

        self._session = self.page.context.new_cdp_session(self.page)
        self._session.send("Performance.enable")

    def clock(self) -> float:
        """Seconds that the page's thread has worked."""
        metrics = self._session.send("Performance.getMetrics")["metrics"]
        return float(next(each["value"] for each in metrics if each["name"] == "ThreadTime"))

    def moves(self, seconds: float) -> Rate:
        return _rate(lambda games: int(self.page.evaluate("games => bench.moves(games)", games)), self.clock, seconds)

    def search(self, name: str, simulations: int) -> Rate:
        given = [name, *self.at, simulations]
        return _rate(lambda _: int(self.page.evaluate("given => bench.search(...given)", given)), self.clock)


def _rate(work: Callable[[int], int], clock: Callable[[], float], seconds: float = 0.0) -> Rate:
    """What `work(size)` counts per second of a clock; it is called with growing sizes until that takes long enough."""
    size = 10

    def rate() -> float:
        nonlocal size
        while True:
            began = clock()
            done = work(size)
            spent = clock() - began
            if spent >= seconds:
                return done / spent
            size *= 2 if spent > seconds / 8 else 8

    return rate


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def native(game: Game, agent: MCTS | Champion, simulations: int) -> Rate:
    """Simulations of an agent here, a new tree each time."""
    state, seeds = State(game), itertools.count()
    state.roll(stream(0))

    def search(_: int) -> int:
        agent.seed(next(seeds)) if isinstance(agent, MCTS) else agent.reseed(next(seeds))
        return agent.analyse(state, Limit(simulations=simulations)).simulations

    return _rate(search, time.process_time)


def native_moves(game: Game, seconds: float) -> Rate:
    kernel, states, rng = game.kernel(kernels.random_games), game.states(1), stream(1)
    buffers, sums = kernels.buffers(game), [np.zeros(game.seats) for _ in range(2)]
    return _rate(lambda games: int(kernel(states, games, rng, *buffers, *sums)), time.process_time, seconds)


def row(browser: Chromium, name: str, options: Any) -> list[float]:
    """Rates of random moves, playouts and champion: native, Chromium, native, ..."""
    game = make(name)
    page = Page(browser, game)
    rates = [native_moves(game, options.seconds), page.moves(options.seconds)]
    rates += [native(game, MCTS(threads=1), options.simulations), page.search("mcts", options.simulations)]
    if files.champion(game) is not None:
        champion = Champion(simulations=options.net, reuse=False, exact=False)
        rates += [native(game, champion, options.net), page.search("zero", options.net)]
    return compare(rates, options.rounds)


def frames(browser: Chromium, seconds: float) -> str:
    """How long the page itself is busy at a time while one of its agents thinks: all work between two frames is less.

    In processor time of the page's thread, so that other programs on this machine do not count.
    """
    page, rows = browser.page, []
    with tempfile.NamedTemporaryFile(suffix=".html") as file:
        file.write(site([make("connect_four")], single_file=True).files["index.html"])
        file.flush()
        for agent in ("mcts", "alphabeta", "champion"):
            page.goto("about:blank")
            page.goto(Path(file.name).as_uri() + "#/game/connect_four?m=")
            page.get_by_role("tab", name="Look inside").click()
            page.get_by_label("Agent that looks at the position").first.select_option(agent)
            page.locator("#analyse").click()
            page.locator(".inside table").wait_for()
            page.context.browser.start_tracing(page=page, categories=["toplevel"])
            page.wait_for_timeout(1000 * seconds)
            events = json.loads(page.context.browser.stop_tracing())["traceEvents"]
            main = {
                (event["pid"], event["tid"])
                for event in events
                if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
            }
            tasks = sorted(
                event["tdur"] / 1000 for event in events if (event["pid"], event["tid"]) in main and "tdur" in event
            )
            rows.append([agent, f"{len(tasks):,}", f"{tasks[int(0.99 * len(tasks))]:.1f} ms", f"{tasks[-1]:.1f} ms"])
    return table(["while it thinks", "tasks of the page", "99 % below", "longest"], rows)


def sizes() -> str:
    """What a first visit transfers, with what hosts do by themselves: gzip."""
    rows = []
    for label, name, usual in (
        ("Connect Four, MCTS", "connect_four", ("mcts(seconds=1)", "random")),
        ("Connect Four, all agents but nets", "connect_four", ("mcts(seconds=1)", "alphabeta(seconds=1)", "random")),
        ("Connect Four with its champion", "connect_four", None),
        ("Othello with its champion", "othello", None),
    ):
        made = site([make(name)], usual=usual) if usual else site([make(name)])
        sent = {path: len(gzip.compress(data, 6)) for path, data in made.files.items() if not path.startswith(".")}
        game = sum(size for path, size in sent.items() if path.startswith("games/") and not path.endswith(".net"))
        net = sum(size for path, size in sent.items() if path.endswith(".net"))
        total = sum(sent.values())
        rows.append([label, *(f"{size / 1000:.0f} kB" for size in (total - game - net, game, net, total))])
    return table(["published", "page", "game", "net", "together"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("games", nargs="*", help="game expressions; by default every game")
    parser.add_argument("--seconds", type=float, default=0.3, help="of one measurement of moves (default 0.3)")
    parser.add_argument("--simulations", type=int, default=20_000, help="of one search by playouts")
    parser.add_argument("--net", type=int, default=200, help="simulations of one search with a net")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sizes", action="store_true", help="print sizes instead")
    parser.add_argument("--frames", action="store_true", help="print how busy the page is while an agent thinks")
    options = parser.parse_args()
    if options.sizes:
        print(sizes())
        return
    if options.frames:
        with chromium() as browser:
            print(frames(browser, 5))
        return
    found: dict[str, list[float]] = {}
    with chromium() as browser:
        version = browser.page.context.browser.version
        browser.page.add_script_tag(content=joined(PAGE))
        for name in options.games or games.names():
            found[name] = row(browser, name, options)
            print(name, *map(human, found[name]), file=sys.stderr)
    print(f"{machine()}, Chromium {version}\n")
    rows = []
    for name, rates in found.items():
        pairs = list(zip(rates[::2], rates[1::2], strict=True))
        shown = [cell for here, there in pairs for cell in (human(here), human(there), f"{there / here:.2f}")]
        rows.append([name, *shown, *["-"] * (9 - len(shown))])
    means = ["geometric mean"]
    for k in range(3):
        ratios = [rates[2 * k + 1] / rates[2 * k] for rates in found.values() if len(rates) > 2 * k]
        means += ["", "", f"{statistics.geometric_mean(ratios):.2f}" if ratios else "-"]
    head = ["game"]
    for what in ("moves", "playouts", "champion's simulations"):
        head += [f"{what}/s", "Chromium", "ratio"]
    print(table(head, [*rows, means]))


if __name__ == "__main__":
    main()
