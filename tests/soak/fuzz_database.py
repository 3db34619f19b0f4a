"""Databases of games with values that nobody stored. Law: every command on such a file works or raises `MeijinError`
with a message that can be printed as UTF-8, and no move reaches the rules unchecked.

    MEIJIN_JIT=0 python tests/soak/fuzz_database.py --mutations 5000 --seed 1

With MEIJIN_JIT=0 a move outside of the board is an IndexError here, where compiled rules would write anywhere.
"""

from __future__ import annotations

import contextlib
import io
import random
import shutil
import sqlite3
import sys
import tempfile
import zlib
from pathlib import Path

from soaking import soak

from meijin.arena import formats
from meijin.arena.fame import Fame
from meijin.arena.store import Store
from meijin.cli import games_db, replay
from meijin.core.errors import MeijinError
from records import RandomGames

GAMES = ("tic_tac_toe", "2048(size=2)", "nim(heaps=(3, 4, 5), players=3)", "go(size=3)")
TABLES = {
    "games": "id event number round game seed limits opening moves plies ending forfeit reason began seconds headers",
    "seats": "record seat agent score result",
    "names": "id text",
    "events": "id name meta",
    "notes": "record plies",
    "analyses": "record ply analysis",
    "fame_agents": "name definition",
    "fame_periods": "tournament digest game added results played",
}
VALUES = (
    None, 0, 1, 2, -1, 7, 255, 1 << 31, (1 << 63) - 1, -(1 << 63), 0.5, 1e300, -1e300, float("inf"), "", "x", "\0",
    "7", "rules", "forfeit", "{}", "[]", "[[1,2,3]]", "[{}]", '[{"depth":0}]', "null", '"', "[" * 3000, '{"a":1}',
    b"", b"\0", b"\xff", b"\x80", b"\x80" * 9, b"\x01" * 99, b"\x00" + zlib.compress(b"[[1],[[2]]]"),
    b"\x03" + zlib.compress(b"12345"), b"\x00" + zlib.compress(b'[["x"],[{}]]'),
    b"\x00" + zlib.compress(b"[" * 5000), b"\x02" + zlib.compress(b"\0" * 10**6), zlib.compress(b"[1]"),
    zlib.compress(b'{"moves":3}'), "go(size=1000000000)", "nim", "hex(size=3)", "go(size=-1)",
    '[["a","b",1e300,1]]', '[["a","b",-1,1]]', '[["a","a",1,1]]', '{"a":-5}', '[["a",1,1,1]]',
)  # fmt: skip


def made(path: Path) -> None:
    with Store(path) as store:
        for name in GAMES:
            games = RandomGames(name, seed=2)
            store.add([games.record(n, event=name) for n in range(3)])
        store.set_meta("cup", {"tournament": "x", "openings": ["none"]})
    with Fame(path) as fame, fame.transaction() as db:
        db.executemany("INSERT INTO fame_agents VALUES (?, ?)", [("a", "random"), ("b", "mcts")])
        results = ('[["a","b",1,2],["b","a",1,2]]', '{"a":2,"b":2}')
        db.execute("INSERT INTO fame_periods VALUES (1, 'cup', 'd', 'nim', '2026', ?, ?)", results)


def hurt(path: Path, rng: random.Random) -> str:
    """Change something in the file; says what."""
    if rng.random() < 0.15:
        data = bytearray(path.read_bytes())
        for _ in range(rng.choice((1, 1, 10))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(data)
        return "bytes"
    table = rng.choice(list(TABLES))
    column = rng.choice(TABLES[table].split())
    value = rng.choice(VALUES)
    db = sqlite3.connect(path)
    with contextlib.closing(db), contextlib.suppress(sqlite3.Error, UnicodeError):  # a constraint forbids it
        rows = db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        where = f"WHERE rowid = {rng.randrange(rows) + 1}" if table in ("games", "names") and rng.random() < 0.7 else ""
        db.execute(f"UPDATE {table} SET {column} = ? {where}", (value,))
        db.commit()
    return f"{table}.{column} = {value!r}"


def use(path: Path, rng: random.Random, folder: Path) -> None:
    """One of the things that people do with a database."""
    game = rng.choice(GAMES)
    match rng.randrange(8):
        case 0:
            games_db.list_(path, {}, 0, rng.random() < 0.5)
        case 1:
            games_db.stats(path, {}, True, rng.random() < 0.5)
        case 2:
            games_db.tree(path, {"game": game}, "", rng.choice((1, 3)), 1, [], rng.random() < 0.5)
        case 3:
            games_db.export(path, {}, str(folder / "x.jsonl"), None, [], False)
        case 4:
            replay.replay(path, rng.randrange(1, 13), None, None, False, None, None, 0, None, [], rng.random() < 0.5)
        case 5:
            with Store(path, create=False) as store:
                list(formats.verified(store.games()))
                store.events(), store.finished(game), store.meta("cup")
        case 6:
            with Fame(path, create=False) as fame:
                fame.places(), fame.history("a"), fame.remove("a")
        case _:
            with Store(path, create=False) as store:
                store.add([RandomGames("nim", seed=3).record(1, event=game)])


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made(folder / "sound.db")

        def attempt(rng: random.Random) -> tuple[str, str]:
            path = folder / "hurt.db"
            for rest in folder.glob("hurt.db*"):
                rest.unlink()
            shutil.copy(folder / "sound.db", path)
            what = "; ".join(hurt(path, rng) for _ in range(rng.choice((1, 1, 2))))
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    use(path, rng, folder)
            except MeijinError as error:
                str(error).encode()
                return what, "refused"
            except Exception as error:
                error.add_note(what[:300])
                raise
            return what, "worked"

        return soak(__doc__, 20_000, attempt)


if __name__ == "__main__":
    sys.exit(main())
