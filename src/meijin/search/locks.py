"""A lock for compiled threads: one int64 in an array, 0 when free. For what takes microseconds."""

from __future__ import annotations

import sys
from typing import Any, cast

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

SPINS = 100  # looks at a taken lock before another thread may use this core

_YIELD = "SwitchToThread" if sys.platform == "win32" else "sched_yield"


def acquire(lock: Any) -> None:
    """Wait until the lock is free and take it. What its former holder wrote is seen from here on."""
    while swap(lock, 1) != 0:
        spins = 0
        while peek(lock) != 0:
            spins += 1
            if spins == SPINS:
                give_way()
                spins = 0


def release(lock: Any) -> None:
    """Free the lock; the thread that takes it next sees everything written before."""
    clear(lock)


def _pointer(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return context.make_array(signature.args[0])(context, builder, args[0]).data


@intrinsic
def _swap(typing: Any, lock: Any, value: Any) -> Any:
    def make(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.atomic_rmw("xchg", _pointer(context, builder, signature, args), args[1], "acquire")

    return types.int64(lock, types.int64), make


@intrinsic
def _peek(typing: Any, lock: Any) -> Any:
    def make(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(_pointer(context, builder, signature, args), "monotonic", 8)

    return types.int64(lock), make


@intrinsic
def _clear(typing: Any, lock: Any) -> Any:
    def make(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        zero = ir.Constant(ir.IntType(64), 0)
        builder.store_atomic(zero, _pointer(context, builder, signature, args), "release", 8)
        return context.get_dummy_value()

    return types.void(lock), make


@intrinsic
def _give_way(typing: Any) -> Any:
    def make(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        call = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.IntType(32), ()), _YIELD)
        return builder.call(call, ())

    return types.int32(), make


# As compiled code sees them; Python cannot call an intrinsic.
swap, peek, clear, give_way = cast(Any, (_swap, _peek, _clear, _give_way))
