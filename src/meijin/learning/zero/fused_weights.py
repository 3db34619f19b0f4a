"""The weights of a net as `tower.cu` and `heads.cu` read them, batch norms folded into the convolutions."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from meijin.learning.zero.fused_shape import Shape
from meijin.learning.zero.nets import Block, Net, Unit

SPREAD = 5.0  # standard deviations from the mean that an activation seldom exceeds
ROOM = 1.2  # above what activations were seen to be
MOST_ACT, MOST_WEIGHT = 255, 127  # of u8 and s8


@torch.no_grad()
def tower_weights(net: Net, shape: Shape, seen: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """The convolutions, the first layers of the heads, and the numbers of every layer: biases; factors and scales.

    In bytes a layer has room for what its norm lets expect, and for what it says of the positions `seen`.
    """
    convolutions = [folded(unit) for block in _blocks(net) for unit in (block.first, block.second)]
    weight, bias = folded(net.stem)
    parts, numbers, scales = [_by_chunks(weight, shape.inputs)], [bias], []
    if shape.int8:
        scales = [MOST_ACT / reach for reach in _reaches(net, seen)]
        numbers += [torch.ones_like(bias), scales[0]]
    for at, (weight, bias) in enumerate(convolutions):
        if not shape.int8:
            parts.append(_by_chunks(weight, shape.channels))
            numbers.append(bias)
            continue
        weight = weight / scales[at][:, None, None]
        units = MOST_WEIGHT / weight.abs().amax((1, 2, 3)).clamp(min=1e-12)
        parts.append(_in_bytes((weight * units[:, None, None, None]).round().to(torch.int8)))
        factor, scale = 1 / units, scales[at + 1]
        if at % 2 == 0:  # nothing is added to it: straight to the units of the next layer
            factor, bias = factor * scale, bias * scale
        numbers += [bias, factor, scale]
    (policy, policy_bias), (value, value_bias) = folded(net.policy.unit), folded(net.value.unit)
    heads = bias.new_zeros(shape.heads, shape.channels)
    heads[: shape.policy + shape.value] = torch.cat([policy, value])[:, :, 0, 0]
    numbers += [policy_bias, value_bias, bias.new_zeros(shape.heads - shape.policy - shape.value)]
    chunks = heads.view(shape.heads, shape.channels // 8, 8).transpose(0, 1).half().contiguous()
    return torch.cat([part.contiguous().view(torch.uint8).view(-1) for part in parts]), chunks, torch.cat(numbers)


@torch.no_grad()
def head_weights(net: Net) -> tuple[Tensor, Tensor]:
    """The large matrices in half precision, and the other numbers."""
    policy, value, cells = net.policy, net.value, net.layout.on_board
    wide: list[Tensor] = [value.hidden.weight]
    narrow: list[Tensor] = [value.hidden.bias]
    if policy.flat is not None:
        wide.append(policy.flat.weight)
        narrow.append(policy.flat.bias)
    if policy.planes is not None:
        assert policy.planes.bias is not None
        narrow += [policy.planes.weight, policy.planes.bias]
    if policy.words is not None:  # of the mean, of the mean by size, and of the maximum
        mean, by_size, most = policy.words.weight.chunk(3, 1)
        mean = (mean + by_size * ((math.sqrt(cells) - 9) / 10)) / cells  # that of the sum
        narrow += [torch.cat([mean, most], 1), policy.words.bias]
    units = value.values.weight.new_tensor([0.0, 1.0]) if value.units is None else value.units
    narrow += [value.values.weight, value.values.bias, units]
    return torch.cat([part.reshape(-1) for part in wide]).half(), torch.cat([part.reshape(-1) for part in narrow])


def folded(unit: Unit) -> tuple[Tensor, Tensor]:
    """The weights and biases of a convolution and its batch norm together."""
    norm = unit.norm
    assert norm.running_mean is not None and norm.running_var is not None
    scale = norm.weight * torch.rsqrt(norm.running_var + norm.eps)
    return unit.conv.weight * scale[:, None, None, None], norm.bias - norm.running_mean * scale


def _blocks(net: Net) -> list[Block]:
    return [block for block in net.blocks if isinstance(block, Block)]


def _by_chunks(weight: Tensor, inputs: int) -> Tensor:
    """[out, in, 3, 3] -> [tap, chunk of 8, out, 8] in half precision, filled up with zeros."""
    out, planes = weight.shape[:2]
    found = weight.new_zeros(9, inputs, out)
    found[:, :planes] = weight.flatten(2).permute(2, 1, 0)
    return found.view(9, inputs // 8, 8, out).transpose(2, 3).half()


def _in_bytes(weight: Tensor) -> Tensor:
    """[out, in, 3, 3] -> [tap, chunk of 16, out, 16], the 16 in the order in which a thread packs what it has."""
    order = [i // 2 % 2 * 8 + i // 4 * 2 + i % 2 for i in range(16)]
    out, inputs = weight.shape[:2]
    found = weight.flatten(2).permute(2, 1, 0).reshape(9, inputs // 16, 16, out)
    return found[:, :, order].transpose(2, 3)


def _reaches(net: Net, seen: Tensor | None) -> list[Tensor]:
    """What the channels of each layer's outputs hardly exceed, by the mean and spread that their norm gives them.

    Of few channels that is not true: these are asked what they say of some positions.
    """
    mean, var = net.stem.norm.bias.clamp(min=0), net.stem.norm.weight.square()
    found = [mean + SPREAD * var.sqrt()]
    for block in _blocks(net):
        first, second = block.first.norm, block.second.norm
        found.append(first.bias + SPREAD * first.weight.abs())
        mean, var = (mean + second.bias).clamp(min=0), var + second.weight.square()
        found.append(mean + SPREAD * var.sqrt())
    if seen is not None:
        found = [torch.maximum(reach, ROOM * most) for reach, most in zip(found, _most(net, seen), strict=True)]
    return [part.clamp(min=1e-3) for part in found]


def _most(net: Net, seen: Tensor) -> list[Tensor]:
    """The largest output of every channel of each layer."""
    mask = 1 if net.mask is None else net.mask

    def after(unit: Unit, x: Tensor, shortcut: Tensor | int = 0) -> Tensor:
        y = F.relu(F.conv2d(x, *folded(unit), padding=1) + shortcut) * mask
        found.append(y.amax((0, 2, 3)))
        return y

    found: list[Tensor] = []
    y = after(net.stem, net.place(seen.to(net.stem.conv.weight.device))[0])
    for block in _blocks(net):
        y = after(block.second, after(block.first, y), y)
    return found
