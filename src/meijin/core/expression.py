"""The small language that names games and agents: `mcts(simulations=1000)`, `nply(td("runs/c4"), depth=2)`.

An expression is a name, optionally followed by arguments in parentheses:

    call    = name [ "(" [ argument { "," argument } [ "," ] ] ")" ]
    argument = [ parameter "=" ] value
    value   = number | string | True | False | None | tuple | call
    tuple   = "(" values ")" | "[" values "]"
    name    = letters, digits, "_", "." and "-", with a letter, digit or "_" at both ends

A name may start with a digit (`2048`, `2048(target=1024)`). As a value, such a word is a number unless
parentheses follow it. Strings and numbers are Python literals, read by `ast.literal_eval`; nothing is run.

Law: `parse(str(call)) == call`.
"""

from __future__ import annotations

import ast
import json
import math
import re
from dataclasses import dataclass, field
from typing import NoReturn, TypeAlias

from meijin.core.errors import BadParameter

# An expression may come from a web page or a config file, so its size is bounded.
MAX_LENGTH = 4096  # characters
MAX_DEPTH = 20  # parentheses inside parentheses

Value: TypeAlias = "str | int | float | bool | tuple[Value, ...] | Call | None"

_CONSTANTS: dict[str, bool | None] = {"True": True, "False": False, "None": None}
_NAME = re.compile(r"\w(?:[\w.-]*\w)?")
# Only escapes that every Python reads without a warning; a lone backslash (a Windows path) is an error.
_ESCAPE = r"\\[\\'\"abfnrtvxuUN]"
_TOKEN = re.compile(
    rf"""(?P<string> "(?:[^"\\\n]|{_ESCAPE})*" | '(?:[^'\\\n]|{_ESCAPE})*' )
       | (?P<word> [+-]?\.?\d[\d_]*\.?[\d_]*[eE]\+\d+ | [+-]?\.?\w[\w.-]* )
       | (?P<mark> [()\[\],=] )""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Call:
    """A name with its arguments, as written: what they mean is up to whoever looks the name up."""

    name: str
    args: tuple[Value, ...] = ()
    kwargs: dict[str, Value] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.name, self.args, frozenset(self.kwargs.items())))

    def __str__(self) -> str:
        """Return the canonical text of the call."""
        shown = [_show(value) for value in self.args]
        shown += [f"{key}={_show(value)}" for key, value in self.kwargs.items()]
        return f"{self.name}({', '.join(shown)})" if shown else self.name


def parse(text: str) -> Call:
    """Read an expression; raise `BadParameter` that points at the place where it cannot be understood."""
    if len(text) > MAX_LENGTH:
        raise BadParameter(f"an expression of {len(text)} characters is too long; at most {MAX_LENGTH} are read")
    return _Parser(text).whole()


def _show(value: Value) -> str:
    if isinstance(value, Call):
        text = str(value)
        # Without parentheses these would be read back as a number or a constant.
        return f"{text}()" if text in _CONSTANTS or (text == value.name and text[0].isdigit()) else text
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, tuple):
        return f"({', '.join(map(_show, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, float) and not math.isfinite(value):
        if math.isnan(value):
            raise BadParameter("nan cannot be written in an expression; use a number")
        return "1e999" if value > 0 else "-1e999"
    return repr(value)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # "string", "word", "mark" or "end"
    text: str
    start: int  # index of its first character in the expression


class _Parser:
    """Recursive descent over the tokens of one expression."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = self._tokens()
        self.position = 0
        self.depth = 0

    def whole(self) -> Call:
        call = self._call(self._take())
        if self._peek().kind != "end":
            self._expected("the end")
        return call

    def _tokens(self) -> list[_Token]:
        tokens: list[_Token] = []
        at = 0
        while True:
            at += len(self.text[at:]) - len(self.text[at:].lstrip())
            if at == len(self.text):
                return [*tokens, _Token("end", "", at)]
            match = _TOKEN.match(self.text, at)
            if match is None:
                if self.text[at] in "\"'":
                    self._fail("this string does not end or holds a bad escape; write a backslash as '\\\\'", at)
                self._fail(f"unexpected character {self.text[at]!r}", at)
            tokens.append(_Token(str(match.lastgroup), match[0], at))
            at = match.end()

    def _peek(self) -> _Token:
        return self.tokens[self.position]

    def _take(self) -> _Token:
        token = self._peek()
        if token.kind != "end":
            self.position += 1
        return token

    def _skip(self, mark: str) -> bool:
        """Step over `mark` if it comes next."""
        found = self._peek().kind == "mark" and self._peek().text == mark
        self.position += found
        return found

    def _call(self, name: _Token) -> Call:
        if name.kind != "word" or not _NAME.fullmatch(name.text):
            self._expected("a name", name)
        args: list[Value] = []
        kwargs: dict[str, Value] = {}
        if self._skip("("):
            self._enter(name)
            while not self._skip(")"):
                self._argument(args, kwargs)
                if not self._skip(",") and self._peek().text != ")":
                    self._expected("',' or ')'")
            self.depth -= 1
        return Call(name.text, tuple(args), kwargs)

    def _argument(self, args: list[Value], kwargs: dict[str, Value]) -> None:
        first = self._peek()
        after = self.tokens[min(self.position + 1, len(self.tokens) - 1)]
        if first.kind == "word" and after.text == "=" and after.kind == "mark":
            if not first.text.isidentifier():
                self._expected("a parameter's name", first)
            if first.text in kwargs:
                self._fail(f"parameter '{first.text}' is given twice", first.start)
            self.position += 2
            kwargs[first.text] = self._value()
        else:
            if kwargs:
                self._fail("an argument without a name must come before those with one", first.start)
            args.append(self._value())

    def _value(self) -> Value:
        token = self._take()
        if token.kind == "string":
            return self._literal(token, "a string")
        if token.kind == "mark" and token.text in "([":
            return self._tuple(token)
        if token.kind != "word":
            self._expected("a value", token)
        called = self._peek().kind == "mark" and self._peek().text == "("
        if not called:
            if token.text in _CONSTANTS:
                return _CONSTANTS[token.text]
            if token.text[0].isdigit() or token.text[0] in "+-.":
                return self._literal(token, "a number")
        return self._call(token)

    def _tuple(self, opening: _Token) -> Value:
        closing = ")" if opening.text == "(" else "]"
        self._enter(opening)
        values: list[Value] = []
        comma = False
        while not self._skip(closing):
            values.append(self._value())
            comma = self._skip(",")
            if not comma and self._peek().text != closing:
                self._expected(f"',' or '{closing}'")
        self.depth -= 1
        # As in Python, (3) is the number and (3,) or [3] the tuple.
        return values[0] if closing == ")" and len(values) == 1 and not comma else tuple(values)

    def _literal(self, token: _Token, what: str) -> str | int | float:
        try:
            value = ast.literal_eval(token.text)
        except (SyntaxError, ValueError):
            self._expected(what, token)
        if not isinstance(value, (str, int, float)):  # 2j
            self._expected(what, token)
        if isinstance(value, str) and re.search("[\ud800-\udfff]", value):  # could be neither printed nor saved
            self._fail("half a surrogate pair is not a character", token.start)
        return value

    def _enter(self, token: _Token) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self._fail(f"nested too deeply; at most {MAX_DEPTH} levels are read", token.start)

    def _expected(self, what: str, token: _Token | None = None) -> NoReturn:
        found = token or self._peek()
        shown = f"'{found.text}'" if found.text else "the end"
        self._fail(f"expected {what}, found {shown}", found.start)

    def _fail(self, problem: str, at: int) -> NoReturn:
        # A window around the place keeps a long expression readable.
        start = max(0, at - 60)
        window = self.text[start : at + 30].replace("\n", " ").replace("\t", " ")
        raise BadParameter(
            f"cannot read the expression: {problem} (character {at + 1})\n  {window}\n  {' ' * (at - start)}^"
        )
