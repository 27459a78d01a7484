"""The byte alphabet of byte-level BPE: every byte is one printable character.

GPT-2 introduced it and all byte-level tokenizers share it. Printable Latin-1 bytes stand for themselves;
the other 68 bytes are the characters from U+0100 on, in order (a space is ``Ġ``, a newline ``Ċ``).
"""

from __future__ import annotations

from codecs import charmap_decode
from functools import cache


@cache
def characters() -> tuple[str, ...]:
    """The character of each byte, indexed by the byte."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    table: list[str] = []
    shifted = 0x100
    for byte in range(256):
        if byte in printable:
            table.append(chr(byte))
        else:
            table.append(chr(shifted))
            shifted += 1
    return tuple(table)


@cache
def _alphabet() -> str:
    return "".join(characters())


@cache
def _bytes_of_characters() -> dict[str, int]:
    return {character: byte for byte, character in enumerate(characters())}


def to_alphabet(data: bytes) -> str:
    """The bytes as a string of the byte alphabet, one character a byte."""
    return charmap_decode(data, "strict", _alphabet())[0]


def from_alphabet(token: str) -> bytes | None:
    """The bytes that a token's string stands for, or None if it is no string of the byte alphabet."""
    table = _bytes_of_characters()
    try:
        return bytes([table[character] for character in token])
    except KeyError:
        return None
