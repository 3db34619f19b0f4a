"""The store of games: nothing is lost, nothing is stored twice, and what is not ours is left alone."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from meijin.arena.database import APPLICATION
from meijin.arena.queries import Branch
from meijin.arena.record import GameRecord, MoveNote, Task
from meijin.arena.store import MIGRATIONS, Store
from meijin.core.errors import BadParameter, MeijinError
from records import RandomGames

GAMES = ("tic_tac_toe", "2048(size=2)", "nim(heaps=(3, 4, 5), players=3)", "minishogi")


def played(number: int, agents: tuple[str, ...] = ("a", "b"), scores: tuple[float, ...] = (1.0, -1.0)) -> GameRecord:
    """A short made-up game: the store knows no rules."""
    task = Task("connect_four", agents, event="cup", number=number)
    return GameRecord(task, (3, 3, number % 7), scores, began=f"2026-08-{number % 28 + 1:02}T12:00:00Z")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "games.db")


# ---- what goes in comes out ----


def test_every_field_comes_back(store: Store) -> None:
    records = [RandomGames(game).record(number) for number, game in enumerate(GAMES * 10)]
    assert store.add(records) == len(records)
    assert list(store.games()) == records
    again = Store(store.path)
    assert list(again.games()) == records
    rows = list(again.results())
    assert [(r.agents, r.scores, r.ending, r.forfeit, r.plies) for r in rows] == [
        (r.task.agents, r.scores, r.ending, r.forfeit, r.plies) for r in records
    ]


def test_moves_of_any_size(store: Store) -> None:
    moves = (0, 127, 128, 16383, 16384, (1 << 32) - 1)
    record = replace(played(0), moves=moves, notes=tuple(MoveNote() for _ in moves))
    store.add([record])
    assert list(store.games()) == [record]
    for ply, move in enumerate(moves):
        assert [b.move for b in store.tree("connect_four", moves[:ply])] == [move]
    assert store.tree("connect_four", moves) == []


def test_notes_of_any_kind(store: Store) -> None:
    nan, inf = float("nan"), float("inf")
    kinds = [
        (MoveNote(), MoveNote(), MoveNote()),
        (MoveNote(1.5), MoveNote(), MoveNote(0.0)),
        (MoveNote(None, (0.1, -0.1)), MoveNote(), MoveNote(2.0, (inf, -inf))),
        (MoveNote(1.0, (0.1,)), MoveNote(None, (0.1, 0.2)), MoveNote()),  # no agent should; a record may
        (MoveNote(1.0, ()), MoveNote(None, (0.5, 0.5)), MoveNote()),
        (MoveNote(None, None, {"note": "half a \ud800 character"}), MoveNote(), MoveNote(1.0, (1.0, 1.0), {})),
    ]
    store.add([replace(played(number), notes=notes) for number, notes in enumerate(kinds)])
    assert [record.notes for record in store.games()] == kinds
    store.add([replace(played(9), notes=(MoveNote(nan, (nan, 1.0)), MoveNote(), MoveNote()))])
    assert repr(next(store.games(number=9)).notes[0]) == repr(MoveNote(nan, (nan, 1.0)))


def test_no_game_is_stored_twice(store: Store) -> None:
    assert store.add([played(1), played(2)]) == 2
    assert store.add([played(2), played(3), played(3)]) == 1
    assert store.finished("cup") == {1, 2, 3}
    assert store.finished("other") == set()
    with pytest.raises(MeijinError, match="'cup' already has another game 2"):
        store.add([played(7), played(2, agents=("a", "c"))])
    assert store.finished("cup") == {1, 2, 3}  # all or nothing


def test_games_of_no_event_are_numbered(store: Store) -> None:
    loose = replace(played(0), task=replace(played(0).task, event=""))
    assert store.add([loose, loose]) == 2
    assert store.add([loose]) == 1
    assert [record.task.number for record in store.games(event="")] == [0, 1, 2]


def test_a_failing_source_stores_nothing(store: Store) -> None:
    def records() -> object:
        yield played(1)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        store.add(records())  # type: ignore[arg-type]
    assert store.count() == 0


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"scores": (1.0,)}, "1 scores for 2 seats"),
        ({"scores": (1.0, float("nan"))}, "not numbers"),
        ({"ending": "boredom"}, "'boredom' is not one of rules"),
        ({"forfeit": 2}, "no seat 2"),
        ({"moves": (3, -1)}, "moves"),
        ({"notes": (MoveNote(),)}, "it has 1 notes for 3 plies"),
    ],
)
def test_impossible_records_are_refused(store: Store, change: dict[str, object], problem: str) -> None:
    with pytest.raises(BadParameter, match=problem):
        store.add([played(1), replace(played(2), **change)])  # type: ignore[arg-type]
    assert store.count() == 0


# ---- questions ----


def test_filters(store: Store) -> None:
    store.add(
        [played(n, ("a", "b") if n % 2 else ("b", "a"), ((1.0, -1.0), (0.0, 0.0))[n % 3 == 0]) for n in range(12)]
    )
    other = Task("othello(size=6)", ("mcts(c=1)", "mcts(c=2)"), event="other")
    store.add([GameRecord(other, (), (-1.0, 1.0), "forfeit", 0)])
    assert store.count() == 13
    assert store.count(event="cup") == 12
    assert store.count(game="othello*") == store.count(game="othello(size=6)") == 1
    assert store.count(game="othello") == 0
    assert store.count(agent="mcts*") == 1
    assert store.count(agent="a", seat=0) == 6
    assert store.count(agent="a", result="win") == 4  # seat 0 wins where nobody draws
    assert store.count(seat=0, result="draw") == 4
    assert store.count(ending="forfeit") == 1
    assert store.count(since="2026-08-03", until="2026-08-05") == 3
    assert store.count(until="2026-08") == 12
    assert [r.number for r in store.results(agent="a", seat=0, result="win")] == [1, 5, 7, 11]
    with pytest.raises(BadParameter, match="unknown filter 'agnet'; did you mean 'agent'"):
        store.count(agnet="a")  # type: ignore[call-arg]
    with pytest.raises(BadParameter, match="say whose"):
        store.count(result="win")
    with pytest.raises(BadParameter, match="choose from"):
        store.count(seat=0, result="victory")


def test_crosstable_counts_what_was_played(store: Store) -> None:
    games = RandomGames("nim(heaps=(2, 2), players=3)")
    records = [games.record(number) for number in range(300)]
    store.add(records)
    expected: Counter[tuple[str, str, int]] = Counter()
    for record in records:
        for one, a in enumerate(record.task.agents):
            for other, b in enumerate(record.task.agents):
                if one != other:
                    sign = (record.scores[one] > record.scores[other]) - (record.scores[one] < record.scores[other])
                    expected[a, b, sign] += 1
    table = store.crosstable("cup")
    for (a, b), count in table.items():
        assert (count.wins, count.draws, count.losses) == tuple(expected[a, b, sign] for sign in (1, 0, -1))
        assert count.games == count.wins + count.draws + count.losses
    assert sum(count.games for count in table.values()) == 300 * 3 * 2
    agents = store.agents()
    assert sum(count.games for count in agents.values()) == 900
    assert agents["random"].score == sum(
        score for r in records for a, score in zip(r.task.agents, r.scores, strict=True) if a == "random"
    )


def test_opening_tree(store: Store) -> None:
    games = RandomGames("tic_tac_toe")
    records = [games.record(number) for number in range(400)]
    store.add(records)
    for prefix in ((), (4,), (4, 0)):
        n = len(prefix)
        onward = [r for r in records if r.moves[:n] == prefix and len(r.moves) > n]
        branches = store.tree("tic_tac_toe", prefix)
        assert {b.move: b.games for b in branches} == Counter(r.moves[n] for r in onward)
        assert [b.games for b in branches] == sorted((b.games for b in branches), reverse=True)
        for branch in branches:
            through = [r for r in onward if r.moves[n] == branch.move]
            assert branch.wins[0] == sum(r.scores[0] > r.scores[1] for r in through)
            assert branch.draws[1] == sum(r.scores[0] == r.scores[1] for r in through)
            assert branch.scores[1] == pytest.approx(sum(r.scores[1] for r in through) / len(through))
    assert store.tree("tic_tac_toe", (), agent="nobody") == []
    assert store.tree("othello") == []


def test_long_openings_reach_past_the_index(store: Store) -> None:
    line = tuple(range(30))
    store.add([replace(played(n), moves=(*line, 100 + n % 2)) for n in range(4)])
    assert store.tree("connect_four", line) == [
        Branch(100, 2, (2, 0), (0, 0), (1.0, -1.0)),
        Branch(101, 2, (2, 0), (0, 0), (1.0, -1.0)),
    ]


def test_meta_and_events(store: Store) -> None:
    assert store.meta("cup") is None
    store.set_meta("cup", {"plan": [1, 2.5, "名人"]})
    store.set_meta("cup", {"plan": [1, 2.5, "名人"], "more": None})
    assert store.meta("cup") == {"plan": [1, 2.5, "名人"], "more": None}
    store.add([played(0), played(4)])
    (event,) = store.events()
    assert (event.name, event.games) == ("cup", 2)
    assert (event.first, event.last) == ("2026-08-01T12:00:00Z", "2026-08-05T12:00:00Z")


def test_games_may_be_added_while_they_are_read(store: Store) -> None:
    store.add([played(number) for number in range(500)])
    seen = 0
    for record in store.games():
        if record.task.number == 0:
            store.add([played(500)])
        seen += 1
    assert seen == 501


# ---- other tables in the file ----


def test_parts_have_versions_of_their_own(store: Store) -> None:
    first = ("CREATE TABLE fame (name TEXT)",)
    store.part("fame", [first])
    store.part("fame", [first])
    store.part("fame", [first, ("ALTER TABLE fame ADD COLUMN rating REAL",)])
    with store.transaction() as db:
        db.execute("INSERT INTO fame VALUES ('a', 1500)")
    with store.use() as db:
        assert db.execute("SELECT * FROM fame").fetchall() == [("a", 1500.0)]
    with pytest.raises(MeijinError, match="fame format 2"):
        store.part("fame", [first])


# ---- files that are not ours, not whole, or not as old as we are ----


def refused(path: Path) -> str:
    before = path.read_bytes()
    with pytest.raises(MeijinError) as error:
        list(Store(path).games())
    assert path.read_bytes() == before
    assert sorted(p.name for p in path.parent.iterdir() if p.name.startswith(path.name)) == [path.name]
    return str(error.value)


def test_files_that_are_no_store(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_text("just some notes about games\n" * 100)
    assert "is not a database of games" in refused(path)
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE mine (x)")
    db.close()
    assert "database of another program" in refused(path)
    with pytest.raises(MeijinError, match="is a folder"):
        Store(tmp_path)
    with pytest.raises(MeijinError, match="no games database"):
        Store(tmp_path / "none.db", create=False)
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(MeijinError, match="folder that exists"):
        Store(tmp_path / "no" / "such" / "x.db")


def test_a_newer_version_is_left_alone(store: Store) -> None:
    store.close()
    with sqlite3.connect(store.path) as db:
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    db.close()
    assert f"format {len(MIGRATIONS) + 1}, this version of Meijin reads up to {len(MIGRATIONS)}" in refused(store.path)


def test_damaged_files(store: Store, tmp_path: Path) -> None:
    store.add([RandomGames("tic_tac_toe").record(number) for number in range(300)])
    store.close()
    whole = store.path.read_bytes()
    hurt = tmp_path / "hurt.db"
    for cut in (50, 200, 5000, len(whole) // 2):
        hurt.write_bytes(whole[:cut])
        assert "hurt.db" in refused(hurt)
    for page in range(1, len(whole) // 4096, 3):
        at = 4096 * page
        hurt.write_bytes(whole[:at] + b"\xff" * 2000 + whole[at + 2000 :])
        assert "hurt.db" in refused(hurt)


def test_an_old_file_is_brought_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "old.db"
    with Store(path) as store:
        store.add([played(1)])
    new = (*MIGRATIONS, ("ALTER TABLE games ADD COLUMN mood TEXT",))
    monkeypatch.setattr("meijin.arena.store.MIGRATIONS", new)
    with Store(path) as store:
        assert list(store.games()) == [played(1)]
        with store.use() as db:
            assert db.execute("PRAGMA user_version").fetchone() == (len(new),)
            assert db.execute("PRAGMA application_id").fetchone() == (APPLICATION,)
            assert db.execute("SELECT mood FROM games").fetchall() == [(None,)]


# ---- several processes ----

WRITER = """
import sys
sys.path.insert(0, {tests!r})
from test_store import played
from meijin.arena.store import Store
store = Store({path!r})
for number in range({first}, {last}):
    store.add([played(number)])
    print(number, flush=True)
"""


def writer(path: Path, first: int, last: int) -> subprocess.Popen[str]:
    code = WRITER.format(tests=str(Path(__file__).parent), path=str(path), first=first, last=last)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "both.db"  # neither finds it made
    one, other = writer(path, 0, 300), writer(path, 200, 500)
    assert (one.wait(120), other.wait(120)) == (0, 0)
    store = Store(path)
    assert store.finished("cup") == set(range(500))
    assert list(store.games()) == [played(number) for number in range(500)]


def test_a_killed_process_leaves_whole_games(tmp_path: Path) -> None:
    path = tmp_path / "killed.db"
    process = writer(path, 0, 1_000_000)
    assert process.stdout is not None
    last = -1
    for line in process.stdout:
        last = int(line)
        if last == 200:
            process.send_signal(signal.SIGKILL)
            break
    rest = [int(line) for line in process.stdout if line.endswith("\n")]
    process.wait(60)
    said = max([last, *rest])
    copy = tmp_path / "copy.db"  # the log is part of the database until somebody opens it
    for end in ("", "-wal"):
        if (beside := Path(f"{path}{end}")).exists():
            shutil.copy(beside, f"{copy}{end}")
    for found in (Store(path), Store(copy)):
        numbers = found.finished("cup")
        assert numbers == set(range(len(numbers)))
        assert len(numbers) >= said + 1  # what was stored is there, and at most the one after it
        assert len(numbers) <= said + 2
        assert list(found.games()) == [played(number) for number in sorted(numbers)]
        assert found.add([played(len(numbers))]) == 1
