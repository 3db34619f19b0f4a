"""The CUDA driver: the same rule functions, compiled for the GPU, one thread per game.

Without a GPU the kernels run under Numba's simulator (NUMBA_ENABLE_CUDASIM=1), interpreted, for tests.
"""

from __future__ import annotations

import pickle
import re
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

from meijin.core import compile as compiling
from meijin.core import kernels
from meijin.core.compile import DiskCache, Function, digest, linked, read_cached, write_cached
from meijin.core.errors import NoDevice
from meijin.core.game import Game
from meijin.core.rng import streams

BLOCK = 128  # threads a block

cuda: Any = None  # the module numba.cuda once `module` has loaded it; kernels name it so for the simulator's sake


@cache
def module() -> Any:
    """`numba.cuda`, ready for use with whatever NumPy there is."""
    global cuda  # noqa: PLW0603
    # numba-cuda up to 0.30 asks NumPy for names that NumPy 2.5 dropped.
    for old, new in (("row_stack", "vstack"), ("in1d", "isin"), ("trapz", "trapezoid")):
        if old not in vars(np):
            setattr(np, old, getattr(np, new))
    cuda = import_module("numba.cuda")
    _step_plainly_through_ranges()
    return cuda


def _step_plainly_through_ranges() -> None:
    """Have Numba compile loops over a range to what they are.

    It steps on only if the end is not reached, which the GPU's compiler does not see through: a dozen instructions an
    iteration, and no loop is unrolled. To step on in any case comes to the same, since nobody uses what lies beyond.
    It holds for all CUDA code that Numba compiles in this process. Seen to work with numba-cuda 0.26 to 0.30.
    """
    try:
        ranges, lowering = (import_module(f"numba.cuda.{name}") for name in ("cpython.rangeobj", "core.imputils"))
        functions = ranges.registry.functions
    except (ImportError, AttributeError):  # the simulator, or an older version: right, too, and slower
        return

    def step(context: Any, builder: Any, sig: Any, args: Any, result: Any) -> None:
        at = ranges.make_range_iterator(sig.args[0])(context, builder, args[0])
        left, value = builder.load(at.count), builder.load(at.iter)
        result.set_valid(builder.icmp_signed(">", left, left.type(0)))
        result.yield_(value)
        builder.store(builder.sub(left, left.type(1), flags=["nsw"]), at.count)
        builder.store(builder.add(value, at.step, flags=["nsw"] if sig.args[0].yield_type.signed else []), at.iter)

    plain = lowering.iternext_impl(lowering.RefType.BORROWED)(step)
    functions[:] = [(plain if name == "iternext" else made, name, kind) for made, name, kind in functions]


def simulated() -> bool:
    """Whether Numba's CUDA simulator takes the place of a device."""
    from numba import config

    return bool(vars(config)["ENABLE_CUDASIM"])


def problem() -> str | None:
    """Why no GPU can be used; None when one can."""
    try:
        if module().is_available():
            return None
        return "numba.cuda finds no device or driver"
    except Exception as error:  # a broken driver or package is as good as none, but its reason is worth showing
        return f"numba.cuda does not load ({error})"


def available() -> bool:
    return problem() is None


def capability() -> tuple[int, int]:
    """The current device's compute capability; (0, 0) under the simulator."""
    require()
    return (0, 0) if simulated() else tuple(cuda.get_current_device().compute_capability)


def device_name() -> str:
    """What the device is called, as in "NVIDIA H200"."""
    require()
    name = "simulator" if simulated() else cuda.get_current_device().name
    return name.decode() if isinstance(name, bytes) else str(name)


def use(name: str) -> None:
    """Have this thread work on the device of that name, such as "cuda" or "cuda:1"."""
    require()
    last, match = len(module().gpus) - 1, re.fullmatch(r"cuda(?::(\d+))?", name)
    if match is None or int(match[1] or 0) > last:
        raise NoDevice(f"device '{name}': choose cpu{f', or cuda:0 to cuda:{last}' if last else ' or cuda'}")
    if not simulated():
        module().select_device(int(match[1] or 0))


def free_memory() -> int:
    """Bytes of the device's memory that are free; of the simulator's, more than anybody needs."""
    return 2**62 if simulated() else int(module().current_context().get_memory_info().free)


def require() -> None:
    """Raise NoDevice unless a GPU can be used."""
    if why := problem():
        raise NoDevice(
            f"no GPU can be used: {why}. Install numba-cuda (pip install numba-cuda) and an NVIDIA driver, "
            "or leave the device at cpu"
        )


def device_kernel(game: Game, maker: Any) -> Any:
    """The CUDA kernel that `maker` specialises to a game; under the simulator its functions stay interpreted.

    A kernel may say how many registers a thread may have at most, and what share of a multiprocessor's memory, in per
    cent, should be shared memory rather than its cache: `kernel.registers = 128`, `kernel.shared = 28`.
    """
    require()
    if (maker, "cuda") not in game._kernels:
        plain = maker(game)
        if simulated():
            kernel = module().jit(plain)
        else:
            own = {"max_registers": getattr(plain, "registers", None)}
            if (share := getattr(plain, "shared", None)) is not None:
                own["shared_memory_carveout"] = share
            kernel = module().jit(linked(plain), **own)
            kernel._cache = _KernelCache(digest(plain), f"{game.name}-cuda", version("numba-cuda"), str(own))
        game._kernels[maker, "cuda"] = kernel
    return game._kernels[maker, "cuda"]


class _KernelCache(DiskCache):
    """The machine code of CUDA kernels on the disk, for one kind of device each."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            payload = read_cached(self._path(sig, target_context.codegen()))
            kernel = import_module("numba.cuda.dispatcher")._Kernel
            return None if payload is None else kernel._rebuild(**pickle.loads(payload))
        except Exception:  # of another version: compile and write it again
            return None

    def save_overload(self, sig: Any, result: Any) -> None:
        try:
            payload = import_module("numba.cuda.serialize").dumps(result._reduce_states())
        except Exception:  # Numba does not store everything that it can compile
            return
        write_cached(self._path(sig, result.target_context.codegen()), payload)


def sizes(game: Game) -> tuple[Any, int, int]:
    """The record's type and the buffer sizes as a kernel's `local.array` wants them."""
    from numba import from_dtype

    assert game.branching is not None
    record = game.dtype if simulated() else from_dtype(game.dtype)
    return record, game.branching, game.branching if game.chance else 1


def walks(game: Game) -> Function:
    """Thread i plays the first `plies` plies of a random game in record i with stream i."""
    _, most_moves, most_odds = sizes(game)
    run = kernels.walk(game)

    def kernel(states: Any, plies: int, rngs: Any) -> None:
        i = cuda.grid(1)
        if i < states.shape[0]:
            moves = cuda.local.array(most_moves, np.int32)
            probs = cuda.local.array(most_odds, np.float64)
            run(states[i], plies, rngs[i], moves, probs)

    return kernel


def games(game: Game) -> Function:
    """Thread i plays `count` random games with stream i in memory of its own."""
    record, most_moves, most_odds = sizes(game)
    seats, begin, score, run = game.seats, game.start, game.score, kernels.playout(game)

    def kernel(count: int, rngs: Any, plies: Any, totals: Any) -> None:
        i = cuda.grid(1)
        if i < rngs.shape[0]:
            moves = cuda.local.array(most_moves, np.int32)
            probs = cuda.local.array(most_odds, np.float64)
            scores = cuda.local.array(seats, np.float64)
            rng = cuda.local.array(1, np.uint64)
            state = cuda.local.array(1, record)
            rng[0] = rngs[i, 0]
            s = state[0]
            n = 0
            for k in range(seats):
                totals[i, k] = 0.0
            for _ in range(count):
                begin(s)
                n += run(s, rng, moves, probs)
                score(s, scores)
                for k in range(seats):
                    totals[i, k] += scores[k]
            plies[i] = n
            rngs[i, 0] = rng[0]

    return kernel


@contextmanager
def _tables_in_global_memory() -> Iterator[None]:
    """While compiling, keep a game's tables out of constant memory.

    That is 64 kB, which copies of a table for every function that reads it soon fill, and it serves the threads of a
    warp one by one where they read different entries, as games do.
    """
    if simulated():
        yield
        return
    nvvm: Any = import_module("numba.cuda.cudadrv.nvvm")
    constant = nvvm.ADDRSPACE_CONSTANT
    nvvm.ADDRSPACE_CONSTANT = nvvm.ADDRSPACE_GLOBAL
    try:
        yield
    finally:
        nvvm.ADDRSPACE_CONSTANT = constant


def _enqueue(kernel: Any, blocks: int, width: int, *args: Any, stream: Any = 0) -> None:
    with warnings.catch_warnings(), _tables_in_global_memory():
        warnings.simplefilter("ignore")  # Numba warns that few threads leave most of a device idle: known, and harmless
        kernel[blocks, width, stream](*args)


def _launch(kernel: Any, threads: int, *args: Any) -> None:
    _enqueue(kernel, (threads + BLOCK - 1) // BLOCK, min(BLOCK, threads), *args)
    module().synchronize()


# ---- arrays and kernels of larger things, such as forests ----

WARPS = 512  # what keeps every scheduler of a large device busy; more threads than that share warps, up to 32 in one


def zeros(shape: tuple[int, ...], dtype: Any) -> Any:
    """Zeros in the device's memory."""
    require()
    array = cuda.device_array(shape, dtype)
    clear(array)
    return array


def clear(array: Any) -> None:
    """Fill an array in the device's memory with zeros."""
    if simulated():
        array[:] = np.zeros(array.shape, array.dtype)
    else:
        cuda.driver.device_memset(array, 0, array.nbytes)


def as_device(array: Any) -> Any:
    """An array in the device's memory: copied if NumPy's, shared if another library's."""
    require()
    if isinstance(array, np.ndarray):
        return cuda.to_device(array)
    if simulated():
        return array
    arrays: Any = import_module("numba.cuda.cudadrv.devicearray")
    # What is Numba's already stays as it is: the common interface would lose the fields of records.
    return array if arrays.is_cuda_ndarray(array) else cuda.as_cuda_array(array)


def external_stream(handle: int) -> Any:
    """Another library's stream, by its handle."""
    require()
    return cuda.external_stream(handle)


@cache
def _each(maker: Any) -> Any:
    """The maker of a CUDA kernel that runs `maker`'s function `(arrays, i)` in thread i."""

    def each(game: Game) -> Function:
        run = maker(game)

        def kernel(arrays: Any, count: int) -> None:
            i = cuda.grid(1)
            if i < count:
                run(arrays, i)

        return kernel

    return each


def over(game: Game, maker: Any, count: int, arrays: Any, stream: Any = 0) -> None:
    """Run `maker`'s function `(arrays, i)` for i in 0..count-1, one thread each, without waiting for the end."""
    kernel = device_kernel(game, _each(maker))
    # Threads of one warp that go different ways wait for each other, so a block is one warp with as few as will do.
    width = 1
    while width < 32 and count > 2 * width * WARPS:
        width *= 2
    _enqueue(kernel, (count + width - 1) // width, width, arrays, count, stream=stream)


def blocks(game: Game, maker: Any, count: int, width: int, *args: Any) -> None:
    """Run `maker`'s kernel in `count` blocks of `width` threads, and wait for its end."""
    _enqueue(device_kernel(game, maker), count, width, *args)
    module().synchronize()


def random_walks(game: Game, count: int, plies: int, seed: int) -> Any:
    """`count` positions after at most `plies` random plies; equal to `kernels.random_walks` with the same streams."""
    kernel = device_kernel(game, walks)
    states, rngs = cuda.to_device(game.states(count)), cuda.to_device(streams(seed, count))
    with compiling.on_compile(f"{game.name}-cuda"):
        _launch(kernel, count, states, plies, rngs)
    found = game.states(count)  # zero between the fields, where the simulator would leave anything
    states.copy_to_host(found)
    return found


def random_games(game: Game, threads: int, count: int, seed: int) -> tuple[int, Any, float]:
    """Play `count` games on each of `threads` threads: plies, score totals by seat, seconds without compiling."""
    kernel = device_kernel(game, games)
    rngs = cuda.to_device(streams(seed, threads))
    plies = cuda.to_device(np.zeros(threads, np.int64))
    totals = cuda.to_device(np.zeros((threads, game.seats)))
    with compiling.on_compile(f"{game.name}-cuda"):
        _launch(kernel, threads, 1, rngs, plies, totals)
    began = time.perf_counter()
    _launch(kernel, threads, count, rngs, plies, totals)
    seconds = time.perf_counter() - began
    return int(plies.copy_to_host().sum()), totals.copy_to_host().sum(axis=0), seconds
