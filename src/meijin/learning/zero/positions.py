"""Positions of self-play as tensors: packed planes, sparse policies, values and outcomes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load as from_bytes
from safetensors.torch import save as to_bytes
from torch import Tensor

from meijin.core import kernels
from meijin.core.atomic import write_file
from meijin.core.compile import Function
from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.learning.nets.images import images
from meijin.search.forest import Forest, layout
from meijin.search.forest.packing import make_pack, packing
from meijin.search.forest.scale import make_settle

UNKNOWN = -2  # in `owners`: the game was cut short or resigned, so nobody knows


@dataclass(frozen=True, slots=True)
class Positions:
    """Every tensor has one row per position. `values` are the search's, `outcomes` the game's, by seat and scaled."""

    bits: Tensor  # uint8 [n, byte]
    numbers: Tensor  # float16 [n, number]
    moves: Tensor  # int16 [n, width], as the mover sees them; -1 where there is none
    probs: Tensor  # float16 [n, width]
    values: Tensor  # float16 [n, seat]
    outcomes: Tensor  # float16 [n, seat]
    facts: Tensor  # int16 [n, 3]: mover, ply, plies left
    owners: Tensor  # int8 [n, cell]: the seat that owns it in the end, -1, or UNKNOWN; no columns without such a rule
    nets: Tensor  # int32 [n, 1]: the iteration whose net played it; 0 for games of others
    surprise: Tensor  # float16 [n, 1]: how far the search's policy is from that net's, in nats; 0 for games of others

    def __len__(self) -> int:
        return len(self.bits)

    def __getitem__(self, rows: Any) -> Positions:
        return Positions(*(tensor[rows] for tensor in self))

    def __iter__(self) -> Any:
        return (getattr(self, field.name) for field in fields(self))

    def to(self, device: str | torch.device) -> Positions:
        return Positions(*(tensor.to(device) for tensor in self))

    @property
    def nbytes(self) -> int:
        return sum(tensor.nbytes for tensor in self)

    @classmethod
    def cat(cls, parts: list[Positions]) -> Positions:
        return cls(*(torch.cat(tensors) for tensors in zip(*parts, strict=True)))

    @classmethod
    def empty(cls, game: Game, width: int, rows: int = 0, device: str | torch.device = "cpu") -> Positions:
        form, seats = packing(game), game.seats
        shapes = (
            (torch.uint8, max(1, form.bytes)),
            (torch.float16, max(1, form.numbers)),
            (torch.int16, width),
            (torch.float16, width),
            (torch.float16, seats),
            (torch.float16, seats),
            (torch.int16, 3),
            (torch.int8, form.cells if game.owners is not None else 0),
            (torch.int32, 1),
            (torch.float16, 1),
        )
        found = cls(*(torch.zeros((rows, n), dtype=dtype, device=device) for dtype, n in shapes))
        found.owners.fill_(UNKNOWN)
        return found

    def save(self, path: Path, **facts: str) -> None:
        tensors = {field.name: getattr(self, field.name).cpu().contiguous() for field in fields(self)}
        write_file(path, to_bytes(tensors, facts))

    @classmethod
    def load(cls, path: Path, game: Game) -> Positions:
        try:
            tensors = from_bytes(path.read_bytes())
            for name in ("owners", "nets", "surprise"):
                if name not in tensors:  # written before positions had them
                    tensors[name] = getattr(cls.empty(game, 1, len(tensors["bits"])), name)
            found = cls(**{field.name: tensors[field.name] for field in fields(cls)})
        except (OSError, SafetensorError, KeyError) as error:
            raise MeijinError(
                f"{path}: these positions cannot be read ({error}); remove the file to continue without them"
            ) from None
        wanted = cls.empty(game, found.moves.shape[-1])
        for field, mine, theirs in zip(fields(cls), found, wanted, strict=True):
            if mine.dtype != theirs.dtype or mine.shape[1:] != theirs.shape[1:] or len(mine) != len(found):
                raise MeijinError(f"{path}: {field.name} does not fit {game}; the file is damaged or another game's")
        return found


def policy_width(game: Game, most: int) -> int:
    """Entries kept of a policy: all moves there can be, or the `most` likely ones."""
    assert game.branching is not None
    return min(game.branching, most)


def harvest(forest: Forest, width: int, device: str = "cpu") -> Positions:
    """Take the positions of finished games out of a forest's record."""
    arrays = forest.arrays

    def tensor(array: Any) -> Tensor:
        return torch.as_tensor(array, device=device) if forest.gpu else torch.from_numpy(array)

    facts = tensor(arrays.facts)
    done = facts[:, :, layout.STATE] == layout.FINISHED
    rows = done.nonzero(as_tuple=True)
    kept = facts[rows]
    moves, probs = tensor(arrays.kept_moves)[rows], tensor(arrays.kept_probs)[rows]
    if width < moves.shape[1]:
        probs, best = probs.topk(width, dim=1)
        moves = moves.gather(1, best).masked_fill(probs <= 0, -1)
        probs = probs / probs.sum(1, keepdim=True)
    left = kept[:, layout.LENGTH] - kept[:, layout.WHEN]
    found = Positions(
        tensor(arrays.bits)[rows],
        tensor(arrays.numbers)[rows].half(),
        moves,
        probs.half(),
        tensor(arrays.kept_roots)[rows].half(),
        tensor(arrays.outcomes)[rows].half(),
        torch.stack([kept[:, layout.MOVER], kept[:, layout.WHEN], left], 1).short(),
        _owners(forest.game, tensor(arrays.owners), rows[0], kept[:, layout.LAST]),
        kept[:, layout.PLAYED_BY :],
        tensor(arrays.surprise)[rows][:, None].half(),
    )
    facts[:, :, layout.STATE].masked_fill_(done, layout.EMPTY)
    return found


def _owners(game: Game, owners: Tensor, trees: Tensor, last: Tensor) -> Tensor:
    """Who owns the cells in the end, from the slots where that was written."""
    if game.owners is None:
        return owners.new_empty((len(trees), 0))
    return owners[trees, last.clamp(min=0).long()].masked_fill(last[:, None] < 0, UNKNOWN)


class Unpacker:
    """Packed positions -> planes, float32 [n, plane, cell]."""

    def __init__(self, game: Game, device: str | torch.device):
        self.form = packing(game)
        order = [*self.form.bit_planes, *self.form.flat_planes, *self.form.whole_planes]
        self.order = torch.tensor(np.argsort(order), device=device)
        self.shifts = torch.arange(8, device=device, dtype=torch.uint8)

    def __call__(self, bits: Tensor, numbers: Tensor) -> Tensor:
        form, n = self.form, len(bits)
        planes, cells = len(form.bit_planes), form.cells
        spread = ((bits[:, :, None] >> self.shifts) & 1).reshape(n, -1)[:, : planes * cells]
        flat = len(form.flat_planes)
        parts = [
            spread.reshape(n, planes, cells).float(),
            numbers[:, :flat, None].float().expand(n, flat, cells),
            numbers[:, flat : form.numbers].float().reshape(n, len(form.whole_planes), cells),
        ]
        return torch.cat(parts, 1).index_select(1, self.order)


class Symmetries:
    """Images of positions, as their movers see them, under the game's symmetries that leave seats and pieces alone."""

    def __init__(self, game: Game, device: str | torch.device):
        found = images(game)
        self.count, self.rows = found.count, found.rows
        self.sources = torch.tensor(found.sources, device=device)
        self.moves = torch.tensor(found.moves, device=device)

    def apply(self, rows: Tensor, planes: Tensor, moves: Tensor) -> tuple[Tensor, Tensor]:
        """The images of positions; moves int64, -1 stays."""
        sources = self.sources[rows][:, None, :].expand_as(planes)
        images = self.moves[rows].gather(1, moves.clamp(min=0))
        return planes.gather(2, sources), torch.where(moves < 0, moves, images)

    def of_cells(self, rows: Tensor, values: Tensor) -> Tensor:
        """The images of values [n, cell], moved as `apply` moves planes."""
        return values.gather(1, self.sources[rows])


def imitated(
    game: Game, played: Iterable[tuple[Sequence[int], Sequence[float], int]], width: int, draw: float = 0.0
) -> Positions:
    """Positions of games that were played: (moves and outcomes, scores, plies at the start that nobody chose).

    The policy is the move that was made, among all legal ones if `width` has room for them.
    """
    from meijin.core.state import State

    width = policy_width(game, width)
    settle, pack = make_settle(game), game.kernel(_packs)
    look, form = game.kernel(kernels.planes), packing(game)
    planes = np.zeros((game.num_planes or 0, form.cells), np.float32)
    bits: list[Any] = []
    numbers: list[Any] = []
    listed: list[list[int]] = []
    chosen: list[int] = []
    facts: list[list[int]] = []
    outcomes: list[list[float]] = []
    owners: list[Any] = []
    for line, scores, given in played:
        state, first, ply = State(game), len(facts), 0
        for at, move in enumerate(line):
            if at >= given and not state.is_chance:
                look(state.records, 0, planes)
                bit, number = np.zeros(max(1, form.bytes), np.uint8), np.zeros(max(1, form.numbers), np.float32)
                pack(planes, bit, number)
                bits.append(bit)
                numbers.append(number)
                legal = [int(m) for m in state.legal_moves] if len(state.legal_moves) <= width else [int(move)]
                chosen.append(legal.index(int(move)))
                listed.append(legal if game.views is None else [int(game.views[state.turn, m]) for m in legal])
                facts.append([state.turn, ply, 0])
            ply += not state.is_chance  # as self-play counts: moves of seats
            state.play(move)
        for fact in facts[first:]:
            fact[2] = ply - fact[1]
        values = [0.0] * game.seats
        settle(scores, values, draw)
        outcomes += [values] * (len(facts) - first)
        owned = np.full(form.cells, UNKNOWN, np.int8)
        if game.owners is not None and state.is_over:
            game.kernel(kernels.owners)(state.records, 0, owned)
        owners += [owned] * (len(facts) - first)
    found = Positions.empty(game, width, len(facts))
    if facts:
        found.bits[:] = torch.from_numpy(np.stack(bits))
        found.numbers[:] = torch.from_numpy(np.stack(numbers)).half()
        for row, (legal, at) in enumerate(zip(listed, chosen, strict=True)):
            found.moves[row] = torch.tensor(legal + [-1] * (width - len(legal)), dtype=torch.int16)
            found.probs[row, at] = 1.0
        found.facts[:] = torch.tensor(facts, dtype=torch.int16)
        found.outcomes[:] = torch.tensor(outcomes).half()
        found.values[:] = found.outcomes
        if game.owners is not None:
            found.owners[:] = torch.from_numpy(np.stack(owners))
    return found


def _packs(game: Game) -> Function:
    pack = make_pack(game)

    def kernel(x: Any, bits: Any, numbers: Any) -> Any:
        return pack(x, bits, numbers)

    return kernel
