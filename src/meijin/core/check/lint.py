"""What rules may not contain, found in their bytecode: a line and a remedy before any compiler runs.

Some of it, such as lists and scratch arrays, compiles for the CPU but never for a GPU; hence a reader of our own.
"""

from __future__ import annotations

import builtins
import dis
import random
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

_SCRATCH = "a field of the record, a constant numpy table, or the buffer the rule was given"
_CHANGES = "keep everything that changes in a field of the record"

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
        ("it has a `with` block", "rules need no resources; remove the block"),
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
    "STORE_GLOBAL": ("it writes a global variable", _CHANGES),
    "UNPACK_EX": ("it unpacks with a star", "name every part"),
}

#: Built-in function -> what it is in the source, and what to write instead.
_REFUSED_BUILTINS: dict[str, tuple[str, str]] = {
    "print": ("it prints", "remove the line; to look inside, set a breakpoint and run with MEIJIN_JIT=0"),
    "breakpoint": ("it stops for a debugger", "remove the line when you are done"),
    **dict.fromkeys(("input", "open"), ("it reads or writes a file", "rules know their record only")),
    **dict.fromkeys(("sorted", "list"), _REFUSED["BUILD_LIST"]),
}

_ALLOCATING = re.compile(
    "arange|argsort|array|asarray|concatenate|copy|empty(_like)?|full(_like)?|hstack|linspace|nonzero|"
    "ones(_like)?|repeat|sort|stack|tile|unique|vstack|where|zeros(_like)?"
)

_ALLOCATING_METHODS = re.compile("argsort|astype|copy|cumsum|flatten|nonzero|repeat|tolist")

_RANDOM = (
    "it draws random numbers of its own",
    "chance belongs in `odds`, and `sample` draws with meijin.core.rng, so that a seed repeats a game",
)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something in a rule, or in a function that it calls, that compiled code cannot have."""

    function: types.FunctionType
    line: int
    reason: str
    remedy: str


def plain(value: Any) -> Any:
    """The Python function behind one that Numba has compiled already; any other value as it is."""
    return getattr(value, "py_func", value)


def functions(rule: Any) -> list[types.FunctionType]:
    """The rule and every plain function that it reaches."""
    found: list[types.FunctionType] = []
    waiting = [rule]
    while waiting:
        fn = plain(waiting.pop())
        if isinstance(fn, types.FunctionType) and fn not in found:
            found.append(fn)
            waiting += reversed(list(values(fn).values()))
    return found


def values(fn: types.FunctionType) -> dict[str, Any]:
    """The globals and closure variables that a function's code loads, by name; those not assigned yet are left out."""
    found = {name: fn.__globals__[name] for name in _loaded(fn.__code__) if name in fn.__globals__}
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue
    return found


@lru_cache(1000)  # asked again and again while the call graph of the rules is walked
def _loaded(code: types.CodeType) -> list[str]:
    """The names of the globals that a function's code loads, sorted."""
    return sorted({i.argval for c in _codes(code) for i in dis.get_instructions(c) if i.opname == "LOAD_GLOBAL"})


def codes(fn: types.FunctionType) -> list[types.CodeType]:
    """The code of a function and of the functions and comprehensions written inside it."""
    return _codes(fn.__code__)


def _codes(code: types.CodeType) -> list[types.CodeType]:
    found = [code]
    for each in found:
        found += [const for const in each.co_consts if isinstance(const, types.CodeType)]
    return found


def instructions(fn: types.FunctionType) -> Iterator[tuple[dis.Instruction, int]]:
    """Every instruction of a function with its line; what has none, such as entering `except`, has that of the next."""
    for code in codes(fn):
        found, line = [], code.co_firstlineno
        for instruction in reversed(list(dis.get_instructions(code))):
            line = (instruction.positions and instruction.positions.lineno) or line
            found.append((instruction, line))
        yield from reversed(found)


def find_name(rule: Any, name: str) -> tuple[types.FunctionType, int] | None:
    """Where a rule, or what it reaches, first uses that variable, attribute or field."""
    for fn in functions(rule):
        for instruction, line in instructions(fn):
            if instruction.argval == name and instruction.opname.startswith(("LOAD_", "STORE_")):
                return fn, line
    return None


def lint(rule: Any) -> Finding | None:
    """The first thing in a rule that compiled code cannot have; None when there is none."""
    for fn in functions(rule):
        if (found := _lint(fn)) is not None:
            return found
    return _recursion(plain(rule), (), set())


def _lint(fn: types.FunctionType) -> Finding | None:
    known = values(fn)
    changed: dict[str, types.FunctionType] | None = None
    before: Any = None  # the module loaded by the previous instruction, if it was one
    for instruction, line in instructions(fn):
        name, argument = instruction.opname, instruction.argval
        if name in _REFUSED:
            return Finding(fn, line, *_REFUSED[name])
        if name == "STORE_DEREF" and argument in fn.__code__.co_freevars:
            return Finding(fn, line, f"it writes the outer variable '{argument}'", _CHANGES)
        value = plain(known.get(argument)) if isinstance(argument, str) else None
        if isinstance(before, types.ModuleType) and name in ("LOAD_ATTR", "LOAD_METHOD"):
            if before is np and _ALLOCATING.fullmatch(argument):
                reason = f"np.{argument} allocates an array"
                return Finding(fn, line, reason, f"rules allocate nothing: use {_SCRATCH}")
            value = vars(before).get(argument) if before in (np, random) else None
        elif name in ("LOAD_ATTR", "LOAD_METHOD") and _ALLOCATING_METHODS.fullmatch(argument):
            reason = f"'.{argument}' allocates memory"
            return Finding(fn, line, reason, f"rules allocate nothing: use {_SCRATCH}")
        if _draws(value):
            return Finding(fn, line, *_RANDOM)
        if name in ("LOAD_GLOBAL", "LOAD_DEREF"):
            if isinstance(value, list | dict | set | bytearray):
                reason = f"'{argument}' is a Python {type(value).__name__}"
                return Finding(fn, line, reason, "make it a tuple of numbers or a numpy array")
            if argument in _REFUSED_BUILTINS and argument not in known and hasattr(builtins, argument):
                return Finding(fn, line, *_REFUSED_BUILTINS[argument])
        if name == "LOAD_GLOBAL" and argument in known and not callable(value):
            changed = _assigned_globals(fn.__globals__) if changed is None else changed
            if argument in changed and changed[argument] is not fn:
                reason = f"it reads the global variable '{argument}', which '{changed[argument].__name__}' changes"
                remedy = "make it a local variable of the function that makes the game: rules see it as a constant"
                return Finding(fn, line, reason, remedy)
        before = value if isinstance(value, types.ModuleType) else None
    return None


def _draws(value: Any) -> bool:
    """Whether it is a source of random numbers outside the record."""
    if isinstance(value, types.ModuleType):
        return value in (random, np.random)
    owner = getattr(value, "__self__", value)
    return isinstance(owner, random.Random | np.random.Generator | np.random.RandomState)


def _assigned_globals(space: dict[str, Any]) -> dict[str, types.FunctionType]:
    """The global variables that a module's functions assign, with one function that does."""
    found: dict[str, types.FunctionType] = {}
    for value in list(space.values()):
        value = getattr(value, "__wrapped__", value)
        if isinstance(value, types.FunctionType) and value.__globals__ is space:
            for instruction, _ in instructions(value):
                if instruction.opname == "STORE_GLOBAL":
                    found.setdefault(instruction.argval, value)
    return found


def _recursion(fn: Any, within: tuple[Any, ...], done: set[Any]) -> Finding | None:
    """A function that calls itself, directly or through others."""
    if fn in within:
        remedy = "write it as a loop, with what it must remember in the record"
        return Finding(fn, fn.__code__.co_firstlineno, "a function calls itself", remedy)
    if fn not in done:
        done.add(fn)
        for value in map(plain, values(fn).values()):
            if isinstance(value, types.FunctionType):
                found = _recursion(value, (*within, fn), done)
                if found is not None:
                    return found
    return None
