"""Writes docs/champions.md from what the packaged champions say of themselves: `python docs/champions.py`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from meijin.cli.champion import net_words, strength_words, trained_words
from meijin.learning.files import PACKAGED, SUFFIX, about

PAGE = Path(__file__).parent / "champions.md"

INTRODUCTION = """# Champions

Small nets that come with Meijin, trained by `meijin train GAME zero`, and for 2048, the cube and small games n-tuple
networks, trained by `meijin train GAME td`. `champion` is the agent that plays with the one of its game; `meijin play
GAME` takes it as the opponent. Playing needs no PyTorch.

```sh
meijin play connect_four --seat 1="champion(simulations=400)"
```

`meijin champion make RUN` makes one of a run of your own: it stores the net in half precision (at most 3 MB) with its
config, its curve and what was measured, and puts it where `champion` finds it before those of the package.

## Levels

`champion(level=1)` to `champion(level=9)` are weaker on purpose; `level=10`, the default, is full strength. A lower
level searches with fewer simulations and draws its move by chance among those that the search likes, the more evenly
the lower it is. The levels are the same for all games, so they lie further apart in some than in others. Points of
each level against the one below it, with 95 % intervals; those above 6 have not been measured
(`python experiments/zero/levels.py connect_four breakthrough`, 100 and 80 games):

| level | against | Connect Four | breakthrough |
|---|---|---|---|
| 2 | 1 | 76.5 % (67.3 to 83.7) | 78.8 % (68.6 to 86.3) |
| 3 | 2 | 73.5 % (64.1 to 81.2) | 78.8 % (68.6 to 86.3) |
| 4 | 3 | 66.0 % (56.3 to 74.5) | 81.2 % (71.3 to 88.3) |
| 5 | 4 | 62.5 % (52.7 to 71.4) | 71.2 % (60.5 to 80.0) |
| 6 | 5 | - | 55.0 % (44.1 to 65.4) |

An n-tuple network looks 2 moves ahead at full strength in a game for one. Below, it looks at one, and 5 % of the moves
are random for each level that is missing.

## Speed

`champion(threads=2)` evaluates the net on two cores. A search collects several leaves of its tree before it asks the
net (`leaves`, by default 4 for each thread): a simulation under way counts as a visit that changes no mean, and a
simulation that reaches a leaf already asked about ends the collecting. A search of fewer than 50 simulations asks
about one leaf at a time. Equal seeds give equal searches, whatever the number of threads. Positions that come up
again by other moves are not evaluated again: in games of the champions against themselves with 400 simulations that
saves 27 % of the evaluations in Connect Four, 24 % in Hex, 23 % in breakthrough, 11 % in gomoku, 4 % in Othello and
3 % in Go.

Evaluations per second of processor time by the net alone, batches of 1, 8 and 16, and simulations per second of a
search leaf by leaf, on one thread of an AMD EPYC, 2026-11-16, measured in turns:

| game | PyTorch, batch 1 / 8 / 16 | Meijin, batch 1 / 8 / 16 | simulations |
|---|---|---|---|
| Othello | 402 / 1,136 / 1,290 | 2,135 / 2,138 / 2,235 | 1,759 to 2,078 |
| Connect Four | 525 / 1,637 / 1,985 | 2,950 / 3,168 / 3,235 | 2,471 to 2,733 |
| Go 9x9 | 361 / 929 / 1,005 | 1,532 / 1,588 / 1,565 | 933 to 1,504 |

Simulations per second by the clock, on two cores of an AMD EPYC that did nothing else, 2026-11-16
(`python benchmarks/leaves.py --games othello connect_four --rounds 5`):

| threads | leaves | Othello | Connect Four |
|---|---|---|---|
| 1 | 1 | 2,310 | 3,030 |
| 1 | 4 | 2,580 (1.11x) | 3,140 (1.04x) |
| 1 | 8 | 2,550 (1.10x) | 3,200 (1.05x) |
| 2 | 8 | 4,130 (1.79x) | 4,620 (1.52x) |
| 2 | 16 | 4,370 (1.89x) | 5,080 (1.68x) |

8 leaves against 1 at equal simulations, paired random openings of 8 plies (`python experiments/zero/leaves.py`). All
intervals contain 50 %:

| game | simulations | games | points of 8 leaves, 95 % |
|---|---|---|---|
| Connect Four | 200 | 200 | 50.0 % (43.1 to 56.9) |
| Connect Four | 400 | 200 | 50.0 % (43.1 to 56.9) |
| Othello | 200 | 200 | 47.8 % (40.9 to 54.6) |

In 100 random Othello positions, 8 leaves chose the same move as one leaf in 100 % (200 simulations) and 99 % (400) of
them; with a virtual loss of 1, the usual way to fill batches, in 95 and 97 %, and those moves were worse by the
judgement of a search of 1,200 simulations.

## Exact answers

Where a game has a solver (Connect Four, the end of Othello, small Hex, ...) that expects to answer within half of the
time for the move, or within half a second where the limit is not a time, the champion plays its answer, and
`meijin inspect` shows the values as proven. `champion(exact=False)` never asks. In 500 positions of Othello with at
most 18 empty cells, the champion never gave up their value with 200 simulations; without the solver it did so in 21
(`python experiments/zero/endings.py`, 2026-11-16).

## The 3x3x3 cube

`cube(size=3)` has no net: a solver alone plays it, in both metrics. It looks for the fewest moves first, by IDA*; where
that takes too long, Kociemba's two-phase search finds a solution within the moves left. It has the time for the move,
or 2 seconds where the limit is not a time, and follows the solution that it has found. Where it finds none in time,
a tree search of 200 simulations chooses the move. No PyTorch is needed.

Cubes solved within the 20 moves of the game, with 95 % intervals, on a busy two-core AMD EPYC, 2026-11-16. The seconds
are processor time of the whole evaluation, with all moves (`meijin evaluate "cube(size=3, twists=13)" champion
"solved(13, games=300)"`, and the same with `metric="quarter"`):

| metric | twists | solved | mean moves | seconds per cube | seconds per move |
|---|---|---|---|---|---|
| half | 13 | 300 of 300 (98.7 to 100 %) | 12.6 | 0.30 | 0.024 |
| quarter | 13 | 300 of 300 (98.7 to 100 %) | 12.6 | 0.03 | 0.002 |

The solver alone, on other scrambles (`python benchmarks/cube_solver.py`, and with `--twists 100`; the same machine and
day). Nearly all the time goes into the first move of a cube; the table has the seconds of processor time for it:

| metric | twists | moves allowed | solved | proven to be the fewest moves | mean | median | most |
|---|---|---|---|---|---|---|---|
| half | 13 | 20 | 300 of 300 | 287 | 0.25 | 0.12 | 1.7 |
| quarter | 13 | 20 | 300 of 300 | 300 | 0.015 | 0.015 | 0.04 |
| half | 100 | 20 | 199 of 200 | 0 | 1.2 | 1.3 | 2.0 |
| quarter | 100 | 26 | 94 of 100 | 0 | 0.8 | 0.7 | 1.6 |
| quarter | 100 | 20 | 0 of 60 | 0 | 1.4 | 1.5 | 2.0 |

Every cube can be solved in 20 moves, or in 26 quarter turns. Cubes that need about 20 quarter turns are beyond this
solver. The tables take about a second to build, in each process that plays; a first answer with nothing compiled yet
took 4 s of processor time in all.

## The nets

This page is written by `docs/champions.py` from what the files say of themselves. A config shows the
settings as they were called when the net was trained.
"""


def page() -> str:
    found = [(path, said) for path in sorted(PACKAGED.glob(f"*{SUFFIX}")) if (said := about(path)) is not None]
    parts = [INTRODUCTION]
    if not found:
        return f"{INTRODUCTION}\nNo champion comes with this version yet.\n"
    parts.append("| game | net | trained | measured | bytes |\n|---|---|---|---|---|")
    for path, said in found:
        row = (f"`{said['game']}`", net_words(said), trained_words(said), strength_words(said))
        parts[-1] += f"\n| {' | '.join(row)} | {path.stat().st_size:,} |"
    parts += [section(said) for _, said in found]
    return "\n".join(parts) + "\n"


def section(said: dict[str, Any]) -> str:
    """How one champion came about: its config and its curve."""
    facts = said["facts"]
    lines = [f"\n## `{said['game']}`\n", f"Trained: {trained_words(said)}. {facts.get('note', '')}".strip(), ""]
    curve = facts.get("curve") or []
    if curve:
        names = list(dict.fromkeys(name for row in curve for name in row))
        few = curve[:: max(1, len(curve) // 10)]
        lines += ["| " + " | ".join(names) + " |", "|---" * len(names) + "|"]
        lines += ["| " + " | ".join(f"{row[n]:,.4g}" if n in row else "" for n in names) + " |" for row in few]
        lines.append("")
    if "config" in facts:
        lines += ["<details><summary>config.json</summary>\n", "```json", json.dumps(facts["config"], indent=2), "```"]
        lines.append("</details>")
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
