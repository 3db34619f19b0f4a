"""Kernels run here and as WebAssembly on equal arrays: what `test_wasm` and the soak compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from meijin.core import kernels
from meijin.core.catalogue import make
from meijin.core.compile import Function
from meijin.core.game import Game
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.core.wasm import node
from meijin.core.wasm.module import Builder, Module, leaves
from meijin.core.wasm.trial import add_trial, perft_arguments, walk_arguments
from meijin.search import maxn, pvs
from meijin.search.alphabeta import AlphaBeta
from meijin.search.forest import Forest, Settings, layout, steps
from meijin.search.maxn import MaxN
from meijin.search.mcts import kernels as mcts_kernels
from meijin.search.mcts.selection import PLAIN
from meijin.search.mcts.tree import SearchTree
from meijin.web.wasm import parts

C = 1.4142135623730951

#: What runs modules; the soak has Chromium do it too.
run = node.call


ALL = ("mcts", "alphabeta", "maxn", "forest")


def module_of(game: Game, searches: Sequence[str] = ALL) -> Module:
    """Rules and these searches, as far as they fit; in the order of a page with a net, whose tests have the same module
    on the disk.
    """
    b = Builder(game.name, game._explain)
    parts.rules(b, game)
    if "forest" in searches:
        parts.forest(b, game)
        parts.net(b)
    if "mcts" in searches:
        parts.mcts(b, game, PLAIN)
    if "alphabeta" in searches and AlphaBeta().unfit(game) is None:
        parts.alphabeta(b, game)
    if "maxn" in searches:
        parts.max_n(b, game)
    return b.build()


def trial_of(game: Game, planes: bool) -> Module:
    """Trial kernels, and what nets see."""
    b = Builder(game.name, game._explain)
    add_trial(b, game)
    if planes:
        b.add("states", game.states(parts.STATES))
        parts.planes(b, game)
    return b.build()


def arrays(args: Any) -> list[Any]:
    return [leaf for arg in args for _, leaf in leaves("", arg) if isinstance(leaf, np.ndarray)]


def same(one: Any, other: Any) -> bool:
    """Whether all arrays of two sets of arguments hold the same bytes."""
    return all(a.tobytes() == b.tobytes() for a, b in zip(arrays(one), arrays(other), strict=True))


def both(module: Module, name: str, kernel: Function, here: Any, there: Any) -> tuple[Any, float]:
    """Run a kernel here and there; returns both results, whose arrays are compared by `same`."""
    mine = kernel(*here)
    ((theirs, _),) = run(module, name, *there)
    return mine, theirs


def check_random_games(module: Module, game: Game, count: int, seed: int = 7) -> None:
    here, there = (walk_arguments(game, count, game.longest, seed) for _ in range(2))
    both(module, "random_walks", game.kernel(kernels.random_walks), here, there)
    assert here[0].tobytes() == there[0].tobytes(), "random games leave other records"
    assert here[2].tobytes() == there[2].tobytes(), "random streams stand elsewhere"


def check_perft(module: Module, game: Game, most: int) -> int:
    """As deep as so many positions; returns how many were counted."""
    depth = count = 1
    while depth < 8 and count < most:
        depth += 1
        count = game.kernel(kernels.perft)(*perft_arguments(game, depth))
    ((found, _),) = run(module, "perft", *perft_arguments(game, depth))
    assert int(found) == count
    return int(count)


def opened(game: Game, seed: int = 3) -> State:
    """A position in which a seat is to move."""
    return State(game).roll(stream(seed))


def check_mcts(module: Module, game: Game, simulations: int, seed: int = 1) -> None:
    """The whole trees are equal, byte for byte, and so are the random streams afterwards."""

    def tree() -> SearchTree:
        made = SearchTree(game, seed, 0, 1 << 20)
        while len(made.nodes) < min(1 << 19, 20 * simulations):
            made.grow()
        made.reset(opened(game))
        return made

    one, other = tree(), tree()
    here, there = ((each.arrays, each.threads[0], simulations, True, C) for each in (one, other))
    kernel = game.kernel(mcts_kernels.simulate_with(PLAIN))
    mine, theirs = both(module, "mcts.simulate", kernel, here, there)
    assert mine == theirs
    assert same(here, there), "trees differ"


def check_alphabeta(module: Module, game: Game, depth: int) -> None:
    if AlphaBeta().unfit(game) is not None:
        return
    state = opened(game)

    def arguments() -> Any:
        work = AlphaBeta(table_mb=1)._prepare(game)
        work.states[0] = state.record
        moves = np.array(state.legal_moves, np.int32)
        lines = np.full((len(moves), min(200, game.longest)), -1, np.int32)
        values = np.zeros(len(moves), np.int64)
        return work, depth, 8, -pvs.INFINITE, pvs.INFINITE, True, moves, values, lines

    here, there = arguments(), arguments()
    mine, theirs = both(module, "alphabeta.root", game.kernel(pvs.root), here, there)
    assert mine == theirs
    assert here[7].tolist() == there[7].tolist(), "values differ"
    assert here[8].tolist() == there[8].tolist(), "lines differ"
    assert here[0].info.tolist() == there[0].info.tolist(), "nodes differ"


def check_maxn(module: Module, game: Game, depth: int) -> None:
    state = opened(game)
    plies = min(parts.MAXN_PLIES, game.longest + 2)

    def arguments() -> Any:
        work = MaxN(table_mb=1)._prepare(game, plies)
        work.states[0] = state.record
        work.info[2] = maxn.NO_LIMIT
        moves = np.array(state.legal_moves, np.int32)
        n = len(moves)
        found = np.zeros((n, game.seats)), np.zeros(n), np.zeros(n, np.int64), np.full((n, plies), -1)
        return work, np.int64(depth), moves, *found

    here, there = arguments(), arguments()
    both(module, "maxn.root", game.kernel(maxn.root), here, there)
    assert same(here[3:], there[3:]), "values differ"
    assert here[0].info.tolist() == there[0].info.tolist(), "nodes differ"


def check_forest(module: Module, game: Game, steps_taken: int) -> None:
    """With a net that always says the same, the trees of AlphaZero's search are equal, byte for byte."""
    state = opened(game)

    def arrays_of() -> layout.Arrays:
        made = Forest(game, 1, Settings(simulations=steps_taken), seed=5).arrays
        rng = np.random.default_rng(5)
        # float16 keeps the priors apart by more than what two libraries' exponentials differ by
        made.logits[:] = rng.normal(size=made.logits.shape).astype(np.float16)
        made.outlook[:] = rng.normal(size=made.outlook.shape).astype(np.float16) / 4
        made.roots[0] = state.record
        return made

    here, there = arrays_of(), arrays_of()
    step = game.kernel(steps.on_cpu(steps.step_with(False, False)))
    for _ in range(steps_taken):
        step(here, 0, 1)
    run(module, "forest.step", there, 0, 1, repeats=steps_taken)
    assert here.info.tolist() == there.info.tolist(), "counts differ"
    assert here.info[0, layout.NODES] > 1
    for name in ("visits", "move", "child", "proven"):
        assert here.edges[name].tolist() == there.edges[name].tolist(), f"{name} differ"
    assert np.array_equal(here.x, there.x), "planes differ"
    assert np.allclose(here.edges["prior"], there.edges["prior"], rtol=1e-6, atol=0), "priors differ"


def check_planes(module: Module, game: Game) -> None:
    states = game.states(parts.STATES)
    states[0] = opened(game).record
    here, there = (np.zeros((game.num_planes or 0, len(game.board.cells)), np.float32) for _ in range(2))
    game.kernel(kernels.planes)(states, 0, here)
    run(module, "planes", states, 0, there)
    assert here.tobytes() == there.tobytes()


def check_all(expression: str, games: int, counted: int, simulations: int, searches: Sequence[str] = ALL) -> Module:
    game = make(expression)
    module, trial = module_of(game, searches), trial_of(game, "forest" in searches)
    check_random_games(trial, game, games)
    check_perft(trial, game, counted)
    shallow = 2 if (game.branching or 1) > 30 else 3
    if "mcts" in searches:
        check_mcts(module, game, simulations)
    if "alphabeta" in searches:
        check_alphabeta(module, game, shallow)
    if "maxn" in searches:
        check_maxn(module, game, 1 if game.chance else shallow)
    if "forest" in searches:
        check_planes(trial, game)
        check_forest(module, game, 100)
    return module
