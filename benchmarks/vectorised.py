"""Stepping many games at once from Python, beside pgx in the same run where pgx and jax are installed.

    python benchmarks/vectorised.py connect_four go --rounds 5

Ours: `States` on one thread, random legal moves, with the legal mask of every position after every step; a second
figure has the planes of every position too. pgx: the same on the CPU, jitted, with automatic reset, at the batch size
that suits it best; its step writes mask and observation. The two are measured in turns.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable

os.environ.setdefault("JAX_PLATFORMS", "cpu")

from common import human, machine, table

from meijin import make
from meijin.core.batch import States
from meijin.core.game import Game

PGX = {"connect_four": "connect_four", "othello": "othello", "2048": "2048", "tic_tac_toe": "tic_tac_toe",
       "go": "go_9x9", "hex": "hex"}  # fmt: skip
BATCHES = (64, 256, 1024, 4096)


def ours(game: Game, batch: int, planes: bool, seconds: float, threads: int) -> Callable[[], float]:
    states = States(game, batch, threads=threads)

    def rate() -> float:
        steps, began = 0, time.perf_counter()
        while (spent := time.perf_counter() - began) < seconds:
            states.step(states.sample())
            if planes:
                _ = states.planes
            steps += 1
        return batch * steps / spent

    return rate


def pgx(name: str, batch: int, seconds: float) -> Callable[[], float]:
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

    def rate() -> float:
        steps, began = 0, time.perf_counter()
        while time.perf_counter() - began < seconds or steps == 0:
            state[0] = jax.block_until_ready(run(state[0], jax.random.PRNGKey(steps)))
            steps += 16
        return batch * steps / (time.perf_counter() - began)

    return rate


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
        rates = {"step": ours(game, 1024, False, args.seconds, args.threads)}
        rates["planes"] = ours(game, 1024, True, args.seconds, args.threads)
        try:
            for batch in BATCHES if name in PGX else ():
                rates[f"pgx {batch}"] = pgx(PGX[name], batch, args.seconds)
        except ImportError:
            pass
        for rate in rates.values():
            rate()  # compile and warm up
        seen = {key: [] for key in rates}
        for _ in range(args.rounds):
            for key, rate in rates.items():
                seen[key].append(rate())
        found = {key: statistics.median(values) for key, values in seen.items()}
        theirs = max((value for key, value in found.items() if key.startswith("pgx")), default=None)
        ratio = [f"{found[key] / theirs:.1f}x" if theirs else "-" for key in ("step", "planes")]
        rows.append([name, human(found["step"]), human(found["planes"]), human(theirs) if theirs else "-", *ratio])
    print(machine())
    print(table(["game", "steps/s", "with planes", "pgx, best batch", "ratio", "ratio with planes"], rows))


if __name__ == "__main__":
    main()
