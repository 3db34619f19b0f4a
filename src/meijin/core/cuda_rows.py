"""Rows of four single-precision numbers on a GPU, read or added to in one access instead of four."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from meijin.core import cuda as device


def loader() -> Any:
    """`load(table, i)`: the four numbers of row i as they are now; a multiprocessor's own cache may hold older ones."""
    from llvmlite import ir
    from numba import types
    from numba.cuda.extending import intrinsic

    four, place = ir.LiteralStructType([ir.FloatType()] * 4), ir.IntType(64)
    code = "ld.global.cg.v4.f32 {$0, $1, $2, $3}, [$4];"
    read = ir.InlineAsm(ir.FunctionType(four, [place]), code, "=f,=f,=f,=f,l", side_effect=True)

    @intrinsic
    def load(typing: Any, table: Any, i: Any) -> Any:
        def make(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            found = builder.call(read, [_address(context, builder, signature, args)])
            return context.make_tuple(
                builder, signature.return_type, [builder.extract_value(found, k) for k in range(4)]
            )

        return types.UniTuple(types.float32, 4)(table, types.uint64), make

    return load


def adds() -> bool:
    """Whether the device can add to four numbers at once."""
    return device.capability() >= (9, 0)


def adder() -> Any:
    """`add(table, i, a, b, c, d)`: add to the four numbers of row i, whoever else may do so at that moment."""
    from llvmlite import ir
    from numba import types
    from numba.cuda.extending import intrinsic

    place, number = ir.IntType(64), ir.FloatType()
    code = "red.global.add.v4.f32 [$0], {$1, $2, $3, $4};"
    write = ir.InlineAsm(ir.FunctionType(ir.VoidType(), [place, *[number] * 4]), code, "l,f,f,f,f", side_effect=True)

    @intrinsic
    def add(typing: Any, table: Any, i: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        def make(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            builder.call(write, [_address(context, builder, signature, args), *args[2:]])
            return context.get_dummy_value()

        return types.void(table, types.uint64, *[types.float32] * 4), make

    return add


def _address(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Of a row."""
    from llvmlite import ir

    cgutils: Any = import_module("numba.cuda.cgutils")
    kind = signature.args[0]
    view = context.make_array(kind)(context, builder, args[0])
    at = cgutils.get_item_pointer(context, builder, kind, view, [args[1], ir.Constant(args[1].type, 0)])
    return builder.ptrtoint(at, ir.IntType(64))
