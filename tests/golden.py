"""Golden playthroughs: one random game of every game, written down position by position in `tests/golden`.

`python tests/golden.py [NAME...]` writes them anew, all or those of the named games. Do that after a change that is
meant to alter a game, and read the difference: whatever it shows is what users of that game will see.
"""

from __future__ import annotations

import hashlib
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from meijin.core import compile as compiling
from meijin.core import kernels
from meijin.core.catalogue import games, make
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.moves import Move
from meijin.core.rng import Stream, below, choose, stream
from meijin.core.state import State

FOLDER = Path(__file__).parent / "golden"
COMMAND = "python tests/golden.py"

#: Further parameters, where the defaults do not show a rule: name of the game -> name of the file -> expression.
MORE = {
    "2048": {"2048-3x2": "2048(width=3, height=2)"},
    "abalone": {"abalone-daisy": "abalone(layout='belgian_daisy', max_plies=40)"},
    "breakthrough": {"breakthrough-5x4": "breakthrough(rows=5, columns=4)"},
    "connect_four": {"connect_four-large": "connect_four(width=9, height=8, connect=5)"},
    "cube": {"cube-3": "cube(size=3, metric='quarter', twists=2, max_moves=12)"},
    "einstein": {"einstein-random": "einstein(layout='random')"},
    "go": {
        "go-territory": "go(size=5, komi=6.0, superko='simple', scoring='territory')",
        "go-suicide": "go(size=4, komi=0.5, superko='situational', suicide=True)",
        "go-handicap": "go(size=9, komi=0.5, handicap=5)",
    },
    "hex": {"hex-swap": "hex(size=5, swap=True)"},
    "nim": {"nim-misere": "nim(heaps=(3, 4, 4), players=3, misere=True)"},
    "othello": {"othello-large": "othello(size=10)"},
    "sim": {"sim-3": "sim(points=7, players=3)"},
    "tic_tac_toe": {"tic_tac_toe-5x4": "tic_tac_toe(width=5, height=4, connect=4)"},
    "yavalath": {"yavalath-swap": "yavalath(swap=True)", "yavalath-3": "yavalath(players=3)"},
}
#: Where the random game from seed 1 shows little, the seed of one that shows what the file is for.
SEEDS = {
    "cube-3": 379,
    "go-territory": 25,
    "hex-swap": 3,
    "othello": 7,
    "sim-3": 4,
    "yavalath-3": 3,
    "yavalath-swap": 84,
}

NAMES = 12  # of the legal moves, as many are written out; the others are in the digest
SHOWN = 120  # plies written out; of later ones, the last few and a digest of all
TAIL = 4
BOARD_EVERY = 10  # plies


def own_games() -> list[str]:
    """The games of this package, without those that files or other packages have added."""
    return [name for name in games.names() if games.get(name).factory.__module__.startswith("meijin.games.")]


def playthroughs(name: str) -> dict[str, str]:
    """File name (without its end) -> expression, for one game."""
    return {name: name, **MORE.get(name, {})}


# ---- what is written ----


def playthrough(expression: str, seed: int = 1) -> Iterator[str]:
    """The lines of a golden file."""
    game = make(expression)
    yield from _header(game, seed)
    state, rng = State(game), stream(seed)
    every = hashlib.sha256()
    tail: list[list[str]] = []
    yield from _position(state, 0)
    for ply in itertools.count(1):
        if state.is_over:
            break
        turn, move = state.turn, _draw(state, rng)
        state.play(move)
        lines = [f"{ply}. {_who(turn)} {move}", *_position(state, ply)]
        every.update("\n".join(lines).encode())
        if ply <= SHOWN:
            yield from lines
        else:
            tail = [*tail[1 - TAIL :], lines]
    plies = len(state.history)
    if plies > SHOWN + TAIL:
        yield f"... {plies - SHOWN - TAIL} plies later"
    yield from itertools.chain.from_iterable(tail)
    if plies % BOARD_EVERY:
        yield from _board(state)
    yield f"over after {plies} plies, scores {_numbers(state.scores)}, every position {every.hexdigest()[:16]}"


def _header(game: Game, seed: int) -> Iterator[str]:
    low, high = game.score_range
    fields = (game.dtype.fields or {}).items()
    layout = ", ".join(f"{name} {dtype.base.str[1:]}{list(dtype.shape) or ''}" for name, (dtype, *_) in fields)
    symmetries = [f"{each.name}{' (swaps)' if each.swaps else ''}" for each in game.symmetries]
    images = [(s.name, s.cells, s.moves, s.outcomes, s.seats, s.values) for s in game.symmetries]
    board = game.board
    pieces = [(p.text, p.owner) for p in game.pieces]
    for key, value in (
        ("game", game.id),
        ("parameters", " ".join(f"{name}={value!r}" for name, value in game.params.items()) or "none"),
        ("seats", game.seats),
        ("chance", "yes" if game.chance else "no"),
        ("score range", f"{low:g} to {high:g}"),
        ("num_moves", f"{game.num_moves}, names {_digest([m.name for m in game.moves])}: {_some(game.moves)}"),
        ("num_outcomes", game.num_outcomes),
        *([("outcomes", f"{_digest([o.name for o in game.outcomes])}: {_some(game.outcomes)}")] * game.chance),
        ("longest", game.longest),
        ("branching", game.branching),
        ("board", f"{board.kind}, {len(board.cells)} cells {_digest([(c.name, c.tray) for c in board.cells])}"),
        ("neighbours", _digest(board.neighbours)),
        ("pieces", f"{len(pieces)} {_digest(pieces)}: {' '.join(text for text, _ in pieces[:NAMES])}"),
        ("planes", game.num_planes),
        ("heuristic", "no" if game.heuristic is None else "yes"),
        ("symmetries", f"{len(symmetries)} {_digest(images)}: {_some(symmetries)}"),
        ("record", f"{game.dtype.itemsize} bytes: {layout}"),
        ("seed", seed),
    ):
        yield f"{key + ':':14}{value}"
    yield ""


def _position(state: State, ply: int) -> Iterator[str]:
    """What there is to see after a ply, the board from time to time."""
    if ply % BOARD_EVERY == 0:
        yield from _board(state)
    words = [f"turn {_who(state.turn)}", f"scores {_numbers(state.scores)}"]
    if state.game.heuristic is not None:
        words.append(f"heuristic {_numbers(_heuristic(state))}")
    yield "   " + "  ".join(words)
    if not state.is_over:
        odds = state.odds
        names = [f"{move}:{odds[move]:.6g}" if odds else move.name for move in state.legal_moves]
        digest = f" {_digest(names)}" if len(names) > NAMES else ""
        yield f"   {'outcomes' if odds else 'legal'} {len(names)}{digest}: {_some(names)}"
    # Planes may hold fractions, whose last bits a processor is free to choose.
    planes = np.rint(state.planes.astype(np.float64) * 4096).astype("<i4")
    yield f"   cells {_digest(state.cells)}  planes {_digest(planes)}  record {_record(state)}"


def _board(state: State) -> Iterator[str]:
    for line in str(state).splitlines():
        yield f"      {line}".rstrip()


def _record(state: State) -> str:
    """A digest of the fields, which leaves out the bytes between them, and those that are single numbers."""
    record, sha, scalars = state.record, hashlib.sha256(), []
    for name in state.game.dtype.names or ():
        value = np.asarray(record[name])
        sha.update(name.encode() + value.astype(value.dtype.newbyteorder("<")).tobytes())
        if value.ndim == 0:
            scalars.append(f"{name}={value.item():x}" if value.dtype == np.uint64 else f"{name}={value.item()}")
    return " ".join([sha.hexdigest()[:8], *scalars])


def _heuristic(state: State) -> list[float]:
    out = np.zeros(state.game.seats)
    state.game.kernel(kernels.heuristic)(state.records, 0, out)
    return [round(value, 5) for value in out.tolist()]


def _draw(state: State, rng: Stream) -> Move:
    """A uniform move, or an outcome by its odds: drawn here, so that a game's own `sample` has no part in it."""
    moves = state.legal_moves
    with np.errstate(over="ignore"):
        if state.is_chance:
            return moves[choose(rng, list(state.odds.values()), len(moves))]
        return moves[below(rng, len(moves))]


def _who(turn: int) -> str:
    return {CHANCE: "chance", OVER: "over"}.get(turn, f"seat {turn}")


def _some(names: Any) -> str:
    shown = " ".join(str(name) for name in names[:NAMES])
    return f"{shown} ..." if len(names) > NAMES else shown


def _numbers(values: Any) -> str:
    return " ".join(f"{value + 0.0:.6g}" for value in values)


def _digest(value: Any) -> str:
    data = value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode()
    return hashlib.sha256(data).hexdigest()[:8]


def text(file: str, expression: str) -> str:
    return "\n".join(playthrough(expression, SEEDS.get(file, 1))) + "\n"


def main(names: list[str]) -> int:
    compiling.JIT = False  # one game is played sooner than compiled
    failed = 0
    for name in names or own_games():
        for file, expression in playthroughs(games.get(name).name).items():
            try:
                written = text(file, expression)
            except Exception as error:  # one unfinished game is no reason to leave out the others
                print(f"{expression}: {type(error).__name__}: {error}", file=sys.stderr)
                failed = 1
                continue
            (FOLDER / f"{file}.txt").write_text(written, encoding="utf-8")
            print(f"{expression}: {len(written.splitlines())} lines, {len(written):,} bytes")
    return failed


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    sys.exit(main(sys.argv[1:]))
