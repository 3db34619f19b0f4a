"""The command line: `meijin play connect_four` and the rest.

`app` declares the commands, and each imports what it needs when it runs, so that help is quick.
"""

from __future__ import annotations


def main() -> None:
    """Run `meijin` with the arguments of this process and exit."""
    from meijin.cli.app import app

    app(prog_name="meijin")
