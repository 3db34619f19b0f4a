"""Minishogi as XBoard writes it: squares a1 to e5 from sente's left, drops as P@c3, FEN in which "w" is sente."""

from __future__ import annotations

import re

from meijin.core.errors import BadParameter

START_FEN = "rbsgk/4p/5/P4/KGSBR[-] w 0 1"

_USI = re.compile(r"(?:([1-5][a-e])([1-5][a-e])(\+?)|([PSBRG])\*([1-5][a-e]))")
_XBOARD = re.compile(r"(?:([a-e][1-5])([a-e][1-5])([+=]?)|\+?([PSBRGpsbrg])@([a-e][1-5]))")


def _to_xboard(square: str) -> str:
    return "edcba"[int(square[0]) - 1] + "54321"["abcde".index(square[1])]


def _to_usi(square: str) -> str:
    return "54321"["abcde".index(square[0])] + "edcba"[int(square[1]) - 1]


def xboard_move(name: str) -> str:
    """A move in USI, as XBoard writes it."""
    if (found := _USI.fullmatch(name)) is None:
        raise BadParameter(f"'{name}' is not a move of minishogi in USI, such as 5d5c, 1b1a+ or P*3c")
    if found[4]:
        return f"{found[4]}@{_to_xboard(found[5])}"
    return _to_xboard(found[1]) + _to_xboard(found[2]) + found[3]


def usi_move(text: str) -> str:
    """The inverse of `xboard_move`; "=" (do not promote) may follow a move."""
    if (found := _XBOARD.fullmatch(text)) is None:
        raise BadParameter(f"'{text}' is not a move, such as a2a3, e4e5+ or P@c3")
    if found[4]:
        return f"{found[4].upper()}*{_to_usi(found[5])}"
    return _to_usi(found[1]) + _to_usi(found[2]) + found[3].replace("=", "")


def fen(sfen: str) -> str:
    """A position in SFEN, as XBoard's FEN."""
    placed, mover, held, *_ = sfen.split()
    hands = "-" if held == "-" else re.sub(r"(\d)([A-Za-z])", lambda found: found[2] * int(found[1]), held)
    return f"{placed}[{hands}] {'w' if mover == 'b' else 'b'} 0 1"


def sfen(fen: str) -> str:
    """The inverse of `fen`; the counters of moves are ignored."""
    found = re.match(r"\s*([^\s\[]+)\[([A-Za-z-]*)\]\s+([wb])\b", fen) or re.match(r"\s*([^\s\[]+)()\s+([wb])\b", fen)
    if found is None:
        raise BadParameter(f"FEN '{fen}': expected the board, the hands in [] and w or b, as in '{START_FEN}'")
    return f"{found[1]} {'b' if found[3] == 'w' else 'w'} {found[2].replace('-', '') or '-'} 1"
