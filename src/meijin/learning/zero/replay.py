"""The replay buffer: the latest positions of self-play, from which the net learns."""

from __future__ import annotations

import torch
from torch import Tensor

from meijin.core.game import Game
from meijin.learning.zero.positions import Positions


class ReplayBuffer:
    """A ring of positions in one piece of memory. `total` counts all there ever were."""

    def __init__(self, game: Game, capacity: int, width: int, device: str | torch.device = "cpu"):
        self.game, self.capacity, self.width, self.device = game, capacity, width, torch.device(device)
        self.before = 0  # positions that a resumed run had dropped earlier
        self.added = 0
        self._data = Positions.empty(game, width, min(capacity, 4096), device)

    @property
    def total(self) -> int:
        return self.before + self.added

    def __len__(self) -> int:
        return min(self.added, self.capacity)

    @property
    def nbytes(self) -> int:
        return self._data.nbytes

    def add(self, new: Positions) -> None:
        self.added += len(new)
        new = new[-self.capacity :].to(self.device)
        self._grow(len(self))
        at = torch.arange(self.added - len(new), self.added, device=self.device) % self.capacity
        for mine, theirs in zip(self._data, new, strict=True):
            mine[at] = theirs

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
        at = torch.arange(self.added - count, self.added, device=self.device) % self.capacity
        return self._data[at]

    def sample(self, count: int) -> Positions:
        """`count` positions, evenly spread over those there are, or all."""
        count = min(count, len(self))
        return self._data[torch.arange(count, device=self.device) * len(self) // max(1, count)]


def deduplicate(positions: Positions) -> Positions:
    """One row per position, its policies, values and outcomes averaged over all equal ones.

    Of the owners of cells the newest counts.
    """
    keys = _keys(positions)
    _, group, counts = torch.unique(keys, return_inverse=True, return_counts=True)
    if len(counts) == len(positions):
        return positions
    rows = torch.arange(len(positions), device=keys.device)
    newest = torch.zeros_like(counts).scatter_reduce(0, group, rows, "amax", include_self=False)
    found = positions[newest]
    # Most positions are unique: only the others are averaged, which saves memory.
    several = counts > 1
    number = several.cumsum(0) - 1  # of a group among those
    rows = several[group].nonzero()[:, 0]
    own, sizes = number[group[rows]], counts[several].float()
    for name in ("probs", "values", "outcomes", "surprise"):
        tensor, mean = getattr(positions, name)[rows].float(), getattr(found, name)
        total = torch.zeros((len(sizes), tensor.shape[1]), device=keys.device).index_add_(0, own, tensor)
        mean[several] = (total / sizes[:, None]).to(mean.dtype)
    other = (positions.moves[rows] != found.moves[group[rows]]).any(1)
    if bool(other.any()):  # of moves in another order, or of others: these do not belong together column by column
        differ = torch.zeros_like(sizes, dtype=torch.bool).index_fill_(0, own[other], True)
        mine = differ[own]
        number = (differ.cumsum(0) - 1)[own[mine]]
        rows, at = rows[mine], several.nonzero()[:, 0][differ]
        moves, probs = _mean_policies(positions.moves[rows], positions.probs[rows].float(), number, sizes[differ])
        found.moves[at], found.probs[at] = moves, probs.to(found.probs.dtype)
    return found


def _mean_policies(moves: Tensor, probs: Tensor, group: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor]:
    """[group, width] moves, the likeliest first, and their mean probabilities; policies may list different moves."""
    listed, span = moves >= 0, int(moves.max()) + 1
    keys, entry = torch.unique((group[:, None] * span + moves)[listed], return_inverse=True)
    owner = keys // span
    means = torch.zeros(len(keys), device=moves.device).index_add_(0, entry, probs[listed]) / sizes[owner]
    order = means.argsort(descending=True, stable=True)
    order = order[owner[order].argsort(stable=True)]
    owner = owner[order]
    rank = torch.arange(len(keys), device=moves.device) - torch.searchsorted(owner, owner)
    kept = rank < moves.shape[1]  # the least likely may find no room
    at, order = (owner[kept], rank[kept]), order[kept]
    shape = (len(sizes), moves.shape[1])
    found, mean = torch.full(shape, -1, dtype=moves.dtype, device=moves.device), torch.zeros(shape, device=moves.device)
    found[at], mean[at] = (keys[order] % span).to(moves.dtype), means[order]
    return found, mean


def set_aside(positions: Positions, share: float) -> tuple[Positions, Positions]:
    """The positions without about that share of them, and those. What they are decides, so equal ones stay together.

    With a smaller share some come back, but none is set aside that was not with a larger one.
    """
    aside = ((_keys(positions) >> 20) & 0xFFFFF) < int(share * 2**20)
    return positions[~aside], positions[aside]


def _keys(positions: Positions) -> Tensor:
    """64 bits per position: a random linear hash of what the net sees of it, and of whose turn it is."""
    generator = torch.Generator().manual_seed(20261115)
    keys = torch.zeros(len(positions), dtype=torch.int64, device=positions.bits.device)
    for part in (positions.bits, positions.numbers.view(torch.int16), positions.facts[:, :1]):
        factors = torch.randint(-(2**63), 2**63 - 1, (part.shape[1],), generator=generator).to(keys.device)
        for column in range(part.shape[1]):  # column by column: the whole is never widened
            keys += (part[:, column].long() + 1) * factors[column]
            keys ^= keys >> 29
    return keys
