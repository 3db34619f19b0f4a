"""The sizes of a fused tower: what `tower.cu` is compiled with, and which of them suit a net and a batch."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from importlib.resources import files

from meijin.learning.nets.plan import Plan

SHARED = 227 * 1024  # bytes of shared memory that a block may have
WORKERS = 2  # warpgroups that compute
MOST_SUMS = 144  # registers of a thread that may hold sums of products
MOST_CHANNELS, MOST_HEADS = 128, 96


@dataclass(frozen=True)
class Shape:
    """All that the tower's code depends on. The names are those of `tower.cu`, which explains them."""

    channels: int
    blocks: int
    height: int
    width: int
    cells: int
    planes: int
    policy: int
    value: int
    int8: bool
    boards: int = 1
    taps: int = 1
    split: int = 1
    stages: int = 4

    @classmethod
    def of(cls, plan: Plan, int8: bool) -> Shape:
        lay = plan.layout
        return cls(
            plan.channels,
            plan.config.blocks,
            lay.rows,
            lay.columns,
            len(plan.game.board.cells),
            lay.planes,
            plan.policy_width,
            plan.value_width,
            int8,
        )

    @property
    def inputs(self) -> int:
        return -(-(self.planes + 1) // 16) * 16

    @property
    def heads(self) -> int:
        return -(-(self.policy + self.value) // 8) * 8

    @property
    def line(self) -> int:
        return self.boards * (self.width + 1)

    @property
    def step(self) -> int:
        return self.width + 1 if self.width == 8 else 8

    @property
    def tiles(self) -> int:
        groups = self.height * self.boards if self.width == 8 else -(-self.height * self.line // 8)
        return -(-groups // 8)

    @property
    def first(self) -> int:
        """The place of the first cell."""
        return 1 + self.line

    @property
    def dump(self) -> int:
        return self.first + (self.tiles * 8 - 1) * self.step + 8 + self.line + 1

    @property
    def rows(self) -> int:
        return -(-(self.dump + 1) // 8) * 8

    @property
    def bytes(self) -> int:
        """Of an activation or a weight."""
        return 1 if self.int8 else 2

    @property
    def layers(self) -> int:
        return 2 * self.blocks + 1

    @property
    def stage(self) -> int:
        """Bytes of weights in a stage."""
        return self.taps * self.channels**2 * self.bytes // self.split

    @property
    def shared(self) -> int:
        act = self.channels * self.bytes * self.rows
        rest = self.tiles * 64 * self.channels * 2
        numbers = self.layers * self.channels * (3 if self.int8 else 1) + self.heads
        fixed = WORKERS * (act + rest) + self.heads * self.channels * 2 + numbers * 4
        return -(-(self.stages * self.stage + fixed) // 8) * 8 + 16 * self.stages

    @property
    def sound(self) -> bool:
        """Whether the kernel can be compiled with these."""
        steps = self.channels * self.bytes // 32  # products of a tap
        return (
            self.channels % 32 == 0
            and self.channels <= MOST_CHANNELS
            and self.heads <= MOST_HEADS
            and self.inputs * 2 * self.split <= self.channels * self.bytes  # the stem's weights fit in a stage, too
            and steps % self.split == 0
            and self.tiles * self.channels // 2 <= MOST_SUMS
            and self.shared <= SHARED
        )

    def for_batch(self, batch: int, processors: int) -> Shape | None:
        """With the boards and stages that suit a batch; None where nothing fits."""
        fits = [found for boards in range(1, 9) if (found := replace(self, boards=boards)._staged())]

        def cost(shape: Shape) -> float:
            groups = math.ceil(batch / (WORKERS * shape.boards))
            return math.ceil(groups / processors) * (shape.tiles + 0.5)

        return min(fits, key=cost, default=None)

    def _staged(self) -> Shape | None:
        for taps, split in ((3, 1), (1, 1), (1, 2)):
            found = replace(self, taps=taps, split=split, stages=1)
            stages = min(8, 1 + (SHARED - found.shared) // (found.stage + 16))
            if stages >= (3 if taps == 3 else 4) and (found := replace(found, stages=stages)).sound:
                return found
        return None

    def source(self) -> str:
        """The kernel's code."""
        names = ["channels", "blocks", "height", "width", "cells", "planes", "inputs", "policy", "value", "heads"]
        names += ["boards", "taps", "split", "stages"]
        values = {name.upper(): int(getattr(self, name)) for name in names}
        values |= {"INT8": int(self.int8), "SHARED_BYTES": self.shared}
        products = [_product("mma_half", self.channels), _product("mma_heads", self.heads, left=True)]
        if self.int8:
            products.append(_product("mma_bytes", self.channels, half=False))
        return source("tower", values, *products)


def source(name: str, values: dict[str, int], *functions: str) -> str:
    """The code in a file of this folder, with these macros and functions before it."""
    macros = [f"#define {macro} {value}" for macro, value in values.items()]
    return "\n".join([*macros, *functions, (files("meijin.learning.zero") / f"{name}.cu").read_text()])


def _product(name: str, n: int, half: bool = True, left: bool = False) -> str:
    """The C++ function of a `wgmma` instruction, 64 rows by n columns; with `left` its left side is in registers."""
    size = n // 2
    sums = ", ".join(f"%{i}" for i in range(size))
    a = "{" + ", ".join(f"%{size + i}" for i in range(4)) + "}" if left else f"%{size}"
    b = f"%{size + (4 if left else 1)}"
    options = "" if not half else ", 1, 1, 0" if left else ", 1, 1, 0, 0"
    parameters = ", ".join(f"unsigned a{i}" for i in range(4)) if left else "unsigned long long a"
    given = ", ".join(f'"r"(a{i})' for i in range(4)) if left else '"l"(a)'
    sign, number, types = ("f", "float", "f32.f16.f16") if half else ("r", "int", "s32.u8.s8")
    outputs = ", ".join(f'"+{sign}"(d[{i}])' for i in range(size))
    shape = f"m64n{n}k{16 if half else 32}"
    return (
        f"__device__ __forceinline__ void {name}({number} (&d)[{size}], {parameters}, unsigned long long b) {{\n"
        f'    asm volatile("wgmma.mma_async.sync.aligned.{shape}.{types} {{{sums}}}, {a}, {b}, 1{options};"\n'
        f'        : {outputs} : {given}, "l"(b));\n}}'
    )
