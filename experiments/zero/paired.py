"""A champion's net in two searches that play each other: what `levels.py` and `leaves.py` have in common."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from meijin.arena.stats import wilson
from meijin.core.catalogue import make
from meijin.learning import files
from meijin.learning.nets.weights import Weights, load
from meijin.learning.zero.batch_search import BatchSearch
from meijin.learning.zero.duel import duel, points


def arguments(text: str | None, plies: int) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="GAME")
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--plies", type=int, default=plies, help="random plies that open each pair of games")
    return parser


def champions(parser: argparse.ArgumentParser, names: list[str]) -> Iterator[tuple[str, Weights]]:
    for name in names:
        game = make(name)
        path = files.champion(game)
        if path is None:
            parser.error(f"{name} has no champion")
        yield name, load(path).for_game(game)


def share(one: BatchSearch, other: BatchSearch, games: int, plies: int, seed: int) -> str:
    """What the first makes of the points, with its 95 % Wilson interval; every opening is played from both sides."""
    found = points(duel(one, other, one.game, games, plies=plies, seed=seed))
    least, most = wilson(found, games)
    return f"{found:.1%} ({least:.1%} to {most:.1%})"
