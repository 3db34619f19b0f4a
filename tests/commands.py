"""Giving commands to `meijin` within a test's own process."""

from __future__ import annotations

from functools import cache
from typing import Any

import typer.testing

from meijin.cli.app import app

# Typer builds every command anew for each call, which takes longer than many of the calls.
typer.testing._get_command = cache(typer.testing._get_command)  # type: ignore[attr-defined]


def run(*args: object, input: str | None = None, env: dict[str, str] | None = None) -> Any:
    runner = typer.testing.CliRunner()
    return runner.invoke(app, [str(arg) for arg in args], input=input, env=env, prog_name="meijin")


def good(*args: object, input: str | None = None, env: dict[str, str] | None = None) -> str:
    result = run(*args, input=input, env=env)
    assert result.exit_code == 0, result.output
    return str(result.stdout)
