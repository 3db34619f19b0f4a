"""GNU Go on 9x9 against our GTP engine: in our arena, and under GNU Go's own controller, `twogtp`. Do the scores agree?

    curl -O http://deb.debian.org/debian/pool/main/g/gnugo/gnugo_3.8.orig.tar.gz
    tar xzf gnugo_3.8.orig.tar.gz gnugo-3.8/interface/gtp_examples/twogtp
    python experiments/opponents/gnugo.py --twogtp gnugo-3.8/interface/gtp_examples/twogtp

In the arena our rules decide when a game is over and who has won; they count all stones as alive. GNU Go then loads the
SGF that the arena writes and counts it again, as our engine's `final_score` does: without dead stones. Under `twogtp`,
which is not ours, both engines count every game, and our reader of SGF replays the file that it writes.
The exit status is 1 if any two scores differ.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from meijin import make
from meijin.arena import formats
from meijin.arena.match import match
from meijin.arena.record import GameRecord
from meijin.core.state import State
from meijin.games.go import dead_stones, final_score
from meijin.protocols.client.process import split

KOMI = 7.5
GAME = f"go(size=9, komi={KOMI})"
GNUGO = "gnugo --mode gtp --level {level} --chinese-rules --positional-superko --capture-all-dead --never-resign"


def written(lead: float) -> str:
    return "0" if lead == 0 else f"{'B' if lead > 0 else 'W'}+{abs(lead):g}"


def ours(record: GameRecord) -> tuple[str, str]:
    """The score by the rules, and with dead stones taken off. `twogtp` writes Japanese rules whatever was played."""
    state = State(make(GAME))
    for move in record.moves:
        state.play(move)
    return written(final_score(state)), written(final_score(state, dead_stones(state)))


def gnugo_counts(path: Path) -> str:
    commands = f"loadsgf {path}\nfinal_score\nquit\n"
    done = subprocess.run(
        split(GNUGO.format(level=1)), input=commands, capture_output=True, text=True, timeout=120, check=True
    )
    found = re.findall(r"^= ([BW]\+[\d.]+|0)\s*$", done.stdout, re.MULTILINE)
    return written(float(found[0][2:]) * (1 if found[0][0] == "B" else -1)) if found[0] != "0" else "0"


def in_the_arena(agent: str, level: int, games: int, folder: Path) -> bool:
    agree = True
    opponent = f'gtp("{GNUGO.format(level=level)}")'

    def on_game(record: GameRecord) -> None:
        nonlocal agree
        file = folder / f"arena{record.task.number}.sgf"
        formats.write([record], file)
        rules, counted, theirs = *ours(record), gnugo_counts(file)
        agree &= counted == theirs and rules[0] == theirs[0]
        side = "black" if record.task.agents[0] == agent else "white"
        print(
            f"arena game {record.task.number + 1}: {side} is ours; rules {rules}, dead taken off {counted}, "
            f"GNU Go {theirs}, {record.plies} plies {record.reason}",
            flush=True,
        )

    found = match(GAME, [agent, opponent], games, on_game=on_game, workers=1)
    tally = found.standings[0].total
    print(
        f"arena: {agent} {tally.wins} wins, {tally.losses} losses; {sum(found.forfeits.values())} forfeits", flush=True
    )
    return agree and not found.forfeits


def under_twogtp(script: Path, agent: str, level: int, games: int, folder: Path) -> bool:
    agree, wins = True, 0
    mine = f"{sys.executable} -m meijin engine '{GAME}' --protocol gtp --agent '{agent}'"
    theirs = " ".join(split(GNUGO.format(level=level)))
    for colour, (black, white) in (("black", (mine, theirs)), ("white", (theirs, mine))):
        base = folder / f"twogtp-{colour}"
        done = subprocess.run(
            ["perl", str(script), "--black", black, "--white", white, "--size", "9", "--komi", str(KOMI),
             "--games", str(games // 2), "--sgffile", f"{base}.sgf"],
            capture_output=True, text=True, timeout=3600, check=True,
        )  # fmt: skip
        for number, said in re.findall(r"^Game (\d+): (.*)$", done.stdout, re.MULTILINE):
            record = next(formats.read(Path(f"{base}{int(number):03}.sgf")))
            counted = ours(record)[1]
            said = said.replace(".0", "")
            agree &= said == counted
            wins += said[:1] == colour[0].upper()
            print(f"twogtp game {number}: {colour} is ours; both engines {said}, replayed {counted}", flush=True)
    print(f"twogtp: {agent} {wins} wins of {games // 2 * 2}", flush=True)
    return agree


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--twogtp", type=Path, help="the script of GNU Go's sources; without it only the arena plays")
    parser.add_argument("--agent", default="champion(simulations=100)")
    parser.add_argument("--level", type=int, default=1, help="of GNU Go, 1 to 10")
    parser.add_argument("--games", type=int, default=10)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        agree = in_the_arena(args.agent, args.level, args.games, Path(folder))
        if args.twogtp:
            agree &= under_twogtp(args.twogtp, args.agent, args.level, args.games, Path(folder))
    print("all scores agree" if agree else "SOME SCORES DIFFER")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
