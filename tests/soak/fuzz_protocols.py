"""Hostile boards and hostile engines: random bytes, huge lines, commands out of order, and an end anywhere.

    MEIJIN_JIT=0 python tests/soak/fuzz_protocols.py --mutations 20000 --seed 1

Laws. A session of ours answers whatever a board sends, in the form of its protocol, and ends with the input; `handle`
raises nothing. A client of ours returns a legal move or raises a `MeijinError` that can be printed, whatever an engine
answers. None of them hangs.
"""

from __future__ import annotations

import io
import random
import re
import signal
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from soaking import soak

from meijin.agents.catalogue import build
from meijin.core.agent import Limit
from meijin.core.catalogue import make
from meijin.core.errors import MeijinError
from meijin.core.state import State
from meijin.games import go
from meijin.protocols.client import cecp, external, gtp, nboard, ugi
from meijin.protocols.client.process import LONGEST, Process
from meijin.protocols.engine import PROTOCOLS, open_session
from meijin.protocols.engine.serving import lines

HANGS = 60  # seconds
GAMES = {
    "gtp": ("go(size=3)", "othello(size=4)", "hex(size=3, swap=True)", "tic_tac_toe"),
    "usi": ("minishogi",),
    "ugi": ("tic_tac_toe", "2048(size=2)", "nim"),
    "cecp": ("minishogi",),
    "nboard": ("othello",),
}
AGENTS = ("random", "random", "mcts(simulations=2)", "mcts(seconds=0.01)")
SLOW = ("minishogi", "othello")  # interpreted playouts take seconds there
#: Lines that boards really send; mutations begin with these.
TALKS = {
    "gtp": """protocol_version|name|version|list_commands|known_command genmove|boardsize 3|boardsize 99|clear_board
komi 0.5|komi nan|play b a1|play w pass|play b resign|play w C3|genmove b|genmove w|reg_genmove b|undo|showboard
final_score|final_status_list dead|time_settings 0 1 1|time_settings 1 0 0|time_left b 1 0|time_left w -5 x|printsgf
loadsgf /nowhere|lz-analyze b 1|kata-analyze 1|kata-analyze interval 1 w|lz-genmove_analyze b 1|kgs-genmove_cleanup w
fixed_handicap 2|set_free_handicap A1 B2|set_game Othello|list_games|quit|# comment|17 genmove b|genmove|play b""",
    "usi": """usi|isready|usinewgame|position startpos|position startpos moves 3e3d 2a3b|go nodes 3|go btime 1 wtime 1
position sfen 4k/5/5/5/K3R b - 1|position sfen 4k/5/5/5/K3R b - 1 moves 1e1d|go byoyomi 1|go infinite|stop|ponderhit
go ponder btime 100 wtime 100|go movetime 1|go mate infinite|gameover win|setoption name MultiPV value 3|quit
setoption name Agent value random|setoption name Agent value mcts(|setoption name USI_Ponder value true|go depth 1
setoption|position|go|position startpos moves|setoption name UCI_Variant value shogi|go btime 0 wtime 0 byoyomi 0""",
    "ugi": """ugi|isready|uginewgame|position startpos|position startpos moves a1 b2|position fen nonsense|go nodes 3
go p1time 1 p2time 1|go infinite|stop|query gameover|query result|query p1turn|query|setoption name MultiPV value 9|quit
go movetime 1|position startpos moves up left|position startpos moves 1|go p1time 10 p2time 10 p1inc 1 movestogo 0""",
    "cecp": """xboard|protover 2|new|variant minishogi|variant chess|force|go|playother|usermove a2a3|usermove P@c3
usermove e5e4|a2a3|?|ping 1|ping 99999999999999999999|setboard k4/5/5/5/4K[-] w 0 1|setboard x|undo|remove|level 40 5 0
level 0 0:01 0.1|st 1|st x|sd 2|time 10|otim 10|post|nopost|hard|easy|analyze|exit|.|option Agent=random|option X=1
result 1-0 {mate}|accepted setboard|rejected x|computer|name x|draw|hint|quit|level 0 5|memory 5|cores 2|random""",
    "nboard": """nboard 2|nboard 9|set depth 1|set depth x|set contempt 3|set time 1 2 3|ping 1|go|hint 3|hint x|move D3
move PA|move F5/1.0/2|learn|analyze|quit|set game (;GM[Othello]BO[8 x *];)|set|set game|set game (;GM[Othello]BO[];)
set game (;GM[Othello]BO[8 ---------------------------O*------*O--------------------------- *]B[F5]W[D6];)""",
}
BYTES = (
    b"\0", b"\xff\xfe", b"\xc3(", b"\x1b[2J", b"\r", b"\t", b"\x0c", b" " * 500, b"-1", b"9" * 400, b"nan", b"1e999",
    b"\xd9\xa3", b"=", b"?", b"#", b"(" * 300, b"%s%n", b"\\", b'"', b"'", b"..", b"\xe2\x80\xa8", b"+", b"@",
    b"0" * 12_000,
)  # fmt: skip


def mutated(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    match rng.randrange(7):
        case 0:
            return data[:at] + rng.choice(BYTES) + data[at:]
        case 1:
            return rng.randbytes(rng.randrange(60)).replace(b"\n", b"")
        case 2:
            return data[:at]
        case 3:
            return data[:at] + data[at + 1 + rng.randrange(4) :]
        case 4:
            words = data.split(b" ")
            rng.shuffle(words)
            return b" ".join(words)
        case 5:
            return re.sub(rb"-?\d+", lambda _: rng.choice((b"-1", b"0", b"1", b"99999999999", b"1.5", b"x")), data)
        case _:
            return data + b" " + data * rng.choice((1, 2, 300))


# ---- boards ----


def board(rng: random.Random) -> tuple[str, str]:
    protocol = rng.choice(list(PROTOCOLS))
    known = [line.encode() for line in re.split(r"[|\n]", TALKS[protocol])]
    sent = []
    for _ in range(rng.choice((1, 3, 8, 20))):
        line = rng.choice(known)
        for _ in range(rng.choice((0, 0, 1, 1, 3))):
            line = mutated(line, rng)
        if not re.match(rb"time_.*99999", line):  # GTP cannot stop an engine that was given years
            sent.append(line)
    said: list[str] = []
    data = rng.choice((b"\n", b"\n", b"\r\n")).join(sent) + rng.choice((b"", b"\n", b"\0"))
    try:
        game = rng.choice(GAMES[protocol])
        agent = rng.choice(AGENTS[:2] if game in SLOW else AGENTS)
        session = open_session(game, agent, protocol, said.append)
        for line in lines(io.BytesIO(data)):
            if not session.handle(line):
                break
            if rng.random() < 0.5:
                session.wait(0.05)
        session.close()
        for text in said:
            text.encode()
            if protocol == "gtp" and not re.match(r"[=?]\d*(\s|\Z)|info |play |\Z", text):
                raise AssertionError(f"not an answer of GTP: {text[:80]!r}")
            if protocol != "gtp" and "\n" in text:
                raise AssertionError(f"two lines in one answer: {text[:80]!r}")
    except BaseException as error:
        error.add_note(f"{protocol}: {data[:3000]!r}")
        raise
    return f"{protocol} engine", "answered" if said else "silent"


# ---- engines ----


class Fake(Process):
    """An engine that says the lines of a script, whatever it is sent, and then ends."""

    script: ClassVar[deque[str]] = deque()

    def __init__(self, command: str, memory_mb: int = 0):
        self.name, self._open, self._errors = "fake", True, deque(["its last words"])

    def send(self, *lines: str) -> None:
        if not self.script:
            raise self.failure("ended")

    def line(self, deadline: float) -> str | None:
        if not self.script:
            raise self.failure("ended")
        found = self.script.popleft()
        if found == "(silence)":  # time passes
            time.sleep(max(0.0, min(0.01, deadline - time.monotonic())))
            return None
        return found

    def failure(self, problem: str) -> Any:
        self._open = False
        return external.EngineError(f"engine fake {problem}")

    @property
    def alive(self) -> bool:
        return self._open

    def close(self, goodbye: str = "") -> None:
        self._open = False


CLIENTS = {
    "gnugo": ("go(size=5)", f'gtp("{sys.executable}", timeout=0.05)'),
    "grhino": ("othello", f'gtp("{sys.executable}", timeout=0.05)'),
    "fairy-stockfish-usi": ("minishogi", f'usi("{sys.executable}", variant="minishogi", timeout=0.05)'),
    "fairy-stockfish-cecp": ("minishogi", f'cecp("{sys.executable}", depth=2, timeout=0.05)'),
    "sjaakii": ("minishogi", f'cecp("{sys.executable}", depth=2, timeout=0.05)'),
    "nboard": ("othello", f'nboard("{sys.executable}", timeout=0.05)'),
    "ugi": ("tic_tac_toe", f'ugi("{sys.executable}", timeout=0.05)'),
    "pipe": ("tic_tac_toe", f'pipe("{sys.executable}", timeout=0.05)'),
}
SCRIPTS = {
    "nboard": ["set myname x", "pong 1", "status", "pong 2", "=== F5/1.5/0.1", "pong 2", "=== PA", "search F5 0.1 0 3"],
    "ugi": ["id name x", "ugiok", "readyok", "info depth 3 score cp 5 nodes 9 pv b2 a1", "bestmove b2",
            "info depth 1 multipv 2 score mate -3 pv a1", "bestmove a1 ponder b2"],
    "pipe": ["b2", "", "a1 and more"],
}  # fmt: skip


def transcript(name: str) -> list[str]:
    file = Path(__file__).parents[1] / "transcripts" / f"{name}.txt"
    return [line[2:] for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("< ")]


def engine(rng: random.Random) -> tuple[str, str]:
    name = rng.choice(list(CLIENTS))
    game, expression = CLIENTS[name]
    script = list(SCRIPTS.get(name) or transcript(name))
    for _ in range(rng.choice((0, 1, 1, 2, 5, 20))):
        at, to = rng.randrange(len(script) + 1), rng.randrange(len(script) + 1)
        match rng.randrange(6):
            case 0:
                script.insert(at, rng.choice(script) if script else "")
            case 1:
                script[at : at + rng.randrange(5)] = []
            case 2 if script:
                at %= len(script)
                line = mutated(script[at].encode(), rng).decode("utf-8", "replace")
                script[at] = line[:LONGEST].replace("\n", " ")
            case 3:
                script.insert(at, rng.choice(("(silence)", "x" * LONGEST, "= \n", "", "resign", "bestmove", "move ")))
            case 4 if script:
                script[at % len(script)], script[to % len(script)] = script[to % len(script)], script[at % len(script)]
            case _:
                script = script[: max(at, to)]
    Fake.script = deque(script)
    state = State(make(game))
    try:
        with build(expression, state.game) as agent:
            for _ in range(rng.choice((1, 3, 6))):
                for analysis in agent.watch(state, rng.choice((Limit(), Limit(seconds=0.02), Limit(depth=1))), 0.01):
                    str(analysis)
                state.play(analysis.best)  # raises unless it is legal
                if state.is_over:
                    break
    except MeijinError as error:
        str(error).encode()
        return f"{name} client", "refused"
    except BaseException as error:
        error.add_note(f"{name}: {script!r}"[:3000])
        raise
    return f"{name} client", "played"


def main() -> int:
    external.Process = Fake  # type: ignore[misc]
    judged = go.dead_stones
    go.dead_stones = lambda state, playouts: judged(state, playouts=1)  # 300 interpreted playouts take a minute
    for module in (external, cecp, gtp, nboard, ugi):  # no engine here needs long
        for limit in ("STARTUP", "OLD", "LATE"):
            if hasattr(module, limit):
                setattr(module, limit, 0.05)

    def hang(number: int, frame: Any) -> None:
        raise TimeoutError(f"hangs for {HANGS} s")

    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, hang)
    tries: tuple[Callable[[random.Random], tuple[str, str]], ...] = (board, engine)

    def attempt(rng: random.Random) -> tuple[str, str]:
        if hasattr(signal, "alarm"):
            signal.alarm(HANGS)
        try:
            return rng.choice(tries)(rng)
        finally:
            if hasattr(signal, "alarm"):
                signal.alarm(0)

    return soak(__doc__, 20_000, attempt)


if __name__ == "__main__":
    sys.exit(main())
