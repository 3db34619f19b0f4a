"""Kernels to WebAssembly object code: a program of its own, which reads a job from its standard input.

Numba compiles for the host, and the host's passes leave instructions of its own in the code. Here they are left out,
and LLVM's pipeline runs once, for WebAssembly. That changes Numba for the whole process, hence a process of its own.

An exported function takes the address of a block and then numbers, all as float64, which is what JavaScript has. The
block is a list of 32-bit words: for each array among the kernel's arguments its address and its lengths, in order.
The result is a float64 too. A kernel that raises an exception calls the import `fail` with the address and length of a
text; `stopped`, another import, says whether a search is to return.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from llvmlite import binding as llvm
from llvmlite import ir

from meijin.core import compile as compiling
from meijin.core.kernels import stopped

TRIPLE = "wasm32-unknown-unknown"
FEATURES = "+simd128,+bulk-memory,+sign-ext,+nontrapping-fptoint,+mutable-globals"

_WORD, _NUMBER, _BYTES = ir.IntType(32), ir.DoubleType(), ir.IntType(8).as_pointer()


def main() -> None:
    """Job in: a pickled list of (name, kernel, example of its arguments). Out: an object file."""
    sys.stdout.buffer.write(emit(pickle.load(sys.stdin.buffer)))


def emit(jobs: list[tuple[str, Any, tuple[Any, ...]]]) -> bytes:
    """The object file of these kernels."""
    from numba import typeof
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.registry import cpu_target

    _prepare_numba()
    context = cpu_target.target_context
    whole = llvm.parse_assembly("")
    machine = _machine()
    for name, kernel, args in jobs:
        dispatcher = compiling.twin(kernel)
        dispatcher.compile(tuple(typeof(arg) for arg in args))
        (found,) = dispatcher.overloads.values()
        whole.link_in(llvm.parse_assembly(str(_export(context, name, found.fndesc))))
        with global_compiler_lock:  # what is linked is what was asked for so far
            whole.link_in(found.library._get_module_for_linking(), preserve=True)
    whole.link_in(llvm.parse_assembly(_RUNTIME))
    exported = {name for name, _, _ in jobs}
    for fn in whole.functions:
        if not fn.is_declaration and fn.name not in exported:
            fn.linkage = llvm.Linkage.internal
    for variable in whole.global_variables:
        if not variable.is_declaration:
            variable.linkage = llvm.Linkage.internal  # among them "common" ones, which WebAssembly does not have
    whole.triple, whole.data_layout = TRIPLE, str(machine.target_data)
    whole.verify()
    passes = llvm.create_pass_builder(machine, _tuning())
    passes.getModulePassManager().run(whole, passes)
    return bytes(machine.emit_object(whole))


def _numba(name: str) -> Any:
    """A module of Numba's; its types say less than it does."""
    return import_module(f"numba.{name}")


def _machine() -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(TRIPLE).create_target_machine(opt=3, reloc="static", features=FEATURES)


def _tuning() -> Any:
    tuning = llvm.PipelineTuningOptions(speed_level=3)
    tuning.loop_vectorization = tuning.slp_vectorization = True
    return tuning


# ---- Numba without what a host needs ----

_RUNTIME = """
define void @NRT_incref(ptr %p) { ret void }
define void @NRT_decref(ptr %p) { ret void }
"""


def _prepare_numba() -> None:
    """No passes, no machine code, no reference counts, tables of any size inside the code, exceptions as texts."""
    from numba.core.registry import cpu_target

    callconv, codegen, cpu = (_numba(f"core.{name}") for name in ("callconv", "codegen", "cpu"))
    cpu_target.target_context.codegen()  # what Numba compiles for itself, before it can no more

    def nothing(*args: Any) -> None: ...

    library = codegen.JITCodeLibrary
    library._optimize_functions = library._optimize_final_module = library._finalize_specific = nothing
    cpu.CPUContext.get_executable = lambda *args: [].append  # any function of C, each its own
    codegen.JITCPUCodegen._add_module = nothing
    cpu.CPUContext.post_lowering = nothing
    cpu.CPUContext.allow_dynamic_globals = False
    cpu.CPUContext.add_dynamic_addr = lambda *args, **kwargs: _BYTES(None)  # a function as a value, never used
    callconv.CPUCallConv.set_static_user_exc = _store_message
    callconv.CPUCallConv.set_dynamic_user_exc = _store_dynamic_message
    compiling.options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    compiling.provided[stopped] = _stopped()
    compiling.whole = True


def _store_message(
    self: Any, builder: Any, exc: Any, exc_args: Any = None, loc: Any = None, func_name: Any = None
) -> None:
    """Instead of a pickled exception, its text."""
    from numba.core import callconv, cgutils

    said = ", ".join(str(arg) for arg in exc_args or () if not isinstance(arg, ir.Value))
    where = f" ({func_name.split('_')[0] if func_name else 'rule'}, line {loc.line})" if loc else ""
    text = f"{getattr(exc, '__name__', exc)}{': ' if said else ''}{said}{where}".encode()
    module = builder.module
    data = cgutils.global_constant(
        module, ".message", ir.Constant(ir.ArrayType(ir.IntType(8), len(text)), bytearray(text))
    )
    kind = callconv.excinfo_t
    pointer = data.bitcast(kind.elements[0])
    null = ir.Constant(kind.elements[2], None)
    struct = ir.Constant(kind, [pointer, _WORD(len(text)), null, null, _WORD(0)])
    builder.store(cgutils.global_constant(module, ".exception", struct), self._get_excinfo_argument(builder.function))


def _store_dynamic_message(
    self: Any, builder: Any, exc: Any, exc_args: Any, nb_types: Any, loc: Any = None, func_name: Any = None
) -> None:
    _store_message(self, builder, exc, exc_args, loc, func_name)


def _stopped() -> Any:
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    @intrinsic
    def asked(typing: Any, flag: Any) -> Any:
        def make(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            ask = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_WORD, ()), "stopped")
            return builder.icmp_signed("!=", builder.call(ask, ()), _WORD(0))

        return types.boolean(flag), make

    return asked


# ---- exports ----


def _export(context: Any, name: str, fndesc: Any) -> Any:
    """A module with the function that JavaScript calls."""
    types = _numba("core.types")
    module = context.create_module(name)
    convention = context.call_conv
    kernel = ir.Function(module, convention.get_function_type(fndesc.restype, fndesc.argtypes), fndesc.llvm_func_name)
    numbers = [kind for arg in fndesc.argtypes for kind in _leaves(arg) if not isinstance(kind, types.Array)]
    fn = ir.Function(module, ir.FunctionType(_NUMBER, [_WORD.as_pointer(), *[_NUMBER] * len(numbers)]), name)
    builder = ir.IRBuilder(fn.append_basic_block())
    reader = _Reader(context, builder, *fn.args)
    values = [reader.value(arg) for arg in fndesc.argtypes]
    status, result = convention.call_function(builder, kernel, fndesc.restype, fndesc.argtypes, values)
    with builder.if_then(status.is_error, likely=False):
        info = builder.load(status.excinfoptr)
        text, length = builder.extract_value(info, 0), builder.extract_value(info, 1)
        fail = ir.Function(module, ir.FunctionType(ir.VoidType(), [text.type, _WORD]), "fail")
        builder.call(fail, [text, length])
        builder.unreachable()
    builder.ret(_as_number(builder, fndesc.restype, result))
    return module


def _leaves(kind: Any) -> Iterator[Any]:
    """The arrays and numbers of an argument."""
    types = _numba("core.types")
    if isinstance(kind, types.BaseTuple):
        for inner in kind:
            yield from _leaves(inner)
    else:
        yield kind


class _Reader:
    """Makes a kernel's arguments of a block and of numbers."""

    def __init__(self, context: Any, builder: Any, block: Any, *numbers: Any):
        self.context, self.builder, self.block, self.numbers, self.at = context, builder, block, iter(numbers), 0

    def word(self) -> Any:
        found = self.builder.load(self.builder.gep(self.block, [_WORD(self.at)]))
        self.at += 1
        return found

    def value(self, kind: Any) -> Any:
        types, builder, context = _numba("core.types"), self.builder, self.context
        if isinstance(kind, types.BaseTuple):
            return context.make_tuple(builder, kind, [self.value(inner) for inner in kind])
        if isinstance(kind, types.Array):
            return self.array(kind)
        given = next(self.numbers)
        if isinstance(kind, types.Float):
            return builder.fptrunc(given, ir.FloatType()) if kind.bitwidth == 32 else given
        if isinstance(kind, types.Boolean):
            return builder.fcmp_ordered("!=", given, _NUMBER(0.0))
        assert isinstance(kind, types.Integer), kind
        whole = ir.IntType(kind.bitwidth)
        return builder.fptosi(given, whole) if kind.signed else builder.fptoui(given, whole)

    def array(self, kind: Any) -> Any:
        from numba.np.arrayobj import populate_array

        builder, context = self.builder, self.context
        long = ir.IntType(64)
        data = builder.inttoptr(self.word(), context.get_data_type(kind.dtype).as_pointer())
        shape = [builder.zext(self.word(), long) for _ in range(kind.ndim)]
        size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
        strides: list[Any] = []
        step = long(size)
        for length in reversed(shape):
            strides.insert(0, step)
            step = builder.mul(step, length)
        array = context.make_array(kind)(context, builder)
        populate_array(array, data=data, shape=shape, strides=strides, itemsize=long(size), meminfo=None)
        return array._getvalue()


def _as_number(builder: Any, kind: Any, value: Any) -> Any:
    types = _numba("core.types")
    if isinstance(kind, types.NoneType):
        return _NUMBER(0.0)
    if isinstance(kind, types.Float):
        return builder.fpext(value, _NUMBER) if kind.bitwidth == 32 else value
    if isinstance(kind, types.Boolean):
        return builder.uitofp(value, _NUMBER)
    if not isinstance(kind, types.Integer):
        raise TypeError(f"a kernel for the browser returns a number, not {kind}")
    return builder.sitofp(value, _NUMBER) if kind.signed else builder.uitofp(value, _NUMBER)


if __name__ == "__main__":
    main()
