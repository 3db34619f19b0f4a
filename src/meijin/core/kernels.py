"""Kernels every game has: copying, random play, counting. Each maker specialises one to a game's rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from meijin.core.compile import Function
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.rng import below, choose


def copy(dst: Any, src: Any) -> None:
    """Copy the one state in `src` over the one in `dst`; the only way kernels copy states."""
    dst[0] = src[0]


def stopped(stop: Any) -> Any:
    """Whether a search was told to stop; a browser, where nobody can write to memory meanwhile, asks the clock."""
    return stop[0] != 0


def start(game: Game) -> Function:
    rule = game.start

    def kernel(states: Any, i: int) -> None:
        rule(states[i])

    return kernel


def play(game: Game) -> Function:
    rule = game.play

    def kernel(states: Any, i: int, move: int) -> None:
        rule(states[i], move)

    return kernel


def look(game: Game) -> Function:
    """Whose turn it is, the moves or outcomes (with probabilities) there are, and the scores: one call for all."""
    turn, legal, score, odds = game.turn, game.legal, game.score, game.odds or no_odds

    def kernel(states: Any, i: int, moves: Any, probs: Any, scores: Any) -> tuple[int, int]:
        s = states[i]
        score(s, scores)
        t = turn(s)
        n = 0
        if t == CHANCE:
            n = odds(s, moves, probs)
        elif t != OVER:
            n = legal(s, moves)
        return t, n

    return kernel


def _writing(rule: Any) -> Function:
    """The kernel of a rule that reads a position and writes what it sees."""

    def kernel(states: Any, i: int, out: Any) -> None:
        rule(states[i], out)

    return kernel


def cells(game: Game) -> Function:
    return _writing(game.cells)


def planes(game: Game) -> Function:
    assert game.planes is not None  # Game fills in a default
    return _writing(game.planes)


def heuristic(game: Game) -> Function:
    return _writing(_declared(game, "heuristic"))


def owners(game: Game) -> Function:
    """Who owns each cell of a position where the game is over, int8 [cell]."""
    return _writing(_declared(game, "owners"))


def setup(game: Game) -> Function:
    """Make a record the position with these cells and turn; returns 0, or why the game refuses it."""
    rule = _declared(game, "setup")

    def kernel(states: Any, i: int, cells: Any, turn: int) -> int:
        return rule(states[i], cells, turn)

    return kernel


def tally(game: Game) -> Function:
    """What the game counts, float64 [tally, seat]."""
    return _writing(_declared(game, "tally"))


def ending(game: Game) -> Function:
    rule = _declared(game, "ending")

    def kernel(states: Any, i: int) -> int:
        return rule(states[i])

    return kernel


def _declared(game: Game, name: str) -> Any:
    if name not in game.rules:
        raise ValueError(f"{game} has no rule `{name}`")
    return game.rules[name]


def no_odds(s: Any, moves: Any, probs: Any) -> int:
    return 0


# ---- random play ----


def picker(game: Game) -> Callable[..., int]:
    """`pick(s, turn, rng, moves, probs)`: a uniform legal move, or an outcome by its odds."""
    if game.sample is not None:
        sample = game.sample

        def pick_sampled(s: Any, t: int, rng: Any, moves: Any, probs: Any) -> Any:
            return sample(s, rng)

        return pick_sampled

    legal = game.legal
    if game.odds is None:

        def pick_legal(s: Any, t: int, rng: Any, moves: Any, probs: Any) -> Any:
            return moves[below(rng, legal(s, moves))]

        return pick_legal

    odds = game.odds

    def pick(s: Any, t: int, rng: Any, moves: Any, probs: Any) -> Any:
        if t == CHANCE:
            return moves[choose(rng, probs, odds(s, moves, probs))]
        return moves[below(rng, legal(s, moves))]

    return pick


def playout(game: Game) -> Function:
    """`playout(s, rng, moves, probs)`: random play to the end; returns the plies played, at most `longest`."""
    turn, play_rule, pick, longest = game.turn, game.play, picker(game), game.longest

    def run(s: Any, rng: Any, moves: Any, probs: Any) -> int:
        plies = 0
        t = turn(s)
        while t != OVER and plies < longest:
            play_rule(s, pick(s, t, rng, moves, probs))
            plies += 1
            t = turn(s)
        return plies

    return run


def random_games(game: Game) -> Function:
    """Plays whole games from the start in one record; returns the plies played and adds up the final scores."""
    begin, score, run, seats = game.start, game.score, playout(game), game.seats

    def kernel(states: Any, games: int, rng: Any, moves: Any, probs: Any, scores: Any, totals: Any) -> int:
        plies = 0
        s = states[0]
        for _ in range(games):
            begin(s)
            plies += run(s, rng, moves, probs)
            score(s, scores)
            for k in range(seats):
                totals[k] += scores[k]
        return plies

    return kernel


def walk(game: Game) -> Function:
    """`walk(s, plies, rng, moves, probs)`: the first `plies` plies of a random game, fewer if it ends before."""
    begin, turn, play_rule, pick = game.start, game.turn, game.play, picker(game)

    def run(s: Any, plies: int, rng: Any, moves: Any, probs: Any) -> None:
        begin(s)
        for _ in range(plies):
            t = turn(s)
            if t == OVER:
                break
            play_rule(s, pick(s, t, rng, moves, probs))

    return run


def random_walks(game: Game) -> Function:
    """Plays one game in each record, or its first `plies` plies; record i uses stream i."""
    run = walk(game)

    def kernel(states: Any, plies: int, rngs: Any, moves: Any, probs: Any) -> None:
        for i in range(states.shape[0]):
            run(states[i], plies, rngs[i], moves, probs)

    return kernel


# ---- counting ----


def perft(game: Game) -> Function:
    """The number of move sequences of exactly `depth` plies from `states[0]`; `states` has room for depth+1."""
    turn, legal, play_rule, odds = game.turn, game.legal, game.play, game.odds or no_odds

    def listed(s: Any, moves: Any, probs: Any) -> int:
        t = turn(s)
        if t == OVER:
            return 0
        return odds(s, moves, probs) if t == CHANCE else legal(s, moves)

    def kernel(states: Any, depth: int, moves: Any, probs: Any, counts: Any, nexts: Any) -> int:
        # moves: [depth, branching]; counts, nexts: [depth]: the moves at each level and the next to try
        total = 0
        level = 0
        counts[0] = listed(states[0], moves[0], probs)
        nexts[0] = 0
        while level >= 0:
            if level == depth - 1:  # the last ply is counted, not played
                total += counts[level]
                level -= 1
            elif nexts[level] == counts[level]:
                level -= 1
            else:
                move = moves[level, nexts[level]]
                nexts[level] += 1
                copy(states[level + 1 : level + 2], states[level : level + 1])
                play_rule(states[level + 1], move)
                level += 1
                counts[level] = listed(states[level], moves[level], probs)
                nexts[level] = 0
        return total

    return kernel


def buffers(game: Game) -> tuple[Any, Any]:
    """Fresh `moves` and `probs` arrays of the size the rules may fill."""
    assert game.branching is not None
    return np.zeros(game.branching, np.int32), np.zeros(game.branching, np.float64)
