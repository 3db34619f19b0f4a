"""One game: who is asked, what is kept, and what may end it before its rules do."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import pytest

from meijin.agents.catalogue import agents
from meijin.arena.judges import Agreement, Cap, PerfectJudge, PlayRules, drawn, forfeited, play_rules, won
from meijin.arena.play import play_task
from meijin.arena.record import GameRecord, Task
from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, UnknownName
from meijin.core.moves import Move
from meijin.core.state import State

GAME = "tic_tac_toe"
SEEN: list[tuple[str, Any]] = []  # what the agent below was asked


class Sure(Agent):
    """Plays the first legal move and is sure of `value` for seat 0; `doubt`: from that move of its own on it is not."""

    measures = ("seconds", "simulations", "depth")

    def __init__(self, value: float | None = None, doubt: int = 99):
        self.says, self.doubt, self.moves = value, doubt, 0

    def reseed(self, seed: int) -> None:
        SEEN.append(("seed", seed))

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        SEEN.append(("analyse", limit))
        self.moves += 1
        value = None if self.says is None or self.moves > self.doubt else (self.says, -self.says)
        yield Analysis(state.turn, tuple(MoveInfo(move, value=value) for move in state.legal_moves), value)

    def decide(self, state: State, limit: Limit) -> Move:
        move = super().decide(state, limit)
        SEEN[-1] = ("act", limit)
        return move


@pytest.fixture(autouse=True)
def _registered() -> None:
    agents.register("test_sure", Sure)
    SEEN.clear()


def played(*names: str, game: str = GAME, judges: tuple[str, ...] = (), **options: Any) -> GameRecord:
    task_options = {key: options.pop(key) for key in ("opening", "seed", "limits", "number") if key in options}
    return play_task(Task(game, names, **task_options), rules=play_rules(judges, **options))


# ---- what is asked and kept ----


def test_limits_go_to_their_seats_and_nothing_is_noted_unasked() -> None:
    limits = Limit(seconds=1), Limit(simulations=7)
    record = played("test_sure", "test_sure", limits=limits)
    assert [what for what in SEEN if what[0] != "seed"] == [("act", limits[ply % 2]) for ply in range(record.plies)]
    assert record.notes == () and record.ending == "rules" and record.reason == ""
    assert State(make(GAME)).play_line(record.moves).scores == record.scores
    assert record.seconds > 0 and record.began.endswith("+00:00")


def test_notes_are_one_a_ply() -> None:
    record = played("test_sure(0.5)", "mcts(simulations=20)", opening=(4, 0), notes="analyses")
    assert record.moves[:2] == (4, 0) and len(record.notes) == record.plies
    for ply, note in enumerate(record.notes):
        assert (note.seconds is None) == (note.analysis is None) == (ply < 2)  # nobody chose the opening
        if note.analysis:
            assert note.value == tuple(note.analysis["value"])
            assert note.analysis["moves"][0]["move"] == make(GAME).moves[record.moves[ply]].name
            assert json.loads(json.dumps(note.analysis, allow_nan=False)) == note.analysis
    timed = played("test_sure(0.5)", "mcts(simulations=20)", opening=(4, 0), notes="times")
    assert timed.moves == record.moves
    assert [note.seconds is None for note in timed.notes] == [True] * 2 + [False] * (timed.plies - 2)
    assert all(note.value is None and note.analysis is None for note in timed.notes)


def test_chance_is_in_the_moves_and_has_empty_notes() -> None:
    record = played("random", game="2048(size=2)", notes="times", seed=3)
    state = State(make("2048(size=2)"))
    for move, note in zip(record.moves, record.notes, strict=True):
        assert (note.seconds is None) == state.is_chance
        state.play(move)
    assert state.is_over and state.scores == record.scores
    again = played("mcts(simulations=5)", game="2048(size=2)", seed=3)
    assert again.moves[:2] == record.moves[:2]  # equal seeds, equal chances


def test_seeds() -> None:
    def seeds(*names: str, **options: Any) -> list[int]:
        SEEN.clear()
        played(*names, **options)
        return [value for what, value in SEEN if what == "seed"]

    one = seeds("test_sure", "test_sure", seed=1)
    assert len(set(one)) == 2 and seeds("test_sure", "test_sure", seed=1) == one
    assert not set(one) & set(seeds("test_sure", "test_sure", seed=2))
    # The two sides of an opening share a seed; their agents must not, or they would play the same game twice.
    assert not set(one) & set(seeds("test_sure", "test_sure", seed=1, number=1))


def test_an_agent_with_a_seed_of_its_own_still_varies() -> None:
    games = {
        seed: [played("random(seed=1)", "random(seed=2)", seed=seed, number=n).moves for n in range(6)]
        for seed in (1, 2)
    }
    assert games[1] == games[2] and len(set(games[1])) > 3


def test_unknown_agents_are_an_error_and_unfit_ones_forfeit() -> None:
    with pytest.raises(UnknownName, match="did you mean 'mcts'"):
        played("mtcs", "random")
    record = played("alphabeta", game="2048(size=2)")
    assert record.forfeit == 0 and "alphabeta: failed with BadParameter: alphabeta cannot play" in record.reason


# ---- judges ----


def test_the_cap() -> None:
    record = played("random", "random", judges=("cap(3)",))
    assert (record.plies, record.ending, record.reason, record.scores) == (
        3,
        "cap",
        "stopped after 3 plies",
        (0.0, 0.0),
    )
    # A game for one has nobody to draw with: its score stands.
    record = played("random", game="2048", judges=("cap(50)",))
    assert record.plies == 50 and record.scores == State(make("2048")).play_line(record.moves).scores
    # A game that ends at the cap has ended by its rules.
    assert played("test_sure", "test_sure", judges=("cap(7)",)).ending == "rules"


def test_agreement() -> None:
    sure = ("test_sure(0.95)", "test_sure(0.97)")
    record = played(*sure, judges=("agree(0.9, plies=3)",))
    assert (record.plies, record.ending, record.reason) == (3, "judged", "agreed: X wins")
    assert record.scores == (1.0, -1.0)
    record = played("test_sure(-0.95)", "test_sure(-0.9)", judges=("agree(0.9, plies=4)",))
    assert (record.plies, record.scores) == (4, (-1.0, 1.0))
    # One that is not so sure, one that says nothing, one alone: they play on.
    for names in (("test_sure(0.95)", "test_sure(0.8)"), ("test_sure(0.95)", "test_sure")):
        assert played(*names, judges=("agree(0.9, plies=2)",)).ending == "rules"
    assert played("test_sure(0.95)", "test_sure(0.95)", judges=("agree(0.9, plies=1)",)).ending == "rules"
    # A doubt breaks the row.
    assert played("test_sure(0.95, doubt=1)", "test_sure(0.97)", judges=("agree(0.9, plies=4)",)).ending == "rules"


def test_agreement_on_a_draw_must_be_asked_for() -> None:
    names = ("test_sure(0.01)", "test_sure(-0.01)")
    assert played(*names, judges=("agree(0.9, plies=3)",)).ending == "rules"
    record = played(*names, judges=("agree(0.9, plies=3, draw=0.02)",))
    assert (record.plies, record.scores, record.reason) == (3, (0.0, 0.0), "agreed: a draw")


def test_the_perfect_judge_ends_games_with_their_value() -> None:
    # A corner answered at the edge loses (a1 and then the centre), which the solver knows after the first own move.
    record = played("test_sure", "perfect", opening=(0, 1), judges=("perfect",))
    assert (record.ending, record.reason, record.plies) == ("judged", "solved", 3)
    late = played("perfect", "perfect", opening=(0, 1), judges=("perfect(after=5)",))
    assert late.plies == 5 and late.scores == (1.0, -1.0)
    assert played("perfect", "perfect", judges=("perfect(after=4)",)).scores == (0.0, 0.0)


def test_judges_that_cannot_judge() -> None:
    for game, rules, message in (
        ("2048", PlayRules(agreement=Agreement()), "agreement needs two seats or more"),
        ("2048", PlayRules(perfect=PerfectJudge()), "2048 is not solved"),
        ("go(size=9)", PlayRules(perfect=PerfectJudge()), "go is not solved"),
    ):
        with pytest.raises(BadParameter, match=message):
            rules.check(make(game))
    PlayRules(Cap(10), Agreement(), PerfectJudge()).check(make(GAME))


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        (["cap(0)"], {}, "cap: plies = 0: must be at least 1"),
        (["cap"], {}, "cap: parameter 'plies' is missing"),
        (["cap(5)", "cap(6)"], {}, "there can be only one judge of this kind"),
        (["agree(2)"], {}, "threshold = 2: must be at most 1"),
        (["agree(0.5, draw=0.6)"], {}, "draw = 0.6: must be below the threshold"),
        (["perfect(seconds=0)"], {}, "seconds = 0: must be above 0"),
        ([], {"move_timeout": 0}, "move_timeout = 0: must be above 0"),
        ([], {"notes": "all"}, "notes = 'all': choose from analyses, none, times"),
    ],
)
def test_wrong_rules(names: list[str], options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        play_rules(names, **options)
    with pytest.raises(UnknownName, match="did you mean 'perfect'"):
        play_rules(["perfekt"])


# ---- scores that no rule gives ----


@pytest.mark.parametrize(
    ("seats", "bounds", "lost", "draw", "win"),
    [
        (2, (-1.0, 1.0), (-1.0, 1.0), 0.0, (1.0, -1.0)),
        (2, (0.0, 1.0), (0.0, 1.0), 0.5, (1.0, 0.0)),
        (3, (-1.0, 1.0), (-1.0, 0.5, 0.5), 0.0, (1.0, -0.5, -0.5)),
        (3, (1.0, 2.0), (1.0, 2.0, 2.0), 1.5, (2.0, 1.0, 1.0)),
        (2, (-math.inf, math.inf), (-1.0, 1.0), 0.0, (1.0, -1.0)),
        (1, (0.0, math.inf), (0.0,), 0.0, (1.0,)),
    ],
)
def test_scores_of_rulings(
    seats: int, bounds: tuple[float, float], lost: tuple[float, ...], draw: float, win: tuple[float, ...]
) -> None:
    game = make(GAME).changed(seats=seats, score_range=bounds, seat_names=())
    assert forfeited(game, 0) == lost and drawn(game) == (draw,) * seats and won(game, 0) == win
    assert seats == 1 or forfeited(game, 0)[0] < min(forfeited(game, 0)[1:])
