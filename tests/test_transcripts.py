"""Conversations with real engines, recorded once, and replayed where the engines are missing.

`python tests/test_transcripts.py` records them again.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from meijin.agents.catalogue import build
from meijin.core.catalogue import make
from meijin.core.state import State
from meijin.protocols.client.process import Process

FOLDER = Path(__file__).with_name("transcripts")
REPLAY = Path(__file__).with_name("replay_engine.py")
PLIES = 6
ENGINES = {
    "gnugo": ("go(size=5)", 'gtp("gnugo --mode gtp --level 1 --chinese-rules --seed 1")'),
    "grhino": ("othello", 'gtp("gtp-rhino -l 1")'),
    "fairy-stockfish-usi": ("minishogi", 'usi("fairy-stockfish", variant="minishogi", nodes=300)'),
    "fairy-stockfish-cecp": ("minishogi", 'cecp("fairy-stockfish", depth=2)'),
    "sjaakii": ("minishogi", 'cecp("sjaakii", depth=2)'),
}


def conversation(game: str, agent: str) -> list[str]:
    """What the engine plays against itself, with the value it gives."""
    state, said = State(make(game)), []
    with build(agent, state.game) as player:
        for _ in range(PLIES):
            analysis = player.analyse(state)
            said.append(analysis.best.name if analysis.value is None else f"{analysis.best} {analysis.value[0]:.4f}")
            state.play(analysis.best)
    return said


@pytest.mark.parametrize("engine", ENGINES)
def test_a_recorded_engine_is_understood(engine: str) -> None:
    game, agent = ENGINES[engine]
    file = FOLDER / f"{engine}.txt"
    moves = re.findall(r"^# (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    replayed = re.sub(r'\("[^"]*"', f'("{sys.executable} {REPLAY} {file}"', agent)
    assert conversation(game, replayed) == moves


def record() -> None:
    lines: list[str] = []
    send, line = Process.send, Process.line

    def sending(self: Process, *sent: str) -> None:
        lines.extend(f"> {text}" for text in sent)
        send(self, *sent)

    def reading(self: Process, deadline: float) -> Any:
        found = line(self, deadline)
        if found is not None:
            lines.append(f"< {found}")
        return found

    Process.send, Process.line = sending, reading  # type: ignore[method-assign]
    FOLDER.mkdir(exist_ok=True)
    for engine, (game, agent) in ENGINES.items():
        lines.clear()
        moves = conversation(game, agent)
        text = "\n".join([*(f"# {move}" for move in moves), *lines])
        (FOLDER / f"{engine}.txt").write_text(text + "\n", encoding="utf-8")
        print(engine, moves)


if __name__ == "__main__":
    record()
