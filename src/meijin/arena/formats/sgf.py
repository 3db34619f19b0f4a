"""SGF, the Smart Game Format FF[4]: Go, Othello, Gomoku and Hex as in the standard, and every other game.

The standard properties hold what other programs can show: players, result, date, size, komi, handicap stones, moves and
comments. Private properties, which other programs keep or ignore, hold the rest:

    MJ[{...}]   in the root: all of a record but its moves and notes, as JSON
    MN[{...}]   in a node: time, value and analysis of its move, as JSON
    MC[d3]      in a node: a chance outcome
    MV[2:d3]    in a node: a move of seat 2, in games of more than two seats

Seat 0 is black and seat 1 white. Of a game that began from a set-up position, AB, AW, AE and PL show the stones and
who was to move. Files of other programs have no MJ; they are read if the game is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TextIO

from meijin import __version__
from meijin.arena.formats.common import Draft, Ply, RecordFile, Steppers, finish
from meijin.arena.formats.header import describe, describe_note, to_json
from meijin.arena.formats.sgf_foreign import read_foreign
from meijin.arena.formats.sgf_points import cell_point, letters, move_of, point_of
from meijin.arena.formats.sgf_text import SgfNode, games, prop
from meijin.arena.record import GameRecord, MoveNote
from meijin.core.errors import MeijinError
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.moves import Move
from meijin.core.state import State
from meijin.games.go import handicap_cells, margin

SUFFIXES = (".sgf",)

#: Game numbers of the standard. Other games get one far above those, so that no program takes them for Go.
NUMBERS = {"go": 1, "othello": 2, "gomoku": 4, "hex": 11}
UNLISTED = 1000

COLOURS = ("B", "W")  # [seat]


# ---- writing ----


def write(records: Iterable[GameRecord], file: TextIO) -> int:
    steppers, count = Steppers(), 0
    for record in records:
        stepper, line = steppers.replay(record)
        lead = None
        if stepper.game.name == "go" and stepper.turn == OVER and record.ending == "rules":
            lead = margin(State(stepper.game, stepper.states[0]))
        file.write(_written(record, stepper.game, line, lead))
        count += 1
    return count


def _written(record: GameRecord, game: Game, line: list[tuple[int, Move]], lead: float | None) -> str:
    nodes = [_root(record, game, lead)]
    notes = record.notes or (None,) * len(line)
    nodes += [_node(game, turn, move, note) for (turn, move), note in zip(line, notes, strict=True)]
    # A few moves per line: short lines survive mail, and diffs are readable.
    rows, row = [], ""
    for node in nodes:
        if row and len(row) + len(node) > 100:
            rows.append(row)
            row = ""
        row += node
    return "(" + "\n".join([*rows, row]) + ")\n"


def _root(record: GameRecord, game: Game, lead: float | None) -> str:
    task = record.task
    said: dict[str, list[str]] = {
        "FF": ["4"],
        "GM": [str(NUMBERS.get(game.name, UNLISTED))],
        "CA": ["UTF-8"],
        "AP": [f"Meijin:{__version__}"],
    }
    if game.board.grid and game.board.grid[0] == game.board.grid[1]:
        said["SZ"] = [str(game.board.grid[0])]
    for name, agent in zip(("PB", "PW"), task.agents, strict=False):
        said[name] = [_simple(agent)]
    if game.name == "go":
        said["KM"] = [f"{game.params['komi']:g}"]
        if game.params["handicap"] and not task.position:
            said["HA"] = [str(game.params["handicap"])]
            said["AB"] = [letters(game, cell) for cell in handicap_cells(game.params["size"], game.params["handicap"])]
        said["RU"] = ["Japanese" if game.params["scoring"] == "territory" else "Chinese"]
    if task.position:
        said |= _set_up(game, State(game), task.begin(game))
    if game.seats == 2:
        said["RE"] = [_result(record, lead)]
    if record.began[:10]:
        said["DT"] = [_simple(record.began[:10])]
    if task.event:
        said["EV"] = [_simple(task.event)]
        said["RO"] = [str(task.round + 1)]
    if record.reason:
        said["GC"] = [record.reason]
    said["MJ"] = [to_json(describe(record))]
    return ";" + "".join(prop(name, values) for name, values in said.items())


def _set_up(game: Game, start: State, begun: State) -> dict[str, list[str]]:
    """The stones of a position and who is to move, in games whose stones other programs know."""
    if game.name not in NUMBERS:
        return {}
    found: dict[str, list[str]] = {}
    for cell, (before, now) in enumerate(zip(start.cells, begun.cells, strict=True)):
        if now or before:
            owner = game.pieces[now].owner
            found.setdefault("AE" if owner is None else f"A{COLOURS[owner]}", []).append(cell_point(game, cell))
    return found | {"PL": [COLOURS[begun.turn]]}


def _simple(text: str) -> str:
    """SimpleText has no line breaks."""
    return " ".join(text.split())


def _result(record: GameRecord, lead: float | None) -> str:
    black, white = record.scores
    if record.ending == "cap" and black == white:
        return "?" if "no result" in record.reason else "0"
    if black == white:
        return "0"
    winner = "B" if black > white else "W"
    if record.ending == "forfeit":
        return f"{winner}+F"
    return f"{winner}+{abs(lead):g}" if lead else f"{winner}+"


def _node(game: Game, turn: int, move: Move, note: MoveNote | None) -> str:
    if turn == CHANCE:
        made = prop("MC", [move.name])
    elif game.seats > 2:
        made = prop("MV", [f"{turn}:{move.name}"])
    else:
        made = prop(COLOURS[turn], [point_of(game, move)])
    if note is None:
        return f";{made}"
    said = describe_note(note)
    comment = _comment(said)
    return f";{made}" + (prop("C", [comment]) if comment else "") + prop("MN", [to_json(said)])


def _comment(said: dict[str, object]) -> str:
    """A note for people."""
    parts = []
    if isinstance(values := said.get("value"), list):
        parts.append("value " + " ".join(f"{v:+.3f}" if isinstance(v, int | float) else str(v) for v in values))
    if isinstance(seconds := said.get("seconds"), int | float):
        parts.append(f"{seconds:.2f} s")
    return ", ".join(parts)


# ---- reading ----


def read(source: RecordFile) -> Iterator[GameRecord]:
    steppers = Steppers()
    for nodes in games(source):
        own = "MJ" in nodes[0].properties
        yield _own(nodes, source, steppers) if own else read_foreign(nodes, source, steppers)


def _own(nodes: list[SgfNode], source: RecordFile, steppers: Steppers) -> GameRecord:
    root = nodes[0]
    draft = Draft(root.line, source.json(root.properties["MJ"][0], root.line))
    with source.at(root.line, "MJ: "):
        if not isinstance(draft.fields.get("game"), str):
            raise MeijinError("missing key 'game'")
        game = steppers.start(draft.fields["game"]).game
    for node in nodes[1:]:
        draft.plies += _plies(node, game, source)
        draft.noted = draft.noted or "MN" in node.properties
    return finish(draft, source, steppers)


def _plies(node: SgfNode, game: Game, source: RecordFile) -> list[Ply]:
    found = []
    readers: dict[str, Callable[[str], tuple[int, int | str]]] = {
        "MC": lambda value: (CHANCE, value),
        "MV": _seated,
        "B": lambda value: (0, move_of(game, value)),
        "W": lambda value: (1, move_of(game, value)),
    }
    for name, reader in readers.items():
        for value in node.properties.get(name, ()):
            try:
                turn, move = reader(value)
            except MeijinError as error:
                source.fail(node.line, f"{name}[{value[:40]}]: {error}")
            found.append(Ply(move, node.line, turn, text=value or "pass"))
    if len(found) > 1:
        source.fail(node.line, "a node with more than one move")
    if found and "MN" in node.properties:
        found[0].note = source.note(source.json(node.properties["MN"][0], node.line), node.line)
    return found


def _seated(value: str) -> tuple[int, str]:
    seat, _, move = value.partition(":")
    if not seat.isdecimal() or len(seat) > 2:
        raise MeijinError("expected a seat and a move, such as 2:d3")
    return int(seat), move
