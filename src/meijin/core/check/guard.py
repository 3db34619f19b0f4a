"""Records and arrays for interpreted rules that refuse what compiled code would do silently.

Python counts a negative index from the end, and numpy drops what does not fit when a number is stored in a narrower
type. Compiled rules may do the same, or read and write outside the arrays. Here both stop at their line, and so do
operations on whole arrays, which no GPU has.
"""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from meijin.core.check.lint import plain, values

_get: Any = np.ndarray.__getitem__
_set: Any = np.ndarray.__setitem__
_NOT_NUMBERS = {slice, type(...), type(None), np.ndarray}


def _refuse_negative(index: Any) -> None:
    for part in index if index.__class__ is tuple else (index,):
        if part.__class__ not in _NOT_NUMBERS and part < 0:
            raise IndexError(f"index {part} is negative")


class GuardedArray(np.ndarray[Any, Any]):
    """An array without negative indices."""

    # Rules spend most of their time here, hence the tests written out.
    def __getitem__(self, index: Any) -> Any:
        if index.__class__ is tuple or index.__class__ in _NOT_NUMBERS or index < 0:
            _refuse_negative(index)
        return _get(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        if index.__class__ is tuple or index.__class__ in _NOT_NUMBERS or index < 0:
            _refuse_negative(index)
        _set(self, index, value)

    def __array_ufunc__(self, ufunc: Any, method: Any, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__":
            raise TypeError(f"'{ufunc.__name__}' of a whole array allocates memory")
        return super().__array_ufunc__(ufunc, method, *inputs, **kwargs)


class GuardedIntegers(GuardedArray):
    """An array of integers that also refuses numbers it cannot hold."""

    def __setitem__(self, index: Any, value: Any) -> None:
        if index.__class__ is tuple or index.__class__ in _NOT_NUMBERS or index < 0:
            _refuse_negative(index)
        _set(self, index, value)
        stored = _get(self, index)
        if stored.__class__ is not self.__class__ and stored != value:
            if value != value or int(value) != value:
                raise ValueError(f"{value} is not a whole number, as {self.dtype} needs")
            raise OverflowError(f"{value} out of bounds for {self.dtype}")


class GuardedTuple(tuple[Any, ...]):
    """A tuple without negative indices."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        _refuse_negative(index)
        return tuple.__getitem__(self, index)


def guard(array: Any) -> Any:
    """A view of an array that refuses negative indices and numbers it cannot hold; words (uint64) may wrap."""
    if array.dtype.kind not in "iufb":
        return array
    return array.view(GuardedArray if array.dtype.kind == "f" or array.dtype == np.uint64 else GuardedIntegers)


# ---- rules ----


def guarded_rule(rule: types.FunctionType, made: dict[types.FunctionType, types.FunctionType]) -> types.FunctionType:
    """A copy of a rule and of the functions it reaches, whose constant tables are guarded and read-only.

    `made` holds the copies made so far. They share the code of the originals, so errors have the same lines.
    """
    if rule not in made:
        cells = tuple(types.CellType() for _ in rule.__closure__ or ())
        space = dict(rule.__globals__)
        copy = made[rule] = types.FunctionType(rule.__code__, space, rule.__name__, rule.__defaults__, cells)
        copy.__kwdefaults__ = rule.__kwdefaults__
        closed = dict(zip(rule.__code__.co_freevars, cells, strict=True))
        for name, value in values(rule).items():
            if name in closed:
                closed[name].cell_contents = _constant(value, made)
            else:
                space[name] = _constant(value, made)
    return made[rule]


def _constant(value: Any, made: dict[types.FunctionType, types.FunctionType]) -> Any:
    value = plain(value)
    if isinstance(value, types.FunctionType):
        return guarded_rule(value, made)
    if isinstance(value, np.ndarray):
        table = guard(value.view())
        table.flags.writeable = False
        return table
    if isinstance(value, tuple):
        items = [_constant(item, made) for item in value]
        return value._make(items) if hasattr(value, "_make") else GuardedTuple(items)
    return value


# ---- records ----


def record_type(dtype: np.dtype[Any]) -> type[Any]:
    """A class of records with the fields of `dtype`: `record_type(dtype)(states)` is a view of `states[0]`.

    In plain Python its fields are read several times as fast as those of a numpy record.
    """
    names = dtype.names or ()
    fields = {name: _array_field(name) if dtype[name].shape else _number_field(name) for name in names}

    def __init__(self: Any, states: Any) -> None:
        for name in names:
            setattr(self, f"_{name}_", guard(states[name][0] if dtype[name].shape else states[name]))

    def __getitem__(self: Any, name: str) -> Any:
        return getattr(self, name)

    def __setitem__(self: Any, name: str, value: Any) -> None:
        setattr(self, name, value)

    methods = {"__init__": __init__, "__getitem__": __getitem__, "__setitem__": __setitem__}
    return type("record", (), {"__slots__": tuple(f"_{name}_" for name in names), **methods, **fields})


def _number_field(name: str) -> property:
    slot = f"_{name}_"

    def read(self: Any) -> Any:
        return _get(getattr(self, slot), 0)

    def write(self: Any, value: Any) -> None:
        getattr(self, slot)[0] = value

    return property(read, write)


def _array_field(name: str) -> property:
    slot = f"_{name}_"

    def read(self: Any) -> Any:
        return getattr(self, slot)

    def write(self: Any, value: Any) -> None:
        getattr(self, slot)[...] = value

    return property(read, write)
