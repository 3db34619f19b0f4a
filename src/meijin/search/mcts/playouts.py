"""How a simulation is played to its end: kernels of playout policies, each specialised to a game."""

from __future__ import annotations

import math
from typing import Any

from meijin.core.compile import Function
from meijin.core.errors import BadParameter, suggest
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.kernels import copy, no_odds, picker
from meijin.core.rng import below, choose, uniform

#: What each policy needs of a game beside its rules; None: nothing.
POLICIES: dict[str, str | None] = {"random": None, "decisive": None, "heuristic": "heuristic", "policy": "policy"}

SLIPS = 0.1  # share of random moves among the heuristic's, as equal playouts would teach nothing


def check(name: str) -> None:
    if name not in POLICIES:
        known = ", ".join(map(repr, POLICIES))
        raise BadParameter(f"playout={name!r}: unknown policy{suggest(str(name), POLICIES)} (known: {known})")


def unfit(name: str, game: Game) -> str | None:
    """Why the policy cannot play that game; None when it can."""
    need = POLICIES[name]
    if need is None or getattr(game, need) is not None:
        return None
    return f"playout='{name}' needs the game's `{need}`, which it does not declare; use 'random' or 'decisive'"


def make_choose(game: Game, name: str) -> Function:
    """`choose(here, t, rng, moves, probs, room, scores)`: the policy's move, or an outcome by its odds.

    `here` is the position and `room` one to try moves in, both as arrays of one; `scores` is overwritten.
    """
    if name == "random":
        pick = picker(game)

        def at_random(here: Any, t: int, rng: Any, moves: Any, probs: Any, room: Any, scores: Any) -> Any:
            return pick(here[0], t, rng, moves, probs)

        return at_random
    odds = game.odds or no_odds
    if name == "policy":
        own = game.policy
        assert own is not None  # `unfit` has looked

        def by_game(here: Any, t: int, rng: Any, moves: Any, probs: Any, room: Any, scores: Any) -> Any:
            if t == CHANCE:
                return moves[choose(rng, probs, odds(here[0], moves, probs))]
            return own(here[0], rng)

        return by_game
    legal, play = game.legal, game.play
    if name == "decisive":
        worth, sure, slips = _finish(game), 1.0, 0.0
    else:
        worth, sure, slips = _estimate(game), game.score_range[1], SLIPS

    def by_worth(here: Any, t: int, rng: Any, moves: Any, probs: Any, room: Any, scores: Any) -> Any:
        if t == CHANCE:
            return moves[choose(rng, probs, odds(here[0], moves, probs))]
        n = legal(here[0], moves)
        if slips > 0.0 and uniform(rng) < slips:
            return moves[below(rng, n)]
        best, alike, found = -math.inf, 0, moves[0]
        for k in range(n):
            copy(room, here)
            play(room[0], moves[k])
            value = worth(room[0], t, scores)
            if value >= sure:
                return moves[k]
            if value > best:
                best, alike, found = value, 1, moves[k]
            elif value == best:  # among equals each is as likely
                alike += 1
                if below(rng, alike) == 0:
                    found = moves[k]
        return found

    return by_worth


def _finish(game: Game) -> Function:
    """1 for a win at once, -1 for a loss at once, 0 for all else."""
    turn, score = game.turn, game.score
    lowest, highest = game.score_range

    def worth(s: Any, seat: int, scores: Any) -> float:
        if turn(s) == OVER:
            score(s, scores)
            if scores[seat] >= highest:
                return 1.0
            if scores[seat] <= lowest:
                return -1.0
        return 0.0

    return worth


def _estimate(game: Game) -> Function:
    """The score of a game that is over, else the game's heuristic."""
    turn, score, heuristic = game.turn, game.score, game.heuristic
    assert heuristic is not None  # `unfit` has looked

    def worth(s: Any, seat: int, scores: Any) -> float:
        if turn(s) == OVER:
            score(s, scores)
        else:
            heuristic(s, scores)
        return scores[seat]

    return worth


def make_finish(game: Game, name: str, marks: bool) -> Function:
    """`finish(here, rng, moves, probs, room, scores, last, stamp)`: play by the policy to the end.

    With `marks`, `last[seat, move]` becomes the stamp of the latest ply in which the seat made the move; `stamp` is
    that of the first ply.
    """
    turn, play, pick, longest = game.turn, game.play, make_choose(game, name), game.longest

    def finish(here: Any, rng: Any, moves: Any, probs: Any, room: Any, scores: Any, last: Any, stamp: int) -> None:
        s = here[0]
        t = turn(s)
        plies = 0
        while t != OVER and plies < longest:
            move = pick(here, t, rng, moves, probs, room, scores)
            if marks and t >= 0:
                last[t, move] = stamp + plies
            play(s, move)
            plies += 1
            t = turn(s)

    return finish
