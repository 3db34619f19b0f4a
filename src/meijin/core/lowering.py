# mypy: disable-error-code="no-untyped-call"
"""How Numba compiles kernels and the functions that only they call.

Numba gives every function machine code of its own and wrappers to call it from Python and from C, although what a
kernel calls is linked into the kernel and becomes machine code there. Functions that kernels call end as optimised
LLVM code, and kernels have no wrapper for C: a kernel then compiles in about two thirds of the time, and runs as
fast.

Numba also finds the type of every `a + b` and `a[i]` by asking all its definitions of the operator in turn, dozens of
times for the same types. Here it is asked once, which saves another fifth.
"""

from __future__ import annotations

import operator
import types
from typing import Any

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.registry import cpu_target
from numba.core.typed_passes import NativeLowering
from numba.core.types import Function

from meijin.core.compile import OPTIONS, provided
from meijin.core.prefetch import make_prefetch, prefetch

provided[prefetch] = make_prefetch()


def inner(fn: types.FunctionType, inlined: bool = False) -> Any:
    """The dispatcher of such a function; Python cannot call it."""
    make: Any = numba.njit(**OPTIONS, forceinline=inlined, pipeline_class=_Pipeline)
    dispatcher = make(fn)

    def add_overload(result: Any) -> None:  # Numba's own also wants something that Python can call
        dispatcher.overloads[tuple(result.signature.args)] = result

    dispatcher.add_overload = add_overload
    return dispatcher


#: What Python itself calls. Its type is that of the arguments alone, whatever is being compiled.
_OPERATORS: frozenset[Any] = frozenset([*filter(callable, vars(operator).values())]) | {bool, len, max, min}
_resolve: Any = Function.get_call_type


def _resolve_once(function: Any, context: Any, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
    """`Function.get_call_type`, which keeps its answers for operators on the CPU.

    Whoever adds a definition makes another `Function`.
    """
    key = function.typing_key
    if kws or context is not cpu_target.typing_context:
        return _resolve(function, context, args, kws)
    if not isinstance(key, types.BuiltinFunctionType | type) or key not in _OPERATORS:
        return _resolve(function, context, args, kws)
    known = vars(function).setdefault("_meijin_known", {})
    found = known.get(args)
    if found is None:
        found = _resolve(function, context, args, kws)
        if function.get_impl_key(found) is key:  # built in; else it is a function compiled with the options of now
            known[args] = found
    return found


Function.get_call_type = _resolve_once  # type: ignore[assignment, method-assign]


class Library(JITCodeLibrary):
    """Code to be linked into a kernel, optimised but without machine code."""

    def _optimize_final_module(self) -> None:
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    _name = "meijin_lowering"

    def run_pass(self, state: Any) -> bool:
        library = state.library = Library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = state.flags.no_cpython_wrapper = state.flags.no_cfunc_wrapper = True
        super().run_pass(state)
        library.finalize()
        state.cr = state.cr._replace(cfunc=library)  # there is nothing to call, only a key to find the code by
        state.targetctx.insert_user_function(library, state.cr.fndesc, [library])
        state.reload_init.extend(library._reload_init)
        return True


class _Pipeline(CompilerBase):
    """Numba's usual pipeline with another last step."""

    def define_pipelines(self) -> list[Any]:
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.passes = [(_Lowering if kind is NativeLowering else kind, text) for kind, text in manager.passes]
        return [manager]


class EntryPipeline(CompilerBase):
    """Numba's usual pipeline for kernels, which are never called from C."""

    def define_pipelines(self) -> list[Any]:
        self.state.flags.no_cfunc_wrapper = True
        return [DefaultPassBuilder.define_nopython_pipeline(self.state)]
