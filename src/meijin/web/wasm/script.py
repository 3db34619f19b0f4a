"""The page's modules as one script, so that a published page is a few files, or a single one.

The modules keep to a few forms of `import` and `export`, at the beginning of a line, and have no cycles; anything else
is an error here. Each becomes a function that is called once, after those it imports from.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from meijin.core.errors import MeijinError

STATIC = Path(__file__).parents[1] / "static"

_IMPORT = re.compile(r'^import\s*\{([^}]*)\}\s*from\s*"([^"]+)";?[ \t]*$', re.MULTILINE)
_DECLARED = re.compile(r"^export ((?:async )?(?:function\*?|class|const|let) (\w+))", re.MULTILINE)
_LISTED = re.compile(r"(?:^|(?<=;))export\s*\{([^}]*)\};?", re.MULTILINE)
_LEFT = re.compile(r"^(import|export)\b.*$", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(?:/\*(?:(?!\*/)[\s\S])*\*/[ \t]*|//[^\n]*)\n", re.MULTILINE)  # on lines of its own


def joined(main: str, folder: Path = STATIC) -> str:
    """The script of a module (its text, with imports relative to the folder) and of all it imports."""
    known: dict[str, int] = {}  # module -> its number
    parts: list[str] = []
    pending: list[str] = []

    def add(name: str, text: str) -> int:
        if name in known:
            return known[name]
        if name in pending:
            raise MeijinError(f"{' -> '.join([*pending, name])}: modules that import each other in a circle")
        pending.append(name)
        base = posixpath.dirname(name)

        def imported(match: re.Match[str]) -> str:
            source = posixpath.normpath(posixpath.join(base, match[2]))
            number = add(source, (folder / source).read_text(encoding="utf-8"))
            names = re.sub(r"\s+as\s+", ": ", " ".join(match[1].split()))
            return f"const {{ {names} }} = m{number};"

        exports: dict[str, str] = {}
        text = _COMMENT.sub("", text)
        text = _IMPORT.sub(imported, text)
        for match in _DECLARED.finditer(text):
            exports[match[2]] = match[2]
        text = _DECLARED.sub(r"\1", text)
        for match in _LISTED.finditer(text):
            for item in filter(None, (each.strip() for each in match[1].split(","))):
                own, _, other = item.partition(" as ")
                exports[other or own] = own
        text = _LISTED.sub("", text)
        if left := _LEFT.search(text):
            raise MeijinError(f"{name}: '{left[0]}' is a form that publishing does not know")
        given = ", ".join(other if own == other else f"{other}: {own}" for other, own in exports.items())
        parts.append(f"const m{len(parts)} = (() => {{\n{text.strip()}\nreturn {{ {given} }};\n}})();\n")
        pending.pop()
        known[name] = len(parts) - 1
        return known[name]

    add("main.js", main)
    return '"use strict";\n' + "".join(parts)


def module(name: str) -> str:
    """The script of one of the page's modules."""
    return joined((STATIC / name).read_text(encoding="utf-8"))
