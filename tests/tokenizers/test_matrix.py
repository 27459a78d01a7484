"""Every tokenizer at hand: records have the tokenizer's own tokens, and masks are those of brute force."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factorspec_sdk.decoding import Decoder
from factorspec_sdk.fields.domains import BranchDomain, EnumDomain, IntRange
from factorspec_sdk.fields.text import json_text
from factorspec_sdk.graph.program import Branch, End, Literal, Node, Program, Slot, Value
from factorspec_sdk.tokens import Canonical
from tests.decoding.brute import NASTY, FreeFeasibility
from tests.tokenizers.matrix import LISTED, NAMES, missing, vocabulary
from tests.tokenizers.measure import compared, is_canonical, write_at_random, written

#: a slice of what `python -m tests.tokenizers` writes
RECORDS = 200
SPECS = 12


@pytest.fixture(scope="module", params=NAMES)
def canonical(request: pytest.FixtureRequest) -> Canonical:
    """One at a time: the large ones take 100 MB each."""
    reason = missing(request.param)
    if reason is not None:
        pytest.skip(reason)
    return Canonical(vocabulary(request.param))


@pytest.mark.slow
def test_records_have_the_tokenizers_own_tokens(canonical: Canonical, request: pytest.FixtureRequest) -> None:
    share = written(canonical, RECORDS)
    assert share.wrong == ()
    assert share.canonical == share.records == RECORDS
    assert share.certain + share.choices == share.tokens
    assert bool(share.refused) == (request.node.callspec.params["canonical"] in LISTED)


@pytest.mark.slow
def test_masks_are_those_of_brute_force(canonical: Canonical) -> None:
    nodes = compared(canonical, SPECS)
    assert nodes.wrong == ()
    assert nodes.checked > 1000


LETTERS = "aB 1'\"\\/,:[]{}<|>\n\u00e9\u0301\u0130\u3042\u4e2d\u0e01\U0001f600\u200d\u00a0"
TEXTS = st.one_of(
    st.sampled_from(NASTY),
    st.text(st.sampled_from(LETTERS), max_size=12),
    st.text(max_size=12),
)
SLOTS = st.one_of(
    st.lists(TEXTS, min_size=1, max_size=4, unique=True).map(lambda texts: EnumDomain(tuple(texts))),
    st.tuples(st.integers(-2000, 2000), st.integers(0, 500)).map(lambda t: IntRange(t[0], t[0] + t[1])),
)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """An object of some fields, each a value or a list of up to two values; in either layout."""
    comma, colon = draw(st.sampled_from(((", ", ": "), (",", ":"))))
    slots: list[Slot] = []
    nodes: list[Node] = [End(), Literal("}", 0)]
    at = 1
    fields = draw(
        st.lists(st.tuples(TEXTS, SLOTS, st.booleans()), min_size=1, max_size=4, unique_by=lambda f: f[0])
    )
    parts = []
    for key, domain, is_list in fields:
        numbers = range(len(slots), len(slots) + (3 if is_list else 1))
        slots += [
            Slot(n, str(n), BranchDomain(2) if is_list and n == numbers[1] else domain) for n in numbers
        ]
        parts.append((key, numbers))
    for place, (key, numbers) in reversed(list(enumerate(parts))):
        if len(numbers) == 3:
            nodes.append(Literal("]" + _text(nodes, at), _next(nodes, at)))
            end = len(nodes) - 1
            nodes += [
                Value(numbers[2], end),
                Literal(comma, len(nodes)),
                Branch(numbers[1], (end, len(nodes) + 1)),
            ]
            nodes.append(Value(numbers[0], len(nodes) - 1))
        else:
            nodes.append(Value(numbers[0], at))
        opening = (comma if place else "{") + json_text(key) + colon + ("[" if len(numbers) == 3 else "")
        nodes.append(Literal(opening, len(nodes) - 1))
        at = len(nodes) - 1
    return Program(tuple(nodes), at, tuple(slots), ())


def _text(nodes: list[Node], at: int) -> str:
    node = nodes[at]
    return node.text if isinstance(node, Literal) else ""


def _next(nodes: list[Node], at: int) -> int:
    node = nodes[at]
    return node.next if isinstance(node, Literal) else at


@pytest.mark.slow
@given(programs(), st.integers(0, 1 << 30))
@settings(
    max_examples=80,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_records_that_hypothesis_finds_are_canonical(
    canonical: Canonical, program: Program, seed: int
) -> None:
    decoder = Decoder(program, FreeFeasibility(program), canonical.vocabulary, canonical=canonical)
    session = decoder.session()
    write_at_random(session, random.Random(seed))
    assert is_canonical(canonical, session), session.text
    json.loads(session.text)
