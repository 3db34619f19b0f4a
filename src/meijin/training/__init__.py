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
from typing import TYPE_CHECKING, Any

from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, UnknownName, suggest
from meijin.core.game import Game
from meijin.learning.config import RunConfig, read
from meijin.learning.files import need_torch
from meijin.training.champions import make_champion
from meijin.training.early import Early
from meijin.training.events import Event, Handler
from meijin.training.folder import RunFolder

if TYPE_CHECKING:
    from meijin.training.classic_run import ClassicRun
    from meijin.training.run import Run
    from meijin.training.td_run import TdRun
    from meijin.training.zero_run import ZeroRun

__all__ = [
    "METHODS",
    "Event",
    "Handler",
    "classic",
    "configure",
    "make_champion",
    "q",
    "resume",
    "sarsa",
    "start",
    "td",
    "zero",
]

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
    games are learned first, or `from_games`, a file or database of games. `device`: where the net learns
    (`"cuda:0,cuda:1"`: each has a share of every batch) and, unless `selfplay_device` names others, plays. `ray`: the
    address of a Ray cluster that plays, with at most that many `actors`; "" starts one on this machine. `options` are
    those of `Run`, such as `handlers`.
    """
    need_torch("training")
    game = _named(game)
    folder = Path(out or default_folder("zero", game))
    changes = dict(changes or {})
    if warm or warm_games is not None:
        changes |= {"warm.games": warm_games or 200} | ({"warm.agent": warm} if warm else {})
    if from_games:
        changes["warm.records"] = str(from_games)
    first = _usual("zero", game, folder, resume, preset, config, device)
    made = _changed(first, changes, evaluate, seconds, iterations)
    named = selfplay_device.split(",") if isinstance(selfplay_device, str) else selfplay_device
    devices = tuple(each.strip() for each in named)
    plays = next((name for name in devices or device.split(",") if name.startswith("cuda")), None)
    early = Early((made.game, *made.variants), made.search.gumbel, plays) if plays and ray is None else None
    try:
        from meijin.training.zero_run import ZeroRun

        options |= {"ray": ray, "actors": actors, "early": early}
        return ZeroRun(folder, made, resume=resume, device=device, selfplay_devices=devices, **options)
    except BaseException:
        if early is not None:
            early.close()
        raise


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
    from meijin.training.classic_run import ClassicRun

    game = _named(game)
    folder = Path(out or default_folder("classic", game))
    first = _usual("classic", game, folder, resume, None, config, device)
    made = _changed(first, changes or {}, evaluate, seconds, iterations)
    return ClassicRun(folder, made, resume=resume, device=device, **options)


def td(
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
    learn: str | None = None,
    device: str = "cpu",
    **options: Any,
) -> TdRun:
    """A run of temporal-difference learning with an n-tuple network, ready to `go`; arguments as for `zero`.

    `learn`: "td" (the default), "sarsa" or "q". `device`: "cpu", or "cuda" for learn="td". The only preset is "quick":
    one minute.
    """
    from meijin.training.td_run import TdRun

    game, method = _named(game), learn or "td"
    folder = Path(out or default_folder(method, game))
    first = _usual(method, game, folder, resume, preset, config)
    made = _changed(first, changes or {}, evaluate, seconds, iterations)
    return TdRun(folder, made, resume=resume, device=device, **options)


def sarsa(game: Game | str, **arguments: Any) -> TdRun:
    """A run of SARSA; arguments as for `td`."""
    return td(game, learn="sarsa", **arguments)


def q(game: Game | str, **arguments: Any) -> TdRun:
    """A run of Q-learning; arguments as for `td`."""
    return td(game, learn="q", **arguments)


#: The learners by name.
METHODS: dict[str, Callable[..., Run[Any]]] = {"zero": zero, "classic": classic, "td": td, "sarsa": sarsa, "q": q}


def start(method: str, game: Game | str, **arguments: Any) -> Run[Any]:
    """A run of the method of that name."""
    check_method(method)
    return METHODS[method](game, **arguments)


def check_method(method: str) -> None:
    if method not in METHODS:
        raise UnknownName(f"unknown method '{method}'{suggest(method, METHODS)}; methods are {', '.join(METHODS)}")


def configure(
    method: str,
    game: Game | str,
    *,
    preset: str | None = None,
    config: Config | None = None,
    changes: Mapping[str, Any] | None = None,
    seconds: float | None = None,
    iterations: int | None = None,
    evaluate: Sequence[str] = (),
    device: str = "cpu",
) -> RunConfig:
    """The config that a new run with these arguments would have; arguments as for `zero`."""
    check_method(method)
    first = _usual(method, _named(game), None, False, preset, config, device)
    made: RunConfig = _changed(first, changes or {}, evaluate, seconds, iterations)
    return made


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


def default_folder(method: str, game: Game) -> Path:
    """Where a run goes unless somebody says otherwise."""
    name = re.sub(r"[^A-Za-z0-9_]+", "-", str(game)).strip("-")
    return Path("runs") / (name if method == "zero" else f"{name}-{method}")


def _preset(method: str, game: Game, name: str | None, device: str) -> Any:
    """The config of a preset; the usual one if none is named."""
    if method == "zero":
        from meijin.learning.zero.presets import preset

        return preset(name or ("strong" if device.startswith("cuda") else "quick"), game)
    if method == "classic":
        from meijin.learning.classic.config import ClassicConfig

        if name:
            raise BadParameter(f"preset '{name}': classic has no presets; change single values with --set")
        return ClassicConfig(str(game))
    from meijin.learning.td.config import TdConfig

    if name not in (None, "quick"):
        raise BadParameter(f"preset '{name}': {method} has 'quick' only; change single values with --set")
    made = TdConfig(str(game)).changed({"learn": method})
    return made.finish_in(60.0, None) if name else made


def _usual(
    method: str,
    game: Game,
    folder: Path | None,
    resume: bool,
    preset: str | None,
    config: Config | None,
    device: str = "cpu",
) -> Any:
    """The run's own config if it is resumed, else that of the preset, changed by a given one."""
    made, source = _preset(method, game, preset, device), "config"
    if folder is not None:
        place = RunFolder(folder)
        place.check(resume)
        if resume:
            if preset or config is not None:
                raise BadParameter("a resumed run keeps its config; change single values with --set")
            made, source = type(made).load(place.config), f"'{folder}'"
    if isinstance(config, RunConfig):
        made = type(made).from_dict(config.to_dict())
    elif config is not None:
        source = str(config) if isinstance(config, str | Path) else "config"
        made = made.changed(read(config) if isinstance(config, str | Path) else config, source)
    if made.game != str(game):
        if str(make(made.game)) != str(game):
            raise BadParameter(f"{source} is for {made.game}, not for {game}")
        made = made.changed({"game": str(game)}, source)
    if method in ("sarsa", "q") and made.learn != method:
        raise BadParameter(f"{source} is for learn={made.learn}, not for {method}")
    return made


def _changed(
    made: Any, changes: Mapping[str, Any], evaluate: Sequence[str], seconds: float | None, iterations: int | None
) -> Any:
    more = {"evaluation.by": list(evaluate)} if evaluate else {}
    return made.changed({**changes, **more}).finish_in(seconds, iterations)
