"""Games of OpenSpiel inside Meijin: they keep the laws of games, and agents play them."""

from __future__ import annotations

import pytest

from meijin.arena.match import match
from meijin.core.catalogue import game_names, make
from meijin.core.check import check_game
from meijin.core.errors import BadParameter

pytest.importorskip("pyspiel")

QUICK = ["tic_tac_toe", "breakthrough(rows=4,columns=4)", "pig(winscore=10,horizon=30)", "nim", "catch"]
SLOW = [
    *("connect_four", "mancala", "oware", "hex(board_size=5)", "go(board_size=5)", "pentago", "clobber", "othello"),
    *("dots_and_boxes", "havannah(board_size=4)", "quoridor(board_size=5)", "ultimate_tic_tac_toe", "cliff_walking"),
    *("y(board_size=5)", "twixt(board_size=6)", "cursor_go(board_size=5)", "checkers", "nine_mens_morris"),
]


@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def test_imported_games_keep_the_laws_and_are_played(name: str) -> None:
    game = make(f'openspiel("{name}")')
    assert check_game(game, games=1)
    found = match(game, ["mcts(simulations=5)", "random"][: game.seats], 1)
    assert found.games == 1 and not found.forfeits


def test_workers_know_imported_games() -> None:
    found = match('openspiel("tic_tac_toe")', ["maxn", "random"], 2, workers=1)
    assert found.games == 2 and found.standings[0].total.losses == 0
    assert "openspiel" not in game_names()  # it is no game by itself


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("efg_game(filename=x)", "no files"),
        ("no_such_game", "cannot load"),
        ("kuhn_poker", "hidden information"),
        ("matrix_pd", "not sequential"),
    ],
)
def test_games_that_do_not_fit_are_refused(name: str, problem: str) -> None:
    with pytest.raises(BadParameter, match=problem):
        make(f'openspiel("{name}")')
