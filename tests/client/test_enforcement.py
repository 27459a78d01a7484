"""The echo of tools' parameters; that of a record is tested where records are asked for."""

from __future__ import annotations

import pytest

from factorspec_sdk.client import UnenforcedAnswer
from factorspec_sdk.client.enforcement import confirm_tools
from factorspec_sdk.client.transport import JsonObject


def told(**hashes: str) -> JsonObject:
    return {"choices": [], "factorspec": {"tools": {**hashes}}}


def test_what_is_echoed_is_enforced() -> None:
    confirm_tools(told(book="a", pay="b", other="c"), {"book": "a", "pay": "b"})
    confirm_tools({}, {})


@pytest.mark.parametrize("answer", [{}, {"factorspec": None}, {"factorspec": {"tools": []}}, told(pay="b")])
def test_silence_counts_as_a_no(answer: JsonObject) -> None:
    with pytest.raises(UnenforcedAnswer, match="parameters of 'book', so calls") as caught:
        confirm_tools(answer, {"book": "a"})
    assert caught.value.raw is answer


def test_another_spec_is_told() -> None:
    with pytest.raises(UnenforcedAnswer, match=r"other parameters of 'book' \('x'\); .* same version"):
        confirm_tools(told(book="x"), {"book": "a"})
