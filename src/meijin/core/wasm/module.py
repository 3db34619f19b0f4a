"""`Builder` collects the kernels and arrays of a game; `Module` is what becomes of them.

A module's manifest says, for whoever loads it, which arrays there are and which of them each function works on:

    {"arrays": {"states": {"type": "V24", "shape": [4], "fields": {...}}, ...},
     "functions": {"play": {"arrays": ["states"], "numbers": 2}, ...}}

Types are NumPy's, without the byte order, which is little-endian. `fields` of a record are name: [type, offset, count].
Arrays begin as zeros, unless the manifest has their `data` (base64). One that is `within` another, [name, offset],
shares its memory.
"""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from meijin.core import compile as compiling
from meijin.core.compile import Function, cache_folder, digest, read_cached, write_cached
from meijin.core.errors import MeijinError
from meijin.core.wasm import link

T = TypeVar("T")
Array = NDArray[Any]


@dataclass(frozen=True)
class Module:
    """A game for browsers: the code and its manifest."""

    code: bytes
    manifest: dict[str, Any]

    @property
    def memory(self) -> int:
        """Bytes it needs with all its arrays."""
        own = (array for array in self.manifest["arrays"].values() if "within" not in array)
        return link.memory(self.code) + sum(int(array["size"]) for array in own)


@dataclass
class Builder:
    """Takes arrays and kernels one by one. `explain` turns a compiler's error into one that a user can act on."""

    name: str
    explain: Callable[[Exception], None] = lambda error: None
    arrays: dict[str, Array] = field(default_factory=dict)
    jobs: list[tuple[str, types.FunctionType, tuple[Any, ...]]] = field(default_factory=list)

    def add(self, name: str, value: T) -> T:
        """Have an array, or those of a named tuple, as `name.field`; returns it."""
        for path, array in leaves(name, value):
            if self.arrays.setdefault(path, array) is not array:
                raise ValueError(f"two arrays are called '{path}'")
        return value

    def export(self, name: str, kernel: Function, *args: Any) -> None:
        """Have a kernel as a function of the arrays among these arguments; the others are examples of numbers."""
        assert isinstance(kernel, types.FunctionType)
        self.jobs.append((name, kernel, args))

    def build(self) -> Module:
        """From the disk where that has it."""
        code = _cached(self.name, self.jobs, self.explain)
        return Module(code, self._manifest())

    def _manifest(self) -> dict[str, Any]:
        names = {id(array): name for name, array in self.arrays.items()}
        functions = {}
        for name, _, args in self.jobs:
            values = [leaf for arg in args for _, leaf in leaves("", arg)]
            arrays = [names[id(value)] for value in values if isinstance(value, np.ndarray)]
            functions[name] = {"arrays": arrays, "numbers": len(values) - len(arrays)}
        described = {name: _described(array) for name, array in self.arrays.items()}
        for name, array in self.arrays.items():
            for other, base in self.arrays.items():
                if "within" not in described[other] and _inside(array, base) and other != name:
                    described[name]["within"] = [other, _address(array) - _address(base)]
                    break
        return {"arrays": described, "functions": functions}


def leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The arrays and numbers in an argument, with their names."""
    if isinstance(value, tuple):
        for key, inner in zip(getattr(value, "_fields", range(len(value))), value, strict=True):
            yield from leaves(f"{name}.{key}", inner)
    else:
        yield name, value


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def _inside(array: Array, base: Array) -> bool:
    begin = _address(array) - _address(base)
    return array.nbytes > 0 and begin >= 0 and begin + array.nbytes <= base.nbytes


def _described(array: Array) -> dict[str, Any]:
    dtype = array.dtype
    found: dict[str, Any] = {"type": dtype.str[1:], "shape": array.shape, "size": array.nbytes}
    if dtype.names:
        found["fields"] = {}
        for name in dtype.names:
            kind, offset = dtype.fields[name][:2]  # type: ignore[index]
            count = int(np.prod(kind.shape))
            found["fields"][name] = [kind.base.str[1:], offset, count]
    elif array.size and array.nbytes < 1 << 16 and array.any():
        found["data"] = base64.b64encode(array.tobytes()).decode()
    return found


# ---- compiling ----


def _example(value: Any) -> Any:
    """The same argument with empty arrays: their types are all that counts."""
    if isinstance(value, np.ndarray):
        return np.zeros((0,) * value.ndim, value.dtype)
    if isinstance(value, tuple):
        inner = map(_example, value)
        return type(value)(*inner) if hasattr(value, "_fields") else tuple(inner)
    return value


def _cached(name: str, jobs: list[Any], explain: Callable[[Exception], None]) -> bytes:
    path = cache_folder() / f"{name}-{_key(jobs)}.wasm"
    if (found := read_cached(path)) is not None:
        return found
    with compiling.on_compile(f"{name} for the browser"):
        code = link.link(_emitted(jobs, explain), [job[0] for job in jobs])
    foreign = sorted(set(link.imports(code)) - link.IMPORTS)
    if foreign:
        raise MeijinError(f"{name}: its rules call {foreign[0]}, which browsers do not have; leave that out")
    write_cached(path, code)
    return code


def _key(jobs: list[Any]) -> str:
    """Equal where the code would be."""
    import llvmlite
    import numba

    here = Path(__file__).parent
    versions = (numba.__version__, llvmlite.__version__, np.__version__, sys.version_info[:2])
    sources = [(here / file).read_bytes() for file in ("emit.py", "link.py")]
    kernels = [
        (name, digest(kernel), str([numba.typeof(_example(arg)) for arg in args])) for name, kernel, args in jobs
    ]
    return hashlib.sha256(repr((versions, sources, kernels)).encode()).hexdigest()[:32]


def _emitted(jobs: list[Any], explain: Callable[[Exception], None]) -> bytes:
    """The object code of these kernels, made by a process of its own."""
    from numba import cloudpickle

    # Modules that the other process cannot import travel with the functions.
    loaded = [module for key, module in list(sys.modules.items()) if key.startswith("meijin_file_")]
    for module in loaded:
        cloudpickle.register_pickle_by_value(module)
    try:
        data = cloudpickle.dumps([(name, kernel, tuple(map(_example, args))) for name, kernel, args in jobs])
    finally:
        for module in loaded:
            cloudpickle.unregister_pickle_by_value(module)
    program = "import sys; sys.path[:] = sys.argv[1:]; from meijin.core.wasm.emit import main; main()"
    command = [sys.executable, "-c", program, *sys.path]
    done = subprocess.run(command, input=bytes(data), capture_output=True, check=False)
    if done.returncode:
        error = MeijinError(f"a kernel cannot be compiled for browsers: {done.stderr.decode(errors='replace').strip()}")
        explain(error)
        raise error
    return done.stdout
