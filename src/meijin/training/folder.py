"""A run's directory: its files, and how it is opened and resumed.

    runs/NAME/config.json             every setting
              metrics.csv             one row per iteration; `tensorboard/` shows the same as curves
              events.jsonl            what the run has told, one event per line, all sessions together
              checkpoints/latest.safetensors    what plays, and all that is needed to resume
              checkpoints/000010.safetensors    checkpoints that are kept
              games/000010.safetensors          what an iteration's games left to learn from, for some learners

The latest checkpoint is written last: what an iteration left before it is thrown away when the run resumes, so a kill
costs the iteration in flight and nothing else.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from meijin.core.atomic import write_file
from meijin.core.errors import BadParameter, MeijinError
from meijin.learning.files import LATEST, SUFFIX, numbered
from meijin.training.events import Event
from meijin.training.remote import RemoteFolder, url_of

LEAST_FREE = 64 * 2**20  # bytes of disk below which a run stops while it still can


class RunFolder:
    """Paths and rules of one run's directory. Nothing is written before `create`."""

    def __init__(self, path: str | Path):
        """`path` may be the address of an object store, such as "s3://bucket/runs/go"; see `remote`."""
        url = url_of(path)
        self.remote = None if url is None else RemoteFolder(url)
        self.path = Path(path) if self.remote is None else self.remote.local
        if self.remote is not None:
            self.remote.pull()
        self.config, self.metrics = self.path / "config.json", self.path / "metrics.csv"
        self.events = self.path / "events.jsonl"
        self.checkpoints, self.games = self.path / "checkpoints", self.path / "games"
        self.latest = self.checkpoints / LATEST
        self._columns: list[str] = []  # of metrics.csv

    def __str__(self) -> str:
        return str(self.path) if self.remote is None else self.remote.url

    def push(self) -> None:
        """Upload what has changed, if the run is in an object store."""
        if self.remote is not None:
            self.remote.push()

    def check(self, resume: bool) -> None:
        """Raise unless there is a run to resume, or none where a new one begins."""
        if resume and not self.config.exists():
            raise BadParameter(f"'{self}' holds no run to resume; leave out --resume to start one there")
        if not resume and self.config.exists():
            raise BadParameter(f"'{self}' already holds a run; add --resume to continue it, or choose another --out")

    def create(self) -> None:
        for part in (self.checkpoints, self.games):
            try:
                part.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise MeijinError(f"'{self}' cannot be created: {error.strerror or error}") from None

    def numbered(self, iteration: int) -> Path:
        """Where the checkpoint of an iteration is kept."""
        return self.checkpoints / f"{iteration:06d}{SUFFIX}"

    def to_resume(self) -> tuple[Path | None, str]:
        """The checkpoint to resume from, None before the first, and what to do if it is damaged."""
        kept = numbered(self.checkpoints)
        if not self.latest.exists():
            return (kept[-1] if kept else None), ""
        return self.latest, f"; without {LATEST}, --resume continues from {kept[-1].name}" if kept else ""

    def check_room(self) -> None:
        free = shutil.disk_usage(self.path).free
        if free < LEAST_FREE:
            raise MeijinError(f"'{self}': only {free // 2**20} MiB of disk are free; make room, then --resume")

    # ---- metrics.csv ----

    def add_metrics(self, row: Mapping[str, Any]) -> None:
        """Append a row; if it has new columns, the whole file is rewritten."""
        texts = {name: _short(value) for name, value in row.items()}
        if new := [name for name in texts if name not in self._columns]:
            rows = [*read_metrics(self.metrics), texts]
            self._columns = [*self._columns, *new]
            write_file(self.metrics, _as_csv(rows, self._columns).encode())
            return
        line = _as_csv([texts], self._columns).partition("\n")[2]
        try:
            with self.metrics.open("a", newline="", encoding="utf-8") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise MeijinError(f"{self.metrics} could not be written: {error.strerror or error}") from None

    def trim_metrics(self, iteration: int) -> None:
        """Drop the rows after that iteration; call it before `add_metrics`."""
        rows = [row for row in read_metrics(self.metrics) if int(float(row["iteration"])) <= iteration]
        self._columns = list(rows[0]) if rows else []
        if self.metrics.exists():
            write_file(self.metrics, _as_csv(rows, self._columns or ["iteration"]).encode())

    # ---- events.jsonl ----

    def add_event(self, event: Event) -> None:
        """Append a line. A full disk is reported where it matters."""
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        with contextlib.suppress(OSError):
            before = self.events.stat().st_size if self.events.exists() else 0
            try:
                with self.events.open("a", encoding="utf-8") as file:
                    file.write(event.to_json(time=time) + "\n")
            except OSError:
                os.truncate(self.events, before)  # or the next event would continue this line

    def trim_events(self) -> None:
        """Drop a line that was being written when the run was killed; call it before `add_event`."""
        if self.events.exists():
            text = self.events.read_bytes()
            if (whole := text.rfind(b"\n") + 1) < len(text):
                write_file(self.events, text[:whole])


def read_metrics(path: Path) -> list[dict[str, str]]:
    """The rows of a metrics.csv; a line that was being written when the run was killed is left out."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    return [row for row in csv.DictReader(io.StringIO(whole)) if row.get("iteration")]


def _short(value: Any) -> str:
    return str(value) if isinstance(value, int | str) else f"{float(value):.6g}"


def _as_csv(rows: list[dict[str, str]], columns: list[str]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
