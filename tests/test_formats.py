"""Files of games: what is written is read back whole, other programs read it, and bad files change nothing."""

# ruff: noqa: RUF001 - KIF has full-width digits and colons

from __future__ import annotations

import csv
import io
import json
import math
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from meijin.arena import formats
from meijin.arena.formats import FormatError
from meijin.arena.record import GameRecord, MoveNote, Task
from meijin.arena.stepper import Stepper
from meijin.arena.store import Store
from meijin.core.agent import Limit
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, IllegalMove, MeijinError
from meijin.core.state import State
from records import RandomGames

#: Chance, one to three seats, passes, swaps, handicap, boards that are no squares, moves from cell to cell.
GAMES = (
    "tic_tac_toe",
    "connect_four(width=5, height=4)",
    "go(size=5)",
    "go(handicap=3)",
    "othello(size=4)",
    "hex(size=4, swap=True)",
    "gomoku(size=6)",
    "2048(size=2)",
    "einstein",
    "nim(heaps=(3, 4, 5), players=3)",
    "sim(players=3)",
    "yavalath",
    "breakthrough(rows=5, columns=4)",
    "minishogi(max_plies=60)",
)
MINISHOGI = ("minishogi", *["minishogi(max_plies=60)"] * 9)
#: What a format for one game can hold.
ONLY = {"usi": MINISHOGI, "kif": MINISHOGI, "csa": MINISHOGI, "ggf": ("othello", *["othello(size=4)"] * 9)}


def random_records(format: str, count: int) -> list[GameRecord]:
    names = ONLY.get(format, GAMES)
    games = [RandomGames(name) for name in names]
    # Whole analyses have no place in the PGN-like format.
    return [games[n % len(games)].record(n, analyses=format != "pgn") for n in range(count)]


# ---- round trips ----


@pytest.mark.parametrize("count", [50, pytest.param(2000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("format", formats.READABLE)
def test_round_trip(format: str, count: int, tmp_path: Path) -> None:
    records = random_records(format, count)
    path = tmp_path / f"games.{format}"
    assert formats.write(records, path) == count
    assert list(formats.read(path)) == records


def from_a_position(name: str, plies: int = 3) -> GameRecord:
    """A game that began from a position, one that is reached after so many plies."""
    rng, game = random.Random(name), make(name)
    before = RandomGames(name).record(1, full=True)
    state = State(game).play_line(before.moves[:plies])
    state = State.from_position(game, position := state.position)
    while not state.is_over and len(state.history) < 30:
        state.play(rng.choice(state.legal_moves))
    task, moves = replace(before.task, opening=(), position=position), tuple(map(int, state.history))
    ending = "rules" if state.is_over else "cap"
    return GameRecord(task, moves, state.scores, ending, notes=(MoveNote(0.5),) * len(moves))


@pytest.mark.parametrize("format", ["jsonl", "sgf", "pgn", "ggf", "usi"])
def test_games_from_a_position(format: str, tmp_path: Path) -> None:
    names = dict.fromkeys(ONLY.get(format, GAMES))
    records = [from_a_position(name, 0 if name.startswith("2048") else 3) for name in names]  # its score is no position
    path = tmp_path / f"games.{format}"
    formats.write(records, path)
    assert list(formats.read(path)) == records
    with path.open("a") as file:  # read side by side with games from the start
        file.write("\n")
        formats.write_to([whole := RandomGames(records[0].task.game).record(2, analyses=False)], file, format)
    assert list(formats.read(path)) == [*records, whole]


def test_a_position_as_usi_writes_it(tmp_path: Path) -> None:
    record = GameRecord(Task("minishogi", ("a", "b"), position=" sfen  4k/5/R4/5/4K b -"), (), (0.0, 0.0), "cap")
    formats.write([record], tmp_path / "x.usi")
    assert "position sfen 4k/5/R4/5/4K b - 1\n" in (tmp_path / "x.usi").read_text()
    assert list(formats.read(tmp_path / "x.usi")) == [record]


def test_a_table_of_moves_names_the_position() -> None:
    record = from_a_position("minishogi")
    formats.write_to([record], file := io.StringIO(), "csv")
    rows = list(csv.DictReader(file.getvalue().splitlines()))
    assert [row["position"] for row in rows] == [record.task.position] * record.plies


def test_what_cannot_hold_a_game_from_a_position_says_so(tmp_path: Path) -> None:
    record = from_a_position("minishogi")
    for format in ("kif", "csa"):
        with pytest.raises(BadParameter, match=r"files hold games from the start, .* write usi, jsonl, sgf or pgn"):
            formats.write([record], tmp_path / f"x.{format}")
    with pytest.raises(BadParameter, match=r"a database holds games from the start, .*\.jsonl"):
        Store(tmp_path / "x.db").add([record])


def test_through_the_store_and_back(tmp_path: Path) -> None:
    records = random_records("jsonl", 60)
    store = Store(tmp_path / "a.db")
    store.add(records)
    formats.write(store.games(), tmp_path / "all.jsonl")
    other = Store(tmp_path / "b.db")
    assert other.add(formats.read(tmp_path / "all.jsonl")) == 60
    assert other.add(formats.read(tmp_path / "all.jsonl")) == 0
    assert list(other.games()) == list(store.games()) == records


@pytest.mark.parametrize("format", formats.READABLE)
def test_no_moves_and_numbers_json_does_not_have(format: str, tmp_path: Path) -> None:
    task = Task("othello(size=4)" if format == "ggf" else "minishogi", ("a", "b"))
    records = [
        GameRecord(task, (), (float("inf"), float("-inf")), "judged", reason="it was late"),
        GameRecord(replace(task, limits=(Limit(math.inf), Limit(1.5, 100))), (), (0.0, 0.0), "cap"),
        GameRecord(
            task, (1 if format == "ggf" else 1656,), (0.0, 0.0), "cap", notes=(MoveNote(1e-300, (float("inf"), 1 / 3)),)
        ),
    ]
    path = tmp_path / f"x.{format}"
    formats.write(records, path)
    assert list(formats.read(path)) == records


def test_games_without_an_event_go_under_one() -> None:
    one = RandomGames("tic_tac_toe").record(5, event="")
    other = RandomGames("tic_tac_toe").record(6, event="cup")
    under = list(formats.under("file", [one, other, one]))
    assert [(r.task.event, r.task.number) for r in under] == [("file", 0), ("cup", 6), ("file", 1)]
    assert under[0].moves == one.moves


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    good = RandomGames("tic_tac_toe").record(1)
    path = tmp_path / "x.sgf"
    path.write_text("old")
    with pytest.raises(MeijinError, match="is not legal"):
        formats.write([good, replace(good, moves=(0, 0))], path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(BadParameter, match="for minishogi, not for tic_tac_toe"):
        formats.write([good], tmp_path / "x.usi")
    with pytest.raises(BadParameter, match=r"does not end in one of \.jsonl"):
        formats.write([good], tmp_path / "x.txt")
    with pytest.raises(BadParameter, match="unknown format 'sfg'; did you mean 'sgf'"):
        formats.write([good], path, "sfg")
    with pytest.raises(MeijinError, match="no file"):
        formats.read(tmp_path / "none.sgf")
    with pytest.raises(MeijinError, match="File name too long"):
        formats.read(tmp_path / f"{'x' * 5000}.sgf")


# ---- other programs read them ----


def test_sgfmill_opens_every_game(tmp_path: Path) -> None:
    sgf = pytest.importorskip("sgfmill.sgf")
    grammar = pytest.importorskip("sgfmill.sgf_grammar")
    records = random_records("sgf", 140)
    formats.write(records, tmp_path / "x.sgf")
    trees = grammar.parse_sgf_collection((tmp_path / "x.sgf").read_bytes())
    assert len(trees) == len(records)
    for tree, record in zip(trees, records, strict=True):
        game = sgf.Sgf_game.from_coarse_game_tree(tree)
        assert game.get_charset() == "UTF-8"
        assert game.get_root().get("PB") == record.task.agents[0]
        assert len(game.get_main_sequence()) == record.plies + 1
        grid = make(record.task.game).board.grid
        if grid is not None and grid[0] == grid[1]:
            assert game.get_size() == grid[0]


@pytest.mark.parametrize("name", ["go(size=5)", "go", "go(handicap=4)"])
def test_sgfmill_plays_go_to_the_same_board(name: str, tmp_path: Path) -> None:
    sgf, moves = pytest.importorskip("sgfmill.sgf"), pytest.importorskip("sgfmill.sgf_moves")
    games = RandomGames(name)
    for number in range(20):
        record = games.record(number, full=True)
        formats.write([record], tmp_path / "x.sgf")
        game = sgf.Sgf_game.from_bytes((tmp_path / "x.sgf").read_bytes())
        board, plays = moves.get_setup_and_moves(game)
        for colour, move in plays:
            if move is not None:
                board.play(*move, colour)
        size = board.side
        cells = [{None: 0, "b": 1, "w": 2}[board.get(size - 1 - k // size, k % size)] for k in range(size * size)]
        state = State(make(name)).play_line(record.moves)
        assert tuple(cells) == state.cells
        assert game.get_komi() == make(name).params["komi"]
        assert {"b": (1.0, -1.0), "w": (-1.0, 1.0)}[game.get_winner()] == record.scores
        lead = board.area_score() - make(name).params["komi"] - make(name).params["handicap"]
        assert game.get_root().get("RE") == f"{'B' if lead > 0 else 'W'}+{abs(lead):g}"


@pytest.mark.parametrize("name", ["go(size=5)", "go(handicap=3)"])
def test_sgfmill_shows_the_position_where_a_game_begins(name: str, tmp_path: Path) -> None:
    sgf, moves = pytest.importorskip("sgfmill.sgf"), pytest.importorskip("sgfmill.sgf_moves")
    record = from_a_position(name, 5)
    formats.write([record], tmp_path / "x.sgf")
    game = sgf.Sgf_game.from_bytes((tmp_path / "x.sgf").read_bytes())
    board, _ = moves.get_setup_and_moves(game)
    state = State.from_position(make(name), record.task.position)
    size = board.side
    cells = [{None: 0, "b": 1, "w": 2}[board.get(size - 1 - k // size, k % size)] for k in range(size * size)]
    assert tuple(cells) == state.cells and game.get_root().get("PL") == "bw"[state.turn]


def test_the_stones_of_a_position_in_sgf(tmp_path: Path) -> None:
    for name, position, stones in (
        ("othello(size=4)", "-X---XX--XO----- X", "AB[ba][bb][cb][bc]AW[cc]"),
        ("hex(size=4)", "X3/4/2O1/4 0", "AB[a1]AW[c3]PL[B]"),
    ):
        task = Task(name, ("a", "b"), position=position)
        formats.write([GameRecord(task, (), (0.0, 0.0), "cap")], tmp_path / "x.sgf")
        assert stones in (tmp_path / "x.sgf").read_text()


def test_sgfmills_own_files_are_read(tmp_path: Path) -> None:
    sgf = pytest.importorskip("sgfmill.sgf")
    games = RandomGames("go")
    for number in range(10):
        record = games.record(number, full=True)
        game = sgf.Sgf_game(size=9)
        game.get_root().set("KM", 7.5)
        game.get_root().set("PB", "Honinbō")
        for ply, move in enumerate(record.moves):
            where = None if move == 81 else (8 - move // 9, move % 9)
            game.extend_main_sequence().set_move("bw"[ply % 2], where)
        (tmp_path / "x.sgf").write_bytes(game.serialise())
        (found,) = formats.read(tmp_path / "x.sgf")
        assert (found.moves, found.scores, found.ending) == (record.moves, record.scores, "rules")
        assert found.task.game == "go"
        assert found.task.agents == ("Honinbō", "?")


# ---- files of other programs ----


def read_text(tmp_path: Path, text: str, format: str = "sgf") -> list[GameRecord]:
    path = tmp_path / f"foreign.{format}"
    path.write_text(text, encoding="utf-8")
    return list(formats.read(path))


def test_foreign_go_with_variations_and_resignation(tmp_path: Path) -> None:
    text = """(;GM[1]FF[4]SZ[9]KM[6.5]PB[Black \\] stone]PW[White]RE[W+Resign]DT[1998-03-04]EV[Cup]
        ;B[ee]C[a (comment) with ; and \\] in it];W[gc](;B[cg];W[]
        (;B[gg])(;B[aa]))(;B[dd];W[ff]))"""
    (game,) = read_text(tmp_path, text)
    assert [str(move) for move in State.parse(f"{game.task.game}").play_line(game.moves).history] == [
        "e5", "g7", "c3", "pass", "g3",
    ]  # fmt: skip
    assert game.task.game == "go(komi=6.5)"
    assert game.task.agents == ("Black ] stone", "White")
    assert (game.scores, game.ending, game.forfeit) == ((-1.0, 1.0), "forfeit", 0)
    assert game.began == "1998-03-04"
    assert game.headers["EV"] == "Cup"


def test_foreign_go_that_needs_other_rules(tmp_path: Path) -> None:
    games, kinds = RandomGames('go(size=3, superko="simple", suicide=True)'), set()
    for number in range(150):
        record = games.record(number, full=True)
        points = ["" if move == 9 else "abc"[move % 3] + "abc"[move // 3] for move in record.moves]
        body = "".join(f";{'BW'[ply % 2]}[{point}]" for ply, point in enumerate(points))
        (game,) = read_text(tmp_path, f"(;GM[1]SZ[3]{body})")
        assert game.moves == record.moves
        kinds.add(game.task.game)
    simple = 'go(size=3, superko="simple"'
    assert {"go(size=3)", f"{simple})", f"{simple}, suicide=True)"} <= kinds


def test_foreign_go_counted_by_hand(tmp_path: Path) -> None:
    (game,) = read_text(tmp_path, "(;GM[1]SZ[5]KM[0.5]RU[Japanese]RE[W+3.5];B[cc];W[])")
    assert game.task.game == 'go(size=5, komi=0.5, scoring="territory")'
    assert (game.ending, game.reason, game.scores) == ("judged", "RE[W+3.5]", (-1.0, 1.0))


def test_foreign_handicap(tmp_path: Path) -> None:
    text = "(;GM[1]SZ[9]HA[2]KM[0.5]AB[gc][cg]PB[a]PW[b];W[ee];B[gg])"
    (game,) = read_text(tmp_path, text)
    assert game.task.game == "go(komi=0.5, handicap=2)"
    assert (game.ending, game.reason) == ("cap", "no result in the file")
    with pytest.raises(FormatError, match="line 1: AB: set-up stones are not supported"):
        read_text(tmp_path, text.replace("[gc]", "[aa]"))
    with pytest.raises(FormatError, match="line 2: AW: set-up stones are not supported"):
        read_text(tmp_path, "(;GM[2]\n;AW[aa];B[d3])")


def test_foreign_othello_without_passes_and_with_either_notation(tmp_path: Path) -> None:
    games, found = RandomGames("othello(size=4)"), 0
    for number in range(60):
        record = games.record(number, full=True)
        plies = [(turn, str(move)) for turn, move in Stepper(make("othello(size=4)")).line(record.moves)]
        found += any(move == "pass" for _, move in plies)
        body = "".join(f";{'BW'[turn]}[{move}]" for turn, move in plies if move != "pass")
        (game,) = read_text(tmp_path, f"(;GM[2]SZ[4]{body})")
        end = len(record.moves) - next((k for k, (_, m) in enumerate(reversed(plies)) if m != "pass"), 0)
        assert game.moves == record.moves[:end]
        if end == len(record.moves):
            assert (game.ending, game.scores) == ("rules", record.scores)
    assert found  # such games are frequent on a small board


def test_foreign_hex(tmp_path: Path) -> None:
    text = "(;FF[4]GM[11]SZ[11]PB[hexer]PW[wolve];B[A10];W[swap-pieces];B[f6];W[resign])"
    (game,) = read_text(tmp_path, text)
    assert game.task.game == "hex(swap=True)"
    assert (game.scores, game.ending, game.forfeit) == ((1.0, -1.0), "forfeit", 1)
    assert State.parse(game.task.game).play_line(game.moves).history[1].name == "swap"


def test_foreign_minishogi(tmp_path: Path) -> None:
    line = "position startpos moves 3e3d 2a3b"
    (game,) = read_text(tmp_path, line + "\n", "usi")
    assert (game.task.game, game.ending, game.plies) == ("minishogi", "cap", 2)
    assert read_text(tmp_path, line.replace("startpos", "sfen rbsgk/4p/5/P4/KGSBR b - 1"), "usi") == [game]
    (other,) = read_text(tmp_path, line.replace("startpos", "sfen rbsgk/4p/5/P4/KGSR1 b B 1"), "usi")
    assert other.task.position == "rbsgk/4p/5/P4/KGSR1 b B 1" and other.moves == game.moves
    with pytest.raises(FormatError, match=r"line 1: .*this position cannot be set up"):
        read_text(tmp_path, "sfen 5/5/5/P4/KGSR1 b - 1", "usi")
    kif = (
        "手合割：5五将棋\n先手：羽生\n手数----指手--\n   1 ３四銀(35)\n   2 ３二金(21)   ( 0:03/00:00:03)\n   3 投了\n"
    )
    (game,) = read_text(tmp_path, kif, "kif")
    assert (game.task.agents, game.forfeit, game.scores) == (("羽生", "?"), 0, (-1.0, 1.0))
    assert [m.name for m in State(make("minishogi")).play_line(game.moves).history] == ["3e3d", "2a3b"]


def test_foreign_minishogi_in_csa(tmp_path: Path) -> None:
    text = """V2.2
N+Habu
N-Watanabe, A.
$EVENT:Cup
P1-HI-KA-GI-KI-OU
P2 *  *  *  * -FU
P3 *  *  *  *  *
P4+FU *  *  *  *
P5+OU+KI+GI+KA+HI
+
+2543KA,T3
-3122GI
T12
+4321UM
-1121OU
+0033KI
%TORYO
"""
    (game,) = read_text(tmp_path, text, "csa")
    names = [m.name for m in State(make("minishogi")).play_line(game.moves).history]
    assert names == ["2e4c", "3a2b", "4c2a+", "1a2a", "G*3c"]
    assert game.task.agents == ("Habu", "Watanabe, A.")
    assert (game.forfeit, game.reason, game.scores) == (1, "resigned", (1.0, -1.0))
    assert [note.seconds for note in game.notes] == [3.0, 12.0, None, None, None]
    with pytest.raises(FormatError, match=r"line 1: .*only games from the start of minishogi"):
        read_text(tmp_path, "P1-HI-KA-GI-KI * \n", "csa")


def test_foreign_othello_in_ggf(tmp_path: Path) -> None:
    """As the Generic Game Server keeps games, with evaluations and times."""
    start = "8 ---------------------------O*------*O--------------------------- *"
    text = f"""1 (;GM[Othello]PC[GGS/os]DT[2002.01.11_15:44:09.EST]PB[logtest]PW[mpc]RB[2700.1]RW[2648.3]
TI[05:00//02:00]TY[8]RE[-12.000:r]BO[{start}]B[d3//1.50]W[c5/-2.10/0.30]B[D6];)"""
    (game,) = read_text(tmp_path, text, "ggf")
    assert game.task.agents == ("logtest", "mpc") and game.headers["RB"] == "2700.1"
    assert (game.forfeit, game.reason, game.scores) == (0, "resigned", (-1.0, 1.0))
    assert [note.seconds for note in game.notes] == [1.5, 0.3, None]
    record = RandomGames("othello").record(3, full=True)
    formats.write([replace(record, task=replace(record.task, agents=("a [b]", "c")))], tmp_path / "own.ggf")
    written = (tmp_path / "own.ggf").read_text()
    discs = State(make("othello")).play_line(record.moves).tallies["discs"]
    assert "PB[a (b)]PW[c]" in written and f"RE[{discs[0] - discs[1]:+.3f}]" in written


# ---- errors name the file, the line, the ply and the move ----


def test_errors_say_where(tmp_path: Path) -> None:
    games = RandomGames("tic_tac_toe", seed=1)
    records = [replace(games.record(n, full=True), notes=()) for n in range(3)]
    names = [[move.name for _, move in games.walk.line(record.moves)] for record in records]
    one, two = names[1][:2]

    def error(format: str, old: str, new: str, number: int = 0) -> str:
        """That of reading three games, in one of which a text was replaced."""
        path = tmp_path / f"bad.{format}"
        texts = []
        for record in records:
            formats.write([record], path)
            texts.append(path.read_text())
        assert old in texts[number]
        texts[number] = texts[number].replace(old, new, 1)
        path.write_text("".join(texts))
        with pytest.raises(FormatError) as raised:
            list(formats.read(path))
        return str(raised.value).replace(str(path), "bad")

    twice = error("jsonl", f'["{one}","{two}"', f'["{one}","{one}"', 1)
    assert twice.startswith(f"bad, line 2: ply 2, move '{one}': '{one}' is not legal here; legal: ")
    assert "ply 2, move 'zz': 'zz' is not a move" in error("pgn", f"1. {one} {two}", f"1. {one} zz", 1)
    assert "ply 2" in (turn := error("sgf", f";B[{one}];W[{two}]", f";B[{one}];B[{two}]", 1))
    assert turn.startswith("bad, line 4: ")
    assert turn.endswith("it is the turn of O, and the file gives the move to another")
    scores = json.dumps(list(records[2].scores), separators=(",", ":"))
    assert "line 3: scores [0.25, 0.5]; by the rules they are" in error("jsonl", scores, "[0.25,0.5]", 2)
    assert error("jsonl", '"rules"', '"boredom"') == (
        "bad, line 1: ending = 'boredom': choose from cap, forfeit, judged, rules"
    )
    assert "unknown key 'agnets'; did you mean 'agents'" in error("jsonl", '"agents"', '"agnets"')
    assert "unknown game 'tic_tac_tow'" in error("jsonl", "tic_tac_toe", "tic_tac_tow")
    cut = error("jsonl", f',"{names[2][-1]}"]', "]", 2)
    assert cut.startswith("bad, line 3: the file says that the rules ended the game, but tic_tac_toe is not over")
    assert "3 agents for the 2 seats" in error("jsonl", '"agents":[', '"agents":["x",')


# ---- hostile and truncated files ----


def hostile() -> Iterator[tuple[str, str]]:
    """(format, text) of files that nobody wrote in good faith."""
    deep = 200_000
    yield "jsonl", "[" * deep
    yield "jsonl", '{"game":' * deep
    yield "jsonl", '{"seed": ' + "9" * 100_000 + "}"
    yield "jsonl", '{"game": "tic_tac_toe", "agents": ["a", "b"], "scores": [NaN, 1], "ending": "rules", "moves": []}'
    yield "jsonl", '{"game": "go(size=1000000)", "agents": ["a", "b"], "scores": [0, 0], "ending": "cap", "moves": []}'
    yield "jsonl", '{"game": "' + "(" * 5000 + '", "agents": [], "scores": [], "ending": "cap", "moves": []}'
    yield "jsonl", '{"game": "tic_tac_toe", "agents": ["\\ud800", "b"], "scores": [0, 0], "ending": "cap", "moves": []}'
    yield "jsonl", '{"game": "nim", "agents": ["a", "b"], "scores": [1e999, 0], "ending": "cap", "moves": []}'
    yield "jsonl", '{"game": "nim", "agents": ["a", "b"], "scores": [0, 0], "ending": "cap", "moves": [99999999999]}'
    yield "jsonl", '{"game": "nim", "agents": ["a", "b"], "scores": [0, 0], "ending": "cap", "moves": [], "opening": 3}'
    for game in (
        "go(komi=" + "9" * 400 + ")",
        "go(size=1000000000)",
        "go(size=-1)",
        'go(size=\\"\\\\ud800\\")',
        "go(5, 6, 7, 8, 9)",
    ):
        yield "jsonl", f'{{"game": "{game}", "agents": ["a", "b"], "scores": [0, 0], "ending": "cap", "moves": []}}'
    for moves in ("[-1]", "[0, 0]", "[4294967296]", "[" + "9" * 77 + "]", "[true]", "[1.5]", "[null]", "{}"):
        yield "jsonl", f'{{"game": "nim", "agents": ["a", "b"], "scores": [0, 0], "ending": "cap", "moves": {moves}}}'
    for field in (
        '"forfeit": 2',
        '"forfeit": -1',
        '"seed": ' + "9" * 77,
        '"limits": [{"depth": 0}]',
        '"round": -1',
        '"seed": 1.5',
    ):
        yield (
            "jsonl",
            f'{{"game": "nim", "agents": ["a", "b"], "scores": [0, 0], "ending": "cap", "moves": [], {field}}}',
        )
    yield "jsonl", '{"game": "\\ud800", "agents": [], "scores": [], "ending": "cap", "moves": []}'
    yield "usi", '# {"game": "minishogi(\\udc00)"}\nposition startpos\n'
    yield "pgn", '[Game "tic_tac_toe"]\n[Seat0 "\\ud800"]\n[Seat1 "b"]\n[Scores "0 0"]\n[Ending "cap"]\n\n*\n'
    yield "kif", '手数----\n# {"game": "\\ud800"}\n'
    for bare in ("MJ", "GM", "SZ", "KM", "RE", "PB", "DT", "B", "B[aa]B", "AB"):  # properties without a value
        yield "sgf", f"(;GM[1]SZ[5]{bare};B[aa])"
        yield "sgf", f"(;GM[1]SZ[5];B[aa]{bare})"
    yield "sgf", '(;MJ[{"game":"tic_tac_toe","agents":["a","b"],"scores":[0,0],"ending":"cap"}];B[b2]MN)'
    yield "sgf", '(;MJ[{"game":"nim(players=3)","agents":["a","b","c"],"scores":[0,0,0],"ending":"cap"}];MV[7:1])'
    yield "sgf", "(;" * deep
    yield "sgf", "(;GM[1]" + "(;B[aa]" * deep
    yield "sgf", "(;GM[1]SZ[" + "9" * 100_000 + "])"
    yield "sgf", "(;GM[1]SZ[999])"
    yield "sgf", "(;GM[7];B[aa])"
    yield "sgf", "(;GM[1]KM[1e400])"
    yield "sgf", "(;GM[1]KM[nan];B[aa])"
    yield "sgf", "(;GM[1];B" + "[aa]" * 1000 + ")"
    yield "sgf", "(;B[" + "\\" * 100_001
    yield "sgf", "(;MJ[{}])"
    yield "sgf", "(;MJ[" + "[" * 10_000 + "])"
    yield "sgf", "not a game at all"
    yield "pgn", '[Game "tic_tac_toe"]\n\n1. b2 {' + "x" * 100_000
    yield "pgn", '[Game "tic_tac_toe"]\n[Limits "' + "[" * 10_000 + '"]\n\n*\n'
    yield "pgn", '[Game "tic_tac_toe"]\n[Seat0 "a"]\n[Seat2 "b"]\n\n*\n'
    yield "pgn", '[Scores "one two"]\n\n*\n'
    yield "pgn", "1. e4 e5 *\n"
    yield "usi", "position startpos moves " + "7g7f " * 10_000
    yield "usi", "# " + '{"a":' * deep
    yield "usi", "go infinite\n"
    yield "kif", "手数----\n   1 同　銀(35)\n"
    yield "kif", "手数----\n   9 ３四銀(35)\n"
    yield "kif", "???\n"
    yield "csa", "+\n+3534GI\n+3433GI\n"
    yield "csa", "+\n+9998XX\n"
    yield "csa", "P1-KY-KE\n"
    yield "csa", "'MJ [\n+\n"
    yield "csa", "+\n+0033OU\n"
    yield "ggf", "(;GM[Othello]" + "B[D3]" * deep
    yield "ggf", "(;GM[Othello]BO[8 - *];)"
    yield "ggf", "(;GM[Othello]BO[99999999 - *];)"
    yield "ggf", "(;GM[Othello]BO[4 -----O*--*O----- *]B[A1];)"
    yield "ggf", "(;GM[Othello]BO[4 -----O*--*O----- *]MN[{}];)"
    yield "ggf", "(;GM[Othello]BO[4 -----O*--*O----- *]MJ[%FF];)"
    yield "ggf", "(;GM[Othello]BO[4 -----OO--*O----- *];)"
    yield "ggf", "(;GM[Chess]BO[8 x x];)"
    for format in formats.READABLE:
        yield format, "\0" * 1000


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Store]:
    """A store that must stay as it is, whatever is imported."""
    store = Store(tmp_path / "guarded.db")
    store.add([RandomGames("tic_tac_toe").record(number) for number in range(3)])
    before = list(store.games())
    yield store
    assert list(store.games()) == before
    assert [event.name for event in store.events()] == ["cup"]


def test_hostile_files_change_nothing(tmp_path: Path, guarded: Store) -> None:
    for format, text in hostile():
        path = tmp_path / f"hostile.{format}"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(FormatError, match=r"hostile\.\w+, line \d+: ") as error:
            guarded.add(formats.under("hostile", formats.read(path)))
        str(error.value).encode()  # can be printed


@pytest.mark.parametrize("change", [{"moves": (0, 0)}, {"moves": (-1,)}, {"moves": (1 << 40,)}, {"moves": (5,) * 99}])
def test_records_of_a_database_are_replayed_before_they_are_used(change: dict[str, Any]) -> None:
    good = RandomGames("nim").record(1, full=True)
    assert list(formats.verified([good])) == [good]
    with pytest.raises(IllegalMove, match="game 1 of 'cup'"):
        list(formats.verified([good, replace(good, **change)]))


@pytest.mark.parametrize("format", formats.READABLE)
@pytest.mark.parametrize("cuts", [100, pytest.param(250, marks=pytest.mark.soak)])
def test_files_cut_anywhere_and_random_bytes(format: str, cuts: int, tmp_path: Path, guarded: Store) -> None:
    """A cut file gives an error with its line, or the whole games before the cut; garbage never anything else."""
    names = ONLY[format][1:2] if format in ONLY else ("tic_tac_toe", "2048(size=2)", "go(size=5)")
    games = [RandomGames(name, seed=3) for name in names]
    records = [games[n % len(games)].record(n, analyses=format != "pgn", full=True) for n in range(4)]
    path = tmp_path / f"whole.{format}"
    formats.write(records, path)
    whole, rng = path.read_bytes(), random.Random(format)
    torn = tmp_path / f"torn.{format}"
    errors = 0
    for cut in range(0, len(whole), max(1, len(whole) // cuts)):
        torn.write_bytes(whole[:cut])
        try:
            found = list(formats.read(torn))
        except FormatError as error:
            errors += 1
            assert "torn" in str(error) and ", line " in str(error)
        else:
            # The last game may have lost its notes, where these follow the moves, but never a move.
            plain = [replace(record, notes=()) for record in found]
            assert plain == [replace(record, notes=()) for record in records[: len(found)]]
            assert found[:-1] == records[: len(found)][:-1]
    assert errors > 0.8 * cuts
    for _ in range(cuts // 2):
        hurt = bytearray(whole)
        for _ in range(rng.choice([1, 3, 30])):
            hurt[rng.randrange(len(hurt))] = rng.randrange(256)
        torn.write_bytes(rng.choice([bytes(hurt), rng.randbytes(300), whole[rng.randrange(len(whole)) :]]))
        try:
            list(formats.read(torn))  # a changed letter of a name goes unnoticed; anything else is an error of ours
        except FormatError as error:
            assert ", line " in str(error)
    torn.write_bytes(whole[: len(whole) - len(whole) // 5])
    with pytest.raises(FormatError):
        guarded.add(formats.under("torn", formats.read(torn)))


def test_too_large_files_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("meijin.arena.formats.common.MAX_BYTES", 1000)
    monkeypatch.setattr("meijin.arena.formats.jsonl.MAX_LINE", 1000)
    for format in formats.READABLE:
        path = tmp_path / f"large.{format}"
        path.write_text("x" * 1001)
        with pytest.raises(FormatError, match="larger than 0 MiB"):
            list(formats.read(path))
