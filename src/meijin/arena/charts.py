"""Pictures of a tournament as SVG: a heat map of the crosstable and a plot of the ratings.

They work as files and inside a page, adapt to dark backgrounds, and say in words (title, description, one tooltip per
mark) what the colours show. The scale runs from orange over grey to blue, which colour-blind people can tell apart, and
every cell shows its number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from meijin.arena.standings import PairResults, StandingsRow

_LOW, _MIDDLE, _HIGH = (0xB3, 0x58, 0x06), (0xF0, 0xF0, 0xF0), (0x21, 0x66, 0xAC)

_STYLE = (
    ".meijin-chart text{fill:#1f2328;font:14px system-ui,Helvetica,Arial,sans-serif}"
    ".meijin-chart .soft{stroke:#d0d7de}.meijin-chart .zero{stroke:#6e7781}.meijin-chart .mark{stroke:#2166ac}"
    ".meijin-chart .dot{fill:#2166ac}.meijin-chart .none{fill:#8882}"
    ".meijin-chart .name{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}"
    "@media(prefers-color-scheme:dark){.meijin-chart text{fill:#e6edf3}.meijin-chart .soft{stroke:#30363d}"
    ".meijin-chart .zero{stroke:#8b949e}.meijin-chart .mark{stroke:#79b8ff}.meijin-chart .dot{fill:#79b8ff}"
    ".meijin-chart .name{stroke:#0d1117}}"
    # The background of a cell is the same in dark mode, so its number must be too.
    ".meijin-chart text.on-light{fill:#1f1f1f;font-size:13px}.meijin-chart text.on-dark{fill:#fff;font-size:13px}"
)


def svg(width: float, height: float, title: str, description: str, parts: Sequence[str]) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="meijin-chart" role="img" width="{width:g}" '
            f'height="{height:g}" viewBox="0 0 {width:g} {height:g}">',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(description)}</desc>",
            f"<style>{_STYLE}</style>",
            *parts,
            "</svg>",
        ]
    )


def text(x: float, y: float, words: str, anchor: str = "start", kind: str = "") -> str:
    # dy centres the letters on the point; dominant-baseline is not drawn alike everywhere.
    style = f' class="{kind}"' if kind else ""
    return f'<text x="{x:g}" y="{y:g}" dy=".35em" text-anchor="{anchor}"{style}>{escape(words)}</text>'


def _wide(words: str) -> float:
    """Approximate width of a text at 14 px."""
    return 7.6 * len(words)


def short(name: str, most: int = 32) -> str:
    return name if len(name) <= most else name[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"


def colour(share: float) -> str:
    """The colour of a share of the points: orange for 0, grey for a half, blue for 1."""
    end = _HIGH if share > 0.5 else _LOW
    at = min(1.0, abs(2 * share - 1))
    return "#" + "".join(f"{round(m + at * (e - m)):02x}" for m, e in zip(_MIDDLE, end, strict=True))


def percent(share: float) -> str:
    return f"{100 * share:.0f}"


def heat_map(names: Sequence[str], pairs: Mapping[tuple[str, str], PairResults], title: str) -> str:
    """The share of the points that the row's agent took from the column's, in percent. Columns go by number."""
    cell, gap = 46, 8
    labels = [f"{k}  {short(name, 18)}" for k, name in enumerate(names, 1)]
    left = gap + max(map(_wide, labels), default=0) + gap
    top = 34
    parts: list[str] = []
    for column in range(len(names)):
        parts.append(text(left + (column + 0.5) * cell, top / 2, str(column + 1), "middle"))
    for row, one in enumerate(names):
        y = top + row * cell
        parts.append(text(left - gap, y + cell / 2, labels[row], "end"))
        for column, other in enumerate(names):
            x = left + column * cell
            box = f'x="{x:g}" y="{y:g}" width="{cell - 2}" height="{cell - 2}" rx="4"'
            pair = pairs.get((one, other))
            if pair is None:
                parts.append(f'<rect {box} class="none"/>')
                continue
            says = f"{one} against {other}: {pair.wins} won, {pair.draws} drawn, {pair.losses} lost"
            ink = "on-dark" if abs(pair.share - 0.5) > 0.3 else "on-light"
            parts.append(
                f'<g><title>{escape(says)}</title><rect {box} fill="{colour(pair.share)}"/>'
                f"{text(x + cell / 2 - 1, y + cell / 2 - 1, percent(pair.share), 'middle', ink)}</g>"
            )
    describe = (
        "Each cell is the share of the points, in percent, that the agent of the row took from the agent of the "
        "column; orange is little, grey is half, blue is much."
    )
    return svg(left + len(names) * cell + gap, top + len(names) * cell + gap, title, describe, parts)


def rating_plot(rows: Sequence[StandingsRow], title: str, anchor: str | None = None) -> str:
    """Every agent's rating as a dot on its 95 % interval, the best on top."""
    row, wide, left = 42, 420, 24  # the name is above its interval, so that the plot fits a phone
    ends = [end for line in rows for end in (line.rating.low, line.rating.high)] or [0.0]
    step = _step(max(ends) - min(ends))
    low, high = step * math.floor(min(ends) / step), step * math.ceil(max(ends) / step)
    if low == high:
        low, high = low - step, high + step
    top, bottom = 4.0, 12 + row * len(rows)

    def at(elo: float) -> float:
        return left + wide * (elo - low) / (high - low)

    parts: list[str] = []
    for k in range(round((high - low) / step) + 1):
        tick = low + k * step
        x, kind = at(tick), "zero" if tick == 0 else "soft"
        parts.append(f'<line x1="{x:g}" y1="{top:g}" x2="{x:g}" y2="{bottom:g}" class="{kind}"/>')
        parts.append(text(x, bottom + 16, f"{tick:+g}" if tick else "0", "middle"))
    for k, line in enumerate(rows):
        y, rating = top + (k + 0.68) * row, line.rating
        says = f"{line.name}: {rating.elo:+.0f}, 95 % from {rating.low:+.0f} to {rating.high:+.0f}"
        caps = "".join(f"M{at(end):.1f} {y - 5:g}v10" for end in (rating.low, rating.high))
        parts.append(
            f"<g><title>{escape(says)}</title>{text(left, y - 18, short(line.name, 48), kind='name')}"
            f'<path d="M{at(rating.low):.1f} {y:g}H{at(rating.high):.1f}{caps}" class="mark" stroke-width="2" '
            f'fill="none"/><circle cx="{at(rating.elo):.1f}" cy="{y:g}" r="5" class="dot"/></g>'
        )
    zero = f"{anchor} is 0" if anchor else "the mean is 0"
    parts.append(text(left + wide / 2, bottom + 40, f"Elo ({zero})", "middle"))
    describe = "; ".join(f"{line.name} {line.rating.elo:+.0f}" for line in rows)
    return svg(wide + 2 * left, bottom + 56, title, f"Elo ratings with 95 % intervals: {describe}.", parts)


def _step(span: float) -> float:
    """A round step that divides a span into at most nine parts."""
    span = max(span, 1.0)
    unit = 10.0 ** (math.floor(math.log10(span)) - 1)
    return next(unit * part for part in (1, 2, 2.5, 5, 10, 20) if span / (unit * part) <= 9)
