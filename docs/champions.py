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
the lower it is; of an n-tuple network, more of the moves are random. How much of this a level takes differs from game
to game: it has been calibrated by matches (`python experiments/zero/levels.py GAME`).

`meijin play othello --level 3` plays against a level in the terminal. The web app and published pages offer the levels
wherever an opponent is chosen, with a word for each: beginner (1), easy (2 and 3), medium (4 to 6), hard (7 to 9) and full
strength (10). At first they suggest level 3, later the level that was chosen last.

The aim is that each level makes 60 to 65 % of the points against the one below. Where nine steps of that size do not
lead down to a beginner, level 1 lies a third of the way, in Elo, from random moves to full strength, and the steps are
even but larger: the calibration expects 63 % in four in a row, 66 % in Yavalath, 67 % in gomoku, 69 % in Hex 9x9, 70 %
in minishogi and Othello, 71 % in Othello 10x10 and gomoku 11x11, 74 % in breakthrough, 76 % in Go, 77 % in Go 11x11 and
Hex 11x11, and 81 % in Abalone. Where nine such steps would lead below random moves, level 1 plays at random and the
steps are smaller: 58 % in Nim, Sim and tic-tac-toe, which are small games, 59 and 53 % in Yavalath and Nim for three,
and 55 % in EinStein, in which luck decides much. Full strength here means 200 simulations and no solver.

The table has the points of each level against the one below, and of level 1 against random moves, in games that did not
serve to calibrate, with 95 % intervals; "-" has not been played. Abalone's level 10 played without its rule not
to come back to positions. Two shared cores of an AMD EPYC, 2026-11-18 and 19 (`python experiments/zero/levels.py GAME`, to calibrate with the
options of the last column; with `--check` for the matches, `--effort` and `--pairs` giving the numbers of games):

| game | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | games (level) | calibrated with |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
| Connect Four | 76 % (70 to 81) | 64 % (58 to 71) | 59 % (52 to 66) | 54 % (47 to 61) | 70 % (63 to 76) | 64 % (57 to 70) | 61 % (54 to 67) | 62 % (55 to 68) | 61 % (52 to 68) | 60 % (39 to 78) | 200 (1 to 8), 142 (9), 20 (10) | `--effort 4000` |
| breakthrough | 100 % (97 to 100) | 74 % (68 to 80) | 82 % (76 to 86) | 76 % (70 to 82) | 69 % (62 to 75) | 64 % (58 to 71) | 76 % (70 to 81) | 67 % (59 to 74) | 62 % (50 to 73) | 82 % (64 to 92) | 200 (1 to 7), 142 (8), 66 (9), 28 (10) | `--effort 4000` |
| Othello | 97 % (92 to 99) | 70 % (61 to 79) | 63 % (53 to 72) | 69 % (59 to 77) | 70 % (61 to 79) | 58 % (43 to 71) | 64 % (43 to 80) | 80 % (58 to 92) | 57 % (36 to 76) | 80 % (58 to 92) | 100 (1 to 5), 46 (6), 22 (7), 20 (8 to 10) | `--effort 800` |
| Othello 10x10 | 98 % (90 to 100) | 72 % (58 to 83) | 73 % (59 to 83) | 67 % (53 to 78) | 52 % (39 to 65) | 85 % (70 to 94) | 75 % (53 to 89) | 82 % (61 to 93) | 72 % (51 to 87) | 92 % (73 to 98) | 50 (1 to 5), 34 (6), 20 (7 to 10) | `--effort 300 --pairs 25` |
| Hex 11x11 | 100 % (93 to 100) | 76 % (63 to 86) | 74 % (60 to 84) | 60 % (46 to 72) | 88 % (76 to 94) | 84 % (71 to 92) | 80 % (67 to 89) | 60 % (46 to 72) | 70 % (48 to 85) | 75 % (53 to 89) | 50 (1 to 8), 20 (9 and 10) | `--effort 300 --pairs 25` |
| Hex 9x9 | 100 % (93 to 100) | 78 % (65 to 87) | 70 % (56 to 81) | 76 % (63 to 86) | 76 % (63 to 86) | 67 % (47 to 82) | 60 % (39 to 78) | 55 % (34 to 74) | 75 % (53 to 89) | 65 % (43 to 82) | 50 (1 to 5), 24 (6), 20 (7 to 10) | `--effort 300 --pairs 25` |
| minishogi | 98 % (91 to 100) | 77 % (65 to 86) | 70 % (57 to 80) | 73 % (61 to 83) | 73 % (61 to 83) | 55 % (42 to 67) | 85 % (64 to 95) | 55 % (34 to 74) | 65 % (43 to 82) | 75 % (53 to 89) | 60 (1 to 6), 20 (7 to 10) | `--effort 300 --pairs 30` |
| gomoku | 98 % (91 to 100) | 73 % (61 to 83) | 72 % (59 to 81) | 58 % (46 to 70) | 62 % (49 to 73) | 58 % (46 to 70) | 77 % (65 to 86) | 68 % (56 to 79) | 75 % (53 to 89) | 80 % (58 to 92) | 60 (1 to 8), 20 (9 and 10) | `--effort 300 --pairs 30` |
| gomoku 11x11 | 100 % (93 to 100) | 64 % (50 to 76) | 72 % (58 to 83) | 64 % (50 to 76) | 88 % (76 to 94) | 76 % (63 to 86) | 64 % (50 to 76) | 85 % (64 to 95) | 65 % (43 to 82) | 72 % (51 to 87) | 50 (1 to 7), 20 (8 to 10) | `--effort 300 --pairs 25` |
| Yavalath | 98 % (91 to 99) | 65 % (54 to 75) | 60 % (49 to 70) | 65 % (54 to 75) | 61 % (50 to 71) | 65 % (54 to 75) | 61 % (46 to 75) | 62 % (47 to 76) | 65 % (43 to 82) | 50 % (30 to 70) | 80 (1 to 6), 40 (7 to 8), 20 (9 and 10) | `--effort 300 --pairs 40` |
| Yavalath for three | 50 % (41 to 59) | 66 % (57 to 74) | 66 % (57 to 74) | 60 % (51 to 68) | 57 % (48 to 66) | 53 % (44 to 62) | 54 % (45 to 62) | 58 % (49 to 67) | 53 % (38 to 68) | 58 % (41 to 74) | 120 (1 to 8), 39 (9), 30 (10) | `--effort 300 --pairs 40` |
| Abalone | 100 % (98 to 100) | 83 % (77 to 88) | 79 % (73 to 84) | 78 % (72 to 83) | 77 % (70 to 82) | 82 % (77 to 87) | 82 % (76 to 87) | 74 % (68 to 80) | 79 % (73 to 84) | 75 % (53 to 89) | 200 (1 to 9), 20 (10) | `--effort 300` (2026-11-19) |
| EinStein | 52 % (42 to 63) | 61 % (50 to 71) | 54 % (43 to 64) | 55 % (44 to 65) | 55 % (44 to 65) | 51 % (40 to 62) | 46 % (36 to 57) | 55 % (44 to 65) | 66 % (55 to 76) | 61 % (42 to 76) | 80 (1 to 9), 28 (10) | `--effort 300 --pairs 40` |
| Go 9x9 | 95 % (91 to 97) | 78 % (71 to 83) | 70 % (63 to 76) | 80 % (73 to 85) | 78 % (72 to 84) | 70 % (63 to 75) | 74 % (67 to 79) | 68 % (58 to 77) | 67 % (50 to 80) | 75 % (53 to 89) | 200 (1 to 7), 90 (8), 36 (9), 20 (10) | `--effort 2000` |
| Go 11x11 | 98 % (90 to 100) | 68 % (54 to 79) | 78 % (65 to 87) | 80 % (67 to 89) | 66 % (52 to 78) | 82 % (69 to 90) | 64 % (50 to 76) | 80 % (58 to 92) | 80 % (58 to 92) | 90 % (70 to 97) | 50 (1 to 7), 20 (8 to 10) | `--effort 300 --pairs 25` |
| Sim | 52 % (45 to 58) | 58 % (51 to 65) | 64 % (57 to 70) | 57 % (51 to 64) | 60 % (53 to 67) | 56 % (50 to 63) | 54 % (47 to 61) | 57 % (51 to 64) | 62 % (55 to 68) | 60 % (53 to 66) | 200 | `--plies 0` |
| tic-tac-toe | 49 % (42 to 56) | 58 % (51 to 65) | 56 % (49 to 63) | 50 % (43 to 57) | 58 % (52 to 65) | 50 % (44 to 57) | 56 % (49 to 63) | 62 % (55 to 69) | 56 % (49 to 63) | 57 % (51 to 64) | 200 | `--plies 0` |
| four in a row on 6x6 (tic-tac-toe) | 72 % (58 to 83) | 62 % (48 to 74) | 62 % (48 to 74) | 60 % (46 to 72) | 72 % (58 to 83) | 68 % (54 to 79) | 56 % (42 to 69) | 58 % (44 to 71) | 59 % (43 to 73) | 65 % (43 to 82) | 50 (1 to 8), 40 (9), 20 (10) | `--effort 300 --pairs 25` |
| Nim | 50 % (43 to 56) | 62 % (55 to 68) | 62 % (55 to 68) | 56 % (49 to 62) | 68 % (61 to 74) | 54 % (47 to 61) | 56 % (50 to 63) | 65 % (58 to 71) | 58 % (51 to 65) | 59 % (52 to 66) | 200 | `--plies 0` |
| Nim for three | 50 % (45 to 56) | 55 % (49 to 60) | 53 % (47 to 58) | 51 % (45 to 57) | 54 % (48 to 60) | 53 % (48 to 59) | 54 % (49 to 60) | 52 % (46 to 58) | 55 % (50 to 61) | 57 % (52 to 63) | 300 | `--plies 0` |

In a game for one, the levels are evenly spaced by the share of solved cubes, or by the logarithm of the score. Level 10
looks 3 moves ahead, the others 1; the table was measured when it looked 2 moves ahead (`--games 15`, which is few, and
`--games 100` for the cube, the same machine and day). With 3 moves, level 10 makes 167,739 (159,111 to 176,463) in 2048
(`meijin evaluate 2048 champion 'score(games=100)'`), with 0.7 ms of processor time for each move; with 2 moves it had
made 141,870, with 0.1 ms:

| game | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | games |
|---|---|---|---|---|---|---|---|---|---|---|---|
| 2048, mean score | 2,140 (1,633 to 2,694) | 3,096 (2,289 to 4,045) | 6,940 (5,340 to 8,532) | 7,264 (5,235 to 9,486) | 13,610 (9,953 to 17,610) | 23,080 (16,430 to 30,040) | 30,700 (19,700 to 42,790) | 55,210 (39,940 to 72,100) | 62,780 (45,330 to 80,970) | 140,300 (123,300 to 152,200) | 15 |
| cube, share solved | 0.11 (0.05 to 0.17) | 0.19 (0.12 to 0.27) | 0.28 (0.20 to 0.37) | 0.45 (0.35 to 0.55) | 0.61 (0.52 to 0.70) | 0.69 (0.60 to 0.78) | 0.78 (0.70 to 0.86) | 0.73 (0.65 to 0.81) | 0.87 (0.80 to 0.93) | 1.00 (1.00 to 1.00) | 100 |

Other sizes of Hex, Othello, gomoku, Go and four in a row have the levels of Hex 9x9, Othello 10x10, gomoku 11x11, Go
11x11 and four in a row on 6x6. In games for three, one player of a level sits among two of the level below, and the
points say how often it does better than one of them. Champions of your own have not been calibrated. They share one
scale, whose steps were between 55 and 81 % in matches of Connect Four and breakthrough.

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
"""  # noqa: E501


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
