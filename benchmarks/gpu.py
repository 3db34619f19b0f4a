"""Random play on a GPU, beside pgx in the same run where pgx and jax are installed.

    python benchmarks/gpu.py connect_four othello --threads 131072

Ours: one thread per game, the rules of `meijin.games` compiled for CUDA. pgx: its rules on the same device, a step of
the whole batch at a time with automatic reset, in the batch size that suits it best.
"""

from __future__ import annotations

import argparse
import time

from common import human, machine, table

from meijin import make
from meijin.core import cuda

PGX = {"connect_four": "connect_four", "othello": "othello", "2048": "2048", "tic_tac_toe": "tic_tac_toe",
       "go": "go_9x9", "hex": "hex"}  # fmt: skip


def pgx_rate(name: str, batch: int, steps: int = 128) -> float:
    import jax
    import jax.numpy as jnp
    import pgx
    from pgx.experimental import auto_reset

    env = pgx.make(name)
    step = jax.vmap(auto_reset(env.step, env.init))

    @jax.jit
    def run(state, key):
        def body(state, key):
            choice, reset = jax.random.split(key)
            action = jax.random.categorical(choice, jnp.log(state.legal_action_mask.astype(jnp.float32)), axis=-1)
            return step(state, action, jax.random.split(reset, batch)), None

        return jax.lax.scan(body, state, jax.random.split(key, steps))[0]

    key = jax.random.PRNGKey(0)
    state = jax.jit(jax.vmap(env.init))(jax.random.split(key, batch))
    state = jax.block_until_ready(run(state, key))  # compile
    began = time.perf_counter()
    jax.block_until_ready(run(state, key))
    return batch * steps / (time.perf_counter() - began)


def best_pgx(name: str, batches: tuple[int, ...]) -> float | None:
    try:
        import pgx  # noqa: F401
    except ImportError:
        return None
    return max(pgx_rate(name, batch) for batch in batches)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", nargs="*", default=["connect_four", "othello", "2048"])
    parser.add_argument("--threads", type=int, default=1 << 17)
    parser.add_argument("--rounds", type=int, default=5, help="the median counts")
    options = parser.parse_args()
    cuda.require()
    print(f"{cuda.device_name()}; {machine()}\n", flush=True)
    rows = []
    for name in options.games:
        game = make(name)
        count, spent = 1, 0.0
        while spent < 0.2:  # enough games per thread for a fair share of the time
            plies, _, spent = cuda.random_games(game, options.threads, count, seed=1)
            count = max(count + 1, min(4 * count, int(count * 0.4 / max(spent, 1e-3))))
        rates = []
        for seed in range(options.rounds):
            plies, _, spent = cuda.random_games(game, options.threads, count, seed)
            rates.append(plies / spent)
        ours = sorted(rates)[len(rates) // 2]
        peer = best_pgx(PGX[game.name], (1 << 15, 1 << 17)) if game.name in PGX else None
        rows.append([name, human(ours), human(peer) if peer else "", f"{ours / peer:.0f}x" if peer else ""])
        print(" ".join(rows[-1]), flush=True)
    print("\n" + table(["game", "random moves/s", "pgx", "ratio"], rows))


if __name__ == "__main__":
    main()
