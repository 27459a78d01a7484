"""The walk over decimals, dates and times must agree with listing every value."""

from __future__ import annotations

import random

import pytest

from factorspec_sdk.fields import DecimalDomain, Domain, IndexSet, IntRange, StepDomain
from factorspec_sdk.fields.forms import form_of
from factorspec_sdk.tokens import Canonical, Held, NumberState, SteppedValues, supports_form, walk_of
from tests.tokens.conftest import canonical_like
from tests.tokens.test_numbers import Trie, trie_of


def text_tokens(canonical: Canonical, held: Held, domain: Domain, index: int) -> tuple[int, ...]:
    """Tokens of a value's text, without those of its closing quote, as they are before a comma."""
    text = domain.text(index)
    closed = text[:-1] if text.endswith('"') else text
    before = canonical.encode_piece(held.text + closed)
    assert canonical.vocabulary.encode_inside(f"{held.text}{text},")[: len(before)] == before
    return before[held.emitted :]


def compare(canonical: Canonical, held: Held, domain: Domain, feasible: IndexSet) -> int:
    """Walk all tokens that are allowed; compare with the trie of the listed texts. The number of nodes."""
    form, codes = form_of(domain), domain.stride
    assert form is not None and codes is not None
    assert supports_form(canonical, form, [codes.lo, codes.hi])
    walk = walk_of(canonical, held, form, codes.lo, codes.hi)
    values = SteppedValues(codes.lo, codes.step, len(codes), feasible)
    ends = {text_tokens(canonical, held, domain, index): index for index in feasible}
    nodes = 0
    todo: list[tuple[tuple[int, ...], NumberState, Trie]] = [((), walk.start(), trie_of(ends))]
    while todo:
        nodes += 1
        given, state, node = todo.pop()
        assert walk.allowed(state, values) == set(node), (given, state, canonical.vocabulary.decode(given))
        code = walk.value(state)
        at = None if code is None else codes.index_of_code(code)
        if at is not None and at in feasible:
            assert ends[given] == at
        else:
            assert given not in ends
        for index in list(feasible)[:: max(1, len(feasible) // 5)]:
            rest = walk.rest(state, codes.code(index))
            tokens = text_tokens(canonical, held, domain, index)
            assert rest == (tokens[len(given) :] if tokens[: len(given)] == given else None)
        assert all(codes.index_of_code(found) in feasible for found in walk.shortest(state, values))
        for token, child in node.items():
            after = walk.advance(state, token)
            assert after is not None
            todo.append(((*given, token), after, child))
    return nodes


def random_domain(source: random.Random) -> Domain:
    size, step = source.choice((1, 3, 40, 700)), source.choice((1, 1, 1, 5, 7, 25))
    if source.random() < 0.6:
        places = source.choice((0, 1, 2, 2, 3, 4, 7))
        lo = source.choice((0, 1, -3, -120, 95, 990, 9_990, 99_990, -100_040, 1_234_567))
        return DecimalDomain(places, IntRange(lo, lo + step * (size - 1), step), source.random() < 0.7)
    if source.random() < 0.5:
        lo = source.choice((1, 730_119, 738_000, 693_500))
        return StepDomain("date", IntRange(lo, lo + step * (size - 1), step))
    step *= source.choice((1, 60))
    lo = source.choice((0, 3_590, 35_999))
    return StepDomain("time", IntRange(lo, lo + step * min(size - 1, (86_399 - lo) // step), step))


def test_texts_equal_enumeration(number_canonical: Canonical) -> None:
    source = random.Random(5)
    for _ in range(20):
        domain = random_domain(source)
        held = source.choice(
            (Held("", 0), Held(" ", 0), Held("[", 0), Held(":", 0), Held('",', 0), Held('"},', 0))
        )
        opening = '"' if domain.text(0).startswith('"') else ""
        stable = len(number_canonical.stable(held.text)) if not opening else 0
        held = Held(held.text, source.randint(0, stable))
        spans = [(source.randrange(len(domain)), 0) for _ in range(source.randint(1, 5))]
        spans = [(at, min(len(domain) - 1, at + source.choice((0, 1, 9, 100, 600)))) for at, _ in spans]
        assert compare(number_canonical, held, domain, IndexSet.union_of(spans)) > 0


@pytest.mark.parametrize("name", ["unfamiliar"])
def test_unknown_rules_are_not_walked(name: str) -> None:
    domain = DecimalDomain(2, IntRange(0, 10_000))
    form = form_of(domain)
    assert form is not None and not supports_form(canonical_like(name), form, [0, 10_000])


@pytest.mark.parametrize("places", [1, 2, 3])
def test_no_text_is_a_negative_zero(number_canonical: Canonical, places: int) -> None:
    """All codes around 0 are values, but not every text around 0 is one."""
    domain = DecimalDomain(places, IntRange(-120, 120))
    compare(number_canonical, Held("", 0), domain, IndexSet.full(len(domain)))


@pytest.mark.sources
def test_ten_million_amounts_need_few_questions(number_canonical: Canonical) -> None:
    asked = 0

    class Counting(SteppedValues):
        def any_in(self, lo: int, hi: int, /) -> bool:
            nonlocal asked
            asked += 1
            return super().any_in(lo, hi)

    domain = DecimalDomain(2, IntRange(-500, 10_000_000))
    form = form_of(domain)
    assert form is not None
    walk = walk_of(number_canonical, Held(" ", 0), form, -500, 10_000_000)
    values, state = Counting(-500, 1, len(domain), IndexSet.full(len(domain))), walk.start()
    for token in text_tokens(number_canonical, Held(" ", 0), domain, 1_234_567 + 500):
        asked = 0
        assert token in walk.allowed(state, values)
        assert asked < 300
        after = walk.advance(state, token)
        assert after is not None
        state = after
    assert walk.value(state) == 1_234_567
