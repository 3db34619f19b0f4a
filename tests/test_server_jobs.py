"""Long work behind the pages: training runs, a game that is being written, and what happens when they go wrong."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from meijin.web.server import schema, schema_jobs
from meijin.web.server.settings import Limits
from serving import Server, Talk, serving

CHOMP = Path(__file__).parents[1] / "examples" / "chomp.py"


def event(talk: Talk, **wanted: Any) -> dict[str, Any]:
    """The next event like that."""

    def fits(message: dict[str, Any]) -> bool:
        assert message["type"] != "error", message
        found = message.get("event") or {}
        return message["type"] == "event" and all(found.get(key) == value for key, value in wanted.items())

    found: dict[str, Any] = talk.until(fits)["event"]
    return found


# ---- the designer's page ----


def names(server: Server) -> list[str]:
    return [game["name"] for game in server.get("games")]


def test_a_file_of_rules_is_loaded_again_when_it_is_saved(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    shutil.copy(CHOMP, file)
    good = file.read_text()
    with serving(tmp_path / "data", load=(file,), limits=Limits(check_games=0)) as server, server.socket() as talk:
        assert "chomp" in names(server)
        (found,) = server.get("designer")["files"]
        schema_jobs.DesignerOut.model_validate(server.get("designer"))
        assert found == {"file": "mine.py", "games": ["chomp"], "agents": [], "problem": None}
        made = server.post("tables", game="chomp", seats=[{"kind": "person"}, {"kind": "agent", "agent": "random"}])
        assert server.post("look", game="chomp", moves=[])["turn"] == 0
        assert talk.ask("follow", what="designer")["type"] == "designer"

        file.write_text(good.replace('@game("chomp"', '@game("chocolate"'))
        assert event(talk, event="loaded")["files"][0]["games"] == ["chocolate"]
        assert "chocolate" in names(server) and "chomp" not in names(server)

        file.write_text(good + "\n1 / 0\n")
        problem = event(talk, event="loaded")["files"][0]["problem"]
        assert "ZeroDivisionError" in problem and "mine.py" in problem
        assert "chocolate" not in names(server)
        assert server.refusal("look", game="chomp", moves=[]) == "unknown"

        file.write_text(good.replace("def chomp(", "while True: pass\n\n\ndef chomp(", 0))
        event(talk, event="loaded")
        assert server.get(f"tables/{made['id']}")["game"] == "chomp"
        move = server.get(f"tables/{made['id']}")["look"]["legal"][-1]
        server.post(f"tables/{made['id']}/play", move=move, ply=0)  # the table has outlived all that


def test_a_game_is_checked_and_played_by_searches(tmp_path: Path) -> None:
    with serving(tmp_path, load=(CHOMP,), limits=Limits(check_games=2)) as server, server.socket() as talk:
        talk.ask("follow", what="designer")
        talk.until(lambda m: m.get("event", {}).get("check", {}).get("state") in ("finished", "failed"))
        (check,) = server.get("designer")["checks"]
    assert check["state"] == "finished", check["message"]
    assert check["report"]["statistics"]["draws"] == 0 and len(check["report"]["laws"]) > 5
    assert check["search"]["decisive"] == 1 and check["search"]["games"] > 0


# ---- training ----


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A server's folder with a run of two iterations, begun, stopped and resumed over the web."""
    pytest.importorskip("torch")
    data = tmp_path_factory.mktemp("training")
    with serving(data) as server, server.socket() as talk:
        assert server.get("runs") == []
        begun = server.post(
            "runs", name="ttt", game="tic_tac_toe", preset="tiny", iterations=1,
            changes={"length.keep": 1, "length.positions": 100, "replay.start": 10, "length.evaluate": 0},
        )  # fmt: skip
        schema_jobs.JobOut.model_validate(begun)
        talk.say("follow", what="train", name="ttt")
        event(talk, event="state", state="finished")
        assert server.refusal("runs", name="ttt", game="tic_tac_toe") == "bad"  # there is one
        server.post("runs/ttt/resume", iterations=2)
        told = event(talk, event="iteration_done")
        assert told["iteration"] == 2
        assert event(talk, event="finished")["agent"] == 'zero("ttt")'
        event(talk, event="state", state="finished")
        assert server.get("runs/ttt/events")["job"]["state"] == "finished"
    return data


def test_a_run_is_listed_with_its_curves_and_checkpoints(trained: Path) -> None:
    with serving(trained) as server:
        (listed,) = server.get("runs")
        schema_jobs.RunSummary.model_validate(listed)
        assert listed["agent"] == 'zero("ttt")' and listed["iteration"] == 2
        run = server.get("runs/ttt")
        schema_jobs.RunOut.model_validate(run)
        assert run["metrics"]["iteration"] == [1, 2] and len(run["metrics"]["loss_policy"]) == 2
        assert run["tuples"] is None
        assert [each["name"] for each in run["checkpoints"]] == ["ttt/000001", "ttt/000002"]


def test_checkpoints_play_and_say_what_they_think(trained: Path) -> None:
    with serving(trained) as server, server.socket() as talk:
        agent = 'zero("ttt/000001", simulations=4)'
        made = server.post("tables", game="tic_tac_toe", seats=[{"kind": "agent", "agent": agent}, {"kind": "person"}])
        talk.say("join", table=made["id"])
        talk.until(lambda m: m["type"] == "table" and len(m["table"]["moves"]) == 1)
        number = talk.say("opinions", run="ttt", at={"game": "tic_tac_toe", "moves": [4]})
        found = []
        while (message := talk.until(lambda m: m["id"] == number))["type"] == "opinion":
            found.append(message)
        assert message["type"] == "done" and [each["iteration"] for each in found] == [1, 2, 2]
        assert all(len(each["value"]) == 2 and len(each["moves"]) == 8 for each in found)
        number = talk.say("boards", run="ttt", count=2, every=0.1)
        boards = talk.until(lambda m: m["id"] == number)["boards"]
        assert len(boards) == 2 and all(len(board["moves"]) == 1 for board in boards)
        talk.say("stop", target=number)
        talk.until(lambda m: m["id"] == number and m["type"] == "done")


def test_what_a_page_asks_of_training_names_no_files(trained: Path) -> None:
    with serving(trained) as server:
        for wrong in (
            {"name": "../evil"},
            {"name": ".."},
            {"name": "a/b"},
            {"changes": {"warm.records": "/etc/passwd"}},
            {"changes": {"warm.agent": 'zero("/etc/passwd")'}},
            {"changes": {"warm.init": "passwd"}},
            {"changes": {"net": {"size": "/etc"}}},
            {"changes": {"training.optimizer": "../x"}},
            {"evaluate": ['accuracy("/etc/passwd")']},
            {"evaluate": ['vs(zero("/etc/passwd"))']},
            {"evaluate": ["vs(random, openings=file(\"x\"))"]},
            {"game": "tic_tac_toe(width=1000000)"},
            {"device": "/dev/sda"},
        ):  # fmt: skip
            assert server.refusal("runs", **{"name": "new", "game": "tic_tac_toe", **wrong}) == "bad", wrong
        assert not (trained / "runs" / "new").exists()
        for name in ("..", "%2e%2e", "ttt%2f..", "nothing", "ttt%00"):
            assert server.http.get(f"/api/runs/{name}").status_code in (404, 405, 422)


def test_nobody_trains_on_a_server_that_only_shows_runs(tmp_path: Path) -> None:
    """Not even a run that was going on when the server was started anew; one that trains goes on with it."""
    pytest.importorskip("safetensors")
    small = {"games": 50, "length.evaluate": 0}
    with serving(tmp_path) as server, server.socket() as talk:
        assert server.get("features")["train"]
        server.post("runs", name="mine", game="tic_tac_toe", method="td", iterations=10**6, changes=small)
        talk.say("follow", what="train", name="mine")
        event(talk, event="iteration_done")
    with serving(tmp_path, training=False) as server:
        features = server.get("features")
        schema.Features.model_validate(features)
        assert features["training"] and not features["train"]  # pages show runs, and no buttons
        shown = server.get("runs/mine")
        assert shown["job"]["state"] == "stopped" and shown["iteration"] >= 1
        assert [run["name"] for run in server.get("runs")] == ["mine"]
        for path, body in (
            ("runs", {"name": "new", "game": "tic_tac_toe", "method": "td"}),
            ("runs/mine/resume", {"iterations": 10**6}),
            ("runs/mine/stop", {}),
        ):
            assert server.refusal(path, **body) == "refused"
        assert "--no-training" in server.http.post("/api/runs/mine/stop").json()["message"]
        assert server.get("runs/mine")["job"]["state"] == "stopped" and not (tmp_path / "runs" / "new").exists()
    with serving(tmp_path) as server:
        assert server.get("runs/mine")["job"]["state"] == "running"
        server.post("runs/mine/stop")


def test_tables_are_trained_watched_and_played_over_the_web(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    small = {"game": "tic_tac_toe", "changes": {"games": 50, "length.keep": 1, "length.evaluate": 0, "threads": 10_000}}
    with serving(tmp_path) as server, server.socket() as talk:
        for wrong in (
            {"changes": {"tuples.cells": ["a1 z9"]}},
            {"changes": {"tuples.cells": ["../x"]}},
            {"changes": {"alhpa": 1}},
            {"game": "2048", "changes": {"tuples.length": 9, "tuples.count": 4}},  # does not fit into memory
            {"preset": "strong"},
        ):
            assert server.refusal("runs", **{"name": "new", "method": "td", **small, **wrong}) == "bad", wrong
        for method in ("td", "q"):
            small["changes"] |= {"tuples.cells": ["a1 b1 c1", "a2 b2"]}
            server.post("runs", name=method, method=method, iterations=2, **small)
            talk.say("follow", what="train", name=method)
            assert event(talk, event="finished")["agent"] == f'{method}("{method}")'
            event(talk, event="state", state="finished")
        run = server.get("runs/td")
        schema_jobs.RunOut.model_validate(run)
        assert run["agent"] == 'td("td")' and len(run["metrics"]["error"]) == 2
        assert 1 <= run["config"]["threads"] < 10_000
        told, tuples = run["tuples"], run["tuples"]["tuples"]
        assert (told["games"], told["weights"], told["symmetries"]) == (100, 2 * (27 + 9), 8)
        found = sorted((each["number"], each["cells"], each["entries"]) for each in tuples)
        assert found == [(1, [6, 7, 8], 27), (2, [3, 4], 9)]
        assert tuples[0]["mean_weight"] > tuples[1]["mean_weight"] > 0
        server.post("runs/td/resume", iterations=3)
        event(talk, event="state", state="finished")
        later = server.get("runs/td")["tuples"]
        assert later["games"] == 150 and later["tuples"] != tuples  # those of the new checkpoint
        number = talk.say("opinions", run="q", at={"game": "tic_tac_toe", "moves": [4]})
        opinion = talk.until(lambda m: m["id"] == number)
        assert opinion["iteration"] == 1 and len(opinion["moves"]) == 8 and len(opinion["moves"][0]["value"]) == 2
        number = talk.say("boards", run="td", count=1, every=0.1)
        assert len(talk.until(lambda m: m["id"] == number)["boards"][0]["moves"]) == 1
        made = server.post(
            "tables", game="tic_tac_toe", seats=[{"kind": "agent", "agent": 'td("td/000001")'}, {"kind": "person"}]
        )
        talk.say("join", table=made["id"])
        talk.until(lambda m: m["type"] == "table" and len(m["table"]["moves"]) == 1)


# ---- tournaments ----


CUP = {
    "name": "cup",
    "games": ["tic_tac_toe"],
    "agents": [{"name": "one", "expression": "random"}, {"name": "two", "expression": "mc(simulations=20)"}],
    "rounds": 2,
}


def test_a_tournament_from_its_start_to_the_hall_of_fame(tmp_path: Path) -> None:
    with serving(tmp_path) as server, server.socket() as talk:
        assert server.get("tournaments") == [] and server.get("fame") == []
        assert server.post("played") == {"games": [], "count": 0, "events": []}
        schema_jobs.JobOut.model_validate(server.post("tournaments", **CUP))
        talk.say("follow", what="tournament", name="cup")
        event(talk, event="state", state="finished")
        found = server.get("tournaments/cup")
        schema_jobs.TournamentOut.model_validate(found)
        (table,) = found["tables"]
        assert table["played"] == table["total"] == 4 and {row["name"] for row in table["rows"]} == {"one", "two"}
        assert sum(pair["wins"] + pair["draws"] + pair["losses"] for pair in table["pairs"]) == 8
        (listed,) = server.get("tournaments")
        schema_jobs.TournamentSummary.model_validate(listed)
        assert listed["played"] == listed["total"] == 4

        assert server.post("tournaments/cup/fame") == ["tic_tac_toe"]
        places = server.get("fame", game="tic_tac_toe")
        assert {schema_jobs.PlaceOut.model_validate(place).name for place in places} == {"one", "two"}

        games = server.post("played", filters={"agent": "random", "seat": 0})
        schema_jobs.PlayedOut.model_validate(games)
        assert games["count"] == 2 and games["events"][0]["name"] == "cup"
        one = server.get(f"played/{games['games'][0]['id']}")
        tree = server.post("openings", game="tic_tac_toe", moves=one["moves"][:1])
        assert sum(branch["games"] for branch in tree) >= 1 and one["moves"][1] in [branch["move"] for branch in tree]
        schema_jobs.BranchOut.model_validate(tree[0])

        server.post("tournaments/cup/resume", rounds=3)
        event(talk, event="state", state="finished")
        assert server.get("tournaments/cup")["played"] == 6


def test_what_a_page_asks_of_tournaments_names_no_files(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        for wrong in (
            {"name": "../evil"},
            {"games": ["tic_tac_toe(width=100000)"]},
            {"openings": 'file("/etc/passwd")'},
            {"judges": ['perfect("/etc/passwd")']},
            {"agents": [{"expression": 'zero("/etc/passwd")'}, {"expression": "random"}]},
            {"agents": [{"expression": "human"}, {"expression": "random"}]},
            {"agents": [{"expression": 'mcts(memory="/tmp/x")'}, {"expression": "random"}]},
            {"agents": [{"name": "same", "expression": "random"}, {"name": "same", "expression": "mc"}]},
            {"anchor": "nobody"},
            {"rounds": 10_000, "repeats": 100},
        ):
            assert server.refusal("tournaments", **{**CUP, **wrong}) == "bad", wrong
        assert server.refusal("tournaments", **{**CUP, "agents": [{"expression": "nobody"}] * 2}) == "unknown"
        assert server.get("tournaments") == []
        for name in ("..", "%2e%2e%2fgames", "nothing"):
            assert server.http.get(f"/api/tournaments/{name}").status_code in (404, 422)
