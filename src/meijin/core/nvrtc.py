"""Kernels in CUDA C++: compiled by NVIDIA's NVRTC when they are needed, kept on the disk, launched in any stream."""

from __future__ import annotations

import ctypes
import hashlib
from importlib import import_module
from typing import Any

from meijin.core.compile import cache_folder, read_cached, write_cached
from meijin.core.errors import MeijinError


def compiled(source: str, name: str, arch: str) -> bytes:
    """The machine code of a CUDA C++ source for one architecture, such as "sm_90a"; `name` is for the cache's file."""
    nvrtc: Any = import_module("cuda.bindings.nvrtc")
    options = [f"--gpu-architecture={arch}".encode(), b"--std=c++17"]
    version = _checked(nvrtc.nvrtcVersion())
    key = hashlib.sha256(repr((source, options, version)).encode()).hexdigest()[:32]
    path = cache_folder() / f"{name}-{key}.cubin"
    if (found := read_cached(path)) is not None:
        return found
    (program,) = _checked(nvrtc.nvrtcCreateProgram(source.encode(), f"{name}.cu".encode(), 0, [], []))
    (result,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if int(result):
        (size,) = _checked(nvrtc.nvrtcGetProgramLogSize(program))
        log = b" " * size
        nvrtc.nvrtcGetProgramLog(program, log)
        raise MeijinError(f"NVRTC cannot compile {name}: {log.decode(errors='replace')}")
    (size,) = _checked(nvrtc.nvrtcGetCUBINSize(program))
    found = b" " * size
    _checked(nvrtc.nvrtcGetCUBIN(program, found))
    nvrtc.nvrtcDestroyProgram(program)
    write_cached(path, found)
    return found


class CudaKernel:
    """A kernel of compiled code, in the current device's context."""

    def __init__(self, code: bytes, entry: str, shared: int):
        """`shared`: bytes of shared memory that a block is given."""
        self._driver: Any = import_module("cuda.bindings.driver")
        self.shared = shared
        (self._module,) = _checked(self._driver.cuModuleLoadData(code))
        (self._kernel,) = _checked(self._driver.cuModuleGetFunction(self._module, entry.encode()))
        most = self._driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        _checked(self._driver.cuFuncSetAttribute(self._kernel, most, shared))

    def launch(self, blocks: int, threads: int, stream: int, *args: int) -> None:
        """Pointers are integers of 8 bytes, and so are all other arguments."""
        types = (ctypes.c_uint64,) * len(args)
        _checked(
            self._driver.cuLaunchKernel(
                self._kernel, blocks, 1, 1, threads, 1, 1, self.shared, stream, (args, types), 0
            )
        )


def _checked(result: tuple[Any, ...]) -> tuple[Any, ...]:
    status, *found = result
    if int(status):
        raise MeijinError(f"CUDA answers {status.name}")
    return tuple(found)
