"""Admission of documents: the fast copy against the walk that locates problems."""

from __future__ import annotations

import random
from collections import OrderedDict
from typing import Any

import pytest

from factorspec_sdk.errors import FactorspecError
from factorspec_sdk.wire.limits import Limits
from factorspec_sdk.wire.load import _Admission, _plain, load_document
from factorspec_sdk.wire.problems import Problems

SMALL = Limits(document_bytes=300, depth=6, nodes=14, table_rows=5, key_chars=8, text_chars=12)
ODD: tuple[Any, ...] = (
    "a", "é", "\ud800", "x" * 13, 0, -1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 1.5, float("nan"),
    float("inf"), True, None, (), (1,), b"", {1: 2}, {"k" * 9: 0}, {"\udfff": 1}, OrderedDict(a=1), object(),
    {"x-factorspec": {"tables": {"t": [["a", 1]] * 3}}}, {"x-factorspec": {"tables": [1]}},
)  # fmt: skip


def value(source: random.Random, depth: int) -> Any:
    if depth and source.random() < 0.6:
        count = source.randint(0, 4)
        if source.random() < 0.5:
            return [value(source, depth - 1) for _ in range(count)]
        return {f"k{at}": value(source, depth - 1) for at in range(count)}
    return source.choice(ODD) if source.random() < 0.1 else source.choice(("text", 7, True, None, 0.5))


def admitted(document: Any, limits: Limits) -> Any:
    """What the slow walk makes of a document, or the error."""
    problems = Problems(limits)
    try:
        found = _Admission(limits, problems).admit(document, "", 0)
        problems.raise_if_any()
    except FactorspecError as error:
        return error
    return found


@pytest.mark.parametrize("limits", [SMALL, Limits()], ids=["small", "usual"])
def test_what_is_copied_at_once_is_what_the_slow_walk_admits(limits: Limits) -> None:
    source, copied = random.Random(3), 0
    for _ in range(1500):
        document = {"a": value(source, source.randint(0, 7))}
        expected, found = admitted(document, limits), _plain(document, limits)
        if isinstance(expected, FactorspecError):
            assert found is None
        elif found is not None:
            assert repr(found) == repr(expected)
            copied += 1
    assert copied > 300


def test_the_copy_shares_nothing_that_can_change() -> None:
    document: dict[str, Any] = {"a": [{"b": []}]}
    found = load_document(document, Limits())
    assert found == document
    document["a"][0]["b"].append(1)
    assert found == {"a": [{"b": []}]}
