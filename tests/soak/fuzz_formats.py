"""Mutated files of games. Law: a file is refused with a `MeijinError` whose message can be printed as UTF-8, or its
games are read, and reading what `write` makes of them gives the same games.

    MEIJIN_JIT=0 python tests/soak/fuzz_formats.py --mutations 300000 --seed 1

Without MEIJIN_JIT=0 every size of a board that a mutation comes up with is compiled, which takes a second each.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from pathlib import Path

from soaking import soak

from meijin.arena import formats
from meijin.core.errors import MeijinError
from records import RandomGames

GAMES = (
    "tic_tac_toe", "connect_four(width=4, height=4)", "go(size=3)", "go(size=9, handicap=2, komi=0.5)",
    "othello(size=4)", "hex(size=3, swap=True)", "gomoku(size=5)", "2048(size=2)", "einstein",
    "nim(heaps=(3, 4, 5), players=3)", "sim(players=3)", "breakthrough(rows=5, columns=4)",
)  # fmt: skip

MINISHOGI = ("minishogi(max_plies=20)", "minishogi")
ONLY = {"usi": MINISHOGI, "kif": MINISHOGI, "csa": MINISHOGI, "ggf": ("othello(size=4)", "othello")}

#: Files as other programs write them.
FOREIGN = {
    "sgf": (
        "(;GM[1]FF[4]SZ[9]KM[6.5]PB[Black \\] stone]PW[White]RE[W+Resign]DT[1998-03-04]EV[Cup]\n"
        ";B[ee]C[a (comment) with ; and \\] in it];W[gc](;B[cg];W[](;B[gg])(;B[aa]))(;B[dd];W[ff]))",
        "(;GM[1]SZ[9]HA[2]KM[0.5]AB[gc][cg]PB[a]PW[b]RU[Japanese];W[ee];B[gg])",
        "(;GM[1]SZ[3];B[aa];W[bb];B[];W[tt])(;GM[2]SZ[4];B[a2];W[aa])",
        "(;FF[4]GM[11]SZ[5]PB[hexer]PW[wolve];B[A3];W[swap-pieces];B[c3];W[resign])",
        "(;GaMe[4]SiZe[6]PlayerBlack[\u540d\u4eba];Black[aa];White[bb];Black[f6])",
    ),
    "usi": (
        "position startpos moves 3e3d 2a3b\nstartpos moves 4e3d\nsfen rbsgk/4p/5/P4/KGSBR b - 1 moves 3e3d\n",
        "position sfen rbsgk/4p/5/P4/KGSR1 b B 1 moves 3e3d\n",
    ),
    "kif": (
        "手合割：5五将棋\n先手：羽生\n手数----指手--\n   1 ３四銀(35)\n   2 ３二金(21)   ( 0:03/00:00:03)\n   3 投了\n",  # noqa: RUF001
    ),
    "csa": ("V2.2\nN+a\nN-b\nP1-HI-KA-GI-KI-OU\n+\n+2543KA,T3\n-3122GI\nT12\n+4321UM\n-1121OU\n+0033KI\n%TORYO\n",),
    "ggf": (
        "1 (;GM[Othello]PC[GGS]PB[a]PW[b]TI[5]TY[4]RE[-2.0:r]BO[4 -----O*--*O----- *]B[b1//1.5]W[a1/-2.1/0.3]B[A2];)",
    ),
    "pgn": ('[Game "tic_tac_toe"]\n[Seat0 "a"]\n[Seat1 "b"]\n[Scores "0 0"]\n[Ending "cap"]\n\n1. a1 b2 *\n',
            '[Game "tic_tac_toe"]\n[Seat0 "a"]\n[Seat1 "b"]\n[SetUp "1"]\n[FEN "1OX/3/2X 1"]\n[Scores "0 0"]\n'
            '[Ending "cap"]\n\n1. b2 *\n'),
    "jsonl": ('{"game":"nim","agents":["a","b"],"scores":[0,0],"ending":"cap","moves":[0,1]}\n',
              '{"game":"nim","position":"1,3,5,7 0","agents":["a","b"],"scores":[0,0],"ending":"cap","moves":[0]}\n'),
}  # fmt: skip

#: What is put in, or in the place of a number.
NUMBERS = (
    b"-1", b"0", b"1.5", b"1e999", b"-1e999", b"NaN", b"inf", b"9" * 19, b"9" * 77, b"9" * 400, b"9" * 5000,
    b"1e-400", b"1000000000", b"4294967296", b"9223372036854775808", b"-9223372036854775809", b"null", b"true",
    b'"x"', b"[]", b"{}", "\u0663".encode(), b"0x10", b"1_0", b"+3", b"-0", b"-0.0", b"1e5",
)  # fmt: skip
PIECES = (
    b"\0", b"\xff\xfe", b"\xc3(", b"\xed\xa0\x80", b"\\ud800", b"\\udc00x", b'"\\ud800"', b"\\", b"]", b"[", b")",
    b"(", b";", b"{", b"}", b'"', b"'", b",", b":", b"#", b"\n", b"\r\n", b"\n\r", b"\t", b" ", b"%", b"*",
    b"\xef\xbb\xbf", b"\x1b[2J", b"[" * 3000, b'{"a":' * 600, b"(;" * 2000, b"(" * 30, b"MJ", b"MN[", b"MJ[{}]",
    b"MV[0:a1]", b"MC[1]", b"GM[1]", b"SZ", b"SZ[]", b"AB[", b"RE[]", b"KM[nan]", b"B[]", b"W", b"GM[4]SZ[19:19]",
    b"1-0", b"1/2-1/2", b"# notes ", b"# {", b"# note {", b"moves", b"position", "\u540c".encode(),
    "\u6253".encode(), "\u624b\u6570".encode(), b'"\\u0000"', b"[%emt nan]", b"[%value 1 2 3]", b"[%emt 1e999]",
    b'"notes":[]', b'"headers":{"a":"b"}', b'"forfeit":1', b'"position":"1 2"', b'"position":5',
    b'"game":"go(komi=1e400)"',
    b'go(komi=' + b"9" * 400 + b")", b'hex("\\ud800")', b"go(size=1000000000)", b"nim(heaps=(1000000000,))",
)  # fmt: skip
MOST = 20_000  # bytes of a mutated file


class Mutator:
    """Valid files and what can happen to them."""

    def __init__(self) -> None:
        self.files = valid_files()

    def next(self, rng: random.Random) -> tuple[str, bytes]:
        format = rng.choice(list(self.files))
        data = rng.choice(self.files[format])
        for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
            data = self.changed(data, format, rng)[:MOST]
        return format, data

    def changed(self, data: bytes, format: str, rng: random.Random) -> bytes:
        at, to = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
        to = min(to, at + rng.choice((1, 2, 5, 40, MOST)))
        match rng.randrange(11):
            case 0 if data:  # a bit
                at = min(at, len(data) - 1)
                return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
            case 1:  # a byte
                return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
            case 2:
                return data[:at]
            case 3:
                return data[:at] + data[to:]
            case 4:
                return data[:to] + data[at:to] * rng.choice((1, 1, 3, 50)) + data[to:]
            case 5:  # two files of a format, or of two formats
                other = rng.choice(self.files[rng.choice((format, format, rng.choice(list(self.files))))])
                return data[:at] + other[rng.randrange(len(other)) :]
            case 6 | 7:
                numbers = list(re.finditer(rb"-?\d+(?:\.\d+)?", data))
                if numbers:
                    found = rng.choice(numbers)
                    return data[: found.start()] + rng.choice(NUMBERS) + data[found.end() :]
                return data
            case 8:  # a word of the file elsewhere
                words = re.findall(rb"[\w.]+|\"[^\"]*\"|\[[^\[\]]*\]", data) or [b"x"]
                return data[:at] + rng.choice(words) + data[to:]
            case 9:  # two parts change places
                return data[to:] + data[:at] + data[at:to]
            case _:
                return data[:at] + rng.choice(PIECES) + data[rng.choice((at, to)) :]


def valid_files() -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = {name: [] for name in formats.READABLE}
    with tempfile.TemporaryDirectory() as folder:
        for name in formats.READABLE:
            kinds = ONLY.get(name, GAMES)
            for kind in kinds:
                games = RandomGames(kind, seed=4)
                records = [games.record(n, analyses=name != "pgn", most=8) for n in range(6)]
                path = Path(folder) / f"x.{name}"
                for part in ([record] for record in records):
                    formats.write(part, path)
                    found[name].append(path.read_bytes())
                formats.write(records[:2], path)
                found[name].append(path.read_bytes())
    for name, texts in FOREIGN.items():
        found[name] += [text.encode() for text in texts] * 4
    return found


def check(format: str, data: bytes, folder: Path) -> str:
    """Whether a file is "refused" or "read"; raises where the law is broken."""
    path = folder / f"mutated.{format}"
    path.write_bytes(data)
    try:
        records = list(formats.read(path))
    except MeijinError as error:
        str(error).encode()
        return "refused"
    again = folder / f"again.{format}"
    try:
        formats.write(records, again)
        same = list(formats.read(again))
    except MeijinError as error:
        raise AssertionError(f"read, but what was written is refused: {error}") from error
    if repr(same) != repr(records):  # as text, because nan is not equal to itself
        raise AssertionError(f"read as {records}, but after writing as {same}")
    return "read"


def main() -> int:
    mutator = Mutator()
    with tempfile.TemporaryDirectory() as folder:

        def attempt(rng: random.Random) -> tuple[str, str]:
            format, data = mutator.next(rng)
            try:
                return format, check(format, data, Path(folder))
            except Exception as error:
                error.add_note(f"{format}: {data[:2000]!r}")
                raise

        return soak(__doc__, 300_000, attempt)


if __name__ == "__main__":
    sys.exit(main())
