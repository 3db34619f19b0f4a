"""Where a user's own files are kept."""

from __future__ import annotations

import os
from pathlib import Path


def data_folder() -> Path:
    """The folder of a user's own data: MEIJIN_DATA, or `meijin` in the system's folder for user data."""
    if named := os.environ.get("MEIJIN_DATA"):
        return Path(named)
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "meijin"
