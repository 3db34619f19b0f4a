"""`meijin rules`: a game's rules and parameters, as its own text describes them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from rich.markdown import Markdown
from rich.text import Text
from rich.theme import Theme

from meijin.cli.common import prepare
from meijin.cli.console import out, table
from meijin.cli.words import seat_name
from meijin.core.catalogue import make
from meijin.core.game import Game
from meijin.core.parameters import Parameter

WIDEST = 100  # columns of a text that reads well
THEME = Theme({"markdown.code": "cyan"})


def rules(name: str, load: Sequence[Path]) -> None:
    prepare(load)
    print_rules(make(name))


def print_rules(game: Game) -> None:
    console = out()
    console.print(Text.assemble((game.title, "bold"), (f"  {game}", "dim")))
    text = _without(game.help, [parameter.name for parameter in game.parameters])
    console.push_theme(THEME)
    console.print(Markdown(text or "No rules are written down."), width=min(console.width, WIDEST))
    if game.seats > 1:
        console.print(Text.assemble("seats: ", Text(", ").join(seat_name(game, seat) for seat in range(game.seats))))
    if game.parameters:
        changed = any(game.params[each.name] != each.default for each in game.parameters)
        shown = table("parameter", "type", "default", *["here"] * changed, "allowed", "")
        for each in game.parameters:
            value = [repr(game.params[each.name])] if changed else []
            about = each.help.replace("`", "")
            shown.add_row(Text(each.name, "bold cyan"), each.kind, repr(each.default), *value, _allowed(each), about)
        console.print(shown)


def _without(text: str, parameters: Sequence[str]) -> str:
    """The text without the lines that describe parameters, which the table shows."""
    kept, inside = [], False
    for line in text.splitlines():
        found = re.match(r"`(\w+)`: ", line)
        inside = found[1] in parameters if found else inside and bool(line.strip())
        if not inside:
            kept.append(line)
    return "\n".join(kept)


def _allowed(parameter: Parameter) -> str:
    if parameter.choices:
        return ", ".join(map(repr, parameter.choices))
    if parameter.low is not None and parameter.high is not None:
        return f"{parameter.low:g} to {parameter.high:g}"
    return ""
