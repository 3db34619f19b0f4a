"""Writes the tables of settings in docs/zero.md and docs/td.md from the configs: `python docs/settings.py`."""

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
from meijin.learning.classic.config import ClassicConfig
from meijin.learning.nets.config import SIZES, NetConfig
from meijin.learning.td.config import TdConfig
from meijin.learning.zero.config import ZeroConfig

PAGE = Path(__file__).parent / "zero.md"
TD_PAGE = Path(__file__).parent / "td.md"


def comments(kind: type) -> dict[str, str]:
    """Field -> the comment after it, inherited fields included."""
    found = {}
    for base in kind.__bases__:
        if base is not object:
            found |= comments(base)
    source = textwrap.dedent(inspect.getsource(kind))
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    said = {token.start[0]: token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT}
    (body,) = ast.parse(source).body
    assert isinstance(body, ast.ClassDef)
    for node in body.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            found[node.target.id] = " ".join(said[line] for line in lines if line in said)
    return found


def table(section: str, values: Any, skip: tuple[str, ...] = ()) -> str:
    """One section: its fields but those to skip, their defaults and what they do."""
    kind = type(values)
    words = comments(kind)
    about = (kind.__doc__ or "").strip().splitlines()[0]
    rows = [f"### `{section}`\n", f"{about}\n", "| setting | default | |", "|---|---|---|"]
    for field in fields(values):
        if field.name in skip:
            continue
        if not words.get(field.name):
            raise MeijinError(f"{kind.__name__}.{field.name} has no comment; say after the field what it does")
        default = json.dumps(getattr(values, field.name), ensure_ascii=False)
        rows.append(f"| `{field.name}` | `{default}` | {words[field.name].replace('|', chr(92) + '|')} |")
    return "\n".join(rows)


def sizes() -> str:
    known = "; ".join(f"`{name}` {size['blocks']} x {size['channels']}" for name, size in SIZES.items())
    return f"`size` is one of these, blocks x channels: {known}. The other settings change it; these are `small`'s:"


def tables() -> str:
    """Every section of a config of zero, then the settings of the classic nets."""
    config = ZeroConfig("GAME")
    parts = []
    for field in fields(config):
        if field.name == "net":
            head, _, rest = table("net", NetConfig.sized("small")).partition("\n\n")
            about, _, rows = rest.partition("\n\n")
            parts.append(f"{head}\n\n{about} {sizes()}\n\n{rows}")
        elif field.name not in ("game", "variants"):
            parts.append(table(field.name, getattr(config, field.name)))
    return "\n\n".join(parts)


def classic() -> str:
    """The settings of the classic nets; `evaluation` and `length` are like zero's."""
    whole = table("classic", ClassicConfig("GAME"), skip=("game", "evaluation", "length"))
    return whole.partition("| setting")[1] + whole.partition("| setting")[2]


def td() -> str:
    """The settings of temporal-difference learning; `evaluation` and `length` are like zero's."""
    config = TdConfig("GAME")
    own = table("td", config, skip=("game", "tuples", "features", "evaluation", "length"))
    return "\n\n".join([own, table("tuples", config.tuples), table("features", config.features)])


def page() -> str:
    """The page about zero and the classic nets with its tables as they should be."""
    return _filled(PAGE, ("settings", tables()), ("classic", classic()))


def td_page() -> str:
    return _filled(TD_PAGE, ("settings", td()))


def _filled(path: Path, *found: tuple[str, str]) -> str:
    text = path.read_text(encoding="utf-8")
    for name, made in found:
        before, _, rest = text.partition(f"<!-- {name} -->")
        after = rest.partition(f"<!-- /{name} -->")[2]
        text = f"{before}<!-- {name} -->\n{made}\n<!-- /{name} -->{after}"
    return text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    TD_PAGE.write_text(td_page(), encoding="utf-8")
