"""A run: iterations of data and training in a directory, which can be killed at any time and resumed.

    config.json             every setting, the game among them
    metrics.csv             a line an iteration
    checkpoints/0000.safetensors ...   the model of every iteration
    checkpoints/start.safetensors      the net before the first
    data.safetensors        positions and answers of a supervised run
    trainer.safetensors     weights, optimizer and games of the latest iteration: what resuming begins with

An iteration's random numbers follow from the config's seed and its number, so a resumed run equals one never stopped.
"""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.learning.classic import checkpoint
from meijin.learning.classic.config import ABOUT, ClassicConfig, read_json


@dataclass(frozen=True, slots=True)
class Progress:
    """What one iteration came to. None: it does not apply."""

    iteration: int  # the number of the model that was kept
    of: int  # iterations in all
    loss: float  # mean over the last epoch
    first_loss: float  # mean over the first epoch
    positions: int  # trained on
    wins: int | None  # of the learner against its opponent, before training
    draws: int | None
    losses: int | None
    best: float | None  # share of positions in which the favourite move is a best one
    keeps: float | None  # share of positions in which it keeps the score
    seconds: float


def train(
    game: Game,
    config: ClassicConfig,
    run_dir: str | Path,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    *,
    resume: bool = False,
    on_data: Callable[[int, int], None] = lambda done, of: None,
) -> Path:
    """Train a net and keep every iteration's model in `run_dir`; the path of the last one.

    `resume` goes on with the run that is there, after the last whole iteration; the config must be the same, but for
    `iterations`, which may grow. `on_data(done, of)` is told how far the positions of a supervised run are answered.
    """
    checkpoint.need_torch("training")
    from meijin.learning.classic.trainer import Trainer

    folder = Path(run_dir)
    _prepare(folder, game, config, resume)
    trainer = Trainer(game, config, folder)
    first = trainer.begin(on_data)
    history = _history(folder, first)
    for iteration in range(first, config.iterations):
        began = time.perf_counter()
        outcome = trainer.iterate(iteration)
        progress = Progress(
            iteration=iteration, of=config.iterations, seconds=round(time.perf_counter() - began, 3), **outcome
        )
        trainer.keep(iteration)
        history.append({key: _plain(value) for key, value in asdict(progress).items()})
        _write_history(folder, history)
        on_progress(progress)
    return model_path(folder, config.iterations - 1)


def model_path(folder: str | Path, iteration: int) -> Path:
    """Where the model of an iteration is kept."""
    return Path(folder) / "checkpoints" / f"{iteration:04d}{checkpoint.SUFFIX}"


def _prepare(folder: Path, game: Game, config: ClassicConfig, resume: bool) -> None:
    """Write the config of a new run, or check that of one that is resumed."""
    file = folder / "config.json"
    if file.exists():
        if not resume:
            raise BadParameter(
                f"there is a run in '{folder}' already; add --resume to go on with it, or choose another"
            )
        kept = read_json(file)
        if (old := kept.get("game")) != game.id:
            raise BadParameter(f"the run in '{folder}' is for {old}, not for {game}; choose another directory")
        before, now = ClassicConfig.of(kept, str(file)).as_dict(), config.as_dict()
        changed = [key for key in now if before[key] != now[key] and key != "iterations"]
        if changed:
            told = ", ".join(f"{key}={before[key]!r} (now {now[key]!r})" for key in changed)
            raise BadParameter(f"the run in '{folder}' has {told}; resume with its own config, or begin another run")
    elif resume:
        raise BadParameter(f"there is no run in '{folder}' to resume")
    if not game.id:
        raise BadParameter("a run needs a game with a name: make it through a function decorated with @game")
    about = dict(zip(ABOUT, ("classic", game.id), strict=True))
    text = json.dumps({**about, **config.as_dict()}, indent=2) + "\n"
    checkpoint.write(file, lambda path: _write_text(path, text))


def _plain(value: object) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _history(folder: Path, before: int) -> list[dict[str, str]]:
    """The metrics of the iterations that are kept; a line of one in flight is dropped."""
    file = folder / "metrics.csv"
    if not file.exists():
        return []
    with file.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    return [row for row in rows if row.get("iteration", "").isdigit() and int(row["iteration"]) < before]


def _write_history(folder: Path, history: list[dict[str, str]]) -> None:
    out = io.StringIO()
    writer = csv.DictWriter(out, [field.name for field in fields(Progress)], extrasaction="ignore")
    writer.writeheader()
    writer.writerows(history)
    checkpoint.write(folder / "metrics.csv", lambda path: _write_text(path, out.getvalue()))


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="")
