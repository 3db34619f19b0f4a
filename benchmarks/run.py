"""Speed beside OpenSpiel in one run: random moves and MCTS playouts a second.

    make bench

Both search from the start position with equal simulations, c = sqrt 2 on scores of -1..1 (OpenSpiel's scale), one
random playout an evaluation. OpenSpiel's rules are driven from Python, as a user of it would; its MCTS bot is C++.
"""

from __future__ import annotations

import argparse
import random
import time

import pyspiel
from common import Rate, compare, human, machine, moves_per_second, playouts_per_second, table

from meijin import make

GAMES = {
    # ours: (OpenSpiel's, simulations a search for ours, for OpenSpiel's C++ bot)
    "tic_tac_toe": ("tic_tac_toe", 10_000, 10_000),
    "connect_four": ("connect_four", 10_000, 10_000),
    "othello": ("othello", 10_000, 2_000),
    "nim": ("nim", 10_000, 10_000),
    "2048": ("2048", 1_000, 0),  # OpenSpiel's bot refuses games with rewards on the way
}


def spiel_moves(name: str, seconds: float) -> Rate:
    game, rng = pyspiel.load_game(name), random.Random(1)

    def rate() -> float:
        plies, began = 0, time.perf_counter()
        while (spent := time.perf_counter() - began) < seconds:
            state = game.new_initial_state()
            while not state.is_terminal():
                if state.is_chance_node():
                    outcomes, probs = zip(*state.chance_outcomes(), strict=True)
                    state.apply_action(rng.choices(outcomes, probs)[0])
                else:
                    state.apply_action(rng.choice(state.legal_actions()))
                plies += 1
        return plies / spent

    return rate


def spiel_playouts(name: str, simulations: int) -> Rate:
    game = pyspiel.load_game(name)

    def rate() -> float:
        evaluator = pyspiel.RandomRolloutEvaluator(1, 1)
        bot = pyspiel.MCTSBot(game, evaluator, 2**0.5, simulations, 1000, True, 1, False)
        began = time.perf_counter()
        root = bot.mcts_search(game.new_initial_state())
        return root.explore_count / (time.perf_counter() - began)  # fewer than asked once the root is solved

    return rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", nargs="*", default=list(GAMES), help=f"any of {', '.join(GAMES)}")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each measurement of moves")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each, in turns; the median counts")
    options = parser.parse_args()
    print(f"{machine()}, OpenSpiel {pyspiel.__version__}\n")
    rows = []
    for name in options.games:
        spiel, mine, theirs = GAMES[name]
        game = make(name)
        rates = [
            moves_per_second(game, options.seconds),
            spiel_moves(spiel, options.seconds),
            playouts_per_second(game, mine),
            playouts_per_second(game, 10 * mine),
            playouts_per_second(game, 10 * mine, threads=2),
        ] + ([spiel_playouts(spiel, theirs)] if theirs else [])
        moves, peer_moves, playouts, large, two, *peer = compare(rates, options.rounds)
        rows.append(
            [
                name,
                human(moves),
                human(peer_moves),
                f"{moves / peer_moves:.0f}x",
                human(playouts),
                human(peer[0]) if peer else "refuses",
                f"{playouts / peer[0]:.1f}x" if peer else "",
                f"{two / large:.2f}x",
            ]
        )
        print(f"{name} done")
    head = ["game", "moves/s", "OpenSpiel", "ratio", "MCTS playouts/s", "OpenSpiel C++", "ratio", "2 threads / 1"]
    print("\n" + table(head, rows))


if __name__ == "__main__":
    main()
