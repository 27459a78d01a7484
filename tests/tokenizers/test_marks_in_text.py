"""Canonical text with combining marks, under a normaliser that orders and joins them."""

from __future__ import annotations

import pytest

from factorspec_sdk.tokens import Canonical
from tests.decoding.test_holes import decoder_of, note_program
from tests.tokenizers.real import missing, vocabulary


@pytest.mark.skipif(missing("qwen3") is not None, reason=str(missing("qwen3")))
def test_marks_in_their_normal_order_are_admitted() -> None:
    """Some marks would change places with those before: that says nothing about those that stay."""
    canonical = Canonical(vocabulary("qwen3"))
    decoder = decoder_of(canonical, note_program())
    for marks in ("\u0316\u0316\u0316", "\u0321\u0316\u0301", "\u0345\u0345"):
        ids = canonical.vocabulary.encode(f'{{"note": "q{marks}b", "day": "Mon"}}')
        session = decoder.session(canonical_text=True)
        assert session.commit(ids) == len(ids), ascii(marks)
