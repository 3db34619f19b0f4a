"""The innermost steps of the forward pass, as LLVM code on vectors of `lanes` floats.

LLVM does not find register tiles in plain loops, so these three are emitted by hand: `strip` multiplies matrices, and
`enter` and `leave` carry a tile to Winograd's points and back. They are the same for every processor: wider vectors
than it has are split, and a multiplication followed by an addition becomes one instruction where it has one. All work
on one flat array of floats and on offsets into it. With MEIJIN_JIT=0 each is plain NumPy.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from meijin.core.compile import JIT, Function
from meijin.learning.nets import winograd
from meijin.learning.nets.winograd import SIZES, matrices

PANEL = 2  # vectors per row of a register tile
ARRAYS = ("memory", "weights")  # arguments of the emitted functions that are arrays


class Vectors(NamedTuple):
    """The three functions for one width of vectors."""

    lanes: int
    #: memory[c + r * ldc + :panel] = memory[a + r * lda + :k] @ weights[b + :k * panel] for r below `rows`;
    #: called as strip(memory, a, lda, weights, b, c, ldc, k, rows).
    strip: Function
    #: enter(memory, source, row, column, target, point, m, n): the (m + 2) x (n + 2) vectors at `source`, `row` and
    #: `column` floats apart, to Winograd's points, `point` floats apart.
    enter: Function
    #: leave(memory, source, point, target, row, column, bias, shortcut, s_row, s_column, mask, m_row, m, n): the way
    #: back to m x n vectors; the bias and the shortcut are added, then come the ReLU and a factor for each place.
    leave: Function

    @property
    def panel(self) -> int:
        """Columns of weights that lie together."""
        return PANEL * self.lanes

    @property
    def rows(self) -> int:
        """The most rows of a strip: as many as registers can hold."""
        return most_rows(self.lanes)


def most_rows(lanes: int) -> int:
    return 8 if lanes == 16 else 6  # AVX-512 has 32 registers, others mostly 16


@cache
def vectors(lanes: int = 0) -> Vectors:
    """For vectors of that many floats; 0: what this processor has."""
    lanes = lanes or host_lanes()
    return Vectors(lanes, *(_emitted(lanes) if JIT else _plain(lanes)))


def host_lanes() -> int:
    if not JIT:
        return 4
    from numba.core.registry import cpu_target

    features = cpu_target.target_context.codegen().magic_tuple()[2].split(",")
    return 16 if "+avx512f" in features else 8 if "+avx" in features else 4


# ---- plain ----


def _plain(lanes: int) -> tuple[Function, Function, Function]:
    panel = PANEL * lanes

    def strip(memory: Any, a: int, lda: int, weights: Any, b: int, c: int, ldc: int, k: int, rows: int) -> None:
        block = weights[b : b + k * panel].reshape(k, panel)
        for r in range(rows):
            memory[c + r * ldc :][:panel] = memory[a + r * lda :][:k] @ block

    def enter(memory: Any, source: int, row: int, column: int, target: int, point: int, m: int, n: int) -> None:
        tile = _tile(memory, source, row, column, m + 2, n + 2)
        found = np.einsum("ai,bj,ijc->abc", matrices(m).input, matrices(n).input, tile)
        _tile(memory, target, point * (n + 2), point, m + 2, n + 2)[:] = found

    def leave(
        memory: Any, source: int, point: int, target: int, row: int, column: int, bias: int,
        shortcut: int, s_row: int, s_column: int, mask: int, m_row: int, m: int, n: int,
    ) -> None:  # fmt: skip
        tile = _tile(memory, source, point * (n + 2), point, m + 2, n + 2)
        found = np.einsum("ai,bj,ijc->abc", matrices(m).output, matrices(n).output, tile)
        found += memory[bias : bias + lanes] + _tile(memory, shortcut, s_row, s_column, m, n)
        _tile(memory, target, row, column, m, n)[:] = found.clip(0) * _tile(memory, mask, m_row, 1, m, n)[:, :, :1]

    def _tile(memory: Any, offset: int, row: int, column: int, rows: int, columns: int) -> NDArray[np.float32]:
        """[row, column, lane], on the same memory."""
        step = memory.itemsize
        return np.lib.stride_tricks.as_strided(
            memory[offset:], (rows, columns, lanes), (row * step, column * step, step)
        )

    return strip, enter, leave


# ---- emitted ----


class _Writer:
    """Writes LLVM instructions on vectors of floats."""

    def __init__(self, builder: Any, lanes: int):
        from llvmlite import ir

        self.ir, self.builder, self.lanes = ir, builder, lanes
        self.type = ir.VectorType(ir.FloatType(), lanes)
        self.int = ir.IntType(64)

    def at(self, base: Any, *terms: Any) -> Any:
        """An address, moved on by a number of floats; a pair is a product of which one factor is a constant."""
        offset = None
        for term in terms:
            if isinstance(term, tuple):
                if term[1] == 0:
                    continue
                term = self.builder.mul(term[0], self.int(term[1]))
            offset = term if offset is None else self.builder.add(offset, term)
        return base if offset is None else self.builder.gep(base, [offset])

    def load(self, address: Any) -> Any:
        return self.builder.load(self.builder.bitcast(address, self.type.as_pointer()), align=4)

    def store(self, value: Any, address: Any) -> None:
        self.builder.store(value, self.builder.bitcast(address, self.type.as_pointer()), align=4)

    def same(self, value: float) -> Any:
        return self.ir.Constant(self.type, [value] * self.lanes)

    def spread(self, address: Any) -> Any:
        """One float in all lanes."""
        ir, builder = self.ir, self.builder
        none = ir.Constant(self.type, ir.Undefined)
        first = builder.insert_element(none, builder.load(address), ir.IntType(32)(0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), [0] * self.lanes)
        return builder.shuffle_vector(first, none, zeros)

    def add(self, one: Any, other: Any) -> Any:
        return self.builder.fadd(one, other, flags=("contract",))

    def times(self, one: Any, other: Any) -> Any:
        return self.builder.fmul(one, other, flags=("contract",))

    def relu(self, value: Any) -> Any:
        zero = self.same(0.0)
        return self.builder.select(self.builder.fcmp_ordered(">", value, zero), value, zero)

    def combine(self, matrix: NDArray[np.float64], values: list[Any]) -> list[Any]:
        """A constant matrix times a column of vectors, without its zeros."""
        found = []
        for coefficients in matrix:
            total = None
            for factor, value in zip(coefficients, values, strict=True):
                if factor == 0:
                    continue
                if total is None:
                    total = value if factor == 1 else self.times(value, self.same(factor))
                elif factor == -1:
                    total = self.builder.fsub(total, value, flags=("contract",))
                else:
                    total = self.add(total, value if factor == 1 else self.times(value, self.same(factor)))
            found.append(total)
        return found

    def both_ways(self, left: NDArray[np.float64], right: NDArray[np.float64], tile: list[list[Any]]) -> list[Any]:
        """[row][column] -> left @ tile @ right.T"""
        columns = [self.combine(left, list(column)) for column in zip(*tile, strict=True)]
        return [self.combine(right, list(row)) for row in zip(*columns, strict=True)]

    def cases(self, value: Any, choices: dict[int, Callable[[], None]]) -> None:
        """One of several pieces of code, by a number."""
        builder = self.builder
        end = builder.append_basic_block("end")
        switch = builder.switch(value, end)
        for number, write in choices.items():
            block = builder.append_basic_block(f"case{number}")
            switch.add_case(self.int(number), block)
            builder.position_at_end(block)
            write()
            builder.branch(end)
        builder.position_at_end(end)


def _emitted(lanes: int) -> tuple[Function, Function, Function]:
    from numba import types
    from numba.extending import intrinsic

    size = types.intp
    # Compiled code is cached under the names of what it calls: with other sources they have other names.
    sources = (Path(__file__), Path(winograd.__file__))
    version = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]

    def made(write: Callable[..., None]) -> Any:
        """A Numba intrinsic with the arguments of `write`: arrays are named so there, the others are whole numbers."""
        arguments = inspect.signature(write)
        names = [*arguments.parameters][1:]

        def define(typing: Any, *args: Any) -> Any:
            signature = types.void(*(arg if name in ARRAYS else size for name, arg in zip(names, args, strict=True)))

            def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
                pointers = [
                    context.make_array(type_)(context, builder, value).data if name in ARRAYS else value
                    for name, type_, value in zip(names, signature.args, values, strict=True)
                ]
                builder.call(_function(builder.module, define.__name__, write, lanes, pointers), pointers)
                return context.get_dummy_value()

            return signature, generate

        define.__signature__ = arguments  # type: ignore[attr-defined]  # Numba wants to know how many there are
        define.__name__ = define.__qualname__ = f"{write.__name__}_{lanes}_{version}"
        return intrinsic(define)

    return made(_write_strip), made(_write_enter), made(_write_leave)


def _function(module: Any, name: str, write: Callable[..., None], lanes: int, args: Sequence[Any]) -> Any:
    """A function of LLVM's own, written once in a module: where it is called it would only be copied."""
    from llvmlite import ir

    found = module.globals.get(name)
    if found is None:
        found = ir.Function(module, ir.FunctionType(ir.VoidType(), [arg.type for arg in args]), name)
        found.linkage = "internal"
        found.attributes.add("noinline")
        builder = ir.IRBuilder(found.append_basic_block())
        write(_Writer(builder, lanes), *found.args)
        builder.ret_void()
    return found


def _write_strip(
    w: _Writer, memory: Any, a: Any, lda: Any, weights: Any, b: Any, c: Any, ldc: Any, k: Any, rows: Any
) -> None:
    builder, panel = w.builder, PANEL * w.lanes
    first, block, out = w.at(memory, a), w.at(weights, b), w.at(memory, c)

    def product(height: int) -> None:
        """All of a tile's sums stay in registers while k runs."""
        before, loop, after = builder.block, builder.append_basic_block("k"), builder.append_basic_block("sums")
        builder.branch(loop)
        builder.position_at_end(loop)
        i = builder.phi(w.int)
        i.add_incoming(w.int(0), before)
        sums = [[builder.phi(w.type) for _ in range(PANEL)] for _ in range(height)]
        row = [w.load(w.at(block, (i, panel), (w.int(w.lanes), n))) for n in range(PANEL)]
        following = builder.add(i, w.int(1))
        i.add_incoming(following, loop)
        ends = []
        for r in range(height):
            factor = w.spread(w.at(first, i, (lda, r)))
            ends.append([w.add(total, w.times(factor, column)) for total, column in zip(sums[r], row, strict=True)])
        for total, end in zip(chain(*sums), chain(*ends), strict=True):
            total.add_incoming(w.same(0.0), before)
            total.add_incoming(end, loop)
        builder.cbranch(builder.icmp_signed("<", following, k), loop, after)
        builder.position_at_end(after)
        for r in range(height):
            for n in range(PANEL):
                w.store(ends[r][n], w.at(out, (ldc, r), (w.int(w.lanes), n)))

    w.cases(rows, {height: partial(product, height) for height in range(1, most_rows(w.lanes) + 1)})


def _write_enter(
    w: _Writer, memory: Any, source: Any, row: Any, column: Any, target: Any, point: Any, m: Any, n: Any
) -> None:
    def tile(m: int, n: int) -> None:
        values = [[w.load(w.at(memory, source, (row, i), (column, j))) for j in range(n + 2)] for i in range(m + 2)]
        found = w.both_ways(matrices(m).input, matrices(n).input, values)
        for i, line in enumerate(found):
            for j, value in enumerate(line):
                w.store(value, w.at(memory, target, (point, i * (n + 2) + j)))

    _sizes(w, m, n, tile)


def _write_leave(
    w: _Writer, memory: Any, source: Any, point: Any, target: Any, row: Any, column: Any, bias: Any,
    shortcut: Any, s_row: Any, s_column: Any, mask: Any, m_row: Any, m: Any, n: Any,
) -> None:  # fmt: skip
    def tile(m: int, n: int) -> None:
        values = [[w.load(w.at(memory, source, (point, i * (n + 2) + j))) for j in range(n + 2)] for i in range(m + 2)]
        found = w.both_ways(matrices(m).output, matrices(n).output, values)
        constant = w.load(w.at(memory, bias))
        for i, line in enumerate(found):
            for j, value in enumerate(line):
                added = w.load(w.at(memory, shortcut, (s_row, i), (s_column, j)))
                total = w.relu(w.add(w.add(value, constant), added))
                factor = w.spread(w.at(memory, mask, (m_row, i), (w.int(1), j)))
                w.store(w.times(total, factor), w.at(memory, target, (row, i), (column, j)))

    _sizes(w, m, n, tile)


def _sizes(w: _Writer, m: Any, n: Any, write: Callable[[int, int], None]) -> None:
    """The code for every size of tile."""
    number = w.builder.add(w.builder.mul(m, w.int(8)), n)
    w.cases(number, {8 * i + j: partial(write, i, j) for i in SIZES for j in SIZES})
