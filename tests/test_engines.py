"""Our agents as engines: what boards send, what they get, and that nothing breaks a conversation."""

from __future__ import annotations

import io
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from meijin.core.catalogue import make
from meijin.core.errors import MeijinError
from meijin.core.state import State
from meijin.learning import files
from meijin.protocols.engine import PROTOCOLS, open_session
from meijin.protocols.engine.serving import lines
from meijin.protocols.engine.session import Session
from meijin.protocols.ggf import read_ggf, write_ggf
from meijin.protocols.notation import fen, sfen, usi_move, xboard_move

GAMES = {"gtp": "go(size=5)", "usi": "minishogi", "ugi": "tic_tac_toe", "cecp": "minishogi", "nboard": "othello"}


class Talk:
    """A session and what it has said."""

    def __init__(self, game: str, protocol: str, agent: str = "random(seed=1)"):
        self.said: list[str] = []
        self.session: Session = open_session(game, agent, protocol, self.said.append)

    def __call__(self, *sent: str) -> list[str]:
        """What is said to these lines, once the thinking is done."""
        before = len(self.said)
        for line in sent:
            self.session.handle(line)
            self.session.wait()
        return [line for text in self.said[before:] for line in text.split("\n") if line]


def test_usi_plays_a_game_and_reports_its_end() -> None:
    talk = Talk("minishogi", "usi")
    assert talk("usi")[-1] == "usiok" and talk("isready") == ["readyok"]
    state = State(make("minishogi"))
    for _ in range(20):
        if state.is_over:
            break
        said = talk("position startpos moves " + " ".join(m.name for m in state.history), "go nodes 10")
        state.play(said[-1].split()[1])
    sfen_text = "4k/5/4P/5/K3R b - 1"
    said = talk(f"position sfen {sfen_text} moves 5e5d", "go movetime 10")
    assert said[-1].startswith("bestmove ") and said[0].startswith("info depth ")


def test_the_champion_of_go_plays_with_the_komi_of_the_board() -> None:
    talk = Talk("go", "gtp", "champion(simulations=1)")
    assert talk("fixed_handicap 2", "komi 6.5")[-1] == "="
    assert (talk.session.game.params["komi"], sum(talk.session.state.cells)) == (6.5, 2)
    assert re.fullmatch(r"= ([A-J]\d|PASS)", talk("genmove w")[0])
    assert talk("komi 6.3")[0].startswith("? ") and talk.session.game.params["komi"] == 6.5


def test_another_agent_stands_in_for_one_that_cannot_play_the_size(capsys: pytest.CaptureFixture[str]) -> None:
    net = f"zero({str(files.champion(make('go')))!r}, simulations=1)"  # without pooling it knows one size
    talk = Talk("go", "gtp", net)
    assert talk("boardsize 5") == ["? unacceptable size"]
    assert talk.session.game.params["size"] == 9
    talk.session.stand_in = "random"
    assert talk("boardsize 5") == ["="]
    assert (talk.session.game.params["size"], talk.session.agent.name) == (5, "random")
    assert "zero(" in capsys.readouterr().err
    assert talk("boardsize 9") == ["="] and talk.session.agent.name != "random"


@pytest.mark.parametrize(
    "line",
    ["position startpos moves 1a1b", "position sfen nonsense", "xyzzy", "setoption name Nothing value 1", "go mate"],
)
def test_usi_answers_mistakes_and_keeps_the_position(line: str) -> None:
    talk = Talk("minishogi", "usi")
    talk("position startpos moves 2e3d")
    before = talk.session.state
    said = talk(line)
    assert said and all(text.startswith(("info string error", "checkmate notimplemented")) for text in said)
    assert talk.session.state == before


def test_endless_thinking_ends_when_it_is_told_to() -> None:
    talk = Talk("tic_tac_toe", "ugi", "mcts")
    talk.session.handle("isready")
    talk.session.handle("go infinite")
    talk.session.handle("stop")
    assert talk.said[-1].startswith("bestmove ")
    talk.session.handle("go infinite")
    talk.session.close()  # the input ends; a board that has gone gets no move
    assert sum(line.startswith("bestmove") for line in talk.said) == 1


def test_pondering_becomes_thinking_with_a_clock() -> None:
    talk = Talk("tic_tac_toe", "ugi", "mcts(simulations=20)")
    talk.session.handle("position startpos moves a1")
    talk.session.handle("go ponder movetime 5")
    assert not any(line.startswith("bestmove") for line in talk.said)
    assert talk("ponderhit")[-1].startswith("bestmove ")


def test_ugi_tells_what_the_rules_say() -> None:
    talk = Talk("tic_tac_toe", "ugi")
    assert talk("query gameover", "query p1turn", "query result") == [
        *("response false", "response true", "response none")
    ]
    talk("position startpos moves a1 b1 a2 b2 a3")
    assert talk("query gameover", "query result", "go") == ["response true", "response p1win", "bestmove none"]


def test_gtp_keeps_the_form_of_its_answers() -> None:
    talk = Talk("go(size=5)", "gtp")
    assert talk("7 protocol_version") == ["=7 2"]
    assert talk("8 nonsense") == ["?8 unknown command"]
    assert talk("known_command genmove", "# a comment", "") == ["= true"]
    assert talk("play b z9") == ["? illegal move"]
    assert talk("play b C3", "9 play w C3") == ["=", "?9 illegal move"]
    assert talk.said[-1].endswith("\n")  # an empty line ends every answer
    assert re.fullmatch(r"= ([A-E][1-5]|PASS)", talk("genmove w")[0])
    assert talk("undo", "undo", "undo") == ["=", "=", "? cannot undo"]


def test_an_engine_below_full_strength_does_not_always_play_the_best() -> None:
    talk = Talk("tic_tac_toe", "ugi", "champion(level=1, seed=1)")
    begun = {talk("position startpos", "go")[-1] for _ in range(12)}
    assert len(begun) > 1 and all(said.startswith("bestmove ") for said in begun)


def test_gtp_sets_boards_up_out_of_turn() -> None:
    talk = Talk("go(size=5)", "gtp")
    talk("play b A1", "play b C3", "play w B1", "play w A2")
    cells = talk.session.state.cells
    board = talk.session.game.board.cells
    placed = {board[i].name: cells[i] for i in range(25) if cells[i]}
    assert placed == {"c3": 1, "b1": 2, "a2": 2}  # a1 was captured
    assert talk("fixed_handicap 2") == ["? board not empty"]
    talk("clear_board")
    assert talk("set_free_handicap B2 D4") == ["="] and talk.session.state.turn == 1
    assert talk("boardsize 99") == ["? unacceptable size"]


def test_gtp_counts_a_finished_game_and_writes_it(tmp_path: Path) -> None:
    talk = Talk("go(size=5, komi=0.5)", "gtp")
    column = [f"play {colour} {letter}{row}" for row in range(1, 6) for colour, letter in (("b", "B"), ("w", "D"))]
    talk(*column, "play b pass", "play w pass")
    assert talk("genmove b") == ["= PASS"]
    assert talk("final_score") == ["= W+0.5"]
    said = talk("printsgf")
    file = tmp_path / "game.sgf"
    file.write_text("\n".join(said)[2:])
    other = Talk("go(size=5)", "gtp")
    assert other(f"loadsgf {file}") == ["="]
    assert other.session.state.cells == talk.session.state.cells and other.session.game.params["komi"] == 0.5
    assert other(f"loadsgf {file} 3") == ["="] and len(other.session.state.history) == 2


@pytest.mark.parametrize(
    ("game", "sent"),
    [
        ("go(size=5)", "set_free_handicap B2 D4|play w C3|play b C2"),
        ("go(size=5)", "set_free_handicap B2 D4|play w C3|komi 0.5|play b pass|play w pass"),
        ("othello(size=6)", "play b C2|play b E4"),  # out of turn: it goes on from that position
        ("hex(size=4)", "play b A1|play b B2|play w C3"),
    ],
)
def test_gtp_writes_a_game_from_a_set_up(game: str, sent: str, tmp_path: Path) -> None:
    talk, other = Talk(game, "gtp"), Talk(game, "gtp")
    assert {line[0] for line in talk(*sent.split("|"))} == {"="}
    file = tmp_path / "game.sgf"
    for talker in (talk, other):  # what was loaded can be written, too
        file.write_text("\n".join(talker("printsgf"))[2:])
        assert other(f"loadsgf {file}") == ["="]
        mine, theirs = talk.session.state, other.session.state
        assert (mine.game.id, mine.cells, mine.turn) == (theirs.game.id, theirs.cells, theirs.turn)
        assert mine.history == theirs.history and "AB[" in file.read_text()


def test_gtp_analyses_until_the_next_command() -> None:
    talk = Talk("tic_tac_toe", "gtp", "mcts")
    talk.session.handle("1 lz-analyze b 1")
    talk.session.handle("2 name")
    assert talk.said[0] == "=1" and talk.said[-1] == "=2 Meijin\n"
    info = next(line for line in talk.said if line.startswith("info move "))
    assert {"visits", "winrate", "prior", "lcb", "order", "pv"} <= set(info.split())


def test_gtp_of_othello_passes_and_counts_discs() -> None:
    talk = Talk("othello", "gtp")
    assert talk("list_games", "boardsize 8", "play b f5") == ["= Othello", "=", "="]
    assert talk("play w a1") == ["? illegal move"]
    assert talk("final_score") == ["? cannot score"]


def test_cecp_plays_both_variants() -> None:
    talk = Talk("minishogi", "cecp")
    features = " ".join(talk("xboard", "protover 2"))
    assert 'variants="minishogi,5x5+5_shogi"' in features and features.endswith("feature done=1")
    for variant in ("minishogi", "5x5+5_shogi"):
        assert talk("new", f"variant {variant}")[0].startswith("setup (")
    assert talk("new", "variant chess")[0].startswith("Error (unsupported variant)")
    said = talk("new", "post", "usermove a2a3", "ping 4")
    assert said[-2].startswith("move ") and said[-1] == "pong 4"
    assert talk("usermove e5e1")[0] == "Illegal move: e5e1"
    assert talk("force", "undo", "undo", "undo")[0].startswith("Error (no moves to undo)")
    assert talk.session.state == State(make("minishogi"))


def test_cecp_claims_the_result() -> None:
    talk = Talk("minishogi", "cecp")
    talk("new", "force", "setboard k4/5/KG3/5/5[G] w 0 1")
    assert talk("usermove G@a4") == ["1-0 {checkmate}"]
    assert talk("setboard nonsense")[0].startswith("tellusererror Illegal position")


def test_nboard_answers_for_a_game() -> None:
    talk = Talk("othello", "nboard")
    game = make("othello")
    state = State(game).play_line("f5d6c3")
    assert talk("nboard 2")[0].startswith("set myname Meijin")
    talk(f"set game {write_ggf(state)}")
    assert talk.session.state == state and read_ggf(game, write_ggf(state)) == state
    said = talk("go", "ping 3")
    assert any(re.match(r"=== [A-H][1-8]/", line) for line in said) and said[-1] == "pong 3"
    talk("move D3/1.0/0.5")
    assert len(talk.session.state.history) == 4
    assert any(line.startswith("search ") for line in talk("hint 2"))


def test_minishogi_is_written_as_xboard_does() -> None:
    game = make("minishogi")
    on_board = [m.name for m in game.moves if re.fullmatch(r"[1-5][a-e][1-5][a-e]\+?|[A-Z]\*[1-5][a-e]", m.name)]
    assert all(usi_move(xboard_move(name)) == name for name in on_board)
    assert xboard_move("5d5c") == "a2a3" and xboard_move("P*3c") == "P@c3"
    text = "4k/5/+P4/5/K4 w R2s 1"
    assert fen(text) == "4k/5/+P4/5/K4[Rss] b 0 1"
    assert State.from_position(game, sfen(fen(text))) == State.from_position(game, text)


# ---- nothing ends a conversation but its end ----

WORDS = re.findall(
    r"\S+",
    """
usi ugi isready position startpos sfen fen moves go stop ponderhit ponder nodes infinite byoyomi btime 0 -1 1e9 quit
99999999999999999999 setoption name value MultiPV Agent mcts( random protover 2 new variant minishogi force usermove
a2a3 P@c3 setboard k4/5/5/5/4K[-] w ping undo remove level st sd time post analyze exit ? . result boardsize komi play
b w pass genmove clear_board time_settings time_left lz-analyze kata-analyze final_score fixed_handicap loadsgf printsgf
known_command nboard set game (;GM[Othello] depth move F5 hint query gameover result \xff é
""",
)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_input_breaks_a_session(protocol: str) -> None:
    draw = random.Random(5)
    for _ in range(60):
        sent = []
        for _ in range(draw.randrange(1, 12)):
            if draw.random() < 0.2:
                sent.append(draw.randbytes(draw.randrange(200)).replace(b"\n", b""))
            else:
                sent.append(" ".join(draw.choices(WORDS, k=draw.randrange(1, 8))).encode())
        sent.append(b"go " + b"x" * 50_000 if draw.random() < 0.1 else b"name")
        said: list[str] = []
        session = open_session(GAMES[protocol], "random", protocol, said.append)
        for line in lines(io.BytesIO(b"\n".join(sent))):
            if not session.handle(line):
                break
        session.close()
        assert not any("Traceback" in line for line in said)


def test_a_huge_line_is_one_line() -> None:
    assert [len(line) for line in lines(io.BytesIO(b"a" * 100_000 + b"\nb\r\n"))] == [10_000, 1]


@pytest.mark.parametrize(
    ("game", "protocol", "problem"),
    [
        ("tic_tac_toe", "cecp", "use gtp or ugi"),
        ("go", "nboard", "is for othello"),
        ("tic_tac_toe", "uci", "unknown protocol 'uci'"),
        ("2048", "gtp", "use ugi"),
    ],
)
def test_a_protocol_that_does_not_fit_is_an_error(game: str, protocol: str, problem: str) -> None:
    with pytest.raises(MeijinError, match=re.escape(problem)):
        open_session(game, "random", protocol, print)


def test_the_command_keeps_its_output_clean(tmp_path: Path) -> None:
    noisy = tmp_path / "noisy.py"
    noisy.write_text(
        "from meijin.agents.catalogue import agents\nfrom meijin.agents.random import Random\n"
        "class Noisy(Random):\n    def think(self, *given):\n        print('NOISE')\n"
        "        yield from super().think(*given)\n"
        "agents.register('noisy', Noisy)\n"
    )
    command = [sys.executable, "-m", "meijin", "engine", "tic_tac_toe", "--load", str(noisy), "--agent", "noisy"]
    command += ["--protocol", "gtp"]
    sent = "1 genmove b\n2 quit\n"
    done = subprocess.run(command, input=sent, capture_output=True, text=True, timeout=60, check=False)
    assert re.fullmatch(r"=1 [A-C][1-3]\n\n=2\n\n", done.stdout), done.stderr
    assert "NOISE" in done.stderr and done.returncode == 0
