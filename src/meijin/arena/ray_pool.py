"""Many games on a Ray cluster: the same tasks, the same records as `pool`, one game at a time on each reserved core.

An actor holds one core and one worker process of `pool`, which supervises agents as on one machine: those that hang or
end their process forfeit. When an actor or its node dies, its games are played again by others; equal tasks give equal
games, and a record is taken once, so a tournament ends with the games of one that was not disturbed.
"""

from __future__ import annotations

import itertools
from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator
from types import TracebackType
from typing import Any

from meijin.arena.judges import PlayRules
from meijin.arena.pool import LOOK, MAX_AT_ONCE, Numbered, Stopping, WorkerPool, never, yielded
from meijin.arena.record import GameRecord, Task
from meijin.cluster import luggage
from meijin.cluster.connection import Cluster, Node, Warn
from meijin.cluster.crew import LOST, Crew, Place
from meijin.core.errors import MeijinError

BATCH_SECONDS = 0.5  # of play sent to an actor at a time: a message costs about a millisecond


class Table:
    """The actor: plays games one after another on the core that it holds."""

    def __init__(self, rules: PlayRules, items: Any, node: str):
        self.rules, self.items, self.node = rules, items, node
        self.pool: WorkerPool | None = None

    def play(self, batch: list[Numbered]) -> list[tuple[int, GameRecord]]:
        if self.pool is None:
            luggage.unpack(self.items, self.node)
            self.pool = WorkerPool(1, self.rules)
        records = self.pool.play((task for _, task in batch), ordered=True)
        return [(serial, record) for (serial, _), record in zip(batch, records, strict=True)]


class RayPool:
    """Like `WorkerPool`, on the cores of a cluster."""

    def __init__(
        self,
        address: str,
        rules: PlayRules = PlayRules(),  # noqa: B008 - frozen
        *,
        agents: Iterable[str] = (),
        most: int | None = None,
        warn: Warn = lambda text: None,
        stopping: Stopping = never,
    ):
        """`address`: see `Cluster`. `agents`: expressions whose files must reach the nodes. `most`: games at a time."""
        self.stopping = stopping
        self.cluster = Cluster(address, warn)
        import ray

        try:
            self.rules, self.items = rules, ray.put(luggage.pack(agents))
            self.crew = Crew(self.cluster, _places, self._make, most, "worker")
            self.crew.open()
        except BaseException:
            self.cluster.close()
            raise
        self._mean = 0.0  # seconds per game, recently

    def _make(self, node: Node, place: Place, number: int) -> tuple[type, tuple[Any, ...]]:
        return Table, (self.rules, self.items, node.name)

    def __enter__(self) -> RayPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.crew.close()
        self.cluster.close()

    def play(self, tasks: Iterable[Task], *, ordered: bool = False) -> Generator[GameRecord, None, None]:
        """Play tasks and yield their records as they finish, or in the order of the tasks."""
        return yielded(self._play(enumerate(tasks)), ordered)

    def _play(self, source: Iterator[Numbered]) -> Generator[tuple[int, GameRecord], None, None]:
        again: deque[Numbered] = deque()  # games of dead actors, to be played first
        losses: Counter[int] = Counter()
        try:
            while not self.stopping():
                self.crew.look()
                more = self._feed(source, again)
                if not more and not self.crew.busy:
                    return
                for answer in self.crew.wait(LOOK):
                    if answer.lost:
                        self._count(losses, answer.load, answer.lost)
                        again.extend(answer.load)
                        continue
                    for serial, record in answer.result:
                        self._mean += (record.seconds - self._mean) * (0.1 if self._mean else 1.0)
                        yield serial, record
        finally:
            if self.crew.busy:  # stopped early: their games are no longer needed
                self.crew.close()

    def _feed(self, source: Iterator[Numbered], again: deque[Numbered]) -> bool:
        """Send games to idle actors; returns whether there may be more of them."""
        at_once = max(1, min(MAX_AT_ONCE, int(BATCH_SECONDS / self._mean))) if self._mean else 1
        for member in self.crew.idle:
            batch = [again.popleft() for _ in range(min(at_once, len(again)))]
            batch += itertools.islice(source, at_once - len(batch))
            if not batch:
                return False
            self.crew.give(member, "play", batch, load=batch)
        return True

    def _count(self, losses: Counter[int], batch: list[Numbered], reason: str) -> None:
        for serial, task in batch:
            losses[serial] += 1
            if losses[serial] >= LOST:
                raise MeijinError(
                    f"game {task.number} of {task.game} was begun {LOST} times, and its actor died each time "
                    f"({reason}); the logs of Ray are in {self.cluster.logs}"
                )


def _places(node: Node) -> list[Place]:
    return [Place(1)] * node.cpus
