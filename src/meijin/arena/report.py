"""The report of a tournament: Markdown, one HTML page that needs nothing else, CSV files and SVG pictures.

The same results give the same files, byte by byte: nothing here depends on when or how they were played.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from meijin.arena import page
from meijin.arena.charts import heat_map, rating_plot
from meijin.arena.standings import Line, Standings, overall
from meijin.arena.stats import Interval, Tally

Row = Sequence[object]


@dataclass(frozen=True)
class Summary:
    """What a report says of a tournament as a whole."""

    name: str
    about: tuple[tuple[str, str], ...]  # (what, value): the kind, the seed, ...
    agents: tuple[tuple[str, str], ...]  # (name, expression and limit)
    tables: tuple[Standings, ...]  # one a game
    plan: str = ""  # the file that describes the tournament

    @property
    def done(self) -> bool:
        return all(len(table.played) >= table.total for table in self.tables)

    @property
    def progress(self) -> str:
        played, total = (sum(n) for n in zip(*((len(t.played), t.total) for t in self.tables), strict=True))
        return f"{played:,} games" if self.done else f"{played:,} of {total:,} games: not finished"

    @property
    def overall(self) -> list[Line]:
        """The list over all games, where there are several."""
        return overall(self.tables) if len(self.tables) > 1 else []


def write(summary: Summary, folder: str | Path) -> list[Path]:
    """Write all files of the report into a folder, which is made; returns their paths, the page first."""
    into = Path(folder)
    into.mkdir(parents=True, exist_ok=True)
    files = {"index.html": page.html(summary), "report.md": markdown(summary), **_csv_files(summary)}
    for slug, table in zip(slugs(summary), summary.tables, strict=True):
        files[f"heatmap-{slug}.svg"] = table_heat_map(table)
        files[f"ratings-{slug}.svg"] = table_plot(table)
    for name, text in files.items():
        # A reader never meets half a file, not even after a crash.
        new = into / f".{name}.new"
        new.write_text(text, encoding="utf-8", newline="\n")
        new.replace(into / name)
    return [into / name for name in files]


def slugs(summary: Summary) -> list[str]:
    """A name for the files of each game: letters, digits and dashes, all different."""
    found: list[str] = []
    for table in summary.tables:
        slug = re.sub(r"[^a-z0-9]+", "-", table.game.lower()).strip("-")
        found.append(slug if slug not in found else f"{slug}-{len(found)}")
    return found


def table_heat_map(table: Standings) -> str:
    return heat_map([line.name for line in table.lines], table.pairs, f"{table.title}: who beat whom")


def table_plot(table: Standings) -> str:
    return rating_plot(table.lines, f"{table.title}: ratings", table.anchor)


# ---- tables: (headings, rows), shared by Markdown and HTML ----


def rating_rows(lines: Sequence[Line], solo: bool = False) -> tuple[list[str], list[list[str]]]:
    """The rating list; with `solo`, mean scores instead of wins, draws and losses."""
    middle = ["mean score", "95 %"] if solo else ["wins", "draws", "losses", "points"]
    rows = []
    for line in lines:
        tally, low, high = line.tally, line.rating.low, line.rating.high
        if solo:
            counts = [number(tally.mean), interval(tally.mean_interval)]
        else:
            counts = [f"{tally.wins:,}", f"{tally.draws:,}", f"{tally.losses:,}", share(tally)]
        elo = ["-", "-"] if not tally.games else [f"{line.rating.elo:+.0f}", f"{low:+.0f} to {high:+.0f}"]
        glicko = f"{line.glicko.rating:.0f} \N{PLUS-MINUS SIGN} {1.96 * line.glicko.deviation:.0f}"
        rows.append([str(line.rank), line.name, *elo, glicko, f"{tally.games:,}", *counts])
    return ["", "agent", "Elo", "95 %", "Glicko-2", "games", *middle], rows


def cross_rows(table: Standings) -> tuple[list[str], list[list[str]]]:
    """Points of games against each of the others; columns go by rank."""
    names = [line.name for line in table.lines]
    rows = []
    for k, one in enumerate(names, 1):
        met = [table.pairs.get((one, other)) for other in names]
        rows.append([str(k), one, *(f"{p.points:g}/{p.games}" if p else "" for p in met)])
    return ["", "agent", *(str(k) for k in range(1, len(names) + 1))], rows


def seat_rows(table: Standings) -> tuple[list[str], list[list[str]]]:
    """Points by seat, and at the foot what each seat is worth."""
    every = [Tally() for _ in range(table.seats)]
    rows = []
    for line in table.lines:
        tallies = table.tallies[line.name]
        rows.append([line.name, *(share(tally) for tally in tallies)])
        for seat, tally in enumerate(tallies):
            every[seat].wins += tally.wins
            every[seat].draws += tally.draws
            every[seat].losses += tally.losses
    rows.append(["all agents", *(share(tally) for tally in every)])
    return ["agent", *(f"seat {seat}" for seat in range(table.seats))], rows


def forfeit_rows(table: Standings) -> tuple[list[str], list[list[str]]]:
    """Who forfeited how often and why: equal reasons are counted together."""
    groups: dict[tuple[str, str], list[int]] = {}
    for forfeit in table.forfeits:
        groups.setdefault((forfeit.agent, forfeit.reason), []).append(forfeit.number)
    rows = [[agent, str(len(games)), _numbers(games), reason] for (agent, reason), games in groups.items()]
    return ["agent", "forfeits", "games", "reason"], sorted(rows, key=lambda row: (-int(row[1]), row))


def _numbers(games: list[int]) -> str:
    return ", ".join(map(str, games[:6])) + (", ..." if len(games) > 6 else "")


def share(tally: Tally) -> str:
    return f"{100 * tally.points:.1f} %" if tally.games else "-"


def number(value: float) -> str:
    if not math.isfinite(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.2f}"


def interval(ends: Interval) -> str:
    return f"{number(ends[0])} to {number(ends[1])}" if all(map(math.isfinite, ends)) else "-"


NOTE_RATINGS = (
    "Elo by maximum likelihood over all games (Bradley-Terry; Plackett-Luce where more than two contend), a draw as "
    "half a win; 400 points are odds of 10 to 1. Glicko-2 with each round as a rating period."
)
NOTE_SOLO = "Everybody played the same openings with the same luck; on each, the higher score is the better place."
NOTE_CROSS = "Points of games that the agent of the row took from the agent of the column."


# ---- Markdown ----


def markdown(summary: Summary) -> str:
    parts = [f"# {_md(summary.name)}", "", f"{summary.progress}."]
    parts += ["", *_md_table(["", ""], [[what, value] for what, value in summary.about])]
    parts += ["", *_md_table(["agent", "expression"], [[name, f"`{text}`"] for name, text in summary.agents])]
    if summary.overall:
        parts += ["", "## All games", "", *_md_table(*rating_rows(summary.overall))]
    for slug, table in zip(slugs(summary), summary.tables, strict=True):
        parts += ["", f"## {_md(table.title)} (`{table.game}`)", "", *_md_table(*rating_rows(table.lines, table.solo))]
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
        ratings += [_rating_row(table.game, line) for line in table.lines]
        names = [line.name for line in table.lines]
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


def _rating_row(game: str, line: Line) -> Row:
    r, g, t = line.rating, line.glicko, line.tally
    glicko = (f"{g.rating:.2f}", f"{g.deviation:.2f}", f"{g.volatility:.6f}")
    elo = (f"{r.elo:.2f}", f"{r.low:.2f}", f"{r.high:.2f}")
    points = t.wins + t.draws / 2
    return (game, line.rank, line.name, *elo, *glicko, t.games, t.wins, t.draws, t.losses, points, _plain(t.mean))


def _plain(value: float) -> str:
    return f"{value:.6g}" if math.isfinite(value) else ""
