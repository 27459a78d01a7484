"""Free numbers stay finite: whatever is drawn, Python and Pydantic read it back."""

from __future__ import annotations

import math
import random

import pytest
from pydantic import BaseModel

import factorspec_sdk as fs
from factorspec_sdk.decoding import Decoder
from factorspec_sdk.decoding.number_rules import with_bounded_numbers
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Canonical


class Reading(BaseModel):
    value: float
    count: int
    more: list[float]


def test_random_free_numbers_are_finite() -> None:
    canonical = Canonical(vocabulary_like("smollm2"))
    compiled = compile_spec(fs.spec(Reading))
    decoder = Decoder(compiled.program, compiled.feasibility, canonical.vocabulary, canonical=canonical)
    source = random.Random(0)
    for _ in range(60):
        session = decoder.session(source.choice([40, 80, 200]))
        while session.state == "open":
            session.commit([source.choice(list(session.allowed().ids()))])
        found = Reading.model_validate_json(session.text)
        assert all(math.isfinite(value) for value in [found.value, *found.more])
        assert abs(found.count) < 10**19


@pytest.mark.parametrize("digits", ["1234567890123456789", "-0.5e-12", "3", "1E+02"])
def test_ordinary_numbers_are_reachable(digits: str) -> None:
    canonical = Canonical(vocabulary_like("smollm2"))
    compiled = compile_spec(fs.spec(Reading))
    decoder = Decoder(compiled.program, compiled.feasibility, canonical.vocabulary, canonical=canonical)
    session = decoder.session()
    count = digits if digits.isdigit() else "7"
    value = "0.25" if digits.isdigit() else digits
    ids = canonical.vocabulary.encode(f'{{"value": {value}, "count": {count}, "more": []}}')
    assert session.commit(ids) == len(ids)
    assert session.state == "complete"


def test_unknown_number_rules_are_not_passed_over() -> None:
    assert with_bounded_numbers('root ::= basic_integer\nbasic_integer ::= ("1")') is None
    assert with_bounded_numbers('root ::= ("a")') == 'root ::= ("a")'


def test_numbers_of_older_releases_are_bounded_too() -> None:
    rules = {
        "basic_integer": '(("0") | (basic_integer_1 [1-9] [0-9]*))',
        "basic_number": "((basic_number_1 basic_number_7 basic_number_3 basic_number_6))",
        "basic_number_2": "(([0-9] basic_number_2) | ([0-9]))",
        "basic_number_3": '("" | ("." basic_number_2))',
        "basic_number_5": "(([0-9] basic_number_5) | ([0-9]))",
        "basic_number_6": '("" | ([eE] basic_number_4 basic_number_5))',
        "basic_number_7": '(("0") | ([1-9] [0-9]*))',
    }
    grammar = "\n".join(f"{name} ::= {body}" for name, body in rules.items())
    bounded = with_bounded_numbers(grammar)
    assert bounded is not None
    assert 'basic_number_3 ::= ("" | ("." [0-9]{1,17}))' in bounded
    assert 'basic_number_6 ::= ("" | ([eE] basic_number_4 [0-9]{1,2}))' in bounded
    assert 'basic_number_7 ::= (("0") | ([1-9] [0-9]{0,16}))' in bounded
    assert with_bounded_numbers(grammar.replace("[eE] basic", "[e] basic")) is None
