"""Everything that the API's own description allows, and much that it does not, thrown at a running server.

    python tests/soak/server_fuzz.py [--examples 200] [--seed 1]

Laws: no answer is a 5xx or breaks the description (Schemathesis); hostile messages over the socket are answered or
close it; afterwards a friendly client still plays, and the server has not grown by more than a little.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import hypothesis
import schemathesis
from hypothesis import HealthCheck, Phase

sys.path.insert(0, str(Path(__file__).parents[1]))  # the helpers of the tests

from schemathesis import checks
from websockets.exceptions import ConnectionClosed

from meijin.web.server.settings import Limits
from serving import Server, serving

SAFE = {("/api/runs", "post"), ("/api/runs/{name}/resume", "post")}  # what begins there takes minutes
FREE = Limits(requests_burst=10**9, requests_rate=1e9, tables=10**6)
GAMES = (
    "tic_tac_toe",
    "connect_four",
    "2048",
    "hex(size=3)",
    "nim",
    "",
    "../x",
    "tic_tac_toe(width=1000000)",
    "x" * 399,
)
AGENTS = ("random", "mcts(simulations=20)", "nobody", "human", 'zero("/etc/passwd")', "mcts(seconds=0.05)")


def rest(server: Server, examples: int, seed: int) -> int:
    """Call every operation with generated requests, right and wrong ones; returns how many were made."""
    tables = [server.post("tables", game=game)["id"] for game in GAMES[:5]]
    description = server.get("openapi.json")
    for path, operations in description["paths"].items():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                if path.startswith("/api/tables/") and parameter["name"] == "id":
                    parameter["schema"] = {"enum": [*tables, "nothing"]}
    _name(description, {"game": GAMES[:6], "agent": AGENTS, "expression": AGENTS})
    api = schemathesis.openapi.from_dict(description)
    made = 0
    settings = hypothesis.settings(
        max_examples=examples, deadline=None, database=None, phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    laws = [checks.not_a_server_error, checks.response_schema_conformance]
    operations = [found.ok() for found in api.get_all_operations()]
    for operation in sorted(operations, key=lambda each: each.method == "delete"):  # tables are needed to the end
        if (operation.path, operation.method) in SAFE:
            continue
        began, before = time.monotonic(), made
        for mode in (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE):

            @hypothesis.seed(seed)
            @settings
            @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
            def call(case: Any) -> None:
                nonlocal made
                made += 1
                case.call_and_validate(base_url=f"http://{server.address}", checks=laws)

            with contextlib.suppress(hypothesis.errors.Unsatisfiable):  # nothing about some of them can be wrong
                call()
        seconds = time.monotonic() - began
        print(f"  {operation.method.upper():6} {operation.path}: {made - before} requests, {seconds:.0f} s", flush=True)
    return made


def _name(schema: Any, known: dict[str, tuple[str, ...]]) -> None:
    """Have generated requests name things that exist."""
    if isinstance(schema, dict):
        for name, values in known.items():
            if isinstance(field := schema.get("properties", {}).get(name), dict) and "maxLength" in str(field):
                schema["properties"][name] = {"enum": list(values)}
        for value in schema.values():
            _name(value, known)
    elif isinstance(schema, list):
        for value in schema:
            _name(value, known)


def sockets(server: Server, count: int, rng: random.Random) -> int:
    """Hostile messages, each answered or the end of its socket; returns how many sockets were closed."""
    closed = 0
    left = count
    tables = [server.post("tables", game=game)["id"] for game in GAMES[:5]]
    while left > 0:
        with server.socket(max_queue=None) as talk:  # else it waits 10 s to close with answers that nobody read
            try:
                for _ in range(min(left, 300)):
                    left -= 1
                    talk.raw.send(_message(rng, tables))
                    if rng.random() < 0.2:
                        talk.hear()
                    if rng.random() < 0.01:
                        break  # leave without a word, whatever is still going on
            except ConnectionClosed:
                closed += 1
    return closed


def _message(rng: random.Random, tables: list[str]) -> str | bytes:
    at = {"game": rng.choice(GAMES), "moves": [rng.randrange(-1, 9) for _ in range(rng.randrange(4))]}
    if rng.random() < 0.2:
        at["position"] = rng.choice(("#00ff", "X2/3/3 1", "", "9" * 3000, "\x00"))
    message: dict[str, Any] = {
        "id": rng.randrange(20),
        "type": rng.choice(
            ("analyse", "stop", "look", "join", "play", "undo", "redo", "resign", "seat", "run", "follow", "opinions",
             "boards", "ping", "eval")
        ),
    }  # fmt: skip
    fields: dict[str, Any] = {
        "at": at,
        "agent": rng.choice(AGENTS),
        "limit": {"seconds": rng.choice((0.01, -1, 1e9))},
        "every": rng.choice((0.05, 0, "1")),
        "target": rng.randrange(20),
        "table": rng.choice((*tables, "nothing", "../..", "")),
        "key": rng.choice((None, "x", "x" * 100)),
        "move": rng.randrange(-1, 10),
        "ply": rng.randrange(4),
        "plies": rng.randrange(3),
        "seat": rng.randrange(-1, 3),
        "sitter": rng.choice(({"kind": "person"}, {"kind": "agent", "agent": rng.choice(AGENTS)}, None)),
        "running": rng.random() < 0.5,
        "step": rng.random() < 0.5,
        "what": rng.choice(("train", "tournament", "designer", "other")),
        "name": rng.choice(("", "..", "a")),
        "run": rng.choice(("a", "../a", "")),
    }
    wanted = {
        "analyse": ("at", "agent", "limit", "every"), "stop": ("target",), "look": ("at",), "join": ("table", "key"),
        "play": ("table", "move", "ply"), "undo": ("table", "ply", "plies"), "redo": ("table", "ply"),
        "resign": ("table", "seat", "ply"), "seat": ("table", "seat", "sitter"), "run": ("table", "running", "step"),
        "follow": ("what", "name"), "opinions": ("run", "at"), "boards": ("run",),
    }  # fmt: skip
    message |= {name: fields[name] for name in wanted.get(message["type"], ())}
    if rng.random() < 0.1:
        message[rng.choice(list(fields))] = rng.choice(list(fields.values()))
    text = json.dumps(message)
    chance = rng.random()
    if chance < 0.05:
        return text[: rng.randrange(len(text))]
    if chance < 0.1:
        return bytes(rng.randrange(256) for _ in range(rng.randrange(50)))
    if chance < 0.102:
        return "[" * 200_000  # larger than a message may be
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=100, help="requests of each kind per operation")
    parser.add_argument("--messages", type=int, default=20_000, help="over sockets")
    parser.add_argument("--mutations", type=int, help=argparse.SUPPRESS)  # of the other soak tests
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder), limits=FREE) as server:
        requests = rest(server, options.examples, options.seed)
        closed = sockets(server, options.messages, random.Random(options.seed))
        made = server.post(
            "tables", game="tic_tac_toe", seats=[{"kind": "person"}, {"kind": "agent", "agent": "random"}]
        )
        with server.socket() as talk:
            talk.say("join", table=made["id"])
            talk.say("play", table=made["id"], move=4, ply=0)
            talk.until(lambda m: m["type"] == "table" and len(m["table"]["moves"]) == 2)
    seconds = time.monotonic() - began
    print(
        f"server_fuzz: {requests:,} requests, {options.messages:,} messages, {closed} sockets closed, {seconds:.0f} s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
