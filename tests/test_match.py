"""Matches: who sits where, what is counted, and that a seed repeats it all."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from meijin.agents.catalogue import agents
from meijin.arena.match import OPENING_PLIES, MatchResult, Tally, match, opening, wilson
from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, MeijinError, UnknownName
from meijin.core.game import Game
from meijin.core.rng import stream
from meijin.core.state import State

NIM = "nim(heaps=(3, 3, 2), players=3)"


class Lowest(Agent):
    """Plays the first legal move; with `last`, the last one."""

    deterministic = True

    def __init__(self, last: bool = False):
        self.last = last

    def analyse(self, state: State, limit: Limit = Limit()) -> Analysis:  # noqa: B008
        moves = state.legal_moves[::-1] if self.last else state.legal_moves
        return Analysis(state.turn, tuple(MoveInfo(move) for move in moves))


class Fussy(Lowest):
    """Plays games without chance only."""

    def unfit(self, game: Game) -> str | None:
        return "it knows no chance" if game.chance else None


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    agents.register("test_lowest", Lowest)
    agents.register("test_fussy", Fussy)
    yield
    del agents._entries["test_lowest"], agents._entries["test_fussy"]


def played(*args: object, **kwargs: object) -> tuple[MatchResult, list[State]]:
    states: list[State] = []
    result = match(*args, **kwargs, on_game=lambda state: states.append(state.copy()))  # type: ignore[arg-type]
    return result, states


def tallies(result: MatchResult) -> list[list[tuple[int, int, int, list[float]]]]:
    return [
        [(t.wins, t.draws, t.losses, t.scores) for t in (standing.total, *standing.seats)]
        for standing in result.standings
    ]


# ---- seats and tallies ----


def test_seats_rotate() -> None:
    # From the empty board, always first against always last: a1 and so on fills the bottom row; a known game each way.
    result, states = played(make("tic_tac_toe"), ["test_lowest", "test_lowest(last=True)"], 4, plies=0)
    lines = [" ".join(map(str, state.history)) for state in states]
    first, last = "a3 c1 b3 b1 c3", "c1 a3 b1 b3 a1"
    assert lines == [first, last, first, last]
    one, other = result.standings
    assert (one.name, other.name) == ("test_lowest", "test_lowest(last=True)")
    for standing in (one, other):  # who begins wins; each began twice
        assert (standing.total.wins, standing.total.losses) == (2, 2)
        assert (standing.seats[0].wins, standing.seats[1].losses) == (2, 2)
    assert result.plies == 20


@pytest.mark.parametrize(("expression", "names"), [("tic_tac_toe", 2), (NIM, 3)])
def test_tallies_add_up(expression: str, names: int) -> None:
    result, states = played(make(expression), ["random"] * names, 7 * names, seed=3)
    assert result.games == len(states) == 7 * names
    assert result.plies == sum(len(state.history) for state in states)
    for standing in result.standings:
        assert standing.total.games == 7 * names
        assert [tally.games for tally in standing.seats] == [7] * names  # as often in every seat
        for count in ("wins", "draws", "losses"):
            assert sum(getattr(tally, count) for tally in standing.seats) == getattr(standing.total, count)
        assert sorted(standing.total.scores) == sorted(score for tally in standing.seats for score in tally.scores)
    assert sum(s.total.mean for s in result.standings) == pytest.approx(0)  # both games are zero-sum
    for seat in range(names):
        scores = [score for standing in result.standings for score in standing.seats[seat].scores]
        assert sorted(scores) == sorted(state.scores[seat] for state in states)


def test_a_seed_repeats_a_match_and_another_does_not() -> None:
    def run(seed: int) -> tuple[object, list[str]]:
        result, states = played(make("tic_tac_toe"), ["mcts(simulations=20)", "random"], 6, seed=seed)
        return tallies(result), [state.text for state in states]

    assert run(5) == run(5)
    assert run(5) != run(6)


def test_an_agent_that_names_its_seed_keeps_it() -> None:
    texts = [
        [state.text for state in played(make("tic_tac_toe"), ["random(seed=1)", "random(seed=2)"], 3, seed=seed)[1]]
        for seed in (1, 2)
    ]
    assert texts[0] == texts[1]


def test_one_seat_games_are_played_by_each_agent_alone() -> None:
    result, states = played(make("2048(size=2)"), ["random", "mcts(simulations=20)"], 5, seed=2)
    assert result.games == 5 and len(states) == 10
    for k, standing in enumerate(result.standings):
        assert standing.total.games == 5 and len(standing.seats) == 1
        assert standing.total.scores == [state.scores[0] for state in states[k::2]]
    # Both get the same chances: games begin with the same two tiles.
    assert [s.history[:2] for s in states[::2]] == [s.history[:2] for s in states[1::2]]
    assert len({s.history[:2] for s in states}) > 1


def test_the_stronger_of_three_wins_from_every_seat() -> None:
    # Against two random players this search takes the last stone in 54 % of the games or more, measured over 600 from
    # each seat; a random player would in a third. With 200 games a seat the deviation is 3.5 %, so the bound of 40 % is
    # 4 of them away: a new seed would fail once in 10,000, this one is fixed.
    result = match(make(NIM), ["mcts(simulations=200)", "random", "random"], 600, seed=1)
    for tally in result.standings[0].seats:
        assert tally.games == 200
        assert tally.points > 0.40
    first, *others = (standing.total.points for standing in result.standings)
    assert all(first > other for other in others)


# ---- openings ----


def test_deterministic_agents_get_varied_openings() -> None:
    names = ["test_lowest", "test_lowest(last=True)"]
    result, states = played(make("connect_four"), names, 12, seed=4)
    openings = [state.history[:OPENING_PLIES] for state in states]
    assert openings[::2] == openings[1::2]  # each is played with the seats both ways
    assert len(set(openings)) > 3
    assert len({state.text for state in states}) > 6
    again = played(make("connect_four"), names, 12, seed=4)
    assert [state.text for state in again[1]] == [state.text for state in states]
    assert tallies(again[0]) == tallies(result)


def test_openings_only_where_games_would_repeat() -> None:
    # One agent that varies is enough; the deterministic one opens at a1 whenever it begins.
    _, states = played(make("tic_tac_toe"), ["test_lowest", "random"], 6, seed=1)
    assert {state.history[0] for state in states[::2]} == {0}
    # So is chance.
    _, states = played(make("2048(size=2)"), ["test_lowest"], 4, seed=1)
    assert len({state.text for state in states}) > 1
    # And whoever asks for an opening gets one.
    _, states = played(make("tic_tac_toe"), ["test_lowest", "random"], 12, seed=1, plies=2)
    assert len({state.history[:2] for state in states}) > 3


def test_an_opening_leaves_a_game_to_play() -> None:
    game = make("tic_tac_toe")
    for seed in range(30):
        state = opening(game, 7, stream(seed))
        assert len(state.history) == 7 and not state.is_over
    assert opening(game, 0, stream(1)).history == ()
    assert opening(make("2048(size=2)"), 0, stream(1)).turn == 0  # chance has moved


def test_an_opening_longer_than_the_game_is_an_error() -> None:
    with pytest.raises(MeijinError, match=r"tic_tac_toe: random play of 9 plies always ends the game; use a shorter"):
        opening(make("tic_tac_toe"), 9, stream(1))
    with pytest.raises(MeijinError, match="shorter opening"):
        match(make("tic_tac_toe"), ["random", "random"], 1, plies=30)


# ---- what cannot be played ----


@pytest.mark.parametrize(
    ("expression", "names", "message"),
    [
        ("tic_tac_toe", ["random"], "tic_tac_toe has 2 seats; name that many agents, not 1"),
        ("tic_tac_toe", ["random"] * 3, "2 seats; name that many agents, not 3"),
        (NIM, ["random"] * 2, "3 seats"),
        ("2048", [], "at least one agent"),
        ("2048", ["test_fussy"], "test_fussy cannot play 2048: it knows no chance"),
    ],
)
def test_wrong_agents_are_refused_before_any_game(expression: str, names: list[str], message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        match(make(expression), names, 1)


def test_wrong_numbers_and_names() -> None:
    for games in (0, -1):
        with pytest.raises(BadParameter, match=f"games={games}: a match has at least one game"):
            match(make("tic_tac_toe"), ["random", "random"], games)
    with pytest.raises(UnknownName, match="did you mean 'mcts'"):
        match(make("tic_tac_toe"), ["mtcs", "random"], 1)


# ---- statistics ----


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_intervals_as_published(successes: int, trials: int, low: float, high: float) -> None:
    """R. G. Newcombe, Statistics in Medicine 17 (1998), 857-872, table I, method 3; printed with four decimals."""
    assert wilson(successes / trials, trials) == pytest.approx((low, high), abs=5.1e-5)
    # What is true of a share is true of its complement.
    mirrored = wilson(1 - successes / trials, trials)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=5.1e-5)


def test_tally() -> None:
    tally = Tally()
    assert math.isnan(tally.points) and math.isnan(tally.mean) and wilson(tally.points, 0) == (0.0, 1.0)
    tally.add(1.0, [-1.0])
    tally.add(0.0, [0.0])
    tally.add(-1.0, [1.0])
    tally.add(0.5, [0.5, -1.0])  # the best score shared
    assert (tally.wins, tally.draws, tally.losses, tally.games) == (1, 2, 1, 4)
    assert tally.points == 0.5
    assert tally.mean == pytest.approx(0.125)
    low, high = tally.mean_interval
    assert low < 0.125 < high and low + high == pytest.approx(0.25)
