"""What rules may not contain, found in their bytecode: a line and a remedy before any compiler runs.

Some of it, such as lists and scratch arrays, compiles for the CPU but never for a GPU; hence a look of our own.
"""

from __future__ import annotations

import dis
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

_SCRATCH = "a field of the record, a constant numpy table, or the buffer the rule was given"

#: Operation of the interpreter -> what it is in the source, and what to write instead.
_REFUSED: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        ("BUILD_LIST", "LIST_APPEND", "LIST_EXTEND"),
        ("it makes a Python list", f"keep the numbers in {_SCRATCH}; a fixed list of numbers can be a tuple"),
    ),
    **dict.fromkeys(
        ("BUILD_MAP", "BUILD_CONST_KEY_MAP", "MAP_ADD", "DICT_UPDATE"),
        ("it makes a Python dict", f"look numbers up by index in {_SCRATCH}"),
    ),
    **dict.fromkeys(
        ("BUILD_SET", "SET_ADD", "SET_UPDATE"),
        ("it makes a Python set", f"mark members in {_SCRATCH}"),
    ),
    **dict.fromkeys(
        ("FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "BUILD_STRING"),
        ("it makes a string", "rules know numbers only; names belong in `move_name` and `pieces`"),
    ),
    **dict.fromkeys(
        ("BEFORE_WITH", "LOAD_SPECIAL", "WITH_EXCEPT_START"),
        ("it has a `with` block", "rules need no resources; take the block away"),
    ),
    **dict.fromkeys(
        ("PUSH_EXC_INFO", "CHECK_EXC_MATCH"),
        ("it has a `try` block", "test for the case with `if` before it can fail"),
    ),
    **dict.fromkeys(
        ("RETURN_GENERATOR", "YIELD_VALUE"),
        ("it is a generator", "write into the buffer and return how many entries there are"),
    ),
    "IMPORT_NAME": ("it imports inside the rule", "import at the top of the file"),
    "STORE_GLOBAL": ("it writes a global variable", "keep everything that changes in a field of the record"),
    "UNPACK_EX": ("it unpacks with a star", "name every part"),
}

_ALLOCATING = re.compile(
    "arange|argsort|array|asarray|concatenate|copy|empty(_like)?|full(_like)?|hstack|linspace|nonzero|"
    "ones(_like)?|repeat|sort|stack|tile|unique|vstack|where|zeros(_like)?"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something in a rule, or in a function that it calls, that compiled code cannot have."""

    function: types.FunctionType
    line: int
    reason: str
    remedy: str


def functions(rule: Any) -> list[types.FunctionType]:
    """The rule and every plain function that it reaches."""
    found: list[types.FunctionType] = []
    waiting = [rule]
    while waiting:
        fn = waiting.pop()
        if isinstance(fn, types.FunctionType) and fn not in found:
            found.append(fn)
            waiting += reversed(list(values(fn).values()))
    return found


def values(fn: types.FunctionType) -> dict[str, Any]:
    """The globals and closure variables that a function's code loads, by name; those not assigned yet are left out."""
    loaded = {i.argval for code in codes(fn) for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}
    found = {name: fn.__globals__[name] for name in sorted(loaded) if name in fn.__globals__}
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue
    return found


def codes(fn: types.FunctionType) -> list[types.CodeType]:
    """The code of a function and of the functions and comprehensions written inside it."""
    found = [fn.__code__]
    for code in found:
        found += [const for const in code.co_consts if isinstance(const, types.CodeType)]
    return found


def instructions(fn: types.FunctionType) -> Iterator[tuple[dis.Instruction, int]]:
    """Every instruction of a function with its line."""
    for code in codes(fn):
        line = code.co_firstlineno
        for instruction in dis.get_instructions(code):
            if instruction.positions and instruction.positions.lineno:
                line = instruction.positions.lineno
            yield instruction, line


def find_name(rule: Any, name: str) -> tuple[types.FunctionType, int] | None:
    """Where a rule, or what it reaches, first uses that variable, attribute or field."""
    for fn in functions(rule):
        for instruction, line in instructions(fn):
            if instruction.argval == name and instruction.opname.startswith(("LOAD_", "STORE_")):
                return fn, line
    return None


def tables(rule: Any) -> list[Any]:
    """The constant numpy arrays that a rule reaches."""
    return [value for fn in functions(rule) for value in values(fn).values() if isinstance(value, np.ndarray)]


def lint(rule: Any) -> Finding | None:
    """The first thing in a rule that compiled code cannot have; None when there is none."""
    for fn in functions(rule):
        known = values(fn)
        before: Any = None  # the module loaded by the previous instruction, if it was one
        for instruction, line in instructions(fn):
            name, argument = instruction.opname, instruction.argval
            if name in _REFUSED:
                return Finding(fn, line, *_REFUSED[name])
            if name == "STORE_DEREF" and argument in fn.__code__.co_freevars:
                return Finding(fn, line, f"it writes the outer variable '{argument}'", _REFUSED["STORE_GLOBAL"][1])
            value = known.get(argument) if isinstance(argument, str) else None
            if isinstance(before, types.ModuleType) and name in ("LOAD_ATTR", "LOAD_METHOD"):
                value = None
                if before is np and _ALLOCATING.fullmatch(argument):
                    reason = f"np.{argument} allocates an array"
                    return Finding(fn, line, reason, f"rules allocate nothing: use {_SCRATCH}")
                if before is np and argument == "random":
                    return Finding(fn, line, *_RANDOM)
            if isinstance(value, types.ModuleType) and value.__name__ == "random":
                return Finding(fn, line, *_RANDOM)
            before = value if isinstance(value, types.ModuleType) else None
    return None


_RANDOM = (
    "it draws random numbers of its own",
    "chance belongs in `odds`, and `sample` draws with meijin.core.rng, so that a seed repeats a game",
)
