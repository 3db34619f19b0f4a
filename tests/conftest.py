"""Fixtures and markers shared by the tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

#: Besides those of the browser, the files whose tests take a minute or so together.
LONGEST = (
    "test_check",
    "test_search_agents",
    "test_docs",
    "test_server_jobs",
    "test_mcts_options",
    "test_ray",
    "test_wasm",
)


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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that no process waits in the end; skip what needs a GPU."""
    items.sort(key=lambda item: item.path.parent.name != "web" and item.path.stem not in LONGEST)
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if marked and not _gpu_available():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device; numba.cuda finds none"))


def _gpu_available() -> bool:
    # Imported here, because most runs have no such test to decide about and the import is slow.
    from meijin.core import cuda

    return cuda.available() and not cuda.simulated()
