"""Records whose fields are attributes: the states of games and the nodes of searches, as rules and kernels see them."""

from __future__ import annotations

from typing import Any

import numpy as np


class Record(np.void):  # type: ignore[misc]  # numpy calls its parent final
    """What `numpy.record` is, read and written in less than half the time where rules run as plain Python."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except (IndexError, ValueError):
            raise AttributeError(f"'record' object has no attribute '{name}'") from None

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in (self.dtype.names or ()):
            raise AttributeError(f"'record' object has no attribute '{name}'")
        self[name] = value
