"""Writes the page and the picture of every game, their index, and the table of games in README.md.

`python docs/games.py` writes all of them. What a game declares about itself (rules and parameters in its docstring,
record, moves, planes, symmetries, ...) is read from the game. The rest is in `docs/games/notes/NAME.md`, by headings:

    Line        moves that lead to the position of the picture
    Score       what the numbers mean
    Checked     what it is compared with, and in which `tests/test_*.py`
    References  where the rules and results come from
    State       optional: more about the record
    Notation    optional: more about how moves are written and numbered
    Planes      where the game has planes of its own without a docstring
    Players     optional: what plays it well, beyond the list of agents that can
"""

from __future__ import annotations

import inspect
import re
import sys
from collections import Counter
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from meijin.agents.catalogue import agents, build
from meijin.core import compile as compiling
from meijin.core.catalogue import games, make
from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.core.moves import Path as MovePath
from meijin.core.parameters import Parameter
from meijin.core.state import State

ROOT = Path(__file__).parent.parent
NOTES = ROOT / "docs" / "games" / "notes"
REQUIRED = ("Line", "Score", "Checked", "References")
HEADINGS = (*REQUIRED, "State", "Notation", "Planes", "Players")
MARKS = ("<!-- games -->", "<!-- /games -->")
LINE = 24  # plies of the picture's line that a page shows
MOST = 12  # names of symmetries that a page lists


def own_games() -> list[str]:
    """The games of this package, without those that files or other packages have added."""
    return [name for name in games.names() if games.get(name).factory.__module__.startswith("meijin.games.")]


# ---- what a person wrote ----


@cache
def notes(name: str) -> dict[str, str]:
    """Heading -> text."""
    path = NOTES / f"{name}.md"
    where = path.relative_to(ROOT)
    if not path.exists():
        raise MeijinError(f"the game '{name}' has no notes; write {where} (docs/games.py says what belongs there)")
    parts = re.split(r"^## (.+)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = {heading.strip(): text.strip() for heading, text in zip(parts[1::2], parts[2::2], strict=True)}
    for heading in REQUIRED:
        if not found.get(heading):
            raise MeijinError(f"{where} has nothing under the heading '## {heading}'")
    for heading in found:
        if heading not in HEADINGS:
            raise MeijinError(f"{where}: unknown heading '{heading}'; known are {', '.join(HEADINGS)}")
    return found


@cache
def position(name: str) -> State:
    """The position of the picture."""
    return State(make(name)).play_line(notes(name)["Line"].strip("`"))


# ---- what the game says ----


def facts(game: Game) -> list[str]:
    chance = f"{game.num_outcomes:,} outcomes" if game.chance else "no"
    row = {
        "seats": str(game.seats),
        "chance": chance,
        "board": f"{game.board.kind}, {board_size(game)}",
        "moves": f"{game.num_moves:,}",
        "branching": f"up to {game.branching:,}",
        "longest game": f"{game.longest:,} plies",
        "record": f"{game.dtype.itemsize:,} bytes",
    }
    return [f"| {' | '.join(row)} |", f"|{'---|' * len(row)}", f"| {' | '.join(row.values())} |"]


def board_size(game: Game) -> str:
    cells = game.board.cells
    trays = sum(cell.tray is not None for cell in cells)
    grid = " x ".join(map(str, game.board.grid)) if game.board.grid and game.board.kind == "square" else ""
    return (grid or f"{len(cells) - trays} cells") + (f" and {trays} beside it" if trays else "")


def rules(game: Game) -> list[str]:
    """The docstring without its summary and the lines of parameters."""
    _, *paragraphs = game.help.split("\n\n")
    kept = (paragraph for paragraph in paragraphs if not paragraph.startswith("`"))
    return [re.sub(r"^([A-Z][\w -]*):", r"**\1:**", "\n\n".join(kept), flags=re.MULTILINE)]


def parameters(game: Game) -> list[str]:
    if not game.parameters:
        return ["None."]
    rows = ["| parameter | default | values | meaning |", "|---|---|---|---|"]
    for each in game.parameters:
        if not each.help:
            raise MeijinError(f"{game.name}: explain the parameter '{each.name}' in the docstring")
        rows.append(f"| `{each.name}` | `{each.default!r}` | {values(each)} | {each.help} |")
    return rows


def values(parameter: Parameter) -> str:
    """What a parameter accepts, where that can be said in a few words."""
    if parameter.kind == "bool":
        return "`True`, `False`"
    if parameter.low is not None and parameter.high is not None:
        return f"{parameter.low:g} to {parameter.high:g}"
    return ", ".join(f"`{choice}`" for choice in parameter.choices)


def record(game: Game) -> list[str]:
    said = comments(game)
    rows = ["| field | type | meaning |", "|---|---|---|"]
    for name, (dtype, *_) in (game.dtype.fields or {}).items():
        shape = f" [{', '.join(map(str, dtype.shape))}]" if dtype.shape else ""
        rows.append(f"| `{name}` | {dtype.base.name}{shape} | {said.get(name, '')} |")
    return [f"A record of {game.dtype.itemsize:,} bytes:", "", *rows]


def comments(game: Game) -> dict[str, str]:
    """What the source says of each field: the comment behind its line, or above it."""
    module = games.get(game.name).factory.__module__
    source = inspect.getsource(sys.modules[module])
    for helper in sorted(set(re.findall(r"meijin\.games(?:\.| import )(_\w+)", source))):
        source += inspect.getsource(sys.modules[f"meijin.games.{helper}"])
    found: dict[str, str] = {}
    above: list[str] = []
    for line in source.splitlines():
        code, _, comment = line.partition("#")
        fields = re.findall(r'\("(\w+)", ', code)
        if len(fields) == 1 and (comment or above):
            found.setdefault(fields[0], escaped(comment.strip() or " ".join(above)))
        above = [*above, comment.strip()] if not code.strip() and comment else []
    return found


def escaped(text: str) -> str:
    """A source comment as Markdown: its arrows and brackets are no markup."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("->", "→").replace("[", "\\[").replace("*", "\\*")


def way_to(played: State) -> list[State]:
    """The positions of a game from its start to this one."""
    found, walk = [played], played.copy()
    while walk.history:
        walk.undo()
        found.append(walk.copy())
    return found[::-1]


def moves(game: Game, played: State) -> list[str]:
    # Some numbers may stand for nothing; moves for certain are those seen, and buttons such as "pass".
    seen = [move for state in way_to(played) if state.turn >= 0 for move in state.legal_moves]
    buttons = [path for path in game.paths if path and len(path) == 1 and isinstance(path[0], str)]
    kinds = Counter(clicks(path) for path in [*(game.paths[move] for move in seen), *buttons] if path)
    how = "; or ".join(kind for kind, _ in kinds.most_common())
    if len(buttons) == game.num_moves:
        how = "the button with its name"
    most = f"at most {game.branching:,} of them legal at once"
    if game.chance:
        most = f"in no position more than {game.branching:,} moves or outcomes"
    line = " ".join(move.name for move in played.history[:LINE]) + (" ..." if len(played.history) > LINE else "")
    made = [move for state, move in zip(way_to(played), played.history, strict=False) if state.turn >= 0]
    numbers = ", ".join(f"{move.name} is {int(move)}" for move in list(dict.fromkeys(made))[:5])
    more = notes(game.name).get("Notation")
    return [
        f"{game.num_moves:,} moves, {most}. To make one, choose {how}.",
        *(["", more] if more else []),
        "",
        f"The picture shows the position after `{line}`. As numbers: {numbers}.",
    ]


def positions(game: Game, played: State) -> list[str]:
    """What can be set up, shown and said of a position."""
    lines = []
    with suppress(MeijinError):
        lines.append(f"The picture as text: `{played.position}`")
    if game.refusals:
        lines.append(
            "A set-up is refused with one of these reasons:\n\n" + "\n".join(f"- {reason}" for reason in game.refusals)
        )
    if game.tallies:
        lines.append(f"Counted for each seat: {listed([f'{name}' for name in game.tallies])}.")
    if game.endings:
        lines.append(f"Endings: {listed([f'“{ending}”' for ending in game.endings])}.")
    return ["\n\n".join(lines)]


def clicks(path: MovePath) -> str:
    """What a person clicks to make a move."""

    def said(step: Any) -> str:
        if isinstance(step, str):
            return f"`{step}`"
        return "a cell" if isinstance(step, int) else "one of a group of cells"

    return ", then ".join(said(step) for step in path)


def outcomes(game: Game, played: State) -> list[str]:
    if not game.chance:
        return ["None: the game has no chance."]
    state = next(state for state in way_to(played)[::-1] if state.is_chance)
    odds = state.odds
    shown = ", ".join(f"`{name}` {100 * odds[name]:.3g} %" for name in list(odds)[:4])
    more = f" and {len(odds) - 4:,} more" if len(odds) > 4 else ""
    when = "in the position of the picture" if state == played else "at the last chance turn before the picture"
    return [f"{game.num_outcomes:,} outcomes. Their odds {when}: {shown}{more}."]


def score(game: Game) -> list[str]:
    low, high = game.score_range
    reach = f"{low:g} to {high:g}" if game.bounded else f"from {low:g} on, without an upper bound"
    return [notes(game.name)["Score"], "", f"Range: {reach}; one number per seat."]


def planes(game: Game) -> list[str]:
    rule: Any = game.planes
    size = f"{game.num_planes} planes of {len(game.board.cells)} cells"
    given = notes(game.name).get("Planes") or ""
    if not game.default_planes:
        doc = " ".join((inspect.getdoc(rule) or "").split())
        if not doc and not given:
            raise MeijinError(f"{game}: say what its planes show, in a docstring or under '## Planes' in its notes")
        return [f"{size}. {doc}".rstrip(), *(["", given] if given else [])]
    pieces, seats = len(game.pieces) - 1, game.seats
    first = "one for each piece" if pieces > 1 else "one for the piece"
    if seats > 1 and any(piece.owner is not None for piece in game.pieces):
        first += ", the mover's before the others'"
    last = "one for each seat, all ones for the one to move" if seats > 1 else "one that is all ones"
    return [f"{size}, derived from the board: {first}, and {last}.", *(["", given] if given else [])]


def symmetries(game: Game) -> list[str]:
    kept = [f"`{each.name}`" for each in game.symmetries if not each.swaps and each.name != "identity"]
    swapped = [f"`{each.name}`" for each in game.symmetries if each.swaps]
    parts = []
    if kept:
        parts.append(f"The rules keep {few(kept)}.")
    if swapped:
        parts.append(f"{'Also kept, if' if kept else 'If'} the two seats are exchanged as well: {few(swapped)}.")
    return [" ".join(parts) or "Only the identity."]


def few(names: list[str]) -> str:
    return listed(names) if len(names) <= MOST else f"{len(names)} symmetries, among them {listed(names[:MOST])}"


def checked(name: str) -> list[str]:
    text = notes(name)["Checked"]
    files = re.findall(r"`(tests/[\w./]+)`", text)
    for file in files:
        if not (ROOT / file).exists():
            raise MeijinError(f"{name}: its notes name {file}, which is not there")
    text = re.sub(r"`(tests/[\w./]+)`", r"[`\1`](../../\1)", text)
    golden = f"tests/golden/{name}.txt"
    return [
        text,
        "",
        f"[`{golden}`](../../{golden}) is a whole game written down position by position, and `meijin check {name}` "
        "tries the laws that every game keeps: compiled rules equal interpreted ones, symmetries, notation, scores.",
    ]


def players(game: Game) -> list[str]:
    rows = []
    for name in agents.names():
        entry = agents.get(name)
        if entry.factory.__module__.startswith("meijin.") and name not in ("human", "random"):
            try:
                fits = build(name).unfit(game) is None
            except MeijinError:  # it needs an argument, such as a file: nothing to say before it has one
                continue
            if fits:
                rows.append(f"- `{name}`: {entry.summary}")
    rule = game.heuristic
    doc = " ".join((inspect.getdoc(rule) or "").split()) if rule is not None else ""
    said = f": {doc[0].lower()}{doc[1:]}" if doc else "."
    guess = f"It has a heuristic for searches of limited depth{said}" if rule is not None else ""
    given = notes(game.name).get("Players", "")
    more = [["", part] for part in (given, guess) if part]
    return [*rows, *(line for part in more for line in part)]


def first_sentence(text: str) -> str:
    return text.partition(". ")[0].rstrip(".") + "."


def listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


# ---- pages ----


def page(name: str) -> str:
    entry = games.get(name)
    game, played, said = make(name), position(name), notes(name)
    sections: dict[str, list[str]] = {
        "Rules": rules(game),
        "Parameters": parameters(game),
        "State": [*record(game), *(["", said["State"]] if "State" in said else [])],
        "Moves": moves(game, played),
        "Outcomes": outcomes(game, played),
        "Positions": positions(game, played),
        "Score": score(game),
        "Planes": planes(game),
        "Symmetries": symmetries(game),
        "How it is checked": checked(name),
        "References": [said["References"]],
        "Who plays it well here": players(game),
    }
    module = entry.factory.__module__.replace(".", "/")
    lines = [
        f"<!-- Written by `python docs/games.py` from the game and from notes/{name}.md: change those. -->",
        f"# {game.title}",
        "",
        entry.summary,
        "",
        f'<img src="../images/{name}.svg" width="360" alt="{alt(game)}">',
        "",
        *facts(game),
        "",
        "```sh",
        f"meijin play {name}",
        "```",
        "",
        f"The rules are in [`{module.rpartition('/')[2]}.py`](../../src/{module}.py).",
    ]
    for heading, text in sections.items():
        lines += ["", f"## {heading}", "", *text]
    return "\n".join(lines) + "\n"


def alt(game: Game) -> str:
    return f"{'an' if game.title[0] in 'AEIO' else 'a'} {game.title} position"


def picture(name: str) -> str:
    """The board after the latest move; the legal moves are marked where they are few and stand on cells."""
    state = position(name)
    game = state.game
    paths = [] if state.is_chance else [game.paths[move] for move in state.legal_moves]
    marks = [path[0] for path in paths if len(path) == 1 and isinstance(path[0], int)]
    if 3 * len(marks) > len(game.board.cells) or len(marks) < len(paths):
        marks = []
    return game.board.svg(state.cells, game.pieces, last=state.last_cells, marks=marks, size=420) + "\n"


def table(names: list[str], folder: str) -> list[str]:
    rows = ["| game | | seats | board |", "|---|---|---|---|"]
    for name in names:
        game, entry = make(name), games.get(name)
        fewest, most = game.seat_range
        seats = f"{fewest}{f' to {most}' if most > fewest else ''}{' + chance' if game.chance else ''}"
        link = f"[{game.title}]({folder}{name}.md)"
        board = f"{game.board.kind}, {board_size(game)}"
        rows.append(f"| {link}<br>`{name}` | {first_sentence(entry.summary)} | {seats} | {board} |")
    return rows


def index(names: list[str]) -> str:
    pictures = [f'<a href="{name}.md"><img src="../images/{name}.svg" width="120" alt="{name}"></a>' for name in names]
    lines = [
        "<!-- Written by `python docs/games.py`. -->",
        "# The games",
        "",
        "<p>",
        *pictures,
        "</p>",
        "",
        *table(names, ""),
        "",
        "The board is that of the default parameters. [Your first game](../your-first-game.md) says how to add one.",
    ]
    return "\n".join(lines) + "\n"


def readme(text: str, names: list[str]) -> str:
    """README.md with the table of games as it should be."""
    start, end = MARKS
    if text.count(start) != 1 or text.count(end) != 1:
        raise MeijinError(f"README.md needs one line {start} and one line {end} around the table of games")
    head, rest = text.split(start)
    return "\n".join([head + start, *table(names, "docs/games/"), end + rest.split(end)[1]])


def documents() -> dict[Path, str]:
    """Every file that is written, with its text."""
    names = own_games()
    found = {ROOT / "docs" / "games" / f"{name}.md": page(name) for name in names}
    found |= {ROOT / "docs" / "images" / f"{name}.svg": picture(name) for name in names}
    found[ROOT / "docs" / "games" / "README.md"] = index(names)
    found[ROOT / "README.md"] = readme((ROOT / "README.md").read_text(encoding="utf-8"), names)
    return found


def main() -> None:
    compiling.JIT = False  # a few moves are played sooner than compiled
    for path, text in documents().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    try:
        main()
    except MeijinError as error:
        sys.exit(str(error))
