"""Messages on a stream socket: a line of JSON and a body of bytes, their lengths in front.

header bytes, body bytes    two uint32, little-endian
header                      JSON object
body                        a document's text, a mask row, or nothing
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any

_LENGTHS = struct.Struct("<II")
#: longer ones are no messages
_MOST_BYTES = 1 << 28

Message = tuple[dict[str, Any], bytes]


class BrokenMessage(Exception):
    """What came is no message."""


def packed(header: dict[str, Any], body: bytes = b"") -> bytes:
    """A message as bytes."""
    text = json.dumps(header).encode()
    return _LENGTHS.pack(len(text), len(body)) + text + body


class Unpacker:
    """Takes bytes as they come, gives the messages that are whole."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that these bytes complete.

        Raises:
            BrokenMessage: they are none.
        """
        self._data += data
        while len(self._data) >= _LENGTHS.size:
            header, body = _LENGTHS.unpack_from(self._data)
            if header + body > _MOST_BYTES:
                raise BrokenMessage(f"a message of {header} and {body} bytes")
            start, end = _LENGTHS.size, _LENGTHS.size + header + body
            if len(self._data) < end:
                return
            try:
                read = json.loads(self._data[start : start + header])
            except ValueError as error:
                raise BrokenMessage(str(error)) from error
            whole = bytes(self._data[start + header : end])
            del self._data[:end]
            yield read, whole
