"""How the server and its workers talk: messages of MessagePack, each after its length."""

from __future__ import annotations

import asyncio
import struct
from typing import Any, BinaryIO

import msgspec

_HEAD = struct.Struct("<I")


def pack(message: Any) -> bytes:
    body = msgspec.msgpack.encode(message)
    return _HEAD.pack(len(body)) + body


def read(file: BinaryIO) -> Any:
    """The next message of a pipe; EOFError at its end."""
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        raise EOFError
    body = file.read(_HEAD.unpack(head)[0])
    return msgspec.msgpack.decode(body)


async def receive(stream: asyncio.StreamReader) -> Any:
    """The next message of a stream; `IncompleteReadError` at its end."""
    (size,) = _HEAD.unpack(await stream.readexactly(_HEAD.size))
    return msgspec.msgpack.decode(await stream.readexactly(size))
