"""The hall of fame: ratings that last, and that no tournament enters twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from meijin.arena.fame import Fame, data_folder
from meijin.arena.plan import parse_plan
from meijin.arena.ratings import Glicko, outcomes, rating_period
from meijin.arena.store import Store
from meijin.arena.tournament import Tournament
from meijin.core.errors import MeijinError, UnknownName

PLAN = """
[tournament]
name = "{name}"
games = ["nim", "tic_tac_toe"]
rounds = {rounds}
seed = {seed}
[[agents]]
name = "a"
expression = "random"
[[agents]]
name = "b"
expression = "{expression}"
[[agents]]
name = "c"
expression = "random"
"""


def played(folder: Path, name: str = "cup", rounds: int = 2, seed: int = 0, expression: str = "random") -> Tournament:
    plan = parse_plan(PLAN.format(name=name, rounds=rounds, seed=seed, expression=expression))
    tournament = Tournament(plan, Store(folder / f"{name}.db"))
    tournament.run(workers=0)
    return tournament


def test_a_tournament_is_one_rating_period_and_enters_once(tmp_path: Path) -> None:
    cup = played(tmp_path)
    with Fame(tmp_path / "fame.db") as fame:
        assert fame.places() == []
        assert fame.add(cup) == ["nim", "tic_tac_toe"]
        places = fame.places("nim")
        expected = rating_period({}, outcomes([(agents, scores) for _, agents, scores in cup.tables()[0].contests]))
        assert {place.name: place.rating for place in places} == expected
        assert [place.rating.rating for place in places] == sorted((p.rating.rating for p in places), reverse=True)
        assert {(place.games, place.tournaments) for place in places} == {(8, 1)}
        assert fame.add(cup) == []  # idempotent
        assert fame.places("nim") == places
    with Fame(tmp_path / "fame.db") as again:  # and it lasts
        assert again.places("nim") == places


def test_ratings_go_on_from_tournament_to_tournament(tmp_path: Path) -> None:
    first, second = played(tmp_path, "first"), played(tmp_path, "second", seed=1)
    with Fame(tmp_path / "fame.db") as fame:
        fame.add(first)
        one = fame.places("nim")
        fame.add(second)
        two = fame.places("nim")
        assert fame.tournaments() == ["first", "second"]
        assert {place.tournaments for place in two} == {2}
        # Known better than after one tournament.
        assert max(p.rating.deviation for p in two) < max(p.rating.deviation for p in one)
        periods = [period for period in fame.history("a") if period.game == "nim"]
        assert [period.tournament for period in periods] == ["first", "second"]
        assert periods[-1].rating == next(place.rating for place in two if place.name == "a")
        assert fame.remove("second") == "tournament"
        assert fame.places("nim") == one  # as if it had never been


def test_a_prolonged_tournament_takes_its_old_place(tmp_path: Path) -> None:
    with Fame(tmp_path / "fame.db") as fame:
        fame.add(played(tmp_path, rounds=1))
        assert {place.games for place in fame.places("nim")} == {4}
        assert fame.add(played(tmp_path, rounds=3)) == ["nim", "tic_tac_toe"]
        assert {(place.games, place.tournaments) for place in fame.places("nim")} == {(12, 1)}


def test_an_agent_can_be_taken_out(tmp_path: Path) -> None:
    with Fame(tmp_path / "fame.db") as fame:
        fame.add(played(tmp_path))
        assert fame.remove("b") == "agent"
        assert {place.name for place in fame.places()} == {"a", "c"}
        assert all(place.rating != Glicko() for place in fame.places("nim"))
        fame.remove("cup")
        assert fame.places() == []


def test_what_does_not_belong_is_refused(tmp_path: Path) -> None:
    with Fame(tmp_path / "fame.db") as fame:
        fame.add(played(tmp_path))
        before = fame.places()
        with pytest.raises(MeijinError, match=r"knows 'b' as random, but in this tournament it is mc\(simulations=2\)"):
            fame.add(played(tmp_path, "other", expression="mc(simulations=2)"))
        plan = parse_plan(PLAN.format(name="open", rounds=2, seed=0, expression="random"))
        with pytest.raises(MeijinError, match="has 0 of 24 games; finish it first"):
            fame.add(Tournament(plan, Store(tmp_path / "open.db")))
        for unknown in (lambda: fame.remove("cap"), lambda: fame.history("cap"), lambda: fame.places("nimm")):
            with pytest.raises(UnknownName, match="did you mean"):
                unknown()
        assert fame.places() == before


def test_the_hall_lies_in_the_users_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEIJIN_DATA", str(tmp_path / "mine"))
    with Fame() as fame:
        assert fame.path == tmp_path / "mine" / "fame.db"
    monkeypatch.delenv("MEIJIN_DATA")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    assert data_folder() == tmp_path / "share" / "meijin"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert data_folder() == tmp_path / ".local" / "share" / "meijin"
