"""The plan of a tournament: a TOML file, read strictly, so that a misspelt key is an error and not ignored."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from meijin.arena.judges import Notes, PlayRules, Seconds, play_rules
from meijin.arena.pool import MAX_WORKERS
from meijin.arena.record import limit_fields
from meijin.arena.schedule import Kind, Seating
from meijin.core import config
from meijin.core.agent import Limit
from meijin.core.errors import BadParameter, MeijinError, suggest
from meijin.core.expression import Call, parse

EXAMPLE = """\
# A tournament. Run it with `meijin tournament FILE`; after an interruption the same command continues it.

[tournament]
name = "first cup"              # also names the database and the report; by default the name of this file
kind = "round_robin"            # or "gauntlet", "swiss", "sampled" (random tables, for games of three seats and more)
games = ["connect_four"]        # one or several games: "othello(size=6)", "2048", ...
rounds = 10                     # in each, every pairing plays an opening from both seats; can be increased later
# repeats = 2                   # openings that a pairing plays in one round
# openings = "random(plies=4)"  # or 'file("lines.txt")', "all(depth=3)", 'balanced(6, alphabeta(depth=4))', "none"
# limit = { simulations = 1000 }  # for every agent and move: seconds, simulations, depth
# judges = ["cap(200)", "perfect"]  # what may end a game early
# move_timeout = 60             # seconds after which an agent that has not moved forfeits
# notes = "times"               # what is kept of every move: "none", "times" or "analyses"
# seed = 1                      # another seed gives other games
# workers = 2                   # games at a time; by default as many as there are processor cores
# anchor = "random"             # the agent whose rating is 0; by default the mean rating is 0
# seatings = "all"              # three seats and more: every order of the agents, not only rotations
# tables = 20                   # sampled: tables per round
# load = ["my_agents.py"]       # your own games and agents; beside this file

[[agents]]
name = "random"
expression = "random"

[[agents]]
name = "small search"
expression = "mcts(simulations=50)"

[[agents]]
name = "large search"
expression = "mcts(simulations=500)"
# limit = { seconds = 0.1 }     # its own limit instead of the one above
# challenger = true             # gauntlet: this agent plays all that are not challengers
"""
RENAMED = {"patience": "move_timeout"}

Name = Annotated[str, Meta(min_length=1, max_length=100, pattern=r"\A *[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*\Z")]
Strings = Annotated[tuple[Annotated[str, Meta(pattern=r"\A[^\x00]*\Z")], ...], Meta(max_length=100)]


@dataclass(frozen=True)
class Entrant:
    """An agent of a tournament; its name is by default its expression."""

    expression: str
    name: Name = ""
    limit: Limit = Limit()  # noqa: RUF009 - frozen
    challenger: bool = False


@dataclass(frozen=True, kw_only=True)
class _Keys:
    """What a file says; the table [tournament] and the agents."""

    name: Name
    games: str | Strings  # expressions
    agents: Annotated[tuple[Entrant, ...], Meta(min_length=1, max_length=1000)]
    kind: Kind = "round_robin"
    rounds: Annotated[int, Meta(ge=1, le=1_000_000)] = 10
    repeats: Annotated[int, Meta(ge=1, le=1_000_000)] = 1  # openings that a table plays in a round, from every seat
    seatings: Seating = "rotations"
    tables: Annotated[int, Meta(ge=0, le=1_000_000)] = 0  # sampled: per round
    seed: Annotated[int, Meta(ge=0)] = 0
    openings: str = ""  # expression; empty: the usual ones of each game
    limit: Limit = Limit()  # noqa: RUF009 - frozen; of agents without their own
    judges: Strings = ()
    move_timeout: Seconds | None = PlayRules().move_timeout
    # what follows changes no game
    notes: Notes = "none"
    workers: Annotated[int, Meta(ge=0, le=MAX_WORKERS)] | None = None  # None: one per core, 0: this process
    anchor: str | None = None
    load: Strings = ()  # Python files


@dataclass(frozen=True, kw_only=True)
class Plan(_Keys):
    """Everything that the games of a tournament depend on, and how they are played."""

    games: tuple[str, ...]
    text: str = field(default="", repr=False)  # the file

    @property
    def rules(self) -> PlayRules:
        return play_rules(self.judges, move_timeout=self.move_timeout, notes=self.notes)

    @property
    def slug(self) -> str:
        """The name as part of a file name."""
        return re.sub(r"[^\w.-]+", "-", self.name).strip("-.") or "tournament"

    def limit_of(self, agent: Entrant) -> Limit:
        return agent.limit or self.limit

    @property
    def essence(self) -> dict[str, Any]:
        """What the games depend on, as JSON. Rounds are not in it, because they can be added later."""
        source = parse(self.openings) if self.openings else None
        return {
            "games": list(self.games),
            "agents": [[a.name, a.expression, limit_fields(self.limit_of(a)), a.challenger] for a in self.agents],
            "kind": self.kind,
            "repeats": self.repeats,
            "seatings": self.seatings,
            "tables": self.tables,
            "seed": self.seed,
            "openings": self.openings,
            "openings file": _digest(source.args[0]) if source and source.name == "file" and source.args else "",
            "judges": list(self.judges),
            "patience": self.move_timeout,  # its name in the databases of older versions
            "loaded files": [_digest(path) for path in self.load],
        }

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps([self.name, self.essence], sort_keys=True).encode()).hexdigest()


def _digest(path: Any) -> str:
    file = Path(str(path))
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16] if file.is_file() else ""


def read_plan(path: str | Path) -> Plan:
    """The plan of a file; files that it names are looked for beside it."""
    file = Path(path)
    return parse_plan(config.read_text(file), str(path), file.parent, file.stem)


def parse_plan(text: str, where: str = "plan", folder: Path = Path(), name: str = "tournament") -> Plan:
    """The plan of a text. `where` begins error messages; `name` is the default name of the tournament."""
    try:
        found = config.decode(text, "toml")
        return _plan(found, text, where, folder, name)
    except MeijinError as error:
        raise BadParameter(str(error) if str(error).startswith(f"{where}: ") else f"{where}: {error}") from None


def _plan(found: dict[str, Any], text: str, where: str, folder: Path, name: str) -> Plan:
    for key in found:
        if key not in ("tournament", "agents"):
            hint = "; it belongs below [tournament]" if key in _Keys.__dataclass_fields__ else ""
            raise BadParameter(f"unknown key {config.short(key)}{hint or suggest(key, ('tournament', 'agents'))}")
    head = found.get("tournament")
    if not isinstance(head, dict):
        raise BadParameter("there is no table [tournament]; see 'meijin tournament --example'")
    if "agents" not in found or "agents" in head:
        raise BadParameter("no agents; write a table [[agents]] with a name and an expression for each")
    keys = config.convert(_Keys, {"name": name, **head, "agents": found["agents"]}, where, RENAMED)
    agents = tuple(_entrant(agent, k) for k, agent in enumerate(keys.agents))
    names = [agent.name for agent in agents]
    for k, agent in enumerate(agents):
        if agent.name in names[:k]:
            raise BadParameter(f"agents[{k}].name: two agents are named '{agent.name}'; rename one of them")
    if keys.anchor is not None and keys.anchor not in names:
        near = suggest(keys.anchor, names)
        raise BadParameter(f"anchor = {config.short(keys.anchor)}: not one of the agents{near}")
    if keys.kind != "gauntlet" and any(agent.challenger for agent in agents):
        raise BadParameter(f"kind = '{keys.kind}': has no challengers; choose gauntlet")
    games = tuple(_canonical(game, f"games[{k}]") for k, game in enumerate(_listed(keys.games)))
    if not games:
        raise BadParameter("games: must not be empty")
    for k, game in enumerate(games):
        if game in games[:k]:
            raise BadParameter(f"games[{k}]: '{game}' is named twice")
    plan = Plan(**{**vars(keys), "name": keys.name.strip(), "agents": agents, "games": games, "text": text})
    plan = replace(
        plan,
        judges=tuple(_canonical(judge, f"judges[{k}]") for k, judge in enumerate(keys.judges)),
        openings=_beside(_canonical(keys.openings, "openings"), folder) if keys.openings else "",
        load=tuple(str(folder / file) for file in keys.load),
    )
    plan.rules  # noqa: B018 - raises where a judge is wrong
    return plan


def _entrant(agent: Entrant, k: int) -> Entrant:
    expression = _canonical(agent.expression, f"agents[{k}].expression")
    return replace(agent, expression=expression, name=(agent.name or expression).strip())


def _listed(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value


def _canonical(expression: str, place: str) -> str:
    try:
        return str(parse(expression))
    except MeijinError as error:
        raise BadParameter(f"{place} = {config.short(expression)}: {error}") from None


def _beside(openings: str, folder: Path) -> str:
    """A file of openings is looked for beside the plan."""
    call = parse(openings)
    paths = [*call.args, *([call.kwargs["path"]] if "path" in call.kwargs else [])]
    if call.name == "file" and paths and isinstance(paths[0], str):
        others = {key: value for key, value in call.kwargs.items() if key != "path"}
        call = Call("file", (str(folder / paths[0]), *call.args[1:]), others)
    return str(call)
