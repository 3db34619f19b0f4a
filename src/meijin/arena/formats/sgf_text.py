"""The text of SGF files: nodes and properties. Only the main line is read, which follows the first variation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from meijin.arena.formats.common import RecordFile, line_numbers

MAX_NODES = 1_000_000  # in one game

# An identifier may have lower-case letters, as in the oldest files ("AddBlack"); those are dropped.
_TOKEN = re.compile(r"\s*(?:(?P<mark>[();])|(?P<name>[A-Za-z]+)|\[(?P<value>[^\\\]]*(?:\\.[^\\\]]*)*)\])", re.DOTALL)
_BREAK = r"\r\n|\n\r|\n|\r"
_ESCAPED = re.compile(rf"\\(?:{_BREAK})|\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SgfNode:
    line: int
    properties: dict[str, list[str]]


def escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("]", "\\]")


def plain(raw: str) -> str:
    """A value without its escapes; a backslash before a line break removes the break."""
    return _ESCAPED.sub(lambda found: found[1] or "", raw) if "\\" in raw else raw


def prop(name: str, values: Iterable[str]) -> str:
    return name + "".join(f"[{escape(value)}]" for value in values)


def games(source: RecordFile) -> Iterator[list[SgfNode]]:
    """The main line of every game of a file, the root first."""
    # One character per byte, so that positions are those of the file; values are decoded later.
    text = source.data().decode("latin-1")
    line = line_numbers(text)
    at, found = 0, False
    while (begin := re.compile(r"\(\s*;").search(text, at)) is not None:
        if found and text[at : begin.start()].strip():
            source.fail(line(at), f"unexpected text between games: {text[at : at + 20].strip()!r}")
        nodes, at = _game(source, text, begin.start(), line)
        found = True
        yield nodes
    if not found:
        source.fail(1, "no game found; an SGF file has '(;' before the first one")
    if text[at:].strip("\0\x1a \t\r\n"):
        source.fail(line(at), f"unexpected text after the last game: {text[at:].strip()[:20]!r}")


def _game(source: RecordFile, text: str, at: int, where: Callable[[int], int]) -> tuple[list[SgfNode], int]:
    """The main line of the game that begins at a place, and where it ends."""
    nodes: list[SgfNode] = []
    depth, main = 0, True  # the main line goes on until the first variation ends
    values: list[str] | None = None  # of the latest property; None where no value may come
    bare = ""  # the latest property, if it has no value yet
    begin = at
    while True:
        token = _TOKEN.match(text, at)
        if token is None:
            rest = text[at:].strip()
            if not rest:
                source.fail(where(len(text)), f"the file ends within the game that begins in line {where(begin)}")
            source.fail(where(at + len(text[at:]) - len(text[at:].lstrip())), f"cannot read {rest[:20]!r}")
        start = token.start(str(token.lastgroup))
        at = token.end()
        if token["value"] is not None:
            if values is None:
                source.fail(where(start), f"a value without a property: [{token['value'][:20]}]")
            values.append(token["value"])
            bare = ""
            continue
        if bare:
            source.fail(where(start), f"property {bare} has no value")
        if token["name"]:
            name = re.sub("[a-z]", "", token["name"])
            if main and not nodes:
                source.fail(where(start), f"property {name} before the first node")
            values, bare = nodes[-1].properties.setdefault(name, []) if main else [], token["name"]
            continue
        values = None
        if token["mark"] == "(":
            depth += 1
        elif token["mark"] == ")":
            depth -= 1
            main = False
            if depth == 0:
                return _decoded(nodes), at
        elif main:
            nodes.append(SgfNode(where(start), {}))
            if len(nodes) > MAX_NODES:
                source.fail(where(start), f"a game of more than {MAX_NODES} nodes")


def _decoded(nodes: list[SgfNode]) -> list[SgfNode]:
    """The values as text: UTF-8, which nearly all files use, else Latin-1, the default of the standard."""
    for node in nodes:
        for name, raws in node.properties.items():
            node.properties[name] = [plain(_utf8(raw)) for raw in raws]
    return nodes


def _utf8(raw: str) -> str:
    try:
        return raw if raw.isascii() else raw.encode("latin-1").decode()
    except UnicodeDecodeError:
        return raw
