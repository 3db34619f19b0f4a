"""The tables of a tournament report as (headings, rows) of text, shared by terminal, Markdown and HTML."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from meijin.arena.standings import Standings, StandingsRow, overall
from meijin.arena.stats import Interval, Tally

Table = tuple[list[str], list[list[str]]]

NOTE_RATINGS = (
    "Elo by maximum likelihood over all games (Bradley-Terry; Plackett-Luce for more than two agents); a draw is half "
    "a win; 400 points are odds of 10 to 1. Glicko-2 with one rating period per round."
)
NOTE_SOLO = "All agents played the same openings with the same luck; on each, the higher score is the better place."
NOTE_CROSS = "Points / games of the row's agent against the column's."


@dataclass(frozen=True)
class Summary:
    """A tournament as a whole."""

    name: str
    about: tuple[tuple[str, str], ...]  # (what, value): the kind, the seed, ...
    agents: tuple[tuple[str, str], ...]  # (name, expression and limit)
    tables: tuple[Standings, ...]  # one per game
    plan: str = ""  # the file that describes the tournament

    @property
    def done(self) -> bool:
        return all(len(table.played) >= table.total for table in self.tables)

    @property
    def progress(self) -> str:
        played, total = (sum(n) for n in zip(*((len(t.played), t.total) for t in self.tables), strict=True))
        return f"{played:,} games" if self.done else f"{played:,} of {total:,} games: not finished"

    @property
    def overall(self) -> list[StandingsRow]:
        """The list over all games, if there are several."""
        return overall(self.tables) if len(self.tables) > 1 else []


def rating_rows(rows: Sequence[StandingsRow], solo: bool = False) -> Table:
    """The rating list; with `solo`, mean scores instead of wins, draws and losses."""
    middle = ["mean score", "95 %"] if solo else ["wins", "draws", "losses", "points"]
    shown = []
    for row in rows:
        tally, low, high = row.tally, row.rating.low, row.rating.high
        if solo:
            counts = [number(tally.mean), interval(tally.mean_interval)]
        else:
            counts = [f"{tally.wins:,}", f"{tally.draws:,}", f"{tally.losses:,}", share(tally)]
        elo = ["-", "-"] if not tally.games else [f"{row.rating.elo:+.0f}", f"{low:+.0f} to {high:+.0f}"]
        glicko = f"{row.glicko.rating:.0f} \N{PLUS-MINUS SIGN} {1.96 * row.glicko.deviation:.0f}"
        shown.append([str(row.rank), row.name, *elo, glicko, f"{tally.games:,}", *counts])
    return ["", "agent", "Elo", "95 %", "Glicko-2", "games", *middle], shown


def cross_rows(table: Standings) -> Table:
    """Points and games against each of the others; columns are numbered by rank."""
    names = [row.name for row in table.rows]
    rows = []
    for k, one in enumerate(names, 1):
        met = [table.pairs.get((one, other)) for other in names]
        rows.append([str(k), one, *(f"{p.points:g}/{p.games}" if p else "" for p in met)])
    return ["", "agent", *(str(k) for k in range(1, len(names) + 1))], rows


def seat_rows(table: Standings) -> Table:
    """Points by seat; the last row is that of all agents together."""
    tallies = {row.name: table.tallies[row.name] for row in table.rows}
    tallies["all agents"] = [Tally.total(seat) for seat in zip(*tallies.values(), strict=True)]
    rows = [[name, *(share(tally) for tally in seats)] for name, seats in tallies.items()]
    return ["agent", *table.seat_names], rows


def forfeit_rows(table: Standings) -> Table:
    """Who forfeited how often and why; equal reasons are counted together."""
    groups: dict[tuple[str, str], list[int]] = {}
    for forfeit in table.forfeits:
        groups.setdefault((forfeit.agent, forfeit.reason), []).append(forfeit.number)
    rows = [
        [agent, str(len(games)), ", ".join(map(str, games[:6])) + (", ..." if len(games) > 6 else ""), reason]
        for (agent, reason), games in groups.items()
    ]
    return ["agent", "forfeits", "games", "reason"], sorted(rows, key=lambda row: (-int(row[1]), row))


def share(tally: Tally) -> str:
    return f"{100 * tally.share:.1f} %" if tally.games else "-"


def number(value: float) -> str:
    if not math.isfinite(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.2f}"


def interval(ends: Interval) -> str:
    return f"{number(ends[0])} to {number(ends[1])}" if all(map(math.isfinite, ends)) else "-"
