"""A run's directory in an object store: `--out s3://bucket/runs/go`, by fsspec.

The run works in a local copy. After every checkpoint the files that have changed are uploaded, `latest` last, each as
one object that appears whole or not at all; a resumed run downloads what its copy lacks. So a machine that dies costs
the iteration in flight, as with a local directory, and any other machine can continue.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from meijin.core.atomic import write_file
from meijin.core.compile import cache_folder
from meijin.core.errors import MeijinError
from meijin.learning.files import LATEST

T = TypeVar("T")

INDEX = ".remote.json"  # in the local copy: file -> what the store said about it when they were equal, and its stamp


def url_of(path: str | Path) -> str | None:
    """The address of a store that a path stands for, also after `Path` took away one of its slashes; else None."""
    found = re.match(r"([a-z][a-z0-9+.-]+):/+(.*)", str(path))
    if found is None:
        return None
    return f"{found[1]}://{'/' if found[1] in ('file', 'local', 'memory') else ''}{found[2].rstrip('/')}"


class RemoteFolder:
    """A folder of a store and its local copy."""

    def __init__(self, url: str):
        self.url = url
        self.local = cache_folder() / "runs" / hashlib.sha256(url.encode()).hexdigest()[:16]
        self.fs, self.root = self._tried(_open, url)
        self.pushed: dict[str, tuple[int, int]] = {}  # file -> its size and time when it was uploaded

    def pull(self) -> None:
        """Make the local copy equal to the store."""
        there = self._tried(self._list)
        index: dict[str, list[str | int]] = {}
        if (self.local / INDEX).exists():
            index = json.loads((self.local / INDEX).read_text())
        for name in self._files():
            if name not in there:
                (self.local / name).unlink()
        for name, mark in there.items():
            # A file that was changed here and not uploaded, because the process was killed, does not count either.
            if not (self.local / name).exists() or index.get(name) != [mark, *self._stamp(name)]:
                write_file(self.local / name, self._tried(self.fs.cat_file, f"{self.root}/{name}"))
            self.pushed[name] = self._stamp(name)
        self._note(there)

    def push(self) -> None:
        """Upload what has changed, the latest checkpoint last, and remove what is gone."""
        mine = sorted(self._files(), key=lambda name: name.endswith(LATEST))
        for name in mine:
            if self.pushed.get(name) != (stamp := self._stamp(name)):
                self._tried(self._upload, name)
                self.pushed[name] = stamp
        for name in self.pushed.keys() - set(mine):
            self._tried(self.fs.rm_file, f"{self.root}/{name}")
            del self.pushed[name]
        self._note(self._tried(self._list))

    def _upload(self, name: str) -> None:
        there, data = f"{self.root}/{name}", (self.local / name).read_bytes()
        if "file" in self.fs.protocol:  # objects appear whole; files do so by their rename
            self.fs.makedirs(there.rpartition("/")[0], exist_ok=True)
            write_file(Path(there), data)
        else:
            self.fs.pipe_file(there, data)

    def _list(self) -> dict[str, str]:
        """File -> something that changes when it does."""
        self.fs.invalidate_cache()
        try:
            found = self.fs.find(self.root, detail=True)
        except FileNotFoundError:
            return {}
        marks = ("ETag", "etag", "LastModified", "updated", "mtime", "created", "size")
        return {
            path[len(self.root) :].lstrip("/"): " ".join(str(about[mark]) for mark in marks if mark in about)
            for path, about in found.items()
        }

    def _files(self) -> list[str]:
        found = [path for path in self.local.rglob("*") if path.is_file() and not path.name.startswith(".")]
        return [path.relative_to(self.local).as_posix() for path in found]

    def _stamp(self, name: str) -> tuple[int, int]:
        stat = (self.local / name).stat()
        return stat.st_size, stat.st_mtime_ns

    def _note(self, there: dict[str, str]) -> None:
        index = {name: [mark, *self.pushed[name]] for name, mark in there.items() if name in self.pushed}
        write_file(self.local / INDEX, json.dumps(index).encode())

    def _tried(self, work: Callable[..., T], *arguments: str) -> T:
        try:
            return work(*arguments)
        except MeijinError:
            raise
        except ImportError as error:
            raise MeijinError(f"{self.url} needs another package: {str(error).rstrip('.')}") from None
        except Exception as error:
            said = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
            hint = "; set the credentials of the store" if "redential" in said else ""
            raise MeijinError(f"{self.url} cannot be used: {said}{hint}") from None


def _open(url: str) -> tuple[Any, str]:
    import fsspec

    fs, root = fsspec.core.url_to_fs(url)
    return fs, str(root).rstrip("/")
