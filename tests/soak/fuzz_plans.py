"""Plans, expressions and numbers that nobody would write. Law: each is accepted, or refused with a `MeijinError` whose
message can be printed as UTF-8. Nothing is played.

    MEIJIN_JIT=0 python tests/soak/fuzz_plans.py --mutations 20000 --seed 1
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from pathlib import Path

from soaking import soak

from meijin.arena.evaluation import evaluator
from meijin.arena.judges import play_rules
from meijin.arena.match import match_tasks
from meijin.arena.openings import openings
from meijin.arena.plan import EXAMPLE, read_plan
from meijin.arena.queries import condition
from meijin.arena.store import Store
from meijin.arena.tournament import Tournament
from meijin.core.catalogue import make
from meijin.core.errors import MeijinError

NUMBERS = (
    "-1", "0", "1", "2", "1.5", "-0.0", "1e999", "-1e999", "nan", "inf", "true", "false", '"x"', "[]", "{}", "9" * 19,
    "9" * 77, "9" * 400, "9" * 5000, "-" + "9" * 77, "0x7fffffffffffffff", "1_000_000", "1e-320", "1000000001", "None",
    "1979-05-27", "07:32:00", "4294967296", "9223372036854775807", "random", "'random'", "True", "(1, 2)", "[" * 900,
)  # fmt: skip
PIECES = (
    "\0", "\ud800", "\\u0000", "\\ud800", "\\U0010FFFF", '"', "'", "[", "]", "[[", "]]", "{", "}", "=", ".",
    ",", "\n", "#", "[" * 1000, "{a=" * 1000, "a." * 3000, "(" * 30, "mcts(" * 25, '"""', "é", "名人",
    "[tournament]", "[[agents]]", "\r", "\t", "patience = 5\n", "kind = 'gauntlet'\n", "kind = 'swiss'\n",
    "kind = 'sampled'\n", "tables = 3\n", "seatings = 'all'\n", "challenger = true\n",
    "games = ['nim(players=3)']\n", "anchor = 'x'\n", "load = ['none.py']\n", "\x1b[2J", "\u202e",
)  # fmt: skip
EXPRESSIONS = {
    "judge": ("cap(200, score=True)", "agree(0.9, plies=8, draw=0.02)", "perfect(after=20, seconds=1)"),
    "openings": (
        "random(plies=4)", 'file("lines.txt", shuffle=True)', "all(depth=2, shuffle=False)",
        "balanced(2, random, margin=0.1)", "none",
    ),
    "evaluator": (
        "vs(random, games=100, openings=none, goal=0.5)", "starts(2, random, games=10, goal=1)", "score(games=5)",
        "solved(5, games=3, moves=4)", 'accuracy("x.txt", count=3, least=2, goal=0.1)',
    ),
    "game": (
        "go(size=9, komi=7, handicap=2)", "nim(heaps=(3, 5, 7), players=3)", "connect_four(width=7, height=6, line=4)",
        "cube(twists=3, max_moves=20)", "hex(size=5, swap=True)", "2048(size=4)",
    ),
}  # fmt: skip
FILTERS = ("id", "event", "number", "game", "agent", "seat", "result", "ending", "since", "until", "nothing")
FILTER_VALUES = (
    None,
    0,
    -1,
    10**30,
    -(10**30),
    "",
    "*",
    "win",
    "mcts*",
    "\ud800",
    "\0",
    "[",
    "?",
    "x" * 5000,
    "rules",
    1 << 63,
)


def changed(text: str, rng: random.Random) -> str:
    for _ in range(rng.choice((1, 1, 2, 4))):
        at, to = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
        to = min(to, at + rng.choice((1, 5, 40)))
        numbers = list(re.finditer(r"\b-?\d+(?:\.\d+)?\b|\"[^\"\n]*\"", text))
        match rng.randrange(7):
            case 0 | 1 | 2 if numbers:
                found = rng.choice(numbers)
                text = text[: found.start()] + rng.choice(NUMBERS) + text[found.end() :]
            case 3:
                text = text[:at] + text[to:]
            case 4:
                text = text[:to] + text[at:to] * rng.choice((1, 3, 50)) + text[to:]
            case 5:
                text = text[:at] + rng.choice(PIECES) + text[at:]
            case _:
                lines = text.split("\n")
                rng.shuffle(lines)
                text = "\n".join(lines)
    return text[:20_000]


def plan_text(rng: random.Random) -> str:
    """The example, with some of its options in force."""
    text = re.sub(r"^# (?=\w+ = )", lambda found: "" if rng.random() < 0.3 else found[0], EXAMPLE, flags=re.MULTILINE)
    return text.replace("connect_four", "tic_tac_toe").replace("simulations=50", "simulations=5")


def attempt(rng: random.Random, folder: Path) -> str:
    """What was tried."""
    what = rng.choice(("plan", "plan", "plan", *EXPRESSIONS, "filters"))
    if what == "plan":
        path = folder / "cup.toml"
        path.write_bytes(changed(plan_text(rng), rng).encode("utf-8", "surrogatepass"))
        for database in folder.glob("*.db*"):
            database.unlink()
        plan = read_plan(path)
        with Store(folder / "cup.db") as store:
            tournament = Tournament(plan, store)
            _ = tournament.total, tournament.tables() if plan.rounds < 100 else None
    elif what == "filters":
        condition({rng.choice(FILTERS): rng.choice(FILTER_VALUES) for _ in range(3)})  # type: ignore[misc]
    else:
        text = changed(rng.choice(EXPRESSIONS[what]), rng)
        game = make(rng.choice(("tic_tac_toe", "nim", "2048(size=2)")))
        if what == "judge":
            play_rules([text]).check(game)
        elif what == "openings":
            next(match_tasks(game, ["random"] * game.seats, 1, source=openings(text)))
        elif what == "evaluator":
            evaluator(text).unfit(game)
        else:
            make(text)
    return what


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "lines.txt").write_text("b2 a1\n")

        def tried(rng: random.Random) -> tuple[str, str]:
            try:
                return attempt(rng, folder), "accepted"
            except MeijinError as error:
                str(error).encode()
                return "", "refused"

        return soak(__doc__, 50_000, tried)


if __name__ == "__main__":
    sys.exit(main())
