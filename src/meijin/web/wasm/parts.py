"""What a game's module has: its rules, for the page itself, and the searches that its workers run.

Each part adds arrays and functions to a `Builder`. The drivers of the searches are in static/search.js, and the names
here are the ones they use. `SLOTS` gives them the places in arrays that the kernels know by number.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from meijin.core import kernels
from meijin.core.compile import Function
from meijin.core.game import Game
from meijin.core.rng import streams
from meijin.core.wasm.module import Builder
from meijin.learning.nets import forward
from meijin.search import maxn, pvs
from meijin.search.alphabeta import MAX_DEPTH, AlphaBeta
from meijin.search.forest import Settings, driver, layout, steps
from meijin.search.maxn import MaxN
from meijin.search.mcts import kernels as mcts_kernels
from meijin.search.mcts.kernels import make_clear
from meijin.search.mcts.selection import Options
from meijin.search.mcts.tree import SearchTree

LANES = 4  # floats of a SIMD register
TABLE_MB = 16  # of a transposition table
MAXN_PLIES = 64  # of the longest line that maxn can follow
FOREST_MB = 64  # of a net's search tree, at most
FOREST_NODES = 1 << 15

STATES = 4  # positions that the page may hold


def _slots(module: ModuleType, *names: str) -> dict[str, int]:
    return {name: int(getattr(module, name)) for name in names}


#: Array -> name -> place in it.
SLOTS = {
    "mcts.tree.info": _slots(mcts_kernels, "USED", "DEEPEST", "FULL"),
    "mcts.thread.states": _slots(mcts_kernels, "ROOT"),
    "alphabeta.w.info": _slots(pvs, "NODES", "STOPPED", "HORIZON", "MOST_NODES"),
    "maxn.w.info": _slots(maxn, "NODES", "STOPPED", "MOST_NODES"),
    "forest.info": _slots(layout, "NODES", "EDGES", "DONE", "TARGET", "READY", "WAITS", "DEEPEST", "PROVEN"),
    "forest.options": _slots(layout, "C", "FPU", "DRAW", "FULL_SIMULATIONS"),
    "net.starts": _slots(forward, "X", "LOGITS", "VALUES"),
}


# ---- rules ----


def look(game: Game) -> Function:
    """`kernels.look` with its answer in `found`, int64 [2]: the turn, and how many moves or outcomes there are."""
    looked = kernels.look(game)

    def kernel(states: Any, i: int, moves: Any, probs: Any, scores: Any, found: Any) -> None:
        found[0], found[1] = looked(states, i, moves, probs, scores)

    return kernel


def rules(b: Builder, game: Game) -> None:
    states = b.add("states", game.states(STATES))
    moves, probs = map(b.add, ("moves", "probs"), kernels.buffers(game))
    scores = b.add("scores", np.zeros(game.seats))
    found = b.add("found", np.zeros(2, np.int64))
    cells = b.add("cells", np.zeros(len(game.board.cells), np.int32))
    b.export("start", kernels.start(game), states, 0)
    b.export("play", kernels.play(game), states, 0, 0)
    b.export("look", look(game), states, 0, moves, probs, scores, found)
    b.export("cells", kernels.cells(game), states, 0, cells)
    if game.setup is not None:
        b.export("setup", kernels.setup(game), states, 0, cells, 0)
    if game.tally is not None:
        b.export("tally", kernels.tally(game), states, 0, b.add("tallies", np.zeros((len(game.tallies), game.seats))))
    if game.ending is not None:
        b.export("ending", kernels.ending(game), states, 0)
    if game.heuristic is not None:
        b.export("heuristic", kernels.heuristic(game), states, 0, scores)


def planes(b: Builder, game: Game) -> None:
    """What a net sees, for whoever wants to look at that."""
    out = np.zeros((game.num_planes or 0, len(game.board.cells)), np.float32)
    b.export("planes", kernels.planes(game), b.arrays["states"], 0, b.add("planes", out))


# ---- searches ----


def mcts_reset(game: Game) -> Function:
    """A tree of one node that nobody has visited."""
    clear, (low, high) = make_clear(game), game.score_range
    bounded = game.bounded

    def kernel(tree: Any, thread: Any) -> None:
        clear(tree.nodes, 0, 0, 0.0)
        for slot in range(tree.info.shape[0]):
            tree.info[slot] = 0
        tree.info[mcts_kernels.USED] = 1
        for seat in range(tree.bounds.shape[0]):
            tree.bounds[seat, 0] = low if bounded else np.inf
            tree.bounds[seat, 1] = high if bounded else -np.inf
        for seat in range(thread.last.shape[0]):
            for move in range(thread.last.shape[1]):
                thread.last[seat, move] = 0
        thread.stamp[0] = 1

    return kernel


def mcts(b: Builder, game: Game, options: Options, prefix: str = "mcts") -> None:
    """Monte Carlo tree search; how many nodes the tree may have is up to whoever places the arrays."""
    search = SearchTree(game, 0, 0, 1 << 31, options)
    tree, thread = b.add(f"{prefix}.tree", search.arrays), b.add(f"{prefix}.thread", search.threads[0])
    places = b.add(f"{prefix}.places", np.zeros(len(search.nodes), np.int32))
    simulate = mcts_kernels.simulate_with(search.options)(game)
    b.export(f"{prefix}.simulate", simulate, tree, thread, 0, False, 0.0)
    b.export(f"{prefix}.reset", mcts_reset(game), tree, thread)
    b.export(f"{prefix}.reroot", mcts_kernels.reroot(game), tree, 0, places)
    b.export(f"{prefix}.line", mcts_kernels.principal_variation(game), tree.nodes, 0, thread.path)


def alphabeta(b: Builder, game: Game) -> None:
    work = b.add("alphabeta.w", AlphaBeta(table_mb=TABLE_MB)._prepare(game))
    width, deepest = game.branching or 1, min(MAX_DEPTH, game.longest)
    moves = b.add("alphabeta.moves", np.zeros(width, np.int32))
    values = b.add("alphabeta.values", np.zeros(width, np.int64))
    lines = b.add("alphabeta.lines", np.zeros((width, deepest), np.int32))
    b.export("alphabeta.root", pvs.root(game), work, 0, 0, 0, 0, False, moves, values, lines)


def max_n(b: Builder, game: Game) -> None:
    plies = min(MAXN_PLIES, game.longest + 2)
    work = b.add("maxn.w", MaxN(table_mb=TABLE_MB)._prepare(game, plies))
    width = game.branching or 1
    moves = b.add("maxn.moves", np.zeros(width, np.int32))
    values = b.add("maxn.values", np.zeros((width, game.seats)))
    lengths = b.add("maxn.lengths", np.zeros(width))
    exact = b.add("maxn.exact", np.zeros(width, np.int64))
    lines = b.add("maxn.lines", np.zeros((width, plies), np.int64))
    b.export("maxn.root", maxn.root(game), work, np.int64(0), moves, values, lengths, exact, lines)


def forest(b: Builder, game: Game) -> None:
    """AlphaZero's search of one tree. The arrays `x`, `logits` and `outlook` are put where the net has them."""
    settings = Settings(simulations=_forest_room(game))
    made: dict[str, Any] = {"rng": streams(0, 1), "options": settings.array(), "table": np.zeros((1, 1), np.int32)}
    for name, (dtype, shape) in driver.memory(game, 1, settings).items():
        made[name] = np.zeros(shape, dtype)
    trees = b.add("forest", layout.Arrays(**layout.with_records(made, game.dtype)))
    step = steps.on_cpu(steps.step_with(False, False))(game)
    b.export("forest.step", step, trees, 0, 1)
    b.export("forest.forget", steps.on_cpu(steps.forget)(game), trees, 0, 1)
    b.export("forest.follow", steps.follow(game), trees, 0, 0)


def _forest_room(game: Game) -> int:
    """How many simulations a tree of `FOREST_MB` has room for."""
    simulations = FOREST_NODES
    while simulations > 64:
        shapes = driver.memory(game, 1, Settings(simulations=simulations))
        size = sum(np.dtype(dtype).itemsize * int(np.prod(shape)) for dtype, shape in shapes.values())
        if size <= FOREST_MB << 20:
            break
        simulations //= 2
    return simulations


def net(b: Builder) -> None:
    """The forward pass; the sizes of its arrays are those of the net that is loaded."""
    code = b.add(
        "net.code",
        forward.Code(
            np.zeros((1, forward.OP_SIZE), np.int64),
            np.zeros(1, np.int32),
            np.zeros(forward.GRID_SIZE, np.int64),
            np.zeros(1, np.float32),
        ),
    )
    memory = b.add("net.memory", np.zeros(1, np.float32))
    starts, now, sizes = (
        b.add(f"net.{name}", np.zeros(forward.REGIONS, np.int64)) for name in ("starts", "now", "steps")
    )
    live = b.add("net.live", np.zeros(forward.OP_SIZE, np.int64))
    run = forward.program(LANES)

    def kernel(code: Any, memory: Any, starts: Any, now: Any, steps: Any, live: Any, count: int, chunk: int) -> None:
        for region in range(starts.shape[0]):
            now[region] = starts[region]
        run(code, memory, now, steps, live, count, chunk)

    b.export("net.run", kernel, code, memory, starts, now, sizes, live, 1, 1)
