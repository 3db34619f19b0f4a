"""The forward pass: a few kinds of operations on one flat array of floats, as a program (see `program`) lists them.

Memory is cut into regions. An operand is a region and an offset in it; `starts` says where a region begins, and `steps`
how many floats lie between two positions there (0: all positions share it). Nothing is allocated here and nothing but
these arrays is touched, so the code runs wherever LLVM can compile to.

A 3 x 3 convolution works on tiles as Winograd does: every tile enters, there is one matrix product for each of its
points, and every tile leaves. Its tensors have a border of zeros, so that no tile looks outside; off the board it
writes zeros too.
"""

from __future__ import annotations

import math
from functools import cache
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from meijin.core.compile import JIT, Function, Kernel, interpreted
from meijin.learning.nets.vectors import vectors

#: Regions of memory. Those from X to SCORE have room for a whole batch, BLOCK and SCRATCH for the positions of a chunk.
CONSTANTS, X, LOGITS, VALUES, MOVES_LEFT, SCORE, OWNERSHIP, BLOCK, SCRATCH, REGIONS = range(10)

GATHER, CONVOLVE, DENSE, POOL, TANH = range(5)  # kinds of operations

#: Columns of an operation. An address is an offset in the program, and in `live` a place in memory.
(
    KIND, SOURCE_REGION, SOURCE, SOURCE_STEP, TARGET_REGION, TARGET, TARGET_STEP, BIAS_REGION, BIAS, BIAS_STEP,
    SHORTCUT, SOURCE_STRIDE, TARGET_STRIDE, PLACES, INPUTS, OUTPUTS, COLUMNS, WEIGHTS, TABLE, RELU, MASK, OP_SIZE,
) = range(22)  # fmt: skip

#: The grid of a tower: outputs of a tile, tiles of a board, places in a row of a tensor with its border, the mask.
M, N, TILES_DOWN, TILES_ACROSS, WIDTH, GRID_MASK, GRID_SIZE = range(7)

NONE = -1  # no operand
ZERO, ONE = -1, -2  # in a table: these numbers, whatever the source holds


class Code(NamedTuple):
    """What a program gives to the kernel."""

    ops: NDArray[np.int64]  # [operation, column]
    tables: NDArray[np.int32]
    grid: NDArray[np.int64]
    weights: NDArray[np.float32]


@cache
def forward(lanes: int) -> Function:
    """`run(code, memory, starts, steps, live, count, chunk)`: evaluate the first `count` positions, chunk by chunk.

    `starts` is used up: it ends behind the last position. `live` is room for one operation.
    """
    kit = vectors(lanes)
    lanes, panel, most_rows = kit.lanes, kit.panel, kit.rows
    strip, enter, leave = kit.strip, kit.enter, kit.leave

    def multiply(
        memory: Any, a: Any, lda: Any, weights: Any, b: Any, c: Any, k: Any, columns: Any, rows: Any,
        groups: Any, a_step: Any, b_step: Any,
    ) -> None:  # fmt: skip
        """For each of the groups, at a fixed distance in floats: C [rows, columns] = A [rows, k] @ B.

        Of B, the columns of a panel lie together: [panel, k, column in it].
        """
        strips = (rows + most_rows - 1) // most_rows
        for group in range(groups):
            a_now, b_now, c_now = a + group * a_step, b + group * b_step, c + group * rows * columns
            for column in range(0, columns, panel):
                done = 0
                for left in range(strips, 0, -1):
                    height = (rows - done + left - 1) // left
                    strip(
                        memory, a_now + done * lda, lda, weights, b_now + column * k, c_now + done * columns + column,
                        columns, k, height,
                    )  # fmt: skip
                    done += height

    def enter_all(op: Any, grid: Any, memory: Any, scratch: Any, k_padded: Any, tiles: Any, count: Any) -> None:
        """[position, place, channel] -> [point, position and tile, channel]"""
        m, n, across, stride = grid[M], grid[N], grid[TILES_ACROSS], op[SOURCE_STRIDE]
        down, apart = grid[WIDTH] * stride, count * tiles * k_padded
        for i in range(count * tiles):
            p, t = i // tiles, i % tiles
            at = op[SOURCE] + p * op[SOURCE_STEP] + t // across * m * down + t % across * n * stride
            for c in range(0, op[INPUTS], lanes):
                enter(memory, at + c, down, stride, scratch + i * k_padded + c, apart, m, n)

    def leave_all(op: Any, grid: Any, memory: Any, products: Any, constants: Any, tiles: Any, count: Any) -> None:
        """[point, position and tile, channel] -> [position, place, channel], with bias, shortcut, ReLU and mask"""
        m, n, across, stride = grid[M], grid[N], grid[TILES_ACROSS], op[TARGET_STRIDE]
        width, columns = grid[WIDTH], op[COLUMNS]
        for i in range(count * tiles):
            p, t = i // tiles, i % tiles
            place = (t // across * m + 1) * width + t % across * n + 1
            at = p * op[TARGET_STEP] + place * stride
            for c in range(0, columns, lanes):
                add, row, column = constants, 0, 0  # zeros are the first constants
                if op[SHORTCUT] != NONE:
                    add, row, column = op[SHORTCUT] + at + c, width * stride, stride
                leave(
                    memory, products + i * columns + c, count * tiles * columns, op[TARGET] + at + c, width * stride,
                    stride, op[BIAS] + p * op[BIAS_STEP] + c, add, row, column, constants + grid[GRID_MASK] + place,
                    width, m, n,
                )  # fmt: skip

    def finish(op: Any, memory: Any, products: Any, constants: Any, count: Any) -> None:
        """[position, place, column] -> where a linear layer's outputs belong, with bias, shortcut, ReLU and mask"""
        for i in range(count * op[PLACES]):
            p, place = i // op[PLACES], i % op[PLACES]
            at = p * op[TARGET_STEP] + place * op[TARGET_STRIDE]
            bias, row = op[BIAS] + p * op[BIAS_STEP], products + i * op[COLUMNS]
            off_board = op[MASK] != NONE and memory[constants + op[MASK] + place] == 0
            for c in range(op[OUTPUTS]):
                value = memory[row + c] + memory[bias + c]
                if op[SHORTCUT] != NONE:
                    value += memory[op[SHORTCUT] + at + c]
                if off_board or (op[RELU] and value < 0):
                    value = np.float32(0)
                memory[op[TARGET] + at + c] = value

    def pool(op: Any, memory: Any, count: Any) -> None:
        """Of every channel its mean, the mean times a number that the board's size gives, and its maximum."""
        channels = op[INPUTS]
        for p in range(count):
            mean = op[TARGET] + p * op[TARGET_STEP]
            by_size, most = mean + channels, mean + 2 * channels
            for c in range(channels):
                memory[mean + c] = 0
                memory[most + c] = 0  # after a ReLU nothing is less
            for place in range(op[PLACES]):
                at = op[SOURCE] + p * op[SOURCE_STEP] + place * op[SOURCE_STRIDE]
                for c in range(channels):
                    memory[mean + c] += memory[at + c]
                    memory[most + c] = max(memory[most + c], memory[at + c])
            for c in range(channels):
                memory[mean + c] *= memory[op[BIAS]]
                memory[by_size + c] = memory[mean + c] * memory[op[BIAS] + 1]

    def gather(op: Any, tables: Any, memory: Any, count: Any) -> None:
        """Groups of floats, each from where a table says."""
        width = op[OUTPUTS]
        for p in range(count):
            at, source = op[TARGET] + p * op[TARGET_STEP], op[SOURCE] + p * op[SOURCE_STEP]
            for i in range(op[INPUTS]):
                found = tables[op[TABLE] + i]
                for j in range(width):
                    value = np.float32(0 if found == ZERO else 1) if found < 0 else memory[source + found + j]
                    memory[at + i * width + j] = value

    def tanh(op: Any, memory: Any, count: Any) -> None:
        for p in range(count):
            for i in range(op[OUTPUTS]):
                at = op[TARGET] + p * op[TARGET_STEP] + i
                memory[at] = math.tanh(memory[at])

    def run(code: Any, memory: Any, starts: Any, steps: Any, live: Any, count: Any, chunk: Any) -> None:
        tables, grid, weights = code.tables, code.grid, code.weights
        scratch, constants = starts[SCRATCH], starts[CONSTANTS]
        tiles, points = grid[TILES_DOWN] * grid[TILES_ACROSS], (grid[M] + 2) * (grid[N] + 2)
        done = 0
        while done < count:
            now = min(chunk, count - done)
            for i in range(code.ops.shape[0]):
                for column in range(OP_SIZE):
                    live[column] = code.ops[i, column]
                live[SOURCE] += starts[live[SOURCE_REGION]]
                live[TARGET] += starts[live[TARGET_REGION]]
                live[BIAS] += starts[live[BIAS_REGION]]
                live[SOURCE_STEP] = steps[live[SOURCE_REGION]]
                live[TARGET_STEP] = steps[live[TARGET_REGION]]
                live[BIAS_STEP] = steps[live[BIAS_REGION]]
                if live[SHORTCUT] != NONE:
                    live[SHORTCUT] += starts[live[TARGET_REGION]]
                kind, k, columns, products = live[KIND], live[INPUTS], live[COLUMNS], scratch
                if kind == POOL:
                    pool(live, memory, now)
                elif kind == GATHER:
                    gather(live, tables, memory, now)
                elif kind == TANH:
                    tanh(live, memory, now)
                else:
                    # One product of all positions, one for each position, or one for each point.
                    a, lda, rows, groups, a_step, b_step = live[SOURCE], live[SOURCE_STEP], now, 1, 0, 0
                    if kind == CONVOLVE:
                        lda, rows, groups, b_step = (k + lanes - 1) // lanes * lanes, now * tiles, points, k * columns
                        a, a_step = scratch, rows * lda
                        products = scratch + groups * a_step
                        enter_all(live, grid, memory, scratch, lda, tiles, now)
                    elif live[PLACES] > 1:
                        lda, rows, groups, a_step = live[SOURCE_STRIDE], live[PLACES], now, live[SOURCE_STEP]
                    multiply(memory, a, lda, weights, live[WEIGHTS], products, k, columns, rows, groups, a_step, b_step)
                    if kind == CONVOLVE:
                        leave_all(live, grid, memory, products, constants, tiles, now)
                    else:
                        finish(live, memory, products, constants, now)
            for region in range(X, BLOCK):
                starts[region] += now * steps[region]
            done += now

    assert isinstance(run, FunctionType)
    return Kernel(run, f"forward-{lanes}") if JIT else interpreted(run)
