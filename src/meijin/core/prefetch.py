"""A hint to the processor to fetch what will be needed soon, so that nothing has to wait for memory."""

from __future__ import annotations

from typing import Any


def prefetch(array: Any, row: Any) -> None:
    """Begin to fetch `array[row]`; `row` is unsigned. Changes nothing, and plain Python does nothing here."""


def make_prefetch() -> Any:
    """The same for compiled code: one instruction, which does not wait."""
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    number, pointer = ir.IntType(32), cgutils.voidptr_t
    hint = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])

    @intrinsic
    def emitted(typing: Any, array: Any, row: Any) -> Any:
        def make(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = signature.args[0]
            indices = [args[1], *[ir.Constant(args[1].type, 0)] * (kind.ndim - 1)]
            view = context.make_array(kind)(context, builder, args[0])
            at = builder.bitcast(cgutils.get_item_pointer(context, builder, kind, view, indices), pointer)
            # To read, into the second-level cache: many more fetches can be under way than into the first.
            options = number(0), number(2), number(1)
            builder.call(builder.module.declare_intrinsic("llvm.prefetch", [pointer], hint), [at, *options])
            return context.get_dummy_value()

        return types.void(array, types.uint64), make

    return emitted
