"""Our agents as engines: GTP, USI, UGI, CECP (XBoard) and NBoard, over standard input and output.

    serve("minishogi", "mcts(seconds=1)", "usi")

`Session` is one conversation; each protocol is a subclass that answers one line at a time.
"""

from __future__ import annotations

from meijin.protocols.engine.serving import PROTOCOLS, open_session, serve

__all__ = ["PROTOCOLS", "open_session", "serve"]
