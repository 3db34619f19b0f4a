"""WebAssembly, the third target beside CPU and CUDA: the same kernels, compiled for browsers."""

from meijin.core.wasm.link import linker, missing
from meijin.core.wasm.module import Builder, Module

__all__ = ["Builder", "Module", "linker", "missing"]
