"""Where a person's own files lie."""

from __future__ import annotations

import os
from pathlib import Path


def data_folder() -> Path:
    """Where a person's own data lies: MEIJIN_DATA, or meijin in the folder that the desktop uses for such."""
    if named := os.environ.get("MEIJIN_DATA"):
        return Path(named)
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "meijin"
