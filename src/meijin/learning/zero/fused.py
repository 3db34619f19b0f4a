"""A residual tower as one CUDA kernel for Hopper GPUs: `tower.cu` with the sizes of a net, and its weights as it wants them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from importlib.resources import files

import torch
from torch import Tensor

from meijin.core.nvrtc import CudaKernel, compiled
from meijin.learning.zero.nets import Net, Unit

SHARED = 227 * 1024  # bytes of shared memory that a block may have
REGISTERS = {1: 240, 2: 240, 3: 160, 4: 120}  # of a thread, by the number of workers
SPREAD = 5.0  # standard deviations that an activation seldom exceeds
SUMS = {1: 144, 2: 144, 3: 96, 4: 64}  # of these, how many may hold the sums of products
KINDS = {"f16": 0, "e4m3": 1, "s8": 2}
LARGEST = {"e4m3": (448.0, 448.0), "s8": (255.0, 127.0)}  # what activations and weights can be at most


@dataclass(frozen=True)
class Shape:
    """All that the kernel's code depends on."""

    channels: int
    blocks: int
    height: int
    width: int
    planes: int
    policy: int
    value: int
    kind: str  # of the numbers in the tower: one of KINDS
    boards: int = 2
    workers: int = 2
    taps: int = 1
    split: int = 1
    stages: int = 4
    delay: int = 0

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
        return 1 + self.line

    @property
    def dump(self) -> int:
        return self.first + (self.tiles * 8 - 1) * self.step + 8 + self.line + 1

    @property
    def rows(self) -> int:
        return -(-(self.dump + 1) // 8) * 8

    @property
    def half(self) -> bool:
        return self.kind == "f16"

    @property
    def per_chunk(self) -> int:
        return 8 if self.half else 16

    @property
    def layers(self) -> int:
        return 2 * self.blocks + 1

    @property
    def stage(self) -> int:
        """Bytes of weights in a stage."""
        return self.taps * self.channels**2 * (2 if self.half else 1) // self.split

    @property
    def numbers(self) -> int:
        return self.layers * self.channels * (1 if self.half else 3) + self.heads

    @property
    def shared(self) -> int:
        act = self.channels // self.per_chunk * self.rows * 16
        rest = self.tiles * self.channels // 16 * 2048
        fixed = self.workers * (act + rest) + self.heads * self.channels * 2 + self.numbers * 4
        return -(-(self.stages * self.stage + fixed) // 8) * 8 + 16 * self.stages

    def defines(self) -> str:
        values = {
            "CHANNELS": self.channels,
            "BLOCKS": self.blocks,
            "HEIGHT": self.height,
            "WIDTH": self.width,
            "PLANES": self.planes,
            "INPUTS": self.inputs,
            "WORKERS": self.workers,
            "BOARDS": self.boards,
            "REGISTERS": REGISTERS[self.workers],
            "DELAY": self.delay,
            "KIND": KINDS[self.kind],
            "STAGES": self.stages,
            "TAPS": self.taps,
            "SPLIT": self.split,
            "POLICY": self.policy,
            "VALUE": self.value,
            "HEADS": self.heads,
            "SHARED_BYTES": self.shared,
        }
        lines = [f"#define {name} {value}" for name, value in values.items()]
        lines.append(_product("mma_half", self.channels, "f16"))
        lines.append(_product("mma_tower", self.channels, self.kind))
        lines.append(_product("mma_heads", self.heads, "f16", left=True))
        return "\n".join(lines) + "\n"


def _product(name: str, n: int, kind: str, left: bool = False) -> str:
    """The C++ function of a `wgmma` instruction, 64 rows by n columns; with `left` its left side is in registers."""
    size = n // 2
    sums = ", ".join(f"%{i}" for i in range(size))
    others = 4 if left else 1
    a = "{" + ", ".join(f"%{size + i}" for i in range(4)) + "}" if left else f"%{size}"
    b = f"%{size + others}"
    options = "" if kind == "s8" else ", 1, 1" if kind != "f16" else ", 1, 1, 0" if left else ", 1, 1, 0, 0"
    parameters = ", ".join(f"unsigned a{i}" for i in range(4)) if left else "unsigned long long a"
    given = ", ".join(f'"r"(a{i})' for i in range(4)) if left else '"l"(a)'
    sign, sum_type, types = ("r", "int", "s32.u8.s8") if kind == "s8" else ("f", "float", f"f32.{kind}.{kind}")
    outputs = ", ".join(f'"+{sign}"(d[{i}])' for i in range(size))
    shape = f"m64n{n}k{16 if kind == 'f16' else 32}"
    return (
        f"__device__ __forceinline__ void {name}({sum_type} (&d)[{size}], {parameters}, unsigned long long b) {{\n"
        f'    asm volatile("wgmma.mma_async.sync.aligned.{shape}.{types} {{{sums}}}, {a}, {b}, 1{options};"\n'
        f'        : {outputs} : {given}, "l"(b));\n}}'
    )


def chosen(shape: Shape, batch: int, processors: int) -> Shape | None:
    """The shape with boards, taps and stages that suit a batch; None where nothing fits."""
    best: tuple[float, Shape] | None = None
    for boards in range(1, 9):
        found = replace(shape, boards=boards)
        if found.tiles * found.channels // 2 > SUMS[found.workers]:
            continue
        for taps, split in ((3, 1), (1, 1), (1, 2)):
            found = replace(found, taps=taps, split=split, stages=1)
            if found.stage > 30_000:
                continue
            stages = min(8, 1 + (SHARED - found.shared) // (found.stage + 16))
            if stages >= 4 or (stages >= 3 and taps == 3):
                break
        else:
            continue
        found = replace(found, stages=stages)
        passes = math.ceil(math.ceil(batch / (found.workers * boards)) / processors)
        cost = passes * (found.tiles + 0.5)
        if best is None or cost < best[0]:
            best = cost, found
    return best[1] if best else None


# ---- weights ----


def folded(unit: Unit) -> tuple[Tensor, Tensor]:
    norm = unit.norm
    assert norm.running_mean is not None and norm.running_var is not None
    scale = norm.weight * torch.rsqrt(norm.running_var + norm.eps)
    return unit.conv.weight * scale[:, None, None, None], norm.bias - norm.running_mean * scale


def by_chunks(weight: Tensor, inputs: int) -> Tensor:
    """[out, in, 3, 3] -> [tap, chunk of 8 inputs, out, 8], filled up with zeros."""
    out, planes = weight.shape[:2]
    found = weight.new_zeros(9, inputs, out)
    found[:, :planes] = weight.flatten(2).permute(2, 1, 0)
    return found.view(9, inputs // 8, 8, out).transpose(2, 3)


def mixed(weight: Tensor) -> Tensor:
    """[out, in, 3, 3] -> [tap, chunk of 16, out, 16] in the order in which threads pack 16 channels."""
    order = [i // 2 % 2 * 8 + i // 4 * 2 + i % 2 for i in range(16)]
    out, inputs = weight.shape[:2]
    found = weight.flatten(2).permute(2, 1, 0).reshape(9, inputs // 16, 16, out)
    return found[:, :, order].transpose(2, 3)


def reaches(net: Net) -> list[Tensor]:
    """What the channels of each layer's outputs hardly exceed, by the mean and spread that their norm gives them."""
    stem = net.stem.norm
    mean, var = stem.bias.clamp(min=0), stem.weight.square()
    found = [mean + SPREAD * var.sqrt()]
    for block in net.blocks:
        first, second = block.first.norm, block.second.norm  # type: ignore[union-attr]
        found.append(first.bias + SPREAD * first.weight.abs())  # type: ignore[operator, union-attr, arg-type]
        mean, var = (mean + second.bias).clamp(min=0), var + second.weight.square()  # type: ignore[operator, union-attr]
        found.append(mean + SPREAD * var.sqrt())
    return [part.clamp(min=1e-3) for part in found]


@torch.no_grad()
def packed(net: Net, shape: Shape) -> tuple[Tensor, Tensor, Tensor]:
    """The kernel's weights, those of the heads, and its numbers."""
    convs = [folded(unit) for block in net.blocks for unit in (block.first, block.second)]  # type: ignore[arg-type, union-attr]
    weight, bias = folded(net.stem)
    parts = [by_chunks(weight, shape.inputs).half().reshape(-1).view(torch.uint8)]
    numbers, scales = [bias], []
    if not shape.half:
        most, largest = LARGEST[shape.kind]
        scales = [most / reach for reach in reaches(net)]
        numbers += [torch.ones_like(bias), scales[0]]
    for at, (weight, bias) in enumerate(convs):
        if shape.half:
            parts.append(by_chunks(weight, shape.channels).half().reshape(-1).view(torch.uint8))
            numbers.append(bias)
            continue
        weight = weight / scales[at][None, :, None, None]
        units = largest / weight.abs().amax((1, 2, 3)).clamp(min=1e-12)
        weight = mixed((weight * units[:, None, None, None]).clamp(-largest, largest))
        weight = weight.to(torch.float8_e4m3fn) if shape.kind == "e4m3" else weight.round().to(torch.int8)
        parts.append(weight.reshape(-1).view(torch.uint8))
        factor, scale = 1 / units, scales[at + 1]
        if at % 2 == 0:  # straight to the next layer's units
            factor, bias = factor * scale, bias * scale
        numbers += [bias, factor, scale]
    policy, value = folded(net.policy.unit), folded(net.value.unit)
    heads = torch.zeros(shape.heads, shape.channels, device=bias.device)
    heads[: shape.policy], heads[shape.policy : shape.policy + shape.value] = policy[0][:, :, 0, 0], value[0][:, :, 0, 0]
    numbers += [policy[1], value[1], bias.new_zeros(shape.heads - shape.policy - shape.value)]
    tiled = heads.view(shape.heads, shape.channels // 8, 8).transpose(0, 1).half().contiguous()
    return torch.cat(parts), tiled, torch.cat(numbers)


class Tower:
    """The kernel with the weights of a net, for one size of batch: from planes to what the heads' first layers say."""

    def __init__(self, net: Net, shape: Shape, batch: int, device: torch.device):
        self.shape, self.batch, self.device = shape, batch, device
        places = shape.height * shape.width
        self.parts = packed(net.to(device), shape)
        self.policy = torch.zeros(batch, places, shape.policy, device=device, dtype=torch.float16)
        self.value = torch.zeros(batch, places, shape.value, device=device, dtype=torch.float16)
        with torch.cuda.device(device):
            self.kernel = CudaKernel(compiled(code(shape), "tower", "sm_90a"), "tower", shape.shared)
        processors = torch.cuda.get_device_properties(device).multi_processor_count
        self.blocks = min(processors, -(-batch // (shape.workers * shape.boards)))

    def load(self, net: Net) -> None:
        for mine, theirs in zip(self.parts, packed(net, self.shape), strict=True):
            mine.copy_(theirs)

    def run(self, x: Tensor) -> None:
        """In the current stream."""
        pointers = [part.data_ptr() for part in (x, *self.parts, self.policy, self.value)]
        stream = torch.cuda.current_stream(self.device).cuda_stream
        self.kernel.launch(self.blocks, 128 * (self.shape.workers + 1), stream, *pointers, self.batch)


def code(shape: Shape) -> str:
    return shape.defines() + (files("meijin.learning.zero") / "tower.cu").read_text()
