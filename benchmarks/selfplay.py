"""AlphaZero self-play on a GPU, beside pgx + mctx in the same run where they and jax are installed.

    python benchmarks/selfplay.py --games connect_four othello go --batches 1024 4096

Ours counts whole moves of self-play: search, choice, play, reset and the record of every position. The peer counts
its Gumbel search and the step of the environment. Same number of simulations, residual towers of the same blocks and
channels with small heads. Half of the games' trees move while the net answers the other half; "net alone" and "trees
alone" say what each would do if the other cost nothing.
"""

from __future__ import annotations

import argparse
import gc
import time

import numpy as np
import torch
from common import human, machine, table
from torch.profiler import ProfilerActivity, profile

from meijin import make
from meijin.core import cuda
from meijin.learning.nets.config import NetConfig
from meijin.learning.zero.nets import Net
from meijin.learning.zero.selfplay import SelfPlay
from meijin.search.forest import Settings, layout

TOWERS = {"connect_four": (5, 64), "othello": (6, 96), "go": (6, 96)}
PGX = {"connect_four": "connect_four", "othello": "othello", "go": "go_9x9"}


def ours(name: str, batch: int, simulations: int, gumbel: bool, dtype: str) -> dict[str, float]:
    game = make(name)
    blocks, channels = TOWERS[name]
    net = Net(game, NetConfig(blocks, channels, policy_channels=4, value_channels=4, value_hidden=32)).cuda()
    settings = Settings(
        simulations=simulations, gumbel=gumbel, alpha=0.3, warm=20, random_share=0.2, random_plies=8, hurry=False
    )
    play = SelfPlay(net, batch, settings, device="cuda", dtype=dtype)
    for _ in range(4):
        play.advance(play.stride)
    before = counts(play)
    began = time.perf_counter()
    while time.perf_counter() - began < 3.0:
        play.advance(play.stride)
    seconds = time.perf_counter() - began
    stats = counts(play) - before
    trees, rest = alone(play, simulations)
    found = {
        "simulations": stats[layout.SIMULATIONS] / seconds,
        "positions": stats[layout.SIMULATIONS] / simulations / seconds,
        "net": play.workers[0].forest.count / rest,
        "trees": play.workers[0].forest.count / trees,
    }
    del play
    gc.collect()
    torch.cuda.empty_cache()
    return found


def counts(play: SelfPlay) -> np.ndarray:
    torch.cuda.synchronize()
    return np.asarray(sum(worker.forest.host("stats").sum(0) for worker in play.workers))


def alone(play: SelfPlay, steps: int) -> tuple[float, float]:
    """Seconds a step of one of the forests, undisturbed by the others: in its trees, and in everything else."""
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        play.workers[0].run(steps)
        torch.cuda.synchronize()
    trees = rest = 0.0
    for kernel in seen.key_averages():
        if "meijin" in kernel.key:
            trees += kernel.device_time_total
        else:
            rest += kernel.device_time_total
    return trees / steps / 1e6, rest / steps / 1e6


def theirs(name: str, batch: int, simulations: int) -> float | None:
    """Simulations/s of mctx's Gumbel MuZero on pgx's rules, with a tower of the same size in bfloat16."""
    try:
        import jax
        import jax.numpy as jnp
        import mctx
        import pgx
    except ImportError:
        return None
    env = pgx.make(PGX[name])
    blocks, channels = TOWERS[name]
    height, width, planes = env.observation_shape
    keys = iter(jax.random.split(jax.random.PRNGKey(1), 2 * blocks + 4))

    def weights(inputs, outputs, size=3):
        scale = (2 / (size * size * inputs)) ** 0.5
        return (jax.random.normal(next(keys), (size, size, inputs, outputs)) * scale).astype(jnp.bfloat16)

    params = {
        "stem": weights(planes, channels),
        "body": [(weights(channels, channels), weights(channels, channels)) for _ in range(blocks)],
        "head": weights(channels, 4, 1),
        "out": (jax.random.normal(next(keys), (4 * height * width, env.num_actions + 1)) * 0.02).astype(jnp.bfloat16),
    }

    def conv(x, kernel):
        return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def net(params, x):
        x = jax.nn.relu(conv(x.astype(jnp.bfloat16), params["stem"]))
        for first, second in params["body"]:
            x = jax.nn.relu(x + conv(jax.nn.relu(conv(x, first)), second))
        x = (conv(x, params["head"]).reshape(x.shape[0], -1) @ params["out"]).astype(jnp.float32)
        return x[:, :-1], jnp.tanh(x[:, -1])

    step = jax.vmap(env.step)

    def recurrent(params, key, action, state):
        mover = state.current_player
        state = step(state, action)
        logits, value = net(params, state.observation)
        logits = jnp.where(state.legal_action_mask, logits, jnp.finfo(logits.dtype).min)
        value = jnp.where(state.terminated, 0.0, value)
        discount = jnp.where(state.terminated, 0.0, -jnp.ones_like(value))
        reward = state.rewards[jnp.arange(batch), mover]
        return mctx.RecurrentFnOutput(reward=reward, discount=discount, prior_logits=logits, value=value), state

    @jax.jit
    def move(params, state, key):
        logits, value = net(params, state.observation)
        root = mctx.RootFnOutput(prior_logits=logits, value=value, embedding=state)
        found = mctx.gumbel_muzero_policy(
            params, key, root, recurrent, simulations, invalid_actions=~state.legal_action_mask
        )
        return step(state, found.action)

    key = jax.random.PRNGKey(0)
    state = jax.jit(jax.vmap(env.init))(jax.random.split(key, batch))
    for _ in range(3):
        state = move(params, state, key)
    jax.block_until_ready(state)
    began, count = time.perf_counter(), 8
    for _ in range(count):
        state = move(params, state, key)
    jax.block_until_ready(state)
    return batch * simulations * count / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", nargs="*", default=list(TOWERS), choices=list(TOWERS))
    parser.add_argument("--batches", nargs="*", type=int, default=[1024, 4096])
    parser.add_argument("--simulations", type=int, default=32)
    parser.add_argument("--puct", action="store_true", help="PUCT instead of Gumbel's search")
    parser.add_argument(
        "--dtype", default="", help="of our net: float32, bfloat16, float16 or int8; empty: the default"
    )
    options = parser.parse_args()
    cuda.require()
    print(f"{cuda.device_name()}; {machine()}\n", flush=True)
    rows = []
    for name in options.games:
        for batch in options.batches:
            mine = ours(name, batch, options.simulations, not options.puct, options.dtype)
            peer = theirs(name, batch, options.simulations)
            tower = "x".join(map(str, TOWERS[name]))
            rows.append(
                [
                    f"{name} {tower}",
                    str(batch),
                    human(mine["simulations"]),
                    human(mine["positions"]),
                    human(mine["net"]),
                    human(mine["trees"]),
                    human(peer) if peer else "",
                    f"{mine['simulations'] / peer:.2f}x" if peer else "",
                ]
            )
            print(" | ".join(rows[-1]), flush=True)
    head = ["game, tower", "games at once", "simulations/s", "positions/s", "net alone", "trees alone", "pgx + mctx"]
    print("\n" + table([*head, "ratio"], rows))


if __name__ == "__main__":
    main()
