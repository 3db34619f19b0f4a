"""`meijin train`: options, Ctrl-C and display around a run of `meijin.training`."""

from __future__ import annotations

import inspect
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from meijin.cli.common import prepare
from meijin.cli.program import INTERRUPTED
from meijin.cli.stopping import stoppable
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter


def train(name: str, method: str, load: Sequence[Path], as_json: bool, **options: Any) -> None:
    """`options`: arguments of `training.zero` and the like; None for those that were not given."""
    began = time.perf_counter()
    prepare(load)
    # Before PyTorch is loaded: threads that wait should sleep, or a busy machine makes training ten times slower.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from meijin import training
    from meijin.cli.run_display import display
    from meijin.training.events import Stopped

    training.check_method(method)
    game = make(name)
    given = {key: value for key, value in options.items() if value is not None}
    known = {*inspect.signature(training.METHODS["td" if method in ("sarsa", "q") else method]).parameters, "profile"}
    if other := next((key for key in given if key not in known), None):
        raise BadParameter(f"--{other.replace('_', '-')} is not an option of {method}")
    with display(game, load, as_json) as shown:
        run = training.start(method, game, began=began, **given)
        with stoppable(run, shown):
            last = run.go(shown)
    if isinstance(last, Stopped):
        raise typer.Exit(INTERRUPTED)


def assignments(texts: Sequence[str]) -> dict[str, Any]:
    """`["search.simulations=64"]` -> values, read as JSON if possible, else as text."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise BadParameter(f"--set '{text}': write NAME=VALUE, as in --set search.simulations=64")
        try:
            found[name.strip()] = json.loads(value)
        except ValueError:
            found[name.strip()] = value
    return found
