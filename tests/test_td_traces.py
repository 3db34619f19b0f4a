"""Accumulating and replacing traces, as the textbook by Sutton and Barto has them, and delayed ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("safetensors")

from meijin import OVER, Game, Piece, boards, features, game, make, training
from meijin.core.errors import BadParameter
from meijin.learning.td.network import Network

KINDS = ("accumulating", "replacing", "delayed")
TRACE = 0.5
PATH = np.array([[0, 0], [1, 0], [0, 0], [1, 1], [0, 0]])  # the cells as moves are made; the fourth move ends the game
SEEN = (1, 4)  # the positions that are learned


@pytest.fixture(autouse=True)
def path(interpreted: None) -> None:
    """A game for one with one move in each position, and a score of 1 at its end."""

    @game("path")
    def made() -> Game:
        """There and back."""

        def start(s: Any) -> None:
            s.ply = 0

        def turn(s: Any) -> int:
            return OVER if s.ply == 4 else 0

        def legal(s: Any, moves: Any) -> int:
            moves[0] = 0
            return 1

        def play(s: Any, move: int) -> None:
            s.ply += 1

        def score(s: Any, scores: Any) -> None:
            scores[0] = 1.0

        def cells(s: Any, out: Any) -> None:
            out[0], out[1] = PATH[s.ply, 0], PATH[s.ply, 1]

        return Game(
            state=np.dtype([("ply", "i1")]), seats=1, num_moves=1, longest=4, score_range=(-1.0, 1.0),
            board=boards.square(1, 2), pieces=(Piece("."), Piece("#")), path=lambda move: ("on",),
            rules=(start, turn, legal, play, score, cells),
        )  # fmt: skip

    @features("first_cell")
    def first_cell(game: Game) -> Any:
        def fill(s: Any, seat: int, out: Any) -> None:
            out[0], out[1] = 1 - PATH[s.ply, 0], PATH[s.ply, 0]

        return ["empty", "full"], fill


def learned(folder: Path, views: int = 1, **changes: Any) -> list[float]:
    """The weights after some games."""
    usual = {"trace": TRACE, "alpha": 0.5, "coherence": "none", "output": "linear", "epsilon": 0, "length.evaluate": 0}
    given = {name.replace("__", "."): value for name, value in changes.items()}
    run = training.td(make("path"), out=folder, changes=usual | given, iterations=1)
    run.go()
    assert not isinstance(run.network, Network) or run.network.symmetries == views
    return [float(weight) for weight in run.network.weights]


def textbook(positions: list[list[int]], kind: str, alpha: float, horizon: int, games: int) -> list[float]:
    """The same with a trace for every weight; `positions` lists the active weights of each."""
    weights = np.zeros(2)
    for _ in range(games):
        owed = np.zeros((len(positions), 2))
        for t, active in enumerate(positions):
            target = weights[positions[t + 1]].sum() if t + 1 < len(positions) else 1.0
            traces = np.zeros(2)
            for back in range(min(t + 1, horizon)):
                counts = np.bincount(positions[t - back], minlength=2)
                owed[t - back] += (target - weights[active].sum()) * TRACE**back * counts
                traces += TRACE**back * counts * (traces == 0 if kind == "replacing" else 1)
            if kind != "delayed":
                weights += alpha * (target - weights[active].sum()) * traces
            elif t + 1 >= horizon:
                weights += alpha * owed[t + 1 - horizon]
        if kind == "delayed":
            weights += alpha * owed[max(0, len(positions) - horizon + 1) :].sum(axis=0)
    return [float(weight) for weight in weights]


@pytest.mark.parametrize(
    ("kind", "games", "weights"),
    [
        # One error, of 1 at the end: half of it times 1 + 0.25 or 1 for the cell seen twice, and times 0.5.
        ("accumulating", 1, [0.25, 0.625]),
        ("replacing", 1, [0.25, 0.5]),
        # Errors of -0.375, 0.1875 and 0.515625, or of -0.25, 0.125 and 0.59375.
        ("accumulating", 2, [0.25 + 0.09375 + 0.12890625, 0.625 - 0.1875 + 0.046875 + 0.322265625]),
        ("replacing", 2, [0.25 + 0.0625 + 0.1484375, 0.5 - 0.125 + 0.03125 + 0.296875]),
        ("delayed", 1, [0.25, 0.625]),  # as accumulating ones: there is but one error
        # Errors of -0.375, 0.375 and 0.375: nothing changes before the end.
        ("delayed", 2, [0.25 + 0.5 * (0.375 + 0.1875), 0.625 + 0.5 * (-0.375 + 0.1875 + 0.09375 + 0.375)]),
    ],
)
def test_a_weight_that_is_active_again_has_the_trace_of_the_textbook(
    kind: str, games: int, weights: list[float], tmp_path: Path
) -> None:
    views = {"tuples__cells": ["a1"], "tuples__symmetries": 1}
    assert learned(tmp_path / "run", trace_kind=kind, games=games, **views) == pytest.approx(weights)
    assert textbook([[1], [0], [1]], kind, 0.5, 10, games) == pytest.approx(weights)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("horizon", [1, 2, 10])
def test_symmetric_views_that_share_a_weight_are_one_position(kind: str, horizon: int, tmp_path: Path) -> None:
    """Both count, and together they replace what the weight had from earlier positions."""
    found = learned(tmp_path / "run", trace_kind=kind, games=5, horizon=horizon, tuples__cells=["a1"], views=2)
    positions = [list(map(int, PATH[at])) for at in range(*SEEN)]
    assert found == pytest.approx(textbook(positions, kind, 0.5 / 2, horizon, 5), rel=1e-5)


@pytest.mark.parametrize(
    ("kind", "traces"), [("accumulating", [0.5, 1.25, 1.75]), ("replacing", [0.5, 1.0, 1.0])], ids=KINDS[:2]
)
def test_traces_of_features(kind: str, traces: list[float], tmp_path: Path) -> None:
    """The last weight is that of a constant 1, which every position has."""
    found = learned(tmp_path / "run", trace_kind=kind, games=1, features__by="first_cell")
    assert found == pytest.approx([0.5 * trace / sum(each**2 for each in traces) for trace in traces])


def test_features_have_no_horizon_to_wait_for(tmp_path: Path) -> None:
    with pytest.raises(BadParameter, match="trace_kind=delayed: with features, errors reach back to the beginning"):
        learned(tmp_path / "run", trace_kind="delayed", features__by="first_cell")


def test_replacing_all_traces_at_once_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadParameter, match="every weight is active in every position, so that no trace would last"):
        learned(tmp_path / "run", trace_kind="replacing", features__by="first_cell", features__hidden=2)
