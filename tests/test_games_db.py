"""`meijin games-db` and `meijin replay`, as a person or a script meets them."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import commands
from meijin.arena import formats
from meijin.arena.record import GameRecord, MoveNote, Task
from meijin.arena.store import Store
from records import RandomGames

WIDE = {"COLUMNS": "200", "NO_COLOR": "1"}
run, good = partial(commands.run, env=WIDE), partial(commands.good, env=WIDE)


def good_json(*args: object) -> Any:
    return json.loads(good(*args, "--json"))


def bad(*args: object) -> str:
    """The error of a command that must fail: one message on stderr, nothing else anywhere."""
    result = run(*args)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    return str(result.stderr)


LINE = "b2 a1 b1 b3 a3 c1 a2 c2 c3"  # a draw


def drawn(number: int = 0) -> GameRecord:
    from meijin import State, make

    state = State(make("tic_tac_toe")).play_line(LINE)
    moves = tuple(int(move) for move in state.history)
    notes = tuple(MoveNote(0.5 + ply, (ply / 10, -ply / 10)) for ply in range(9))
    task = Task("tic_tac_toe", ("mcts(simulations=9)", "random"), moves[:2], event="cup", number=number)
    return GameRecord(task, moves, (0.0, 0.0), notes=notes, began="2026-08-01T12:30:00Z")


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "games.db"
    games = [RandomGames(name) for name in ("tic_tac_toe", "nim(heaps=(2, 2), players=3)", "2048(size=2)")]
    with Store(path) as store:
        store.add([drawn()])
        store.add([games[n % 3].record(n, event="more", full=True) for n in range(60)])
    return path


# ---- games-db ----


def test_list(db: Path) -> None:
    shown = good("games-db", "list", db, "--event", "cup")
    assert "mcts(simulations=9) 0" in shown and "1 of 1 games" in shown
    assert "30 of 61 games; --most 0 shows all" in good("games-db", "list", db)
    found = good_json("games-db", "list", db, "--game", "nim*", "--most", 2)
    assert found["games"] == 20 and len(found["shown"]) == 2
    assert found["shown"][0]["rules"] == "nim(heaps=(2, 2), players=3)"
    assert len(found["shown"][0]["agents"]) == 3
    assert good_json("games-db", "list", db, "--agent", "mcts*", "--seat", 0, "--result", "draw")["games"] >= 1


def test_stats(db: Path) -> None:
    found = good_json("games-db", "stats", db, "--crosstable")
    assert found["games"] == 61 and found["events"] == {"cup": 1, "more": 60}
    assert found["rules"]["nim(heaps=(2, 2), players=3)"]["games"] == 20
    assert sum(agent["games"] for agent in found["agents"]) == 21 * 2 + 20 * 3 + 20
    assert sum(pair["games"] for pair in found["crosstable"]) == 21 * 2 + 20 * 6
    shown = good("games-db", "stats", db, "--crosstable", "--event", "cup")
    assert "1 game  1 played to the end" in shown and "50.0 %" in shown and "0.5/1" in shown
    assert "0 games" in good("games-db", "stats", db, "--event", "none")


def test_tree(db: Path) -> None:
    found = good_json("games-db", "tree", db, "--game", "tic_tac_toe", "--depth", 2)
    assert sum(move["games"] for move in found["moves"]) == 21
    for move in found["moves"]:
        assert sum(reply["games"] for reply in move["replies"]) == move["games"]
    shown = good("games-db", "tree", db, "--game", "tic_tac_toe", "--moves", "b2 a1", "--event", "cup")
    assert "after b2 a1" in shown and "100.0 %" in shown and "b1" in shown
    assert "mean score" in good("games-db", "tree", db, "--game", "2048(size=2)", "--depth", 3)
    assert "no game of othello" in good("games-db", "tree", db, "--game", "othello")
    assert "name a game, as in --game" in bad("games-db", "tree", db)


@pytest.mark.parametrize("format", ["jsonl", "sgf", "pgn"])
def test_out_and_in_again(db: Path, format: str, tmp_path: Path) -> None:
    file, other = tmp_path / f"all.{format}", tmp_path / "other.db"
    assert good_json("games-db", "export", db, file) == {"file": str(file), "games": 61}
    assert good_json("games-db", "import", other, file) == {"database": str(other), "read": 61, "new": 61}
    assert "0 of 61 games stored" in good("games-db", "import", other, file)
    with Store(db) as one, Store(other) as two:
        for a, b in zip(one.results(), two.results(), strict=True):
            assert a == b
    printed = good("games-db", "export", db, "-", "--format", format, "--event", "cup")
    (tmp_path / f"one.{format}").write_text(printed)
    assert list(formats.read(tmp_path / f"one.{format}")) == [drawn()]


def test_a_table_of_moves_for_spreadsheets(tmp_path: Path) -> None:
    """One row per move, whatever quotes and commas a name has; values and scores are the mover's."""
    path, db = tmp_path / "moves.csv", tmp_path / "games.db"
    game = drawn()
    task = replace(game.task, event='the "old", cup', opening=())
    with Store(db) as store:
        store.add(
            [replace(game, task=task, moves=game.moves[:3], notes=game.notes[:3], scores=(2.0, -1.0), ending="cap")]
        )
        store.add([RandomGames("2048(size=2)").record(0, event="luck", full=True)])
    assert good_json("games-db", "export", db, path) == {"file": str(path), "games": 2}
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    mine = [row for row in rows if row["event"] == 'the "old", cup']
    assert [row["move"] for row in mine] == ["b2", "a1", "b1"]
    assert mine[1] == {
        "event": 'the "old", cup', "number": "0", "game": "tic_tac_toe", "position": "", "ply": "2", "seat": "1",
        "agent": "random", "move": "a1", "value": "-0.1", "seconds": "1.5", "score": "-1.0",
    }  # fmt: skip
    chance = [row for row in rows if row["event"] == "luck" and not row["seat"]]
    assert chance and all(row["agent"] == row["value"] == row["score"] == "" and row["move"] for row in chance)
    assert "for that, export them as .jsonl" in bad("games-db", "import", tmp_path / "other.db", path)


def test_import_of_many_files_is_all_or_nothing(tmp_path: Path) -> None:
    fine, wrong = tmp_path / "fine.sgf", tmp_path / "wrong.sgf"
    fine.write_text("(;GM[2]PB[x]PW[y];B[d3];W[c3])")
    wrong.write_text("(;GM[2];B[d3]\n;W[a1])")
    new = tmp_path / "new.db"
    assert f"{wrong}, line 2: ply 2, move 'a1': 'a1' is not legal here" in bad("games-db", "import", new, fine, wrong)
    assert not new.exists()
    good("games-db", "import", new, fine)
    assert good_json("games-db", "list", new)["shown"][0]["event"] == "fine"
    before = new.read_bytes()
    bad("games-db", "import", new, fine, wrong, "--event", "again")
    assert new.read_bytes() == before
    good("games-db", "import", new, fine, "--event", "again")
    assert good_json("games-db", "stats", new)["events"] == {"fine": 1, "again": 1}


def test_mistakes(db: Path, tmp_path: Path) -> None:
    assert "there is no games database" in bad("games-db", "list", tmp_path / "none.db")
    assert "name a format" in bad("games-db", "export", db, "-")
    assert "result='won': choose from win, draw, loss" in bad(
        "games-db", "list", db, "--result", "won", "--agent", "random"
    )
    assert "does not end in one of .jsonl" in bad("games-db", "export", db, tmp_path / "x.txt")
    assert "there is no file" in bad("games-db", "import", db, tmp_path / "x.sgf")
    assert "is a folder; name a file of games in it" in bad("games-db", "import", db, tmp_path)
    kept = tmp_path / "kept.sgf"
    kept.write_text("full")
    assert "no matching games in" in bad("games-db", "export", db, kept, "--event", "none")
    assert kept.read_text() == "full"


# ---- replay ----


def test_replay_shows_every_position_with_values_and_times(db: Path) -> None:
    shown = good("replay", db)
    for ply in range(10):
        assert f"ply {ply} of 9" in shown
    assert "mcts(simulations=9)" in shown
    assert "value -0.100   1.50 s" in shown  # the second move, as its mover saw it
    assert shown.count("opening") == 2
    assert "game over: a draw" in shown


def test_replay_of_one_position_with_an_opinion(db: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.sgf"
    formats.write([drawn(1), drawn(2)], file)
    for source in ((db,), (file, "--game", 2)):
        shown = good("replay", *source, "--ply", 8, "--analyse", "mcts(simulations=50)")
        assert "ply 8 of 9" in shown and "ply 7" not in shown
        assert "played: c3, number 1 of its choices" in shown
    found = good_json("replay", db, "--analyse", "mcts(simulations=20)")
    assert [p["move"] for p in found["positions"]][1:] == LINE.split()
    assert found["positions"][3]["value"] == [0.2, -0.2] and found["positions"][3]["seconds"] == 2.5
    assert "opinion" in found["positions"][0] and "opinion" not in found["positions"][9]
    assert found["agents"] == ["mcts(simulations=9)", "random"]


def test_a_move_drawn_by_chance_is_marked_in_the_record(tmp_path: Path) -> None:
    db = tmp_path / "games.db"
    agents = "champion(level=1, seed=1)", "champion(seed=1)"
    good("match", "tic_tac_toe", *agents, "--games", 2, "--workers", 0, "--notes", "analyses", "--db", db)
    with Store(db) as store:
        record = next(store.games())
    assert all(note.analysis for note in record.notes)  # or what follows would say nothing
    said = [note.analysis.get("random", False) for note in record.notes if note.analysis]
    assert any(said[0::2]) and not any(said[1::2])  # by the weaker one alone
    assert good("replay", db, "--game", 1).count("a random move") == said.count(True)


def test_replay_by_commands(db: Path) -> None:
    shown = good("replay", db, "--step", input="next\n\nback\nend\nn\nstart\ngoto 4\n7\ngoto 99\nhlep\nhelp\nq\nnext\n")
    plies = [line.split()[1] for line in shown.splitlines() if line.strip().startswith("ply ")]
    assert plies == ["0", "1", "2", "1", "9", "0", "4", "7"]
    assert "this is the last position" in shown
    assert "the game has 9 plies" in shown
    assert "did you mean 'help'" in shown
    assert good("replay", db, "--step", input="analyse\n").count("of its choices") == 1


def test_replay_of_games_with_chance_and_three_seats(db: Path) -> None:
    assert "chance" in good("replay", db, "--game", 4)
    assert "player 3" in good("replay", db, "--game", 3)


def test_replay_mistakes(db: Path, tmp_path: Path) -> None:
    assert "there is no file" in bad("replay", tmp_path / "none.sgf")
    assert "--game 99" in bad("replay", db, "--game", 99)
    assert "--ply 10: the game has 9 plies" in bad("replay", db, "--ply", 10)
    assert "name an agent that searches" in bad("replay", db, "--analyse", "human")
    file = tmp_path / "x.pgn"
    formats.write([drawn()], file)
    assert "--game 2: " in bad("replay", file, "--game", 2)
    file.write_text(file.read_text().replace("2. b1", "2. b2"))
    line = next(n for n, text in enumerate(file.read_text().splitlines(), 1) if "2. b2" in text)
    assert f"line {line}: ply 3, move 'b2'" in bad("replay", file)
