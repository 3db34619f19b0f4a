"""Nets that hold draws for bad: in the tree, in what is learned, in reports and at play."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from meijin.agents.catalogue import build  # noqa: E402
from meijin.agents.zero import onward  # noqa: E402
from meijin.core.agent import Analysis, Limit, MoveInfo  # noqa: E402
from meijin.core.catalogue import make  # noqa: E402
from meijin.core.errors import BadParameter  # noqa: E402
from meijin.core.state import State  # noqa: E402
from meijin.learning.nets.config import NetConfig  # noqa: E402
from meijin.learning.zero import checkpoint  # noqa: E402
from meijin.learning.zero.config import ZeroConfig  # noqa: E402
from meijin.learning.zero.nets import Net  # noqa: E402
from meijin.learning.zero.positions import imitated  # noqa: E402
from meijin.learning.zero.selfplay import SelfPlay  # noqa: E402
from meijin.search.forest import Settings  # noqa: E402
from meijin.training.zero_run import ZeroRun  # noqa: E402

DRAWN = "b2 a1 c1 a3 a2 c2 b3 b1"  # tic-tac-toe: c3 ends it in a draw


def net(draw: float, game: str = "tic_tac_toe") -> Net:
    torch.manual_seed(3)
    shape = NetConfig(blocks=1, channels=8, policy_channels=4, value_channels=2, value_hidden=8, draw=draw)
    return Net(make(game), shape).eval()


def test_self_play_learns_that_draws_are_bad_for_both() -> None:
    play = SelfPlay(net(-0.5), 16, Settings(simulations=4, warm=9), seed=3)
    outcomes = {tuple(pair) for pair in play.play(400).outcomes.tolist()}
    assert outcomes == {(1.0, -1.0), (-1.0, 1.0), (-0.5, -0.5)}


def test_a_draw_is_not_resigned() -> None:
    """Where it is worth as little as a loss, it is so to both sides."""
    settings = Settings(simulations=24, warm=9, resign=-0.95, play_on=0.0)
    play = SelfPlay(net(-0.97), 32, settings, seed=3)
    drawn = (play.play(1500).outcomes[:, 0] == torch.tensor(-0.97).half()).sum()
    assert drawn > 100 and play.stats()["resigned"] > 0


def test_figures_of_self_play_and_bare_nets_are_even(tmp_path: Path) -> None:
    play = SelfPlay(net(-0.5), 16, Settings(simulations=4, warm=9), seed=3)
    play.play(400)
    stats = play.stats()
    assert stats["score_seat_0"] == pytest.approx(-stats["score_seat_1"], abs=1e-6)
    checkpoint.save(tmp_path / "net.safetensors", net(-0.5))
    value = build(f"value({str(tmp_path / 'net.safetensors')!r})", make("tic_tac_toe"))
    assert sum(value.analyse(State(make("tic_tac_toe"))).value) == pytest.approx(0, abs=1e-6)


def test_games_of_others_are_learned_in_the_same_way() -> None:
    game = make("tic_tac_toe")
    moves = [int(move) for move in State(game).play_line(DRAWN + " c3").history]
    assert (imitated(game, [(moves, (0.0, 0.0), 0)], 9, -0.5).outcomes == -0.5).all()
    assert (imitated(game, [(moves, (0.0, 0.0), 0)], 9).outcomes == 0).all()


def test_a_search_avoids_draws_and_reports_them_as_even(tmp_path: Path) -> None:
    game = make("tic_tac_toe")
    for draw in (-0.5, 0.0):
        path = tmp_path / f"{draw}.safetensors"
        checkpoint.save(path, net(draw))
        player = build(f"zero({str(path)!r}, simulations=20)", game)
        found = player.analyse(State(game).play_line(DRAWN))
        assert found.proven and found.value == (0.0, 0.0) and found.moves[0].value == (0.0, 0.0)
        root = player._player.forest.host("edges")[0][0]
        assert root["total"].tolist() == [draw * root["visits"]] * 2
        if draw:  # one side's gain is the other's loss in any report
            assert sum(player.analyse(State(game), Limit(simulations=50)).value) == pytest.approx(0, abs=1e-6)


def test_a_position_is_not_repeated_where_another_move_is_nearly_as_good() -> None:
    state = State(make("abalone")).play_line("C5NW G5SE D5SE F5NW")
    assert state.cells == State(make("abalone")).cells  # there and back
    again, other, poor = (state.copy().play(name).history[-1] for name in ("C5NW", "C4NW", "C3NW"))

    def first(*values: float, proven: bool = False, known: bool = False) -> Any:
        infos = tuple(
            MoveInfo(move, 10, 0.1, (value, -value), known and move != again, ())
            for move, value in zip((again, other, poor), values, strict=True)
        )
        found = Analysis(turn=0, moves=infos, value=(0.0, 0.0), proven=proven, simulations=30, nodes=30, depth=2)
        return onward(state, found, -0.6).moves

    assert [move.move for move in first(0.5, 0.45, 0.3)] == [other, again, poor]
    assert first(0.5, 0.3, 0.45)[0].move == poor
    assert first(0.5, 0.3, 0.3)[0].move == again  # too much would be given up
    assert first(0.5, 0.45, 0.3, proven=True)[0].move == again
    assert first(-0.55, -0.6, -0.6)[0].move == other
    assert first(-0.65, -0.65, -0.65)[0].move == again  # a draw would be better than what it expects
    assert first(-0.55, -0.6, -0.6, known=True)[0].move == again  # no proven loss for a position that is not lost


def test_only_nets_that_avoid_draws_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr("meijin.agents.zero.onward", lambda state, found, draw: asked.append(state) or found)
    for draw, times in ((0.0, 0), (-0.5, 1)):
        path = tmp_path / f"{draw}.safetensors"
        checkpoint.save(path, net(draw))
        build(f"zero({str(path)!r}, simulations=2)", make("tic_tac_toe")).act(State(make("tic_tac_toe")))
        assert len(asked) == times


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadParameter, match="draw=-2: choose a number from -1 to 1"):
        NetConfig(draw=-2)
    for game in ("2048", "nim(players=3)"):
        with pytest.raises(BadParameter, match="only games for two with a highest score have draws"):
            Net(make(game), NetConfig(draw=-0.5))


def test_a_net_may_begin_as_one_to_which_draws_meant_something_else(tmp_path: Path) -> None:
    checkpoint.save(tmp_path / "first.safetensors", net(0.0))
    config = ZeroConfig(
        game="tic_tac_toe", net=net(-0.5).config.to_dict(), warm={"init": str(tmp_path / "first.safetensors")}
    )
    run = ZeroRun(tmp_path / "run", ZeroConfig.from_dict(config.to_dict()))
    assert all(torch.equal(a, b) for a, b in zip(run.learner.net.parameters(), net(0.0).parameters(), strict=True))
    run.close()
