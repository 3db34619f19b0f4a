"""Which agents clients may use. Expressions come from pages, so they name no files and no programs.

- The nets of `zero`, `policy`, `value` and `policy_value` are named by a run of the server's folder, "c4", or one of
  its checkpoints, "c4/000040".
- Other texts are allowed only where the agent declares which ones there are, or where they are known to be harmless.
- Expressions that the person who started the server has listed are allowed as they are.
"""

from __future__ import annotations

import inspect
import re
import typing
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meijin.agents.catalogue import agents, build
from meijin.core.agent import Agent
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.expression import Call, parse
from meijin.core.parameters import parameters
from meijin.core.registry import Entry
from meijin.learning.files import SUFFIX, numbered
from meijin.web.server.work.rules import game_of, has_levels

if TYPE_CHECKING:
    from meijin.web.server.work.worker import Ask

NETS = {"zero": ("path",), "policy": ("path",), "value": ("path",), "policy_value": ("policy", "value")}
NETS |= dict.fromkeys(("td", "sarsa", "q"), ("path",))
WORDS = {  # parameters that take one of a few words
    ("mcts", "playout"): ("random", "decisive", "heuristic", "policy"),
    ("mcts", "parallel"): ("root", "tree"),
    ("weighted", "table"): ("bench",),
}
DEVICES = ("cpu", "cuda")
#: `human` would wait for somebody at the server's keyboard; the others run any program.
NEVER = {"human", "gtp", "usi", "ugi", "cecp", "nboard", "pipe"}
MEMORY = ("memory_mb", "table_mb")
MOST_DEEP = 4  # agents inside agents
EXAMPLES = {
    "mcts": "mcts(seconds=1)",
    "alphabeta": "alphabeta(seconds=1)",
    "maxn": "maxn(seconds=1)",
    "mc": "mc(seconds=1)",
    "champion": "champion(simulations=200)",
    "mcts_wrap": "mcts_wrap(heuristic, simulations=100)",
    "nply": "nply(heuristic, depth=2)",
}


class Permits:
    def __init__(self, runs: str, listed: tuple[str, ...], memory_mb: float, cores: int):
        self.runs, self.memory_mb, self.cores = Path(runs), memory_mb, cores
        self._texts = listed

    @cached_property
    def listed(self) -> frozenset[Call]:
        return frozenset(parse(text) for text in self._texts)

    # ---- calls of the server ----

    def permit(self, ask: Ask) -> str:
        """The proper text of an expression that a client may use for a game; an error says why it may not."""
        call = parse(ask.args["agent"])
        game = game_of(ask.args["game"])
        with build(self._bounded(call, 0), game) as made:
            del made
        return str(call)

    def list_agents(self, ask: Ask) -> list[dict[str, Any]]:
        game = game_of(ask.args["game"])
        found = [self._info(agents.get(name), game) for name in agents.names() if name not in NEVER]
        for text in self._texts:
            found.append(
                {"name": text, "summary": "Offered by this server.", "parameters": [], "unfit": None, "example": text}
            )
        return found

    # ---- expressions ----

    def bounded(self, expression: str) -> Call:
        """What is built for an expression: names of runs become paths, and memory and threads are bounded."""
        return self._bounded(parse(expression), 0)

    def _bounded(self, call: Call, depth: int) -> Call:
        if call in self.listed:
            return call
        if depth >= MOST_DEEP:
            raise BadParameter(f"'{call}' is nested too deeply; at most {MOST_DEEP} agents inside each other")
        if call.name in NEVER:
            raise BadParameter(f"'{call.name}' cannot be used here")
        entry = agents.get(call.name)
        given = entry.bind(call)
        for name, value in given.arguments.items():
            if name in MEMORY and isinstance(value, int | float):
                given.arguments[name] = min(value, self.memory_mb)
            elif name == "threads" and isinstance(value, int):
                given.arguments[name] = min(value, self.cores)
            else:
                given.arguments[name] = self._value(entry, name, value, depth)
        plain = {k: v for k, v in given.arguments.items() if entry.parameters[k].default != v}
        variadic = {p.name for p in entry.parameters.values() if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
        return Call(call.name, (), {k: v for k, v in plain.items() if k not in variadic})

    def _value(self, entry: Entry[Agent], name: str, value: Any, depth: int) -> Any:
        what = f"{entry.name}: {name}={value!r}"
        if isinstance(value, Call):
            return self._bounded(value, depth + 1)
        if isinstance(value, tuple):
            return tuple(self._value(entry, name, each, depth) for each in value)
        if not isinstance(value, str) or value == entry.parameters[name].default:
            return value
        if name in NETS.get(entry.name, ()):
            return str(self.checkpoint(value))
        known = (*WORDS.get((entry.name, name), ()), *_choices(entry, name), *(DEVICES if name == "device" else ()))
        if value in known:
            return value
        if known:
            raise BadParameter(f"{what}: choose one of {', '.join(map(repr, known))}")
        raise BadParameter(f"{what}: pages may not name files or programs; start the server with --agent to offer one")

    def evaluator(self, text: str) -> str:
        """An evaluator whose agents and openings clients may use."""
        from meijin.arena.evaluators import evaluators

        call = parse(text)
        entry = evaluators.get(call.name)
        given: dict[str, Any] = {}
        for name, value in entry.bind(call).arguments.items():
            if value == entry.parameters[name].default:
                continue
            if isinstance(value, str | Call) and name in ("opponent", "openings"):
                inner = parse(value) if isinstance(value, str) else value
                value = self.openings(inner) if name == "openings" else self._bounded(inner, 0)
            elif isinstance(value, str | Call):
                raise BadParameter(f"{call.name}: {name}={value!r}: pages may not name files; give a number")
            given[name] = value
        return str(Call(call.name, (), given))

    def openings(self, call: Call) -> Call:
        """Openings that need no file."""
        from meijin.arena.openings import sources

        if call.name == "file":
            raise BadParameter("openings: pages may not name files; choose random(plies=4), all(depth=2) or none")
        given: dict[str, Any] = {}
        for name, value in sources.get(call.name).bind(call).arguments.items():
            if isinstance(value, str):
                value = parse(value)
            given[name] = self._bounded(value, 0) if isinstance(value, Call) else value
        return Call(call.name, (), given)

    def plain(self, call: Call) -> Call:
        """An expression that holds nothing but numbers and flags."""
        for value in (*call.args, *call.kwargs.values()):
            if not isinstance(value, int | float | bool):
                raise BadParameter(f"'{call}': give numbers only")
        return call

    def checkpoint(self, name: str) -> Path:
        """The path of a run, or of one of its checkpoints, by the name that the server lists."""
        run, _, number = name.partition("/")
        if re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", run) and (self.runs / run / "config.json").is_file():
            if not number:
                return self.runs / run
            for path in numbered(self.runs / run / "checkpoints"):
                if path.name == f"{number}{SUFFIX}":
                    return path
            raise BadParameter(f"run '{run}' has no checkpoint '{number}'")
        raise BadParameter(f"there is no run '{name}' in the server's folder of runs")

    # ---- what a page says about agents ----

    def _info(self, entry: Entry[Agent], game: Any) -> dict[str, Any]:
        unfit: str | None
        example = EXAMPLES.get(entry.name, entry.name)
        nets = NETS.get(entry.name)
        if nets:
            example = f"{entry.name}({', '.join(repr('RUN') for _ in nets)})".replace("'", '"')
            unfit = None if self.runs.is_dir() else "there are no runs yet; train one first"
        else:
            try:
                with build(self._bounded(parse(example), 0)) as made:
                    unfit = made.unfit(game)
            except MeijinError as error:
                unfit = str(error)
            except Exception as error:  # anything may go wrong in an agent of the user's own
                unfit = f"it cannot be made: {error}"
        return {
            "name": entry.name,
            "summary": entry.summary.replace("`", ""),
            "parameters": [parameter_info(entry, name, nets or ()) for name in _shown(entry)],
            "unfit": unfit,
            "example": example,
            "levels": entry.name == "champion" and has_levels(game),
        }


def _shown(entry: Entry[Agent]) -> list[str]:
    """The parameters that a form offers."""
    found = []
    for name, each in entry.parameters.items():
        variadic = each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
        plain = each.default is each.empty or not callable(each.default)
        if plain and not variadic and name not in ("memory", "memory_limit"):
            found.append(name)
    return found


def _maker(entry: Entry[Agent]) -> Any:
    """The function whose annotations tell about the parameters: of a class, its constructor."""
    factory = inspect.unwrap(entry.factory)
    return factory.__init__ if inspect.isclass(factory) else factory


def _choices(entry: Entry[Agent], name: str) -> tuple[Any, ...]:
    return next((each.choices for each in parameters(_maker(entry)) if each.name == name), ())


def parameter_info(entry: Entry[Agent], name: str, nets: tuple[str, ...]) -> dict[str, Any]:
    known = next((each for each in parameters(_maker(entry)) if each.name == name), None)
    parameter = entry.parameters[name]
    default = None if parameter.default is parameter.empty else parameter.default
    try:
        hint = typing.get_type_hints(_maker(entry)).get(name)
    except Exception:  # an annotation that names what does not exist
        hint = None
    kind = known.kind if known else ""
    if name in nets:
        kind = "run"
    elif hint is Agent:
        kind = "agent"
    choices = WORDS.get((entry.name, name)) or (DEVICES if name == "device" else known.choices if known else ())
    return {
        "name": name,
        "kind": kind,
        "default": default,
        "low": known.low if known else None,
        "high": known.high if known else None,
        "choices": list(choices),
        "help": _help(entry, name),
        "needed": parameter.default is parameter.empty,
    }


def _help(entry: Entry[Agent], name: str) -> str:
    """What the docstring says after the parameter's name, up to the next paragraph or parameter."""
    doc = inspect.getdoc(entry.factory) or ""
    match = re.search(rf"^`{name}`: (.*?)(?=^`|\n\n|\Z)", doc, re.DOTALL | re.MULTILINE)
    return " ".join(match[1].split()) if match else ""
