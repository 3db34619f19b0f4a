"""Connect Four: an agent moves first, which wins with perfect play, against players that never give anything away.

    python experiments/td/against_perfect.py 'td("RUN")' [FILE...] [--games 100]

One of them plays any move once it is lost, the other delays its loss. Each FILE lists positions as the columns played,
1 to 7, at the beginning of a line; the share of the agent's moves there that keep the value is printed.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from meijin import State, build, make
from meijin.core.agent import Agent
from meijin.search.solvers.connect_four import Solver


def sign(score: int) -> int:
    return (score > 0) - (score < 0)


def points(agent: Agent, solver: Solver, delays: bool, games: int) -> float:
    draw, total = random.Random(1), 0.0
    for _ in range(games):
        state = State(solver.game)
        while not state.is_over:
            if state.turn == 0:
                state.play(agent.act(state))
                continue
            scores = {move: score if delays else sign(score) for move, score in solver.scores(state).items()}
            state.play(draw.choice([move for move, score in scores.items() if score == max(scores.values())]))
        total += (state.scores[0] + 1) / 2
    return total / games


def keeps_value(agent: Agent, solver: Solver, line: str) -> bool:
    state = State(solver.game).play_line([int(column) - 1 for column in line])
    scores = solver.scores(state)
    return sign(scores[agent.act(state)]) == sign(max(scores.values()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agent")
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--games", type=int, default=100)
    options = parser.parse_args()
    game = make("connect_four")
    agent, solver = build(options.agent, game), Solver(game)
    for delays, words in ((False, "plays any move when lost"), (True, "delays its loss")):
        print(f"{points(agent, solver, delays, options.games):.3f} of the points: {words}", flush=True)
    for file in options.files:
        lines = [words[0] for words in map(str.split, file.read_text(encoding="utf-8").splitlines()) if words]
        kept = [keeps_value(agent, solver, line) for line in lines]
        print(f"{sum(kept) / len(kept):.3f} of {len(kept)} moves keep the value: {file.name}", flush=True)


if __name__ == "__main__":
    main()
