"""`meijin champion`: the nets that come with the package, and how a run's net becomes one."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from meijin.cli.common import prepare
from meijin.cli.console import busy, out, print_json, table
from meijin.cli.program import interruptible
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.folders import data_folder
from meijin.learning import files

MOST_BYTES = 3 * 10**6  # of a champion, so that all of them together stay a small download
POINTS = 40  # of its curve


def list_(as_json: bool) -> None:
    found = list(files.champions())
    if as_json:
        print_json([{"path": str(path), **said} for path, said in found])
        return
    if not found:
        out().print("there are no champions yet; make one with: meijin champion make RUN")
        return
    shown = table("game", "net", "trained", "measured", "file")
    for path, said in found:
        file = "comes with Meijin" if path.parent == files.PACKAGED else str(path)
        shown.add_row(Text(said["game"], "bold cyan"), net_words(said), trained_words(said), strength_words(said), file)
    out().print(shown)


def make(
    run: Path,
    folder: Path | None,
    name: str | None,
    measures: Sequence[str],
    simulations: int,
    workers: int | None,
    note: str,
    load: Sequence[Path],
) -> None:
    """Write a run's newest net, or a checkpoint, as a champion, and measure it."""
    prepare(load)
    files.need_torch("a champion")
    from meijin.arena.evaluators import evaluate, evaluator
    from meijin.arena.pool import cores
    from meijin.learning.zero import checkpoint

    source = files.find(run)
    found = checkpoint.load(source)
    game = found.game
    chosen = [evaluator(each) for each in measures]
    for each in chosen:
        if why := each.unfit(game):
            raise BadParameter(f"{each.name} does not fit {game}: {why}")
    target = (folder or data_folder() / "champions") / f"{name or game.name}{files.SUFFIX}"
    facts: dict[str, Any] = {**_facts(source, found.facts), "note": note, "strength": []}
    target.parent.mkdir(parents=True, exist_ok=True)
    trial = target.with_name(f".{target.name}")
    try:
        checkpoint.save(trial, found.net, half=True, **facts)
        if trial.stat().st_size > MOST_BYTES:
            raise MeijinError(
                f"{source}: {trial.stat().st_size:,} bytes in half precision, and a champion has at most "
                f"{MOST_BYTES:,}; train a smaller net, such as net.size=small"
            )
        agent = f'zero("{trial}", simulations={simulations})'
        for each in chosen:  # as it is in the file, half precision included
            with busy(f"{game}: {each.name}"):
                measured = interruptible(
                    lambda each=each: evaluate(  # type: ignore[misc]
                        game, agent, each, seed=1, workers=cores() if workers is None else workers
                    )
                )
            facts["strength"].append(
                {
                    "by": each.name,
                    "simulations": simulations,
                    "value": measured.value,
                    "interval": list(measured.interval),
                    "games": measured.games,
                    "unit": measured.unit,
                }
            )
        checkpoint.save(target, found.net, half=True, **facts)
    finally:
        trial.unlink(missing_ok=True)
    console = out()
    said = files.about(target)
    assert said is not None
    console.print(Text.assemble((str(game), "bold"), f"  {net_words(said)}  {strength_words(said)}"))
    console.print(Text(f"{target}: {target.stat().st_size:,} bytes", "dim"))


def _facts(source: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """What is known of how the net came about: its config, and its curve."""
    found: dict[str, Any] = {
        name: facts[name] for name in ("iteration", "seconds", "positions", "elo") if name in facts
    }
    run = source.parent.parent
    config, metrics = run / "config.json", run / "metrics.csv"
    if config.is_file():
        found["config"] = json.loads(config.read_text())
    if metrics.is_file():
        with metrics.open(newline="") as file:
            rows = [row for row in csv.DictReader(file) if row.get("iteration")]
        rows = [row for row in rows if int(float(row["iteration"])) <= int(facts.get("iteration", 10**9))]
        names = [n for n in (rows[0] if rows else {}) if n in ("elo", "loss_policy", "loss_value") or "eval_" in n]
        step = -(-len(rows) // POINTS) or 1
        found["curve"] = [
            {"seconds": _rounded(row["seconds"]), **{n: _rounded(row[n]) for n in names if row.get(n)}}
            for row in [*rows[step - 1 :: step]]
        ]
    return found


def _rounded(text: str) -> float:
    return float(f"{float(text):.4g}")


# ---- words, for the list and for the page about champions ----


def net_words(said: dict[str, Any]) -> str:
    net = said.get("net", {})
    pooled = ", pooled" if net.get("pooling") else ""
    return f"{net.get('blocks')} blocks of {net.get('channels')}{pooled}"


def trained_words(said: dict[str, Any]) -> str:
    facts = said.get("facts", {})
    if "seconds" not in facts:
        return "-"
    return f"{facts['seconds'] / 60:.1f} min, {facts.get('positions', 0):,} positions"


def strength_words(said: dict[str, Any]) -> str:
    parts = []
    for each in said.get("facts", {}).get("strength", ()):
        share = each.get("unit", "share") == "share"
        low, value, high = (
            f"{100 * x:.1f}" if share else f"{x:,.1f}"
            for x in (each["interval"][0], each["value"], each["interval"][1])
        )
        unit = " %" if share else ""
        who = f"{each['by']} with {each['simulations']} simulations"
        parts.append(f"{who}: {value}{unit} ({low} - {high}), {each['games']} games")
    return "; ".join(parts) or "-"
