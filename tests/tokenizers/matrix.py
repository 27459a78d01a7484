"""The tokenizers of the matrix: real ones by name, and the small trained ones."""

from __future__ import annotations

from factorspec_sdk.testing import byte_vocabulary, vocabulary_like
from factorspec_sdk.testing.tokenizers import ALL
from factorspec_sdk.tokens import Vocabulary
from tests.tokenizers import real

TRAINED = ("bytes", *(f"{name}-like" for name in ALL))
NAMES = (*real.REAL, *TRAINED)
#: wide ranges of numbers are not walked along their digits
LISTED = frozenset({"unfamiliar-like"})


def missing(name: str) -> str | None:
    """Why a tokenizer cannot be used on this machine, or None."""
    return None if name in TRAINED else real.missing(name)


def vocabulary(name: str) -> Vocabulary:
    """The vocabulary of one of ``NAMES``, with its model's logit width and end tokens."""
    if name == "bytes":
        return byte_vocabulary()
    return vocabulary_like(name.removesuffix("-like")) if name in TRAINED else real.vocabulary(name)
