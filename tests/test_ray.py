"""A Ray cluster: games and positions come back exactly once, whoever dies, and mistakes are one sentence.

All tests of this file share one small cluster of two nodes on this machine, each with one core.
"""

from __future__ import annotations

import csv
import importlib
import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

ray = pytest.importorskip("ray")
torch = pytest.importorskip("torch")

from safetensors import safe_open  # noqa: E402
from safetensors.numpy import load_file  # noqa: E402

from commands import good  # noqa: E402
from meijin.arena.judges import PlayRules  # noqa: E402
from meijin.arena.match import match_tasks  # noqa: E402
from meijin.arena.pool import play_tasks  # noqa: E402
from meijin.arena.ray_pool import RayPool  # noqa: E402
from meijin.cli.program import spelled_out  # noqa: E402
from meijin.cluster import connection, luggage  # noqa: E402
from meijin.cluster.connection import Cluster, Node, reason  # noqa: E402
from meijin.cluster.crew import Crew, Place  # noqa: E402
from meijin.cluster.spread import spread  # noqa: E402
from meijin.cluster.versions import differences  # noqa: E402
from meijin.core.catalogue import make  # noqa: E402
from meijin.core.errors import BadParameter, MeijinError  # noqa: E402
from meijin.learning.zero.config import ZeroConfig  # noqa: E402
from meijin.training.events import Event, IterationDone, Warned  # noqa: E402
from meijin.training.ray_source import RaySource, check_gpus  # noqa: E402
from meijin.training.sweep import Sweep  # noqa: E402
from meijin.training.trials import SweepRun  # noqa: E402
from meijin.training.zero_run import ZeroRun  # noqa: E402

GAME = "tic_tac_toe"


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    """A cluster of two nodes, to which this process is connected."""
    from ray.cluster_utils import Cluster as Nodes

    head = {
        "num_cpus": 1,
        "include_dashboard": False,
        "include_log_monitor": False,
        "no_monitor": True,  # nothing scales this cluster
        "_system_config": {"kill_idle_workers_interval_ms": 0},  # the next test uses them; each is a start of Python
    }
    try:
        made = patient(lambda: Nodes(initialize_head=True, head_node_args=head))
    except Exception as error:
        pytest.skip(f"Ray cannot start a node here: {error}")
    patient(lambda: made.add_node(num_cpus=1))
    ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file
    yield made
    ray.cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    ray.shutdown()
    made.shutdown()


def patient(start: Callable[[], Any]) -> Any:
    """On a very busy machine Ray gives up on a node after half a minute, and may succeed the next time."""
    for _ in range(2):
        with suppress(Exception):
            return start()
    return start()


def config(**changes: Any) -> ZeroConfig:
    return ZeroConfig(GAME, net={"size": "nano", "blocks": 1, "channels": 8}).changed(
        {
            "search": {"simulations": 8, "alpha": 0.5, "warm": 4},
            "selfplay": {"games": 8, "threads": 1},
            "replay": {"start": 50, "window": 100_000},
            "training": {"batch": 32, "warmup": 5, "ema": 0.9, "threads": 1},
            "length": {"iterations": 3, "positions": 100, "evaluate": 0, "keep": 2},
            **changes,
        }
    )


def pid(actor: Any) -> int:
    """The process of an actor; it answers once its task is done."""
    return int(ray.get(actor.__ray_call__.remote(lambda self: os.getpid())))


def losses(said: list[str]) -> list[str]:
    """Without the warning that nothing is free: Ray may count the cores of the last test's actors a moment longer."""
    return [text for text in said if not text.startswith("nothing is free on the Ray cluster; waiting for")]


def chunks(folder: Path) -> list[dict[str, Any]]:
    """All chunks that a run has written down; every file holds as many positions as its chunks say."""
    found = []
    for path in sorted((folder / "games").glob("*.safetensors")):
        with safe_open(path, framework="np") as file:
            listed = json.loads(file.metadata()["chunks"])
            assert file.get_slice("bits").get_shape()[0] == sum(chunk["positions"] for chunk in listed)
        found += listed
    return found


# ---- training ----


def test_a_run_goes_on_when_an_actor_dies_and_counts_no_position_twice(nodes: Any, tmp_path: Path) -> None:
    said: list[Event] = []
    killed: list[int] = []

    def handler(event: Event) -> None:
        said.append(event)
        if isinstance(event, IterationDone) and event.iteration > 2 and any(isinstance(e, Warned) for e in said):
            run.stop()
        if isinstance(event, IterationDone) and event.iteration == 1:
            assert isinstance(run.source, RaySource)
            victim = run.source.crew.members[0]
            killed.append(victim.number)
            os.kill(pid(victim.actor), signal.SIGKILL)

    run = ZeroRun(tmp_path / "r", config(**{"length.iterations": 10_000}), ray="")
    run.go(handler)
    assert run.source is None and ray.is_initialized()  # somebody else's connection stays
    listed = chunks(tmp_path / "r")
    assert len({chunk["chunk"] for chunk in listed}) == len(listed)
    with (tmp_path / "r" / "metrics.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert int(rows[-1]["positions"]) == run.positions == sum(chunk["positions"] for chunk in listed)
    assert all(float(row["positions_per_second"]) > 0 and float(row["actors"]) >= 1 for row in rows)
    assert rows[0]["nodes"] == "2"
    warned = [event.text for event in said if isinstance(event, Warned)]
    # It may die between two chunks or in one; either way it is named where the user looks.
    assert any(text.startswith(f"self-play actor {killed[0]} on node") for text in warned), warned

    again = ZeroRun(tmp_path / "r", config(**{"length.iterations": run.iteration + 1}), resume=True, ray="")
    again.go()
    after = chunks(tmp_path / "r")
    assert len({chunk["chunk"] for chunk in after}) == len(after) > len(listed)
    assert again.positions == sum(chunk["positions"] for chunk in after)


def test_self_play_waits_for_a_learner_that_is_behind(nodes: Any) -> None:
    """At most two iterations are played ahead, and then as much as the actors had begun."""
    source = RaySource(Cluster(), config(), seed=1)
    try:
        run = config()
        from meijin.learning.nets.config import NetConfig
        from meijin.learning.zero.nets import Net

        source.load(Net(make(GAME), NetConfig.sized("nano", blocks=1, channels=8)), Path("none"), 0.0, 0)
        full = threading.Event()

        def look(done: int, total: int) -> bool:
            if not source.crew.busy and source._count() >= 2 * run.length.positions:
                full.set()
            return not full.is_set()

        (found,), stats = source.collect(10**9, look)
        assert full.is_set() and 200 <= len(found) < 200 + 2 * (source.chunk + 8 * 9)
        assert stats["chunks_lost"] == 0 and sum(chunk["positions"] for chunk in source.taken) == len(found)
    finally:
        source.close()


# ---- tournaments ----


def contents(records: Any) -> list[Any]:
    return sorted((record.task.number, record.moves, record.scores, record.ending) for record in records)


def test_games_of_a_dead_actor_are_played_again_with_the_same_records(nodes: Any, tmp_path: Path) -> None:
    """One of the agents says when it thinks, and waits until an actor is dead."""
    file, thinks, dead = (tmp_path / name for name in ("waits.py", "thinks", "dead"))
    file.write_text(
        "import os, time\n"
        "from meijin import Agent, Analysis, MoveInfo\n"
        "from meijin.agents.catalogue import agents\n\n\n"
        "@agents.register('last_move')\n"
        "class Last(Agent):\n"
        "    def think(self, state, limit, every):\n"
        f"        open({str(thinks)!r}, 'w').close()\n"
        f"        while not os.path.exists({str(dead)!r}):\n"
        "            time.sleep(0.01)\n"
        "        yield Analysis(state.turn, tuple(MoveInfo(move) for move in reversed(state.legal_moves)))\n"
    )
    from meijin.agents.catalogue import agents
    from meijin.core.catalogue import games
    from meijin.core.registry import load_file

    def kill() -> None:
        while not thinks.exists():
            time.sleep(0.01)
        os.kill(processes[pool.crew.busy[0].number], signal.SIGKILL)
        dead.touch()

    load_file(file, games, agents)
    tasks = list(match_tasks(make(GAME), ["last_move", "mcts(simulations=20)"], 60, seed=5))
    dead.touch()
    alone = contents(play_tasks(tasks, game=make(GAME)))
    thinks.unlink()
    dead.unlink()
    said: list[str] = []
    with RayPool("", PlayRules(), warn=said.append) as pool:
        processes = {member.number: pid(member.actor) for member in pool.crew.members}
        file.unlink()  # it has travelled by now; no node looks for it here
        killer = threading.Thread(target=kill)
        killer.start()
        found = contents(pool.play(tasks))
        killer.join()
    assert found == alone and all(ending == "rules" for *_, ending in found)
    assert losses(said) and all(text.startswith("worker ") for text in losses(said)), said


def test_an_evaluation_on_a_cluster_finds_what_it_finds_here(nodes: Any, tmp_path: Path) -> None:
    """The agent comes from a file that only this process has; games are played there, positions are asked here."""
    file = tmp_path / "first.py"
    file.write_text(
        "from meijin import Agent, Analysis, MoveInfo\n"
        "from meijin.agents.catalogue import agents\n\n\n"
        "@agents.register('first_move')\n"
        "class First(Agent):\n"
        "    def think(self, state, limit, every):\n"
        "        yield Analysis(state.turn, tuple(MoveInfo(move) for move in state.legal_moves))\n"
    )
    from meijin.agents.catalogue import agents

    command = ["evaluate", GAME, "first_move", "vs(mcts(simulations=20), games=20)", "starts(1, random)", "accuracy"]
    found = []
    for place in (["--workers", "0"], ["--ray"]):
        agents._entries.pop("first_move", None)
        found.append(json.loads(good(*command, "--load", file, "--json", *place))["evaluations"])
        for evaluation in found[-1]:
            del evaluation["seconds"]
    assert found[0] == found[1] and [each["games"] for each in found[1]] == [20, 18, 100]
    assert ray.is_initialized()


# ---- nodes ----


class Echo:
    def say(self, what: str) -> str:
        return what

    def wait_for(self, path: str) -> str:
        while not os.path.exists(path):  # noqa: PTH110
            time.sleep(0.01)
        return path


def test_nodes_come_and_go(nodes: Any, tmp_path: Path) -> None:
    said: list[str] = []
    cluster = Cluster(warn=said.append)
    crew = Crew(cluster, lambda node: [Place(1)] * node.cpus, lambda node, place, number: (Echo, ()))
    crew.open()
    assert len(crew.members) == 2
    third = patient(lambda: nodes.add_node(num_cpus=1))
    _until(lambda: len(crew.members) == 3, crew)
    member = next(each for each in crew.members if each.node.id == third.node_id)
    crew.give(member, "say", "hello")
    assert [answer.result for answer in _answers(crew, 1)] == ["hello"]
    nodes.remove_node(third)
    crew.give(member, "say", "again")
    (answer,) = _answers(crew, 1)
    assert answer.lost and answer.load is None and len(crew.members) == 2
    crew.close()

    # a node with another Numba, as far as it says
    fake = tmp_path / "numba-0.1.dist-info"
    fake.mkdir()
    (fake / "METADATA").write_text("Metadata-Version: 2.1\nName: numba\nVersion: 0.1\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    other = patient(lambda: nodes.add_node(num_cpus=1, env_vars={"PYTHONPATH": path}))
    cluster.nodes(wait=60)
    assert other.node_id not in {node.id for node in cluster.nodes()}
    assert any("it has numba 0.1, here is numba" in text for text in said), said
    nodes.remove_node(other)


def test_an_actor_that_ray_cannot_place_gives_way_to_another(nodes: Any) -> None:
    crew = Crew(Cluster(), lambda node: [Place(node.cpus + 1)], lambda node, place, number: (Echo, ()))
    crew.open()
    member = crew.members[0]
    crew.give(member, "say", "hello")
    (answer,) = _answers(crew, 1)
    assert "is not schedulable" in answer.lost and member not in crew.members
    crew.close()


def test_a_node_whose_answer_is_lost_is_asked_again(nodes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    cluster, asked, ask = Cluster(warn=said.append), list[str](), connection._ask

    @ray.remote(num_cpus=0, max_retries=0)
    def fails() -> None:
        raise ray.exceptions.RayError("lost")

    def badly(node: str) -> Any:
        """The first question is never answered, the second fails."""
        asked.append(node)
        return [object_that_never_comes, fails.remote, lambda: ask(node)][min(asked.count(node), 3) - 1]()

    def object_that_never_comes() -> Any:
        return fails.options(resources={"nowhere": 1}).remote()

    monkeypatch.setattr(connection, "_ask", badly)
    monkeypatch.setattr(connection, "AGAIN", 0.2)
    while len(cluster.nodes(wait=0.1)) < 2:
        pass
    assert all(asked.count(node.id) >= 3 for node in cluster.nodes())
    assert all("is not used yet: it did not say" in text for text in said)  # the failure may come after the answer


def test_a_connection_that_is_tested_does_not_disturb_the_task_in_flight(
    nodes: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("meijin.cluster.crew.SILENT", 0.0)
    monkeypatch.setattr("meijin.cluster.crew.LOOK", 0.0)
    tested: list[Any] = []
    test = Crew._test
    monkeypatch.setattr(Crew, "_test", lambda self, member: (tested.append(member), test(self, member)))
    crew = Crew(Cluster(), lambda node: [Place(1)] * node.cpus, lambda node, place, number: (Echo, ()))
    crew.open()
    member = crew.members[0]
    crew.give(member, "wait_for", str(tmp_path / "now"))
    while len(tested) < 3:
        crew.look()
    (tmp_path / "now").touch()
    assert [answer.result for answer in _answers(crew, 1)] == [str(tmp_path / "now")]
    crew.give(member, "say", "next")
    assert [answer.result for answer in _answers(crew, 1)] == ["next"] and set(tested) == {member}
    crew.close()


def _until(done: Callable[[], bool], crew: Crew) -> None:
    while not done():
        crew.look()
        crew.cluster.nodes(wait=1.0)


def _answers(crew: Crew, count: int) -> list[Any]:
    found: list[Any] = []
    while len(found) < count:
        found += crew.wait(0.5)
    return found


def dies_once(path: str, number: int) -> int:
    if number == 1 and not os.path.exists(path):  # noqa: PTH110
        open(path, "w").close()  # noqa: PTH123
        os._exit(1)
    return number * number


def test_pieces_of_work_come_back_once(nodes: Any, tmp_path: Path) -> None:
    said: list[str] = []
    pieces = [(str(tmp_path / "died"), number) for number in range(4)]
    assert sorted(spread(dies_once, pieces, warn=said.append)) == [(0, 0), (1, 1), (2, 4), (3, 9)]
    assert len(losses(said)) == 1 and losses(said)[0].startswith("worker "), said


class Broken:
    def say(self) -> None:
        raise MeijinError("the game is broken")


class Dying:
    def say(self) -> None:
        os._exit(3)


def test_a_sweep_is_spread_over_the_nodes(nodes: Any, tmp_path: Path) -> None:
    plan = Sweep(GAME, "td", iterations=1, settings={"games": 50}, sweep={"alpha": [0.5, 1.0]})
    here, there = (SweepRun(tmp_path / name, plan) for name in ("here", "there"))
    assert here.go() and there.go(ray="auto")
    for trial in plan.trials():
        ours, theirs = (
            load_file(run.folder / trial.name / "checkpoints" / "latest.safetensors") for run in (here, there)
        )
        assert ours.keys() == theirs.keys() and all((ours[name] == theirs[name]).all() for name in ours)


def test_what_cannot_work_ends_with_its_reason(nodes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("meijin.cluster.crew.DEATHS", 1)
    cluster = Cluster()
    crew = Crew(cluster, lambda node: [Place(1)], lambda node, place, number: (Broken, ()))
    crew.open()
    crew.give(crew.members[0], "say")
    with pytest.raises(MeijinError, match=r"^the game is broken$"):
        _answers(crew, 1)
    crew.close()
    crew = Crew(cluster, lambda node: [Place(1)], lambda node, place, number: (Dying, ()), name="worker")
    crew.open()
    with pytest.raises(
        MeijinError, match=r"worker \d+ on node .* is lost: .*So were 1 others before it; their logs are in"
    ):
        while True:
            crew._looked = -1e9
            crew.look()
            for member in crew.idle:
                crew.give(member, "say")
            crew.wait(5.0)
    crew.close()
    with pytest.raises(MeijinError, match="no node of the Ray cluster has a core or GPU to give"):
        Crew(cluster, lambda node: [], lambda node, place, number: (Echo, ())).open()
    with pytest.raises(MeijinError, match="--selfplay-device cuda: no node of the Ray cluster has a GPU"):
        check_gpus(("cuda",))


# ---- no cluster needed ----


def test_places_of_a_node() -> None:
    source = RaySource.__new__(RaySource)
    source.config = config(**{"selfplay.threads": 4})
    node = Node("id", "name", cpus=11, gpus=2)
    for devices, wanted in (
        ((), [Place(1, 1), Place(1, 1), Place(4), Place(4), Place(1)]),
        (("cpu",), [Place(4), Place(4), Place(3)]),
        (("cuda",), [Place(1, 1), Place(1, 1)]),
    ):
        source.devices = devices
        assert source._places(node) == wanted


def test_files_travel_by_their_contents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEIJIN_CACHE", str(tmp_path / "cache"))
    package = tmp_path / "apart" / "travelling"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from travelling.inner import ANSWER\n")
    (package / "inner.py").write_text("ANSWER = 42\n")
    monkeypatch.syspath_prepend(str(package.parent))
    importlib.import_module("travelling")
    monkeypatch.setattr(luggage, "registrations", lambda: (("module", "travelling"), ("module", "pytest")))
    items = luggage.pack()
    assert [bool(item.data) for item in items] == [True, False]  # pytest is installed
    assert luggage.pack() == items
    for name in ("travelling", "travelling.inner"):
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place != str(package.parent)])
    luggage.unpack(items, "here")
    assert sys.modules["travelling"].ANSWER == 42
    assert str(tmp_path / "cache") in str(sys.modules["travelling"].__file__)
    with pytest.raises(MeijinError, match=r"node far has no module 'nowhere_at_all'.*--load"):
        luggage.unpack((luggage.Item("module", "nowhere_at_all"),), "far")
    with pytest.raises(MeijinError, match=r"node far has no '/no/such/file', which an agent needs"):
        luggage.unpack((luggage.Item("path", "/no/such/file"),), "far")


def test_mistakes_are_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(MeijinError, match=rf"no Ray cluster answers at {address} \(.*refused\); start one there"):
        Cluster(address)
    with pytest.raises(BadParameter, match=r"--ray 'nonsense' is not an address; write HOST:PORT"):
        ZeroRun(tmp_path / "r", config(), ray="nonsense")
    assert not (tmp_path / "r").exists()
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        threading.Thread(target=lambda: other.accept()[0].sendall(b"HTTP/1.1 400 Bad Request\r\n"), daemon=True).start()
        with pytest.raises(MeijinError, match="is not a Ray cluster; check the address and the port"):
            Cluster(f"127.0.0.1:{other.getsockname()[1]}")
    monkeypatch.setattr(connection, "find_spec", lambda name: None)
    with pytest.raises(MeijinError, match=r"there is no module 'ray' here: pip install 'meijin\[ray\]'"):
        Cluster()
    for options, words in (
        ({"ray": "", "selfplay_devices": ("cuda:1",)}, "with --ray, write cpu, cuda or cpu,cuda"),
        ({"ray": "", "actors": 0}, "--actors 0: must be at least 1"),
        ({"actors": 3}, "--actors 3 needs --ray"),
    ):
        with pytest.raises(BadParameter, match=words):
            ZeroRun(tmp_path / "r", config(), **options)
    mismatch = RuntimeError(
        "Version mismatch: The cluster was started with:\n    Ray: 2.1\n    Python: 3.10\nThis "
        "process was started with:\n    Ray: 2.60\n    Python: 3.11\n"
    )
    assert "has other versions than this process: Ray: 2.1, Python: 3.10, Ray: 2.60" in str(
        connection._explained("h:1", mismatch)
    )
    refused = PermissionError("Authentication token is missing or incorrect.")
    assert "asks for its token: set RAY_AUTH_MODE=token" in str(connection._explained("h:1", refused))
    assert differences({"numba": "1", "torch": "2"}, {"numba": "1"}) == "no torch, here is torch 2"
    assert reason(RuntimeError("one\ntwo.")) == "two"


def test_the_address_may_be_left_out() -> None:
    assert spelled_out(["train", "hex", "zero", "--ray"]) == ["train", "hex", "zero", "--ray", ""]
    assert spelled_out(["a", "--ray", "--json"]) == ["a", "--ray", "", "--json"]
    assert spelled_out(["a", "--ray", "h:1", "--json"]) == ["a", "--ray", "h:1", "--json"]
