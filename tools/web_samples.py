"""Write the games that the web app's first page shows on its small boards.

    python tools/web_samples.py

One line of moves per registered game, played by MCTS with a fixed seed, to a position that is worth looking at.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import meijin
from meijin import rng

TARGET = Path(__file__).parents[1] / "src/meijin/web/static/samples.json"
#: How many plies; other games get a third of their longest, 24 at most.
PLIES = {
    "2048": 260,
    "abalone": 44,
    "breakthrough": 24,
    "connect_four": 21,
    "cube": 11,
    "einstein": 20,
    "go": 46,
    "gomoku": 26,
    "hex": 34,
    "minishogi": 21,
    "nim": 2,
    "othello": 30,
    "sim": 8,
    "tic_tac_toe": 5,
    "yavalath": 17,
}


def sample(name: str, seed: int = 5) -> list[int]:
    game = meijin.make(name)
    state, stream = meijin.State(game), rng.stream(seed)
    agent = meijin.build("champion(simulations=100)" if name == "othello" else "mcts(simulations=3000)", seed=seed)
    for _ in range(PLIES.get(name, min(24, game.longest // 3))):
        if state.is_over:
            break
        if state.is_chance:
            with np.errstate(over="ignore"):
                state.play(state.legal_moves[rng.choose(stream, np.array(list(state.odds.values())), len(state.odds))])
        else:
            state.play(agent.act(state))
    return [int(move) for move in state.history]


def main() -> None:
    found = {name: sample(name) for name in meijin.game_names()}
    lines = ",\n".join(
        f"  {json.dumps(name)}: {json.dumps(moves, separators=(',', ':'))}" for name, moves in found.items()
    )
    TARGET.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
