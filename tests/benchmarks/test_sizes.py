"""The sizes benchmark: its cases are found, and their checkers find faults."""

from __future__ import annotations

from typing import Any

import pytest

from tests.benchmarks import sizes_enum_5000
from tests.benchmarks.size_case import SizeCase
from tests.benchmarks.sizes import case_named, names

SELECTION: dict[str, Any] = {
    "positions": [{"article": name} for name in sizes_enum_5000.articles()[: sizes_enum_5000.NUM_ITEMS]]
}


@pytest.mark.parametrize("name", names())
def test_every_file_makes_a_case_of_its_name(name: str) -> None:
    case = case_named(name)
    assert isinstance(case, SizeCase)
    assert case.name == name


def test_the_checker_of_the_large_enum_finds_repeats_and_strangers() -> None:
    assert sizes_enum_5000.check(SELECTION) == []
    assert len(set(sizes_enum_5000.articles())) == sizes_enum_5000.NUM_ARTICLES
    broken = {"positions": [*SELECTION["positions"][:-1], SELECTION["positions"][0]]}
    assert sizes_enum_5000.check(broken) == ["an article stands twice"]
    assert sizes_enum_5000.check({"positions": [{"article": "no such thing"}]}) != []
