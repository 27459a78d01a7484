"""How tokens spell bytes: by the byte alphabet (``alphabet.py``), or with marks for spaces (``marks.py``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from factorspec_sdk.errors import Problem
from factorspec_sdk.tokens.alphabet import from_alphabet, to_alphabet

if TYPE_CHECKING:
    from factorspec_sdk.tokens.definition import Definition


class Spelling(Protocol):
    """The names of tokens in the model, and the bytes that they stand for."""

    def bytes_of(self, name: str) -> bytes | None:
        """The bytes of a token of the model, or None if it is no such name."""

    def spelled(self, data: bytes) -> str:
        """A text, or a part of one, as the model's merges see it."""

    def names_of(self, data: bytes) -> Sequence[str]:
        """What a token with these bytes may be called; the one that BPE prefers comes first."""


class ByteLevel:
    """Each byte is a character of the byte alphabet."""

    def bytes_of(self, name: str) -> bytes | None:
        """None if some character is not of the alphabet."""
        return from_alphabet(name)

    def spelled(self, data: bytes) -> str:
        """May begin and end inside a character."""
        return to_alphabet(data)

    def names_of(self, data: bytes) -> Sequence[str]:
        """There is but one."""
        return (to_alphabet(data),)


BYTE_LEVEL = ByteLevel()

#: highest id of a token, and of a column of logits: 60 times what there is; tables have a place for each
MAX_ID = (1 << 24) - 1


def id_problems(highest: int) -> list[Problem]:
    """What is wrong with the highest id."""
    return [Problem("model.vocab", f"an id above {MAX_ID}", repr(highest))] if highest > MAX_ID else []


def read_table(vocab: Mapping[str, int], definition: Definition) -> tuple[list[bytes], list[Problem]]:
    """The bytes of each id, of which none is too high, and what is wrong with them."""
    added = {token.id: token.content for token in definition.added}
    table = [b""] * (1 + max([*vocab.values(), *added], default=-1))
    bytes_of = definition.spelling.bytes_of
    problems: list[Problem] = []
    for token, token_id in vocab.items():
        data = bytes_of(token)
        if data is not None:
            table[token_id] = data
        elif token_id not in added and not problems:
            problems.append(Problem("model.vocab", "a token is no string of the byte alphabet", repr(token)))
    for token_id, content in added.items():
        table[token_id] = content.encode()
    return table, problems
