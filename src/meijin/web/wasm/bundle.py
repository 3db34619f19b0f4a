"""Games as the files that the page's own engine loads (static/engine_local.js): index.json, and for each set of
parameters a JSON file, a module, and the nets of its agents.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from meijin.agents.catalogue import agents as catalogue
from meijin.agents.catalogue import build
from meijin.agents.champion import Champion
from meijin.agents.heuristic import Heuristic
from meijin.agents.random import Random
from meijin.agents.zero import ZeroSearch
from meijin.core.agent import Agent
from meijin.core.catalogue import games as registry
from meijin.core.errors import MeijinError
from meijin.core.expression import parse
from meijin.core.game import Game
from meijin.core.wasm.link import MOST_MEMORY
from meijin.core.wasm.module import Builder, Module
from meijin.search.alphabeta import AlphaBeta
from meijin.search.maxn import MaxN
from meijin.search.mcts import MCTS
from meijin.search.mcts.selection import Options
from meijin.web.server.work.permits import parameter_info
from meijin.web.wasm import parts
from meijin.web.wasm.nets import net_file
from meijin.web.wasm.script import STATIC

VERSION = 1
#: Who plays where nobody says otherwise, as far as they fit the game.
USUAL = (
    "mcts(seconds=1)",
    "alphabeta(seconds=1)",
    "maxn(seconds=1)",
    "champion(simulations=200)",
    "heuristic",
    "random",
)
#: The parameters that can be chosen in the page; the others are fixed when a game is compiled.
CHOSEN = {
    "mcts": ("simulations", "seconds", "c", "threads", "seed"),
    "alphabeta": ("depth", "seconds", "quiescence"),
    "maxn": ("depth", "seconds"),
    "zero": ("simulations", "seconds", "c", "fpu", "reuse", "seed"),
    "champion": ("level", "simulations", "seconds", "c", "fpu", "reuse", "seed"),
}
TREES = 64 << 20  # bytes of the tree of mcts, which static/worker_search.js places


@dataclass(frozen=True)
class Bundle:
    """Files by name."""

    files: dict[str, bytes]

    @property
    def nets(self) -> list[str]:
        return [name for name in self.files if name.endswith(".net")]


def bundle(
    games: Sequence[Game],
    agents: Sequence[str] = (),
    usual: Sequence[str] = USUAL,
    progress: Callable[[str], None] = lambda game: None,
) -> Bundle:
    """Everything that is needed to play these games; the same game with several parameters is one with a choice.

    Each of `agents` plays the games that it fits, and must fit one; those of `usual` may fit none.
    """
    fitting = {game.id: _fitting(agents, game) for game in games}
    for expression in agents:
        if not any(expression in found for found in fitting.values()):
            build(expression, games[0])  # says why not
    files: dict[str, bytes] = {}
    by_name: dict[str, list[Game]] = {}
    for game in games:
        if game not in by_name.setdefault(game.name, []):
            by_name[game.name].append(game)
    index: list[dict[str, Any]] = []
    for name, sets in by_name.items():
        first, found, levels = sets[0], [], False
        for game in sets:
            progress(game.id)
            file, own = game_files(game, fitting[game.id], usual)
            file["description"]["parameters"] = _choices(game, sets)
            files |= own
            data = json.dumps(file, separators=(",", ":"), ensure_ascii=False).encode()
            found.append({"id": game.id, "params": game.params, "file": _put(files, game, "json", data)})
            levels = levels or any(info["levels"] for info in file["agents"])
        summary = registry.get(name).summary if name in registry.names() else first.help.split("\n")[0]
        about = {"name": name, "title": first.title, "summary": summary, "seats": first.seats, "chance": first.chance}
        index.append({**about, "levels": levels, "sets": found})
    whole = {"version": VERSION, "games": index, "samples": _samples(by_name)}
    files["index.json"] = json.dumps(whole, separators=(",", ":"), ensure_ascii=False).encode()
    return Bundle(files)


def _fitting(expressions: Iterable[str], game: Game) -> list[str]:
    def fits(agent: Agent) -> bool:
        return agent.unfit(game) is None and not (isinstance(agent, ZeroSearch) and not agent.has_net(game))

    return [expression for expression in expressions if fits(build(expression))]


def _samples(names: Iterable[str]) -> dict[str, list[int]]:
    """The lines that the pictures of games show, as far as there are any."""
    known = json.loads((STATIC / "samples.json").read_text(encoding="utf-8"))
    return {name: known[name] for name in names if name in known}


def _put(files: dict[str, bytes], game: Game, kind: str, data: bytes) -> str:
    """Under a name that changes with the content, so that a browser may keep it for ever."""
    label = re.sub(r"[^A-Za-z0-9]+", "-", game.id).strip("-").lower()[:40]
    name = f"{label}.{hashlib.sha256(data).hexdigest()[:8]}.{kind}"
    files[name] = data
    return name


def _choices(game: Game, sets: Sequence[Game]) -> list[dict[str, Any]]:
    """The parameters in which the published sets differ, each with the values there are."""
    found = []
    for parameter in game.describe()["parameters"]:
        values = list(dict.fromkeys(each.params[parameter["name"]] for each in sets))
        if len(values) > 1:
            found.append(
                {
                    **parameter,
                    "choices": values,
                    "low": None,
                    "high": None,
                    "default": sets[0].params[parameter["name"]],
                }
            )
    return found


def game_files(
    game: Game, agents: Iterable[str] = (), usual: Iterable[str] = USUAL
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """What the page's engine reads of a game, and the files it names."""
    files: dict[str, bytes] = {}
    b = Builder(game.name, game._explain)
    parts.rules(b, game)
    sitters = _Sitters(b, game, files)
    for expression in agents:
        sitters.add(expression)
    for expression in _fitting(usual, game):
        name = parse(expression).name
        if name not in sitters.names and not (name == "maxn" and "alphabeta" in sitters.names):
            sitters.add(expression)
    module = b.build()
    check_memory(game, module)
    return {
        "description": game.describe(),
        "manifest": module.manifest,
        "code": _put(files, game, "wasm", module.code),
        "slots": parts.SLOTS,
        "agents": sitters.infos,
    }, files


def _net_words(agent: Agent) -> str:
    seconds, simulations = agent.limit.seconds, agent.limit.simulations
    return f"a trained net, {simulations} simulations" if simulations else f"a trained net, {seconds:g} s"


def check_memory(game: Game, module: Module) -> None:
    need = module.memory + (TREES if "mcts.tree.nodes" in module.manifest["arrays"] else 0)
    if need > MOST_MEMORY:
        raise MeijinError(
            f"{game} would need {need >> 20} MB in a browser, more than the {MOST_MEMORY >> 20} MB that phones allow; "
            "publish it with smaller parameters, or with smaller tables in its rules"
        )


class _Sitters:
    """The agents of a game, as the page lists them, and what the module needs for them."""

    def __init__(self, b: Builder, game: Game, files: dict[str, bytes]):
        self.b, self.game, self.files = b, game, files
        self.infos: list[dict[str, Any]] = []
        self._options: dict[Options, str] = {}

    @property
    def names(self) -> list[str]:
        return [info["name"] for info in self.infos]

    def add(self, expression: str) -> None:
        call = parse(expression)
        agent = build(call, self.game)
        kind, options, net = self._kind(agent, expression)
        entry = catalogue.get(call.name)
        given = entry.bind(call).arguments
        shown = CHOSEN.get(call.name, ())
        own = {name: value for name, value in given.items() if name in shown and value is not None}
        fixed = {name: value for name, value in own.items() if name != "level"}  # "champion" is at full strength
        name = call.name
        while name in self.names:
            name = f"{name}_2"
        text = ", ".join(f"{key}={value!r}" for key, value in own.items() if entry.parameters[key].default != value)
        self.infos.append(
            {
                "name": name,
                "summary": entry.summary.replace("`", ""),
                "parameters": [
                    parameter_info(entry, key, ()) | ({"default": fixed[key]} if key in fixed else {}) for key in shown
                ],
                "unfit": None,
                "example": f"{name}({text})" if text else name,
                "kind": kind,
                "measures": agent.measures,
                "limit": {m: getattr(agent.limit, m) for m in agent.measures if getattr(agent.limit, m) is not None},
                "options": options,
                "net": net,
                "levels": isinstance(agent, Champion),
                **({"level": {"name": "Net", "about": _net_words(agent)}} if call.name == "zero" else {}),
            }
        )

    def _kind(self, agent: Agent, expression: str) -> tuple[str, dict[str, Any], str | None]:
        """What runs it in the page, with which options, and the file of its net."""
        b, game = self.b, self.game
        if isinstance(agent, MCTS):
            if agent.memory is not None:
                raise MeijinError(f"{expression}: a memory is a file on disk, which a page does not have; leave it out")
            if agent.options not in self._options:
                prefix = f"mcts{len(self._options) or ''}"
                parts.mcts(b, game, agent.options, prefix)
                self._options[agent.options] = prefix
            return "mcts", {"prefix": self._options[agent.options], "c": agent.c}, None
        if isinstance(agent, AlphaBeta):
            if "alphabeta.moves" not in b.arrays:
                parts.alphabeta(b, game)
            return "alphabeta", {"quiescence": agent.quiet > 0}, None
        if isinstance(agent, MaxN):
            if "maxn.moves" not in b.arrays:
                parts.max_n(b, game)
            return "maxn", {}, None
        if isinstance(agent, ZeroSearch) and agent.has_net(game):
            if "net.memory" not in b.arrays:
                parts.forest(b, game)
                parts.net(b)
            weights = agent.net(game).weights()
            net = _put(self.files, game, "net", net_file(weights))
            options = {"c": agent.c, "fpu": agent.fpu, "reuse": agent.reuse, "draw": weights.config.draw}
            levels = {"levels": agent.scale(game)} if isinstance(agent, Champion) else {}
            return "zero", {**options, **levels}, net
        if isinstance(agent, Random):
            return "random", {}, None
        if isinstance(agent, Heuristic):
            return "heuristic", {}, None
        can = "mcts, alphabeta, maxn, zero, champion, heuristic and random"
        raise MeijinError(f"{expression}: this agent does not run in a browser; those that do are {can}")
