"""Evaluators: they measure what they say, know what fits, and training can stop by them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import commands
from meijin.agents.catalogue import agents, build
from meijin.arena import evaluators as module
from meijin.arena.evaluators import (
    EvaluationJob,
    EvaluationResult,
    Goal,
    evaluate,
    evaluator,
    evaluators,
    evaluators_for,
)
from meijin.arena.labelled_positions import random_position, read_positions
from meijin.arena.stats import wilson
from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.catalogue import games, make
from meijin.core.errors import BadParameter, MeijinError, UnknownName
from meijin.core.state import State

NIM = "nim(heaps=(3, 3, 2), players=3)"


class Last(Agent):
    """Plays the last legal move, and counts how often it was asked and with what limit."""

    deterministic = True
    measures = ("seconds", "simulations", "depth")
    asked = 0
    limits: set[Limit] = set()  # noqa: RUF012 - shared on purpose: agents are made anew for every game

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        Last.asked += 1
        Last.limits.add(limit)
        yield Analysis(state.turn, tuple(MoveInfo(move) for move in state.legal_moves[::-1]))


class Failing(Last):
    """Raises, or answers what is no move."""

    def __init__(self, says: str = ""):
        self.says = says

    def act(self, state: State, limit: Limit = Limit()) -> int:  # type: ignore[override]  # noqa: B008
        if self.says:
            return self.says  # type: ignore[return-value]
        raise ValueError("two\nlines")


@pytest.fixture(autouse=True)
def _registered() -> None:
    agents.register("test_last", Last)
    agents.register("test_failing", Failing)
    Last.asked, Last.limits = 0, set()


# ---- games against others ----


def test_perfect_play_is_measured_as_such() -> None:
    found = evaluate("tic_tac_toe", "perfect", "vs(random, games=40, goal=0.8)")
    assert found.details["losses"] == 0 and found.games == 40 == sum(found.details[k] for k in ("wins", "draws"))
    assert found.value == (found.details["wins"] + found.details["draws"] / 2) / 40
    assert found.interval[0] <= found.value <= found.interval[1]
    assert found.reached is True and found.goal == 0.8
    even = evaluate("tic_tac_toe", "perfect", "vs(perfect, games=10)")
    assert even.value == 0.5 and even.details["openings"] == "random(plies=4)" and even.reached is None
    assert (found.name, found.game, found.agent) == ("vs(random, games=40, goal=0.8)", "tic_tac_toe", "perfect")


def test_every_seat_is_played_equally_often() -> None:
    """Also where the number of games asked for does not divide, and against several at once."""
    found = evaluate(NIM, "random", "vs(random, games=100)")
    assert found.games == 102
    assert found.details["wins"] + found.details["draws"] + found.details["losses"] == 102
    assert len(found.details["seats"]) == 3
    alone = evaluate("connect_four", "random", "vs(random, games=5, openings=random(plies=3))")
    assert alone.games == 6 and alone.details["openings"] == "random(plies=3)"


def test_an_evaluation_is_repeated_by_its_seed() -> None:
    one, other, third = (
        evaluate("connect_four", "mcts(simulations=20)", "vs(random, games=20)", seed=seed) for seed in (1, 1, 2)
    )
    assert one.details == other.details != third.details


def test_the_limit_is_that_of_the_agent_alone() -> None:
    evaluate("tic_tac_toe", "test_last", "vs(random, games=2)", limit=Limit(simulations=7))
    assert Last.limits == {Limit(simulations=7)}
    Last.limits.clear()
    evaluate("tic_tac_toe", "random", "vs(test_last, games=2)", limit=Limit(simulations=7))
    assert Last.limits == {Limit()}


def test_all_starts_are_played_from_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    found = evaluate("tic_tac_toe", "perfect", "starts(2)")
    assert found.details["opponent"] == "perfect"
    assert found.games == 2 * 72 == 2 * found.details["positions"]
    assert found.value == 0.5  # what one side wins of a start, it loses from the other
    few = evaluate("tic_tac_toe", "perfect", "starts(2, random, games=10)")
    assert few.games == 10 and few.details["opponent"] == "random"
    # Where no solver knows the game, the opponent is a search.
    assert (
        evaluate("breakthrough(rows=5, columns=3)", "random", "starts(1, games=2)")
        .details["opponent"]
        .startswith("mcts")
    )
    monkeypatch.setattr(module, "MAX_STARTS", 400)
    with pytest.raises(BadParameter, match="238 positions of connect_four make 476 games; choose fewer plies"):
        evaluate("connect_four", "random", "starts(3)")


def test_an_agent_at_hand_is_evaluated_like_a_named_one() -> None:
    """As training does with a net that is not on disk. It keeps its name and leaves no trace in the catalogue."""
    agent = build("mcts(simulations=20)")
    before = set(agents.names())
    one = evaluate("connect_four", agent, "vs(random, games=10)", seed=3)
    assert set(agents.names()) == before and agent.name == "mcts(simulations=20)" == one.agent
    assert one.details == evaluate("connect_four", "mcts(simulations=20)", "vs(random, games=10)", seed=3).details


# ---- games for one ----


def test_the_mean_score_has_an_interval() -> None:
    found = evaluate("2048(size=2)", "random", "score(games=50, goal=1e9)")
    assert found.unit == "score" and found.games == 50 and found.reached is False
    assert found.details["lowest"] <= found.interval[0] < found.value < found.interval[1] <= found.details["highest"]


def test_cubes_are_solved_within_the_moves_allowed() -> None:
    game = make("cube")
    one = evaluate(game, "perfect", "solved(1, games=20)")
    assert one.value == 1.0 and one.details["mean_moves"] == 1.0
    six = evaluate(game, "perfect", "solved(6, games=10)")
    assert six.value == 1.0 and six.details["mean_moves"] <= 6
    short = evaluate(game, "perfect", "solved(6, games=10, moves=2)")
    assert short.value < 1 and short.details["solved"] == 10 * short.value
    assert evaluate(game, "random", "solved(8, games=20)").value < 0.5
    with pytest.raises(BadParameter, match="max_moves=21"):
        evaluate(game, "random", "solved(3, moves=21)")


# ---- accuracy ----


def test_perfect_moves_keep_the_value_and_others_are_named() -> None:
    found = evaluate("tic_tac_toe", "perfect", "accuracy(count=30)")
    assert found.value == 1.0 and found.games == 30 and found.details["mistakes"] == []
    blunders = evaluate("tic_tac_toe", "test_last", "accuracy(count=60)")
    assert 0 < blunders.value < 1
    assert sum(by["kept"] for by in blunders.details["by_value"].values()) == blunders.details["kept"]
    assert blunders.interval == wilson(blunders.value, 60)
    first = blunders.details["mistakes"][0]
    state = State(make("tic_tac_toe")).play_line(first["position"])
    perfect = build("perfect", state.game)
    worth = perfect.value(state)[state.turn]
    assert perfect.value(state.copy().play(first["move"]))[state.turn] < worth
    by = blunders.details["by_value"]
    assert by["lost"]["kept"] == by["lost"]["positions"]  # what is lost cannot be thrown away


def test_random_positions_depend_on_the_seed_and_leave_a_choice() -> None:
    game = make("connect_four")
    found = [random_position(game, 5, k, least=6).state for k in range(40)]
    assert found == [random_position(game, 5, k, least=6).state for k in range(40)]
    assert len(set(found)) > 35
    assert all(len(s.legal_moves) > 1 and len(s.history) >= 6 for s in found)
    assert {len(s.history) for s in found} & set(range(6, 12))
    with pytest.raises(MeijinError, match="after 42 plies"):
        random_position(game, 5, 0, least=42)


def test_files_of_positions(tmp_path: Path) -> None:
    path = tmp_path / "positions.txt"
    path.write_text("# threats\na1 b2 a2 = 0  # must answer at a3\n\na1 b1 a2 b2 = 1\na1b2a2 bm a3\na1 b1 a2 b2\n= 0\n")
    game = make("tic_tac_toe")
    listed = read_positions(path, game)
    assert [(len(p.state.history), p.value, p.best) for p in listed] == [
        (3, 0.0, None),
        (4, 1.0, None),
        (3, None, (int(game.find("a3")),)),
        (4, None, None),
        (0, 0.0, None),
    ]
    expression = f"accuracy({str(path)!r})"
    assert evaluate(game, "perfect", expression).value == 1.0
    found = evaluate(game, "test_last", expression)  # c3 is wrong everywhere but at the start
    assert (found.games, found.details["kept"]) == (5, 1)
    assert {m["place"] for m in found.details["mistakes"]} == {f"{path}:{n}" for n in (2, 4, 5, 6)}
    assert evaluate(game, "test_last", f"accuracy({str(path)!r}, count=2)").games == 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a1 a1\n", ":1: 'a1' is not legal here"),
        ("a1\nb1 = win\n", ":2: 'win' is not a value"),
        ("a1 bm a1\n", ":1: 'a1' is not legal"),
        ("a1 b1 a2 b2 a3\n", ":1: the game is over"),
        ("# nothing\n", ": no positions"),
        ("a1 b1 a2 b2 = -1\n", ":1: the label is -1, but the move a3 is worth 1"),
    ],
)
def test_mistakes_in_a_file_are_named_with_their_line(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "positions.txt"
    path.write_text(text)
    with pytest.raises(BadParameter) as caught:
        evaluate("tic_tac_toe", "perfect", f"accuracy({str(path)!r})")
    assert problem in str(caught.value) and str(path) in str(caught.value)


def test_a_file_may_name_the_moves_in_a_game_that_nobody_solves(tmp_path: Path) -> None:
    path = tmp_path / "positions.txt"
    path.write_text("a2a3 bm a7a6 b7b6\n")
    assert evaluate("breakthrough", "test_last", f"accuracy({str(path)!r})").value == 0.0
    path.write_text("a2a3 = 1\n")
    with pytest.raises(BadParameter, match=r"breakthrough is not solved.*'bm'"):
        evaluate("breakthrough", "test_last", f"accuracy({str(path)!r})")
    with pytest.raises(BadParameter, match=r"cannot read.*no/such"):
        evaluate("breakthrough", "test_last", "accuracy('no/such')")


def test_the_sets_of_connect_four_are_understood(tmp_path: Path, test_data: Path) -> None:
    """Columns without spaces and a score, as they come; the labels agree with the solver on every move looked at."""
    sets = test_data / "connect4"
    game = make("connect_four")
    for name in ("end-easy", "middle-easy"):
        listed = read_positions(sets / f"{name}.txt", game)
        assert len(listed) == 1000
        assert {p.value for p in listed} == {-1.0, 0.0, 1.0}
        found = evaluate(game, "perfect", f"accuracy({str(sets / f'{name}.txt')!r}, count=50)")
        assert found.value == 1.0 and found.games == 50
    # The same columns with spaces are a line of moves and no score.
    path = tmp_path / "lines.txt"
    path.write_text("4 4 3\n")
    (only,) = read_positions(path, game)
    assert len(only.state.history) == 3 and only.value is None


# ---- what fits ----


@pytest.mark.parametrize("name", games.names())
def test_every_game_has_evaluators_that_fit(name: str) -> None:
    game = make(name)
    listed = evaluators_for(game)
    assert listed
    for expression in listed:
        assert evaluator(expression).unfit(game) is None
        assert evaluator(expression).name == expression
    assert any(e.startswith(("score", "solved") if game.seats == 1 else "vs(random)") for e in listed)


@pytest.mark.parametrize(
    ("game", "expression", "why"),
    [
        ("2048", "vs(random)", "use `score`"),
        ("2048", "starts(1)", "use `score`"),
        ("othello", "score", "use `vs`"),
        ("othello", "solved(3)", "for the cube"),
        ("breakthrough", "accuracy", "breakthrough is not solved"),
        ("breakthrough", "vs(perfect)", "breakthrough is not solved"),
        ("connect_four", "vs(random, games=0)", "vs: games = 0: must be at least 1"),
        ("connect_four", "vs(3)", "opponent = 3: must be an expression"),
        ("connect_four", "vs(random, goal='high')", "goal = 'high'"),
        ("connect_four", "starts(-1)", "plies = -1: must be at least 0"),
        ("connect_four", "vs(random, openings=nowhere)", "unknown opening source 'nowhere'"),
        ("connect_four", "vs(mtcs)", "did you mean 'mcts'"),
        ("connect_four", "vs()", "'opponent' is missing"),
    ],
)
def test_what_does_not_fit_says_why(game: str, expression: str, why: str) -> None:
    with pytest.raises(MeijinError) as caught:
        evaluate(game, "random", expression)
    assert why in str(caught.value)
    assert Last.asked == 0
    with pytest.raises(UnknownName, match="did you mean 'score'"):
        evaluator("scor")


def test_one_may_write_an_evaluator() -> None:
    class Plies(evaluators.get("score").factory):  # type: ignore[misc]
        """Mean length of a game."""

        def measure(self, trial: EvaluationJob) -> EvaluationResult:
            result = trial.play([trial.agent], 5)
            return EvaluationResult("", str(trial.game), "", result.plies / 5, (0.0, 1e9), 5, "score")

    evaluators.register("test_plies", Plies)
    found = evaluate("2048(size=2)", "random", "test_plies(goal=1)")
    assert found.value > 1 and found.name == "test_plies(goal=1)" and found.reached


# ---- goals ----


def test_a_goal_is_reached_several_times_in_a_row() -> None:
    def at(value: float, goal: float | None = 0.5) -> EvaluationResult:
        return EvaluationResult("e", "g", "a", value, (0.0, 1.0), 10, goal=goal)

    goal = Goal(times=3)
    history = [0.6, 0.5, 0.4, 0.7, 0.7, 0.7]
    assert [goal.update(at(value)) for value in history] == [False] * 5 + [True]
    assert goal.done and goal.streak == 3
    # All that have a goal must reach it, and one that has none does not matter.
    assert not Goal().update(at(0.9), at(0.1))
    assert Goal().update(at(0.9), at(0.1, goal=None))
    assert not Goal().update(at(0.9, goal=None)) and not Goal().update()
    assert Goal(times=3, streak=2).update(at(0.9))  # training went on after an interruption
    with pytest.raises(BadParameter, match="times = 0"):
        Goal(times=0)


# ---- the command ----


def run(*arguments: str, status: int = 0) -> str:
    result = commands.run("evaluate", *arguments, env={"COLUMNS": "160"})
    assert result.exit_code == status, result.output
    return str(result.output)


def test_the_command_runs_what_fits_the_game() -> None:
    text = run("tic_tac_toe", "perfect", "--workers", "0")
    assert all(name in text for name in ("vs(random)", "vs(perfect)", "accuracy", "100.0 %", "50.0 %"))
    found = json.loads(run("2048(size=2)", "random", "--json", "--workers", "0", "--seed", "5"))
    (only,) = found["evaluations"]
    assert found["seed"] == 5 and only["name"] == "score" and only["unit"] == "score" and only["games"] == 100


def test_a_missed_goal_is_the_exit_status() -> None:
    text = run("tic_tac_toe", "random", "vs(perfect, games=10, goal=0.9)", "--workers", "0", status=1)
    assert "90.0 % missed" in text
    assert "5.0 % reached" in run("tic_tac_toe", "random", "vs(random, games=20, goal=0.05)", "--workers", "0")


def test_the_command_lists_what_there_is() -> None:
    text = " ".join(run("connect_four").split())
    assert all(name in text for name in evaluators.names()) and "by default: vs(random)" in text
    assert json.loads(run("cube", "--json"))["default"] == evaluators_for(make("cube"))
    assert "human: only agents can be evaluated" in run("connect_four", "human", status=2)
    assert "does not fit othello" in run("othello", "random", "score", status=2)


def test_a_file_may_bring_its_own_evaluator(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "from meijin.arena.evaluators import EvaluationResult, Evaluator, evaluators\n\n"
        "@evaluators.register('test_always')\n"
        "class Always(Evaluator):\n"
        "    def measure(self, trial):\n"
        "        return EvaluationResult('', str(trial.game), '', 0.25, (0.2, 0.3), 4)\n"
    )
    assert "25.0 %" in run("nim", "random", "test_always", "--load", str(path))


@pytest.mark.parametrize(("game", "by"), [("tic_tac_toe", "accuracy"), ("cube", "solved(3)")])
def test_an_agent_that_fails_is_named(game: str, by: str) -> None:
    with pytest.raises(MeijinError, match=r"^test_failing: failed with ValueError: two lines$"):
        evaluate(game, "test_failing", by)
    with pytest.raises(MeijinError, match=r"^test_failing\(\"no\"\): 'no' is not a move of"):
        evaluate(game, 'test_failing("no")', by)
