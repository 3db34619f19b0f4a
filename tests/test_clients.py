"""Other people's engines as agents: real ones, and ones that misbehave."""

from __future__ import annotations

import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import xboard
from meijin.agents.catalogue import build
from meijin.arena.judges import PlayRules
from meijin.arena.match import match
from meijin.core.agent import Analysis, Limit
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.state import State
from meijin.protocols.client.process import GAMES, EngineError, Process, split

BAD = Path(__file__).with_name("bad_engine.py")
MOCK = f"{sys.executable} -m meijin engine"


def needs(program: str) -> str:
    found = shutil.which(program) or shutil.which(program, path=GAMES)
    if found is None:
        package = {"Xvfb": "xvfb", "gtp-rhino": "grhino"}.get(program, program)
        pytest.skip(f"needs {program}: apt-get install {package}")
    return found


def bad(mistake: str, timeout: float = 60.0) -> str:
    return f'gtp("{sys.executable} {BAD} {mistake}", timeout={timeout})'


def gone(pid: int) -> bool:
    """Whether a process ends within a few seconds; one that nobody has waited for counts as ended."""
    for _ in range(300):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


# ---- misbehaviour ----


@pytest.mark.parametrize(
    ("mistake", "timeout", "reason"),
    [
        ("hang", 0.5, "gave no answer to genmove"),
        ("illegal", 60.0, "answered 'z9', which is not a legal move"),
        ("flood", 0.5, "gave no answer to genmove"),
        ("die", 60.0, "ended (exit status 3): out of luck"),
    ],
)
def test_a_bad_engine_loses_its_game_and_is_named(mistake: str, timeout: float, reason: str) -> None:
    found = match("tic_tac_toe", [bad(mistake, timeout), "random"], 2)
    assert found.standings[0].forfeits == 2 and found.standings[1].forfeits == 0
    assert all(reason in text and text.startswith("gtp(") for text in found.forfeits)


def test_the_error_names_the_engine_and_the_next_thought_starts_it_again() -> None:
    agent, state = build(bad("die")), State(make("tic_tac_toe"))
    for _ in range(2):
        with pytest.raises(EngineError, match=re.escape("ended (exit status 3): out of luck")):
            agent.act(state)


def test_an_engine_that_hangs_leaves_no_process() -> None:
    process = Process(f"{sys.executable} {BAD} hang")
    process.send("genmove b")
    while not process._errors:
        time.sleep(0.01)
    pids = [int(word) for word in process._errors[0].split()[1:]]
    process.close("quit")
    assert all(map(gone, pids))


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_an_engine_ends_with_its_owner_however_that_dies() -> None:
    code = (
        "import time; from meijin.protocols.client.process import Process\n"
        f"p = Process({f'{sys.executable} {BAD} hang'!r}); p.send('genmove b')\n"
        "while not p._errors: time.sleep(0.01)\n"
        "print(p._errors[0], flush=True); time.sleep(1000)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        pids = [int(word) for word in owner.stdout.readline().split()[1:]]
        owner.send_signal(signal.SIGKILL)
    assert len(pids) == 2 and all(map(gone, pids))


def test_a_worker_that_is_killed_takes_its_engine_along() -> None:
    rules = PlayRules(move_timeout=0.5, startup_grace=3.0)
    found = match("tic_tac_toe", [bad("hang"), "random"], 1, workers=1, rules=rules)
    assert found.standings[0].forfeits == 1
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    for _ in range(300):
        if str(BAD) not in listed:
            break
        time.sleep(0.01)
        listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(BAD) not in listed


def test_an_engine_that_never_shakes_hands_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("meijin.protocols.client.gtp.STARTUP", 0.3)
    with pytest.raises(EngineError, match="gave no answer to list_commands within"):
        build(bad("silent")).act(State(make("tic_tac_toe")))


def test_memory_can_be_bounded() -> None:
    process = Process(f"{sys.executable} -c \"x = bytearray(10**9); print('got it')\"", memory_mb=500)
    with pytest.raises(EngineError, match="ended"):
        process.until(lambda line: line == "got it", 10, "start")


def test_systems_that_cannot_bound_memory_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("meijin.protocols.client.external.POSIX", False)
    with pytest.raises(BadParameter, match="memory can only be bounded on Linux and macOS"):
        build(f'gtp("{sys.executable}", memory_mb=100)')


def test_windows_paths_keep_their_backslashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("meijin.protocols.client.process.POSIX", False)
    monkeypatch.setattr("shutil.which", lambda name, path=None: name)
    assert split('"C:\\Go Engines\\gnugo.exe" --mode gtp') == ["C:\\Go Engines\\gnugo.exe", "--mode", "gtp"]


def test_no_shell_reads_a_command(tmp_path: Path) -> None:
    assert split("echo $HOME '*' ; rm")[1:] == ["$HOME", "*", ";", "rm"]
    with pytest.raises(BadParameter, match="there is no program 'no-such-engine'"):
        build('gtp("no-such-engine --mode gtp")')
    with pytest.raises(BadParameter, match="No closing quotation"):
        split("gnugo 'x")


def test_a_program_without_a_protocol_plays_through_a_pipe(tmp_path: Path) -> None:
    bot = tmp_path / "bot.py"
    bot.write_text("import sys\nfor line in sys.stdin:\n    print(line.split()[-1], flush=True)\n    break\n")
    found = match("tic_tac_toe", [f'pipe("{sys.executable} {bot}", "{{seat}} {{position}} {{legal}}")', "random"], 1)
    assert not found.forfeits and found.games == 1
    with pytest.raises(BadParameter, match="'board' is not one of"):
        build(f'pipe("{sys.executable}", "{{board}}")')


# ---- our own engines, through the same clients ----


@pytest.mark.parametrize(
    ("game", "protocol", "client"),
    [
        ("tic_tac_toe", "ugi", "ugi"),
        ("minishogi", "usi", "usi"),
        ("go(size=5)", "gtp", "gtp"),
        ("minishogi", "cecp", "cecp"),
        ("othello", "nboard", "nboard"),
    ],
)
def test_every_client_understands_our_engine(game: str, protocol: str, client: str) -> None:
    command = f"{MOCK} '{game}' --protocol {protocol} --agent random"
    state = State(make(game))
    with build(f'{client}("{command}")', state.game) as agent:
        for _ in range(3):
            state.play(agent.act(state))
        state.undo()
        state.undo()
        state.play(agent.act(state, Limit(seconds=1)))
        assert len(state.history) == 2


# ---- programs that others wrote ----


def test_gnugo_and_our_rules_agree_on_a_game() -> None:
    needs("gnugo")
    command = "gnugo --mode gtp --level 1 --chinese-rules --positional-superko --never-resign --seed 1"
    game = make("go(size=5)")
    state = State(game)
    with build(f'gtp("{command}")', game) as black, build(f'gtp("{command} --level 2")', game) as white:
        while not state.is_over:
            state.play((black, white)[state.turn].act(state))
        said = black._tell(black._process, "final_score", 10)  # type: ignore[attr-defined]
    from meijin.games.go import dead_stones, final_score

    lead = final_score(state, dead_stones(state))
    assert said == f"{'B' if lead > 0 else 'W'}+{abs(lead):.1f}"


def test_grhino_plays_othello() -> None:
    needs("gtp-rhino")
    found = match("othello", ['gtp("gtp-rhino -l 1")', "random"], 2, workers=1)
    assert (
        found.standings[0].total.wins == 2 and not found.forfeits
    )  # a strong engine: random wins less than once in 10^4 games


def test_fairy_stockfish_plays_minishogi_by_usi() -> None:
    needs("fairy-stockfish")
    game = make("minishogi")
    with build('usi("fairy-stockfish", variant="minishogi", nodes=2000)', game) as agent:
        mate = State.from_position(game, "4k/5/3GG/5/K4 b - 1")
        analysis = agent.analyse(mate)
        assert analysis.proven and analysis.value == (1.0, -1.0)
        mate.play(analysis.best)
        assert mate.is_over and mate.ending == "checkmate"
    found = match("minishogi", ['usi("fairy-stockfish", variant="minishogi", nodes=500)', "random"], 2, workers=1)
    assert found.standings[0].total.wins == 2 and not found.forfeits


def test_fairy_stockfish_follows_a_game_into_repetition() -> None:
    """Its analyses go on until our rules end the game: at the fourth repetition the first player loses."""
    needs("fairy-stockfish")
    state = State(make("minishogi"))
    with build('usi("fairy-stockfish", variant="minishogi", nodes=100)', state.game) as agent:
        while not state.is_over:
            assert agent.act(state) in state.legal_moves
            state.play(("4e4d", "2a2b", "4d4e", "2b2a")[len(state.history) % 4])
    assert len(state.history) == 12 and state.scores == (-1.0, 1.0)


def test_an_engine_that_is_too_slow_loses_on_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEIJIN_JIT", "0")  # it would only compile its search
    slow = f'usi("{MOCK} minishogi --protocol usi --agent mcts(seconds=60)", timeout=0.2)'
    found = match("minishogi", [slow, "random"], 1)
    assert found.standings[0].forfeits == 1
    assert all("gave no answer to" in reason for reason in found.forfeits)


def watched(agent: str, game: str) -> list[Analysis]:
    """Analyses of an endless thought, which is stopped after the second."""
    state, found = State(make(game)), []
    with build(agent, state.game) as made:
        for analysis in made.watch(state, Limit(seconds=math.inf), 0.01):
            found.append(analysis)
            if len(found) == 2:
                made.stop()
    assert all(analysis.best in state.legal_moves for analysis in found)
    return found


@pytest.mark.parametrize("agent", ['usi("fairy-stockfish", variant="minishogi")', 'cecp("fairy-stockfish")'])
def test_an_endless_thought_of_an_engine_is_shown_and_can_be_stopped(agent: str) -> None:
    needs("fairy-stockfish")
    found = watched(agent, "minishogi")
    assert len(found) >= 3 and found[-1].depth >= found[0].depth and found[0].value is not None


@pytest.mark.parametrize(("game", "protocol"), [("tic_tac_toe", "gtp"), ("tic_tac_toe", "ugi")])
def test_our_engines_show_what_they_think(game: str, protocol: str) -> None:
    found = watched(f'{protocol}("{MOCK} {game} --protocol {protocol} --agent mcts")', game)
    assert len(found) >= 3 and found[-1].value is not None and len(found[-1].pv) > 1


def test_an_engine_ponders_until_it_must_move() -> None:
    needs("fairy-stockfish")
    state = State(make("minishogi"))
    with build('usi("fairy-stockfish", variant="minishogi", nodes=100)', state.game) as agent:
        state.play(agent.act(state))
        agent.ponder(state)
        state.play("2a3b")
        assert agent.act(state) in state.legal_moves


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["sjaakii", "fairy-stockfish"])
def test_cecp_engines_play_minishogi(engine: str) -> None:
    needs(engine)
    game = make("minishogi")
    with build(f'cecp("{engine}", depth=2)', game) as agent:
        state = State.from_position(game, "4k/5/3GG/5/K4 b - 1")
        state.play(agent.act(state))
        state = State(game)
        for _ in range(6):
            state.play(agent.act(state))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("opponent", "variant", "agent"),
    [
        ("fairy-stockfish", "minishogi", "random"),
        ("sjaakii", "5x5+5_shogi", "random"),
        *(
            pytest.param(opponent, variant, "alphabeta(depth=3)", marks=pytest.mark.soak)
            for opponent, variant in (
                ("fairy-stockfish", "minishogi"),  # it does not know the other name
                ("sjaakii", "minishogi"),
                ("sjaakii", "5x5+5_shogi"),
            )
        ),
    ],
)
def test_xboard_plays_a_match_with_our_engine(opponent: str, variant: str, agent: str, tmp_path: Path) -> None:
    pgn = xboard.play(needs("xboard"), needs("Xvfb"), needs(opponent), variant, agent, tmp_path)
    results = xboard.replayed(pgn)
    assert len(results) == 2 and all(said == ours for said, ours in results), pgn
    assert "illegal" not in pgn.lower() and "forfeit" not in pgn.lower(), pgn


def test_agents_that_run_programs_are_not_for_strangers() -> None:
    from meijin.web.server.work.permits import Permits

    permits = Permits("runs", ('gtp("gnugo --mode gtp")',), 100, 1)
    with pytest.raises(MeijinError, match="cannot be used here"):
        permits.bounded('gtp("rm -rf /")')
    assert str(permits.bounded('gtp("gnugo --mode gtp")')) == 'gtp("gnugo --mode gtp")'
