"""Actors on all nodes of a cluster, each with at most one task in flight.

Actors are expected to die. A dead one is replaced, a new node gets actors, and a lost node takes its own with it; the
owner of the crew only sees that a task was lost. Nothing is retried here: whether a task may run twice is for its owner
to decide. An actor's constructor should do nothing that can fail: of an error there, Ray keeps only the text.

After a cut of the network, the far end of a connection may be closed while the near end looks healthy. Whoever only
waits for an answer does not notice: Ray itself looks after five minutes. So something is sent to an actor that has been
silent for `SILENT` seconds; if the connection is broken, that fails at once, and the task in flight with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from meijin.cluster.connection import Cluster, Node, options, own, reason
from meijin.core.errors import MeijinError

LOOK = 1.0  # seconds between two looks at the nodes
SILENT = 20.0  # seconds without a message to an actor that works, after which its connection is tested
DEATHS = 5  # actors that may die, one after another, before any of them has done something
LOST = 10  # actors that may die of one piece of work before its owner gives up: nodes may come and go often


@dataclass(frozen=True)
class Place:
    """What an actor reserves."""

    cpus: int
    gpus: int = 0

    def __str__(self) -> str:
        cores = f"{self.cpus} core{'s' * (self.cpus != 1)}"
        return f"{self.gpus} GPU{'s' * (self.gpus != 1)} and {cores}" if self.gpus else cores


@dataclass(eq=False)
class Member:
    """An actor."""

    number: int  # never given twice
    node: Node
    place: Place
    at: int  # which of its node's places it has
    actor: Any
    task: Any = None  # the task in flight
    load: Any = None  # whatever its owner wants to know about that task
    done: int = 0  # tasks it has finished
    sent: float = 0.0  # when something was last sent to it


@dataclass
class Answer:
    """What came of a task: a result, or the reason why it was lost."""

    member: Member
    load: Any
    result: Any = None
    lost: str = ""


@dataclass
class Crew:
    """`places` says what to reserve on a node, one entry per actor; `make` the class of an actor and its arguments."""

    cluster: Cluster
    places: Callable[[Node], Sequence[Place]]
    make: Callable[[Node, Place, int], tuple[type, tuple[Any, ...]]]
    most: int | None = None  # actors; a cluster that scales is asked for their cores
    name: str = "actor"  # in messages
    members: list[Member] = field(default_factory=list)
    started: int = 0
    deaths: int = 0  # in a row, of actors that had done nothing
    _looked: float = -LOOK

    def open(self) -> None:
        """Start the actors, or raise if there is no place for any."""
        self._check_room(self.cluster.need_nodes())
        if self.most is not None:
            from ray.autoscaler.sdk import request_resources

            with suppress(Exception):  # a cluster without an autoscaler, or a client
                request_resources(num_cpus=self.most)
        self.look()

    def _check_room(self, nodes: list[Node]) -> None:
        import ray

        wanted = [place for node in nodes for place in self.places(node)]
        if not wanted:
            raise MeijinError("no node of the Ray cluster has a core or GPU to give")
        free = ray.available_resources()
        fits = lambda p: free.get("CPU", 0) >= p.cpus and free.get("GPU", 0) >= p.gpus  # noqa: E731
        if not any(map(fits, wanted)):
            least = min(wanted, key=lambda place: (place.gpus, place.cpus))
            self.cluster.warn(f"nothing is free on the Ray cluster; waiting for {least}")

    def look(self) -> None:
        """Start actors where some are missing, and forget those of lost nodes; cheap to call often."""
        if time.monotonic() - self._looked < LOOK:
            return
        self._looked = time.monotonic()
        nodes = self.cluster.nodes()
        alive = {node.id for node in nodes}
        for member in self.idle:  # of the others we hear by their tasks
            if member.node.id not in alive:
                self.members.remove(member)
                self.cluster.warn(f"{self.name} {member.number} is lost with its node {member.node.name}")
        for member in self.busy:
            if self._looked - member.sent > SILENT:
                self._test(member)
        for node in nodes:
            taken = {member.at for member in self.members if member.node.id == node.id}
            for at, place in enumerate(self.places(node)):
                if at not in taken and (self.most is None or len(self.members) < self.most):
                    self._start(node, place, at)

    def _start(self, node: Node, place: Place, at: int) -> None:
        import ray

        self.started += 1
        kind, arguments = self.make(node, place, self.started)
        actor = ray.remote(kind).options(**options(node, place.cpus, place.gpus)).remote(*arguments)
        self.members.append(Member(self.started, node, place, at, actor))

    @property
    def idle(self) -> list[Member]:
        return [member for member in self.members if member.task is None]

    @property
    def busy(self) -> list[Member]:
        return [member for member in self.members if member.task is not None]

    def give(self, member: Member, method: str, *arguments: Any, load: Any = None) -> None:
        """Hand a task to an idle member."""
        member.task, member.load = getattr(member.actor, method).remote(*arguments), load
        member.sent = time.monotonic()

    def _test(self, member: Member) -> None:
        """Send something over the connection to an actor; it runs after the task in flight and does nothing."""
        member.sent = time.monotonic()
        with suppress(Exception):  # if the actor is lost, its task tells us
            member.actor.__ray_ready__.options(num_returns=0).remote()  # no result that could fail

    def wait(self, seconds: float) -> list[Answer]:
        """What has been finished or lost, after at most so long."""
        import ray

        busy = {member.task: member for member in self.busy}
        if not busy:
            time.sleep(seconds)
            return []
        ready, _ = ray.wait([*busy], num_returns=1, timeout=seconds)
        if ready:  # and whatever else is ready by now
            ready, _ = ray.wait([*busy], num_returns=len(busy), timeout=0)
        return [self._receive(busy[task]) for task in ready]

    def _receive(self, member: Member) -> Answer:
        import ray

        task, load = member.task, member.load
        member.task = member.load = None
        try:
            result = ray.get(task)
        except (ray.exceptions.RayActorError, ray.exceptions.ActorUnschedulableError) as error:
            self._bury(member, error)
            return Answer(member, load, lost=reason(error))
        except ray.exceptions.RayTaskError as error:
            if (mine := own(error)) is not None:
                raise mine from None
            self._bury(member, error)  # its state is not known
            return Answer(member, load, lost=reason(error))
        except ray.exceptions.RayError as error:  # the result was lost on its way, perhaps with its node
            if member.node.id in {node.id for node in self.cluster.nodes()}:
                self.cluster.warn(f"a result of {self.name} {member.number} is lost: {reason(error)}")
            else:
                self._bury(member, error)
            return Answer(member, load, lost=reason(error))
        member.done += 1
        self.deaths = 0
        return Answer(member, load, result)

    def _bury(self, member: Member, error: BaseException) -> None:
        import ray

        self.members.remove(member)
        with suppress(Exception):
            ray.kill(member.actor)
        alive = {node.id for node in self.cluster.nodes()}
        self.deaths += not member.done and member.node.id in alive
        what = f"{self.name} {member.number} on node {member.node.name} is lost: {reason(error)}"
        if self.deaths > DEATHS:
            raise MeijinError(f"{what}. So were {DEATHS} others before it; their logs are in {self.cluster.logs}")
        self.cluster.warn(what)

    def close(self) -> None:
        """End all actors, whatever they are doing."""
        import ray

        if ray.is_initialized():
            for member in self.members:
                with suppress(Exception):
                    ray.kill(member.actor)
            if self.most is not None:
                from ray.autoscaler.sdk import request_resources

                with suppress(Exception):
                    request_resources(num_cpus=0)
        self.members.clear()
