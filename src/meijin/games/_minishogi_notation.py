"""Minishogi as people see it: the board and its trays, USI names of moves, the cells they click, and SFEN."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from meijin.core.boards import Board, Label, square
from meijin.core.errors import BadParameter
from meijin.core.moves import Path
from meijin.core.pieces import Piece
from meijin.games._minishogi_tables import (
    AREA,
    COMPASS,
    DROPPING,
    GOLD,
    KINDS,
    PLANES,
    PROMOTING,
    SIZE,
    TARGET,
)

START = "rbsgk/4p/5/P4/KGSBR b - 1"

SQUARES = tuple(f"{SIZE - column}{'abcde'[row]}" for row in range(SIZE) for column in range(SIZE))
IN_HAND = KINDS[1 : GOLD + 1]
_KANJI = dict(zip(KINDS[1:], "歩銀角飛金玉と全馬龍", strict=True))


def _man(text: str, seat: int, glyph: str) -> Piece:
    """The second player's men are in lower case."""
    fill = ("#fbeecb", "#5b4632")[seat]
    return Piece(text.lower() if seat else text, owner=seat, fill=fill, glyph=glyph, shape="man")


#: [value of a cell] -> empty; men of sente, of gote, by kind; two of a kind in a tray of sente, of gote.
PIECES = (
    Piece("."),
    *(_man(kind, seat, _KANJI[kind]) for seat in (0, 1) for kind in KINDS[1:]),
    *(_man(f"2{kind}", seat, f"{_KANJI[kind]}2") for seat in (0, 1) for kind in IN_HAND),
)


def board() -> Board:
    """Files 5 to 1 from the left, ranks a to e from the top; a tray cell for each kind that a seat can hold."""
    plain = square(SIZE, theme="wood")
    files = [Label(str(SIZE - c), (c, -1)) for c in range(SIZE)]
    ranks = [Label("abcde"[r], (-1, r), row=True) for r in range(SIZE)]
    named = tuple(replace(cell, name=name) for cell, name in zip(plain.cells, SQUARES, strict=True))
    trays = {0: IN_HAND, 1: [kind.lower() for kind in IN_HAND]}
    return replace(plain, cells=named, labels=(*ranks, *files)).with_trays(trays)


def path(move: int) -> Path | None:
    """From and to, with "+" to promote; a drop begins in the tray of whoever moves. None: off the board."""
    cell, plane = divmod(move, PLANES)
    if plane >= DROPPING:
        k = plane - DROPPING
        return frozenset((AREA + k, AREA + GOLD + k)), cell
    to = int(TARGET[cell, plane % PROMOTING])
    promotes = ("+",) if plane >= PROMOTING else ()
    return (cell, to, *promotes) if to >= 0 else None


def move_name(move: int) -> str:
    """USI: "5d5c", "1b1a+", "P*3c"; numbers of moves off the board have names too, such as "5a-n1"."""
    cell, plane = divmod(move, PLANES)
    if plane >= DROPPING:
        return f"{IN_HAND[plane - DROPPING]}*{SQUARES[cell]}"
    way, to = plane % PROMOTING, TARGET[cell, plane % PROMOTING]
    goal = SQUARES[to] if to >= 0 else f"-{COMPASS[way // 4]}{way % 4 + 1}"
    return SQUARES[cell] + goal + ("+" if plane >= PROMOTING else "")


# ---- SFEN ----

_LETTERS = {
    (kind if seat == 0 else kind.lower()): n + 10 * seat for seat in (0, 1) for n, kind in enumerate(KINDS) if n
}


def in_tray(seat: int, k: int, held: int) -> int:
    """The value of a tray cell: nothing, one man of a kind, or two."""
    return (0, k + 1 + 10 * seat, 21 + GOLD * seat + k)[held]


def write_sfen(cells: Sequence[int], seat: int) -> str:
    text = {value: letters for letters, value in _LETTERS.items()}
    rows = ["".join(text.get(v, "1") for v in cells[r : r + SIZE]) for r in range(0, AREA, SIZE)]
    placed = re.sub("1+", lambda run: str(len(run[0])), "/".join(rows))
    held = ""
    for owner in (0, 1):
        for kind in "RBGSP":
            value = cells[AREA + GOLD * owner + IN_HAND.index(kind)]
            if value:
                held += ("2" if value > 20 else "") + (kind if owner == 0 else kind.lower())
    return f"{placed} {'bw'[seat]} {held or '-'} 1"


def read_sfen(text: str) -> tuple[list[int], int]:
    """The values of all cells and the mover. The number of the move is read and ignored."""

    def bad(problem: str) -> BadParameter:
        return BadParameter(f"SFEN '{text}': {problem}; the start is '{START}'")

    words = re.fullmatch(r"\s*(?:sfen\s+)?(\S+)\s+([bw])\s+(\S+)(?:\s+\d+)?\s*", text)
    if words is None:
        raise bad("expected the board, b or w to move, the hands and the number of the move")
    placed, mover, held = words[1], words[2], words[3]
    rows = placed.split("/")
    cells: list[int] = []
    for row in rows:
        if not re.fullmatch(r"(?:[1-5]|[KGkg]|\+?[PSBRpsbr])+", row):
            raise bad(f"row '{row}' has a man that minishogi does not know")
        before = len(cells)
        for man in re.findall(r"[1-5]|\+?[A-Za-z]", row):
            cells += [0] * int(man) if man.isdigit() else [_LETTERS[man]]
        if len(cells) - before != SIZE:
            raise bad(f"row '{row}' has {len(cells) - before} cells, not {SIZE}")
    if len(rows) != SIZE:
        raise bad(f"the board has {len(rows)} rows, not {SIZE}")
    hands = [[0] * GOLD, [0] * GOLD]
    if held != "-":
        if not re.fullmatch(r"(?:[12]?[PSBRGpsbrg])+", held):
            raise bad(f"hands '{held}' are not men such as R2p, or - for none")
        for number, kind in re.findall(r"([12]?)([A-Za-z])", held):
            hands[int(kind.islower())][IN_HAND.index(kind.upper())] += int(number or 1)
    for seat in (0, 1):
        for k, number in enumerate(hands[seat]):
            if number > 2:
                raise bad(f"more than two of {IN_HAND[k]}")
            cells.append(in_tray(seat, k, number))
    return cells, int(mover == "w")
