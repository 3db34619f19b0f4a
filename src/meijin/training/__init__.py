"""Training: runs of all learners, for Python users and for `meijin train`.

    from meijin import training

    run = training.zero("connect_four", preset="quick", out="runs/c4", seconds=60)
    for event in run:                # or run.go(handler, ...); run.stop() from any thread
        print(event)

    training.resume("runs/c4", seconds=120).go()

A run is a directory; it can be stopped or killed at any time and resumed. It prints nothing; it reports what it does by
typed events (`meijin.training.events`). PyTorch is imported when a run is made, not before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, UnknownName, suggest
from meijin.core.game import Game
from meijin.learning.config import RunConfig, read
from meijin.learning.files import need_torch
from meijin.training.champions import make_champion
from meijin.training.events import Event, Handler
from meijin.training.folder import RunFolder

if TYPE_CHECKING:
    from meijin.training.classic_run import ClassicRun
    from meijin.training.run import Run
    from meijin.training.zero_run import ZeroRun

__all__ = ["METHODS", "Event", "Handler", "classic", "make_champion", "resume", "start", "zero"]

C = TypeVar("C", bound=RunConfig)

#: A file, a part of a config as values, or a whole config.
Config = str | Path | Mapping[str, Any] | RunConfig


def zero(
    game: Game | str,
    *,
    preset: str | None = None,
    config: Config | None = None,
    changes: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    seconds: float | None = None,
    iterations: int | None = None,
    evaluate: Sequence[str] = (),
    warm: str | None = None,
    warm_games: int | None = None,
    from_games: str | Path | None = None,
    device: str = "cpu",
    selfplay_device: str | Sequence[str] = (),
    ray: str | None = None,
    actors: int | None = None,
    **options: Any,
) -> ZeroRun:
    """A run of AlphaZero, ready to `go`.

    The settings are those of the preset, changed by `config` (a JSON or TOML file, or values), then by `changes`
    (`{"search.simulations": 64}`), then by the other arguments. `out`: the run's directory or its address in an
    object store (`s3://bucket/runs/go`), by default runs/GAME;
    `resume` continues the run that is there. `seconds` of wall-clock time and `iterations` count earlier sessions too;
    if only one is given, it alone decides. `evaluate`: evaluators, whose goals end the run. `warm`: an agent whose
    games are learned first, or `from_games`, a file or database of games. `device`: where the net learns and, unless
    `selfplay_device` names others (`"cuda:0,cuda:1"`), plays. `ray`: the address of a Ray cluster that plays, with at
    most that many `actors`; "" starts one on this machine. `options` are those of `Run`, such as `handlers`.
    """
    need_torch("training")
    from meijin.learning.zero.presets import preset as preset_of
    from meijin.training.zero_run import ZeroRun

    game = _named(game)
    folder = Path(out) if out else Path("runs") / _folder_name(game)
    changes = dict(changes or {})
    if warm or warm_games is not None:
        changes |= {"warm.games": warm_games or 200} | ({"warm.agent": warm} if warm else {})
    if from_games:
        changes["warm.records"] = str(from_games)
    if evaluate:
        changes["evaluation.by"] = list(evaluate)
    if preset and resume:
        raise BadParameter("a resumed run keeps its config; change single values with --set")
    name = preset or ("strong" if device.startswith("cuda") else "quick")
    first = _config(lambda: preset_of(name, game), game, folder, resume, config)
    made = first.changed(changes).finish_in(seconds, iterations)
    named = selfplay_device.split(",") if isinstance(selfplay_device, str) else selfplay_device
    devices = tuple(each.strip() for each in named)
    return ZeroRun(
        folder, made, resume=resume, device=device, selfplay_devices=devices, ray=ray, actors=actors, **options
    )


def classic(
    game: Game | str,
    *,
    config: Config | None = None,
    changes: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    seconds: float | None = None,
    iterations: int | None = None,
    evaluate: Sequence[str] = (),
    device: str = "cpu",
    **options: Any,
) -> ClassicRun:
    """A run of a classic net, ready to `go`; arguments as for `zero`."""
    need_torch("training")
    from meijin.learning.classic.config import ClassicConfig
    from meijin.training.classic_run import ClassicRun

    game = _named(game)
    folder = Path(out) if out else Path("runs") / f"{_folder_name(game)}-classic"
    changes = {**(changes or {}), **({"evaluation.by": list(evaluate)} if evaluate else {})}
    first = _config(lambda: ClassicConfig(str(game)), game, folder, resume, config)
    made = first.changed(changes).finish_in(seconds, iterations)
    return ClassicRun(folder, made, resume=resume, device=device, **options)


#: The learners by name.
METHODS: dict[str, Callable[..., Run[Any]]] = {"zero": zero, "classic": classic}


def start(method: str, game: Game | str, **arguments: Any) -> Run[Any]:
    """A run of the method of that name."""
    if method not in METHODS:
        raise UnknownName(f"unknown method '{method}'{suggest(method, METHODS)}; methods are {', '.join(METHODS)}")
    return METHODS[method](game, **arguments)


def resume(folder: str | Path, **arguments: Any) -> Run[Any]:
    """The run of a directory, to be continued; `arguments` such as `seconds`, `iterations`, `changes` and `device`."""
    place = RunFolder(folder)
    place.check(resume=True)
    kept = read(place.config)
    return start(str(kept.get("method", "zero")), str(kept.get("game", "")), out=folder, resume=True, **arguments)


def _named(game: Game | str) -> Game:
    made = make(game) if isinstance(game, str) else game
    if not made.id:
        raise BadParameter("a run needs a game with a name: make it with a function decorated with @game")
    return made


def _folder_name(game: Game) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "-", str(game)).strip("-")


def _config(usual: Callable[[], C], game: Game, folder: Path, resume: bool, config: Config | None) -> C:
    """The run's own config if it is resumed, else the usual one changed by a given one."""
    place = RunFolder(folder)
    place.check(resume)
    made = usual()
    if resume:
        if config is not None:
            raise BadParameter("a resumed run keeps its config; change single values with --set")
        made, source = type(made).load(place.config), f"'{folder}'"
    elif isinstance(config, RunConfig):
        made, source = type(made).from_dict(config.to_dict()), "config"
    elif config is not None:
        source = str(config) if isinstance(config, str | Path) else "config"
        made = made.changed(read(config) if isinstance(config, str | Path) else config, source)
    if made.game != str(game):
        raise BadParameter(f"{source} is for {made.game}, not for {game}")
    return made
