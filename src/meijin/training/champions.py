"""Making a champion of a run: its net in half precision, with its config, its curve and its measured strength."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from meijin.agents.champion import AHEAD
from meijin.arena.evaluators import evaluate, evaluator
from meijin.arena.pool import cores
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.expression import Call
from meijin.core.folders import data_folder
from meijin.learning import files
from meijin.learning.checkpoint import Checkpoint
from meijin.learning.config import read
from meijin.learning.td.network import Network
from meijin.training.folder import RunFolder, read_metrics

MOST_BYTES = 3 * 10**6  # of a champion, to keep the package small
POINTS = 40  # of its curve
SHOWN = ("elo", "loss_policy", "loss_value", "error", "score_greedy")  # in it, where a run has them


def make_champion(
    run: str | Path,
    *,
    out: str | Path | None = None,
    name: str | None = None,
    measures: Sequence[str] = (),
    simulations: int = 200,
    workers: int | None = None,
    note: str = "",
    measured: Callable[[str, Callable[[], Any]], Any] = lambda name, measure: measure(),
) -> Path:
    """Write the newest net of a run, or a checkpoint, as a champion, and measure it by evaluators.

    `out`: a folder, by default that of the user's own champions; `name` of the file, by default the game's. `measured`
    makes the measurements, for a front end that wants to show which one is under way.
    """
    source = files.find(run)
    tuples = files.kind(source) == "td"
    if not tuples:
        files.need_torch("a champion")
        from meijin.learning.zero import checkpoint
    found: Checkpoint[Any] = Network.load(source) if tuples else checkpoint.load(source)
    game = found.game
    chosen = [evaluator(each) for each in measures]
    for each in chosen:
        if why := each.unfit(game):
            raise BadParameter(f"{each.name} does not fit {game}: {why}")
    target = Path(out or data_folder() / "champions") / f"{name or game.name}{files.SUFFIX}"
    facts: dict[str, Any] = {**_facts(source, found.facts), "note": note, "strength": []}
    trial = target.with_name(f".{target.name}")
    ahead = AHEAD if game.seats == 1 else 1
    effort: dict[str, Any] = {"depth": ahead} if tuples else {"simulations": simulations}
    agent = str(Call("td" if tuples else "zero", (str(trial),), effort))

    def write(path: Path) -> None:
        if tuples:
            found.net.save(path, half=True, **facts)
        else:
            checkpoint.save(path, found.net, half=True, **facts)

    count = cores() if workers is None else workers

    try:
        write(trial)
        if trial.stat().st_size > MOST_BYTES:
            raise MeijinError(
                f"{source}: {trial.stat().st_size:,} bytes in half precision, but a champion may have at most "
                f"{MOST_BYTES:,}; train a smaller net: {'fewer tuples' if tuples else 'such as net.size=small'}"
            )
        for each in chosen:  # as it is in the file, half precision included
            result = measured(each.name, partial(evaluate, game, agent, each, seed=1, workers=count))
            facts["strength"].append(
                {
                    "by": each.name,
                    **effort,
                    "value": result.value,
                    "interval": list(result.interval),
                    "games": result.games,
                    "unit": result.unit,
                }
            )
        write(target)
    finally:
        trial.unlink(missing_ok=True)
    return target


def _facts(source: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """What is known about how the net was trained: its config and its curve, of its run or of another champion."""
    found: dict[str, Any] = {
        key: facts[key]
        for key in ("iteration", "seconds", "positions", "games", "elo", "config", "curve")
        if key in facts
    }
    run = RunFolder(source.parent.parent)
    if run.config.is_file():
        found["config"] = read(run.config)
    if run.metrics.is_file():
        last = int(facts.get("iteration", 10**9))
        rows = [row for row in read_metrics(run.metrics) if int(float(row["iteration"])) <= last]
        names = [n for n in (rows[0] if rows else {}) if n in SHOWN or "eval_" in n]
        step = -(-len(rows) // POINTS) or 1
        found["curve"] = [
            {"seconds": _rounded(row["seconds"]), **{n: _rounded(row[n]) for n in names if row.get(n)}}
            for row in rows[step - 1 :: step]
        ]
    return found


def _rounded(text: str) -> float:
    return float(f"{float(text):.4g}")
