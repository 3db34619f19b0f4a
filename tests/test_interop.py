"""Our games in other frameworks, judged by those frameworks' own tests."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from meijin.core.catalogue import make
from meijin.core.errors import BadParameter

GAMES = ["tic_tac_toe", "connect_four", "nim(heaps=(3, 3, 2), players=3)", "einstein"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("game", [*GAMES, "2048"])
def test_pettingzoo_accepts_our_games(game: str) -> None:
    pytest.importorskip("pettingzoo")
    from pettingzoo.test import api_test, seed_test

    from meijin.interop.pettingzoo import MeijinEnv

    api_test(MeijinEnv(game), num_cycles=60)
    seed_test(lambda: MeijinEnv(game), num_cycles=20)


def test_pettingzoo_pays_the_scores() -> None:
    pytest.importorskip("pettingzoo")
    from meijin.interop.pettingzoo import MeijinEnv

    env = MeijinEnv("tic_tac_toe", render_mode="ansi")
    env.reset(seed=1)
    totals = dict.fromkeys(env.possible_agents, 0.0)
    moves = [env.game.find(name) for name in ("a1", "b1", "a2", "b2", "a3")]
    for agent in env.agent_iter():
        _, reward, terminated, _, _ = env.last()
        totals[agent] += reward
        env.step(None if terminated else moves.pop(0))
    assert totals == {"seat_0": 1.0, "seat_1": -1.0}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("game", ["2048", "cube(size=2)"])
def test_gymnasium_accepts_our_games_for_one(game: str) -> None:
    pytest.importorskip("gymnasium")
    from gymnasium.utils.env_checker import check_env

    from meijin.interop.gymnasium import SoloEnv

    check_env(SoloEnv(game), skip_render_check=True)
    with pytest.raises(BadParameter, match="2 seats"):
        SoloEnv("tic_tac_toe")


def test_a_batch_of_games_pays_whoever_ends_them() -> None:
    pytest.importorskip("gymnasium")
    from meijin.interop.gymnasium import BatchEnv

    env = BatchEnv("tic_tac_toe", 16, seed=3)
    seen, _ = env.reset(seed=3)
    assert env.observation_space.contains(seen)
    ended = 0
    for _ in range(30):
        _, rewards, over, _, info = env.step(env.sample())
        assert np.all(rewards[~over] == 0)
        assert np.all(rewards[over] >= 0)  # nobody loses by a move of their own
        assert np.all(info["scores"][over].sum(axis=1) == 0)
        ended += int(over.sum())
    assert ended > 16


@pytest.mark.parametrize("game", GAMES)
def test_openspiel_accepts_our_games(game: str) -> None:
    pyspiel = pytest.importorskip("pyspiel")
    from meijin.interop.openspiel import openspiel_game

    pyspiel.random_sim_test(openspiel_game(game), num_sims=3, serialize=False, verbose=False)


def test_our_agents_play_openspiels_bots() -> None:
    pyspiel = pytest.importorskip("pyspiel")
    from open_spiel.python.algorithms import mcts

    from meijin.interop.openspiel import MeijinBot, openspiel_game

    game = openspiel_game("tic_tac_toe")
    theirs: Any = mcts.MCTSBot(game, 2.0, 20, mcts.RandomRolloutEvaluator(1, np.random.RandomState(1)))
    ours = MeijinBot("perfect")
    state = game.new_initial_state()
    while not state.is_terminal():
        state.apply_action((ours, theirs)[state.current_player()].step(state))
    assert state.returns()[0] >= 0
    assert isinstance(game, pyspiel.Game)


def test_the_exported_game_is_openspiels_own() -> None:
    pyspiel = pytest.importorskip("pyspiel")
    from meijin.interop.openspiel import openspiel_game

    draw = random.Random(4)
    theirs, ours = (
        pyspiel.load_game("connect_four").new_initial_state(),
        openspiel_game("connect_four").new_initial_state(),
    )
    while not theirs.is_terminal():
        assert theirs.legal_actions() == ours.legal_actions()
        action = draw.choice(theirs.legal_actions())
        theirs.apply_action(action)
        ours.apply_action(action)
    assert ours.is_terminal() and ours.returns() == theirs.returns()
    assert make("connect_four").num_moves == 7
