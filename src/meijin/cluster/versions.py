"""What a node has installed, and how that differs from this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

PACKAGES = ("numba", "numpy", "torch")  # whose versions must be equal, besides those of Python, Ray and Meijin


def _made() -> Callable[[], dict[str, Any]]:
    packages = PACKAGES

    # A nested function that uses the standard library only: it is sent by value, and the node may have no Meijin.
    def about_node() -> dict[str, Any]:
        import hashlib
        import os
        import pathlib
        from importlib import metadata, util

        found = {}
        for name in packages:
            try:
                found[name] = metadata.version(name)
            except metadata.PackageNotFoundError:
                found[name] = ""
        spec = util.find_spec("meijin")
        found["meijin"] = ""
        if spec is not None and spec.origin:  # the sources tell two states of a clone apart, which a version does not
            folder = pathlib.Path(spec.origin).parent
            digest = hashlib.sha256()
            for path in sorted(folder.rglob("*.py")):
                digest.update(str(path.relative_to(folder)).encode() + path.read_bytes())
            found["meijin"] = f"with sources {digest.hexdigest()[:8]}"
        try:
            cores = len(os.sched_getaffinity(0))
        except AttributeError:  # not on every system
            cores = os.cpu_count() or 1
        return {"versions": found, "cores": cores}

    return about_node


#: What is installed here, by package, and how many cores this process may use.
about_node = _made()


def differences(here: Mapping[str, str], there: Mapping[str, str]) -> str:
    """How a node differs, in words; empty if it does not."""
    parts = []
    for name, version in here.items():
        if (other := there.get(name, "")) != version:
            has = f"{name} {other}" if other else f"no {name}"
            parts.append(f"{has}, here is {f'{name} {version}' if version else f'no {name}'}")
    return "; ".join(parts)
