"""What travels to the nodes, by its digest: the files of --load, modules that are not installed, agents' checkpoints.

A node keeps them in its cache folder under the digest of their contents, so that each version arrives once, and all
processes of the node load the same file.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

from meijin.agents.registrations import load, registrations
from meijin.core.compile import cache_folder
from meijin.core.errors import MeijinError
from meijin.core.expression import Call, parse
from meijin.learning.files import MOVED, SUFFIX, find, kind

MOST = 64 * 2**20  # bytes of one package that may travel
LEFT_OUT = {"__pycache__", ".git"}
CHECKPOINT = f"checkpoint{SUFFIX}"  # name of a checkpoint on a node


@dataclass(frozen=True)
class Item:
    """Something that a node needs. Without contents, the node must have it already."""

    kind: str  # "file", "module", "checkpoint" or "path"
    name: str  # of the file or module; the path of the others as an agent's expression has it
    digest: str = ""
    data: bytes = b""  # the file, or the zipped top-level package


def pack(expressions: Iterable[str] = ()) -> tuple[Item, ...]:
    """What the registries of this process know beyond installed packages, and the files that agents name."""
    found = []
    for text in dict.fromkeys(name for each in expressions for name in _texts(parse(each))):
        if kind(text):
            data = find(text).read_bytes()
            found.append(Item("checkpoint", text, _digest(data), data))
        elif "/" in text and Path(text).expanduser().exists():
            found.append(Item("path", text))
    for form, name in registrations():
        data = Path(name).read_bytes() if form == "file" else _zipped(name)
        found.append(Item(form, Path(name).name if form == "file" else name, _digest(data) if data else "", data))
    return tuple(found)


def unpack(items: tuple[Item, ...], node: str) -> None:
    """Load everything on a node."""
    for item in items:
        folder = _kept(item) if item.data else None
        if item.kind == "path":
            if not Path(item.name).expanduser().exists():
                raise MeijinError(f"node {node} has no '{item.name}', which an agent needs; put it there, too")
            continue
        if item.kind == "checkpoint" and folder is not None:
            moved = json.loads(os.environ.get(MOVED, "{}"))
            os.environ[MOVED] = json.dumps({**moved, item.name: str(folder / CHECKPOINT)})
            continue
        if item.kind == "file" and folder is not None:
            load(folder / item.name)
            continue
        if folder is not None and str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
        try:
            import_module(item.name)
        except ImportError as error:
            if not item.data:
                raise MeijinError(
                    f"node {node} has no module '{item.name}', which registers games or agents here ({error}); install "
                    "it there, or put them into a file for --load"
                ) from None


def _kept(item: Item) -> Path:
    """The folder on this node that holds the item; it is written once."""
    folder = cache_folder() / "travelled" / item.digest
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=folder.parent))
    if item.kind != "module":
        (draft / (item.name if item.kind == "file" else CHECKPOINT)).write_bytes(item.data)
    else:
        with zipfile.ZipFile(io.BytesIO(item.data)) as archive:
            archive.extractall(draft)
    try:
        draft.rename(folder)
    except OSError:  # another process of this node was quicker
        shutil.rmtree(draft, ignore_errors=True)
    return folder


def _texts(call: Call) -> Iterator[str]:
    """All texts among the arguments of an expression."""
    for value in (*call.args, *call.kwargs.values()):
        if isinstance(value, Call):
            yield from _texts(value)
        elif isinstance(value, str):
            yield value


def _zipped(name: str) -> bytes:
    """The top-level package of a module, zipped; empty if it is installed, so that its node should have it too."""
    top: ModuleType | None = sys.modules.get(name.partition(".")[0])
    origin = getattr(top, "__file__", None)
    if origin is None:
        return b""
    path = Path(origin).resolve()
    installed = {Path(place).resolve() for place in sysconfig.get_paths().values()}
    if any(place in path.parents for place in installed) or "site-packages" in path.parts:
        return b""
    out, size = io.BytesIO(), 0
    root = path.parent if path.name == "__init__.py" else path
    files = sorted(root.rglob("*")) if root.is_dir() else [root]
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            if file.is_file() and not LEFT_OUT & set(file.parts):
                size += file.stat().st_size
                if size > MOST:
                    raise MeijinError(
                        f"the package of '{name}' in {root} has more than {MOST >> 20} MiB; install it on every node"
                    )
                info = zipfile.ZipInfo(str(file.relative_to(root.parent)))  # without times: equal files, equal digest
                archive.writestr(info, file.read_bytes())
    return out.getvalue()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:24]


@contextmanager
def one_at_a_time(what: str) -> Iterator[None]:
    """Processes of one node do this one after another: the first compiles, the others find it in the cache."""
    try:
        import fcntl
    except ImportError:  # not on every system; then several compile the same
        yield
        return
    path = cache_folder() / "locks" / f"{_digest(what.encode())}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        with suppress(OSError):
            os.close(handle)  # and with it goes the lock, also if the process dies
