"""What Othello's champion gives away near the end of games, with its solver and without.

    python experiments/zero/endings.py [--positions 500] [--empties 18] [--simulations 200] [--games 100]

First positions with at most so many empty cells from games of the champion against itself, each opened by eight random
plies: a move gives something away if the exact outcome (won, drawn, lost) after it is worse than that of the best
move. Then a match of the champion that asks the solver against the same champion that never does.
"""

from __future__ import annotations

import argparse
import random

from meijin import State, build, make
from meijin.arena.match import match
from meijin.search.solvers.othello import Solver


def positions(count: int, empties: int, simulations: int) -> list[State]:
    game, found = make("othello"), []
    draw, player = random.Random(1), build(f"champion(simulations={simulations}, exact=False)", game)
    while len(found) < count:
        state, late = State(game), []
        for ply in range(game.longest):
            if state.is_over:
                break
            if state.cells.count(0) <= empties and len(state.legal_moves) > 1:
                late.append(state.copy())
            state.play(draw.choice(state.legal_moves) if ply < 8 else player.act(state))
        found += draw.sample(late, min(5, len(late)))  # a few of each game: its positions are much alike
    return found[:count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--positions", type=int, default=500)
    parser.add_argument("--empties", type=int, default=18)
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--games", type=int, default=100)
    options = parser.parse_args()
    game = make("othello")
    late = positions(options.positions, options.empties, options.simulations)
    solver = Solver(game)
    outcomes = [{move: (score > 0) - (score < 0) for move, score in solver.scores(state).items()} for state in late]
    agents = [f"champion(simulations={options.simulations}, exact={exact})" for exact in (True, False)]
    for text in agents:
        agent = build(text, game)
        lost = sum(
            max(known.values()) - known[agent.act(state)] > 0 for state, known in zip(late, outcomes, strict=True)
        )
        print(f"{text}: gives something away in {lost} of {len(late)} positions", flush=True)
    found = match(game, agents, options.games, 1, openings="random(plies=8)")
    total, elo = found.standings[0].total, found.elo
    assert elo is not None
    print(f"{agents[0]} against the other, {options.games} games: {total.wins}-{total.draws}-{total.losses}, "
          f"{total.share:.1%}, Elo {elo.value:+.0f} ({elo.interval[0]:+.0f} to {elo.interval[1]:+.0f})")  # fmt: skip


if __name__ == "__main__":
    main()
