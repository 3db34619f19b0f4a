"""Fixtures and markers shared by the tests."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

# There are more processes than cores already: threads of PyTorch would wait for each other, and not idly.
os.environ.setdefault("OMP_NUM_THREADS", "1")
gc.disable()  # until everything is collected: what is imported and collected stays to the end

#: The files that take longest when nothing is compiled yet, the longest first.
LONGEST = (
    "test_web_pages",
    "test_publish",
    "test_web_play",
    "test_check",
    "test_ray",
    "test_web_games",
    "test_both",
    "test_web_quality",
    "test_docs",
    "test_search_agents",
    "test_wasm",
    "test_formats",
    "test_server_jobs",
    "test_train_cli",
    "test_mcts",
    "test_games_boards",
    "test_yavalath",
    "test_tournament",
    "test_td",
    "test_go",
    "test_hex",
    "test_classic",
    "test_games_numbers",
    "test_solve_hex",
    "test_solve_othello",
    "test_cli",
    "test_replicas",
    "test_zero_run",
    "test_mcts_options",
    "test_breakthrough",
    "test_setup",
    "test_minishogi",
    "test_zero_agent",
    "test_memory",
)

#: The catalogues of this process, module -> name. They are asked for in `sys.modules`: a test imports what it needs.
CATALOGUES = {
    "meijin.core.catalogue": "games",
    "meijin.agents.catalogue": "agents",
    "meijin.arena.evaluation": "evaluators",
    "meijin.arena.judges": "judges",
    "meijin.arena.openings": "sources",
    "meijin.learning.td.features": "feature_sets",
}


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The folder of reference data that is not part of the repository; without it the test is skipped."""
    named = os.environ.get("MEIJIN_TEST_DATA")
    if not named:
        pytest.skip("needs reference data: set MEIJIN_TEST_DATA to its folder")
    folder = Path(named)
    if not folder.is_dir():
        pytest.skip(f"needs reference data: MEIJIN_TEST_DATA={named} is not a folder")
    return folder


@pytest.fixture(autouse=True, scope="session")
def _own_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests neither read nor write a person's own files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEIJIN_DATA", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain Python: a few moves are played sooner than kernels are compiled."""
    monkeypatch.setattr("meijin.core.compile.JIT", False)


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.soak)], ids=["interpreted", "compiled"])
def compiled_in_soak(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Plain Python, and compiled by `make soak`: for a variant of a game whose usual form is tried compiled.

    Whether it is compiled now, for tests that then can afford more.
    """
    monkeypatch.setattr("meijin.core.compile.JIT", request.param)
    return bool(request.param)


@pytest.fixture(autouse=True, scope="module")
def _file_leaves_no_trace() -> Iterator[None]:
    with _restored():
        yield


@pytest.fixture(autouse=True)
def _test_leaves_no_trace() -> Iterator[None]:
    with _restored():
        yield


@contextmanager
def _restored() -> Iterator[None]:
    """Whatever a test loads, replaces or removes, the next one finds everything as it was.

    Which files share a process, and in which order, differs from machine to machine.
    """
    from meijin.core import compile as compiling

    entries = {catalogue: dict(catalogue._entries) for catalogue in _catalogues()}
    environment, folder, path = dict(os.environ), Path.cwd(), list(sys.path)
    jit, on_compile = compiling.JIT, compiling.on_compile
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    torch = sys.modules.get("torch")
    threads, random = (torch.get_num_threads(), torch.get_rng_state()) if torch else (0, None)
    try:
        yield
    finally:
        for catalogue in _catalogues():
            # Meijin's own modules register when they are imported, which happens once.
            own = {n: e for n, e in catalogue._entries.items() if e.factory.__module__.startswith("meijin.")}
            catalogue._entries = own | entries.get(catalogue, {})
        for name in os.environ.keys() - environment.keys():
            del os.environ[name]
        os.environ.update(environment)
        os.chdir(folder)
        sys.path[:] = path
        compiling.JIT, compiling.on_compile = jit, on_compile
        for number, handler in handlers.items():
            if handler is not None:  # else it is not Python's
                signal.signal(number, handler)
        if torch:
            torch.set_num_threads(threads)
            torch.set_rng_state(random)


def _catalogues() -> list[Any]:
    return [getattr(sys.modules[module], name) for module, name in CATALOGUES.items() if module in sys.modules]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that no process waits in the end; skip what needs a GPU."""
    ranks = {name: rank for rank, name in enumerate(LONGEST, start=1)}
    items.sort(key=lambda item: ranks.get(item.path.stem, len(ranks) + 1))
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if marked and not _gpu_available():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device; numba.cuda finds none"))


def pytest_collection_finish() -> None:
    """The garbage collector need not look again and again at what stays to the end, such as PyTorch and all tests.

    It would look at some 600,000 objects every time. The compiler makes many and needs nearly all of them.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def _gpu_available() -> bool:
    # Imported here, because most runs have no such test to decide about and the import is slow.
    from meijin.core import cuda

    return cuda.available() and not cuda.simulated()
