"""The positions that a run learns from: in memory, and in files for when it is resumed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from safetensors import SafetensorError, safe_open

from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.learning.files import SUFFIX
from meijin.learning.zero.config import ReplayConfig
from meijin.learning.zero.positions import Positions, policy_width
from meijin.learning.zero.replay import ReplayBuffer, deduplicate, set_aside


class Window:
    """The latest positions of a game and of its variants; each has its share of the room.

    The files of the game itself are in the folder, those of its variants in subfolders.
    """

    def __init__(self, games: Sequence[Game], config: ReplayConfig, folder: Path, device: str):
        self.config, self.aside = config, 0.5  # share of the positions that is never learned
        self.folders = [folder, *(folder / str(k) for k in range(1, len(games)))]
        self.buffers = [
            ReplayBuffer(game, max(1, config.window // len(games)), policy_width(game, config.policy_width), device)
            for game in games
        ]

    @property
    def totals(self) -> list[int]:
        """How many positions of each there ever were."""
        return [buffer.total for buffer in self.buffers]

    def add(self, iteration: int, new: Sequence[Positions], **facts: str) -> None:
        """Keep an iteration's positions, by variant; the facts go into the file."""
        for folder, buffer, found in zip(self.folders, self.buffers, new, strict=False):
            found.save(folder / f"{iteration:06d}{SUFFIX}", game=str(buffer.game), **facts)
            buffer.add(found)

    def latest(self, aside: int = 0) -> tuple[list[Positions], list[Positions]]:
        """What to learn from now, and about so many positions that are never learned; both by variant."""
        config, found = self.config, []
        for buffer in self.buffers:
            reach = min(buffer.capacity, max(config.start, config.growth * buffer.total))
            positions = buffer.latest(int(reach))
            found.append(deduplicate(positions) if config.deduplicate else positions)
        # Never more than before, or some would be set aside that have been learned.
        self.aside = min(self.aside, aside / max(1, sum(map(len, found))))
        parts = [set_aside(positions, self.aside) if aside else (positions, positions[:0]) for positions in found]
        return [learned for learned, _ in parts], [kept for _, kept in parts]

    def read(self, iteration: int, totals: Sequence[int]) -> None:
        """Read what the iterations up to that one left; `totals` is how many positions of each they had made.

        Files of later ones are removed; a warm start counts as iteration 0.
        """
        for folder, buffer, total in zip(self.folders, self.buffers, totals, strict=False):
            files = []
            for path in sorted(folder.glob(f"*{SUFFIX}")):
                if int(path.stem) > iteration:
                    path.unlink()  # of the iteration in flight when the run ended
                else:
                    files.append(path)
            buffer.before = max(0, total - sum(map(_rows, files)))
            for path in files:
                kept = Positions.load(path, buffer.game)
                if (width := kept.moves.shape[1]) != buffer.width:
                    raise MeijinError(
                        f"replay.policy_width: the run's positions list {width} moves each, and the config asks for "
                        f"{buffer.width}; restore the old width, or start a new run"
                    )
                buffer.add(kept)

    def surplus(self) -> tuple[list[Path], list[Path], int]:
        """Files of positions older than the buffers, those over the limit of disk space, and the bytes of the rest."""
        behind: list[Path] = []
        dropped: list[Path] = []
        whole, budget = 0, self.config.disk_mb * 2**20 / len(self.buffers) or math.inf
        for folder, buffer in zip(self.folders, self.buffers, strict=True):
            reach, size, full = len(buffer), 0, False
            for path in sorted(folder.glob(f"*{SUFFIX}"), reverse=True):  # newest first
                full = full or bool(size and size + path.stat().st_size > budget)  # the newest stays in any case
                if reach <= 0:
                    behind.append(path)
                elif full:
                    dropped.append(path)
                else:
                    size += path.stat().st_size
                reach -= _rows(path)
            whole += size
        return behind, dropped, whole


def _rows(path: Path) -> int:
    try:
        with safe_open(path, framework="np") as file:
            return int(file.get_slice("bits").get_shape()[0])
    except (SafetensorError, OSError):
        return 0
