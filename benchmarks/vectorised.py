"""Stepping many games at once from Python, beside pgx in the same run where pgx and jax are installed.

    python benchmarks/vectorised.py connect_four go --rounds 5

Ours: `States`, random legal moves, with the legal mask of every position after every step; a second figure has the
planes of every position too, and a third is `BatchEnv`, the Gymnasium environment, where that is installed. pgx: the
same on the CPU, jitted, with automatic reset, at the batch size that suits it best; its step writes mask and
observation. All are measured in turns. Each figure is in steps per second of the clock, with the processor seconds that
one second took: XLA uses several threads, ours as many as `--threads` says. "ratio" is by the clock, "per core" by
processor seconds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

os.environ.setdefault("JAX_PLATFORMS", "cpu")

from common import human, machine, table

from meijin import make
from meijin.core.batch import States
from meijin.core.errors import MeijinError
from meijin.core.game import Game

PGX = {"connect_four": "connect_four", "othello": "othello", "2048": "2048", "tic_tac_toe": "tic_tac_toe",
       "go": "go_9x9", "hex": "hex"}  # fmt: skip
BATCHES = (64, 256, 1024, 4096)


Rate = Callable[[], tuple[float, float]]  # steps, and processor seconds, per second of the clock


def measured(step: Callable[[], int], seconds: float) -> tuple[float, float]:
    steps, began, spent = 0, time.perf_counter(), time.process_time()
    while steps == 0 or time.perf_counter() - began < seconds:
        steps += step()
    wall = time.perf_counter() - began
    return steps / wall, (time.process_time() - spent) / wall


def ours(game: Game, batch: int, planes: bool, seconds: float, threads: int) -> Rate:
    states = States(game, batch, threads=threads)

    def step() -> int:
        for _ in range(16):
            states.step(states.sample())
            if planes:
                _ = states.planes
        return 16 * batch

    return lambda: measured(step, seconds)


def environment(game: Game, batch: int, seconds: float, threads: int) -> Rate:
    from meijin.interop.gymnasium import BatchEnv

    env = BatchEnv(game, batch, threads=threads)

    def step() -> int:
        for _ in range(16):
            env.step(env.sample())
        return 16 * batch

    return lambda: measured(step, seconds)


def pgx(name: str, batch: int, seconds: float) -> Rate:
    import jax
    import jax.numpy as jnp
    import pgx as library
    from pgx.experimental import auto_reset

    env = library.make(name)
    step = jax.vmap(auto_reset(env.step, env.init))

    @jax.jit
    def run(state, key):
        def body(state, key):
            choice, reset = jax.random.split(key)
            action = jax.random.categorical(choice, jnp.log(state.legal_action_mask.astype(jnp.float32)), axis=-1)
            return step(state, action, jax.random.split(reset, batch)), None

        return jax.lax.scan(body, state, jax.random.split(key, 16))[0]

    key = jax.random.PRNGKey(0)
    state = [jax.block_until_ready(run(jax.jit(jax.vmap(env.init))(jax.random.split(key, batch)), key))]

    def once() -> int:
        state[0] = jax.block_until_ready(run(state[0], jax.random.PRNGKey(int(time.perf_counter_ns()) & 0xFFFF)))
        return 16 * batch

    return lambda: measured(once, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", nargs="*", default=["connect_four", "go", "othello", "2048"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    rows = []
    for name in args.games:
        game = make(name)
        rates = {}
        for batch in BATCHES:
            rates[f"step {batch}"] = ours(game, batch, False, args.seconds, args.threads)
            rates[f"planes {batch}"] = ours(game, batch, True, args.seconds, args.threads)
            with suppress(MeijinError):
                rates[f"env {batch}"] = environment(game, batch, args.seconds, args.threads)
            if name in PGX:
                with suppress(ImportError):
                    rates[f"pgx {batch}"] = pgx(PGX[name], batch, args.seconds)
        for rate in rates.values():
            rate()  # compile and warm up
        seen = {key: [] for key in rates}
        for _ in range(args.rounds):
            for key, rate in rates.items():
                seen[key].append(rate())
        medians = {key: [statistics.median(part) for part in zip(*each, strict=True)] for key, each in seen.items()}
        theirs = best(medians, "pgx")
        for kind in ("step", "planes", "env"):
            if (found := best(medians, kind)) is None:
                continue
            row = [name, kind, found.batch, human(found.rate), f"{found.cores:.2f}"]
            if theirs is not None:
                row += [theirs.batch, human(theirs.rate), f"{theirs.cores:.2f}", f"{found.rate / theirs.rate:.1f}x"]
                row += [f"{found.rate / found.cores / (theirs.rate / theirs.cores):.1f}x"]
            rows.append([*row, *["-"] * (10 - len(row))])
    print(machine())
    head = ["game", "ours", "batch", "steps/s", "cores", "pgx batch", "pgx steps/s", "cores", "ratio", "per core"]
    print(table(head, rows))


class Best(NamedTuple):
    batch: str
    rate: float
    cores: float


def best(medians: dict[str, list[float]], kind: str) -> Best | None:
    """The batch size with the highest rate."""
    found = [Best(key.split()[1], *pair) for key, pair in medians.items() if key.split()[0] == kind]
    return max(found, key=lambda each: each.rate, default=None)


if __name__ == "__main__":
    main()
