"""The law of the third target: compiled to WebAssembly, the rules do what they do on the CPU."""

from __future__ import annotations

from meijin.core import compile as compiling
from meijin.core import kernels
from meijin.core.check.diagnose import broken
from meijin.core.check.laws import Evidence, Tried
from meijin.core.check.statistics import PLIES
from meijin.core.check.trial import differences

GAMES = 256
COUNTED = 20_000  # positions, about as many as perft counts
DEEPEST = 6
SAME = (
    "use nothing that depends on the processor: no undefined conversions of floats to integers, no shifts by 64 or more"
)


def missing() -> str | None:
    """Why modules cannot be made and run here; None when they can."""
    from meijin.core.wasm import link, node

    return link.missing() or node.missing()


def browser_equals_cpu(evidence: Evidence) -> Tried:
    """As WebAssembly, the rules play the same games from the same seed, and count as many positions."""
    from meijin.core.wasm import node
    from meijin.core.wasm.trial import perft_arguments, trial_module, walk_arguments

    game, seed = evidence.game, evidence.seed
    if not (compiling.JIT and game.compiled):
        return Tried(0, "games", "left out: MEIJIN_JIT=0" if game.compiled else "left out: the rules stay Python")
    if why := missing():
        return Tried(0, "games", f"left out: {why}")
    module = trial_module(game)
    plies = min(game.longest, PLIES)
    here, there = (walk_arguments(game, GAMES, plies, seed) for _ in range(2))
    game.kernel(kernels.random_walks)(*here)
    node.call(module, "random_walks", *there)
    for i in range(GAMES):
        if changed := differences(here[0][i], there[0][i]):
            problem = f"ends elsewhere in a browser (game {i} of seed {seed}), CPU -> browser: {', '.join(changed)}"
            raise broken(game, "play", problem, SAME)
    depth = count = 1
    while depth < DEEPEST and count < COUNTED:
        depth += 1
        count = game.kernel(kernels.perft)(*perft_arguments(game, depth))
    ((found, _),) = node.call(module, "perft", *perft_arguments(game, depth))
    if int(found) != count:
        problem = f"counts {int(found)} positions at depth {depth} in a browser, {count} on the CPU"
        raise broken(game, "legal", problem, SAME)
    return Tried(GAMES, "games", f"{count:,} positions counted, {len(module.code):,} bytes")
