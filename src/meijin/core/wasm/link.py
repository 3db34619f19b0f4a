"""From object code to a module: finding a linker, calling it, and looking at what a module imports."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from meijin.core.errors import MeijinError

STACK = 1 << 20  # bytes; a search that calls itself needs some
PAGE = 1 << 16  # bytes; memory grows by pages
MOST_MEMORY = 256 << 20  # bytes a module may have: more is refused by phones

#: What a module may ask of whoever loads it: these of the mathematical functions that WebAssembly has no instruction
#: for, in double and single precision, and two functions of ours (see `emit`).
MATHEMATICS = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "exp", "exp2", "expm1", "fmod", "hypot",
    "log", "log10", "log1p", "log2", "pow", "round", "sin", "sinh", "tan", "tanh",
)  # fmt: skip
IMPORTS = frozenset((*MATHEMATICS, *(f"{name}f" for name in MATHEMATICS), "fail", "stopped"))


@cache
def linker() -> tuple[str, ...] | None:
    """The command of a linker for WebAssembly; None where there is none."""
    found = next(filter(None, map(shutil.which, ("wasm-ld", *(f"wasm-ld-{n}" for n in range(30, 12, -1))))), None)
    if found:
        return (found,)
    return (sys.executable, "-m", "ziglang", "wasm-ld") if find_spec("ziglang") else None


def missing() -> str | None:
    """Why no module can be made here, and what to install; None when one can."""
    if linker():
        return None
    return (
        "there is no linker for WebAssembly here: pip install 'meijin[publish]' (it has the `ziglang` package's), or "
        "install wasm-ld of the LLVM project (Debian and Ubuntu: apt install lld; macOS: brew install lld)"
    )


def link(objects: bytes, exports: Iterable[str]) -> bytes:
    """A module of its own memory with these functions, and `__heap_base`, from where on memory is free."""
    command = linker()
    if command is None:
        raise MeijinError(str(missing()))
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "game.o"), Path(folder, "game.wasm")
        source.write_bytes(objects)
        options = [
            "--no-entry", "--allow-undefined", "--strip-all", "--stack-first", "-z", f"stack-size={STACK}",
            f"--max-memory={MOST_MEMORY}", *(f"--export={name}" for name in ("__heap_base", *exports)),
        ]  # fmt: skip
        called = [*command, *options, str(source), "-o", str(target)]
        done = subprocess.run(called, capture_output=True, text=True, check=False)
        if done.returncode:
            raise MeijinError(f"{command[0]} cannot link the module: {done.stderr.strip()}")
        return target.read_bytes()


# ---- what is in a module ----


def _number(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned number in LEB128 form, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _sections(module: bytes) -> Iterator[tuple[int, bytes]]:
    at = 8
    while at < len(module):
        kind = module[at]
        size, at = _number(module, at + 1)
        yield kind, module[at : at + size]
        at += size


def imports(module: bytes) -> tuple[str, ...]:
    """The names of the functions that a module imports."""
    found = []
    for kind, data in _sections(module):
        if kind == 2:
            count, at = _number(data, 0)
            for _ in range(count):
                for part in range(2):
                    length, at = _number(data, at)
                    name, at = data[at : at + length].decode(), at + length
                    if part == 1:
                        found.append(name)
                _, at = _number(data, at + 1)  # all are functions: a kind, then the number of a type
    return tuple(found)


def memory(module: bytes) -> int:
    """Bytes of memory that a module begins with: its stack and its tables."""
    for kind, data in _sections(module):
        if kind == 5:
            return _number(data, 2)[0] * PAGE
    return 0
