"""Matches: who sits where, what is counted, and that a seed repeats it all."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

import commands
from meijin.agents.catalogue import agents
from meijin.arena.match import MatchResult, match
from meijin.arena.openings import OPENING_PLIES
from meijin.arena.record import GameRecord, Task
from meijin.arena.stats import Tally, wilson
from meijin.arena.store import Store
from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, MeijinError, UnknownName
from meijin.core.game import Game
from meijin.core.opening import opening
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.core.statistics import Sprt

NIM = "nim(heaps=(3, 3, 2), players=3)"


class Lowest(Agent):
    """Plays the first legal move; with `last`, the last one."""

    deterministic = True

    def __init__(self, last: bool = False):
        self.last = last

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        moves = state.legal_moves[::-1] if self.last else state.legal_moves
        yield Analysis(state.turn, tuple(MoveInfo(move) for move in moves))


class Broken(Lowest):
    """Fails at its first move."""

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        raise ArithmeticError("no idea")


class Fussy(Lowest):
    """Plays games without chance only."""

    def unfit(self, game: Game) -> str | None:
        return "it knows no chance" if game.chance else None


@pytest.fixture(autouse=True)
def _registered() -> None:
    agents.register("test_lowest", Lowest)
    agents.register("test_fussy", Fussy)
    agents.register("test_broken", Broken)


def played(*args: object, **kwargs: object) -> tuple[MatchResult, list[State]]:
    records: list[GameRecord] = []
    result = match(*args, **kwargs, on_game=records.append)  # type: ignore[arg-type]
    return result, [final(record) for record in records]


def final(record: GameRecord) -> State:
    """The position a game ended in, which must be what the record says."""
    state = State(make(record.task.game)).play_line(record.moves)
    assert state.is_over and state.scores == record.scores and record.ending == "rules"
    return state


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
        assert tally.share > 0.40
    first, *others = (standing.total.share for standing in result.standings)
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


# ---- more than counting ----


def test_workers_come_to_the_same() -> None:
    def run(workers: int) -> tuple[list[tuple[object, ...]], object]:
        records: list[GameRecord] = []
        names = ["mcts(simulations=20)", "random"]
        result = match("connect_four", names, 12, 4, on_game=records.append, workers=workers, plies=2)
        return [(record.task, record.moves, record.scores) for record in records], tallies(result)

    assert run(0) == run(2)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_match_that_is_stopped_keeps_the_games_that_ended(workers: int) -> None:
    ended: list[GameRecord] = []
    result = match(
        "tic_tac_toe", ["random", "random"], 100_000, on_game=ended.append, workers=workers,
        stopping=lambda: len(ended) >= 3,
    )  # fmt: skip
    assert 3 <= result.games == len(ended) < 100_000
    assert all(record.ending == "rules" for record in ended)


def test_games_without_the_first_of_their_opening_are_no_pair() -> None:
    begun: list[MatchResult] = []
    records: list[GameRecord] = []
    whole = match(
        "tic_tac_toe", ["mcts(simulations=20)", "random"], 6, on_game=records.append,
        on_begin=lambda result: begun.append(deepcopy(result)),
    )  # fmt: skip
    (part,) = begun
    for record in records[1:]:
        part.add(record)
    assert part.games == 5 and part.pairs == [whole.pairs[0][1:], *whole.pairs[1:]] and part.elo is not None


def test_every_rotation_plays_the_same_opening_with_the_same_dice() -> None:
    records: list[GameRecord] = []
    match("einstein", ["random", "random"], 8, 3, on_game=records.append, openings="random(plies=2)")
    for one, other in zip(records[::2], records[1::2], strict=True):
        assert one.task.opening == other.task.opening and one.task.seed == other.task.seed
        assert one.moves != other.moves  # but the agents draw numbers of their own
    assert len({record.task.opening for record in records}) == 4


def test_openings_by_expression(tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("b2 a3\na3 b2\n")
    result, states = played("tic_tac_toe", ["random", "random"], 6, openings=f'file("{file}")')
    assert [state.text.split()[1:3] for state in states[::2]] == [["b2", "a3"], ["a3", "b2"], ["b2", "a3"]]
    assert result.openings == f'file("{file}")'
    with pytest.raises(BadParameter, match="plies = 2 and openings = none: give only one of them"):
        match("tic_tac_toe", ["random", "random"], 1, plies=2, openings="none")


def test_a_sequential_test_ends_a_match() -> None:
    test = Sprt(0, 100)
    names = ["mcts(simulations=100)", "random"]
    result = match("tic_tac_toe", names, 1000, 1, sprt=test)
    assert result.sprt is not None and result.sprt.decision == "H1" and result.games < 200
    assert result.games == 2 * result.sprt.pairs
    again = match("tic_tac_toe", names, 1000, 1, sprt=test, workers=2)
    assert again.sprt == result.sprt and tallies(again) == tallies(result)  # however many play at once
    few = match("tic_tac_toe", names, 3, 1, sprt=test).sprt
    assert few is not None and few.decision is None and few.pairs == 1
    with pytest.raises(BadParameter, match="a sequential test needs a game of two seats, but 2048 has 1"):
        match("2048", ["random"], 1, sprt=test)


def test_elo_of_two_agents_only() -> None:
    result = match("tic_tac_toe", ["mcts(simulations=100)", "random"], 40, 1)
    assert result.elo is not None and result.elo.interval[0] > 100 and result.elo.superiority > 0.999
    assert sum(map(sum, result.pairs)) == result.standings[0].total.share * 40
    assert match(NIM, ["random"] * 3, 3).elo is None


def test_forfeits_are_counted_and_named() -> None:
    result = match("tic_tac_toe", ["test_broken", "random"], 6, 1)
    broken, other = result.standings
    assert (broken.forfeits, other.forfeits) == (6, 0)
    assert (broken.total.losses, other.total.wins) == (6, 6)
    assert result.forfeits == {"test_broken: failed with ArithmeticError: no idea": 6}
    assert result.endings == {"forfeit": 6}


def test_limits_are_for_all_or_for_each() -> None:
    tasks: list[Task] = []
    limits = [Limit(simulations=5), Limit(simulations=6)]
    names = ["mcts", "mcts"]
    match("tic_tac_toe", names, 2, limit=limits, on_game=lambda record: tasks.append(record.task))
    assert [task.limits for task in tasks] == [tuple(limits), tuple(limits[::-1])]
    with pytest.raises(BadParameter, match="1 limits for 2 agents"):
        match("tic_tac_toe", names, 2, limit=limits[:1])


def test_a_game_without_a_name_is_played_here() -> None:
    game = make("tic_tac_toe").changed(name="game", id="")
    assert match(game, ["random", "random"], 4).games == 4
    with pytest.raises(BadParameter, match="has no name that worker processes know"):
        match(game, ["random", "random"], 4, workers=1)


# ---- the command ----


def command(*args: str) -> Any:
    return commands.run("match", *args)


def test_the_command_names_forfeits_and_keeps_its_output_clean() -> None:
    hostile = str(Path(__file__).with_name("hostile.py"))
    args = ["tic_tac_toe", 'h_end("exit")', "h_print", "--games", "4", "--load", hostile, "--move-timeout", "20"]
    shown = command(*args)
    result = json.loads(command(*args, "--json").stdout)
    assert shown.exit_code == 0 and "garbage" not in shown.stdout
    assert '4 games forfeited by h_end("exit"): ended its process (exit status 3)' in shown.stdout
    assert result["forfeits"] == {'h_end("exit"): ended its process (exit status 3)': 4}
    assert [agent["forfeits"] for agent in result["agents"]] == [4, 0]
    assert result["endings"] == {"forfeit": 4}


def test_the_command_with_everything(tmp_path: Path) -> None:
    db = tmp_path / "games.db"
    args = ["connect_four", "mcts(simulations=30)", "random", "--games", "100", "--workers", "1", "--seed", "2"]
    args += ["--openings", "all(depth=1)", "--sprt", "0", "100", "--judge", "cap(60, score=True)", "--agree", "0.99"]
    args += ["--db", str(db), "--event", "trial", "--notes", "analyses"]
    shown = command(*args)
    assert shown.exit_code == 0, shown.output
    for said in ("openings all(depth=1)", "Elo", "95 % interval", "H1 accepted", "as yellow"):
        assert said in shown.stdout
    with Store(db) as store:
        records = list(store.games(event="trial"))
    assert 4 <= len(records) < 100 and [record.task.number for record in records] == list(range(len(records)))
    assert all(record.notes and record.notes[1].analysis for record in records)


def test_what_can_be_known_before_the_first_game_is_said_then(tmp_path: Path) -> None:
    """Another match under the same event, and an agent that cannot be made; the same match may be taken up again."""
    stored = ("--db", str(tmp_path / "games.db"), "--event", "trial", "--workers", "0")
    pair = ("tic_tac_toe", "random", "random(seed=1)")
    assert command(*pair, "--games", "2", *stored).exit_code == 0
    assert command(*pair, "--games", "4", *stored).exit_code == 0
    for other in (("tic_tac_toe", "random", "random"), ("nim", "random", "random(seed=1)"), (*pair, "--seed", "1")):
        assert "event 'trial' of" in command(*other, *stored).stderr
    with Store(tmp_path / "games.db") as store:
        assert store.count() == 4

    @agents.register("h_unmade")
    def unmade() -> Agent:
        raise FileNotFoundError("no such net")

    result = command("tic_tac_toe", "random", "h_unmade")
    assert result.exit_code == 2 and result.stderr == "error: cannot make h_unmade: FileNotFoundError: no such net\n"


def test_wrong_options_of_the_command(tmp_path: Path) -> None:
    pair = ("tic_tac_toe", "random", "random")
    for options, message in (
        (("--openings", "none", "--opening-plies", "2"), "give only one of them"),
        (("--event", "x"), "name one with --db"),
        (("--sprt", "5", "0"), "elo0 must be below elo1"),
        (("--judge", "capp(3)"), "did you mean 'cap'"),
        (("--cap", "0"), "must be at least 1"),
        (("--cap", "9" * 77), "does not fit into 64 bits"),
        (("--agree", "nan"), "agree: threshold: nan is not a finite number"),
        (("--agree", "1e999"), "agree: threshold: inf is not a finite number"),
        (("--move-timeout", "0"), "move_timeout = 0.0: must be above 0"),
        (("--move-timeout", "inf"), "inf is not a finite number"),
        (("--patience", "5"), "--patience is now called --move-timeout"),
        (("--opening-plies", "-1"), "plies = -1: must be at least 0"),
        (("--opening-plies", "9" * 400), "does not fit into 64 bits"),
        (("--openings", f"all(depth={'9' * 77})"), "does not fit into 64 bits"),
        (("--openings", f"balanced(margin={'9' * 400})"), "does not fit into 64 bits"),
        (("--games", "0"), "games = 0: must be at least 1"),
        (("--seconds", "nan"), "seconds=nan"),
        (("--workers", "-1"), "must be a number of processes"),
        (("--openings", 'file("none.txt")'), "cannot read 'none.txt'"),
        (("--db", str(tmp_path / "no" / "games.db")), "games.db"),
    ):
        shown = command(*pair, *options)
        assert shown.exit_code == 2 and message in shown.stderr, (options, shown.output)
        assert shown.stdout == ""


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
        with pytest.raises(BadParameter, match=f"games = {games}: must be at least 1"):
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
    assert math.isnan(tally.share) and math.isnan(tally.mean) and wilson(tally.share, 0) == (0.0, 1.0)
    tally.add(1.0, [-1.0])
    tally.add(0.0, [0.0])
    tally.add(-1.0, [1.0])
    tally.add(0.5, [0.5, -1.0])  # the best score shared
    assert (tally.wins, tally.draws, tally.losses, tally.games) == (1, 2, 1, 4)
    assert tally.share == 0.5
    assert tally.mean == pytest.approx(0.125)
    low, high = tally.mean_interval
    assert low < 0.125 < high and low + high == pytest.approx(0.25)
