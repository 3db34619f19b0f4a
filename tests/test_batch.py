"""Many games at once: `simulate` and `States`."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from meijin.core import kernels
from meijin.core.batch import States, simulate
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, IllegalMove
from meijin.core.game import OVER
from meijin.core.rng import streams
from meijin.core.state import State

GAMES = ["connect_four", "tic_tac_toe", "2048", "nim(heaps=(3, 3, 2), players=3)"]


@pytest.mark.parametrize("expression", GAMES)
def test_simulated_games_are_those_of_the_streams(expression: str) -> None:
    game = make(expression)
    found = simulate(game, 20, seed=5, threads=2)
    moves, probs = kernels.buffers(game)
    for i, rng in enumerate(streams(5, 20)):
        total = np.zeros(game.seats)
        kernel = game.kernel(kernels.random_games)
        plies = kernel(game.states(1), 1, rng, moves, probs, np.zeros(game.seats), total)
        assert (plies, total.tolist()) == (found.plies[i], found.scores[i].tolist())
    assert np.array_equal(simulate(game, 20, seed=5, threads=1).scores, found.scores)


def test_a_simulation_tells_who_won() -> None:
    """Random tic-tac-toe: the first seat wins 58.5 %, the second 28.8 %, 12.7 % are drawn (by enumeration).

    With 20,000 games the standard error of a share is at most 0.35 %; five of them: a false alarm in 10**-6 seeds.
    """
    found = simulate(make("tic_tac_toe"), 20_000, seed=1)
    shares = [n / len(found) for n in (*found.wins, found.draws)]
    assert shares == pytest.approx([0.585, 0.288, 0.127], abs=0.0175)
    assert "tic_tac_toe" in repr(found) and "58" in repr(found)
    assert found._repr_html_().count("<tr>") == 3


@pytest.mark.parametrize("expression", GAMES)
def test_states_play_as_single_states_do(expression: str) -> None:
    """Each position is followed by a `State` through the ends of games and the outcomes of chance."""
    game = make(expression)
    many = States(game, 16, seed=3, threads=2)
    ended = 0
    for _ in range(60):
        for i in range(16):
            one = State(game, many.records[i])
            assert one.turn == many.turns[i] >= 0
            assert np.flatnonzero(many.mask[i]).tolist() == list(one.legal_moves)
        before = many.records.copy()
        moves = many.sample().copy()
        many.step(moves)
        for i in range(16):
            after = State(game, before[i]).play(int(moves[i]))
            if after.is_over:
                ended += 1
                assert many.over[i] == 1 and tuple(many.scores[i]) == after.scores
            elif not game.chance:
                assert many.over[i] == 0 and State(game, many.records[i]) == after
    assert ended or game.name == "2048"
    assert many.planes.shape == (16, game.num_planes, len(game.board.cells))
    assert np.array_equal(many.planes[7], State(game, many.records[7]).planes)


def test_lengths_count_the_plies_of_a_game() -> None:
    game = make("tic_tac_toe")
    many = States(game, 1, threads=1)
    for move in (0, 3, 1, 4, 2):
        assert many.over[0] == 0
        many.step([move])
    assert many.over[0] == 1 and many.lengths[0] == 5 and many.scores[0].tolist() == [1, -1]
    assert many.turns[0] == 0 and many.mask[0].all()


def test_an_illegal_move_is_named_and_nothing_is_played() -> None:
    many = States(make("tic_tac_toe"), 4, threads=1)
    many.step([0, 1, 2, 3])
    before = many.records.copy()
    with pytest.raises(IllegalMove, match="position 2: move 2 is not legal"):
        many.step([1, 0, 2, 0])
    for bad in (9, -1, 2**31 - 1):
        with pytest.raises(IllegalMove, match=f"position 1: move {bad} is not legal"):
            many.step([1, bad, 3, 0])
    for shape in ([1, 2], [[1, 2, 3, 4]], [0.5, 1, 2, 3], ["a", "b", "c", "d"]):
        with pytest.raises(IllegalMove, match="4 whole numbers"):
            many.step(shape)
    assert (many.records == before).all()


def test_bad_sizes_are_refused() -> None:
    game = make("tic_tac_toe")
    for call in (lambda: States(game, 0), lambda: simulate(game, -5), lambda: States(game, 4, threads=0)):
        with pytest.raises(BadParameter):
            call()
    with pytest.raises(BadParameter, match="device='gpu'"):
        States(game, 4, device="gpu")


SIMULATED = """
import numpy as np, warnings
warnings.simplefilter("ignore")
from meijin.core.batch import States, simulate
from meijin.core.catalogue import make
for name in ("tic_tac_toe", "2048"):
    game = make(name)
    one, other = States(game, 5, seed=2, threads=1), States(game, 5, seed=2, device="cuda")
    for _ in range(12):
        for states in (one, other):
            states.step(states.sample())
        for part in ("turns", "mask", "over", "scores", "planes"):
            assert np.array_equal(getattr(one, part), getattr(other, part).copy_to_host()), (name, part)
    assert np.array_equal(simulate(game, 3, threads=1).plies, simulate(game, 3, device="cuda").plies)
print("equal")
"""


def test_a_gpu_plays_the_same_games() -> None:
    """In Numba's simulator of one."""
    env = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "MEIJIN_JIT": "0"}
    result = subprocess.run([sys.executable, "-c", SIMULATED], env=env, capture_output=True, text=True, check=False)
    assert result.stdout.strip() == "equal", result.stderr


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["connect_four", "go", "2048", "einstein"])
def test_a_device_plays_the_same_games(name: str) -> None:
    game = make(name)
    one, other = States(game, 300, seed=2, threads=1), States(game, 300, seed=2, device="cuda")
    for _ in range(60):
        one.step(one.sample())
        other.step(other.sample())
    for part in ("turns", "mask", "over", "scores", "lengths", "planes"):
        np.testing.assert_array_equal(getattr(one, part), getattr(other, part).copy_to_host(), err_msg=part)
    moves, _ = one.sample(), other.sample()
    one.step(moves)
    other.step(moves)  # NumPy's moves are copied to the device
    np.testing.assert_array_equal(one.turns, other.turns.copy_to_host())
    cpu, gpu = simulate(game, 300, threads=1), simulate(game, 300, device="cuda")
    np.testing.assert_array_equal(cpu.plies, gpu.plies)
    np.testing.assert_array_equal(cpu.scores, gpu.scores)


def test_plain_python_steps_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from meijin.core import compile as compiling

    monkeypatch.setattr(compiling, "JIT", False)
    many = States(make("tic_tac_toe"), 2, threads=1)
    for _ in range(9):
        many.step(many.sample())
    assert many.turns.min() >= 0 and many.turns.max() != OVER


def test_a_game_may_be_given_by_its_expression() -> None:
    assert States("tic_tac_toe", 2).game is make("tic_tac_toe")
    assert simulate("tic_tac_toe", 3).game == "tic_tac_toe"
    with pytest.raises(BadParameter, match="count=0: choose from 1 to 2147483647"):
        States("tic_tac_toe", 0)
