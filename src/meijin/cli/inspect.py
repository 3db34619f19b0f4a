"""`meijin inspect`: what an agent thinks of every move in a position."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from meijin.agents.catalogue import build
from meijin.cli import words
from meijin.cli.common import limit, position, prepare
from meijin.cli.console import busy, out, print_json, table
from meijin.cli.program import interruptible
from meijin.core.agent import Analysis, MoveInfo
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter
from meijin.core.expression import parse
from meijin.core.state import State

BAR = 8  # columns of the bar of the move with the most visits


def inspect(
    name: str,
    moves: str,
    agent: str,
    seconds: float | None,
    simulations: int | None,
    seed: int,
    load: Sequence[Path],
    as_json: bool,
) -> None:
    prepare(load)
    game = make(name)
    if parse(agent).name == "human":
        raise BadParameter(f"--agent {agent}: name an agent that searches; what a person thinks cannot be shown")
    player = build(agent, game, seed=seed)
    state = position(game, moves)
    if state.is_over:
        raise BadParameter(
            f"the game is over after '{moves}', so there is no move to look at; leave out moves at the end"
        )
    if state.is_chance:
        outcomes = words.line(state.legal_moves, 8)
        raise BadParameter(f"chance moves next after '{moves}'; end --moves with an outcome, one of: {outcomes}")
    with busy(f"{agent} is looking at the position"):
        analysis = interruptible(lambda: player.analyse(state, limit(seconds, simulations)))
    if as_json:
        print_json(_as_json(state, agent, analysis))
    else:
        _print(state, agent, analysis)


def _as_json(state: State, agent: str, analysis: Analysis) -> dict[str, Any]:
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
        "moves": [move(info) for info in analysis.moves],
    }


def _print(state: State, agent: str, analysis: Analysis) -> None:
    game, console = state.game, out()
    after = f"  after {words.line(state.history, 20)}" if state.history else ""
    console.print(Text.assemble((game.title, "bold"), (after, "dim")))
    console.print(words.board(state))
    own = words.mine(analysis, analysis.turn)
    worth = "" if own is None else f"  value {words.value(game, own)}" + (" (proven)" if analysis.proven else "")
    console.print(Text.assemble(words.seat_name(game, analysis.turn), " to move", (worth, "bold")))
    console.print(moves_table(state, analysis))
    console.print(Text(f"{agent}: {figures(analysis)}", "dim"))


def moves_table(state: State, analysis: Analysis, most: int | None = None) -> Table:
    """The moves, best first, with whatever the agent says of them."""
    game, seat, infos = state.game, analysis.turn, analysis.moves[:most]
    visits = max((info.visits or 0 for info in infos), default=0)  # the longest bar
    has_prior = any(info.prior is not None for info in infos)
    has_value = any(info.value is not None for info in infos)
    by_seat = [words.plain_seat(game, k) for k in range(game.seats)] if has_value and game.seats > 2 else []
    values = by_seat or ["value"] * has_value
    numbers = ["visits", ""] * bool(visits) + ["prior"] * has_prior
    shown = table("move", *numbers, *values, right=("visits", "prior", *values))
    shown.columns[0].no_wrap = True  # on a narrow terminal it would be the one to give way
    if visits:
        shown.columns[2].width = BAR
    if any(info.pv for info in infos):
        shown.add_column("expected line", no_wrap=True, overflow="ellipsis")
    for rank, info in enumerate(infos):
        row: list[Text] = [Text(info.move.name, "bold green" if rank == 0 else "bold")]
        if visits:
            share = (info.visits or 0) / visits
            row += [Text(f"{info.visits or 0:,}"), Text(_bar(share), "cyan")]
        if has_prior:
            row.append(Text("-" if info.prior is None else f"{100 * info.prior:.1f} %"))
        if has_value:
            known = info.value or (None,) * game.seats
            own = words.worth(game, info, seat)
            row += [own if k == seat else Text(words.value(game, known[k])) for k in range(len(by_seat))] or [own]
        if len(shown.columns) > len(row):
            row.append(Text(words.line(info.pv, 16 if not by_seat else 4), "dim"))
        shown.add_row(*row)
    return shown


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
    return ", ".join(parts)
