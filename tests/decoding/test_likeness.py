"""Runs that are shared where records go on alike: against plain sessions, and how few there are."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from factorspec_sdk.decoding import Decoder
from factorspec_sdk.decoding.hypotheses import DONE
from factorspec_sdk.decoding.runs import allowed_tokens
from factorspec_sdk.fields.domains import BranchDomain, EnumDomain, IntRange
from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.graph.program import Branch, End, Hole, HoleSpec, Literal, Program, Slot, Value
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Allowed, Canonical, Held, SteppedValues, walk_of
from tests.decoding.brute import FreeFeasibility
from tests.decoding.test_shared_runs import walk


class CountingFeasibility(FreeFeasibility):
    """As free, but relations are said to read every slot."""

    def reads(self, slot: int) -> bool:
        return True


def program() -> Program:
    """{"n": number, "k": a word, "t": text, "m": number or not, "z": true}."""
    nodes = (
        Literal('{"n": ', 1),
        Value(0, 2),
        Literal(', "k": ', 3),
        Value(1, 4),
        Literal(', "t": "', 5),
        Hole(0, 6),
        Literal('"', 7),
        Branch(2, (8, 10)),
        Literal(', "m": ', 9),
        Value(3, 10),
        Literal(', "z": true}', 11),
        End(),
    )
    slots = (
        Slot(0, "n", IntRange(0, 12_345)),
        Slot(1, "k", EnumDomain(("red", "reddish", "green", "blue"))),
        Slot(2, "m?", BranchDomain(2)),
        Slot(3, "m", IntRange(-50, 700)),
    )
    return Program(nodes, 0, slots, (HoleSpec("t", "string", None, 0, 6),))


@pytest.fixture(scope="module", params=["qwen", "tricky", "gpt2"])
def canonical(request: pytest.FixtureRequest) -> Canonical:
    return Canonical(vocabulary_like(request.param))


@pytest.mark.parametrize("kind", [FreeFeasibility, CountingFeasibility])
@pytest.mark.parametrize("limits", [False, True])
def test_sharing_alike_changes_nothing(
    canonical: Canonical, kind: type[FreeFeasibility], limits: bool
) -> None:
    decoder = Decoder(program(), kind(program()), canonical.vocabulary, canonical=canonical)
    walk(decoder, random.Random(f"{kind} {limits}"), 6, 300, limits=limits)


def test_records_meet_again_behind_what_nobody_reads() -> None:
    canonical = Canonical(vocabulary_like("qwen"))
    decoder = Decoder(program(), FreeFeasibility(program()), canonical.vocabulary, canonical=canonical)
    ends: list[object] = []
    for number in (7_431, 8_952, 6_103):
        session = decoder.session()
        session.commit(canonical.vocabulary.encode(f'{{"n": {number}, "k": "green", "t": "ab"'))
        assert session.state == "open"
        ends.append(session._current_run().children)
    assert ends[0] is ends[1]
    assert ends[1] is ends[2]


def test_digits_that_may_be_any_are_one_run() -> None:
    canonical = Canonical(vocabulary_like("qwen"))
    decoder = Decoder(program(), FreeFeasibility(program()), canonical.vocabulary, canonical=canonical)
    runs = []
    for digits in ("45", "78", "99", "12"):
        session = decoder.session()
        session.commit(canonical.vocabulary.encode('{"n": 1')[:-1])
        session.commit([canonical.encode_piece(digit)[0] for digit in digits])
        runs.append(session._current_run())
    assert runs[0] is runs[1] is runs[2]
    assert runs[3] is not runs[0]  # up to 12,345 there is more to say


@pytest.mark.parametrize("ranges", [(0, 12_345), (100, 345), (-30, 12_000), (0, 99_999), (1_000, 9_999)])
@pytest.mark.parametrize("family", ["qwen", "tricky", "gpt2", "cl100k"])
def test_runs_within_numbers_are_those_of_hypotheses(family: str, ranges: tuple[int, int]) -> None:
    """Against hypotheses that are opened one by one, for every beginning of a number."""
    canonical = Canonical(vocabulary_like(family))
    nodes = (Literal('{"n": ', 1), Value(0, 2), Literal(', "m": true}', 3), End())
    layout = Program(nodes, 0, (Slot(0, "n", IntRange(*ranges)),), ())
    decoder = Decoder(layout, FreeFeasibility(layout), canonical.vocabulary, canonical=canonical)
    plain = Decoder(layout, CountingFeasibility(layout), canonical.vocabulary, canonical=canonical)
    todo, met = [(decoder.runs.root(), plain.start)], 0
    while todo and met < 400:
        (run, hypotheses), met = todo.pop(), met + 1
        for token in run.tokens:
            assert allowed_tokens(hypotheses) == Allowed.of((token,))
            hypotheses = plain.opener.advance(hypotheses, token)
        assert run.allowed == allowed_tokens(hypotheses)
        assert run.complete == (DONE in hypotheses)
        for token in run.allowed.ids().tolist():
            todo.append((decoder.runs.after(run, token), plain.opener.advance(hypotheses, token)))


@pytest.mark.parametrize(
    "ranges", [(0, 12_345), (7, 7), (100, 345), (0, 9), (3, 29), (990, 1_010), (0, 99_999)]
)
def test_digits_that_are_told_alike_may_be_followed_by_any(ranges: tuple[int, int]) -> None:
    canonical, (lo, hi) = Canonical(vocabulary_like("qwen")), ranges
    walk = walk_of(canonical, Held(" ", 0), None, lo, hi)
    values = SteppedValues(lo, 1, hi - lo + 1, IndexSet.full(hi - lo + 1))
    digits, texts = canonical.digit_tokens, [str(value) for value in range(lo, hi + 1)]

    found = Counter((text[:end], len(text) - end) for text in texts for end in range(len(text) + 1))

    def lengths_of(begun: str) -> frozenset[int] | None:
        """By looking at all values."""
        lengths = frozenset(length for length in range(6) if found[begun, length])
        return lengths if all(found[begun, length] == 10**length for length in lengths) else None

    for begun in ["", *texts[:: max(1, len(texts) // 60)]]:
        state = next(iter(walk.advance(walk.start(), token) for token in canonical.encode_piece(" ")))
        for digit in begun[:-1]:
            assert state is not None
            state = walk.advance(state, digits[int(digit)])
        assert state is not None
        for digit in "0123456789":
            if digits[int(digit)] in walk.allowed(state, values):
                told = walk.alike(state, values, digits[int(digit)], None)
                lengths = lengths_of(begun[:-1] + digit)
                assert (told is None) == (lengths is None)
                if told is not None:
                    assert told.lengths == lengths
                    same = {digits[d] for d in range(10) if lengths_of(f"{begun[:-1]}{d}") == lengths}
                    if not begun[:-1]:  # no digit follows a first zero, and it is told by itself
                        same = {digits[0]} if digit == "0" else same - {digits[0]}
                    assert told.tokens == same


def test_places_in_text_where_the_same_is_allowed_have_one_plan() -> None:
    canonical = Canonical(vocabulary_like("qwen"))
    decoder = Decoder(program(), FreeFeasibility(program()), canonical.vocabulary, canonical=canonical)
    first, second = decoder.session(), decoder.session()
    for session, text in ((first, "abc"), (second, "xyz")):
        session.commit(canonical.vocabulary.encode('{"n": 7, "k": "red", "t": "')[:-1])
        session.commit(canonical.vocabulary.encode(f' "{text}')[:2])
        assert session.plan().choices[0].allowed is session.allowed()
    assert first.plan() is second.plan()
    second.commit(canonical.vocabulary.encode("abc"))
    assert second.plan().choices[0].allowed is second.allowed()
    assert first.plan().choices[0].allowed is first.allowed()
