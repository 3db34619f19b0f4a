"""The server as a page uses it: games, positions, tables, several people at one table, restarts."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from meijin import make
from meijin.agents.catalogue import build
from meijin.agents.registrations import load
from meijin.learning import checkpoint
from meijin.web.server import schema
from meijin.web.server.work import rules, thinking
from meijin.web.server.work.permits import Permits
from meijin.web.server.work.worker import Ask
from serving import Server, serving

PERSON = {"kind": "person"}
RANDOM = {"kind": "agent", "agent": "random"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("server")) as made:
        yield made


def table(server: Server, game: str = "tic_tac_toe", **fields: Any) -> dict[str, Any]:
    found: dict[str, Any] = server.post("tables", game=game, **fields)
    schema.TableOut.model_validate(found)
    return found


def ask(call: str, **args: Any) -> Ask:
    """A request, to be worked on in this process."""
    return Ask(1, call, args, lambda message: None)


# ---- games and positions ----


def test_a_page_learns_what_there_is(server: Server) -> None:
    schema.Features.model_validate(server.get("features"))
    games = {game["name"]: game for game in server.get("games")}
    assert {"connect_four", "go", "2048"} <= set(games) and games["2048"]["chance"]
    described = server.get("description", game="othello(size=6)")
    assert described["id"] == "othello(size=6)" and len(described["board"]["cells"]) == 36
    assert games["connect_four"]["levels"]
    agents = {agent["name"]: agent for agent in server.get("agents", game="connect_four")}
    assert agents["champion"]["levels"] and not agents["mcts"]["levels"]
    solved = {agent["name"]: agent for agent in server.get("agents", game="cube(size=3)")}["champion"]
    assert solved["unfit"] is None and not solved["levels"]  # it plays by its solver alone
    assert agents["mcts"]["unfit"] is None and "human" not in agents
    assert "heuristic" in agents["heuristic"]["unfit"]
    kinds = {each["name"]: each["kind"] for each in agents["mcts"]["parameters"]}
    assert kinds["simulations"] == "int" and kinds["seconds"] == "float" and "memory" not in kinds
    assert [each["kind"] for each in agents["nply"]["parameters"]] == ["agent", "int"]


def test_a_champion_that_cannot_be_read_leaves_the_game_playable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEIJIN_DATA", str(tmp_path))
    load(Path(__file__).parents[1] / "examples" / "chomp.py")
    net = {"pooling": True}  # for boards of any size, but of what layers?
    checkpoint.write(tmp_path / "champions" / "mine.safetensors", "zero", make("chomp(rows=3)"), net, {}, {})
    (row,) = [row for row in rules.list_games(ask("list_games")) if row["name"] == "chomp"]
    assert row["problem"] is None and row["seats"] == 2 and not row["levels"]
    listed = Permits(str(tmp_path), (), 256.0, 1).list_agents(ask("list_agents", game="chomp"))
    assert not any(agent["levels"] for agent in listed)


def test_looking_at_a_line(server: Server) -> None:
    look = server.post("look", game="connect_four", moves=[3, 3])
    schema.Look.model_validate(look)
    assert look["turn"] == 0 and look["legal"] == list(range(7)) and sum(map(bool, look["cells"])) == 2
    over = server.post("look", game="tic_tac_toe", moves=[0, 3, 1, 4, 2])
    assert over["turn"] == -2 and over["legal"] == [] and over["scores"] == [1.0, -1.0]
    chance = server.post("look", game="2048", moves=[])
    assert chance["turn"] == -1 and sum(chance["odds"]) == pytest.approx(1)
    assert server.refusal("look", game="tic_tac_toe", moves=[0, 0]) == "illegal"
    assert server.refusal("look", game="tictactoe", moves=[]) == "unknown"
    assert server.refusal("look", game="tic_tac_toe(width=10000000)", moves=[]) == "bad"


def test_every_position_of_a_line_at_once(server: Server) -> None:
    looks = server.post("looks", game="connect_four", moves=[3, 3])
    assert [sum(map(bool, look["cells"])) for look in looks] == [0, 1, 2]
    assert looks[-1] == server.post("look", game="connect_four", moves=[3, 3])
    assert server.refusal("looks", game="connect_four", moves=[0] * 5000) == "bad"


# ---- playing ----


def test_a_whole_game_of_two_people(server: Server) -> None:
    made = table(server, seats=[{"kind": "person", "name": "Ada"}])
    id_ = made["id"]
    assert [seat["name"] for seat in made["seats"]] == ["Ada", ""]
    for ply, move in enumerate([0, 3, 1, 4, 2]):
        made = server.post(f"tables/{id_}/play", move=move, ply=ply)
    schema.TableOut.model_validate(made)
    assert made["moves"] == [0, 3, 1, 4, 2] and made["movers"] == [0, 1, 0, 1, 0]
    assert made["result"]["scores"] == [1.0, -1.0] and made["result"]["ending"] == "rules"
    assert server.refusal(f"tables/{id_}/play", move=5, ply=5) == "closed"
    listed = server.get("tables")
    assert listed[0]["id"] == id_ and listed[0]["plies"] == 5 and listed[0]["turn"] == -2
    schema.TableSummary.model_validate(listed[0])


def test_a_game_is_played_while_its_rules_are_compiled(tmp_path: Path) -> None:
    with serving(tmp_path, warm="tic_tac_toe") as server:
        id_ = table(server)["id"]
        for ply, move in enumerate([0, 3, 1, 4, 2]):
            made = server.post(f"tables/{id_}/play", move=move, ply=ply)
        assert made["result"]["scores"] == [1.0, -1.0]
        assert server.refusal("look", game="tic_tac_toe", moves=[0, 0]) == "illegal"


def test_agents_are_compiled_while_a_person_thinks_about_the_first_move(server: Server) -> None:
    tables, asked = server.app.state.tables, []

    async def call(name: str, args: dict[str, Any], home: str | None = None, **more: Any) -> None:
        asked.append((name, args["game"], args["agent"], home))

    def begin(*seats: dict[str, str]) -> str:
        return str(table(server, game="nim", seats=list(seats))["id"])

    search = {"kind": "agent", "agent": "mcts"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "settings", dataclasses.replace(tables.settings, warm="go"))
        patch.setattr(tables.lanes.moves, "call", call)
        begin(PERSON, PERSON)  # nobody to wait for
        ids = [begin(PERSON, RANDOM), begin(PERSON, RANDOM), begin(PERSON, search)]
        tables.forget()  # files have changed
        ids.append(begin(PERSON, RANDOM))
    first, _, other, again = (f"{id_}:1" for id_ in ids)  # once is enough for the same agent
    assert asked == [
        ("warm", "nim", agent, at) for agent, at in (("random", first), ("mcts", other), ("random", again))
    ]


@pytest.mark.parametrize(("agent", "built"), [("maxn(depth=2)", "maxn(depth=2)"), (None, "mcts(memory_mb=256.0)")])
def test_the_agent_that_is_compiled_is_the_one_asked_for(
    agent: str | None, built: str, tmp_path: Path, interpreted: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    monkeypatch.setattr(thinking, "build", lambda call, game: made.append(build(call, game)) or made[-1])
    args = {"game": "nim(heaps=(2, 3))", "position": None, "moves": [0], "agent": agent, "most": 60.0}
    thinking.calls(Permits(str(tmp_path), (), 256.0, 1))["warm"](ask("warm", **args))
    assert [each.name for each in made] == [built]


def test_what_is_not_a_move_is_refused_and_changes_nothing(server: Server) -> None:
    id_ = table(server)["id"]
    server.post(f"tables/{id_}/play", move=4, ply=0)
    for move, ply, code in (
        (4, 1, "illegal"),
        (0, 0, "illegal"),
        (0, 7, "illegal"),
        (99, 1, "illegal"),
        (-1, 1, "bad"),
    ):
        assert server.refusal(f"tables/{id_}/play", move=move, ply=ply) == code
    assert server.refusal(f"tables/{id_}/play", move=True, ply=1) == "bad"
    assert server.refusal(f"tables/{id_}/play", move="4", ply=1) == "bad"
    assert server.get(f"tables/{id_}")["moves"] == [4]


def test_an_agent_answers_and_can_be_taken_back(server: Server) -> None:
    id_ = table(server, seats=[PERSON, RANDOM])["id"]
    with server.socket() as talk:
        talk.say("join", table=id_)
        talk.say("play", table=id_, move=4, ply=0)
        after = talk.until(lambda m: m["type"] == "table" and len(m["table"]["moves"]) == 2)["table"]
        assert after["movers"] == [0, 1] and after["look"]["turn"] == 0
        talk.say("undo", table=id_, ply=2)
        back = talk.until(lambda m: m["type"] == "table" and not m["table"]["moves"])["table"]
        assert back["redo"] == after["moves"]
        talk.say("redo", table=id_, ply=0)
        again = talk.until(lambda m: m["type"] == "table" and len(m["table"]["moves"]) == 2)["table"]
        assert again["moves"] == after["moves"] and again["redo"] == []
    assert server.refusal(f"tables/{id_}/redo", ply=2) == "illegal"


def test_a_beginner_does_not_play_what_it_thinks_best(server: Server) -> None:
    beginner = {"kind": "agent", "agent": "champion(level=1)"}
    begun = set()
    with server.socket() as talk:
        for seed in range(4):
            id_ = table(server, seats=[beginner, PERSON], seed=seed)["id"]
            talk.say("join", table=id_)
            made = talk.until(
                lambda m, id_=id_: m["type"] == "table" and m["table"]["id"] == id_ and m["table"]["moves"]
            )
            schema.TableOut.model_validate(made["table"])
            begun.add((made["table"]["moves"][0], tuple(made["table"]["random"])))
    assert len({move for move, _ in begun}) > 1
    assert len({move for move, random in begun if random != (0,)}) <= 1  # the others are what it thinks best


def test_people_see_what_an_agent_thinks_of_its_move(server: Server) -> None:
    agent = {"kind": "agent", "agent": "mcts(seconds=0.6)"}
    id_ = table(server, "connect_four", seats=[PERSON, agent])["id"]
    with server.socket() as talk:
        number = talk.say("join", table=id_)
        talk.say("play", table=id_, move=3, ply=0)
        thought = talk.until(lambda m: m["type"] == "thinking")
        assert thought["id"] == number and thought["seat"] == 1
        schema.Analysis.model_validate(thought["analysis"])
        moved = talk.until(lambda m: m["type"] == "table" and len(m["table"]["moves"]) == 2)["table"]
    assert len(moved["values"][1]) == 2 and moved["seconds"][1] > 0


def test_agents_play_each_other_by_steps_and_on_their_own(server: Server) -> None:
    id_ = table(server, seats=[RANDOM, RANDOM], running=False)["id"]
    with server.socket() as talk:
        joined = talk.ask("join", table=id_)["table"]
        assert joined["moves"] == [] and not joined["running"]
        talk.say("run", table=id_, step=True)
        talk.until(lambda m: m["type"] == "table" and len(m["table"]["moves"]) == 1)
        assert len(server.get(f"tables/{id_}")["moves"]) == 1  # one step, and no more
        talk.say("run", table=id_, running=True)
        over = talk.until(lambda m: m["type"] == "table" and m["table"]["result"])["table"]
    assert over["look"]["turn"] == -2
    back = server.post(f"tables/{id_}/undo", ply=len(over["moves"]), plies=1)
    assert not back["running"] and back["result"] is None and len(back["redo"]) == 1


def test_chance_is_rolled_by_the_server_and_the_same_again(server: Server) -> None:
    one, two = (table(server, "2048", seed=5) for _ in range(2))
    assert one["look"]["turn"] == 0 and one["movers"] == [-1, -1] and one["moves"] == two["moves"]
    move = one["look"]["legal"][0]
    first = server.post(f"tables/{one['id']}/play", move=move, ply=2)
    assert first["movers"] == [-1, -1, 0, -1]
    server.post(f"tables/{one['id']}/undo", ply=4)
    again = server.post(f"tables/{one['id']}/play", move=move, ply=2)
    assert again["moves"] == first["moves"]
    assert server.refusal(f"tables/{one['id']}/undo", ply=4, plies=2) == "illegal"  # chance before the first move stays


def test_resigning_and_going_back(server: Server) -> None:
    id_ = table(server, "hex(size=3)")["id"]
    over = server.post(f"tables/{id_}/resign", seat=0, ply=0)
    assert over["result"] == {"scores": [-1.0, 1.0], "ending": "resign", "seat": 0, "reason": ""}
    assert server.post(f"tables/{id_}/undo", ply=0)["result"] is None


def test_taking_over_a_seat(server: Server) -> None:
    id_ = table(server, seats=[RANDOM, PERSON], running=False)["id"]
    assert server.refusal(f"tables/{id_}/play", move=0, ply=0) == "illegal"
    mine = server.post(f"tables/{id_}/seat", seat=0, sitter={"kind": "person", "name": "Bo"})
    assert mine["seats"][0]["name"] == "Bo"
    server.post(f"tables/{id_}/play", move=0, ply=0)
    server.post(f"tables/{id_}/seat", seat=1, sitter=RANDOM)
    with server.socket() as talk:
        talk.say("join", table=id_)
        talk.say("run", table=id_, running=True)
        talk.until(lambda m: m["type"] == "table" and len(m["table"]["moves"]) == 2)
    assert server.refusal(f"tables/{id_}/seat", seat=2, sitter=PERSON) == "bad"
    assert server.refusal(f"tables/{id_}/seat", seat=0, sitter={"kind": "agent", "agent": "mtcs"}) == "unknown"
    assert server.refusal(f"tables/{id_}/seat", seat=0, sitter={"kind": "agent"}) == "bad"


def test_a_position_that_was_set_up_or_begun(server: Server) -> None:
    made = table(server, moves=[4, 0])
    assert made["moves"] == [4, 0] and made["movers"] == [0, 1] and made["look"]["turn"] == 0
    assert server.refusal("tables", game="tic_tac_toe", moves=[4, 4]) == "illegal"
    assert server.refusal("tables", game="tic_tac_toe", position="#00ff") in ("bad", "refused")
    assert server.refusal("tables", game="tic_tac_toe", seats=[PERSON] * 3) == "bad"


# ---- several people ----


def test_links_allow_what_they_say(server: Server) -> None:
    made = table(server)
    id_, keys = made["id"], made["keys"]
    assert made["host"] and made["you"] == [0, 1]
    first, second = keys["seats"]
    seen = server.get(f"tables/{id_}", key=second)
    assert seen["you"] == [1] and not seen["host"] and seen["keys"] is None
    assert server.refusal(f"tables/{id_}/play", key=second, move=0, ply=0) == "illegal"
    server.post(f"tables/{id_}/play", key=first, move=0, ply=0)
    server.post(f"tables/{id_}/play", key=second, move=1, ply=1)
    for what, fields in (
        ("play", {"move": 2, "ply": 2}),
        ("run", {"running": False}),
        ("notes", {"notes": {}}),
        ("seat", {"seat": 0, "sitter": RANDOM}),
        ("resign", {"seat": 0, "ply": 2}),
        ("undo", {"ply": 2}),
    ):
        assert server.refusal(f"tables/{id_}/{what}", key=keys["watch"], **fields) in ("refused", "illegal"), what
    assert server.refusal(f"tables/{id_}/undo", key=first, ply=2) == "refused"  # another person plays, too
    assert server.refusal(f"tables/{id_}/seat", key=first, seat=1, sitter=RANDOM) == "refused"
    assert server.refusal(f"tables/{id_}/resign", key=first, seat=1, ply=2) == "refused"
    assert server.refusal(f"tables/{id_}/play", key="no such key", move=2, ply=2) == "refused"
    assert server.http.delete(f"/api/tables/{id_}", params={"key": first}).status_code == 403
    assert server.get(f"tables/{id_}")["moves"] == [0, 1]
    assert server.http.delete(f"/api/tables/{id_}", params={"key": keys["host"]}).status_code == 200
    assert server.http.get(f"/api/tables/{id_}").status_code == 404


def test_everybody_at_a_table_sees_every_move(server: Server) -> None:
    made = table(server)
    id_, keys = made["id"], made["keys"]
    with server.socket() as ada, server.socket() as bo, server.socket() as guest:
        for talk, key in ((ada, keys["seats"][0]), (bo, keys["seats"][1]), (guest, keys["watch"])):
            assert talk.ask("join", table=id_, key=key)["type"] == "table"
        for ply, (talk, key, move) in enumerate(((ada, 0, 4), (bo, 1, 0), (ada, 0, 8))):
            talk.say("play", table=id_, key=keys["seats"][key], move=move, ply=ply)
            for each in (ada, bo, guest):
                each.until(lambda m, ply=ply: m["type"] == "table" and len(m["table"]["moves"]) == ply + 1)


def test_two_clicks_at_once_make_one_move(server: Server) -> None:
    id_ = table(server)["id"]
    with server.socket() as talk:
        numbers = [talk.say("play", table=id_, move=move, ply=0) for move in range(9)]
        replies = {m["id"]: m["type"] for m in (talk.hear() for _ in numbers)}
    assert sorted(replies.values()) == ["done"] + ["error"] * 8
    assert len(server.get(f"tables/{id_}")["moves"]) == 1


# ---- notes ----


def test_notes_stay_with_the_table_and_their_moves_are_legal(server: Server) -> None:
    id_ = table(server)["id"]
    assert server.get(f"tables/{id_}/notes")["notes"] == {"comment": "", "nodes": []}
    nodes = [{"parent": -1, "move": 4, "comment": "the centre"}, {"parent": 0, "move": 0}, {"parent": 0, "move": 1}]
    changed = server.post(f"tables/{id_}/notes", notes={"comment": "hello", "nodes": nodes})
    assert changed["notes"] == 1
    kept = server.get(f"tables/{id_}/notes")["notes"]
    schema.NotesOut.model_validate(server.get(f"tables/{id_}/notes"))
    assert kept["comment"] == "hello" and kept["nodes"][0]["comment"] == "the centre"
    for wrong in ([{"parent": 0, "move": 4}], [{"parent": -1, "move": 4}, {"parent": 0, "move": 4}]):
        assert server.refusal(f"tables/{id_}/notes", notes={"nodes": wrong}) in ("bad", "illegal")
    assert server.get(f"tables/{id_}/notes")["notes"] == kept


# ---- clocks ----


def test_a_clock_that_runs_out_ends_the_game(server: Server) -> None:
    id_ = table(server, clock={"seconds": 1, "increment": 0})["id"]
    with server.socket() as talk:
        joined = talk.ask("join", table=id_)["table"]
        assert joined["clocks"]["active"] is None and joined["clocks"]["left"] == [1, 1]
        talk.say("play", table=id_, move=0, ply=0)
        running = talk.until(lambda m: m["type"] == "table" and m["table"]["moves"])["table"]
        assert running["clocks"]["active"] == 1
        over = talk.until(lambda m: m["type"] == "table" and m["table"]["result"])["table"]
    assert over["result"]["ending"] == "time" and over["result"]["seat"] == 1
    assert over["result"]["scores"] == [1.0, -1.0] and over["clocks"]["left"] == [1, 0]


def test_a_paused_table_stops_its_clock(server: Server) -> None:
    id_ = table(server, clock={"seconds": 60, "increment": 5})["id"]
    server.post(f"tables/{id_}/play", move=0, ply=0)
    paused = server.post(f"tables/{id_}/run", running=False)
    assert paused["clocks"]["active"] is None and 50 < paused["clocks"]["left"][1] <= 60
    assert server.post(f"tables/{id_}/run", running=True)["clocks"]["active"] == 1
    moved = server.post(f"tables/{id_}/play", move=1, ply=1)
    assert moved["clocks"]["active"] == 0 and 60 < moved["clocks"]["left"][1] <= 65


# ---- restarts ----


def test_tables_survive_a_restart(tmp_path: Path) -> None:
    with serving(tmp_path) as first:
        made = table(first, seats=[PERSON, RANDOM], running=False)
        first.post(f"tables/{made['id']}/play", move=4, ply=0)
        first.post(f"tables/{made['id']}/notes", notes={"comment": "kept"})
        before = first.get(f"tables/{made['id']}")
    with serving(tmp_path) as second:
        after = second.get(f"tables/{made['id']}", key=made["keys"]["seats"][0])
        assert after["moves"] == [4] and after["seats"] == before["seats"] and after["look"] == before["look"]
        assert second.get(f"tables/{made['id']}/notes")["notes"]["comment"] == "kept"
        with second.socket() as talk:  # the agent was to move; it does when somebody is there again
            talk.say("join", table=made["id"])
            talk.say("run", table=made["id"], running=True)
            talk.until(lambda m: m["type"] == "table" and len(m["table"]["moves"]) == 2)


def workers() -> set[int]:
    """Processes of this one that are alive."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            if int(parent) == os.getpid() and state != "Z":
                found.add(int(entry.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_server_that_ends_at_once_leaves_no_workers(tmp_path: Path) -> None:
    before = workers()
    with serving(tmp_path):
        pass  # its workers have hardly begun
    assert workers() <= before


def test_two_servers_do_not_share_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from meijin.core.errors import MeijinError
    from meijin.web.server import table_store

    monkeypatch.setattr(table_store, "LEAVING", 0.0)
    first = table_store.TableStore(tmp_path / "tables.db")
    with pytest.raises(MeijinError, match=r"another server uses .* --data"):
        table_store.TableStore(tmp_path / "tables.db")
    first.close()
    table_store.TableStore(tmp_path / "tables.db").close()


def test_a_file_of_another_program_is_left_alone(tmp_path: Path) -> None:
    from meijin.core.errors import MeijinError
    from meijin.web.server.table_store import TableStore

    path = tmp_path / "tables.db"
    path.write_bytes(b"not a database" * 1000)
    with pytest.raises(MeijinError, match="another program"):
        TableStore(path)
    assert path.read_bytes().startswith(b"not a database")
