"""Where a run spends its time: a profile of its training thread."""

from __future__ import annotations

import cProfile
import io
import pstats
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from meijin.core.atomic import write_file

LISTED = 30  # functions in the text


@contextmanager
def profiled(folder: Path) -> Iterator[None]:
    """Profile this thread inside the block, then write `profile.prof`, and `profile.txt` for people."""
    profile = cProfile.Profile()
    profile.enable()
    try:
        yield
    finally:
        profile.disable()
        profile.dump_stats(folder / "profile.prof")
        text = io.StringIO()
        pstats.Stats(profile, stream=text).sort_stats("tottime").print_stats(LISTED)
        write_file(folder / "profile.txt", text.getvalue().encode())
