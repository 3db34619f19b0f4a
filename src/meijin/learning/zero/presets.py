"""Configs to start from: `preset("quick", game)`. What suits most games, and what works better for some."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from meijin.core.errors import UnknownName, suggest
from meijin.core.game import Game
from meijin.learning.zero.config import ZeroConfig
from meijin.search.forest import Settings
from meijin.search.forest.driver import mean_moves

LONGEST = 1024  # plies after which self-play cuts a game short, in games that may last longer


def preset(name: str, game: Game) -> ZeroConfig:
    """The preset of that name, fitted to the game."""
    if name not in PRESETS:
        raise UnknownName(f"unknown preset '{name}'{suggest(name, PRESETS)}; presets are {', '.join(PRESETS)}")
    return PRESETS[name](game).changed(TUNED.get((name, game.name), {}))


def search(game: Game, simulations: int, **changes: Any) -> Settings:
    """Settings of self-play's searches: noise that fits the number of moves, and variety in the opening."""
    plies = min(game.longest, 60)
    usual: dict[str, Any] = {
        "alpha": round(min(1.0, 10.0 / max(1.0, mean_moves(game))), 3),
        "warm": max(2, plies // 3),
        "cap": LONGEST if game.longest > LONGEST else 0,
    }
    return Settings(simulations=simulations, **{**usual, **changes})


def tiny(game: Game) -> ZeroConfig:
    """Seconds on any machine: to see that everything works."""
    return ZeroConfig(
        game=str(game),
        net={"size": "nano", "blocks": 1, "channels": 16},
        search=search(game, 16),
    ).changed(
        {
            "selfplay": {"games": 16, "threads": 1},
            "replay": {"window": 20_000, "start": 200},
            "training": {"batch": 64, "warmup": 10, "ema": 0.9, "threads": 1},
            "length": {"iterations": 4, "positions": 400, "evaluate": 2, "keep": 2},
        }
    )


def quick(game: Game) -> ZeroConfig:
    """Two processor cores and up to half an hour: a small net that beats plain tree search in small games."""
    return ZeroConfig(game=str(game), net={"size": "nano"}, search=search(game, 32)).changed(
        {
            "selfplay": {"games": 128, "threads": 2},
            "replay": {"window": 300_000, "start": 5_000},
            # One thread: on a machine that does anything else, two mostly wait for each other.
            "training": {
                "batch": 256,
                "optimizer": "muon",
                "rate": 1e-2,
                "ema": 0.998,
                "validation": 500,
                "threads": 1,
            },
            "length": {"iterations": 200, "seconds": 1500.0, "positions": 8_000, "evaluate": 20, "keep": 20},
        }
    )


def strong(game: Game) -> ZeroConfig:
    """One GPU, from minutes to hours: thousands of games at once and a net of a few million weights at most."""
    # Fewer games where one takes more memory.
    games = 8192 if (game.branching or 1) * min(game.longest, LONGEST) <= 20_000 else 2048
    # A net that dislikes draws a little plays to win; where there are none, it makes no difference.
    net = {"size": "small", **({"draw": -0.3} if game.seats == 2 and game.bounded else {})}
    return ZeroConfig(game=str(game), net=net, search=search(game, 64)).changed(
        {
            "selfplay": {"games": games},
            "replay": {"window": 4_000_000, "start": 100_000},
            "training": {
                "batch": 4096,
                "optimizer": "muon",
                "rate": 1e-2,
                "compiled": True,
                "reuse": 4.0,
                "validation": 4096,
            },
            "length": {"iterations": 400, "positions": 16 * games, "evaluate": 20, "keep": 20},
        }
    )


PRESETS: dict[str, Callable[[Game], ZeroConfig]] = {"tiny": tiny, "quick": quick, "strong": strong}

LONG_2048 = {"gumbel": True, "considered": 4, "value_scale": 0.4, "warm": 0, "cap": 4096}

#: (preset, game) -> what works better there.
TUNED: dict[tuple[str, str], dict[str, Any]] = {
    ("quick", "connect_four"): {
        "search": {"c": 1.6, "alpha": 0.8, "warm": 14, "random_share": 0.5, "random_plies": 12},
        "training": {"reuse": 4.0},
        "length": {"seconds": 1500.0, "positions": 6_000, "evaluate": 0},
    },
    # The outcome alone is the best target of the values here, and training steps are scarcer than games.
    ("quick", "2048"): {
        "search": {**LONG_2048, "simulations": 16},
        "selfplay": {"games": 96},
        "training": {"value_mix": 0.0, "reuse": 5.0, "optimizer": "adamw", "rate": 1e-3},
        "length": {"positions": 10_000},
    },
    ("strong", "2048"): {
        "net": {"size": "tiny"},
        "search": {**LONG_2048, "simulations": 24},
        "selfplay": {"games": 2048},
        "replay": {"window": 2_000_000, "growth": 0.6},
        "training": {"value_mix": 0.0, "batch": 2048, "optimizer": "adamw", "rate": 2e-3, "ema": 0.998},
        "length": {"positions": 100_000},
    },
    ("quick", "tic_tac_toe"): {
        "net": {"size": "nano", "blocks": 2},
        "length": {"iterations": 60, "seconds": 240.0, "positions": 2_000, "evaluate": 10},
    },
}
