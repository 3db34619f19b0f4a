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
    KING,
    PAWN,
    PLANES,
    PROMOTED,
    PROMOTING,
    SIZE,
    TARGET,
)

START = "rbsgk/4p/5/P4/KGSBR b - 1"

SQUARES = tuple(f"{SIZE - column}{'abcde'[row]}" for row in range(SIZE) for column in range(SIZE))
IN_HAND = KINDS[1 : GOLD + 1]
_COLOURS = ("#fbeecb", "#5b4632")  # [seat]; the second player's men are also in lower case

#: [value of a cell] -> empty; men of sente, of gote, by kind; two of a kind in a tray of sente, of gote.
PIECES = (
    Piece("."),
    *(Piece(kind, owner=0, fill=_COLOURS[0], label=True) for kind in KINDS[1:]),
    *(Piece(kind.lower(), owner=1, fill=_COLOURS[1], label=True) for kind in KINDS[1:]),
    *(Piece(f"2{kind}", owner=0, fill=_COLOURS[0], label=True) for kind in IN_HAND),
    *(Piece(f"2{kind.lower()}", owner=1, fill=_COLOURS[1], label=True) for kind in IN_HAND),
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


def write_sfen(values: Sequence[int], hands: Sequence[Sequence[int]], seat: int, move: int) -> str:
    text = {value: letters for letters, value in _LETTERS.items()}
    rows = ["".join(text.get(v, "1") for v in values[r : r + SIZE]) for r in range(0, AREA, SIZE)]
    placed = re.sub("1+", lambda run: str(len(run[0])), "/".join(rows))
    held = ""
    for owner in (0, 1):
        for kind in "RBGSP":
            if n := hands[owner][IN_HAND.index(kind)]:
                held += ("" if n == 1 else str(n)) + (kind if owner == 0 else kind.lower())
    return f"{placed} {'bw'[seat]} {held or '-'} {move}"


def parse_sfen(text: str) -> tuple[list[int], list[list[int]], int, int]:
    """The values of the cells, [seat][kind - 1] in hand, the mover and the number of the move, all checked."""

    def bad(problem: str) -> BadParameter:
        return BadParameter(f"SFEN '{text}': {problem}; the start is '{START}'")

    words = re.fullmatch(r"\s*(?:sfen\s+)?(\S+)\s+([bw])\s+(\S+)(?:\s+(\d+))?\s*", text)
    if words is None:
        raise bad("expected board, b or w to move, hands and the number of the move")
    placed, mover, held, move = words[1], words[2], words[3], int(words[4] or 1)
    rows = placed.split("/")
    values: list[int] = []
    for row in rows:
        if not re.fullmatch(r"(?:[1-5]|[KGkg]|\+?[PSBRpsbr])+", row):
            raise bad(f"row '{row}' has a man that minishogi does not know")
        before = len(values)
        for man in re.findall(r"[1-5]|\+?[A-Za-z]", row):
            values += [0] * int(man) if man.isdigit() else [_LETTERS[man]]
        if len(values) - before != SIZE:
            raise bad(f"row '{row}' has {len(values) - before} cells, not {SIZE}")
    if len(rows) != SIZE:
        raise bad(f"the board has {len(rows)} rows, not {SIZE}")
    hands = [[0] * GOLD, [0] * GOLD]
    if held != "-":
        if not re.fullmatch(r"(?:[12]?[PSBRGpsbrg])+", held):
            raise bad(f"hands '{held}' are not pieces such as R2p, or - for none")
        for number, kind in re.findall(r"([12]?)([A-Za-z])", held):
            hands[int(kind.islower())][IN_HAND.index(kind.upper())] += int(number or 1)
    if problem := _impossible(values, hands):
        raise bad(problem)
    if move < 1:
        raise bad("moves are numbered from 1")
    return values, hands, int(mover == "w"), move


def _impossible(values: list[int], hands: list[list[int]]) -> str | None:
    """What no position of the game can be like."""
    kinds = [(value - 1) % 10 + 1 if value else 0 for value in values]
    for seat in (0, 1):
        if values.count(KING + 10 * seat) != 1:
            return f"{('sente', 'gote')[seat]} needs exactly one king"
        pawns = [cell for cell, value in enumerate(values) if value == PAWN + 10 * seat]
        if any(cell // SIZE == (0, SIZE - 1)[seat] for cell in pawns):
            return "a pawn on its last rank could never move"
        if len({cell % SIZE for cell in pawns}) < len(pawns):
            return "two pawns of one player are on one file"
    for k, name in enumerate(IN_HAND):
        if kinds.count(k + 1) + kinds.count(k + 1 + PROMOTED) + hands[0][k] + hands[1][k] > 2:
            return f"more than two of {name}"
    return None
