"""The plan of a tournament: a TOML file, read strictly, so that a misspelt word is an error and not a default."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from meijin.arena.judges import NOTES, PlayRules, play_rules
from meijin.arena.schedule import KINDS, SEATINGS
from meijin.core.agent import Limit
from meijin.core.errors import BadParameter, MeijinError, suggest
from meijin.core.expression import Call, parse

EXAMPLE = """\
# A tournament. Run it with `meijin tournament FILE`; after an interruption the same command goes on where it stopped.

[tournament]
name = "first cup"              # also names the database and the report; by default the name of this file
kind = "round_robin"            # or "gauntlet", "swiss", "sampled" (random tables, for games of three seats and more)
games = ["connect_four"]        # one or several games: "othello(size=6)", "2048", ...
rounds = 10                     # in each, every pairing plays an opening from both seats; may be raised later
# repeats = 2                   # openings that a pairing plays in one round
# openings = "random(plies=4)"  # or 'file("lines.txt")', "all(depth=3)", 'balanced(6, alphabeta(depth=4))', "none"
# limit = { simulations = 1000 }  # for every agent: seconds, simulations, depth of a move
# judges = ["cap(200)", "perfect"]  # what may end a game early
# patience = 60                 # seconds after which an agent that does not answer forfeits
# notes = "times"               # what is kept of every move: "none", "times" or "analyses"
# seed = 1                      # another seed, other games
# workers = 2                   # games at a time; by default as many as there are processor cores
# anchor = "random"             # the agent whose rating is 0; by default the mean is
# seatings = "all"              # three seats and more: every order of the agents, and not only the rotations
# tables = 20                   # sampled: tables in a round
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
# limit = { seconds = 0.1 }     # its own, instead of the one above
# challenger = true             # gauntlet: this agent plays all that are not challengers
"""

KEYS = ("tournament", "agents")
LIMIT_KEYS = ("seconds", "simulations", "depth")
PATIENCE = PlayRules().patience


@dataclass(frozen=True, slots=True)
class Entrant:
    """An agent under the name by which the tournament knows it."""

    name: str
    expression: str
    limit: Limit = Limit()  # noqa: RUF009 - frozen
    challenger: bool = False


@dataclass(frozen=True)
class Plan:
    """All that a tournament's games depend on, and a little more."""

    name: str
    games: tuple[str, ...]  # expressions
    agents: tuple[Entrant, ...]
    kind: str = "round_robin"
    rounds: int = 10
    repeats: int = 1  # openings that a table plays in a round, each from every seat
    seatings: str = "rotations"
    tables: int = 0  # sampled: tables in a round
    seed: int = 0
    openings: str = ""  # expression; empty: the usual ones of each game
    limit: Limit = Limit()  # noqa: RUF009 - frozen; of agents that have none of their own
    judges: tuple[str, ...] = ()
    patience: float | None = PATIENCE  # seconds
    # what follows changes no game
    notes: str = "none"
    workers: int | None = None  # processes; None: one a processor core, 0: all in this one
    anchor: str | None = None
    load: tuple[Path, ...] = ()
    text: str = field(default="", repr=False)  # the file

    @property
    def rules(self) -> PlayRules:
        return play_rules(self.judges, patience=self.patience, notes=self.notes)

    @property
    def slug(self) -> str:
        """The name as part of a file name."""
        return re.sub(r"[^\w.-]+", "-", self.name).strip("-.") or "tournament"

    def limit_of(self, agent: Entrant) -> Limit:
        return agent.limit or self.limit

    @property
    def essence(self) -> dict[str, Any]:
        """What the games depend on, as JSON. Rounds are not in it: a tournament may go on for more of them."""
        source = parse(self.openings) if self.openings else None
        return {
            "games": list(self.games),
            "agents": [[a.name, a.expression, _limit_json(self.limit_of(a)), a.challenger] for a in self.agents],
            "kind": self.kind,
            "repeats": self.repeats,
            "seatings": self.seatings,
            "tables": self.tables,
            "seed": self.seed,
            "openings": self.openings,
            "openings file": _digest(source.args[0]) if source and source.name == "file" and source.args else "",
            "judges": list(self.judges),
            "patience": self.patience,
            "loaded files": [_digest(path) for path in self.load],
        }

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps([self.name, self.essence], sort_keys=True).encode()).hexdigest()


def _limit_json(limit: Limit) -> dict[str, Any]:
    return {key: value for key in LIMIT_KEYS if (value := getattr(limit, key)) is not None}


def _digest(path: Any) -> str:
    file = Path(str(path))
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16] if file.is_file() else ""


def read_plan(path: str | Path) -> Plan:
    """The plan of a file; files it names are looked for beside it."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise BadParameter(f"cannot read '{path}': {error.strerror}; see 'meijin tournament --example'") from None
    except UnicodeDecodeError as error:
        raise BadParameter(f"'{path}' is no text in UTF-8 (byte {error.start}); a plan is a TOML file") from None
    return parse_plan(text, str(path), file.parent, file.stem)


def parse_plan(text: str, where: str = "plan", folder: Path = Path(), name: str = "tournament") -> Plan:
    """The plan of a text; `where` stands in error messages, `name` is its name unless it has one."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadParameter(f"{where}: {error}") from None
    return _Reader(text, where, folder).plan(found, name)


class _Reader:
    """Turns what TOML gives into a plan; errors say the line."""

    def __init__(self, text: str, where: str, folder: Path) -> None:
        self.text, self.where, self.folder = text, where, folder

    def plan(self, found: dict[str, Any], name: str) -> Plan:
        for key in found:
            if key not in KEYS:
                at = "" if key not in _TOURNAMENT else "; it belongs below [tournament]"
                raise self.fail("", key, f"unknown key '{key}'{at or self._hint(key, KEYS)}")
        head, listed = found.get("tournament"), found.get("agents")
        if not isinstance(head, dict):
            raise BadParameter(f"{self.where}: there is no [tournament]; see 'meijin tournament --example'")
        if not isinstance(listed, list) or not listed or not all(isinstance(item, dict) for item in listed):
            raise BadParameter(f"{self.where}: no agents; write [[agents]] with a name and an expression for each")
        values = self._table("tournament", head, _TOURNAMENT)
        if "games" not in values:
            raise BadParameter(f'{self.where}: [tournament] names no games; write games = ["connect_four"]')
        agents = tuple(self._agent(item, k) for k, item in enumerate(listed))
        for k, agent in enumerate(agents):
            if agent.name in [other.name for other in agents[:k]]:
                raise self.fail("agents", "name", f"two agents are named '{agent.name}'; rename one of them", k)
        plan = Plan(**{"name": name, "agents": agents, "text": self.text, **values})
        if plan.anchor is not None and plan.anchor not in [agent.name for agent in agents]:
            near = suggest(plan.anchor, [agent.name for agent in agents])
            raise self.fail("tournament", "anchor", f"anchor = '{plan.anchor}' is none of the agents{near}")
        if any(agent.challenger for agent in agents) and plan.kind != "gauntlet":
            raise self.fail("tournament", "kind", f"kind = '{plan.kind}' has no challengers; a gauntlet has")
        return replace(
            plan,
            load=tuple(self.folder / file for file in plan.load),
            openings=self._beside(plan.openings),
        )

    def _agent(self, item: dict[str, Any], k: int) -> Entrant:
        values = self._table("agents", item, _AGENT, k)
        if "expression" not in values:
            raise self.fail("agents", next(iter(item), ""), "this agent has no expression, such as 'random'", k)
        return Entrant(**{"name": values["expression"], **values})

    def _table(self, table: str, found: dict[str, Any], known: dict[str, _Check], k: int = 0) -> dict[str, Any]:
        values = {}
        for key, value in found.items():
            if key not in known:
                raise self.fail(table, key, f"unknown key '{key}'{self._hint(key, known)}", k)
            try:
                values[key] = known[key](value)
            except MeijinError as error:
                raise self.fail(table, key, f"{key} = {_shown(value)}: {error}", k) from None
        return values

    def _beside(self, openings: str) -> str:
        """A file of openings is looked for beside the plan."""
        if not openings:
            return ""
        call = parse(openings)
        if call.name == "file":
            paths = [*call.args, *([call.kwargs["path"]] if "path" in call.kwargs else [])]
            if paths and isinstance(paths[0], str):
                others = {key: value for key, value in call.kwargs.items() if key != "path"}
                call = Call("file", (str(self.folder / paths[0]), *call.args[1:]), others)
        return str(call)

    def _hint(self, key: str, known: Any) -> str:
        return suggest(key, known) or f"; known: {', '.join(known)}"

    def fail(self, table: str, key: str, problem: str, k: int = 0) -> BadParameter:
        line = _line(self.text, table, key, k)
        return BadParameter(f"{self.where}{f':{line}' if line else ''}: {problem}")


def _line(text: str, table: str, key: str, k: int) -> int | None:
    """The line of a key in the k-th table of that name, None where it is written in an unusual way."""
    current, seen = "", -1
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[\[?\s*([\w.\"'-]+)\s*\]", line):
            current = header[1].strip("\"'")
            seen += current == table
            if current == table == key or (table == "" and current == key):
                return number
        elif current == table and max(seen, 0) == k and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.]", line):
            return number
    return None


# ---- what a value may be: each check returns the value as the plan keeps it, or raises ----

_Check = Callable[[Any], Any]


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def _whole(least: int) -> _Check:
    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise BadParameter(f"give a whole number, {least} or more")
        return value

    return check


def _string(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BadParameter("give a text in quotes")
    return value.strip()


def _one_of(known: tuple[str, ...]) -> _Check:
    def check(value: Any) -> str:
        if value not in known:
            raise BadParameter(f"choose from {', '.join(known)}{suggest(str(value), known)}")
        return str(value)

    return check


def _expression(value: Any) -> str:
    return str(parse(_string(value)))


def _listed(check: _Check) -> _Check:
    def checked(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise BadParameter('give a list, such as ["a", "b"]')
        return tuple(map(check, value))

    return checked


def _games(value: Any) -> tuple[str, ...]:
    expressions: tuple[str, ...] = _listed(_expression)([value] if isinstance(value, str) else value)
    if not expressions:
        raise BadParameter("name at least one game")
    for k, text in enumerate(expressions):
        if text in expressions[:k]:
            raise BadParameter(f"'{text}' is named twice")
    return expressions


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise BadParameter("give true or false")
    return value


def _positive(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise BadParameter("give a number above zero")
    return float(value)


def _limit(value: Any) -> Limit:
    if not isinstance(value, dict):
        raise BadParameter("give a table, such as { simulations = 1000 }")
    for key in value:
        if key not in LIMIT_KEYS:
            raise BadParameter(f"unknown key '{key}'{suggest(key, LIMIT_KEYS) or '; known: ' + ', '.join(LIMIT_KEYS)}")
    checks: dict[str, _Check] = {"seconds": _positive, "simulations": _whole(1), "depth": _whole(1)}
    return Limit(**{key: checks[key](item) for key, item in value.items()})


def _judges(value: Any) -> tuple[str, ...]:
    names: tuple[str, ...] = _listed(_expression)(value)
    play_rules(names)
    return names


_TOURNAMENT: dict[str, _Check] = {
    "name": _string,
    "kind": _one_of(KINDS),
    "games": _games,
    "rounds": _whole(1),
    "repeats": _whole(1),
    "openings": _expression,
    "limit": _limit,
    "judges": _judges,
    "patience": _positive,
    "notes": _one_of(NOTES),
    "seed": _whole(0),
    "workers": _whole(0),
    "anchor": _string,
    "seatings": _one_of(SEATINGS),
    "tables": _whole(1),
    "load": _listed(_string),
}
_AGENT: dict[str, _Check] = {"name": _string, "expression": _expression, "limit": _limit, "challenger": _flag}
