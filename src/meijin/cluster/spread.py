"""Independent pieces of work on a cluster: repetitions of a training run, the points of a sweep, measurements.

    for number, result in spread(train_once, [(seed,) for seed in range(20)], address):
        ...

The function must be importable on the nodes, and may be called twice for a piece: one whose actor died is begun again
elsewhere. Each result comes once.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable
from typing import Any

from meijin.cluster import luggage
from meijin.cluster.connection import Cluster, Node, Warn
from meijin.cluster.crew import LOST, Crew, Place
from meijin.core.errors import MeijinError

LOOK = 0.5  # seconds between two looks at what has arrived


class Hand:
    """The actor: does one piece of work after another."""

    def __init__(self, work: Callable[..., Any], items: Any, node: str):
        self.work, self.items, self.node = work, items, node

    def do(self, arguments: tuple[Any, ...]) -> Any:
        if self.items is not None:
            luggage.unpack(self.items, self.node)
            self.items = None
        return self.work(*arguments)


def spread(
    work: Callable[..., Any],
    pieces: Iterable[tuple[Any, ...]],
    address: str = "",
    *,
    cpus: int = 1,
    warn: Warn = lambda text: None,
) -> Generator[tuple[int, Any], None, None]:
    """Call `work` with each of the arguments on some node, `cpus` cores each; yields (number, result) as they come."""
    with Cluster(address, warn) as cluster:
        import ray

        items = ray.put(luggage.pack())

        def make(node: Node, place: Place, number: int) -> tuple[type, tuple[Any, ...]]:
            return Hand, (work, items, node.name)

        crew = Crew(cluster, lambda node: [Place(cpus)] * (node.cpus // cpus), make, name="worker")
        waiting, losses = deque(enumerate(pieces)), Counter[int]()
        try:
            crew.open()
            while waiting or crew.busy:
                crew.look()
                for member in crew.idle[: len(waiting)]:
                    number, arguments = waiting.popleft()
                    crew.give(member, "do", arguments, load=(number, arguments))
                for answer in crew.wait(LOOK):
                    number = answer.load[0]
                    if not answer.lost:
                        yield number, answer.result
                        continue
                    losses[number] += 1
                    if losses[number] >= LOST:
                        raise MeijinError(f"piece {number} was begun {LOST} times, and its actor died: {answer.lost}")
                    waiting.appendleft(answer.load)
        finally:
            crew.close()
