"""`meijin new`: the file a new game starts from."""

from __future__ import annotations

import keyword
from pathlib import Path

from rich.text import Text

from meijin.cli.console import out
from meijin.core.catalogue import games
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.options import among

STARTERS = Path(__file__).parents[1] / "data" / "starters"  # complete games, each named `my_game`


def kinds() -> list[str]:
    """What starters there are."""
    return sorted(path.stem for path in STARTERS.glob("*.py"))


def new(name: str, kind: str, force: bool) -> None:
    if not name.isidentifier() or not name.isascii() or keyword.iskeyword(name):
        raise BadParameter(f"'{name}' cannot name a game; use letters, digits and '_', as in my_game")
    if name in games.names():
        raise BadParameter(f"there is a game named '{name}' already; choose another name")
    among("--kind", kind, kinds())
    path = Path(f"{name}.py")
    title = name.replace("_", " ").strip().capitalize() or name
    source = (STARTERS / f"{kind}.py").read_text(encoding="utf-8")
    try:
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(source.replace("my_game", name).replace("My game", title))
    except FileExistsError:
        raise MeijinError(f"{path} exists; choose another name, or overwrite it with --force") from None
    except OSError as error:
        raise MeijinError(f"cannot write {path}: {error.strerror}") from error
    console = out()
    console.print(Text.assemble("wrote ", (str(path), "bold"), ", a small complete game. Now try:\n"))
    commands = (
        (f"meijin check --load {path}", "does it keep the laws of games?"),
        (f"meijin play {name} --load {path}", "play it"),
        (f"meijin match {name} mcts random --load {path}", "let agents play it"),
    )
    width = max(len(command) for command, _ in commands)
    for command, meaning in commands:
        console.print(Text.assemble("  ", (f"{command:<{width}}", "cyan"), (f"   {meaning}", "dim")))
    console.print(Text("\nThen edit the rules and check again.", "dim"))
