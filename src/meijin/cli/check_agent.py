"""`meijin check GAME --agent AGENT`: does an agent keep the promises of agents?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from meijin.agents import check
from meijin.cli.common import prepare
from meijin.cli.console import busy, out, say
from meijin.cli.program import interruptible
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter
from meijin.core.expression import parse


def check_agent(name: str | None, agent: str, load: Sequence[Path], seed: int) -> None:
    prepare(load)
    if name is None:
        raise BadParameter(
            f"--agent {agent}: name the game to check it on, as in 'meijin check othello --agent {agent}'"
        )
    if parse(agent).name == "human":
        raise BadParameter("--agent human: a person makes no promises; name an agent")
    game = make(name)
    with busy(f"checking {agent} on {game}"):
        report = interruptible(lambda: check.check_agent(agent, game, seed=seed))
    out().print(
        Text.assemble((report.agent, "bold"), (f" on {report.game}", "bold"), ("  keeps its promises", "bold green"))
    )
    for promise in report.promises:
        say(Text.assemble(("✓ ", "bold green"), promise.replace("`", "")))
    if not math.isnan(report.stop_seconds):
        say(Text(f"it answered {1000 * report.stop_seconds:.1f} ms after `stop`", "dim"))
