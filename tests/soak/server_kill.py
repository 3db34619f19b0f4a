"""A server that is killed again and again (SIGKILL) in the middle of games, a tournament and a training run.

    python tests/soak/server_kill.py [--kills 20] [--seed 1] [games] [tournament] [training]

Laws, after every restart: every move that was answered is there, and games go on; no game of a tournament is lost or
played twice, and it comes to its end; a run goes on from its newest checkpoint and ends with every iteration once. No
worker outlives its server.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

PATIENCE = 120.0  # seconds for anything to happen


class Victim:
    """A server in a process of its own, started again on the same files after each kill."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None
        self.http = httpx.Client()

    def start(self) -> None:
        command = [sys.executable, "-m", "meijin", "serve", "--port", "0", "--data", str(self._folder / "data")]
        command += ["--runs", str(self._folder / "runs")]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        assert self._process.stdout is not None
        address = self._process.stdout.readline().split()[3]
        self.http = httpx.Client(base_url=address, timeout=PATIENCE)
        _wait(self._alive, "the server answers")

    def _alive(self) -> bool:
        try:
            return self.http.get("/api/features").status_code == 200
        except httpx.TransportError:
            return False

    def kill(self) -> None:
        """End it without a warning; its workers must notice."""
        if self._process is None:
            return
        workers = _children(self._process.pid)
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._process = None
        self.http.close()
        _wait(lambda: not any(_running(pid) for pid in workers), "its workers end")

    def get(self, path: str) -> Any:
        return self._checked(self.http.get(f"/api/{path}"))

    def post(self, path: str, **body: Any) -> Any:
        return self._checked(self.http.post(f"/api/{path}", json=body))

    def _checked(self, response: httpx.Response) -> Any:
        assert response.status_code == 200, response.text
        return response.json()


def _children(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
            if parent == pid:
                found += [int(entry.name), *_children(int(entry.name))]
    return found


def _running(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _wait(true: Callable[[], Any], what: str) -> None:
    until = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > until:
            raise AssertionError(f"waited {PATIENCE:.0f} s in vain until {what}")
        time.sleep(0.02)


# ---- games ----


def games(victim: Victim, kills: int, rng: random.Random) -> str:
    """People play against random agents at several tables while the server is killed."""
    victim.start()
    seats = [{"kind": "person"}, {"kind": "agent", "agent": "random"}]
    kinds = ("connect_four", "2048", "tic_tac_toe", "minishogi")
    made = [victim.post("tables", game=kind, seats=seats[: 1 if kind == "2048" else 2]) for kind in kinds]
    tables = {table["id"]: table["moves"] for table in made}  # what was answered so far
    moves = ended = 0
    for _ in range(kills):
        goal = moves + rng.randrange(1, 60)
        while moves < goal:
            for id_, known in tables.items():
                table = victim.get(f"tables/{id_}")
                assert table["moves"][: len(known)] == known, "a move is gone"
                if table["result"] is not None:
                    ended += 1
                    table = victim.post(f"tables/{id_}/undo", ply=len(table["moves"]))
                elif table["look"]["turn"] == 0:
                    table = victim.post(f"tables/{id_}/play", **_move(table, rng))
                    moves += 1
                tables[id_] = table["moves"]
        threading.Thread(target=_unheard, args=(victim, rng.choice(list(tables)), random.Random(moves))).start()
        time.sleep(rng.uniform(0, 0.02))  # some moves are being written just then
        victim.kill()
        victim.start()
        for id_, known in tables.items():
            now = victim.get(f"tables/{id_}")["moves"]
            assert now[: len(known)] == known, f"table {id_}: {known} became {now}"
    for id_ in tables:  # and on they go
        _wait(lambda id_=id_: victim.get(f"tables/{id_}")["look"]["turn"] in (0, -2), "the agent has moved")
    return f"{moves:,} moves at {len(tables)} tables, {ended} games ended; none lost"


def _move(table: dict[str, Any], rng: random.Random) -> dict[str, int]:
    return {"move": rng.choice(table["look"]["legal"]), "ply": len(table["moves"])}


def _unheard(victim: Victim, id_: str, rng: random.Random) -> None:
    """Play a move whose answer may never come."""
    with suppress(httpx.TransportError, AssertionError, IndexError, RuntimeError):  # the last: its client is closed
        victim.post(f"tables/{id_}/play", **_move(victim.get(f"tables/{id_}"), rng))


# ---- tournaments ----


def tournament(victim: Victim, kills: int, rng: random.Random) -> str:
    victim.start()
    entrants = [{"name": f"mc {n}", "expression": f"mc(simulations={n})"} for n in (200, 400, 800)]
    rounds = 40 * kills
    victim.post("tournaments", name="cup", games=["connect_four"], agents=entrants, rounds=rounds)
    played = 0
    for number in range(kills):
        goal = played + rng.randrange(1, 60)
        _wait(lambda goal=goal: victim.get("tournaments/cup")["played"] >= goal, "some games are played")
        time.sleep(rng.uniform(0, 0.3))
        seen = victim.get("tournaments/cup")
        victim.kill()
        victim.start()
        found = victim.get("tournaments/cup")
        assert found["played"] >= seen["played"], f"{seen['played']} games became {found['played']}"
        assert found["job"]["state"] == "running" or found["played"] == found["total"], found["job"]
        played = found["played"]
        if played == found["total"]:
            raise AssertionError(f"the tournament was over after {number + 1} kills; make it longer")
    victim.post("tournaments/cup/stop")
    _wait(lambda: victim.get("tournaments/cup")["job"]["state"] == "stopped", "it has stopped")
    numbers = _numbers(victim)
    assert max(Counter(numbers).values()) == 1, "a game was played twice"
    return f"{len(numbers):,} games over {kills} kills, none lost, none twice"


def _numbers(victim: Victim) -> list[int]:
    found: list[int] = []
    while True:
        page = victim.post("played", filters={"event": "cup"}, skip=len(found))
        found += [game["number"] for game in page["games"]]
        if len(found) >= page["count"]:
            return found


# ---- training ----


def training(victim: Victim, kills: int, rng: random.Random) -> str:
    victim.start()
    changes = {"length.keep": 10, "length.positions": 60, "replay.start": 10, "length.evaluate": 0}
    victim.post("runs", name="ttt", game="tic_tac_toe", preset="tiny", iterations=100_000, changes=changes)
    reached = 0
    for _ in range(kills):
        goal = reached + rng.randrange(1, 8)
        _wait(lambda goal=goal: _iteration(victim) >= goal, f"iteration {goal}")
        time.sleep(rng.uniform(0, 0.5))
        seen = _iteration(victim)
        victim.kill()
        victim.start()
        job = victim.get("runs/ttt")["job"]
        assert job["state"] == "running", job
        reached = _iteration(victim)
        assert reached >= seen - 1, f"iteration {seen} became {reached}"  # the newest checkpoint is at most one back
    last = reached + 2
    _wait(lambda: _iteration(victim) >= last, f"iteration {last}")
    victim.post("runs/ttt/stop")
    _wait(lambda: victim.get("runs/ttt")["job"]["state"] == "stopped", "it has stopped")
    run = victim.get("runs/ttt")
    rows = run["metrics"]["iteration"]
    assert rows == sorted(set(rows)) and rows[0] == 1 and rows[-1] == len(rows), (
        "an iteration is missing or there twice"
    )
    return f"{len(rows)} iterations over {kills} kills, each there once"


def _iteration(victim: Victim) -> int:
    response = victim.http.get("/api/runs/ttt")
    return int(response.json()["iteration"]) if response.status_code == 200 else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=["games", "tournament", "training", []], help="by default all")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--mutations", type=int, help=argparse.SUPPRESS)  # of the other soak tests
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(Path(__file__).parents[2] / "src"), os.environ.get("PYTHONPATH", "")]
    )
    for work in (games, tournament, training):
        if options.what and work.__name__ not in options.what:
            continue
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            victim = Victim(Path(folder))
            try:
                said = work(victim, options.kills, random.Random(options.seed))
            finally:
                victim.kill()
        print(f"server_kill {work.__name__}: {said} ({time.monotonic() - began:.0f} s)", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
