"""A tournament: the games of a plan are played and stored, and the stored games become tables.

A game is identified by its number, and its task depends on the plan and, in a Swiss tournament, on the results of
earlier rounds. So a tournament that was interrupted continues with the games that are not stored, and ends with the
same tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from meijin.agents.catalogue import build
from meijin.agents.registrations import load
from meijin.arena.openings import Openings, openings, usual
from meijin.arena.plan import Plan
from meijin.arena.pool import Stopping, WorkerPool, cores, never, play_tasks
from meijin.arena.record import GameRecord, Task, derive, limit_fields
from meijin.arena.report_tables import Summary
from meijin.arena.schedule import Fixture, Schedule
from meijin.arena.standings import PlayedGame, Standings
from meijin.arena.store import Store
from meijin.core import config
from meijin.core.agent import Agent, Limit
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import Game

MAX_GAMES = 100_000_000


class _Start(msgspec.Struct):
    """What is stored with the event when a tournament begins."""

    tournament: str  # digest of the plan
    openings: list[str]  # [game] -> expression
    plan: dict[str, Any] = {}
    text: str = ""


class Tournament:
    """The games of a plan, and those of them that are stored. `run` plays the others."""

    def __init__(self, plan: Plan, store: Store):
        """Check that the plan can be played, and that it is the same as when the tournament began."""
        self.plan, self.store = plan, store
        for file in plan.load:
            load(file)
        self.names = tuple(agent.name for agent in plan.agents)
        challengers = tuple(k for k, agent in enumerate(plan.agents) if agent.challenger)
        self.games: list[Game] = []
        self.schedules: list[Schedule] = []
        for k, expression in enumerate(plan.games):
            game = make(expression)
            seed = derive(plan.seed, k)
            try:
                schedule = Schedule(
                    plan.kind, len(plan.agents), game.seats, seed, plan.repeats, challengers, plan.seatings, plan.tables
                )
            except BadParameter as error:
                raise BadParameter(f"{game}: {error}") from None
            plan.rules.check(game)
            self.games.append(game)
            self.schedules.append(schedule)
        if self.total > MAX_GAMES:
            raise BadParameter(f"{self.total:,} games; at most {MAX_GAMES:,} are possible")
        self.sources = self._recall()  # [game] -> its openings
        self._lines: dict[tuple[int, int], tuple[int, ...]] = {}  # (game, number) -> opening

    # ---- the start ----

    def _recall(self) -> list[Openings]:
        """Store the plan with the event, or compare it with the one stored before; returns the openings by game."""
        found: Any = self.store.meta(self.plan.name)
        if found is None:
            if self.store.count(event=self.plan.name):
                raise MeijinError(
                    f"'{self.store.path}' has an event '{self.plan.name}' that is not a tournament; "
                    "give the tournament another name or another database"
                )
            sources = [self._source(game) for game in self.games]
            mine = {"tournament": self.plan.digest, "plan": self.plan.essence, "text": self.plan.text}
            self.store.set_meta(self.plan.name, {**mine, "openings": [source.name for source in sources]})
            return sources
        try:
            start = msgspec.convert(found, _Start)
        except msgspec.ValidationError as error:
            raise MeijinError(f"'{self.store.path}': event '{self.plan.name}' is not a tournament ({error})") from None
        if start.tournament != self.plan.digest:
            changed = _changes(start.plan, self.plan.essence)
            raise MeijinError(
                f"the plan of '{self.plan.name}' has changed since its first game: {'; '.join(changed) or 'its form'}. "
                "Undo the change to continue; or give the tournament a new name, or delete "
                f"'{self.store.path}', to start again"
            )
        most = max(self.store.finished(self.plan.name), default=-1)
        if most >= self.total:
            raise MeijinError(
                f"rounds = {self.plan.rounds}, but round {most // self.games_a_round + 1} of '{self.plan.name}' has "
                "begun; rounds can be added, but not removed"
            )
        return [openings(name) for name in start.openings]

    def _source(self, game: Game) -> Openings:
        """The openings of the plan, or else random plies if games between deterministic agents would be the same."""
        made = self._built(game)
        if self.plan.openings:
            source = openings(self.plan.openings)
        else:
            repeating = [agent for agent in made if agent.deterministic]
            source = usual(game, repeating if len(repeating) >= game.seats else made)
        source.line(game, 0, 0)  # raises if it has none for this game
        return source

    def _built(self, game: Game) -> list[Agent]:
        """The agents; one that cannot play the game is an error that names it."""
        made: list[Agent] = []
        for agent in self.plan.agents:
            try:
                made.append(build(agent.expression, game))
            except MeijinError as error:
                raise type(error)(f"agent '{agent.name}': {error}") from None
            except Exception:  # it will forfeit its games
                continue
        return made

    # ---- numbers ----

    @property
    def games_a_round(self) -> int:
        return sum(schedule.games_a_round for schedule in self.schedules)

    @property
    def adaptive(self) -> bool:
        """Whether the games of a round depend on earlier results."""
        return any(schedule.adaptive for schedule in self.schedules)

    @property
    def total(self) -> int:
        """Games of the whole tournament."""
        return self.plan.rounds * self.games_a_round

    @property
    def played(self) -> int:
        return len(self.store.finished(self.plan.name))

    def _number(self, k: int, fixture: Fixture) -> int:
        """The number of a fixture of game k in the tournament: round by round, in each round game by game."""
        before = sum(schedule.games_a_round for schedule in self.schedules[:k])
        place = fixture.number - fixture.round * self.schedules[k].games_a_round
        return fixture.round * self.games_a_round + before + place

    # ---- tasks ----

    def _opening(self, k: int, number: int) -> tuple[int, ...]:
        if (k, number) not in self._lines:
            seed = derive(~self.schedules[k].seed, 0)
            self._lines[k, number] = self.sources[k].line(self.games[k], number, seed)
        return self._lines[k, number]

    def _task(self, k: int, fixture: Fixture) -> Task:
        seated = [self.plan.agents[agent] for agent in fixture.agents]
        limits = tuple(self.plan.limit_of(agent) for agent in seated)
        return Task(
            game=self.games[k].id,
            agents=tuple(agent.expression for agent in seated),
            opening=self._opening(k, fixture.opening),
            seed=fixture.seed,
            limits=limits if any(limit != Limit() for limit in limits) else (),
            event=self.plan.name,
            number=self._number(k, fixture),
            round=fixture.round,
        )

    def _fixtures(self, rounds: Iterable[int], results: list[list[PlayedGame]]) -> Iterator[tuple[int, Fixture]]:
        """(game, fixture) of some rounds, in the order of their numbers."""
        for number in rounds:
            for k, schedule in enumerate(self.schedules):
                known = [(game.fixture, game.scores) for game in results[k]] if results else []
                yield from ((k, fixture) for fixture in schedule.round(number, known))

    # ---- playing ----

    def run(
        self,
        workers: int | None = None,
        on_game: Callable[[GameRecord], None] = lambda record: None,
        *,
        ray: str | None = None,
        warn: Callable[[str], None] = lambda text: None,
        stopping: Stopping = never,
    ) -> None:
        """Play the games that are not stored yet, until `stopping`; each is stored as soon as it ends.

        With `ray`, the address of a Ray cluster, they are played there, on all its cores or at most `workers` of them;
        `warn` gets what goes wrong and is survived.
        """
        for game in self.games:
            self._built(game)  # an agent's files may be missing when a tournament is resumed
        if ray is not None:
            from meijin.arena.ray_pool import RayPool

            agents = [agent.expression for agent in self.plan.agents]
            with RayPool(ray, self.plan.rules, agents=agents, most=workers, warn=warn, stopping=stopping) as cluster:
                self._run(cluster.play, on_game, stopping)
            return
        workers = self.plan.workers if workers is None else workers
        workers = cores() if workers is None else workers
        if workers == 0:
            self._run(lambda tasks: play_tasks(tasks, rules=self.plan.rules, stopping=stopping), on_game, stopping)
            return
        with WorkerPool(workers, self.plan.rules, stopping) as pool:  # the workers stay from round to round
            self._run(pool.play, on_game, stopping)

    def _run(
        self,
        play: Callable[[Iterable[Task]], Iterator[GameRecord]],
        on_game: Callable[[GameRecord], None],
        stopping: Stopping,
    ) -> None:
        everything = range(self.plan.rounds)
        for rounds in [range(number, number + 1) for number in everything] if self.adaptive else [everything]:
            if stopping():
                return
            results = self._results(before=rounds[0]) if self.adaptive else []
            finished = self.store.finished(self.plan.name)
            tasks = (
                self._task(k, fixture)
                for k, fixture in self._fixtures(rounds, results)
                if self._number(k, fixture) not in finished
            )
            for record in play(tasks):
                self.store.add([record])
                on_game(record)

    # ---- results ----

    def _results(self, before: int | None = None) -> list[list[PlayedGame]]:
        """[game] -> its stored games, by number; only those of earlier rounds if `before` is given."""
        rows = {row.number: row for row in self.store.results(self.plan.name)}
        results: list[list[PlayedGame]] = [[] for _ in self.games]
        for number in range(self.plan.rounds if before is None else before):
            round_: list[list[PlayedGame]] = [[] for _ in self.games]
            for k, fixture in self._fixtures([number], results if self.adaptive else []):
                at = self._number(k, fixture)
                if at in rows:
                    row = rows[at]
                    round_[k].append(
                        PlayedGame(at, fixture, row.scores, row.ending, row.forfeit, row.reason, row.plies)
                    )
            for k, found in enumerate(round_):
                results[k].extend(found)
            if self.adaptive and sum(map(len, round_)) < self.games_a_round:
                break  # the next round is not known yet
        return results

    def tables(self) -> tuple[Standings, ...]:
        """The standings so far, one table per game."""
        return tuple(
            Standings(
                game.id, game.title, tuple(map(game.seat_name, range(game.seats))), self.names, played,
                self.plan.rounds * schedule.games_a_round, self.plan.anchor,
            )
            for game, schedule, played in zip(self.games, self.schedules, self._results(), strict=True)
        )  # fmt: skip

    def summary(self) -> Summary:
        """The content of the report."""
        plan = self.plan
        about = [
            ("kind", plan.kind.replace("_", " ")),
            ("rounds", f"{plan.rounds:,}"),
            ("games per round", f"{self.games_a_round:,}"),
            ("seed", str(plan.seed)),
            ("openings", "; ".join(dict.fromkeys(_shown_source(source) for source in self.sources))),
        ]
        if plan.judges:
            about.append(("judges", ", ".join(plan.judges)))
        listed = tuple((a.name, _with_limit(a.expression, plan.limit_of(a))) for a in plan.agents)
        return Summary(plan.name, tuple(about), listed, self.tables(), plan.text)


def _shown_source(source: Openings) -> str:
    name = source.name
    return "the start position" if name == "none" else name if len(name) <= 80 else f"{name[:77]}..."


def _with_limit(expression: str, limit: Limit) -> str:
    units = {"seconds": "{:g} s", "simulations": "{:,} simulations", "depth": "depth {}"}
    parts = [units.get(name, f"{name} {{}}").format(value) for name, value in limit_fields(limit).items()]
    return f"{expression} ({', '.join(parts)} per move)" if parts else expression


def _changes(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """What differs between two plans, in words."""

    def agent(fields: list[Any] | None) -> str:
        if fields is None:
            return "absent"
        limit = ", ".join(f"{key} {value}" for key, value in fields[2].items())
        return f"{fields[1]}{f' ({limit})' if limit else ''}{', a challenger' if fields[3] else ''}"

    changed = []
    for key, value in new.items():
        before = old.get(key)
        if key == "agents" and before is not None and before != value:
            was, now = ({fields[0]: fields for fields in listed} for listed in (before, value))
            names = [name for name in {**was, **now} if was.get(name) != now.get(name)]
            each = [f"'{name}' ({agent(was.get(name))} before, now {agent(now.get(name))})" for name in names]
            changed.append(f"agents {', '.join(each)}" if each else "the order of the agents")
        elif before != value:
            changed.append(f"{key} ({config.short(before)} before, now {config.short(value)})")
    return changed


def database_path(plan: Plan, file: str | Path) -> Path:
    """The default database of a tournament: beside its plan."""
    return Path(file).parent / f"{plan.slug}.db"


def report_path(plan: Plan, file: str | Path) -> Path:
    return Path(file).parent / f"{plan.slug}-report"
