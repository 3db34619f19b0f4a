"""`meijin inspect`: what an agent thinks of every move in a position."""

from __future__ import annotations

import math
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import typer
from rich import box
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from meijin.agents.catalogue import build
from meijin.cli import words
from meijin.cli.common import limit, position, prepare, shown
from meijin.cli.console import busy, out, print_json, table, telling
from meijin.cli.program import INTERRUPTED, interruptible, until_stopped
from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter
from meijin.core.expression import parse
from meijin.core.moves import Move
from meijin.core.rng import stream
from meijin.core.state import State

AGENT = "mcts(simulations=10000)"
WATCHED = "mcts"  # with --watch, until it is stopped
BAR = 8  # columns of the bar of the move with the most visits
COMPARED = 3  # best moves whose values are taken apart
MOST_REASONS = 12  # parts of values that are shown
GAP = 3  # columns between two columns of the table
SHORTEST = 15  # columns that an expected line is worth showing in
ELLIPSIS = " …"


def inspect(
    name: str,
    begin: str,
    moves: str,
    agent: str | None,
    seconds: float | None,
    simulations: int | None,
    seed: int,
    watch: bool,
    load: Sequence[Path],
    as_json: bool,
) -> None:
    if watch and as_json:
        raise BadParameter("--watch is for people and --json for programs; give one of them")
    prepare(load)
    game = make(name)
    endless = watch and agent is None and seconds is None and simulations is None
    agent = agent or (WATCHED if endless else AGENT)
    if parse(agent).name == "human":
        raise BadParameter(f"--agent {agent}: name an agent that searches, such as mcts")
    player = build(agent, game, seed=seed)
    state = position(game, moves, begin).roll(stream(seed))
    if state.is_over:
        over = f"after '{moves}'" if moves else "in this position" if begin else "at once"
        remedy = "; leave out moves at the end" if moves else ""
        raise BadParameter(f"the game is over {over}, so there is no move to look at{remedy}")
    chosen = Limit(seconds=math.inf) if endless else limit(seconds, simulations)
    named = player.name if endless else shown(player, chosen)
    if watch:
        _print_position(state)
        analysis = _watched(state, player, chosen, named)
        _print_analysis(state, named, analysis)
        return
    with busy(f"{named} is looking at the position"):
        analysis, stopped = until_stopped(lambda: player.analyse(state, chosen), player.stop)
    if as_json:
        found = _as_json(state, begin, named, analysis) | _reasons_as_json(state, player, analysis)
        print_json(found | {"stopped": stopped})
    else:
        _print_position(state)
        _print_analysis(state, f"{named}, stopped" if stopped else named, analysis)
        if (parts := _reasons_table(state, player, analysis)) is not None:
            out().print(parts)
    if stopped:
        raise typer.Exit(INTERRUPTED)


def _watched(state: State, agent: Agent, limit: Limit, named: str) -> Analysis:
    """Show what an agent thinks while it thinks; Ctrl-C ends that, and what it found so far is its answer."""
    console = out()
    found: list[Analysis] = []
    most = max(3, console.height - 6)
    with Live(console=console, transient=True, auto_refresh=False) as live, _stopped_by_interrupt(agent):

        def compiling(message: str) -> None:
            if message and not found:
                live.update(Text(message, "dim"), refresh=True)

        def watch() -> None:
            for analysis in agent.watch(state, limit):
                found.append(analysis)
                live.update(Group(*_opinion(state, named, analysis, most)), refresh=console.is_terminal)

        with telling(compiling):
            interruptible(watch)
    return found[-1]


@contextmanager
def _stopped_by_interrupt(agent: Agent) -> Iterator[None]:
    """The first Ctrl-C stops the agent, the second one the program."""
    pressed = []

    def interrupt(number: int, frame: object) -> None:
        pressed.append(number)
        if len(pressed) > 1:
            raise KeyboardInterrupt
        agent.stop()

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _as_json(state: State, begin: str, agent: str, analysis: Analysis) -> dict[str, Any]:
    seat = analysis.turn

    def move(info: MoveInfo) -> dict[str, Any]:
        return {
            "move": info.move.name,
            "visits": info.visits,
            "prior": info.prior,
            "value": words.mine(info, seat),
            "values": info.value,
            "proven": info.proven,
            "pv": [step.name for step in info.pv],
        }

    return {
        "game": str(state.game),
        "position": begin,
        "history": [step.name for step in state.history],
        "agent": agent,
        "turn": seat,
        "best": analysis.best.name,
        "value": words.mine(analysis, seat),
        "values": analysis.value,
        "proven": analysis.proven,
        "simulations": analysis.simulations,
        "nodes": analysis.nodes,
        "depth": analysis.depth,
        "seconds": analysis.seconds,
        "note": analysis.note,
        "random": analysis.random,
        "moves": [move(info) for info in analysis.moves],
    }


def _print_position(state: State) -> None:
    console = out()
    after = f"  after {words.line(state.history, 20)}" if state.history else ""
    console.print(Text.assemble((state.game.title, "bold"), (after, "dim")))
    console.print(words.board(state), crop=False)


def _print_analysis(state: State, agent: str, analysis: Analysis) -> None:
    for part in _opinion(state, agent, analysis):
        out().print(part)


def _reasons_as_json(state: State, agent: Agent, analysis: Analysis) -> dict[str, Any]:
    """What the values are made of, by move, if the agent can tell."""
    found = {info.move.name: dict(agent.reasons(state, info.move)) for info in analysis.moves}
    return {"reasons": found} if any(found.values()) else {}


def _reasons_table(state: State, agent: Agent, analysis: Analysis) -> Table | None:
    """What adds most to the values of the best moves, or takes most away."""
    found = {info.move: dict(agent.reasons(state, info.move)) for info in analysis.moves[:COMPARED]}
    known = {move: parts for move, parts in found.items() if parts}
    if not known:
        return None
    names = list(dict.fromkeys(name for parts in known.values() for name in parts))
    weight = {name: max(abs(parts.get(name, 0.0)) for parts in known.values()) for name in names}
    shown = sorted(names, key=lambda name: -weight[name])[:MOST_REASONS]
    moves = [move.name for move in known]
    made = table("adds to the value of", *moves, right=tuple(moves))
    for name in shown:
        made.add_row(name, *(f"{parts.get(name, 0.0):+.3f}" for parts in known.values()))
    if rest := [name for name in names if name not in shown]:
        sums = (sum(parts.get(name, 0.0) for name in rest) for parts in known.values())
        made.add_row(Text(f"{len(rest)} others", "dim"), *(f"{value:+.3f}" for value in sums))
    made.add_row(Text("sum", "bold"), *(f"{sum(parts.values()):+.3f}" for parts in known.values()))
    return made


def _opinion(state: State, agent: str, analysis: Analysis, most: int | None = None) -> list[RenderableType]:
    game, own = state.game, words.mine(analysis, analysis.turn)
    worth = "" if own is None else f"value {words.value(game, own)}" + (" (proven)" if analysis.proven else "")
    mover = Text.assemble(words.seat_name(game, analysis.turn), " to move  ") if game.seats > 1 else Text()
    head = Text.assemble(mover, (worth, "bold"))
    return [head, moves_table(state, analysis, most), Text(f"{agent}: {figures(analysis)}", "dim")]


def moves_table(state: State, analysis: Analysis, most: int | None = None, width: int | None = None) -> Table:
    """The moves, best first, with whatever the agent says about them.

    Numbers are never cut. In a narrow terminal the expected lines get shorter, the bars go, then the values of the
    seats that are not to move, and last the priors.
    """
    game, seat, infos = state.game, analysis.turn, analysis.moves[:most]
    visits = max((info.visits or 0 for info in infos), default=0)  # the longest bar
    columns = [
        _Column("move", [Text(info.move.name, "bold green" if k == 0 else "bold") for k, info in enumerate(infos)])
    ]
    if visits:
        columns.append(_Column("visits", [Text(f"{info.visits or 0:,}") for info in infos], "right"))
        columns.append(_Column("", [Text(_bar((info.visits or 0) / visits), "cyan") for info in infos], drop=1))
    if any(info.prior is not None for info in infos):
        priors = [Text("-" if info.prior is None else f"{100 * info.prior:.1f} %") for info in infos]
        columns.append(_Column("prior", priors, "right", drop=3))
    if any(info.value is not None for info in infos):
        for k in range(game.seats) if game.seats > 2 else (seat,):
            head = game.seat_name(k) if game.seats > 2 else "value"
            values = [words.worth(game, info, k) for info in infos]
            columns.append(_Column(head, values, "right", drop=0 if k == seat else 2))
    lines = any(info.pv for info in infos)
    wanted = (width or out().width) + GAP - 2
    for drop, least in ((1, SHORTEST if lines else 0), (2, 0), (3, 0)):
        if sum(column.width for column in columns) + least > wanted:
            columns = [column for column in columns if column.drop != drop]
    room = wanted - sum(column.width for column in columns)
    if lines and room >= SHORTEST:
        columns.append(_Column("expected line", [Text(_shortened(info.pv, room - GAP), "dim") for info in infos]))
    made = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=(0, 1))
    for column in columns:
        made.add_column(column.head, justify=column.justify, no_wrap=True, min_width=column.width - GAP)
    for row in zip(*(column.cells for column in columns), strict=True):
        made.add_row(*row)
    return made


@dataclass(frozen=True, slots=True)
class _Column:
    head: str
    cells: list[Text]
    justify: Literal["left", "right"] = "left"
    drop: int = 0  # how soon it goes where there is no room; 0: never

    @property
    def width(self) -> int:
        return max(cell_len(self.head), *(cell.cell_len for cell in self.cells)) + GAP


def _shortened(line: Sequence[Move], width: int) -> str:
    """The first moves of a line that fit."""
    text = ""
    for k, move in enumerate(line):
        longer = f"{text} {move.name}".strip()
        if cell_len(longer) + (len(ELLIPSIS) if k + 1 < len(line) else 0) > width:
            return (text + ELLIPSIS).strip()
        text = longer
    return text


def _bar(share: float) -> str:
    """A bar of eighths of a column."""
    eighths = round(share * BAR * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")).ljust(BAR)


def figures(analysis: Analysis) -> str:
    """How much was searched."""
    parts = []
    if analysis.simulations:
        parts.append(f"{analysis.simulations:,} simulations")
    if analysis.nodes:
        parts.append(f"{analysis.nodes:,} nodes")
    if analysis.depth:
        parts.append(f"depth {analysis.depth}")
    parts.append(f"{analysis.seconds:.2f} s")
    if analysis.note:
        parts.append(analysis.note)
    if analysis.random:
        parts.append("its move is a random one")
    return ", ".join(parts)
