"""Integers that leave their type: a mistake, unless they are words (np.uint64) as bit tricks and hashes use them."""

from __future__ import annotations

import ast
import linecache
import sys
import types

import numpy as np

_words: set[tuple[types.CodeType, int]] = set()  # instructions known to compute with np.uint64


def overflow(kind: str, flag: int) -> None:
    """Called by numpy when an integer leaves its type. Words (np.uint64) may: bit tricks and hashes rely on it."""
    frame = sys._getframe(1)
    key = frame.f_code, frame.f_lasti
    if key not in _words:
        if not _computes_with_words(frame):
            raise FloatingPointError("overflow")
        _words.add(key)


def _computes_with_words(frame: types.FrameType) -> bool:
    line, last, column, end = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    if line is None or last is None or column is None or end is None:
        return False
    lines = [linecache.getline(frame.f_code.co_filename, n).encode() for n in range(line, last + 1)]
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][column:]
    text = b"".join(lines).decode()
    try:
        tree = ast.parse(text)
    except SyntaxError:
        try:
            tree = ast.parse(f"({text})")
        except SyntaxError:
            return False
    for node in ast.walk(tree):
        # Only what can be evaluated without calling anything: a call could change the position.
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and not any(
            isinstance(inner, ast.Call) for inner in ast.walk(node)
        ):
            try:
                source = compile(ast.Expression(_loaded(node)), "<overflow>", "eval")
                value = eval(source, frame.f_globals, frame.f_locals)
            except Exception:
                continue
            if value is np.uint64 or isinstance(value, np.uint64):
                return True
    return False


def _loaded(node: ast.expr) -> ast.expr:
    """The expression as one that is read, where it was the target of an assignment."""
    copy = ast.parse(ast.unparse(node), mode="eval")
    return copy.body
