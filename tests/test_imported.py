"""Games of OpenSpiel inside Meijin: they keep the laws of games, and agents play them."""

from __future__ import annotations

import pytest

from meijin.arena.match import match
from meijin.core.catalogue import game_names, games, make
from meijin.core.check import check_game
from meijin.core.errors import BadParameter
from meijin.core.expression import parse
from meijin.core.state import State
from meijin.web.server.work.rules import check_parameters

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


def test_cells_are_clicked_where_openspiels_moves_can_be_understood() -> None:
    def paths(name: str, line: str) -> list[object]:
        """The clicks that make the moves of a line."""
        game = make(f'openspiel("{name}")')
        return [game.paths[int(move)] for move in State(game).play_line(line.split()).history]

    assert paths("tic_tac_toe", "4 0") == [(4,), (0,)]
    assert paths("connect_four", "3") == [(frozenset(range(3, 42, 7)),)]
    first = make('openspiel("breakthrough(rows=4,columns=4)")')
    state = State(first)
    path = first.paths[int(state.legal_moves[0])]
    assert path is not None and state.cells[path[0]] and path[1] - path[0] in (3, 4, 5)
    assert make('openspiel("pentago")').paths[0] is None  # two clicks and a turn: beyond what is tried


def test_pages_cannot_ask_for_huge_imported_games() -> None:
    entry = games.get("openspiel")
    check_parameters(entry, entry.bind(parse('openspiel("go(board_size=19)")')))
    with pytest.raises(BadParameter, match="choose a whole number from -64 to 64"):
        check_parameters(entry, entry.bind(parse('openspiel("go(board_size=5000)")')))


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
