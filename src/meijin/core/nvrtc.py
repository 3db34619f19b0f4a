"""Kernels in CUDA C++: compiled by NVIDIA's NVRTC when they are needed, kept on the disk, launched in any stream."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from meijin.core.compile import cache_folder, read_cached, write_cached
from meijin.core.errors import MeijinError


def problem() -> str | None:
    """Why nothing can be compiled; None when it can."""
    try:
        _checked(import_module("cuda.bindings.nvrtc").nvrtcVersion())
        import_module("cuda.bindings.driver")
    except Exception as error:  # a broken library is as good as none, but its reason is worth showing
        return f"CUDA C++ cannot be compiled ({error}); install numba-cuda"
    return None


def compiled(source: str, name: str, arch: str) -> bytes:
    """The machine code of a CUDA C++ source for one architecture, such as "sm_90a"; `name` is for the cache's file."""
    nvrtc: Any = import_module("cuda.bindings.nvrtc")
    options = [f"--gpu-architecture={arch}".encode(), b"--std=c++17"]
    version = _checked(nvrtc.nvrtcVersion())
    key = hashlib.sha256(repr((source, options, version)).encode()).hexdigest()[:32]
    path = cache_folder() / f"{name}-{key}.cubin"
    if (cached := read_cached(path)) is not None:
        return cached
    (program,) = _checked(nvrtc.nvrtcCreateProgram(source.encode(), f"{name}.cu".encode(), 0, [], []))
    (result,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if int(result):
        (size,) = _checked(nvrtc.nvrtcGetProgramLogSize(program))
        log = b" " * size
        nvrtc.nvrtcGetProgramLog(program, log)
        raise MeijinError(f"NVRTC cannot compile {name}: {log.decode(errors='replace')}")
    (size,) = _checked(nvrtc.nvrtcGetCUBINSize(program))
    found = b" " * int(size)
    _checked(nvrtc.nvrtcGetCUBIN(program, found))
    nvrtc.nvrtcDestroyProgram(program)
    write_cached(path, found)
    return found


class CudaKernel:
    """A kernel of compiled code on one device. Any thread may launch it."""

    def __init__(self, code: bytes, entry: str, shared: int, device: int):
        """`shared`: bytes of shared memory that a block is given beyond those the kernel declares."""
        self._driver: Any = import_module("cuda.bindings.driver")
        self.shared = shared
        (self._context,) = _checked(self._driver.cuDevicePrimaryCtxRetain(device))
        with self._current():
            (module,) = _checked(self._driver.cuModuleLoadData(code))
            (self._kernel,) = _checked(self._driver.cuModuleGetFunction(module, entry.encode()))
            most = self._driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            _checked(self._driver.cuFuncSetAttribute(self._kernel, most, shared))

    @contextmanager
    def _current(self) -> Iterator[None]:
        """While the device's context is this thread's."""
        _checked(self._driver.cuCtxPushCurrent(self._context))
        try:
            yield
        finally:
            _checked(self._driver.cuCtxPopCurrent())

    def launch(self, blocks: int, threads: int, stream: int, *args: int) -> None:
        """Pointers are integers of 8 bytes, and so are all other arguments."""
        shape, types = (blocks, 1, 1, threads, 1, 1, self.shared, stream), (ctypes.c_uint64,) * len(args)
        with self._current():
            _checked(self._driver.cuLaunchKernel(self._kernel, *shape, (args, types), 0))


def _checked(result: tuple[Any, ...]) -> tuple[Any, ...]:
    status, *found = result
    if int(status):
        raise MeijinError(f"CUDA answers {status.name}")
    return tuple(found)
