"""`meijin play` as a person at the keyboard meets it, or a script that pipes moves in."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from commands import good, run
from meijin.arena import formats
from meijin.arena.store import Store
from meijin.cli import saved
from meijin.cli.advisor import Advisor
from meijin.cli.program import until_stopped
from meijin.cli.review import judge
from meijin.core.catalogue import make
from meijin.core.state import State

SMALL = "tic_tac_toe"
NIM = "nim(heaps=(1, 2, 3))"  # lost for the seat that begins
BOTH = ("--seat", "1=human")  # two people at one keyboard
PROMPT = "your move (help for commands): "
ARROWS = "your move (arrow keys, or help for commands):"
WIN = ("b2", "a1", "c1", "b1", "a3")  # X wins, as O should have taken a3


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEIJIN_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def typed(game: str, *lines: str, options: tuple[str, ...] = BOTH) -> str:
    """What is printed when these lines are piped in."""
    return good("play", game, *options, input="".join(f"{line}\n" for line in lines))


def files(data: Path) -> list[Path]:
    return sorted((data / "unfinished").glob("*"))


# ---- a game ----


def test_piped_moves() -> None:
    command = [sys.executable, "-m", "meijin", "play", SMALL, *BOTH]
    done = subprocess.run(command, input="\n".join(WIN), capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count(PROMPT) == 5
    assert done.stdout.splitlines()[-1] == "game over: X wins: three in a row  (5 plies)"
    assert "\x1b" not in done.stdout


def test_your_own_move_is_drawn_before_the_answer() -> None:
    text = typed(SMALL, "b2", options=("--seat", "1=random", "--seed", "3"))
    mine = text.index("[X]")
    assert text.index(f"{PROMPT}b2") < mine < text.index("O plays")
    assert "[X]" not in text[text.index("O plays") :]  # now the answer is marked


def test_the_header_names_the_limit_that_holds() -> None:
    text = typed(SMALL, "b2", options=("--simulations", "200", "--seat", "1=mcts(seconds=1)", "--seed", "3"))
    assert "O  mcts(simulations=200)" in text and "seconds=1" not in text


def test_commands() -> None:
    lines = ["help", "moves", "history", "undo", "redo", "a1", "b2", "history", "undo", "redo", "undo", "undo"]
    text = typed(SMALL, *lines, "c3", "zz", "hlep", "a", "c3", "", "undo now", "save", "review", "rules", "resign")
    assert "take back your last move" in text
    assert "a3 b3 c3 a2 b2 c2 a1 b1 c1" in text
    assert "no move has been made" in text
    assert "nothing to undo: you have not moved yet" in text
    assert "nothing to redo" in text
    assert "'zz' is neither a legal move nor a command; help lists them" in text
    assert "'hlep' is neither a legal move nor a command; did you mean 'help'?" in text
    assert "'c3' is not legal here; legal: a3, b3, a2, b2, c2, a1, b1, c1" in text
    assert "did you mean 'undo'?" in text
    assert "save: write save FILE" in text
    assert "review: the game is not over" in text
    assert "three" in text.split("rules\n")[-1]
    assert text.splitlines()[-1] == "game over: O resigns; X wins  (1 plies)"


def test_suggestions_are_legal_moves() -> None:
    line = ["d1", "c1", "b1", "a1"]
    text = typed("connect_four", "1", "1", "1", "1", "1", "1", "1")
    assert "'1' is not legal here; legal: 2, 3, 4, 5, 6, 7" in text
    text = typed("hex(size=5)", "a1", "a11", "a1", *line)
    assert "'a11' is neither a legal move nor a command" in text and "did you mean 'a1'?" not in text


def test_undo_goes_back_over_the_agents_reply() -> None:
    text = typed(SMALL, "b2", "undo", "history", "redo", "history", options=("--seat", "1=random", "--seed", "1"))
    assert "no move has been made" in text
    last = text.split("history\n")[-1]
    assert "1 X b2" in last and "2 O " in last
    assert "end of input: the game is unfinished" in last


def test_a_line_to_begin_from() -> None:
    text = typed(SMALL, "c1", options=("--moves", "a1 a2 b1 b2", *BOTH))
    assert "last move O b2" in text and "X wins" in text
    result = run("play", SMALL, "--moves", "a1 a1")
    assert result.exit_code == 2
    assert "--moves 'a1 a1': 'a1' is not legal here" in result.stderr and "(after: a1)" in result.stderr


def test_a_position_to_begin_from_is_kept(tmp_path: Path) -> None:
    begin = ("--position", "1OX/3/2X 1")
    text = typed(
        SMALL, "b2", *(f"save {tmp_path / name}" for name in ("game.sgf", "game.pgn")), options=(*BOTH, *begin)
    )
    assert "2 .[O]." in text
    assert '[SetUp "1"]\n[FEN "1OX/3/2X 1"]' in (tmp_path / "game.pgn").read_text()
    for name in ("game.sgf", "game.pgn"):
        assert "3 . O X\n  2 .[O]." in good("replay", tmp_path / name)
    text = good("play", SMALL, "--resume", input="c2\nrematch\n")
    assert "3 . O X\n  2 .[O]." in text and "X wins" in text
    assert "2 . . ." in text.split("rematch")[1]


def test_agents_alone_just_play(data: Path) -> None:
    watch = ["play", SMALL, "--seat", "0=random", "--seat", "1=random", "--seed", "5"]
    assert good(*watch) == good(*watch)
    assert "game over: " in good(*watch)
    assert not files(data)


def test_chance_and_score() -> None:
    text = typed("2048", "left", "up", "right", "down", "resign", options=("--seed", "1"))
    assert "chance: " in text and "  score 0" in text
    assert "game over: you stop with a score of " in text
    assert "final score" in good("play", "2048(size=2)", "--seat", "0=random", "--seed", "1")


def test_three_seats() -> None:
    seats = ("--seat", "1=random", "--seat", "2=random", "--seed", "1")
    text = typed("nim(heaps=(1, 2), players=3)", "a1", options=seats)
    assert "player 3  random" in text and "player 2 plays" in text


def test_bad_seats() -> None:
    for seats, message in (
        (["random"], "write SEAT=AGENT"),
        (["x=random"], "write SEAT=AGENT"),
        (["2=random"], "no seat 2; its seats are 0, 1"),
        (["0=random", "0=random"], "given twice"),
        (["0=randon"], "did you mean 'random'?"),
    ):
        result = run("play", SMALL, *(word for seat in seats for word in ("--seat", seat)))
        assert result.exit_code == 2 and message in result.stderr, message


def test_levels() -> None:
    assert "champion(level=3)" in typed(SMALL, "b2", options=("--level", "3", "--seed", "1"))
    assert "champion(level=1)" in good("play", SMALL, "--level", "1", "--seat", "0=random", "--seed", "1")
    seats = ("--seat", "0=champion(level=1)", "--seat", "1=human", "--seed")
    begun = [good("play", SMALL, *seats, str(seed), input="quit\n") for seed in range(4)]
    assert len({text.split("X plays ")[1][:2] for text in begun}) > 1  # a beginner's moves are random here
    for options, message in (
        ("--level 11", "--level=11: choose from 1 to 10"),
        ("--level 3 --simulations 9", "leave out --seconds and --simulations"),
        ("--level 3 --seat 1=random", "nobody is left to play at that level"),
        ("--level 3 --resume", "leave out --seat, --level"),
    ):
        result = run("play", SMALL, *options.split())
        assert result.exit_code == 2 and message in result.stderr, message
    assert "has no champion yet" in run("play", "connect_four(width=9)", "--level", "3").stderr


# ---- scores, endings, resignations ----


def test_tallies_and_the_reason_of_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    good("new", "hops", "--kind", "movement")
    options = ("--load", "hops.py", *BOTH)
    text = typed("hops(size=4)", "a1a2", "a4a3", "b1b2", "b4b3", "resign", options=options)
    assert "stones  X 4  O 4" in text.split(PROMPT)[0]
    text = typed("hops(size=4)", "a1b2", "c4b3", "b2b4", options=options)
    assert "is not legal here" in text or "neither a legal move" in text
    text = typed("hops(size=4)", "a1b2", "d4c3", "b2d4", options=options)
    assert "game over: X wins: the other side is reached" in text
    assert text.splitlines()[-1].split() == ["stones", "X", "4", "O", "3"]


def test_an_agent_that_is_sure_to_lose_offers_to_resign() -> None:
    seats = ("--seat", "0=perfect", "--seat", "1=human")
    text = typed(NIM, "accept", options=seats)
    assert "player 1 would resign: type accept, or play on" in text
    assert "game over: player 1 resigns; player 2 wins" in text
    assert "nobody offers to resign" in typed(SMALL, "accept")


# ---- hints ----


def test_hints_come_from_a_solver_where_there_is_one() -> None:
    text = typed("cube(twists=2)", "hint", options=("--seed", "1"))
    assert "perfect: " in text and "moves to the solved cube" in text
    text = typed(SMALL, "hint", options=("--moves", "a1 a2 b1 b2", *BOTH))
    assert "perfect: " in text and "win" in text


def test_hints_come_from_a_search_where_there_is_no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("meijin.cli.session.HINT", 0.05)
    text = typed("2048(size=2)", "hint", options=("--seed", "1"))
    assert "mcts(seconds=0.05): " in text and "visits" in text


def test_a_solver_that_takes_too_long_is_replaced(monkeypatch: pytest.MonkeyPatch, interpreted: None) -> None:
    monkeypatch.setattr("meijin.cli.advisor.FIRST", 0.0)
    advisor = Advisor(make("connect_four(width=6)"))
    name, analysis = advisor.analyse(State(make("connect_four(width=6)")), 0.05)
    assert name == "mcts(seconds=0.05)" and analysis.simulations > 0


# ---- after the end ----


def test_a_review_names_the_mistakes() -> None:
    state = State(make(SMALL)).play_line(WIN)
    found = judge(state, Advisor(state.game), 5.0, lambda: None)
    assert [each.mark for each in found] == ["", "", "", "??", ""]
    blunder = found[3]
    assert (blunder.ply, blunder.seat, blunder.played.name, blunder.better.name) == (4, 1, "b1", "a3")
    assert blunder.lost == 1.0 and blunder.share == 0.5
    text = typed(SMALL, *WIN, "review", "", "", "", "back", "show 5", "show 9", "list", "quit", "quit")
    assert "O  0 mistakes (?) and 1 blunder (??) in 2 moves" in text
    assert "O played b1??   better: a3   value draw became loss" in text
    assert "that was the last mistake" in text
    assert "ply 5  X played a3" in text
    assert "plies 1 to 5" in text
    assert typed(SMALL, *WIN, "review x", "review 0").count("seconds") == 2


def test_a_review_of_chance_does_not_blame_bad_luck() -> None:
    state = State(make("2048(size=2)"))
    state.play_line("a1=2 b1=2 left b2=4 up")
    found = judge(state, Advisor(state.game), 0.2, lambda: None)
    assert [each.ply for each in found] == [3, 5]
    assert all(each.after.value != state.scores or each.ply == 5 for each in found)


def test_rematch_and_undo_after_the_end() -> None:
    options = ("--seat", "1=random", "--seed", "1")
    text = typed(SMALL, "resign", "rematch swap", "resign", "rematch", "history", options=options)
    assert text.count("O  you") == 2  # from the second game on
    assert text.count("game over: you resign") == 2
    text = typed(SMALL, *WIN, "undo", "history", "rematch")
    assert "4 O b1" in text.split("undo\n")[1] and "the game is not over" in text
    assert "write rematch, or rematch swap" in typed(SMALL, *WIN, "rematch now")
    assert "the game is over" in typed(SMALL, *WIN, "c3")


def test_a_review_can_be_left_for_a_rematch() -> None:
    text = typed(SMALL, *WIN, "review", "rematch", "a1", "resign", "review", "rematch swap")
    assert text.count("Mark empty cells in turn") == 3


def test_save_offers_the_files_that_can_hold_the_game() -> None:
    assert "write the game to a .jsonl, .sgf, .pgn or .csv file" in typed(SMALL, "help")
    assert "write the game to a .jsonl, .sgf, .pgn, .ggf or .csv file" in typed("othello", "help")


def test_save_in_every_format_that_fits(tmp_path: Path) -> None:
    for suffix in ("jsonl", "pgn", "sgf"):
        path = tmp_path / f"game.{suffix}"
        text = typed(SMALL, *WIN, f"save {path}", f"save {path}")
        assert "meijin replay" in text and "exists; choose another name" in text
        (record,) = formats.read(path)
        assert State(make(SMALL)).play_line(record.moves).history == State(make(SMALL)).play_line(WIN).history
        assert record.task.agents == ("human", "human") and record.scores == (1.0, -1.0)
    path = tmp_path / "resigned.jsonl"
    typed(SMALL, "a1", "resign", f"save {path}")
    (record,) = formats.read(path)
    assert (record.ending, record.forfeit, record.scores) == ("forfeit", 1, (1.0, -1.0))
    path = tmp_path / "unfinished.jsonl"
    typed(SMALL, "a1", f"save {path}")
    (record,) = formats.read(path)
    assert (record.plies, record.reason) == (1, "unfinished")
    text = typed(SMALL, "a1", f"save {tmp_path / 'game.txt'}")
    assert "does not end in one of" in " ".join(text.split())
    assert "minishogi" in typed(SMALL, "a1", f"save {tmp_path / 'game.usi'}")
    assert "there is no folder" in typed(SMALL, "a1", f"save {tmp_path / 'none' / 'game.pgn'}")


# ---- saved as you go ----


def test_an_unfinished_game_is_saved_and_resumed(data: Path) -> None:
    options = ("--seat", "1=random", "--seed", "1", "--simulations", "7")
    text = typed(SMALL, "b2", options=options)
    assert f"saved; to continue: meijin play {SMALL} --resume" in text
    (file,) = files(data)
    before = json.loads(file.read_text())
    assert before["moves"][0] == "b2" and len(before["moves"]) == 2 and before["simulations"] == 7
    for command in (["play", SMALL, "--resume"], ["play", "--resume"]):
        text = good(*command, input="history\n")
        assert "1 X b2" in text and "O  random" in text
    assert files(data) == [file]  # still the same game
    text = typed(SMALL, "resume", "history", "resign", "quit")
    assert "type resume to continue it" in text and "1 X b2" in text
    assert not files(data)
    result = run("play", SMALL, "--resume")
    assert (result.exit_code, result.stderr) == (2, f"error: there is no unfinished game of {SMALL} to resume\n")


def test_only_a_game_that_a_person_has_begun_is_saved(data: Path) -> None:
    text = typed(SMALL, "help", "quit")
    assert "saved" not in text and not files(data)
    typed(SMALL, *WIN)
    assert not files(data)


def test_a_game_of_ones_own_is_resumed_with_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    good("new", "own_game")
    text = typed("own_game", "a1", options=("--load", "own_game.py", *BOTH))
    assert "meijin play --resume" in text
    monkeypatch.chdir("/")
    assert "1 X a1" in good("play", "--resume", input="history\n")


def test_saved_games_that_are_damaged(data: Path) -> None:
    typed(SMALL, "b2")
    (file,) = files(data)
    whole = json.loads(file.read_text())
    for text in ("", "{", "[]", '{"version": 2}', json.dumps(whole | {"seats": 3}), json.dumps(whole | {"more": 1})):
        file.write_text(text)
        assert "no unfinished game" in run("play", "--resume").stderr
        with pytest.raises(saved.MeijinError, match="is not a saved game"):
            saved.read(file)
        good("play", SMALL, *BOTH, input="quit\n")  # does not stand in the way of another game
    for change in ({"moves": ["b2", "b2"]}, {"seats": ["human"]}, {"seats": ["human", "nobody"]}, {"seconds": -1.0}):
        file.write_text(json.dumps(whole | change))
        result = run("play", "--resume")
        assert result.exit_code == 2 and "cannot be resumed" in result.stderr and "Traceback" not in result.output
    assert "leave out --seat" in run("play", SMALL, "--resume", "--seat", "0=random").stderr


def test_a_game_that_cannot_be_saved_goes_on(data: Path) -> None:
    data.write_text("a file where the folder should be")
    text = typed(SMALL, "a1", "a2")
    assert text.count("the game cannot be saved") == 1 and "last move O a2" in text


def test_old_saved_games_go(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved, "KEPT", 3)
    for number in range(5):
        path = data / "unfinished" / f"{number}.json"
        saved.write(path, saved.SavedGame(SMALL, ("human", "human"), (str(number),)))
        os.utime(path, (number, number))
    assert [file.name for file in files(data)] == ["2.json", "3.json", "4.json"]
    found = saved.newest(SMALL)
    assert found is not None and found[1].moves == ("4",)


def test_ctrl_c_ends_even_compiled_code_and_loses_nothing(data: Path) -> None:
    # Where this test runs in the background, SIGINT is ignored and the program would inherit that.
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from meijin.cli import main; main()"
    )
    program = subprocess.Popen(
        [sys.executable, "-u", "-c", code, "play", "connect_four", "--seat", "1=mcts(seconds=600, threads=2)"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert program.stdin is not None and program.stdout is not None and program.stderr is not None
    program.stdin.write("4\n")
    program.stdin.flush()
    while "[X]" not in program.stdout.readline():
        pass  # once the move is drawn, the agent thinks for ten minutes
    program.send_signal(signal.SIGINT)
    assert program.wait(timeout=60) == 130
    assert program.stderr.read() == ""
    assert "saved; to continue" in program.stdout.read()
    (file,) = files(data)
    assert json.loads(file.read_text())["moves"] == ["4"]


# ---- in a terminal ----


def spawn(*words: str) -> Any:
    pexpect = pytest.importorskip("pexpect")
    return pexpect.spawn(
        sys.executable,
        ["-m", "meijin", *words],
        encoding="utf-8",
        dimensions=(24, 80),
        timeout=60,
        env={**os.environ, "TERM": "xterm-256color"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background ignore it
    )


def eof() -> Any:
    import pexpect

    return pexpect.EOF


def test_a_terminal_has_colours_and_completes_with_tab(data: Path) -> None:
    child = spawn("play", SMALL, "--seat", "1=random", "--seed", "1")
    child.expect_exact(PROMPT.strip())
    assert "\x1b[" in child.before  # colours
    child.send("hi\t")
    child.expect("history")  # the commands that begin so
    child.send("s\t\r")
    child.expect("no move has been made")
    child.expect_exact(PROMPT.strip())
    child.send("b2\r")
    child.expect("plays")
    child.expect_exact(PROMPT.strip())
    child.sendintr()
    child.expect("saved; to continue")
    child.expect(eof())
    child.close()
    assert child.exitstatus == 130
    assert "Traceback" not in child.before
    assert len(files(data)) == 1


def test_arrow_keys_move_where_moves_are_directions() -> None:
    child = spawn("play", "2048", "--seed", "1")
    child.expect_exact(ARROWS)
    child.send("\x1b[A")
    child.expect("up")
    child.expect("chance: ")
    child.expect_exact(ARROWS)
    child.send("history\r")
    child.expect(r"3 .*up")
    child.expect_exact(ARROWS)
    child.send("\x04")  # the end of the input
    child.expect("end of input: the game is unfinished")
    child.expect(eof())
    child.close()
    assert child.exitstatus == 0


def test_inspect_watch_shows_the_search_until_ctrl_c() -> None:
    child = spawn("inspect", "connect_four", "--watch")
    for _ in range(3):
        child.expect(r"mcts: [\d,]+ simulations")  # again and again
    child.sendintr()
    child.expect(r"mcts: [\d,]+ simulations")
    child.expect(eof())
    child.close()
    assert child.exitstatus == 0


def interrupted(ready: str, *words: str, presses: int = 1) -> str:
    """What a command prints on a terminal when Ctrl-C is pressed once it has printed `ready`."""
    child = spawn(*words)
    child.expect(ready)
    for _ in range(presses):
        child.sendintr()
        child.expect_exact("^C")
    child.expect(eof())
    child.close()
    assert child.exitstatus == 130
    text = str(re.sub("\x1b\\[[0-9;?]*[a-zA-Z]", "", child.before))
    for trouble in ("Traceback", "Error", "ignored"):
        assert trouble not in text, text
    return text


def test_a_match_that_is_stopped_shows_the_games_so_far_and_leaves_nothing_behind() -> None:
    agents = ("mcts(simulations=20)", "mcts(simulations=10)")
    text = interrupted(r"[1-9]\d*/100000", "match", SMALL, *agents, "--games", "100000")
    assert re.search(r"[1-9][\d,]* of 100,000, stopped", text)
    assert "wins" in text and "Elo" in text


TIRING = """
import threading
from meijin import Agent, Analysis, MoveInfo
from meijin.agents.catalogue import agents

games = 0

@agents.register("tiring")
class Tiring(Agent):
    new = True

    def think(self, state, limit, every):
        global games
        games += self.new
        self.new = False
        if games > 2:
            threading.Event().wait()  # deaf to `stop`
        yield Analysis(state.turn, tuple(map(MoveInfo, state.legal_moves)))
"""


@pytest.mark.parametrize("presses", [1, 2])
def test_a_match_that_cannot_be_stopped_shows_and_keeps_the_games_so_far(presses: int, tmp_path: Path) -> None:
    (tmp_path / "tiring.py").write_text(TIRING)
    db = tmp_path / "games.db"
    words = ("match", SMALL, "tiring", "random", "--load", f"{tmp_path}/tiring.py", "--workers", "0", "--db", str(db))
    text = interrupted("2/9", *words, "--games", "9", presses=presses)
    assert "2 of 9, stopped" in text and "wins" in text
    with Store(db, create=False) as store:
        assert store.count() == 2


class Pressed(threading.Event):
    """Ctrl-C is pressed while it is first waited for."""

    new = True

    def wait(self, timeout: float | None = None) -> bool:
        if self.new:
            self.new = False
            raise KeyboardInterrupt
        return super().wait(timeout)


def test_an_error_after_ctrl_c_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("meijin.cli.program.threading", SimpleNamespace(Thread=threading.Thread, Event=Pressed))
    stop = threading.Event()

    def work() -> str:
        stop.wait()
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        until_stopped(work, stop.set, so_far=lambda: "2 games")


def test_ctrl_c_while_workers_start_prints_no_traceback() -> None:
    # In a session of its own, whose whole group gets the signal, as from a terminal.
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from meijin.cli import main; main()"
    )
    program = subprocess.Popen(
        [sys.executable, "-c", code, "evaluate", SMALL, "mcts(simulations=50)", "vs(random, games=100000)"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while len(_group(program.pid)) < 3:  # itself, the resource tracker and the fork server
        assert program.poll() is None
        time.sleep(0.001)
    os.killpg(program.pid, signal.SIGINT)
    _, said = program.communicate(timeout=60)
    assert program.returncode == 130
    assert said == "stopped before a game ended\n"


def _group(leader: int) -> list[int]:
    """The processes of a group."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(path.read_text().rpartition(")")[2].split()[2]) == leader:
                found.append(int(path.parent.name))
    return found


def test_what_was_found_before_ctrl_c_is_shown() -> None:
    interrupted("4 +2,401 ", "perft", "connect_four", "--depth", "30")
    looked = interrupted("looking at", "inspect", "connect_four", "--seconds", "1000")
    assert "visits" in looked and "stopped: " in looked
    text = interrupted("vs", "evaluate", SMALL, "mcts(simulations=20)", "vs(random, games=100000)")
    assert "stopped" in text
