"""Packages that only this layer needs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from meijin.core.errors import MeijinError


def needed(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise MeijinError(f"this needs {package} ({error}); install it with: pip install 'meijin[interop]'") from None
