"""Analyses over the socket: streams that come, end, stop, wait their turn, and are refused with a reason."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from meijin.web.server import schema
from meijin.web.server.settings import Limits
from serving import Server, Talk, serving

MANUAL = Path(__file__).parents[1] / "docs" / "web.md"
START = {"game": "connect_four", "moves": []}
ENDLESS = {"at": START, "agent": "mcts", "limit": {"seconds": 3600}, "every": 0.05}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    limits = Limits(analyses=2, analyses_each=3)
    with serving(tmp_path_factory.mktemp("server"), limits=limits, agents=("mcts(simulations=7)",)) as made:
        yield made


def stream(talk: Talk, **fields: Any) -> list[dict[str, Any]]:
    """All replies to a request for an analysis."""
    number = talk.say("analyse", **fields)
    found = [talk.until(lambda m: m["id"] == number)]
    while found[-1]["type"] == "analysis":
        found.append(talk.until(lambda m: m["id"] == number))
    return found


def test_an_analysis_comes_step_by_step_and_ends(server: Server) -> None:
    with server.socket() as talk:
        *analyses, done = stream(talk, at=START, agent="mcts", limit={"seconds": 0.3}, every=0.05)
    assert done["type"] == "done" and len(analyses) >= 2
    for analysis in analyses:
        schema.Analysis.model_validate(analysis)
    assert [analysis["final"] for analysis in analyses] == [False] * (len(analyses) - 1) + [True]
    last = analyses[-1]
    assert last["turn"] == 0 and {info["move"] for info in last["moves"]} == set(range(7))
    assert last["simulations"] >= analyses[0]["simulations"] > 0


def test_an_analysis_stops_when_told(server: Server) -> None:
    with server.socket() as talk:
        number = talk.say("analyse", **ENDLESS)
        talk.until(lambda m: m["type"] == "analysis")
        talk.say("stop", target=number)
        talk.until(lambda m: m["id"] == number and m["type"] == "done")
        assert stream(talk, at=START, agent="mcts(simulations=10)")[-1]["type"] == "done"


def test_who_leaves_makes_room_for_those_who_wait(server: Server) -> None:
    with server.socket() as waiting:
        with server.socket() as greedy:
            for number in [greedy.say("analyse", **ENDLESS) for _ in range(2)]:  # all places there are
                greedy.until(lambda m, number=number: m["id"] == number)
            number = waiting.say("analyse", at=START, agent="mcts(simulations=10)")
            assert waiting.ask("ping")["type"] == "pong"
        assert waiting.until(lambda m: m["id"] == number)["type"] == "analysis"


def test_a_person_moves_while_analyses_run(server: Server) -> None:
    made = server.post("tables", game="connect_four", seats=[{"kind": "person"}, {"kind": "agent", "agent": "random"}])
    with server.socket() as busy, server.socket() as talk:
        for number in [busy.say("analyse", **ENDLESS) for _ in range(2)]:
            busy.until(lambda m, number=number: m["id"] == number)
        talk.say("join", table=made["id"])
        talk.say("play", table=made["id"], move=3, ply=0)
        talk.until(lambda m: m["type"] == "table" and len(m["table"]["moves"]) == 2)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"agent": "mtcs"}, "unknown"),
        ({"agent": "human"}, "bad"),
        ({"agent": "heuristic"}, "bad"),  # Connect Four has none
        ({"agent": 'zero("/etc/passwd")'}, "bad"),
        ({"agent": 'zero("../../etc")'}, "bad"),
        ({"agent": 'mcts(playout="/etc/passwd")'}, "bad"),
        ({"agent": "mcts(simulations=-1)"}, "bad"),
        ({"agent": "nply(nply(nply(nply(nply(random)))))"}, "bad"),
        ({"agent": "__import__('os')"}, "unknown"),
        ({"limit": {"seconds": -1}}, "bad"),
        ({"limit": {"minutes": 1}}, "bad"),
        ({"at": {"game": "connect_four", "moves": [3] * 7}}, "illegal"),
        ({"at": {"game": "tic_tac_toe", "moves": [0, 3, 1, 4, 2]}}, "bad"),  # the game is over
        ({"at": {"game": "connect_four", "moves": [], "position": "#0100"}}, "bad"),
        ({"every": 0}, "bad"),
    ],
)
def test_what_cannot_be_analysed_is_refused(server: Server, fields: dict[str, Any], code: str) -> None:
    with server.socket() as talk:
        (reply,) = stream(talk, **{"at": START, "agent": "mcts(simulations=10)", **fields})
    assert reply["type"] == "error" and reply["code"] == code and reply["message"], reply


def test_a_client_has_only_so_many_analyses(server: Server) -> None:
    with server.socket() as talk:
        numbers = [talk.say("analyse", **ENDLESS) for _ in range(4)]
        refused = talk.until(lambda m: m["type"] == "error")
    assert refused["id"] == numbers[-1] and refused["code"] == "limit"


def test_agents_that_the_server_offers_are_listed(server: Server) -> None:
    assert "mcts(simulations=7)" in [agent["name"] for agent in server.get("agents", game="connect_four")]
    with server.socket() as talk:
        assert stream(talk, at=START, agent="mcts(simulations=7)")[-2]["simulations"] == 7


# ---- the page of the manual ----


def test_the_python_of_the_manual_runs(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", MANUAL.read_text(encoding="utf-8"), re.DOTALL)
    exec(block.replace("localhost:8000", server.address).replace('"seconds": 2', '"simulations": 50'), {})
    assert "simulations: move" in capsys.readouterr().out


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_commands_of_the_manual_run(server: Server) -> None:
    lines = (
        MANUAL.read_text(encoding="utf-8").replace("\\\n", " ").replace("localhost:8000", server.address).splitlines()
    )
    commands = [shlex.split(line, comments=True) for line in lines if line.startswith("curl")]
    assert len(commands) == 5
    for command in commands:
        json.loads(subprocess.run([*command, "--fail-with-body"], capture_output=True, text=True, check=True).stdout)
