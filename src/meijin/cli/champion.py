"""`meijin champion`: the nets that come with the package, and how to make one from a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from meijin.cli.common import prepare
from meijin.cli.console import busy, in_whole_words, out, print_json, table
from meijin.cli.program import interruptible
from meijin.learning import files


def list_(as_json: bool) -> None:
    found = list(files.champions())
    if as_json:
        print_json([{"path": str(path), **said} for path, said in found])
        return
    if not found:
        out().print("there are no champions yet; make one with `meijin champion make RUN`")
        return
    shown = table("game", "net, training and strength")
    for path, said in found:
        file = [] if path.parent == files.PACKAGED else [f"in {path}"]
        lines = [f"{net_words(said)}; {trained_words(said)}", *strength_words(said).split("; "), *file, ""]
        shown.add_row(Text(said["game"], "bold cyan"), Text("\n".join(lines)))
    out().print(in_whole_words(shown))


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
    from meijin.training.champions import make_champion

    def measured(name: str, measure: Any) -> Any:
        with busy(name):
            return interruptible(measure)

    target = make_champion(
        run, out=folder, name=name, measures=measures, simulations=simulations, workers=workers, note=note,
        measured=measured,
    )  # fmt: skip
    said = files.about(target)
    assert said is not None
    out().print(Text.assemble((said["game"], "bold"), f"  {net_words(said)}  {strength_words(said)}"))
    out().print(Text(f"{target}: {target.stat().st_size:,} bytes", "dim"))


# ---- words, for the list and for the page about champions ----


def net_words(said: dict[str, Any]) -> str:
    net = said.get("net", {})
    if "tuples" in net:
        cells = net["tuples"]["cells"]
        lengths = sorted({len(names.split()) for names in cells})
        noun = "tuple" if len(cells) == 1 else "tuples"
        return f"{len(cells)} {noun} of {' or '.join(map(str, lengths))} cells"
    pooled = ", pooled" if net.get("pooling") else ""
    return f"{net.get('blocks')} blocks of {net.get('channels')}{pooled}"


def trained_words(said: dict[str, Any]) -> str:
    facts = said.get("facts", {})
    if "seconds" not in facts:
        return "-"
    many = f"{facts['games']:,} games" if "games" in facts else f"{facts.get('positions', 0):,} positions"
    return f"{facts['seconds'] / 60:.1f} min, {many}"


def strength_words(said: dict[str, Any]) -> str:
    parts = []
    for each in said.get("facts", {}).get("strength", ()):
        share = each.get("unit", "share") == "share"
        low, value, high = (
            f"{100 * x:.1f}" if share else f"{x:,.1f}"
            for x in (each["interval"][0], each["value"], each["interval"][1])
        )
        unit = " %" if share else ""
        effort = f"{each['simulations']} simulations" if "simulations" in each else f"depth {each['depth']}"
        who = f"{each['by']} with {effort}"
        parts.append(f"{who}: {value}{unit} ({low} - {high}), {each['games']} games")
    return "; ".join(parts) or "-"
