"""GGF, the notation of Othello games that NBoard sends: `(;GM[Othello]...BO[8 -*O... *]B[D3]W[C3/0.5/2];)`."""

from __future__ import annotations

import re

from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import Game
from meijin.core.state import State

START = "8 ---------------------------O*------*O--------------------------- *"

_PROPERTY = re.compile(r"([A-Z]+)\[([^\]]*)\]")


def read_ggf(game: Game, text: str) -> State:
    """The position at the end of a game."""
    if not text.strip().startswith("(;"):
        raise BadParameter("GGF: a game begins with (;")
    found = _PROPERTY.findall(text)
    names = [name for name, _ in found]
    if "BO" not in names:
        raise BadParameter("GGF: the board, BO[...], is missing")
    board = dict(found)["BO"].split()
    squares = "".join(board[1:-1])
    if len(board) < 3 or board[0] != "8" or not re.fullmatch(r"[-*O]{64}", squares) or board[-1] not in "*O":
        raise BadParameter("GGF: BO must hold 8, the 64 squares as -, * and O, and who moves")
    if " ".join([board[0], squares, board[-1]]) == START:
        state = State(game)
    else:
        state = State.set_up(game, ["-*O".index(square) for square in squares], "*O".index(board[-1]))
    for name, value in found:
        if name not in ("B", "W"):
            continue
        move = value.split("/")[0].strip().lower()
        try:
            state.play("pass" if move in ("pa", "pass") else move)
        except MeijinError as error:
            raise BadParameter(f"GGF: {error}") from None
    return state


def write_ggf(state: State, players: tuple[str, str] = ("black", "white")) -> str:
    """A game of Othello 8 x 8, from where its history begins."""
    import numpy as np

    game = state.game
    first = State(game, np.frombuffer(state.origin, game.dtype)[0])
    board = "".join("-*O"[value] for value in first.cells)
    text = f"(;GM[Othello]PC[Meijin]PB[{players[0]}]PW[{players[1]}]RE[?]TI[0]TY[8]BO[8 {board} {'*O'[first.turn]}]"
    seat = first.turn
    for move in state.history:
        text += f"{'BW'[seat]}[{'PA' if move.name == 'pass' else move.name.upper()}]"
        seat = 1 - seat
    return text + ";)"
