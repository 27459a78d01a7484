"""Domains: index, value, code and text agree; JSON's types are kept apart."""

from __future__ import annotations

import json

import pytest

from factorspec_sdk.fields.domains import Domain, EnumDomain, IntRange, StepDomain
from factorspec_sdk.fields.paths import PathSyntaxError, parse_path
from factorspec_sdk.fields.text import json_text

DOMAINS: list[Domain] = [
    IntRange(-3, 9, 4),
    StepDomain("date", IntRange(738_000, 738_030, 10)),
    StepDomain("time", IntRange(0, 86_399, 1_800)),
    EnumDomain((1, True, "1", None, 'q"\\', "é", " x ")),
    EnumDomain(("2024-02-29", None), "date"),
]


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_index_value_code_and_text_agree(domain: Domain) -> None:
    for index in range(len(domain)):
        value = domain.value(index)
        assert domain.index(value) == index
        assert domain.index_of_code(domain.code(index)) == index
        assert json.loads(domain.text(index)) == value
    assert domain.index({}) is None
    assert domain.index("nothing") is None


def test_one_and_true_are_different_values() -> None:
    domain = EnumDomain((1, True))
    assert (domain.index(1), domain.index(True)) == (0, 1)
    assert IntRange(0, 5).index(True) is None
    assert IntRange(0, 5).index(3.0) == 3


def test_a_date_in_another_spelling_is_no_value() -> None:
    domain = StepDomain("date", IntRange(738_000, 738_100))
    assert domain.index(domain.value(3).replace("-", "")) is None


@pytest.mark.parametrize(
    "text", ["a", "a.b", "stops[*].city", "x[-1].y[0]", "$['odd name'].b", "$['it\\'s']"]
)
def test_paths_keep_their_spelling(text: str) -> None:
    path = parse_path(text)
    assert parse_path(str(path)) == path


@pytest.mark.parametrize("text", ["a..b", "a[", "a[1.5]", "a b", "[x]", "a.[*]", "a[**]"])
def test_a_bad_path_names_the_place(text: str) -> None:
    with pytest.raises(PathSyntaxError, match="cannot read"):
        parse_path(text)


def test_lone_surrogates_are_escaped_so_that_text_is_utf8() -> None:
    assert json_text("a\ud800é") == '"a\\ud800é"'
