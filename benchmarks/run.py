"""Speed beside OpenSpiel in one run: random moves and MCTS playouts per second.

    make bench

Both search from the start position with c = sqrt 2 on scores of -1..1 and one uniformly random playout an evaluation.
OpenSpiel's rules are driven from Python, as a user of it would; its MCTS bot is C++. Its searches are shorter where it
is slow. Games it does not have stand alone.
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
    "go": ("go(board_size=9)", 10_000, 2_000),
    "hex": ("hex(board_size=11)", 10_000, 2_000),
    "breakthrough": ("breakthrough", 10_000, 2_000),
    "minishogi": ("", 2_000, 0),
    "abalone": ("", 2_000, 0),
    "yavalath": ("", 10_000, 0),
    "sim": ("", 10_000, 0),
    "cube": ("", 10_000, 0),
    "einstein": ("", 10_000, 0),
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
        rates = {
            "moves": moves_per_second(game, options.seconds),
            "playouts": playouts_per_second(game, mine),
            "large": playouts_per_second(game, 10 * mine),
            "two": playouts_per_second(game, 10 * mine, threads=2),
        }
        if spiel:
            rates["peer moves"] = spiel_moves(spiel, options.seconds)
        if theirs:
            rates["peer playouts"] = spiel_playouts(spiel, theirs)
        found = dict(zip(rates, compare(list(rates.values()), options.rounds), strict=True))
        row = [name]
        for what, peer in (("moves", "peer moves"), ("playouts", "peer playouts")):
            known = peer in found
            row += [human(found[what]), human(found[peer]) if known else "refuses" if spiel else ""]
            row += [f"{found[what] / found[peer]:.{0 if what == 'moves' else 1}f}x" if known else ""]
        rows.append([*row, f"{found['two'] / found['large']:.2f}x"])
        print(f"{name} done", flush=True)
    head = ["game", "moves/s", "OpenSpiel", "ratio", "MCTS playouts/s", "OpenSpiel C++", "ratio", "2 threads / 1"]
    print("\n" + table(head, rows))


if __name__ == "__main__":
    main()
