"""Connect Four: td moves first against a player that never errs but plays any move when it is lost.

python experiments/td/against_perfect.py RUN [GAMES]
"""

from __future__ import annotations

import random
import sys

from meijin import State, build, make


def main(run: str, games: int = 100) -> None:
    game, draw, points = make("connect_four"), random.Random(1), 0.0
    td, perfect = build(f'td("{run}")', game), build("perfect", game)
    for number in range(1, games + 1):
        state = State(game)
        while not state.is_over:
            if state.turn == 0:
                state.play(td.act(state))
                continue
            known = [(info.value[1], info.move) for info in perfect.analyse(state).moves if info.value]
            best = max(value for value, _ in known)
            state.play(draw.choice([move for value, move in known if value == best]))
        points += (state.scores[0] + 1) / 2
        print(f"{number} games: {points / number:.3f} of the points", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]))
