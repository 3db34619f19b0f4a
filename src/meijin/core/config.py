"""Configs: TOML, JSON or plain values, read strictly into a dataclass or a `msgspec.Struct`.

    plan = load(Plan, "cup.toml")
    plan = convert(Plan, {"name": "cup", "rounds": 3}, "config")

The annotations of the class say what is allowed; `msgspec.Meta` adds bounds: `rounds: Annotated[int, Meta(ge=1)] = 10`.
A mistake raises `BadParameter`, which names the file, the place, the value and what is expected:

    cup.toml: agents[2].limit.depth = 0: must be at least 1
    cup.toml: agents[2]: unknown key 'nmae'; did you mean 'name'?

A `ValueError` from `__post_init__` is reported with its place. Numbers must be finite, and integers fit into 64 bits.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import msgspec
from msgspec import inspect

from meijin.core.errors import BadParameter, MeijinError, suggest

T = TypeVar("T")

MAX_BYTES = 1 << 20  # of a file
_BOUNDS = {">=": "at least", ">": "above", "<=": "at most", "<": "below"}
_KINDS = {"int": "a whole number", "float": "a number", "str": "a string", "bool": "true or false", "array": "a list"}
_OBJECTS = (inspect.StructType, inspect.DataclassType)
_NONE: Mapping[str, str] = {}


def load(kind: type[T], path: str | Path, renamed: Mapping[str, str] = _NONE) -> T:
    """The config of a file: JSON if its name ends in .json, else TOML. `renamed`: old key -> new, for errors."""
    file = Path(path)
    return parse(kind, read_text(file), str(path), "json" if file.suffix == ".json" else "toml", renamed)


def read_text(path: Path, wanted: str = "a config file", most: int = MAX_BYTES) -> str:
    """The text of a file that may not exceed a number of bytes; `wanted` completes error messages."""
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
        if len(data) <= most:
            return data.decode("utf-8-sig")
        problem: object = f"it is larger than {most >> 20} MiB"
    except UnicodeDecodeError as error:
        problem = f"not valid UTF-8 (byte {error.start})"
    except (OSError, ValueError) as error:  # ValueError: a path that no file can have
        problem = getattr(error, "strerror", None) or error
    raise BadParameter(f"cannot read '{path}': {problem}; give the path of {wanted}")


def parse(kind: type[T], text: str, where: str, syntax: str = "toml", renamed: Mapping[str, str] = _NONE) -> T:
    """The config of a TOML or JSON text; `where` begins every error message."""
    try:
        values = decode(text, syntax)
    except BadParameter as error:
        raise BadParameter(f"{where}: {error}") from None
    return convert(kind, values, where, renamed)


def decode(text: str | bytes, syntax: str = "json") -> Any:
    """The plain values of a text in JSON, or in TOML."""
    try:
        return tomllib.loads(str(text)) if syntax == "toml" else msgspec.json.decode(text)
    except RecursionError:
        raise BadParameter("nested too deeply") from None
    except (ValueError, msgspec.MsgspecError) as error:  # not TOML or JSON, or an integer of thousands of digits
        problem = str(error).removeprefix("JSON is malformed: ")
        raise BadParameter(f"not valid {syntax.upper()}: {problem}") from None


def convert(kind: type[T], values: Any, where: str = "config", renamed: Mapping[str, str] = _NONE) -> T:
    """The config of plain values: dictionaries, lists, strings and numbers."""
    for path, value, info in _described(kind, values):
        if problem := _refused(value, info, renamed):
            raise BadParameter(f"{where}: {_place(path)}{problem}")
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise BadParameter(f"{where}: {explain(error, kind, values)}") from None
    except MeijinError as error:  # raised by `__post_init__`
        raise type(error)(f"{where}: {error}") from None


def check(instance: Any, where: str) -> None:
    """Raise unless the fields of a dataclass fit their annotations: for `__post_init__`."""
    kind: Any = type(instance)
    convert(_shape(kind), {f.name: getattr(instance, f.name) for f in fields(instance)}, where)


@lru_cache
def _shape(kind: Any) -> type[msgspec.Struct]:
    hints = get_type_hints(kind, include_extras=True)
    return msgspec.defstruct(kind.__name__, [(field.name, hints[field.name]) for field in fields(kind)])


def explain(error: msgspec.ValidationError, kind: Any, values: Any) -> str:
    """What msgspec found wrong in these values, in plain words: the place, the value and what is expected."""
    found = re.fullmatch(r"(.*) - at `(?:key` in `)?([^`]*)`", str(error), re.DOTALL)
    problem, path = found.groups() if found else (str(error), "$")
    value, info = next(((v, i) for p, v, i in _described(kind, values) if p == path), (None, None))
    complete = error.__cause__ is not None or problem.startswith("Object")  # it names the value or key itself
    shown = "" if complete or info is None else f" = {short(value)}"
    return f"{_place(path + shown)}{_explained(problem, value, info)}"


def short(value: object, most: int = 60) -> str:
    """A value for an error message: printable, on one line and not too long."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deeply, or a number of thousands of digits
        text = f"a {type(value).__name__}"
    return text if len(text) <= most else f"{text[: most - 3]}..."


_type_info = lru_cache(inspect.type_info)


def _described(kind: Any, values: Any) -> Iterator[tuple[str, Any, inspect.Type]]:
    return _places(_type_info(kind), values, "$")


def _places(info: inspect.Type, value: Any, path: str) -> Iterator[tuple[str, Any, inspect.Type]]:
    """(path, value, type) of everything that the type describes, the outer before the inner."""
    for option in info.types if isinstance(info, inspect.UnionType) else (info,):
        inner: list[tuple[inspect.Type, Any, str]] = []
        if isinstance(option, _OBJECTS) and isinstance(value, dict):
            yield path, value, option
            inner = [
                (f.type, value[f.encode_name], f".{f.encode_name}") for f in option.fields if f.encode_name in value
            ]
        elif isinstance(option, inspect.ListType | inspect.VarTupleType) and isinstance(value, list | tuple):
            inner = [(option.item_type, item, f"[{k}]") for k, item in enumerate(value)]
        elif isinstance(option, inspect.TupleType) and isinstance(value, list | tuple):
            inner = [(t, item, f"[{k}]") for k, (t, item) in enumerate(zip(option.item_types, value, strict=False))]
        elif isinstance(option, inspect.DictType) and isinstance(value, dict):
            inner = [(option.value_type, item, f".{key}") for key, item in value.items()]
        for kind, item, step in inner:
            yield from _places(kind, item, path + step)
    yield path, value, info


def _refused(value: Any, info: inspect.Type, renamed: Mapping[str, str]) -> str:
    """What is wrong with a value that msgspec would let pass: unknown keys, nan, infinities, more than 64 bits."""
    if isinstance(info, _OBJECTS) and isinstance(value, dict):
        unknown = [key for key in value if key not in _keys(info)]
        return _unknown(unknown[0], info, renamed) if unknown else ""
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value} is not a finite number"
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        return f"{short(value)} does not fit into 64 bits"
    return ""


def _unknown(key: Any, info: inspect.StructType | inspect.DataclassType, renamed: Mapping[str, str] = _NONE) -> str:
    known = _keys(info)
    nested = [f"{field.encode_name}.{key}" for field in info.fields if key in _keys(field.type)]
    near = suggest(str(key), known) or (f"; did you mean '{nested[0]}'?" if nested else "")
    hint = f"; it is now called '{renamed[key]}'" if key in renamed else near or f"; known: {', '.join(known)}"
    return f"unknown key {short(key)}{hint}"


def _keys(info: inspect.Type) -> list[str]:
    return [field.encode_name for field in info.fields] if isinstance(info, _OBJECTS) else []


def _place(path: str) -> str:
    path = path.removeprefix("$").removeprefix(".").removeprefix(" = ")
    return f"{path}: " if path else ""


def _explained(problem: str, value: Any, info: inspect.Type | None) -> str:
    """What msgspec says, in plain words."""
    if missing := re.fullmatch(r"Object missing required field `(.+)`", problem):
        return f"missing key '{missing[1]}'"
    if (unknown := re.fullmatch(r"Object contains unknown field `(.+)`", problem)) and isinstance(info, _OBJECTS):
        return _unknown(unknown[1], info)
    options = info.types if isinstance(info, inspect.UnionType) else (info,)
    known = [str(word) for option in options if isinstance(option, inspect.LiteralType) for word in option.values]
    if problem.startswith("Invalid enum value") and known:
        return f"choose from {', '.join(known)}{suggest(str(value), known)}"
    if bound := re.fullmatch(r"Expected `\w+` (>=|>|<=|<) (\S+)", problem):
        return f"must be {_BOUNDS[bound[1]]} {bound[2].removesuffix('.0')}"
    if size := re.fullmatch(r"Expected `(\w+)` of length (>=|<=)? ?(\d+).*", problem):
        count = f"{_BOUNDS[size[2]]} {size[3]}" if size[2] else size[3]
        unit = "characters" if size[1] == "str" else "items"
        return "must not be empty" if size[0].endswith(">= 1") else f"must have {count} {unit}"
    if "matching regex" in problem:
        return "has characters that are not allowed here"
    if kinds := re.fullmatch(r"Expected `([\w |]+)`, got .*", problem):
        words = [_KINDS.get(word, "a table") for word in kinds[1].split(" | ") if word != "null"]
        return f"must be {' or '.join(words)}"
    return problem
