"""What is wrong with a rule, in words: from compiler errors and from exceptions of interpreted rules.

Both become a `RuleError` that names the game, the rule, the line, the reason and the remedy; nobody who writes a game
has to read the compiler's own report.
"""

from __future__ import annotations

import linecache
import re
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meijin.core import compile as compiling
from meijin.core.check.lint import codes, find_name, functions, lint, values
from meijin.core.errors import RuleError, suggest

if TYPE_CHECKING:
    from meijin.core.game import Game

PLAIN = (
    "rules may use numbers, the record's fields and constant arrays only; "
    "MEIJIN_JIT=0 runs them as plain Python for a debugger"
)
WORDS = "bits and hashes need np.uint64 on both sides of every operator, as in `s.word >> np.uint64(n)`"
ONE_TYPE = "give it one type on every path, with int(...), float(...) or np.uint64(...) where needed"
WIDER = (
    "give the field a wider type, or compute with np.int64(...) of it; compiled code computes in 64 bits, so only "
    "np.uint64 words may wrap around"
)

STOPPED = "it was stopped after {:g} seconds"
UNENDING = "look for a loop that never ends; if the rule is only slow, allow it more time (`timeout`)"

#: The rules whose result is a whole number.
COUNTS = ("turn", "legal", "odds", "sample", "policy", "setup", "ending")

Explanation = tuple[str, str, str | None]  # reason, remedy, and a name in the source that shows the line


def rules(game: Game) -> Iterator[tuple[str, types.FunctionType]]:
    """The rules a game has, by name."""
    from meijin.core.contract import CONTRACT

    for name in CONTRACT:
        if (fn := getattr(game, name)) is not None:
            yield name, fn


def place(fn: types.FunctionType, line: int | None = None) -> str:
    """File, line and function, with the source line where it can be read."""
    line = line or fn.__code__.co_firstlineno
    source = linecache.getline(fn.__code__.co_filename, line).strip()
    return f"{fn.__code__.co_filename}:{line}, in {fn.__name__}" + (f":  {source}" if source else "")


def broken(
    game: Game, rule: str, problem: str, remedy: str, line: Sequence[str] | None = None, where: str = ""
) -> RuleError:
    """The error of a rule: what it does, where it is written, the moves that lead to the position, and the remedy."""
    fn = getattr(game, rule, None)
    if not where and isinstance(fn, types.FunctionType):
        where = place(fn)
    at = f"\n  at {where}" if where else ""
    after = "" if line is None else f"\n  position: {' '.join([str(game), *line])}"
    return RuleError(f"{game}: rule '{rule}' {problem}{at}{after}\n  remedy: {remedy}")


# ---- rules that do not compile ----


def explain(game: Game, error: Exception) -> None:
    """Raise the `RuleError` behind a compiler error; return if every rule compiles on its own."""
    inspect(game)
    for rule, fn in rules(game):
        try:
            dispatcher = compiling.twin(fn)
            for signature in _signatures(game, rule):
                dispatcher.compile(signature)
        except Exception as cause:
            raise _explained(game, rule, fn, cause) from None
        if rule in COUNTS and (problem := _not_a_count(dispatcher.nopython_signatures[0].return_type)):
            raise broken(game, rule, problem, f"return a whole number on every path of '{rule}'") from None


def inspect(game: Game) -> int:
    """Raise for the first rule with something in it that compiled code cannot have; return the functions read."""
    read: set[types.FunctionType] = set()
    for rule, fn in rules(game):
        read.update(functions(fn))
        if game.compiled and (found := lint(fn)) is not None:
            where = place(found.function, found.line)
            raise broken(game, rule, f"cannot be compiled: {found.reason}", found.remedy, where=where)
    return len(read)


def _signatures(game: Game, rule: str) -> list[tuple[Any, ...]]:
    """The argument types kernels call a rule with."""
    import numba
    from numba import types as nb

    record = numba.from_dtype(game.dtype)
    integers, floats = nb.Array(nb.int32, 1, "C"), nb.Array(nb.float64, 1, "C")
    signatures: dict[str, list[tuple[Any, ...]]] = {
        "play": [(record, nb.int64), (record, nb.int32)],  # from Python, and from a buffer of moves
        "noisy": [(record, nb.int32)],
        "legal": [(record, integers)],
        "odds": [(record, integers, floats)],
        "score": [(record, floats)],
        "heuristic": [(record, floats)],
        "cells": [(record, integers), (record, nb.Array(nb.float32, 1, "C"))],  # the second by the default planes
        "planes": [(record, nb.Array(nb.float32, 2, "C"))],
        "owners": [(record, nb.Array(nb.int8, 1, "C"))],
        "sample": [(record, nb.Array(nb.uint64, 1, "C"))],
        "policy": [(record, nb.Array(nb.uint64, 1, "C"))],
        "setup": [(record, integers, nb.int64)],
        "tally": [(record, nb.Array(nb.float64, 2, "C"))],
    }
    return signatures.get(rule, [(record,)])


def _not_a_count(result: Any) -> str | None:
    from numba import types as nb

    if isinstance(result, nb.Optional):
        return "returns None on some path"
    if isinstance(result, nb.NoneType):
        return "returns nothing"
    if not isinstance(result, nb.Integer | nb.IntegerLiteral | nb.Boolean | nb.BooleanLiteral):
        return f"returns {_kind(str(result))}"
    return None


def _explained(game: Game, rule: str, fn: types.FunctionType, error: Exception) -> RuleError:
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    text = re.sub(r"[Rr]ecord\([^\n]*?[;,] ?\d+[;,] ?(?:True|False)\)", "record", text)
    reason, remedy, name = _cause(game, fn, error, text)
    found = (find_name(fn, name) if name else None) or _line_in(fn, text, error)
    if isinstance(error, RecursionError):
        found = next(((f, f.__code__.co_firstlineno) for f in functions(fn) if text.startswith(f.__qualname__)), found)
    where = place(*found) if found else place(fn)
    return broken(game, rule, f"cannot be compiled: {reason}", remedy, where=where)


def _line_in(fn: types.FunctionType, text: str, error: Exception) -> tuple[types.FunctionType, int] | None:
    """The innermost line of the rules that a compiler message mentions; it tells the innermost first."""
    mentioned = [(file, int(line)) for file, line in re.findall(r'File "([^"\n]+)", line (\d+)', text)]
    mentioned += [(file, int(line)) for file, line in re.findall(r"(?:at|from) ([^\n()]+) \((\d+)\)", text)]
    if (loc := getattr(error, "loc", None)) is not None:
        mentioned.append((loc.filename, loc.line))
    for file, line in mentioned:
        for candidate in functions(fn):
            same_file = Path(candidate.__code__.co_filename).name == Path(file).name
            if same_file and any(line == at for code in codes(candidate) for _, _, at in code.co_lines()):
                return candidate, line
    return None


def _cause(game: Game, fn: types.FunctionType, error: Exception, text: str) -> Explanation:
    if isinstance(error, KeyError) and error.args and isinstance(error.args[0], str):
        return _no_field(game, error.args[0])
    if isinstance(error, RecursionError):
        return "a function calls itself", "write it as a loop, with what it must remember in the record", None
    if isinstance(error, ValueError) and (missing := _unassigned(fn)):
        return f"'{missing}' has no value yet when the game is made", "define it before the Game is made", missing
    for pattern, answer in _CAUSES:
        if match := re.search(pattern, text, re.DOTALL):
            return answer(game, match)
    skipped = ("Failed in", "During:", "File ", "Traceback")
    told = next((line for line in text.splitlines() if line.strip() and not line.startswith(skipped)), str(type(error)))
    return told.strip().rstrip(".").replace("Numba", "the compiler"), PLAIN, None


def _unassigned(rule: types.FunctionType) -> str | None:
    return next((n for fn in functions(rule) for n in fn.__code__.co_freevars if n not in values(fn)), None)


def _no_field(game: Game, name: str) -> Explanation:
    names = game.dtype.names or ()
    remedy = f"its fields are {', '.join(names)}; correct the name or add the field to `state`"
    return f"the record has no field '{name}'{suggest(name, names)}", remedy, name


def _kind(compiled: str) -> str:
    """A compiler's type as a person would say it."""
    for pattern, words in (
        (r"(readonly )?(nested)?array", "an array"),
        (r"Literal\[int\]|u?int|uint", "an integer"),
        (r"float", "a float"),
        (r"bool|Literal\[bool\]", "a truth value"),
        (r"Literal\[str\]|unicode", "a string"),
        (r"none", "None"),
        (r"(Uni)?Tuple", "a tuple"),
        (r"record", "the record"),
        (r"(reflected )?list", "a list"),
    ):
        if re.match(pattern, compiled.strip(), re.IGNORECASE):
            return words
    return compiled.strip()


def _no_implementation(game: Game, match: re.Match[str]) -> Explanation:
    name, types_ = match[1], match[2]
    kinds = [_kind(part) for part in re.split(r", (?![^()\[\]]*[)\]])", types_)]
    said = f"'{name.strip('_')}' does not work on {' and '.join(kinds)}"
    if "a string" in kinds:
        return said, "rules know numbers only; names belong in `move_name` and `pieces`", None
    if name in ("lshift", "rshift", "and_", "or_", "xor", "ilshift", "irshift", "iand", "ior", "ixor", "invert"):
        return said, f"{WORDS}; mixed with a signed integer a word becomes a float", None
    if name in ("getitem", "setitem"):
        said = f"{kinds[0]} cannot be indexed with {' and '.join(kinds[1:2])}"
        return said, "check the field's shape in `state` and the number of indices", None
    return said, PLAIN, None


_CAUSES: tuple[tuple[str, Callable[[Game, re.Match[str]], Explanation]], ...] = (
    (r"Field '(\w+)' was not found in record", lambda g, m: _no_field(g, m[1])),
    (
        r"NameError: name '(\w+)' is not defined",
        lambda g, m: (f"the name '{m[1]}' is not defined", "define it before the rule, or correct its spelling", m[1]),
    ),
    (
        r"module '([\w.]+)' has no attribute '(\w+)'",
        lambda g, m: (f"module {m[1]} has no '{m[2]}'", "correct the name", m[2]),
    ),
    (
        r"Unknown attribute '(\w+)' of type ([^\n]+)",
        lambda g, m: (f"{_kind(m[2])} has no '.{m[1]}' in compiled code", PLAIN, m[1]),
    ),
    (
        r"(?:assigned to variable|Untyped global name|Untyped freevar name) '(\w+)'",
        lambda g, m: (
            f"'{m[1]}' is a Python object that compiled code cannot use",
            "make it a number, a tuple of numbers, a numpy array or a plain function",
            m[1],
        ),
    ),
    (
        r"Cannot unify (.+?) and (.+?) for '(\w+)",
        lambda g, m: (f"'{m[3]}' is {_kind(m[1])} on one path and {_kind(m[2])} on another", ONE_TYPE, None),
    ),
    (
        r"unify return type from the following types: ([^\n]+)",
        lambda g, m: ("it returns different types on different paths", ONE_TYPE, None),
    ),
    (
        r"Cannot cast none to (\w+)",
        lambda g, m: (f"None stands where {_kind(m[1])} is needed", "write a number there, on every path", None),
    ),
    (
        r"Cannot cast ([^\n]+?) to (\w+)",
        lambda g, m: (f"{_kind(m[1])} stands where {_kind(m[2])} is needed", ONE_TYPE, None),
    ),
    (
        r"Unsupported array index type (\w+)",
        lambda g, m: (
            f"{_kind(m[1])} is used as an index",
            f"divide with // and convert with np.int64(...); {WORDS}",
            None,
        ),
    ),
    (
        r"Cannot modify readonly array",
        lambda g, m: ("it writes to a constant table", "keep everything that changes in a field of the record", None),
    ),
    (
        r"cannot index .+? with (\d+) indices",
        lambda g, m: (f"{m[1]} indices are too many for this array", "check the field's shape in `state`", None),
    ),
    (
        r'Cannot bind .*? due to "TypeError: ([^"\n]+)"',
        lambda g, m: (
            f"a function is called with the wrong arguments: {m[1]}",
            "pass what its definition asks for",
            None,
        ),
    ),
    (
        r"variable '(\w+)' referenced before assignment|Cannot infer the type of variable '(\w+)",
        lambda g, m: (
            f"the type of '{m[1] or m[2]}' is not known",
            f"set it on every path before it is used; {PLAIN}",
            None,
        ),
    ),
    (
        r"Use of unsupported opcode \((\w+)\)",
        lambda g, m: (f"compiled code has no {m[1].replace('_', ' ').lower()}", PLAIN, None),
    ),
    (
        r"No implementation of function Function\(<[a-z\- ]+ '?([\w.]+)[^\n]*for signature:\s+>>> \w+\(([^\n]*)\)",
        _no_implementation,
    ),
)


# ---- rules that fail while interpreted ----


class Stuck(Exception):
    """Raised inside an interpreted rule that does not return."""


def located(game: Game, rule: str, error: BaseException, line: Sequence[str], timeout: float) -> RuleError:
    """The exception of an interpreted rule as a `RuleError` with the rule's line, the reason and the remedy."""
    where = place(*raised_at(getattr(game, rule), error))
    if isinstance(error, Stuck):
        return broken(game, rule, f"does not return: {STOPPED.format(timeout)}", UNENDING, line, where)
    reason, remedy = _failure(game, rule, error)
    return broken(game, rule, f"fails: {reason}", remedy, line, where)


def raised_at(fn: types.FunctionType, error: BaseException) -> tuple[types.FunctionType, int | None]:
    """The innermost line of a function, or of its author's other functions, that an exception passed."""
    owner = {code: candidate for candidate in functions(fn) for code in codes(candidate)}
    found: tuple[types.FunctionType, int | None] = (fn, None)
    trace = error.__traceback__
    while trace is not None:
        passed = owner.get(trace.tb_frame.f_code)
        if passed is not None and not passed.__module__.startswith("meijin.core."):
            found = passed, trace.tb_lineno
        trace = trace.tb_next
    return found


def _failure(game: Game, rule: str, error: BaseException) -> tuple[str, str]:
    text = str(error)
    if isinstance(error, AttributeError) and (field := re.search(r"'record' object has no attribute '(\w+)'", text)):
        reason, remedy, _ = _no_field(game, field[1])
        return reason, remedy
    if isinstance(error, IndexError):
        if "is negative" in text:
            return text, "test the index before it is used; Python would count from the end, compiled code need not"
        if "too many indices" in text:
            return text, "check the field's shape in `state`, and the number of indices"
        if "valid indices" in text:
            return "an index is not an integer", f"divide with // and convert with np.int64(...); {WORDS}"
        bound = {
            "legal": f"`moves` holds branching={game.branching} entries",
            "odds": f"`moves` and `probs` hold branching={game.branching} entries",
            "score": f"`scores` holds seats={game.seats} entries",
            "heuristic": f"`scores` holds seats={game.seats} entries",
            "cells": f"`cells` holds one entry for each of the {len(game.board.cells)} cells",
            "owners": f"`owners` holds one entry for each of the {len(game.board.cells)} cells",
            "planes": f"`planes` has the shape [num_planes={game.num_planes}, cells={len(game.board.cells)}]",
        }.get(rule)
        hint = f"{bound}; " if bound else ""
        shapes = ", ".join(f"{n}{list(game.dtype[n].shape) or ''}" for n in game.dtype.names or ())
        return text, f"{hint}keep indices inside the arrays, or declare them larger; the record has {shapes}"
    if isinstance(error, OverflowError):
        return text.removeprefix("Python integer "), WIDER
    if isinstance(error, ZeroDivisionError | FloatingPointError):
        if "overflow" in text:
            return "a number grows beyond its type", WIDER
        if "divi" in text or "modulo" in text or "zero" in text:
            return text, "test the divisor before dividing"
        return text, "keep floats finite: test before a division, a root or a logarithm"
    if isinstance(error, ValueError) and "whole number" in text:
        return text, "divide with //, or give the field a float type"
    if isinstance(error, ValueError) and "read-only" in text:
        return "it writes to a constant table", "keep everything that changes in a field of the record"
    if isinstance(error, TypeError) and "whole array" in text:
        return text, "rules allocate nothing, so that a GPU can run them: write a loop over the entries"
    if isinstance(error, AttributeError) and re.search(r"'(int\w*|GuardedArray|GuardedIntegers)' object", text):
        return f"it is not the record that is read here ({text})", "the record is the first argument of every rule"
    if isinstance(error, TypeError) and "not supported for the input types" in text:
        return "a word (uint64) meets a signed integer or a float", WORDS
    if isinstance(error, TypeError) and "NoneType" in text:
        return "None stands where a number is needed", "return and write numbers on every path"
    if isinstance(error, TypeError) and "as an integer" in text:
        return text, "divide with // and convert with int(...)"
    if isinstance(error, NameError):
        return text, "define it before it is used, on every path, or correct its spelling"
    if isinstance(error, RecursionError):
        return "a function calls itself without end", "write it as a loop; compiled rules cannot recurse"
    return f"{type(error).__name__}: {text}", PLAIN
