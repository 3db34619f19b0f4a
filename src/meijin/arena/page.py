"""The HTML page of a tournament: one file without scripts that asks nothing of the network."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from meijin.arena.standings import Standings

if TYPE_CHECKING:
    from meijin.arena.report import Summary

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --soft: #59636e; --back: #ffffff; --line: #d1d9e0;
  --band: #f6f8fa; --bad: #b35806; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9198a1; --back: #0d1117; --line: #30363d;
  --band: #161b22; --bad: #f0a35e; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem clamp(.9rem, 4vw, 2.5rem) 4rem; max-width: 72rem; color: var(--ink);
  background: var(--back); font: 16px/1.5 system-ui, Helvetica, Arial, sans-serif; }
h1 { margin: 0 0 .25rem; font-size: 1.9rem; line-height: 1.2; overflow-wrap: anywhere; }
h2 { margin: 2.75rem 0 .5rem; padding-top: 1.25rem; border-top: 1px solid var(--line); font-size: 1.4rem; }
h2 code { font-size: .7em; font-weight: normal; color: var(--soft); overflow-wrap: anywhere; }
h3 { margin: 1.75rem 0 .4rem; font-size: 1.05rem; }
p { margin: .4rem 0; } .note { color: var(--soft); font-size: .9rem; max-width: 46rem; }
.open { color: var(--bad); font-weight: 600; }
dl { display: flex; flex-wrap: wrap; gap: .3rem 2rem; margin: 1rem 0; }
dl div { min-width: 6rem; } dt { color: var(--soft); font-size: .8rem; } dd { margin: 0; overflow-wrap: anywhere; }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: .75rem 0; } a { color: inherit; }
.wide { overflow-x: auto; margin: .5rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .7rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
thead th { color: var(--soft); font-weight: 600; font-size: .85rem; white-space: nowrap; }
tbody tr:nth-child(even) { background: var(--band); }
.number { text-align: right; white-space: nowrap; } .agent { font-weight: 600; }
tbody .agent { min-width: 8rem; overflow-wrap: break-word; }
svg { display: block; max-width: none; height: auto; } svg.fits { max-width: 100%; }
code, pre { font: .9em ui-monospace, Menlo, Consolas, monospace; } td code { overflow-wrap: anywhere; }
pre { overflow-x: auto; padding: .8rem 1rem; background: var(--band); border-radius: 6px; }
summary { cursor: pointer; margin-top: 2rem; }
@media print { body { max-width: none; } .wide { overflow: visible; } }
"""

_NAMESPACE = ' xmlns="http://www.w3.org/2000/svg"'
_CHART, _CHART_FITS = 'class="meijin-chart"', 'class="meijin-chart fits"'
_WORDS = {"agent", "reason", "expression", ""}  # columns that are not numbers


def html(summary: Summary) -> str:
    """The whole page."""
    from meijin.arena import report

    slugs = report.slugs(summary)
    parts = [f"<h1>{escape(summary.name)}</h1>"]
    parts.append(f"<p>{escape(summary.progress)}</p>" if summary.done else _open(summary.progress))
    facts = [f"<div><dt>{escape(what)}</dt><dd>{escape(value)}</dd></div>" for what, value in summary.about]
    parts.append(f"<dl>{''.join(facts)}</dl>")
    if len(summary.tables) > 1:
        links = ['<a href="#all-games">All games</a>']
        links += [f'<a href="#{slug}">{escape(t.title)}</a>' for slug, t in zip(slugs, summary.tables, strict=True)]
        parts.append(f"<nav>{''.join(links)}</nav>")
        parts.append('<h2 id="all-games">All games</h2>')
        parts.append(table(*report.rating_rows(summary.overall), caption="Ratings over all games"))
    for slug, standings in zip(slugs, summary.tables, strict=True):
        parts += _game(slug, standings)
    parts.append("<h2>Agents</h2>")
    parts.append(table(["agent", "expression"], [[name, text] for name, text in summary.agents], "Agents"))
    if summary.plan:
        parts.append(f"<details><summary>The plan</summary><pre>{escape(summary.plan)}</pre></details>")
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(summary.name)}</title>",
            f"<style>{_STYLE}</style>",
            "</head>",
            "<body>",
            *parts,
            "</body>",
            "</html>",
            "",
        ]
    )


def _open(words: str) -> str:
    return f'<p class="open">{escape(words)}</p>'


def _inline(svg: str, fits: bool = False) -> str:
    """A picture inside the page, where it needs no namespace; it scrolls, or with `fits` shrinks, on a small screen."""
    svg = svg.replace(_NAMESPACE, "", 1)
    return f'<div class="wide">{svg.replace(_CHART, _CHART_FITS, 1) if fits else svg}</div>'


def _game(slug: str, standings: Standings) -> list[str]:
    from meijin.arena import report

    title = escape(standings.title[:1].upper() + standings.title[1:])
    parts = [f'<h2 id="{slug}">{title} <code>{escape(standings.game)}</code></h2>']
    parts.append(table(*report.rating_rows(standings.lines, standings.solo), caption="Rating list"))
    parts.append(f'<p class="note">{escape(report.NOTE_SOLO if standings.solo else report.NOTE_RATINGS)}</p>')
    parts.append(_inline(report.table_plot(standings), fits=True))
    parts.append("<h3>Crosstable</h3>")
    parts.append(_inline(report.table_heat_map(standings)))
    parts.append(table(*report.cross_rows(standings), caption="Crosstable"))
    parts.append(f'<p class="note">{escape(report.NOTE_CROSS)} The map shows them in percent.</p>')
    if not standings.solo:
        parts += ["<h3>By seat</h3>", table(*report.seat_rows(standings), caption="Points by seat")]
    if standings.forfeits:
        parts += ["<h3>Forfeits</h3>", table(*report.forfeit_rows(standings), caption="Forfeits")]
    return parts


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    """A table that scrolls by itself where the screen is narrow."""

    def kind(heading: str) -> str:
        if heading == "agent":
            return ' class="agent"'
        return "" if heading in _WORDS else ' class="number"'

    def cell(heading: str, text: str) -> str:
        shown = f"<code>{escape(text)}</code>" if heading == "expression" else escape(text)
        tag, scope = ("th", ' scope="row"') if heading == "agent" else ("td", "")
        return f"<{tag}{kind(heading)}{scope}>{shown}</{tag}>"

    head = "".join(f'<th scope="col"{kind(heading)}>{escape(heading)}</th>' for heading in headings)
    body = "".join(
        f"<tr>{''.join(cell(heading, text) for heading, text in zip(headings, row, strict=True))}</tr>\n"
        for row in rows
    )
    return (
        f'<div class="wide" role="region" aria-label="{escape(caption)}" tabindex="0"><table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>"
    )
