"""The connection to a Ray cluster, and its nodes.

    with Cluster("10.0.0.1:6379") as cluster:      # or Cluster(): one of this machine, which ends with the connection
        for node in cluster.nodes(): ...

A node is used only if it has the same versions of everything that computes: a position played or a game judged by other
code would be another position or another result.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from types import TracebackType
from typing import Any

from meijin.cluster.versions import about_node, differences
from meijin.core.errors import BadParameter, MeijinError

LOCAL = "local"  # the address of a cluster that is started here
EXAMPLE = "write HOST:PORT, such as 10.0.0.1:6379, ray://HOST:10001, auto, or local"
REACH = 5.0  # seconds in which a cluster must answer
HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])  # what Ray's servers expect first
STARTS = 3  # attempts to start a cluster
PROBE = 60.0  # seconds in which a node must say what it has installed
AGAIN = 30.0  # seconds after which it is asked again: Ray may lose a task while nodes come and go

Warn = Callable[[str], None]


def need_ray() -> None:
    """Raise an error that says what to install, unless Ray is installed."""
    if find_spec("ray") is None:
        raise MeijinError("--ray needs Ray, and there is no module 'ray' here: pip install 'meijin[ray]'")


@dataclass(frozen=True)
class Node:
    """A node that can be used."""

    id: str
    name: str  # its address
    cpus: int  # that Ray may give away
    gpus: int


class Cluster:
    """A connection, which ends with the `with` block; what Ray has started for it ends too."""

    def __init__(self, address: str = "", warn: Warn = lambda text: None):
        """`address`: of a running cluster; by default that of RAY_ADDRESS, or else a cluster is started here."""
        need_ray()
        self.address = address or os.environ.get("RAY_ADDRESS") or LOCAL
        self.warn = warn
        import ray

        self.owned = not ray.is_initialized()  # else somebody else has connected this process
        if self.owned:
            _connect(self.address)
        self._mine: dict[str, str] = about_node()["versions"]
        self._known: dict[str, Node | None] = {}  # by id; None: not to be used
        self._asked: dict[Any, tuple[dict[str, Any], float]] = {}  # awaited answer -> what Ray says of the node; when
        self._later: dict[str, float] = {}  # by id, when to ask a node again whose answer was lost

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        import ray

        if self.owned and ray.is_initialized():
            ray.shutdown()
        self.owned = False

    # ---- nodes ----

    def nodes(self, wait: float = 0.0) -> list[Node]:
        """The nodes that can be used now. A new one counts once it has said what it has installed; `wait` for that."""
        import ray

        alive = {node["NodeID"]: node for node in ray.nodes() if node["Alive"]}
        now = time.monotonic()
        asked = {about["NodeID"] for about, at in self._asked.values() if now - at < AGAIN}
        for name in alive.keys() - self._known.keys() - asked:
            if now >= self._later.get(name, now):
                self._asked[_ask(name)] = alive[name], now
        if self._asked:
            ready, _ = ray.wait([*self._asked], num_returns=len(self._asked), timeout=wait)
            for answer in ready:
                self._judge(self._asked.pop(answer)[0], answer)
            waited = alive.keys() - self._known.keys()
            self._asked = {answer: about for answer, about in self._asked.items() if about[0]["NodeID"] in waited}
        return [node for name, node in self._known.items() if node is not None and name in alive]

    def _judge(self, about: Mapping[str, Any], answer: Any) -> None:
        """Note whether a node can be used; if not, a warning says why."""
        import ray

        key, name, given = about["NodeID"], about["NodeManagerAddress"], about["Resources"]
        try:
            said = ray.get(answer)
        except ray.exceptions.RayError as error:
            if key not in self._later:
                self.warn(f"node {name} is not used yet: it did not say what it has installed ({reason(error)})")
            self._later[key] = time.monotonic() + AGAIN
            return
        if other := differences(self._mine, said["versions"]):
            self.warn(f"node {name} is not used: it has {other}; install the same versions there")
            self._known[key] = None
            return
        cpus, real = int(given.get("CPU", 0)), int(said["cores"])
        if cpus > real:
            self.warn(
                f"node {name} offers {cpus} cores to Ray and has {real}: what runs there shares cores, and agents "
                "with a time limit think less than they should"
            )
        self._known[key] = Node(key, name, cpus, int(given.get("GPU", 0)))

    def need_nodes(self) -> list[Node]:
        """The nodes at the start; raises if none can be used, with the reasons."""
        reasons: list[str] = []
        before, self.warn = self.warn, reasons.append
        try:
            found = self.nodes(wait=PROBE)
        finally:
            self.warn = before
        if not found:
            raise MeijinError(f"no node of the Ray cluster can be used: {'; '.join(reasons) or 'none has answered'}")
        for text in reasons:
            self.warn(text)
        return found

    @property
    def logs(self) -> str:
        """Where Ray keeps what its processes write, on each node."""
        import ray

        try:
            return f"{ray._private.worker._global_node.get_session_dir_path()}/logs"
        except AttributeError:  # connected as a client
            return "/tmp/ray/session_latest/logs"


def options(node: Node, cpus: float, gpus: float = 0.0) -> dict[str, Any]:
    """Options of an actor that runs on that node with so many cores and GPUs, and dies for good."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    variables = {name: os.environ[name] for name in ("MEIJIN_JIT",) if name in os.environ}
    return {
        "num_cpus": cpus,
        "num_gpus": gpus,
        "scheduling_strategy": NodeAffinitySchedulingStrategy(node.id, soft=False),
        "max_restarts": 0,  # what a dead one had done is not known: another one starts afresh
        "max_task_retries": 0,
        **({"runtime_env": {"env_vars": variables}} if variables else {}),
    }


def reason(error: BaseException) -> str:
    """Why a task or actor of Ray failed, in one line; Meijin's own errors in their own words."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, MeijinError):
        return str(cause)
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [
        line
        for line in lines
        if line.startswith(("The actor is dead because", "The node", "Worker exit", "Task was killed"))
    ]
    return (told or lines[-1:] or [type(error).__name__])[0].rstrip(".")


def own(error: BaseException) -> MeijinError | None:
    """Meijin's error inside an error of Ray, if that is what it is."""
    cause = getattr(error, "cause", None)
    return cause if isinstance(cause, MeijinError) else None


def _ask(node: str) -> Any:
    """Ask a node what it has installed."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    placed = NodeAffinitySchedulingStrategy(node, soft=False)
    return ray.remote(about_node).options(num_cpus=0, scheduling_strategy=placed, max_retries=1).remote()


def _connect(address: str) -> None:
    """Start a cluster or connect to one; errors are one sentence."""
    import ray

    quiet = {"log_to_driver": False, "configure_logging": False, "logging_level": logging.ERROR}
    logging.getLogger("ray").setLevel(logging.ERROR)
    # Ray prints messages about dead workers to stdout, in the middle of our own output; the crew says the same.
    ray._private.worker.print_to_stdstream = lambda *_, **__: None
    with _signals_kept():
        try:
            if address == LOCAL:
                _start(num_cpus=about_node()["cores"], include_dashboard=False, **quiet)
            else:
                _reach(address)
                ray.init(address=address, **quiet)
        except MeijinError:
            raise
        except (Exception, SystemExit) as error:
            with contextlib.suppress(Exception):
                ray.shutdown()
            raise _explained(address, error) from None


def _start(**options: Any) -> None:
    """Start a cluster here. On a very busy machine Ray gives up after half a minute, and may succeed the next time."""
    import ray

    for attempt in range(STARTS):
        try:
            ray.init(address=LOCAL, **options)
            return
        except Exception as error:
            ray.shutdown()
            if "timed out" not in str(error) or attempt == STARTS - 1:
                raise


def _reach(address: str) -> None:
    """Raise unless something answers there: Ray itself would try for two minutes."""
    if address == "auto":
        return
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not host or not port.isdigit():
        raise BadParameter(f"--ray '{address}' is not an address; {EXAMPLE}")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), REACH) as there:
            there.settimeout(REACH)
            there.sendall(HTTP2)
            speaks = there.recv(9)[3:4] == b"\x04"  # settings, which every gRPC server sends first
    except TimeoutError:
        speaks = False
    except (OSError, OverflowError) as error:
        raise MeijinError(
            f"no Ray cluster answers at {address} ({getattr(error, 'strerror', None) or error}); start one there with "
            "`ray start --head`, or check the address"
        ) from None
    if not speaks:
        raise MeijinError(f"what answers at {address} is not a Ray cluster; check the address and the port")


def _explained(address: str, error: BaseException) -> MeijinError:
    text = str(error)
    if address == LOCAL:
        return MeijinError(
            f"Ray could not be started here: {text.strip().splitlines()[0] if text.strip() else error!r}"
        )
    if "ersion mismatch" in text:
        lines = [line.strip() for line in text.splitlines() if "Ray:" in line or "Python:" in line]
        return MeijinError(f"the Ray cluster at {address} has other versions than this process: {', '.join(lines)}")
    if "Auth" in type(error).__name__ or "authentication token" in text.lower():
        return MeijinError(
            f"the Ray cluster at {address} asks for its token: set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN here as "
            "on its other machines"
        )
    if "any running Ray instance" in text:
        return MeijinError("there is no running Ray cluster on this machine; give its address, or --ray local")
    if "raylet" in text or "node_ip_address" in text or "node info" in text.lower():
        return MeijinError(
            f"this machine is not a node of the Ray cluster at {address}: run `ray start --address={address}` here "
            "first (--num-cpus=0 if it should not play), or connect as a client by ray://HOST:10001"
        )
    said = (text.strip() or repr(error)).splitlines()[0]
    token = "; if it asks for a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN" if "onnect" in said else ""
    return MeijinError(f"the connection to the Ray cluster at {address} failed: {said}{token}")


@contextlib.contextmanager
def _signals_kept() -> Iterator[None]:
    """Ray replaces the handler of SIGTERM; ours, if there is one, stays."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
