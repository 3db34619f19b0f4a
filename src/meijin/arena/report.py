"""The report of a tournament: Markdown, one HTML page that needs no other file, CSV files and SVG pictures.

Equal results give equal files, byte by byte: nothing depends on when or how the games were played.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from meijin.arena import report_tables
from meijin.arena.charts import heat_map, rating_plot
from meijin.arena.report_tables import (
    NOTE_CROSS,
    NOTE_RATINGS,
    NOTE_SOLO,
    Summary,
    cross_rows,
    forfeit_rows,
    rating_rows,
    seat_rows,
)
from meijin.arena.standings import Standings, StandingsRow

Row = Sequence[object]


def write(summary: Summary, folder: str | Path) -> list[Path]:
    """Write the report into a folder, which is created; returns the paths of its files, the page first."""
    into = Path(folder)
    into.mkdir(parents=True, exist_ok=True)
    files = {"index.html": html(summary), "report.md": markdown(summary), **_csv_files(summary)}
    for slug, table in zip(_slugs(summary), summary.tables, strict=True):
        files[f"heatmap-{slug}.svg"] = _heat_map(table)
        files[f"ratings-{slug}.svg"] = _rating_plot(table)
    for name, text in files.items():
        # Written beside and renamed: a reader never sees half a file, not even after a crash.
        new = into / f".{name}.new"
        new.write_text(text, encoding="utf-8", newline="\n")
        new.replace(into / name)
    return [into / name for name in files]


def _slugs(summary: Summary) -> list[str]:
    """A name for the files of each game: letters, digits and dashes, all different."""
    found: list[str] = []
    for table in summary.tables:
        slug = re.sub(r"[^a-z0-9]+", "-", table.game.lower()).strip("-")
        found.append(slug if slug not in found else f"{slug}-{len(found)}")
    return found


def _heat_map(table: Standings) -> str:
    return heat_map([row.name for row in table.rows], table.pairs, f"{table.title}: who beat whom")


def _rating_plot(table: Standings) -> str:
    return rating_plot(table.rows, f"{table.title}: ratings", table.anchor)


# ---- HTML ----


def html(summary: Summary) -> str:
    """The page, from `templates/report.html`."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def inline(svg: str) -> Markup:  # inside a page SVG needs no namespace
        return Markup(svg.replace(' xmlns="http://www.w3.org/2000/svg"', "", 1))

    environment = Environment(
        loader=PackageLoader("meijin.arena"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    games: list[dict[str, Any]] = [
        {"slug": slug, "standings": table, "plot": inline(_rating_plot(table)), "heat_map": inline(_heat_map(table))}
        for slug, table in zip(_slugs(summary), summary.tables, strict=True)
    ]
    return environment.get_template("report.html").render(summary=summary, games=games, tables=report_tables)


# ---- Markdown ----


def markdown(summary: Summary) -> str:
    parts = [f"# {_md(summary.name)}", "", f"{summary.progress}."]
    parts += ["", *_md_table(["", ""], [[what, value] for what, value in summary.about])]
    parts += ["", *_md_table(["agent", "expression"], [[name, f"`{text}`"] for name, text in summary.agents])]
    if summary.overall:
        parts += ["", "## All games", "", *_md_table(*rating_rows(summary.overall))]
    for slug, table in zip(_slugs(summary), summary.tables, strict=True):
        parts += ["", f"## {_md(table.title)} (`{table.game}`)", "", *_md_table(*rating_rows(table.rows, table.solo))]
        parts += ["", NOTE_SOLO if table.solo else NOTE_RATINGS]
        parts += ["", f"![Ratings](ratings-{slug}.svg)", "", "### Crosstable", "", *_md_table(*cross_rows(table))]
        parts += ["", NOTE_CROSS, "", f"![Who beat whom](heatmap-{slug}.svg)"]
        if not table.solo:
            parts += ["", "### By seat", "", *_md_table(*seat_rows(table))]
        if table.forfeits:
            parts += ["", "### Forfeits", "", *_md_table(*forfeit_rows(table))]
    return "\n".join([*parts, ""])


def _md(text: str) -> str:
    """Text that Markdown shows as it is, also in a cell."""
    return re.sub(r"([\\`*_<>|\[\]#])", r"\\\1", " ".join(text.split()))


def _md_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    def cell(text: str) -> str:
        coded = text.startswith("`") and text.endswith("`") and len(text) > 1
        return " ".join(text.split()).replace("|", "\\|") if coded else _md(text)

    lines = [list(headings), ["---"] * len(headings), *([cell(text) for text in row] for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]


# ---- CSV ----


def _csv(headings: Sequence[str], rows: Sequence[Row]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows(rows)
    return out.getvalue()


def _csv_files(summary: Summary) -> dict[str, str]:
    ratings: list[Row] = []
    pairs: list[Row] = []
    seats: list[Row] = []
    forfeits: list[Row] = []
    games: list[Row] = []
    for table in summary.tables:
        ratings += [_rating_row(table.game, line) for line in table.rows]
        names = [row.name for row in table.rows]
        met = [(a, b, table.pairs[a, b]) for a in names for b in names if (a, b) in table.pairs]
        pairs += [(table.game, a, b, p.games, p.wins, p.draws, p.losses, p.points) for a, b, p in met]
        for name in names:
            for seat, t in enumerate(table.tallies[name]):
                seats.append((table.game, name, seat, t.games, t.wins, t.draws, t.losses, _plain(t.mean)))
        forfeits += [(table.game, f.agent, f.number, f.seat, f.reason) for f in table.forfeits]
        for game in table.played:
            agents = [table.names[agent] for agent in game.fixture.agents]
            for seat, (agent, score) in enumerate(zip(agents, game.scores, strict=True)):
                forfeited = int(game.forfeit == seat)
                row = (table.game, game.number, game.fixture.round, game.fixture.opening, seat, agent)
                games.append((*row, _plain(score), game.ending, forfeited, game.plies))
    counts = ("games", "wins", "draws", "losses")
    return {
        "ratings.csv": _csv(
            ("game", "rank", "agent", "elo", "elo_low", "elo_high", "glicko2", "glicko2_deviation",
             "glicko2_volatility", *counts, "points", "mean_score"),
            ratings + [_rating_row("all games", line) for line in summary.overall],
        ),
        "crosstable.csv": _csv(("game", "agent", "opponent", *counts, "points"), pairs),
        "seats.csv": _csv(("game", "agent", "seat", *counts, "mean_score"), seats),
        "forfeits.csv": _csv(("game", "agent", "number", "seat", "reason"), forfeits),
        "games.csv": _csv(
            ("game", "number", "round", "opening", "seat", "agent", "score", "ending", "forfeit", "plies"), games
        ),
    }  # fmt: skip


def _rating_row(game: str, line: StandingsRow) -> Row:
    r, g, t = line.rating, line.glicko, line.tally
    glicko = (f"{g.rating:.2f}", f"{g.deviation:.2f}", f"{g.volatility:.6f}")
    elo = (f"{r.elo:.2f}", f"{r.low:.2f}", f"{r.high:.2f}")
    points = t.wins + t.draws / 2
    return (game, line.rank, line.name, *elo, *glicko, t.games, t.wins, t.draws, t.losses, points, _plain(t.mean))


def _plain(value: float) -> str:
    return f"{value:.6g}" if math.isfinite(value) else ""
