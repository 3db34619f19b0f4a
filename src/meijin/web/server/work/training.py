"""Training runs in a worker: what there is, a run while it goes, and what its checkpoints think."""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from random import choice
from typing import TYPE_CHECKING, Any, Literal

from meijin.core.errors import BadParameter, MeijinError, UnknownName
from meijin.core.rng import fresh_seed, stream
from meijin.core.state import State
from meijin.learning import files
from meijin.web.server.work.rules import advance, game_of, look_at, numbers

if TYPE_CHECKING:
    from meijin.training.events import Event
    from meijin.web.server.work.permits import Permits
    from meijin.web.server.work.worker import Ask

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,59}")
VARIED = 2  # random moves that begin a game of an agent that always plays alike
MOST_ROWS = 2000  # of metrics
MOST_OPINIONS = 60  # checkpoints that are asked
LIKELIEST = 20  # moves that an opinion tells of
WORD = re.compile(r"[A-Za-z0-9_]{0,30}")  # texts that settings may have
CELLS = re.compile(r"[\w .:-]{0,200}")  # the same for tuples of cells
TABLES = ("td", "sarsa", "q")  # methods that need no PyTorch
#: Settings that pages may not change so.
CLOSED = ("game", "method", "warm.records", "init", "evaluation.by", "evaluation.workers")


class Training:
    def __init__(self, runs: str, permits: Permits):
        self._runs, self._permits = Path(runs), permits

    # ---- what there is ----

    def list_runs(self, ask: Ask) -> list[dict[str, Any]]:
        """The runs of the folder, those that changed last first."""
        if not self._runs.is_dir():
            return []
        found = []
        for folder in self._runs.iterdir():
            if NAME.fullmatch(folder.name) and (folder / "config.json").is_file():
                try:
                    found.append(self._summary(folder))
                except (MeijinError, OSError, ValueError):  # half written, or of another program
                    continue
        return sorted(found, key=lambda run: -run["changed"])

    def _summary(self, folder: Path) -> dict[str, Any]:
        from meijin.training.folder import read_metrics

        config = _json(folder / "config.json")
        method, rows = str(config.get("method", "zero")), read_metrics(folder / "metrics.csv")
        last = {
            name: value for name, text in (rows[-1] if rows else {}).items() if (value := _number(text)) is not None
        }
        latest = folder / "checkpoints" / files.LATEST
        return {
            "name": folder.name,
            "game": str(config.get("game", "")),
            "method": method,
            "iteration": int(last.get("iteration", 0)),
            "seconds": last.get("seconds", 0.0),
            "changed": max(path.stat().st_mtime for path in (folder / "config.json", latest) if path.exists()),
            "last": last,
            "agent": self._agent(folder) if latest.exists() else None,
        }

    def _agent(self, folder: Path) -> str:
        """How its newest net is played."""
        kind = files.kind(folder)
        name = str(_json(folder / "config.json").get("learn", "td")) if kind == "td" else kind.removeprefix("classic-")
        return f'{name or "zero"}("{folder.name}")'

    def show_run(self, ask: Ask) -> dict[str, Any]:
        """All about a run: settings, metrics and checkpoints."""
        from meijin.training.folder import read_metrics

        folder = self._folder(ask.args["name"])
        rows = read_metrics(folder / "metrics.csv")
        step = max(1, math.ceil(len(rows) / MOST_ROWS))
        kept = [row for k, row in enumerate(rows) if k % step == 0 or k == len(rows) - 1]
        columns = dict.fromkeys(name for row in rows[-1:] + rows[:1] for name in row)
        return self._summary(folder) | {
            "config": _json(folder / "config.json"),
            "metrics": {name: [_number(row.get(name, "")) for row in kept] for name in columns},
            "checkpoints": [
                {"name": f"{folder.name}/{path.stem}", "iteration": int(path.stem), "bytes": path.stat().st_size}
                for path in files.numbered(folder / "checkpoints")
            ],
            "tuples": _tuples(folder / "checkpoints" / files.LATEST),
        }

    def _folder(self, name: str) -> Path:
        if NAME.fullmatch(name) and (self._runs / name / "config.json").is_file():
            return self._runs / name
        raise UnknownName(f"there is no run '{name}'")

    # ---- a run while it goes ----

    def train(self, ask: Ask) -> dict[str, Any]:
        """Train to the end, or until somebody stops it; every event is told."""
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that wait should sleep
        from meijin import training
        from meijin.training.events import Finished

        args, folder = ask.args, self._runs / ask.args["name"]
        length = {name: args[name] for name in ("seconds", "iterations") if args[name] is not None}
        self._runs.mkdir(parents=True, exist_ok=True)
        if args["resume"] and (folder / "config.json").exists():
            run = training.resume(folder, device=args["device"], **length)
        else:
            options = {"preset": args["preset"]} if args["preset"] and args["method"] != "classic" else {}
            run = training.start(
                args["method"], game_of(args["game"]), out=folder, device=args["device"],
                changes=args["changes"], evaluate=args["evaluate"], **length, **options,
            )  # fmt: skip

        def told(event: Event) -> None:
            said = event.to_json().replace(f"{self._runs}/", "")  # pages know runs by their names
            ask.part(json.loads(said) | {"folder": None})
            if ask.stopped:
                run.stop()

        last = run.go(told)
        return {"finished": isinstance(last, Finished), "iteration": last.iteration}

    def check_run(self, ask: Ask) -> dict[str, Any]:
        """What a page asks for, checked: nothing in it names a file or a program. Returns it as `train` takes it."""
        args = dict(ask.args)
        game = game_of(args["game"])
        if not NAME.fullmatch(args["name"]):
            raise BadParameter(f"'{args['name']}' cannot name a run; use letters, digits, '_', '-' and '.'")
        if (self._runs / args["name"]).exists():
            raise BadParameter(f"there is a run '{args['name']}' already; resume it, or choose another name")
        if args["method"] not in TABLES:
            files.need_torch("training")
        changes = {}
        for key, value in args["changes"].items():
            if key in CLOSED or (key == "warm.init" and value != "champion"):
                raise BadParameter(f"'{key}' cannot be set here")
            if key == "warm.agent":
                value = str(self._permits.bounded(str(value)))
            elif key == "threads":
                value = min(value, self._permits.cores) if isinstance(value, int) else value
            elif not _plain(value, CELLS if key == "tuples.cells" else WORD):
                raise BadParameter(f"{key}={value!r}: give a number, true, false or a word")
            changes[key] = value
        evaluate = [self._permits.evaluator(text) for text in args["evaluate"]]
        if args["method"] in TABLES:
            from meijin import training

            if args["preset"] not in (None, "quick"):
                raise BadParameter(f"preset '{args['preset']}': {args['method']} has 'quick' only")
            if why := training.configure(args["method"], game, changes=changes).unfit(game):
                raise BadParameter(why)
        return args | {"game": str(game), "changes": changes, "evaluate": evaluate}

    # ---- what checkpoints think ----

    def opinions(self, ask: Ask) -> int:
        """What every kept checkpoint of a run thinks of a position, oldest first; each is told as it comes."""
        folder, state = self._folder(ask.args["name"]), self._state(ask)
        paths = files.numbered(folder / "checkpoints")
        latest = folder / "checkpoints" / files.LATEST
        paths += [latest] if latest.exists() else []
        if not paths:
            raise BadParameter(f"run '{folder.name}' has no checkpoints yet")
        step = max(1, math.ceil(len(paths) / MOST_OPINIONS))
        chosen = [path for k, path in enumerate(paths) if k % step == 0 or k == len(paths) - 1]
        for path in chosen:
            if ask.stopped:
                break
            ask.part({"checkpoint": path.stem, **self._opinion(path, state)})
        return len(chosen)

    def _opinion(self, path: Path, state: State) -> dict[str, Any]:
        net, kind = _net(path, state)
        moves: list[dict[str, Any]]
        if kind == "td":
            found = net.analyse(state)
            value: Any = numbers(found.value)
            moves = [{"move": int(each.move), "prior": None, "value": numbers(each.value)} for each in found.moves]
        elif kind == "value":
            values = net.move_values(state)
            value = numbers(net.position(state))
            order = sorted(range(len(values)), key=lambda k: -values[k][state.turn])
            moves = [{"move": int(state.legal_moves[k]), "prior": None, "value": numbers(values[k])} for k in order]
        else:
            priors = net.priors(state)
            value = numbers(net.position(state)) if kind == "zero" else None
            order = sorted(range(len(priors)), key=lambda k: -priors[k])
            moves = [{"move": int(state.legal_moves[k]), "prior": float(priors[k]), "value": None} for k in order]
        said = files.about(path) or {}
        facts = said.get("facts", {})
        iteration = facts.get("iteration") if isinstance(facts, dict) else None
        return {"iteration": iteration, "value": value, "moves": moves[:LIKELIEST]}

    def _state(self, ask: Ask) -> State:
        at = ask.args["at"]
        game = game_of(at["game"])
        state = State(game) if at["position"] is None else State.from_position(game, at["position"])
        state.play_line(at["moves"])
        if state.turn < 0:
            raise BadParameter("no seat is to move in this position")
        return state

    def boards(self, ask: Ask) -> None:
        """Games that a run's newest net plays against itself by its policy, move by move, until nobody looks."""
        folder = self._folder(ask.args["name"])
        ended = time.monotonic() + ask.args["most"]
        seen: Any = None
        agent: Any = None
        states: list[State] = []
        while not ask.stopped and time.monotonic() < ended:
            path = files.find(folder)
            if (now := (path, path.stat().st_mtime_ns)) != seen:  # the run has gone on
                agent, seen = _player(path), now
                game = game_of(str((files.about(path) or {}).get("game", "")))
            states = states or [_begun(State(game)) for _ in range(ask.args["count"])]
            for k, state in enumerate(states):
                if state.is_over:
                    states[k] = _begun(State(game))
                else:
                    # Without chance, an agent that always plays alike would play the same game on all boards.
                    varied = agent.deterministic and not game.chance and len(state.history) < VARIED
                    move = choice(state.legal_moves) if varied else agent.act(state)
                    advance(state, int(move), fresh_seed())
            ask.part([{"moves": [int(move) for move in state.history], "look": look_at(state)} for state in states])
            time.sleep(ask.args["every"])

    def calls(self) -> dict[str, Callable[[Ask], Any]]:
        own = (self.list_runs, self.show_run, self.train, self.check_run, self.opinions, self.boards)
        return {fn.__name__: fn for fn in own}


def _begun(state: State) -> State:
    return state.roll(stream(fresh_seed()))


def _net(path: Path, state: State) -> tuple[Any, str]:
    """The net of a checkpoint and what kind it is."""
    from meijin.agents.policy_value import net_of

    kind = files.kind(path)
    if kind == "td":
        agent = _player(path)
        if why := agent.unfit(state.game):
            raise BadParameter(f"this run's networks cannot look at the position: {why}")
        return agent, kind
    want: Literal["policy", "value"] = "value" if kind == "classic-value" else "policy"
    net = net_of(str(path), want)
    if why := net.unfit(state.game):
        raise BadParameter(f"this run's nets cannot look at the position: {why}")
    return net, "zero" if kind == "zero" else want


def _player(path: Path) -> Any:
    if files.kind(path) == "td":
        from meijin.agents.td import player

        return player(str(path))
    from meijin.agents.policy_value import Policy, Value

    return Value(str(path)) if files.kind(path) == "classic-value" else Policy(str(path))


def _tuples(latest: Path) -> dict[str, Any] | None:
    """The tuples of a run's newest checkpoint; None if it has none, or they cannot be told."""
    if files.kind(latest) != "td":
        return None
    from meijin.learning.td.summary import summary

    try:
        found = summary(latest)
    except MeijinError:
        return None
    return None if found is None else asdict(found)


def _json(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(found, dict):
        raise MeijinError(f"{path} is not a config")
    return found


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _plain(value: Any, text: re.Pattern[str] = WORD) -> bool:
    if isinstance(value, list):
        return len(value) <= 100 and all(_plain(each, text) for each in value)
    if isinstance(value, Mapping):
        return False
    return bool(text.fullmatch(value)) if isinstance(value, str) else True
