"""OpenSpiel's games inside Meijin: `make('openspiel("breakthrough")')`.

A record is the list of actions and outcomes so far; the rules ask OpenSpiel for the state that these lead to. They are
not compiled, so search is slow, but every agent that needs only rules can play.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import Any

import numpy as np

from meijin.core.boards import square
from meijin.core.catalogue import game
from meijin.core.errors import BadParameter
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.pieces import Piece
from meijin.interop.clicks import clicks
from meijin.interop.needed import needed

KEPT = 20_000  # states of OpenSpiel
MOST_PLIES = 100_000
LETTERS = "XOABCDEFGHIJKLMNPQRSTUVWYZabcdefghijklmnopqrstuvwxyz"


@game("openspiel", title="A game of OpenSpiel")
def openspiel(name: str = "tic_tac_toe") -> Game:
    """A game of OpenSpiel, by its rules.

    Goal, moves and end: as OpenSpiel's documentation of the game says. It must be sequential, with perfect information.

    Notation: actions as OpenSpiel writes them where these are plain words, else their numbers.

    `name`: as `pyspiel.load_game` takes it, such as "breakthrough(rows=6,columns=6)".
    """
    if not re.fullmatch(r"\w+(?:\([\w=,.;+-]*\))?", name, re.ASCII) or name.startswith(("efg_game", "nfg_game")):
        raise BadParameter(f"name='{name}': write a game and plain parameters, as in 'breakthrough(rows=6)'; no files")
    pyspiel = needed("pyspiel", "OpenSpiel")
    try:
        theirs = pyspiel.load_game(name)
    except Exception as error:
        problem = " ".join(str(error).split())[:200]
        raise BadParameter(f"OpenSpiel cannot load '{name}': {problem}") from None
    kind = theirs.get_type()
    if kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
        raise BadParameter(f"'{name}' is not sequential: players move at the same time")
    if kind.information != pyspiel.GameType.Information.PERFECT_INFORMATION:
        raise BadParameter(f"'{name}' has hidden information")
    if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        raise BadParameter(f"'{name}' does not tell the odds of its chance moves")
    chance = kind.chance_mode == pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC
    longest = theirs.max_game_length() + (theirs.max_chance_nodes_in_history() if chance else 0)
    if longest > MOST_PLIES:
        raise BadParameter(f"games of '{name}' may last {longest} plies, more than {MOST_PLIES}")
    known: OrderedDict[bytes, Any] = OrderedDict({b"": theirs.new_initial_state()})

    def at(s: Any) -> Any:
        """OpenSpiel's state of a record; nobody may change it."""
        plies = int(s.plies)
        key = s.history[:plies].tobytes()
        if key in known:
            known.move_to_end(key)
            return known[key]
        before = plies
        while before and s.history[:before].tobytes() not in known:
            before -= 1
        state = known[s.history[:before].tobytes()].clone() if before else theirs.new_initial_state()
        for action in s.history[before:plies].tolist():
            state.apply_action(action)
        known[key] = state
        if len(known) > KEPT:
            known.popitem(last=False)
        return state

    def start(s: Any) -> None:
        s.history[:] = 0
        s.plies = 0

    def turn(s: Any) -> int:
        state = at(s)
        if state.is_terminal():
            return OVER
        return CHANCE if state.is_chance_node() else int(state.current_player())

    def legal(s: Any, moves: Any) -> int:
        found = sorted(at(s).legal_actions())
        moves[: len(found)] = found
        return len(found)

    def play(s: Any, move: int) -> None:
        s.history[s.plies] = move
        s.plies += 1

    def odds(s: Any, moves: Any, probs: Any) -> int:
        found = sorted(at(s).chance_outcomes())
        for k, (outcome, p) in enumerate(found):
            moves[k], probs[k] = outcome, p
        return len(found)

    def score(s: Any, out: Any) -> None:
        out[:] = at(s).returns()

    shape = theirs.observation_tensor_shape() if kind.provides_observation_tensor else []
    grid = len(shape) == 3 and 1 < shape[1] <= 26 and 1 < shape[2] <= 26 and shape[0] <= len(LETTERS)
    rows, columns, planes = (shape[1], shape[2], shape[0]) if grid else (1, 1, 1)

    def drawn(state: Any) -> Any:
        """[cell] -> 1 + its first plane that is not empty, 0 if all are."""
        if not grid or state.is_terminal() or state.is_chance_node():
            return np.zeros(rows * columns, np.int64)
        seen = np.array(state.observation_tensor(0)).reshape(planes, rows * columns) > 0
        return np.where(seen.any(axis=0), 1 + seen.argmax(axis=0), 0)

    def cells(s: Any, out: Any) -> None:
        out[:] = drawn(at(s))

    fields = np.dtype([("history", "i4", (longest + 1,)), ("plies", "i4")])
    rules: dict[str, Any] = {
        "start": start, "turn": turn, "legal": legal, "play": play, "score": score, "cells": cells,
    }  # fmt: skip
    if chance:
        rules["odds"] = odds
    names = _names([_written(theirs, action) for action in range(theirs.num_distinct_actions())])
    paths = clicks(theirs, rows, columns, drawn) if grid else [None] * len(names)
    return Game(
        state=fields,
        board=square(rows, columns),
        pieces=(Piece("."), *(Piece(letter) for letter in LETTERS[:planes])),
        rules=rules,
        compiled=False,
        seats=theirs.num_players(),
        num_moves=theirs.num_distinct_actions(),
        num_outcomes=theirs.max_chance_outcomes() if chance else 0,
        longest=longest,
        score_range=(min(0.0, theirs.min_utility()), max(0.0, theirs.max_utility())),  # 0: before the first move
        path=paths.__getitem__,
        words=dict.fromkeys((step for path in paths for step in path or () if isinstance(step, str)), "pass"),
        move_name=names.__getitem__,
        outcome_path=lambda _: None,
        outcome_name=str,
        keeps=(),
    )


def _written(theirs: Any, action: int) -> str:
    try:
        return str(theirs.action_to_string(0, action))
    except Exception:  # some games can only write actions that are legal
        return ""


def _names(written: list[str]) -> list[str]:
    """OpenSpiel's names where they are words that tell all actions apart, else numbers."""
    words = all(re.fullmatch(r"[\w+*=-]+", text, re.ASCII) for text in written)
    clear = words and len({name.lower() for name in written}) == len(written)
    return written if clear else [str(k) for k in range(len(written))]
