"""Minishogi against Fairy-Stockfish, published counts and constructed positions for every rule."""

from __future__ import annotations

import itertools
import os
import random
import re
import shutil
import subprocess
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from meijin.core import kernels
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, IllegalMove
from meijin.core.game import Game
from meijin.core.positions import write_position
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.games.minishogi import from_planes, relative_move, repeated

PERFT = [14, 181, 2512, 35401, 533203, 8276188]
START = "rbsgk/4p/5/P4/KGSBR b - 1"

#: How many random games are compared with Fairy-Stockfish; 3000 take some minutes.
GAMES = int(os.environ.get("MEIJIN_MINISHOGI_GAMES", "80"))


@pytest.fixture(scope="module")
def game() -> Game:
    return make("minishogi")


def from_sfen(text: str, expression: str = "minishogi") -> State:
    return State.from_position(make(expression), text)


def to_sfen(state: State) -> str:
    """Also of finished games, which `State.position` refuses."""
    return write_position(state.game, state.cells, int(state.record.seat))


def names(state: State) -> set[str]:
    return {move.name for move in state.legal_moves}


def random_state(rng: random.Random, plies: int) -> State:
    """A position after that many random moves, of a game that is not over."""
    while True:
        state = State(make("minishogi"))
        while len(state.history) < plies and not state.is_over:
            state.play(rng.choice(state.legal_moves))
        if not state.is_over:
            return state


def shuffled(line: str, times: int) -> list[str]:
    return line.split() * times


# ---- counting and the oracle ----


def test_perft(game: Game) -> None:
    depth = len(PERFT)
    states, moves = game.states(depth + 1), np.zeros((depth, game.branching or 0), np.int32)
    game.kernel(kernels.start)(states, 0)
    counts, nexts, probs = np.zeros(depth, np.int64), np.zeros(depth, np.int64), kernels.buffers(game)[1]
    count = game.kernel(kernels.perft)
    assert [count(states, d, moves, probs, counts, nexts) for d in range(1, depth + 1)] == PERFT


@pytest.fixture(scope="module")
def engine() -> str:
    found = shutil.which("fairy-stockfish") or shutil.which("fairy-stockfish", path="/usr/games")
    if found is None:
        pytest.skip("needs Fairy-Stockfish: apt-get install fairy-stockfish")
    return found


def fen_of(sfen: str) -> str:
    """SFEN as Fairy-Stockfish writes it: hands after the board, and `w` for the player who begins."""
    placed, mover, held, _ = sfen.split()
    pairs = re.findall(r"(\d?)([A-Za-z])", held)
    hand = "".join(kind * int(number or 1) for number, kind in pairs) or "-"
    return f"{placed}[{hand}] {'w' if mover == 'b' else 'b'} 0 1"


def usi_of(move: str) -> str:
    """A move of Fairy-Stockfish, in USI."""
    return re.sub(
        "([a-e])([1-5])", lambda m: f"{'edcba'.index(m[1]) + 1}{'edcba'[int(m[2]) - 1]}", move.replace("@", "*")
    )


def uci_of(move: str) -> str:
    return re.sub(
        "([1-5])([a-e])", lambda m: f"{'edcba'[int(m[1]) - 1]}{'edcba'.index(m[2]) + 1}", move.replace("*", "@")
    )


def engine_lists(engine: str, positions: Iterable[str]) -> list[set[str]]:
    """The moves that Fairy-Stockfish lists in positions, each a FEN that `moves ...` may follow."""
    asked = list(positions)
    lines = [line for position in asked for line in (f"position fen {position}", "go perft 1")]
    commands = "\n".join(["setoption name UCI_Variant value minishogi", *lines, "quit\n"])
    run = subprocess.run([engine], input=commands, capture_output=True, text=True, check=True)
    answers = run.stdout.split("Nodes searched")[:-1]
    assert len(answers) == len(asked)
    return [{usi_of(move) for move in re.findall(r"(?m)^(\S+): 1$", answer)} for answer in answers]


def engine_moves(engine: str, sfens: list[str]) -> list[set[str]]:
    """What is legal by Fairy-Stockfish. It lists pawn drops that mate (and scores them as a loss): take them out."""
    listed = engine_lists(engine, map(fen_of, sfens))
    drops = [(i, f"P*{front(sfen)}") for i, sfen in enumerate(sfens) if f"P*{front(sfen)}" in listed[i]]
    replies = engine_lists(engine, [f"{fen_of(sfens[i])} moves {uci_of(move)}" for i, move in drops])
    for (i, move), reply in zip(drops, replies, strict=True):
        if not reply:
            listed[i].remove(move)
    return listed


def front(sfen: str) -> str | None:
    """The cell before the king of the player who is not to move."""
    placed, mover = sfen.split()[:2]
    king, down = ("k", 1) if mover == "b" else ("K", -1)
    rows = [re.sub(r"\d", lambda n: "." * int(n[0]), row.replace("+", "")) for row in placed.split("/")]
    at = next(r for r, row in enumerate(rows) if king in row)
    return f"{5 - rows[at].index(king)}{'abcde'[at + down]}" if 0 <= at + down < 5 else None


@pytest.mark.slow
def test_fairy_stockfish(game: Game, engine: str) -> None:
    """Random games, position by position: the same legal moves, and mate where the oracle sees none."""
    begin, play, look = (game.kernel(maker) for maker in (kernels.start, kernels.play, kernels.look))
    state, rng, checked = State(game), random.Random(1), 0
    states, scores, (moves, probs) = state.records, np.zeros(2), kernels.buffers(game)
    sfens: list[str] = []
    listed: list[set[str]] = []
    for number in range(GAMES):
        begin(states, 0)
        turn = 0
        while turn >= 0:
            turn, n = look(states, 0, moves, probs, scores)
            record = state.record
            repeats = np.count_nonzero(record.history[: record.ply + 1] == record.history[record.ply])
            if repeats < 4 and record.ply < game.longest:  # the oracle lists moves there too
                sfens.append(to_sfen(state))
                listed.append({game.moves[m].name for m in moves[:n]})
            if turn >= 0:
                play(states, 0, int(moves[rng.randrange(n)]))
        if len(sfens) > 20_000 or number == GAMES - 1:
            for sfen, ours, theirs in zip(sfens, listed, engine_moves(engine, sfens), strict=True):
                assert ours == theirs, f"{sfen}: only ours {ours - theirs}, only theirs {theirs - ours}"
            checked += len(sfens)
            sfens, listed = [], []
    print(f"{GAMES} games, {checked} positions")
    assert checked > 50 * GAMES


CURIOUS = {
    "pawn drop mates": "3rk/5/3G1/5/4K b P 1",
    "pawn drop checks, the king takes": "3rk/5/2G2/5/4K b P 1",
    "pawn drop mates, the taker is pinned": "R2gk/5/3G1/5/4K b P 1",
    "pawn drop checks, a gold takes": "3gk/5/3G1/5/4K b P 1",
    "pawn drop checks and opens a flight by closing a line": "4R/2k2/4G/G2B1/4K b P 1",
    "pawn drop mates for gote": "4k/5/3g1/5/3RK w p 1",
    "only a pawn drop that mates answers the check": "3rk/1b3/3G1/5/4K b P 1",
    "double check": "4k/5/b1r2/5/2K2 b RBG 1",
    "pinned on a diagonal": "4k/5/b4/1S3/2K2 b - 1",
    "a pawn in hand, one on the board": "4k/5/2P2/5/4K b P 1",
    "every man in hand": "4k/5/5/5/K4 b RBGSPrbgsp 1",
    "all men of one side": "k4/5/5/5/K4 b 2R2B2G2S2P 1",
    "promoted men": "4k/1+P3/2+S2/3+B1/K2+R1 b - 1",
}


def test_curious_positions(engine: str) -> None:
    for what, theirs in zip(CURIOUS, engine_moves(engine, list(CURIOUS.values())), strict=True):
        assert names(from_sfen(CURIOUS[what])) == theirs, what


# ---- drops ----


def test_pawn_drop_mate_is_illegal_and_pawn_drop_check_is_not() -> None:
    legal = {what: names(from_sfen(sfen)) for what, sfen in CURIOUS.items()}
    assert "P*1b" not in legal["pawn drop mates"]
    assert "P*1b" in legal["pawn drop checks, the king takes"]
    assert "P*1b" not in legal["pawn drop mates, the taker is pinned"]
    assert "P*1b" in legal["pawn drop checks, a gold takes"]
    assert "P*3c" in legal["pawn drop checks and opens a flight by closing a line"]
    assert "P*1d" not in legal["pawn drop mates for gote"]


def test_mate_by_another_drop_or_by_moving_a_pawn_is_legal() -> None:
    assert from_sfen("3rk/5/3G1/5/4K b G 1").play("G*1b").scores == (1, -1)
    assert from_sfen("3rk/5/3GP/5/4K b - 1").play("1c1b").scores == (1, -1)


def test_one_pawn_to_a_file() -> None:
    held = names(from_sfen("4k/5/2P2/5/4K b P 1"))
    assert "P*3b" not in held
    assert "P*4b" in held
    promoted = names(from_sfen("4k/5/2+P2/5/4K b P 1"))
    assert "P*3b" in promoted
    theirs = names(from_sfen("4k/2p2/5/5/4K b P 1"))
    assert "P*3d" in theirs


def test_no_pawn_on_the_last_rank_but_others_drop_there() -> None:
    sente, gote = names(from_sfen("4k/5/5/5/K4 b SP 1")), names(from_sfen("4k/5/5/5/K4 w sp 1"))
    assert not {m for m in sente if m.startswith("P*") and m.endswith("a")}
    assert "S*5a" in sente
    assert not {m for m in gote if m.startswith("P*") and m.endswith("e")}
    assert {"S*1e", "P*1d", "P*5a"} <= gote


# ---- promotion ----


def test_promotion() -> None:
    moves = names(from_sfen("2S1k/P4/5/5/K4 b - 1"))
    assert "5b5a+" in moves, "a pawn that reaches the last rank must promote"
    assert "5b5a" not in moves
    assert {"3a4b", "3a4b+"} <= moves, "leaving the last rank promotes"
    entering = names(from_sfen("k4/5/5/5/K3R b - 1"))
    assert {"1e1a", "1e1a+"} <= entering, "a rook may stay as it is"
    assert "1e1b+" not in entering
    golds = names(from_sfen("4k/G4/5/5/K4 b - 1"))
    assert "5b5a" in golds
    assert not {m for m in golds if m.endswith("+")}, "golds and kings do not promote"
    assert names(from_sfen("4k/5/5/4p/K4 w - 1")) >= {"1d1e+"}


def test_promoted_men_gain_king_steps() -> None:
    assert {m for m in names(from_sfen("4k/5/5/1+R3/K4 b - 1")) if m.startswith("4d")} == {
        *("4d4c", "4d4b", "4d4a", "4d4e", "4d5d", "4d3d", "4d2d", "4d1d"),
        *("4d5c", "4d3c", "4d3e"),  # 5e holds the king
    }
    assert {m for m in names(from_sfen("2k2/5/2+B2/5/K4 b - 1")) if m.startswith("3c")} == {
        *("3c4b", "3c5a", "3c2b", "3c1a", "3c4d", "3c2d", "3c1e"),  # 5e holds the king
        *("3c3b", "3c3d", "3c2c", "3c4c"),
    }


def test_captured_men_change_sides_and_are_demoted() -> None:
    state = from_sfen("k4/5/+p4/R4/K4 b - 1").play("5d5c")
    assert to_sfen(state) == "k4/5/R4/5/K4 w P 1"


# ---- ends ----


def test_checkmate_and_no_move_at_all_lose() -> None:
    mate = from_sfen("4k/5/3G1/5/K4 b G 1").play("G*1b")
    assert (mate.scores, mate.ending) == ((1, -1), "checkmate")
    stalemate = from_sfen("4k/5/5/4G/K2R1 b - 1").play("1d1c")
    assert (stalemate.scores, stalemate.ending) == ((1, -1), "no legal move")
    assert from_sfen("4k/4G/3G1/5/K4 w - 1").ending == "checkmate", "a position that is already mate"


SHUFFLE = "4e4d 2a2b 4d4e 2b2a"  # golds out and back from the start


def test_fourth_repetition_loses_for_the_first_player(game: Game) -> None:
    state = State(game).play_line(shuffled(SHUFFLE, 3)[:-1])
    assert not state.is_over
    assert state.play("2b2a").scores == (-1, 1), "completed by gote"
    assert state.ending == "fourth repetition"
    other = State(game).play("5d5c").play_line(shuffled("2a2b 4e4d 2b2a 4d4e", 3)[:-1])
    assert not other.is_over
    assert other.play("4d4e").scores == (-1, 1), "completed by sente"


def test_positions_with_other_hands_or_mover_are_other_positions() -> None:
    # The board repeats, while sente's hand grows: a pawn is dropped and captured.
    state = from_sfen("k4/5/5/5/K3G b p 1")
    words = []
    for line in ("5e4e 5a4a", "4e5e 4a5a"):
        state.play_line(line)
        words.append(int(state.record.history[state.record.ply]))
    with_pawn, without = from_sfen("k4/5/5/5/K3G b p 1"), from_sfen("k4/5/5/5/K3G b P 1")
    gote = from_sfen("k4/5/5/5/K3G w p 1")
    keys = [int(s.record.history[0]) for s in (with_pawn, without, gote)]
    assert words[-1] == keys[0]
    assert len(set(keys)) == 3


CHECKED_BY_GOTE = "4k/5/5/4r/K4 w - 1"  # the rook chases sente's king up and down


@pytest.mark.parametrize(
    ("sfen", "first", "cycle", "plies", "winner"),
    [
        # Sente checks: it loses, as it would without.
        ("k4/4R/5/5/4K b - 1", "", "1b1a 5a5b 1a1b 5b5a", 12, 1),
        ("k4/4R/5/r4/4K b - 1", "", "1b1a 5a5b 1a1b 5b5a", 12, 1),
        # Gote checks; sente's move completes the repetition, then gote's.
        (CHECKED_BY_GOTE, "", "1d1e 5e5d 1e1d 5d5e", 12, 0),
        ("4k/5/4r/5/K4 w - 1", "1c1e", "5e5d 1e1d 5d5e 1d1e", 13, 0),
        # Gote checks three times in four.
        (CHECKED_BY_GOTE, "", "1d1e 5e5d 1e1c 5d5e 1c1e 5e5d 1e1d 5d5e", 13, 1),
        # A quiet move before the first time does not count.
        ("4k/5/5/3r1/K4 w - 1", "2d1d 5e4e 1d1e 4e5d 1e1d 5d5e", "1d1e 5e5d 1e1d 5d5e", 16, 0),
    ],
)
def test_perpetual_check_loses_for_the_checker(sfen: str, first: str, cycle: str, plies: int, winner: int) -> None:
    state = from_sfen(sfen).play_line(first)
    for move in itertools.cycle(cycle.split()):
        if state.is_over:
            break
        state.play(move)
    assert len(state.history) == plies
    assert state.scores == ((1, -1) if winner == 0 else (-1, 1))
    assert state.ending in ("perpetual check", "fourth repetition")
    assert winner == 1 or state.ending == "perpetual check"


def test_a_quiet_detour_between_two_times_spares_the_checker() -> None:
    state = from_sfen(CHECKED_BY_GOTE)
    state.play_line(shuffled("1d1e 5e5d 1e1d 5d5e", 2))
    state.play_line("1d2d 5e4e 2d1d 4e5e")  # back to the first position without a check: the fourth time
    assert state.scores == (-1, 1) and state.ending == "fourth repetition"


def test_both_in_perpetual_check_is_a_draw(game: Game) -> None:
    # Whether it can come about on the board is not known, so the history is made up: a cycle of four checks.
    record = State(game).record
    record.ply = 12
    for quiet, winner in (((), 2), ((2,), 1), ((3,), 0), ((2, 3), 1)):
        for ply in range(13):
            record.history[ply] = 2 * (1 + ply % 4) + (ply not in quiet)
        assert repeated(record) == winner, quiet


@pytest.mark.slow
def test_repetition_agrees_with_fairy_stockfish() -> None:
    """Games that go back to old positions whenever they can, from sparse positions: ends and winners agree."""
    pyffish: Any = pytest.importorskip("pyffish")
    rng, ends = random.Random(7), 0
    starts = [START, "k4/4R/5/5/4K b - 1", CHECKED_BY_GOTE, "k4/5/5/1R1r1/4K b - 1", "3bk/5/5/5/KR3 w - 1"]
    for sfen in starts * 3:
        state = from_sfen(sfen)
        line: list[str] = []
        while not state.is_over and len(line) < 60:
            seen = {to_sfen(state).rsplit(" ", 1)[0]}
            for _ in line:
                state.undo()
                seen.add(to_sfen(state).rsplit(" ", 1)[0])
            for _ in line:
                state.redo()
            back = []
            for move in state.legal_moves:
                if to_sfen(state.play(move)).rsplit(" ", 1)[0] in seen:
                    back.append(move)
                state.undo()
            move = rng.choice(back if back and rng.random() < 0.95 else state.legal_moves)
            state.play(move)
            line.append(uci_of(move.name))
            ended, value = pyffish.is_optional_game_end("minishogi", fen_of(sfen), line)
            mated = not pyffish.legal_moves("minishogi", fen_of(sfen), line)
            assert state.is_over == (ended or mated), (sfen, line)
            if ended:
                ends += 1
                mover = int(state.record.seat)
                assert state.scores[mover] == np.sign(value), (sfen, line, value)
    assert ends >= 8


def test_the_limit_draws_unless_the_last_move_wins() -> None:
    last = from_sfen("4k/5/5/5/K4 b - 1", "minishogi(max_plies=1)").play("5e5d")
    assert (last.is_over, last.scores, last.ending) == (True, (0, 0), "the limit of 1 moves")
    assert not from_sfen("4k/5/5/5/K4 b - 1", "minishogi(max_plies=2)").play("5e5d").is_over
    mate = from_sfen("4k/5/3G1/5/K4 b G 1", "minishogi(max_plies=1)").play("G*1b")
    assert (mate.scores, mate.ending) == ((1, -1), "checkmate")
    with pytest.raises(BadParameter, match="max_plies=0: choose"):
        make("minishogi(max_plies=0)")


# ---- notation ----


def test_sfen_round_trip(game: Game) -> None:
    assert to_sfen(State(game)) == START
    assert from_sfen(START) == State(game)
    rng = random.Random(3)
    for plies in range(1, 60):
        state = random_state(rng, plies)
        again = from_sfen(to_sfen(state))
        assert to_sfen(again) == to_sfen(state)
        assert again.legal_moves == state.legal_moves
        assert again.cells == state.cells
        for field in ("men", "goal", "pinned", "board", "hands", "seat", "winner"):
            assert np.array_equal(again.record[field], state.record[field]), field
        hashed = state.record.history[state.record.ply]
        assert again.record.history[0] == hashed, "the hash is of the position, not of the way"
    assert from_sfen("sfen " + START.removesuffix(" 1") + " 17") == State(game), "the number of the move is ignored"


@pytest.mark.parametrize(
    ("sfen", "problem"),
    [
        ("rbsgk/4p/5/P4 b - 1", "4 rows"),
        ("rbsgk/4p/6/P4/KGSBR b - 1", "row '6'"),
        ("rbsgk/4p/4/P4/KGSBR b - 1", "4 cells"),
        ("rbsgk/4n/5/P4/KGSBR b - 1", "row '4n'"),
        ("rbs+gk/4p/5/P4/KGSBR b - 1", "row 'rbs"),
        ("rbsg1/4p/5/P4/KGSBR b - 1", "each side needs exactly one king"),
        ("rbsgk/4p/5/P4/KGSBR b P 1", "more than two men of a kind"),
        ("rbsgk/4p/5/P4/KGSBR x - 1", "expected the board"),
        ("P3k/5/5/5/K4 b - 1", "cell 5a cannot have value 1"),
        ("4k/5/P4/P4/K4 b - 1", "one file"),
        ("4k/4R/5/5/K4 b - 1", "not to move is in check"),
        ("4k/5/5/5/K4 b 2PP 1", "more than two of P"),
        ("4k/5/5/5/K4 b N 1", "hands 'N'"),
    ],
)
def test_sfen_errors_say_what_is_wrong(sfen: str, problem: str) -> None:
    with pytest.raises(BadParameter, match=re.escape(problem)):
        from_sfen(sfen)


def test_usi_names_and_paths(game: Game) -> None:
    board = game.board
    assert len(game.moves) == 1725
    at = board.index
    assert game.paths[game.find("5d5c")] == (at("5d"), at("5c"))
    assert game.paths[game.find("1b1a+")] == (at("1b"), at("1a"), "+")
    assert game.paths[game.find("P*3c")] == (frozenset((at("P"), at("p"))), at("3c"))
    on_board = [m for m in game.moves if re.fullmatch(r"[1-5][a-e][1-5][a-e]\+?|[PSBRG]\*[1-5][a-e]", m.name)]
    assert len(on_board) == 2 * 320 + 125
    state = State(game).play_line("5d5c 1b1c")
    assert State.parse(state.text) == state
    with pytest.raises(IllegalMove, match="not legal here"):
        state.play("5e5d+")


def test_hands_are_shown_in_trays() -> None:
    state = from_sfen("k4/5/2+p2/5/4K b RB2Srgp 7")
    assert state.position == "k4/5/2+p2/5/4K b RB2Srgp 1"
    lines = str(state).splitlines()
    assert lines[0].split() == ["p", "p", "s", ".", "b", ".", "r", "r", "g", "g"]
    assert lines[-1].split() == ["P", ".", "S", "2S", "B", "B", "R", "R", "G", "."]


# ---- views, planes and symmetries ----


def turned(sfen: str) -> str:
    """The position with the board turned by half and the players exchanged."""
    placed, mover, held, move = sfen.split()
    swap = str.swapcase
    rows = "/".join("".join(re.findall(r"\+?\w", row)[::-1]) for row in placed.split("/")[::-1])
    return f"{swap(rows)} {'w' if mover == 'b' else 'b'} {swap(held)} {move}"


def mirrored(sfen: str) -> str:
    placed, rest = sfen.split(" ", 1)
    return "/".join("".join(re.findall(r"\+?\w", row)[::-1]) for row in placed.split("/")) + " " + rest


def test_views_number_moves_from_the_movers_side(game: Game) -> None:
    assert relative_move(game.find("1b1c"), 1) == game.find("5d5c")
    assert relative_move(game.find("P*1a"), 1) == game.find("P*5e")
    assert relative_move(game.find("1b1c"), 0) == game.find("1b1c")
    assert game.views is not None and np.array_equal(game.views[1][game.views[1]], np.arange(1725))
    up = 0  # plane 0 moves one cell straight up from the mover's side
    assert relative_move(game.find("1b1c"), 1) % 69 == up


def test_planes_and_views_do_not_depend_on_the_seat() -> None:
    rng = random.Random(5)
    for plies in range(0, 60, 3):
        state = from_sfen(to_sfen(random_state(rng, plies)))
        twin = from_sfen(turned(to_sfen(state)))
        seats = state.turn, twin.turn
        assert seats[0] != seats[1]
        assert twin.scores == state.scores[::-1]
        numbers = [sorted(relative_move(m, s.turn) for m in s.legal_moves) for s in (state, twin)]
        assert numbers[0] == numbers[1]
        planes = state.planes, twin.planes
        assert np.array_equal(np.delete(planes[0], 30, 0), np.delete(planes[1], 30, 0))
        assert (planes[0][30] == seats[0]).all()


def test_planes(game: Game) -> None:
    planes = State(game).planes
    assert planes.shape == (32, 35)
    assert np.flatnonzero(planes[0]).tolist() == [15], "the mover's pawn is on 5d"
    assert np.flatnonzero(planes[10]).tolist() == [9], "the other's on 1b"
    assert planes[:20].sum() == 12
    held = from_sfen("k4/5/2+p2/5/4K w RB2Srgp 7").planes[:, 0]
    assert held[20:30].tolist() == [0.5, 0, 0, 0.5, 0.5, 0, 1, 0.5, 0.5, 0]
    assert held[31] == 0
    assert (State(game).play("5d5c").planes[31] == np.float32(1 / 300)).all()


def test_planes_lead_back_to_the_position(game: Game) -> None:
    rng = random.Random(8)
    for plies in range(80):  # hands, promoted men and both seats come up
        state = random_state(rng, plies)
        again = from_planes(game, state.planes)
        assert (again.cells, again.turn, again.legal_moves) == (state.cells, state.turn, state.legal_moves)
        assert np.array_equal(again.planes[:31], state.planes[:31])
        assert not again.planes[31].any(), "plies are counted anew"


@pytest.mark.parametrize(
    ("plane", "cells", "value", "problem"),
    [
        (0, slice(None), 1, "two pawns of one side are on one file"),
        (12, 23, 1, "show no position"),  # a bishop of each side on one cell
        (20, slice(None), 3, "more than two men of a kind"),
        (22, slice(5), 0.5, "more than two men of a kind"),  # some cells show a hand, others none
        (30, slice(None), 7, "show no position"),
        (3, 21, 0.5, "show no position"),
    ],
)
def test_planes_of_no_position_are_refused(game: Game, plane: int, cells: Any, value: float, problem: str) -> None:
    planes = State(game).planes
    planes[plane, cells] = value
    with pytest.raises(BadParameter, match=problem):
        from_planes(game, planes)
    with pytest.raises(BadParameter, match=r"shape \(32, 25\): give those of minishogi, of shape \(32, 35\)"):
        from_planes(game, planes[:, :25])


def test_symmetries(game: Game) -> None:
    """The rules keep the mirror, although the start does not, and the board turned with the seats exchanged."""
    found = {symmetry.name: symmetry for symmetry in game.symmetries}
    assert [name for name in found if found[name].swaps] == ["rotate180", "flip"] and len(found) == 4
    on_board = [move for move in game.moves if game.paths[move] is not None]
    assert all(found["rotate180"].moves[move] == relative_move(move, 1) for move in on_board)
    rng = random.Random(6)
    for plies in range(0, 60, 2):
        start = random_state(rng, plies)
        for name, image in (("mirror", mirrored), ("rotate180", turned)):
            symmetry, state, twin = found[name], from_sfen(to_sfen(start)), from_sfen(image(to_sfen(start)))
            for _ in range(8):
                assert set(twin.legal_moves) == {symmetry.moves[m] for m in state.legal_moves}
                assert [twin.scores[k] for k in symmetry.seats] == list(state.scores)
                assert [twin.cells[c] for c in symmetry.cells] == [symmetry.values[v] for v in state.cells]
                if state.is_over:
                    break
                move = rng.choice(state.legal_moves)
                state.play(move)
                twin.play(symmetry.moves[move])


def test_heuristic_is_the_material() -> None:
    def guess(sfen: str) -> list[float]:
        state, out = from_sfen(sfen), np.zeros(2)
        state.game.kernel(kernels.heuristic)(state.records, 0, out)
        return list(out.tolist())

    assert guess(START) == [0, 0]
    assert guess("k4/5/5/5/K4 b R 1") == [10 / 30, -10 / 30]
    assert guess("k4/4+p/5/5/K4 b P 1") == [-6 / 26, 6 / 26]


def test_branching_is_a_bound(game: Game) -> None:
    """Over all ways to have both men of each kind in hand or on the board, and the most moves each can have there."""
    most = {"P": 6, "S": 8, "B": 12, "R": 16, "G": 6}
    bound = 0
    for placed in itertools.product(range(3), repeat=5):  # how many of each kind are on the board
        empty = 25 - 2 - sum(placed)
        held = sum(empty for n in placed if n < 2)
        bound = max(bound, 8 + held + sum(n * m for n, m in zip(placed, most.values(), strict=True)))
    assert game.branching == bound
    assert len(from_sfen("R4/1K1S1/3+B1/1G3/2+P1k b RBGSP 1").legal_moves) == 136, "the bound is not idle"


def test_random_games_are_fair_and_end(game: Game) -> None:
    moves, probs = kernels.buffers(game)
    totals = np.zeros(2)
    plies = game.kernel(kernels.random_games)(game.states(1), 2000, stream(1), moves, probs, np.zeros(2), totals)
    assert totals.sum() == 0
    assert 99 < plies / 2000 < 136  # 117.5, and ten standard errors either way: a game's length deviates by 83
