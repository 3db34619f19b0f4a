"""WebAssembly, the third target beside CPU and CUDA: the same kernels, compiled for browsers."""
