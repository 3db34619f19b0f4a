"""A small part of each soak test; `make soak` runs them at length."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("script", "mutations"),
    [("fuzz_formats", 300), ("fuzz_plans", 300), ("fuzz_database", 50), ("fuzz_protocols", 60)],
)
def test_bad_input_is_refused_and_never_breaks_anything(script: str, mutations: int) -> None:
    # The rules run as plain Python: mutations make up many sizes of boards, and moves outside of a board are noticed.
    command = [sys.executable, str(Path(__file__).parent / "soak" / f"{script}.py"), "--mutations", str(mutations)]
    done = subprocess.run(command, env={**os.environ, "MEIJIN_JIT": "0"}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
