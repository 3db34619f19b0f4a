"""Giving commands to `meijin` within a test's own process."""

from __future__ import annotations

from typing import Any

from typer.testing import CliRunner

from meijin.cli.app import app


def run(*args: str, input: str | None = None) -> Any:
    return CliRunner().invoke(app, list(args), input=input, prog_name="meijin")


def good(*args: str, input: str | None = None) -> str:
    result = run(*args, input=input)
    assert result.exit_code == 0, result.output
    return str(result.stdout)
