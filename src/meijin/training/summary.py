"""What the runs of a sweep have in common: mean curves with their deviation, as CSV and as a picture."""

from __future__ import annotations

import csv
import io
import math
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from meijin.arena import charts
from meijin.core.atomic import write_file
from meijin.training.folder import RunFolder, read_metrics
from meijin.training.sweep import Trial

CURVES, SUMMARY, PICTURE = "curves.csv", "summary.csv", "curves.svg"

#: Beginnings of the names of metrics that say how well a run learns, the most telling first.
TELLING = ("eval_", "score_greedy", "elo", "points", "keeps", "best", "loss", "error")
#: Okabe and Ito's colours but black and yellow; they can be told apart by colour-blind people, on white and on black.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MOST_PANELS = 6


@dataclass(frozen=True)
class Point:
    """A metric of several runs after the same iteration."""

    variant: str
    metric: str
    iteration: int
    runs: int
    mean: float
    deviation: float  # standard deviation between the runs; 0 if there is one


@dataclass(frozen=True)
class Final:
    """The last value of a metric in all runs of a variant."""

    variant: str
    metric: str
    runs: int
    mean: float
    deviation: float
    low: float
    high: float


def curves(folder: Path, trials: Sequence[Trial]) -> list[Point]:
    """The mean curves of all variants and metrics, by iteration."""
    found: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for trial, metric, iteration, value in _values(folder, trials):
        found[trial.variant, metric, iteration].append(value)
    return [Point(*key, len(values), *_spread(values)) for key, values in found.items()]


def finals(folder: Path, trials: Sequence[Trial]) -> list[Final]:
    """What the metrics were in the end."""
    last: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for trial, metric, _, value in _values(folder, trials):
        last[trial.variant, metric][trial.name] = value
    return [
        Final(*key, len(runs), *_spread(list(runs.values())), min(runs.values()), max(runs.values()))
        for key, runs in last.items()
    ]


def telling_metrics(metrics: Sequence[str]) -> list[str]:
    """The metrics that say how well a run learns, the most telling first."""
    return [name for start in TELLING for name in sorted(set(metrics)) if name.startswith(start)]


def write_summary(folder: Path, trials: Sequence[Trial]) -> None:
    """Write the curves and the last values of the runs, as far as they are done."""
    points = curves(folder, trials)
    write_file(folder / CURVES, _as_csv(Point, points))
    write_file(folder / SUMMARY, _as_csv(Final, finals(folder, trials)))
    if chosen := telling_metrics([point.metric for point in points])[:MOST_PANELS]:
        write_file(folder / PICTURE, picture(points, chosen).encode())


def _values(folder: Path, trials: Sequence[Trial]) -> Iterator[tuple[Trial, str, int, float]]:
    for trial in trials:
        for row in read_metrics(RunFolder(folder / trial.name).metrics):
            for metric, text in row.items():
                if metric != "iteration" and text:
                    value = float(text)
                    if math.isfinite(value):
                        yield trial, metric, int(float(row["iteration"])), value


def _spread(values: Sequence[float]) -> tuple[float, float]:
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0


def _as_csv(kind: type, rows: Sequence[Point] | Sequence[Final]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(kind.__annotations__)
    for row in rows:
        writer.writerow(f"{value:.6g}" if isinstance(value, float) else value for value in vars(row).values())
    return out.getvalue().encode()


# ---- a picture ----

WIDE, HIGH, LEFT, TOP, GAP = 520, 180, 64, 30, 44


def picture(points: Sequence[Point], metrics: Sequence[str]) -> str:
    """One panel per metric: the mean of each variant over the iterations, and one deviation around it."""
    variants = list(dict.fromkeys(point.variant for point in points))
    top, parts = 10.0, []
    if variants != [""]:
        for k, variant in enumerate(variants):
            y = top + 22 * k + 8
            parts.append(f'<path d="M{LEFT} {y:g}h24" stroke="{_colour(k)}" stroke-width="3"{_dashes(k)}/>')
            parts.append(charts.text(LEFT + 32, y, charts.short(variant, 60)))
        top += 22 * len(variants) + 8
    for metric in metrics:
        chosen = [[point for point in points if (point.variant, point.metric) == (v, metric)] for v in variants]
        parts += _panel(metric, variants, chosen, top)
        top += HIGH + GAP + TOP
    words = "Mean curves of repeated runs; the bands are one standard deviation wide on either side."
    return charts.svg(LEFT + WIDE + 20, top, ", ".join(metrics), words, parts)


def _panel(metric: str, variants: Sequence[str], curves: Sequence[Sequence[Point]], top: float) -> Iterator[str]:
    everything = [point for curve in curves for point in curve]
    ends = [point.mean + side * point.deviation for point in everything for side in (-1, 1)]
    last = max(point.iteration for point in everything)
    ticks = _ticks(min(ends), max(ends))
    low, high = min(ticks[0], *ends), max(ticks[-1], *ends)
    base = top + TOP + HIGH

    def at(iteration: float, value: float) -> str:
        return f"{LEFT + WIDE * iteration / last:.1f} {base - HIGH * (value - low) / (high - low):.1f}"

    yield charts.text(LEFT, top + 12, metric.removeprefix("eval_").replace("_", " "))
    for tick in ticks:
        y = float(at(0, tick).split()[1])
        yield f'<path d="M{LEFT} {y:g}h{WIDE}" class="soft"/>'
        yield charts.text(LEFT - 8, y, f"{tick:g}", "end")
    for tick in (t for t in _ticks(0, last) if t == int(t)):
        yield charts.text(LEFT + WIDE * tick / last, base + 16, f"{tick:g}", "middle")
    for k, (variant, curve) in enumerate(zip(variants, curves, strict=True)):
        if not curve:
            continue
        curve = sorted(curve, key=lambda point: point.iteration)
        above = [at(p.iteration, p.mean + p.deviation) for p in curve]
        below = [at(p.iteration, p.mean - p.deviation) for p in reversed(curve)]
        end = curve[-1]
        says = f"{variant}: {end.mean:.4g} ± {end.deviation:.2g} after {end.iteration} iterations, {end.runs} runs"
        yield (
            f"<g><title>{escape(says.removeprefix(': '))}</title>"
            f'<path d="M{"L".join(above + below)}Z" fill="{_colour(k)}" fill-opacity=".18"/>'
            f'<path d="M{"L".join(at(p.iteration, p.mean) for p in curve)}" fill="none" stroke="{_colour(k)}" '
            f'stroke-width="2" stroke-linecap="round"{_dashes(k)}/></g>'
        )


def _colour(k: int) -> str:
    return COLOURS[k % len(COLOURS)]


def _dashes(k: int) -> str:
    return "" if k < len(COLOURS) else f' stroke-dasharray="{2 + 4 * (k // len(COLOURS))} 4"'


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers, about four of them, that cover the span."""
    span = (high - low) or abs(high) or 1.0
    unit = 10.0 ** math.floor(math.log10(span / 4))
    step = next(unit * part for part in (1, 2, 2.5, 5, 10) if span / (unit * part) <= 5)
    return [k * step for k in range(math.floor(low / step), math.ceil(high / step) + 1)]


SPARKS = "▁▂▃▄▅▆▇█"


def sparkline(points: Sequence[Point], low: float, high: float, most: int = 24) -> str:
    """A mean curve as a line of blocks between two values, thinned out where it is long."""
    values = [point.mean for point in sorted(points, key=lambda point: point.iteration)]
    if len(values) > most:
        values = [values[round(k * (len(values) - 1) / (most - 1))] for k in range(most)]
    steps = (len(SPARKS) - 1) / ((high - low) or 1.0)
    return "".join(SPARKS[round(steps * (value - low))] for value in values)
