"""Compilation: plain Python rules and kernels in, native code out.

A kernel is a plain function whose closure and globals reach a game's rules. `twin` rebuilds it with every plain
function it reaches replaced by that function's Numba twin, so the source stays ordinary Python: with `MEIJIN_JIT=0`
the very same functions run interpreted.

Entry points are cached on disk under a digest of everything they reach: bytecode, constants, parameters and tables.
An edited rule or another parameter is another digest, so nothing stale is ever served.
"""

from __future__ import annotations

import dis
import enum
import functools
import hashlib
import os
import pickle
import sys
import threading
import time
import types
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)

#: False with MEIJIN_JIT=0: every kernel runs as plain Python, for debuggers and coverage.
JIT = os.environ.get("MEIJIN_JIT", "1") != "0"


def _silent(name: str) -> AbstractContextManager[Any]:
    return nullcontext()


#: Entered with the name of what is about to be compiled; a front end may put a spinner here.
on_compile: Callable[[str], AbstractContextManager[Any]] = _silent


def cache_folder() -> Path:
    """Where compiled code is kept: MEIJIN_CACHE, or `meijin` in the user's cache folder."""
    if path := os.environ.get("MEIJIN_CACHE"):
        return Path(path)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "meijin"


# ---- what a function reaches ----


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _codes(const)


@functools.cache
def _globals(code: types.CodeType) -> frozenset[str]:
    """The globals that code loads; `co_names` has attributes too, which may be called like some global."""
    instructions = (i for inner in _codes(code) for i in dis.get_instructions(inner))
    return frozenset(i.argval for i in instructions if i.opname == "LOAD_GLOBAL")


def reached(fn: types.FunctionType) -> dict[str, Any]:
    """The closure variables and globals a function's code loads, with their values."""
    names = _globals(fn.__code__)
    found = {name: fn.__globals__[name] for name in sorted(names) if name in fn.__globals__}
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
        found[name] = cell.cell_contents
    return found


def digest(fn: types.FunctionType, versions: bool = True) -> str:
    """A hash of a function's code and of every value it reaches; equal in every process.

    Without `versions` it says what the function does and not with which release of a library; bytecode is still that
    of one minor version of Python.
    """
    sha = hashlib.sha256()
    seen: set[int] = set()

    def feed(value: Any) -> None:
        if isinstance(value, types.FunctionType):
            if id(value) in seen:
                return
            seen.add(id(value))
            feed_code(value.__code__)
            feed(value.__defaults__)
            if getattr(value, "inlined", False):
                sha.update(b"inlined")
            names = {name for code in _codes(value.__code__) for name in code.co_names}
            for name, inner in reached(value).items():
                sha.update(f"|{name}=".encode())
                if isinstance(inner, types.ModuleType):
                    feed_module(inner, sorted(names), ())
                else:
                    feed(inner)
        elif isinstance(value, np.ndarray | np.generic):
            sha.update(f"{type(value).__name__}{value.dtype.descr}{value.shape}".encode() + value.tobytes())
        elif isinstance(value, tuple | list):
            sha.update(f"({len(value)}{getattr(value, '_fields', '')}".encode())
            for item in value:
                feed(item)
        elif isinstance(value, enum.EnumMeta):
            feed([(name, value[name].value) for name in value.__members__])
        elif hasattr(value, "py_func"):  # compiled by Numba already
            feed(value.py_func)
        elif callable(value) and hasattr(value, "__name__"):  # a type or a function of a library: not by its address
            sha.update(f"{getattr(value, '__module__', '')}.{value.__name__}".encode())
        else:
            sha.update(f"{type(value).__name__}:{value!r}".encode())

    def feed_module(module: types.ModuleType, names: list[str], within: tuple[types.ModuleType, ...]) -> None:
        """A module, by the constants that a function may take from it."""
        version = getattr(module, "__version__", "") if versions else ""
        sha.update(f"module {module.__name__} {version}".encode())
        for name in names:
            value = vars(module).get(name)
            if isinstance(value, types.ModuleType):
                if value not in within:
                    feed_module(value, names, (*within, module))
            elif value is not None and not callable(value):
                sha.update(f"|{name}=".encode())
                feed(value)
            elif isinstance(value, enum.EnumMeta):
                feed(value)

    def feed_code(code: types.CodeType) -> None:
        sha.update(code.co_code + repr((code.co_names, code.co_varnames, code.co_freevars)).encode())
        for const in code.co_consts:
            if isinstance(const, types.CodeType):
                feed_code(const)
            else:
                feed(sorted(const, key=repr) if isinstance(const, frozenset) else const)

    feed(fn)
    return sha.hexdigest()[:24]


# ---- compiled twins ----

#: Functions for which the target has something of its own, and what that is.
provided: dict[Function, Any] = {}

_twins: weakref.WeakKeyDictionary[types.FunctionType, Any] = weakref.WeakKeyDictionary()
#: By digest and place: two kernels of a game bring their own copies of what they have in common, such as a playout.
_shared: weakref.WeakValueDictionary[tuple[str, str, int], Any] = weakref.WeakValueDictionary()
_IN_PROGRESS = object()
_compiling = threading.RLock()  # one thread at a time makes twins; to another they would look like recursion
#: How everything is compiled. `_nrt`: nothing is allocated, so nobody counts references to arrays; the counts would be
#: atomic additions to memory that threads share.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
_SUM = hashlib.sha256().digest_size  # a file begins with the digest of the rest


def linked(fn: types.FunctionType, name: str = "") -> types.FunctionType:
    """A copy of a plain function, with this digest, that calls the compiled twins of the plain functions it reaches."""

    def swap(value: Any) -> Any:
        if value is fn and getattr(fn, "recursive", False):
            return fn  # `twin` puts the twin here once there is one
        if isinstance(value, types.FunctionType) and value in provided:
            return provided[value]
        return twin(value) if isinstance(value, types.FunctionType) else value

    names = _globals(fn.__code__)
    space = {**fn.__globals__, **{n: swap(fn.__globals__[n]) for n in names if n in fn.__globals__}}
    cells = tuple(types.CellType(swap(cell.cell_contents)) for cell in fn.__closure__ or ())
    space["__name__"] = __name__  # machine code is loaded with its module, and a game's file may have been moved
    copy = types.FunctionType(fn.__code__, space, fn.__name__, fn.__defaults__, cells)
    # Numba names machine code after the function, and the loader takes equal names for equal code. Kernels of two
    # games compiled in two processes may well share a name, so the digest, parameters included, is part of it.
    copy.__qualname__, copy.__module__ = f"{fn.__qualname__}_{name or digest(fn)}", __name__
    return copy


def twin(fn: types.FunctionType) -> Any:
    """The compiled form of a plain function, to be called by other compiled functions.

    Rules are loops, so that a GPU can run them; a search on the CPU that calls itself says so: `fn.recursive = True`.
    """
    from meijin.core.lowering import inner  # with Numba, which takes its time to import

    found = _twins.get(fn)
    if found is _IN_PROGRESS:
        raise RecursionError(f"{fn.__qualname__} calls itself; write rules and kernels with loops instead")
    if found is None:
        name, code = digest(fn), fn.__code__
        key = name, code.co_filename, code.co_firstlineno
        if (shared := _shared.get(key)) is not None:
            _twins[fn] = shared
            return shared
        _twins[fn] = _IN_PROGRESS
        try:
            copy = linked(fn, name)
            found = inner(copy, inlined=getattr(fn, "inlined", False))
        except BaseException:
            del _twins[fn]
            raise
        for cell in copy.__closure__ or ():
            if cell.cell_contents is fn:
                cell.cell_contents = found
        _twins[fn] = _shared[key] = found
    return found


def entry(fn: types.FunctionType) -> Any:
    """The Numba dispatcher of a function that Python calls: `linked(kernel)`."""
    import numba

    from meijin.core.lowering import EntryPipeline

    return numba.njit(**OPTIONS, pipeline_class=EntryPipeline)(fn)


def inlined(fn: F) -> F:
    """Have the compiler inline a function: an array counts as eight arguments, and calls with many are slow."""
    fn.inlined = True  # type: ignore[attr-defined]
    return fn


def read_cached(path: Path) -> bytes | None:
    """What `write_cached` wrote there; None when it is missing or damaged: damaged machine code would crash."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    payload = data[_SUM:]
    return payload if hashlib.sha256(payload).digest() == data[:_SUM] else None


def write_cached(path: Path, payload: bytes) -> None:
    """A full or read-only disk costs the next start its compile time, nothing else."""
    part = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(hashlib.sha256(payload).digest() + payload)
        part.replace(path)
    except OSError:
        with suppress(OSError):
            part.unlink()


class DiskCache:
    """What Numba asks of a dispatcher's cache, with one file per overload; any damage means compiling again."""

    def __init__(self, key: str, name: str, *versions: str):
        """`versions`: of what else the machine code depends on."""
        self.key, self.name, self.versions = key, name, versions
        self.cache_path = str(cache_folder())

    def _path(self, sig: Any, codegen: Any) -> Path:
        import numba

        parts = (
            self.key,
            OPTIONS,
            str(sig),
            codegen.magic_tuple(),
            sys.version_info[:2],
            numba.__version__,
            np.__version__,
            *self.versions,
        )
        return Path(self.cache_path) / f"{self.name}-{hashlib.sha256(repr(parts).encode()).hexdigest()[:32]}.nbc"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        from numba.core.compiler import CompileResult

        target_context.refresh()
        try:
            payload = read_cached(self._path(sig, target_context.codegen()))
            return None if payload is None else CompileResult._rebuild(target_context, *pickle.loads(payload))
        except Exception:  # of another version: compile and write it again
            return None

    def save_overload(self, sig: Any, result: Any) -> None:
        from numba.core.serialize import dumps

        if result.library.has_dynamic_globals:  # tables above 1 MB cannot be stored
            return
        write_cached(self._path(sig, result.library.codegen), dumps(result._reduce()))

    def has(self, sig: Any, codegen: Any) -> bool:
        try:
            return self._path(sig, codegen).exists()
        except OSError:  # a folder that may not be read
            return False

    def enable(self) -> None: ...

    def disable(self) -> None: ...

    def flush(self) -> None: ...


class Kernel:
    """An entry point: a plain function, compiled on its first call and cached on disk.

    `explain` turns a compiler error into one a user can act on; it raises, or returns for the error to pass on.
    """

    def __init__(self, fn: types.FunctionType, name: str, explain: Callable[[Exception], None] | None = None):
        self.plain, self.name, self._explain = fn, name, explain
        self._call: Function | None = None
        functools.update_wrapper(self, fn)

    def explain(self, error: Exception) -> None:
        """Raise an error that names the rule at fault, if one can be found."""
        if self._explain:
            self._explain(error)

    @property
    def ready(self) -> bool:
        return self._call is not None

    def cached(self, args: tuple[Any, ...]) -> bool:
        """Whether the machine code for such arguments is on the disk."""
        from numba import typeof
        from numba.core.registry import cpu_target

        cache = DiskCache(digest(self.plain), self.name)
        return cache.has(tuple(typeof(arg) for arg in args), cpu_target.target_context.codegen())

    def __call__(self, *args: Any) -> Any:
        if self._call is None:
            with _compiling:
                self._call = self._call or self._compile(args)
        return self._call(*args)

    def _compile(self, args: tuple[Any, ...]) -> Function:
        from numba import typeof

        try:
            dispatcher = entry(linked(self.plain))
            cache = DiskCache(digest(self.plain), self.name)
            dispatcher._cache = cache
            types_ = tuple(typeof(arg) for arg in args)
            known = cache.has(types_, dispatcher.targetctx.codegen())
            with nullcontext() if known else on_compile(self.name):
                dispatcher.compile(types_)
        except Exception as error:  # Numba's own, but also its KeyError for a field that does not exist
            self.explain(error)
            raise
        return dispatcher  # type: ignore[no-any-return]


eager = threading.local()


class Tiered:
    """A kernel for single calls: plain Python until that has taken long enough to be worth the compiler's time.

    What is compiled and on the disk already is used much sooner. The very first calls do not even import Numba.
    Threads in which `eager.on` is set compile at once.
    """

    LOOK = 0.05  # seconds of plain Python after which the disk is asked
    COMPILE = 1.0  # and after which it is compiled

    def __init__(self, kernel: Kernel):
        self.kernel, self._plain, self._spent, self._asked = kernel, interpreted(kernel.plain), 0.0, False
        functools.update_wrapper(self, kernel.plain)

    def __call__(self, *args: Any) -> Any:
        if self.kernel.ready or getattr(eager, "on", False):
            return self.kernel(*args)
        if self._spent > self.LOOK and not self._asked:
            self._asked = True
            if self.kernel.cached(args):
                return self.kernel(*args)
        if self._spent > self.COMPILE:
            return self.kernel(*args)
        began = time.thread_time()
        try:
            return self._plain(*args)
        except Exception as error:
            self.kernel.explain(error)
            raise
        finally:
            self._spent += time.thread_time() - began


def interpreted(fn: Function) -> Function:
    """A kernel as plain Python; machine integers wrap there as they do in compiled code."""

    @functools.wraps(fn)
    def run(*args: Any) -> Any:
        with np.errstate(over="ignore"):
            return fn(*args)

    return run
