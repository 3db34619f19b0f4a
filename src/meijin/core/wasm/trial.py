"""Random play and counting as WebAssembly: what shows that compiled rules do there what they do on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from meijin.core import kernels
from meijin.core.game import Game
from meijin.core.rng import streams
from meijin.core.wasm.module import Builder, Module


def trial_module(game: Game) -> Module:
    """A module with `random_walks`, `random_games` and `perft`."""
    b = Builder(game.name, game._explain)
    add_trial(b, game)
    return b.build()


def add_trial(b: Builder, game: Game) -> None:
    states, rngs = b.add("trial.states", game.states(1)), b.add("trial.rngs", streams(0, 1))
    rng, (moves, probs) = b.add("trial.rng", streams(0, 1)[0].copy()), kernels.buffers(game)
    b.add("trial.moves", moves)
    b.add("trial.probs", probs)
    b.export("random_walks", kernels.random_walks(game), states, 0, rngs, moves, probs)
    scores, totals = (b.add(f"trial.{name}", np.zeros(game.seats)) for name in ("scores", "totals"))
    b.export("random_games", kernels.random_games(game), states, 0, rng, moves, probs, scores, totals)
    listed = b.add("trial.listed", np.zeros((1, len(moves)), np.int32))
    counts, nexts = (b.add(f"trial.{name}", np.zeros(1, np.int64)) for name in ("counts", "nexts"))
    b.export("perft", kernels.perft(game), states, 0, listed, probs, counts, nexts)


def walk_arguments(game: Game, count: int, plies: int, seed: int) -> tuple[Any, ...]:
    """Of `random_walks`, for so many games."""
    return game.states(count), plies, streams(seed, count), *kernels.buffers(game)


def perft_arguments(game: Game, depth: int) -> tuple[Any, ...]:
    """Of `perft`, from the start."""
    states = game.states(depth + 1)
    game.kernel(kernels.start)(states, 0)
    moves, probs = kernels.buffers(game)
    levels = [np.zeros(depth, np.int64) for _ in range(2)]
    return states, depth, np.zeros((depth, len(moves)), np.int32), probs, *levels
