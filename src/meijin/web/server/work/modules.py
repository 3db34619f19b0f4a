"""Games as WebAssembly, for pages that look and search in the browser themselves."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from meijin.web.server.work.rules import game_of

if TYPE_CHECKING:
    from meijin.web.server.work.worker import Ask

AGENTS = ("mcts(seconds=1)", "alphabeta(seconds=1)")  # that search in the page


def calls() -> dict[str, Callable[[Ask], Any]]:
    return {"module": module}


def module(ask: Ask) -> bytes:
    """What the page's own engine reads of a game (static/engine_local.js), with its code inside, as base64."""
    from meijin.web.wasm.bundle import game_files

    file, files = game_files(game_of(ask.args["game"]), usual=AGENTS)
    return msgspec.json.encode({**file, "code": base64.b64encode(files[file["code"]]).decode()})
