"""`meijin train`: a net learns a game; what it learns lies in a run's directory and can be gone on with at any time."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from meijin.cli.common import prepare
from meijin.cli.program import INTERRUPTED
from meijin.cli.training import Display, display
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, MeijinError, UnknownName, suggest
from meijin.core.game import Game

if TYPE_CHECKING:
    from meijin.arena.evaluators import Evaluator
    from meijin.learning.zero.config import ZeroConfig
    from meijin.learning.zero.nets import Net
    from meijin.learning.zero.positions import Positions


@dataclass(frozen=True)
class Options:
    """What was asked for on the command line; None and empty: nothing."""

    preset: str | None = None
    config: Path | None = None
    changes: Sequence[str] = ()  # "search.simulations=64"
    out: Path | None = None
    resume: bool = False
    device: str | None = None
    selfplay_device: str | None = None
    train_device: str | None = None
    warm: str | None = None
    warm_games: int | None = None
    from_games: Path | None = None
    evaluate: Sequence[str] = ()
    seconds: float | None = None
    iterations: int | None = None
    json: bool = False


class Stopped(Exception):
    """Somebody pressed Ctrl-C."""


def train(name: str, method: str, options: Options, load: Sequence[Path]) -> None:
    prepare(load)
    # Before PyTorch is loaded: threads that wait shall sleep, or a busy machine makes training ten times slower.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if method not in METHODS:
        raise UnknownName(f"unknown way to train '{method}'{suggest(method, METHODS)}; known: {', '.join(METHODS)}")
    game = make(name)
    if not game.id:
        raise BadParameter("a run needs a game with a name: make it through a function decorated with @game")
    folder = options.out or Path("runs") / _folder_name(game, method)
    with display(str(game), folder, options.json) as shown, _stopping(shown) as stopped:
        shown.seats = game.seats
        METHODS[method](game, folder, options, shown, stopped)


def _folder_name(game: Game, method: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9_]+", "-", str(game)).strip("-")
    return plain if method == "zero" else f"{plain}-{method}"


@contextmanager
def _stopping(shown: Display) -> Iterator[Callable[[], bool]]:
    """Ctrl-C asks the run to stop at the next good moment; a second one does not wait for it."""
    asked = threading.Event()

    def ask(number: int, frame: Any) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()
        shown.stopping()

    here = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)} if here else {}
    try:
        yield asked.is_set
    except (Stopped, KeyboardInterrupt):
        shown.stopped()
        raise typer.Exit(INTERRUPTED) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# ---- settings ----


def _assignments(texts: Sequence[str]) -> dict[str, Any]:
    """`["search.simulations=64"]` -> values, as JSON where it is, else as text."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise BadParameter(f"--set '{text}': write NAME=VALUE, as in --set search.simulations=64")
        try:
            found[name.strip()] = json.loads(value)
        except ValueError:
            found[name.strip()] = value
    return found


def zero_config(game: Game, folder: Path, options: Options) -> ZeroConfig:
    """The preset, changed by the file, changed by what else was given; of a run that is resumed, its own instead."""
    from meijin.learning.zero.config import ZeroConfig
    from meijin.learning.zero.presets import finish_in, preset

    if options.resume:
        if options.preset or options.config:
            raise BadParameter("--resume goes on with the run's own config; change single values with --set")
        if not (folder / "config.json").exists():
            raise BadParameter(f"'{folder}' holds no run to resume; leave out --resume to begin one there")
        config = ZeroConfig.load(folder / "config.json")
        if config.game != str(game):
            raise BadParameter(f"'{folder}' is a run of {config.game}, not of {game}; choose another --out")
    else:
        config = preset(options.preset or ("strong" if _is_cuda(options) else "quick"), game)
    if options.config:
        given = _read(options.config)
        if (other := given.get("game", str(game))) != str(game):
            raise BadParameter(f"{options.config} is for {other}, not for {game}")
        config = config.changed(given)
    changes = _assignments(options.changes)
    if options.warm or options.warm_games is not None:
        changes |= {"warm.agent": options.warm or config.warm.agent, "warm.games": options.warm_games or 200}
    if options.from_games:
        changes["warm.records"] = str(options.from_games)
    if options.evaluate:
        changes["evaluation.by"] = list(options.evaluate)
    return finish_in(config.changed(changes), options.seconds, options.iterations)


def _read(path: Path) -> dict[str, Any]:
    from meijin.learning.classic.config import read_json

    given = read_json(path)
    if not isinstance(given, dict):
        raise BadParameter(f"{path}: a config is a JSON object, not {type(given).__name__}")
    return given


def _is_cuda(options: Options) -> bool:
    return "cuda" in (options.device or options.train_device or "")


def _devices(options: Options) -> tuple[str, tuple[str, ...]]:
    """(for training, for self-play)."""
    training = options.train_device or options.device or "cpu"
    playing = tuple(part.strip() for part in (options.selfplay_device or options.device or training).split(","))
    import torch

    for name in (training, *playing):
        if not re.fullmatch(r"cpu|cuda(:\d+)?", name):
            raise BadParameter(f"device '{name}': write cpu, cuda, or cuda:1 for the second GPU")
        index = int(name.partition(":")[2] or 0)
        if name != "cpu" and (not torch.cuda.is_available() or index >= torch.cuda.device_count()):
            raise BadParameter(f"device '{name}': PyTorch finds {torch.cuda.device_count()} GPUs here; choose cpu")
    return training, playing


# ---- zero ----


def _zero(game: Game, folder: Path, options: Options, shown: Display, stopped: Callable[[], bool]) -> None:
    from meijin.arena.evaluators import Goal, evaluator
    from meijin.learning.zero.files import need_torch
    from meijin.search.forest.scale import unscalable

    need_torch("training")
    if why := unscalable(game):
        raise BadParameter(f"{game} cannot be learned by zero: {why}")
    config = zero_config(game, folder, options)
    device, playing = _devices(options)
    measures = [evaluator(each) for each in config.evaluation.by]
    for each in measures:
        if why := each.unfit(game):
            raise BadParameter(f"{each.name} does not fit {game}: {why}")
    if not options.resume:
        _check_warm(game, config)

    from meijin.learning.zero.run import Run

    def report(event: dict[str, Any]) -> None:
        shown.event(event)
        saved_soon = event["what"] in ("training", "gate") or event == {"what": "evaluation"}
        if stopped() and not saved_soon:
            raise Stopped

    shown.event({"what": "starting"})
    run = Run(
        folder,
        config,
        resume=options.resume,
        device=device,
        selfplay_devices=playing,
        report=report,
        warm=(lambda: _warm(game, config, report)) if config.warm.agent or config.warm.records else None,
    )
    goal = Goal(config.evaluation.times, _streak(folder))

    def evaluate(net: Net) -> dict[str, float]:
        try:
            row = _evaluated(game, net, measures, config, device, goal, run.iteration, report)
        except Stopped:  # the iteration is worth saving without
            return {}
        if goal.done:
            run.enough = "all goals are reached"
        return row

    run.evaluate = evaluate if measures else None
    shown.begin(run.iteration, config.length.iterations, lambda: run.progress, lambda: run.seconds)
    if run.progress >= 1.0:
        raise MeijinError(
            f"the run in '{folder}' is finished ({run.iteration} iterations, {run.seconds:.0f} s); "
            "ask for more with --iterations or --seconds"
        )
    run.go()
    shown.done(f'zero("{folder}")', run.enough)


def _evaluated(
    game: Game,
    net: Net,
    measures: Sequence[Evaluator],
    config: ZeroConfig,
    device: str,
    goal: Any,
    seed: int,
    report: Callable[[dict[str, Any]], None],
) -> dict[str, float]:
    from meijin.agents.zero import OfNet
    from meijin.arena.evaluators import evaluate

    agent = OfNet(net, config.evaluation.simulations, c=config.search.c, fpu=config.search.fpu, device=device)
    found = []
    for each in measures:

        def step(done: int, total: int, name: str = each.name) -> None:
            report({"what": "evaluation", "name": name, "done": done, "total": total})

        found.append(evaluate(game, agent, each, seed=seed, step=step))
    goal.update(*found)
    row = {column(each.name): each.value for each in found}
    return row | ({"goal_streak": goal.streak} if any(each.goal is not None for each in found) else {})


def column(evaluator: str) -> str:
    """The name of an evaluator's column in metrics.csv."""
    return "eval_" + re.sub(r"[^A-Za-z0-9.]+", "_", evaluator).strip("_")


def _streak(folder: Path) -> int:
    """How often in a row the goals had been reached when the run was stopped."""
    import csv

    path = folder / "metrics.csv"
    if not path.exists():
        return 0
    with path.open(newline="") as file:
        found = [row["goal_streak"] for row in csv.DictReader(file) if row.get("goal_streak")]
    return int(float(found[-1])) if found else 0


def _check_warm(game: Game, config: ZeroConfig) -> None:
    from meijin.agents.catalogue import build

    warm = config.warm
    if warm.agent and warm.records:
        raise BadParameter("a warm start takes an agent's games or a file of games, not both")
    if warm.agent:
        build(warm.agent, game)
        if warm.games < 1:
            raise BadParameter(f"warm.games={warm.games}: a warm start needs games of {warm.agent}, such as 200")
    if warm.records and not Path(warm.records).is_file():
        raise BadParameter(f"there is no file of games '{warm.records}'")


def _warm(game: Game, config: ZeroConfig, report: Callable[[dict[str, Any]], None]) -> Positions:
    """Games of another agent or from a file, as positions to learn from."""
    from meijin.learning.zero.positions import imitated

    warm = config.warm
    played = []
    if warm.records:
        for record in _records(Path(warm.records), game):
            if record.ending != "forfeit":  # its score says nothing of the position
                played.append((record.moves, record.scores, len(record.task.opening)))
        if not played:
            raise BadParameter(f"{warm.records} holds no games of {game}")
    else:
        from meijin.arena.match import match
        from meijin.arena.pool import cores

        def on_game(record: Any) -> None:
            played.append((record.moves, record.scores, len(record.task.opening)))
            report({"what": "warm games", "done": len(played), "total": warm.games})

        match(game, [warm.agent] * game.seats, warm.games, config.selfplay.seed, on_game=on_game, workers=cores())
    return imitated(game, played[: warm.games or None], config.replay.policy_width)


def _records(path: Path, game: Game) -> Iterator[Any]:
    if path.suffix in (".db", ".sqlite", ".sqlite3"):
        from meijin.arena.store import Store

        with Store(path, create=False) as store:
            yield from store.games(game=str(game))
        return
    from meijin.arena.formats import read

    yield from (record for record in read(path) if record.task.game == str(game))


# ---- classic ----


def _classic(game: Game, folder: Path, options: Options, shown: Display, stopped: Callable[[], bool]) -> None:
    from meijin.learning.classic import ClassicConfig, Progress
    from meijin.learning.classic import train as run

    unused = {
        "--preset": options.preset,
        "--warm": options.warm or options.warm_games or options.from_games,
        "--evaluate": options.evaluate,
        "--seconds": options.seconds,
        "--device": options.selfplay_device or options.train_device or (options.device not in (None, "cpu")),
    }
    for name, asked in unused.items():
        if asked:
            raise BadParameter(f"{name} is for zero; classic nets train on the CPU by their --config")
    source = options.config or (folder / "config.json" if options.resume and folder.exists() else None)
    given = _read(source) if source else {}
    given |= _assignments(options.changes)
    if options.iterations is not None:
        given["iterations"] = options.iterations
    config = ClassicConfig.of(given, str(source or "config"))
    if given.get("game", game.id) != game.id:
        raise BadParameter(f"{source} is for {given['game']}, not for {game}")
    spent = [0.0, 0.0]  # seconds, share of the run

    def on_progress(progress: Progress) -> None:
        spent[0] += progress.seconds
        spent[1] = (progress.iteration + 1) / progress.of
        row = {name: value for name, value in asdict(progress).items() if value is not None and name != "of"}
        shown.event({"what": "iteration", **row, "iteration": progress.iteration + 1, "seconds": spent[0]})
        if stopped():
            raise Stopped

    def on_data(done: int, of: int) -> None:
        shown.event({"what": "positions", "done": done, "total": of})
        if stopped():
            raise Stopped

    shown.begin(0, config.iterations, lambda: spent[1], lambda: spent[0])
    run(game, config, folder, on_progress, resume=options.resume, on_data=on_data)
    if not spent[1]:
        raise MeijinError(
            f"the run in '{folder}' is finished ({config.iterations} iterations); ask for more with --iterations"
        )
    shown.done(f'{config.net}("{folder}")', "")


METHODS: dict[str, Callable[[Game, Path, Options, Display, Callable[[], bool]], None]] = {
    "zero": _zero,
    "classic": _classic,
}
