"""The configs of the experiments can be read, suit their games, and train."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from meijin.core.catalogue import make  # noqa: E402
from meijin.learning.config import read  # noqa: E402
from meijin.learning.nets.plan import Plan  # noqa: E402
from meijin.learning.zero.config import ZeroConfig  # noqa: E402
from meijin.learning.zero.presets import PRESETS, preset  # noqa: E402
from meijin.training.zero_run import ZeroRun  # noqa: E402

FOLDER = Path(__file__).parent.parent / "experiments" / "zero"

#: As little as there can be of each part of a run.
LITTLE = {
    "net": {"blocks": 1, "channels": 8, "policy_channels": 8, "value_hidden": 8},
    "search": {"simulations": 2},
    "selfplay": {"games": 4, "threads": 1, "overlap": False},
    "training": {"reuse": 2.0, "batch": 8},
    "gate": {"games": 2, "simulations": 2},
    "length": {"positions": 16},
}


def test_every_config_suits_its_game() -> None:
    files = sorted(FOLDER.glob("*.json"))
    assert len(files) >= 15
    for file in files:
        config = ZeroConfig.load(file)
        game = make(config.game)
        assert config.unfit(game) is None, file
        assert Plan(game, config.shape).config == config.shape


@pytest.mark.parametrize("name", PRESETS)
def test_configs_say_how_to_learn_whatever_the_preset(name: str) -> None:
    """They are laid over a preset: what they leave out would change with it."""
    for file in sorted(FOLDER.glob("*.json")):
        alone = ZeroConfig.load(file)
        laid = preset(name, make(alone.game)).changed(read(file))
        said = [(each.training.optimizer, each.training.rate, each.shape.draw) for each in (alone, laid)]
        assert said[0] == said[1], file


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("name", ["abalone", "minishogi"])
def test_the_set_ups_of_the_theses_train(name: str, tmp_path: Path) -> None:
    config = ZeroConfig.load(FOLDER / f"{name}-thesis.json").changed({"game": f"{name}(max_plies=40)", **LITTLE})
    run = ZeroRun(tmp_path / name, config)
    run.iterate()
    assert run.positions >= 16 and run.learner.steps > 0
    assert run.learner.rate(0.5) <= run.config.training.rate
