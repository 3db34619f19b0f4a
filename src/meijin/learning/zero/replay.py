"""The replay window: the latest positions of self-play, from which the net learns."""

from __future__ import annotations

import torch
from torch import Tensor

from meijin.core.game import Game
from meijin.learning.zero.positions import Positions


class Window:
    """A ring of positions in one piece of memory. `total` counts all that were ever added."""

    def __init__(self, game: Game, capacity: int, width: int, device: str | torch.device = "cpu"):
        self.game, self.capacity, self.width, self.device = game, capacity, width, torch.device(device)
        self.total = 0
        self._data = Positions.empty(game, width, min(capacity, 4096), device)

    def __len__(self) -> int:
        return min(self.total, self.capacity)

    @property
    def nbytes(self) -> int:
        return self._data.nbytes

    def add(self, new: Positions) -> None:
        new = new[-self.capacity :].to(self.device)
        self._grow(min(self.capacity, self.total + len(new)))
        at = torch.arange(self.total, self.total + len(new), device=self.device) % self.capacity
        for mine, theirs in zip(self._data, new, strict=True):
            mine[at] = theirs
        self.total += len(new)

    def _grow(self, rows: int) -> None:
        have = len(self._data)
        if rows > have:
            more = min(self.capacity, max(rows, 2 * have))
            bigger = Positions.empty(self.game, self.width, more, self.device)
            for mine, theirs in zip(bigger, self._data, strict=True):
                mine[:have] = theirs
            self._data = bigger

    def latest(self, count: int) -> Positions:
        """The newest `count` positions, or all there are; oldest first unless the ring has wrapped."""
        count = min(count, len(self))
        if count == len(self):
            return self._data[:count]
        at = torch.arange(self.total - count, self.total, device=self.device) % self.capacity
        return self._data[at]


def deduplicate(positions: Positions) -> Positions:
    """One row a position, its policies, values and outcomes averaged over all that are equal.

    Policies are averaged where they list the same moves; else the newest counts.
    """
    keys = _keys(positions)
    _, group, counts = torch.unique(keys, return_inverse=True, return_counts=True)
    if len(counts) == len(positions):
        return positions
    rows = torch.arange(len(positions), device=keys.device)
    newest = torch.zeros_like(counts).scatter_reduce(0, group, rows, "amax", include_self=False)

    def mean(tensor: Tensor, mask: Tensor | None = None) -> Tensor:
        total = torch.zeros((len(counts), tensor.shape[1]), device=tensor.device)
        weight = torch.ones(len(tensor), device=tensor.device) if mask is None else mask.float()
        total.index_add_(0, group, tensor.float() * weight[:, None])
        shares = torch.zeros(len(counts), device=tensor.device).index_add_(0, group, weight)
        return (total / shares[:, None]).to(tensor.dtype)

    alike = (positions.moves == positions.moves[newest[group]]).all(1)
    base = positions[newest]
    return Positions(
        base.bits,
        base.numbers,
        base.moves,
        mean(positions.probs, alike),
        mean(positions.values),
        mean(positions.outcomes),
        base.facts,
    )


def _keys(positions: Positions) -> Tensor:
    """64 bits of every position: a random linear hash of what the net sees of it, and whose turn it is."""
    seen = torch.cat(
        [positions.bits.long(), positions.numbers.view(torch.int16).long(), positions.facts[:, :1].long()], 1
    )
    generator = torch.Generator().manual_seed(20261115)
    factors = torch.randint(-(2**63), 2**63 - 1, (seen.shape[1],), generator=generator).to(seen.device)
    keys = torch.zeros(len(seen), dtype=torch.int64, device=seen.device)
    for column in range(seen.shape[1]):  # column by column: no product of the whole size is ever held
        keys += (seen[:, column] + 1) * factors[column]
        keys ^= keys >> 29
    return keys
