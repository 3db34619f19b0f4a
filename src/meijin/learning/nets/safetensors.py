"""Safetensors files with NumPy alone: a length, a JSON header, and the bytes of all tensors."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "<u1", "BOOL": "|b1",
}  # fmt: skip
LENGTH = 8  # bytes that say how long the header is
LONGEST = 16 * 2**20  # bytes of a header


class NotSafetensors(ValueError):
    """The file is damaged or of another kind; the text says what is wrong."""


def read(path: Path) -> tuple[dict[str, Array], dict[str, str]]:
    """(tensors, metadata) of a file. The arrays cannot be written to."""
    data = path.read_bytes()
    size = int.from_bytes(data[:LENGTH], "little")
    if len(data) < LENGTH or size > min(LONGEST, len(data) - LENGTH):
        raise NotSafetensors("it has no header, or not all of it")
    body = memoryview(data)[LENGTH + size :]
    try:
        header = json.loads(data[LENGTH : LENGTH + size])
        metadata = header.pop("__metadata__", {})
        tensors = {str(name): _tensor(about, body) for name, about in header.items()}
        ends = sorted((about["data_offsets"] for about in header.values()), key=tuple)
        described = {str(key): str(value) for key, value in metadata.items()}
    except NotSafetensors:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
        raise NotSafetensors("its header cannot be read") from None
    # One after the other without a gap, as the format demands: a file cut short is found out here.
    if [0, *(end for _, end in ends)] != [*(begin for begin, _ in ends), len(body)]:
        raise NotSafetensors(f"its tensors do not fill the {len(body)} bytes it has for them")
    return tensors, described


def _tensor(about: dict[str, Any], body: memoryview) -> Array:
    shape, (begin, end) = tuple(about["shape"]), about["data_offsets"]
    if about["dtype"] not in DTYPES:
        raise NotSafetensors(f"numbers of type {about['dtype']} are not known here")
    dtype = np.dtype(DTYPES[about["dtype"]])
    if min(begin, end, *shape, 0) < 0 or end > len(body) or end - begin != math.prod(shape) * dtype.itemsize:
        raise NotSafetensors("a tensor is larger or smaller than its shape")
    return np.frombuffer(body[begin:end], dtype).reshape(shape)


def pack(tensors: Mapping[str, Array], metadata: Mapping[str, str]) -> bytes:
    """The bytes of a file. The widest numbers come first, so that all are aligned."""
    names = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    body, begin = [], 0
    for name, tensor in sorted(tensors.items(), key=lambda item: (-item[1].itemsize, item[0])):
        end = begin + tensor.nbytes
        header[name] = {"dtype": names[tensor.dtype], "shape": tensor.shape, "data_offsets": (begin, end)}
        body.append(np.ascontiguousarray(tensor).tobytes())
        begin = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % LENGTH)
    return b"".join((len(text).to_bytes(LENGTH, "little"), text, *body))
