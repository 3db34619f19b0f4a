"""Positions in GGF, as NBoard sends them: `(;GM[Othello]...BO[8 -*O... *]B[D3]W[C3/0.5/2];)`."""

from __future__ import annotations

import re

import numpy as np

from meijin.arena.formats.ggf import COLOURS, DISCS, PROPERTY, board_text, move_name, move_text
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import Game
from meijin.core.state import State


def read_ggf(game: Game, text: str) -> State:
    """The position at the end of a game."""
    if not text.strip().startswith("(;"):
        raise BadParameter("GGF: a game begins with (;")
    found = PROPERTY.findall(text)
    board = dict(found).get("BO", "").split()
    squares = "".join(board[1:-1])
    if len(board) < 3 or board[0] != "8" or not re.fullmatch(r"[-*O]{64}", squares) or board[-1] not in ("*", "O"):
        raise BadParameter("GGF: BO[...] must hold 8, the 64 squares as -, * and O, and who moves")
    state = State(game)
    if board_text(state).split() != [board[0], squares, board[-1]]:
        state = State.set_up(game, [DISCS.index(square) for square in squares], DISCS.index(board[-1]) - 1)
    for name, value in found:
        if name in COLOURS:
            try:
                state.play(move_name(value))
            except MeijinError as error:
                raise BadParameter(f"GGF: {error}") from None
    return state


def write_ggf(state: State, players: tuple[str, str] = ("black", "white")) -> str:
    """A game of Othello 8 x 8, from where its history begins."""
    replay = State(state.game, np.frombuffer(state.origin, state.game.dtype)[0])
    text = f"(;GM[Othello]PC[Meijin]PB[{players[0]}]PW[{players[1]}]RE[?]TI[0]TY[8]BO[{board_text(replay)}]"
    for move in state.history:
        text += f"{COLOURS[replay.turn]}[{move_text(move.name)}]"
        replay.play(move)
    return text + ";)"
