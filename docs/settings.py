"""Writes the tables of settings in docs/zero.md from the config's classes and comments: `python docs/settings.py`."""

from __future__ import annotations

import ast
import inspect
import io
import json
import textwrap
import tokenize
from dataclasses import fields
from pathlib import Path
from typing import Any

from meijin.core.errors import MeijinError
from meijin.learning.nets.config import SIZES, NetConfig
from meijin.learning.zero.config import ZeroConfig

PAGE = Path(__file__).parent / "zero.md"
MARKS = ("<!-- settings -->", "<!-- /settings -->")


def comments(kind: type) -> dict[str, str]:
    """Field -> the comment behind it."""
    source = textwrap.dedent(inspect.getsource(kind))
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    said = {token.start[0]: token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT}
    (body,) = ast.parse(source).body
    assert isinstance(body, ast.ClassDef)
    found = {}
    for node in body.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            found[node.target.id] = " ".join(said[line] for line in lines if line in said)
    return found


def table(section: str, values: Any) -> str:
    """One section: its fields, their defaults and what they do."""
    kind = type(values)
    words = comments(kind)
    about = (kind.__doc__ or "").strip().splitlines()[0]
    rows = [f"### `{section}`\n", f"{about}\n", "| setting | default | |", "|---|---|---|"]
    for field in fields(values):
        if not words.get(field.name):
            raise MeijinError(f"{kind.__name__}.{field.name} has no comment; say what it does behind the field")
        default = json.dumps(getattr(values, field.name), ensure_ascii=False)
        rows.append(f"| `{field.name}` | `{default}` | {words[field.name].replace('|', chr(92) + '|')} |")
    return "\n".join(rows)


def sizes() -> str:
    known = "; ".join(f"`{name}` {size['blocks']} x {size['channels']}" for name, size in SIZES.items())
    return f"`size` is one of these, blocks x channels: {known}. The other settings change it; these are `small`'s:"


def tables() -> str:
    """Every section of a config."""
    config = ZeroConfig("GAME")
    parts = []
    for field in fields(config):
        if field.name == "net":
            head, _, rest = table("net", NetConfig.sized("small")).partition("\n\n")
            about, _, rows = rest.partition("\n\n")
            parts.append(f"{head}\n\n{about} {sizes()}\n\n{rows}")
        elif field.name != "game":
            parts.append(table(field.name, getattr(config, field.name)))
    return "\n\n".join(parts)


def page() -> str:
    """The page with its tables as they should be."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(MARKS[0])
    after = rest.partition(MARKS[1])[2]
    return f"{before}{MARKS[0]}\n{tables()}\n{MARKS[1]}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
