"""A match: the same agents play many games with rotated seats.

result = match("connect_four", ["mcts(simulations=200)", "mcts(simulations=100)"], 400, workers=2)
result.standings[0].total.points, result.elo
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field

from meijin.arena.judges import PlayRules
from meijin.arena.openings import Openings, openings, usual
from meijin.arena.play import enter
from meijin.arena.pool import Stopping, never, play_tasks
from meijin.arena.record import GameRecord, Task, derive
from meijin.arena.stats import EloDifference, Tally, elo_difference, result
from meijin.core.agent import Limit
from meijin.core.catalogue import game_of
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.statistics import Sprt, SprtProgress, pentanomial

PAIR = 2


@dataclass(slots=True)
class MatchStanding:
    """The results of one agent, in all and by seat."""

    name: str
    total: Tally
    seats: tuple[Tally, ...]
    forfeits: int = 0  # of its losses


@dataclass(slots=True)
class MatchResult:
    """The results of a match so far."""

    game: Game
    standings: tuple[MatchStanding, ...]
    openings: str  # the expression of their source
    games: int = 0  # in a game for one: by each agent
    plies: int = 0
    endings: Counter[str] = field(default_factory=Counter)  # how games ended, see `record.ENDINGS`
    forfeits: Counter[str] = field(default_factory=Counter)  # agent and reason -> number of games
    by_opening: dict[int, list[float]] = field(default_factory=dict)  # the first of two agents: its results
    sprt: SprtProgress | None = None

    @property
    def pairs(self) -> list[list[float]]:
        """The results of the first of two agents, by opening."""
        return list(self.by_opening.values())

    @property
    def elo(self) -> EloDifference | None:
        """How much stronger the first agent is than the second; None unless there are two seats."""
        return elo_difference(self.pairs) if self.by_opening else None

    def add(self, record: GameRecord) -> None:
        """Count a game."""
        self.endings[record.ending] += 1
        self.plies += record.plies
        order = seating(self.game, len(self.standings), record.task.number)
        for seat, player in enumerate(order):
            standing = self.standings[player]
            others = [score for k, score in enumerate(record.scores) if k != seat]
            for tally in (standing.total, standing.seats[seat]):
                tally.add(record.scores[seat], others)
            if record.forfeit == seat:
                standing.forfeits += 1
                self.forfeits[record.reason] += 1
        self.games = max(standing.total.games for standing in self.standings)
        if self.game.seats == PAIR:
            mine = order.index(0)
            pair = self.by_opening.setdefault(record.task.number // PAIR, [])
            pair.append(result(record.scores[mine], [record.scores[1 - mine]]))


def seating(game: Game, players: int, number: int) -> tuple[int, ...]:
    """[seat] -> player in game `number` of a match. In a game for one, the players take turns."""
    turn = number % players
    return (turn,) if game.seats == 1 else tuple((seat + turn) % players for seat in range(game.seats))


def match_tasks(
    game: Game,
    names: Sequence[str],
    games: int,
    seed: int = 0,
    limits: Sequence[Limit] = (),
    source: Openings | None = None,
    event: str = "",
) -> Iterator[Task]:
    """The games of a match: every rotation of the seats plays an opening, with equal luck, before the next one."""
    source = source or openings("none")
    line: tuple[int, ...] = ()
    for number in range(games * len(names) if game.seats == 1 else games):
        table, turn = divmod(number, len(names))
        if turn == 0:
            line = source.line(game, table, seed)
        order = seating(game, len(names), number)
        yield Task(
            game=str(game),
            agents=tuple(names[player] for player in order),
            opening=line,
            seed=derive(seed, table),
            limits=tuple(limits[player] for player in order) if limits else (),
            event=event,
            number=number,
        )


def match(
    game: Game | str,
    names: Sequence[str],
    games: int,
    seed: int = 0,
    limit: Limit | Sequence[Limit] = Limit(),  # noqa: B008 - frozen
    plies: int | None = None,
    on_game: Callable[[GameRecord], None] = lambda record: None,
    *,
    openings: str | Openings | None = None,
    workers: int | None = 0,
    rules: PlayRules = PlayRules(),  # noqa: B008
    sprt: Sprt | None = None,
    event: str = "",
    ray: str | None = None,
    warn: Callable[[str], None] = lambda text: None,
    stopping: Stopping = never,
    on_begin: Callable[[MatchResult], None] = lambda result: None,
) -> MatchResult:
    """Play `games` games between agents given by expressions; in a game for one, `games` by each agent.

    `limit`: for all agents, or one for each. `openings`: see `arena.openings`; `plies=4` is short for
    "random(plies=4)". The default is the start position, or random plies if all games would be the same otherwise.
    `workers`: processes that play; 0 is this process, which an agent that hangs blocks. `rules`: what ends games early,
    and how long a move may take. `sprt`: stop as soon as the test of the first agent against the second decides.
    With `ray`, the address of a Ray cluster, games are played there, on all its cores or at most `workers` of them, and
    `warn` gets what goes wrong and is survived. Once `stopping` answers true, the match ends with the games that have.
    `on_begin` gets the result before the first game; to it, each game is added as it ends.
    Equal arguments give equal games, whatever the number of workers, unless a clock decides.
    """
    game = game_of(game)
    limits = _limits(limit, len(names))
    if games < 1:
        raise BadParameter(f"games = {games}: must be at least 1")
    if game.seats > 1 and len(names) != game.seats:
        raise BadParameter(f"{game} has {game.seats} seats; name that many agents, not {len(names)}")
    if not names:
        raise BadParameter("name at least one agent")
    if sprt is not None and game.seats != PAIR:
        raise BadParameter(f"a sequential test needs a game of two seats, but {game} has {game.seats}")
    if (workers or ray is not None) and not game.id:
        raise BadParameter(
            f"{game} has no name that worker processes know; decorate the function that makes it with @game"
        )
    rules.check(game)
    players = [enter(name, game, seed) for name in names]  # finds mistakes before the first game
    source = _source(openings, plies) or usual(game, players)
    found = MatchResult(
        game,
        tuple(MatchStanding(p.name, Tally(), tuple(Tally() for _ in range(game.seats))) for p in players),
        source.name,
    )
    on_begin(found)
    tasks = match_tasks(game, [p.name for p in players], games, seed, limits, source, event)
    with ExitStack() as stack:
        if ray is not None:
            from meijin.arena.ray_pool import RayPool

            pool = RayPool(
                ray, rules, agents=[p.name for p in players], most=workers or None, warn=warn, stopping=stopping
            )
            played = stack.enter_context(pool).play(tasks, ordered=True)
        else:
            here = game if workers == 0 else None
            played = play_tasks(tasks, workers=workers or 0, rules=rules, ordered=True, game=here, stopping=stopping)
        for record in stack.enter_context(closing(played)):
            found.add(record)
            on_game(record)
            if sprt is not None and len(found.pairs[-1]) == PAIR:
                found.sprt = sprt.judge(pentanomial(found.pairs))
                if found.sprt.decision:
                    break
    return found


def _limits(limit: Limit | Sequence[Limit], players: int) -> tuple[Limit, ...]:
    if isinstance(limit, Limit):
        return (limit,) * players if limit != Limit() else ()
    if len(limit) != players:
        raise BadParameter(f"{len(limit)} limits for {players} agents; give one for all, or one for each")
    return tuple(limit)


def _source(named: str | Openings | None, plies: int | None) -> Openings | None:
    if plies is None:
        return openings(named) if isinstance(named, str) else named
    if named is not None:
        raise BadParameter(f"plies = {plies} and openings = {named}: give only one of them")
    return openings(f"random(plies={plies})" if plies else "none")
