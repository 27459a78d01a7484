"""Plans, commits, rollbacks, copies and reports of sessions."""

from __future__ import annotations

import json
import random
import re

import numpy as np
import pytest

from factorspec_sdk.decoding import Decoder, Session
from factorspec_sdk.decoding.runs import allowed_tokens
from factorspec_sdk.errors import TooLarge
from factorspec_sdk.fields.domains import BranchDomain, EnumDomain, IntRange
from factorspec_sdk.graph.program import Branch, End, Hole, HoleSpec, Literal, Program, Slot, Value
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Canonical
from tests.decoding.brute import FreeFeasibility, random_spec
from tests.decoding.test_holes import list_program, note_program, walk


@pytest.fixture(scope="module")
def canonical() -> Canonical:
    return Canonical(vocabulary_like("tricky"))


def decoders(canonical: Canonical, count: int) -> list[Decoder]:
    """Some with free text, some without."""
    programs = [note_program(), note_program(1, 6), list_program(most=4)]
    found = [Decoder(p, FreeFeasibility(p), canonical.vocabulary, canonical=canonical) for p in programs]
    for seed in range(500, 600):
        spec = random_spec(seed)
        if spec is not None and len(found) < count:
            program, feasibility = spec
            found.append(Decoder(program, feasibility, canonical.vocabulary, canonical=canonical))
    return found


def same(left: Session, right: Session) -> None:
    assert left.tokens == right.tokens
    assert left.state == right.state
    assert left.allowed() == right.allowed()
    assert left.plan() == right.plan()
    assert left.report.origins == right.report.origins


def test_rollback_restores_every_earlier_state(canonical: Canonical) -> None:
    source = random.Random(0)
    for decoder in decoders(canonical, 12):
        session = decoder.session()
        walk(session, source)
        tokens = session.tokens
        for keep in source.sample(range(len(tokens) + 1), min(len(tokens), 12)):
            back = session.copy()
            back.rollback(len(tokens) - keep)
            fresh = decoder.session()
            assert fresh.commit(tokens[:keep]) == keep
            same(back, fresh)
            assert back.commit(tokens[keep:]) == len(tokens) - keep
            same(back, session)
    with pytest.raises(ValueError, match="cannot take back"):
        session.rollback(session.num_tokens + 1)


def test_copies_are_independent(canonical: Canonical) -> None:
    decoder = decoders(canonical, 1)[0]
    session = decoder.session()
    session.commit(session.plan().tokens)
    twin = session.copy()
    walk(twin, random.Random(3))
    assert session.num_tokens < twin.num_tokens
    assert session.state == "open"
    same(session, session.copy())


def test_a_token_that_is_not_allowed_refuses(canonical: Canonical) -> None:
    decoder = decoders(canonical, 1)[0]
    session = decoder.session()
    certain = session.plan().tokens
    wrong = next(i for i in range(decoder.vocabulary.logit_width) if i not in session.allowed())
    assert session.commit([wrong]) == 0
    assert session.copy().state == "refused"
    assert session.commit(certain) == 0
    session.rollback(0)
    assert session.copy().state == "open"
    assert session.commit([*certain, wrong]) <= len(certain) + 1


@pytest.mark.parametrize("canonical_text", [False, True])
@pytest.mark.parametrize("wrong", ["a", 1.5, None, [3]])
def test_what_is_no_token_is_named_and_changes_nothing(
    canonical: Canonical, wrong: object, canonical_text: bool
) -> None:
    decoder = decoders(canonical, 1)[0]
    session = decoder.session(canonical_text=canonical_text)
    source = random.Random(1)
    while session.state == "open":
        ids = [token for token in session.allowed().ids().tolist() if session.admits(token)]
        right = session.plan().tokens or (source.choice(ids),)
        before = session.copy()
        for given in ([wrong], [*right, wrong]):
            with pytest.raises(TypeError, match="must be an integer, got " + re.escape(repr(wrong))):
                session.commit(given)  # type: ignore[arg-type]
            same(session, before)
        assert session.commit(np.array(right)) == len(right)
        assert all(type(token) is int for token in session.tokens)
    assert session.state == "complete"


@pytest.mark.parametrize("width", [0, -1])
def test_a_plan_has_room_for_a_token(canonical: Canonical, width: int) -> None:
    session = decoders(canonical, 1)[0].session()
    for guesses in (None, lambda _: ()):
        with pytest.raises(ValueError, match=f"None or at least 1, got {width}"):
            session.plan(width, guesses)


def test_a_report_prints_counts(canonical: Canonical) -> None:
    session = decoders(canonical, 1)[0].session(1000)
    walk(session, random.Random(2))
    shown = repr(session.report)
    assert f"num_tokens={session.num_tokens}, certain={session.report.certain}, " in shown
    assert "ample=None" in shown
    assert len(shown) < 150


def test_report_counts_origins(canonical: Canonical) -> None:
    decoder = decoders(canonical, 1)[0]
    session = decoder.session()
    walk(session, random.Random(2))
    report = session.report
    assert report.exact
    assert report.num_tokens == session.num_tokens == report.certain + report.chosen + report.free
    assert report.certain > 0
    assert report.chosen > 0
    assert report.free > 0
    assert report.choice_points == report.chosen + report.free
    assert report.ample is None
    assert decoder.session(1000).report.ample is None


def empty_strings(num_items: int) -> Program:
    """A compact list of up to ``num_items`` strings of punctuation: one pre-token with many readings."""
    slots: list[Slot] = []
    nodes: list[End | Literal | Value | Branch] = [End(), Literal("]}", 0)]
    follow = 1
    for at in range(num_items - 1, -1, -1):
        nodes.append(Value(2 * at + 1, follow))
        if at:
            nodes.append(Literal(",", len(nodes) - 1))
        nodes.append(Branch(2 * at, (1, len(nodes) - 1)))
        follow = len(nodes) - 1
    nodes.append(Literal('{"a":[', follow))
    for at in range(num_items):
        slots.append(Slot(2 * at, f"a[{at}]?", BranchDomain(2)))
        slots.append(Slot(2 * at + 1, f"a[{at}]", EnumDomain(("", ",", '"', "}", "]", "],["))))
    return Program(tuple(nodes), len(nodes) - 1, tuple(slots), ())


def test_a_record_whose_reading_a_budget_left_out_is_not_begun_near_the_limit(canonical: Canonical) -> None:
    """Only one record fits; where its reading is lost, that is told, and no open session allows nothing."""
    program = empty_strings(6)
    narrow = Decoder(
        program, FreeFeasibility(program), canonical.vocabulary, canonical=canonical, max_hypotheses=3
    )
    source, shortest = random.Random(2), narrow.shortest()
    assert shortest is not None
    for above in [0, 0, 1, 2] * 20:
        session = narrow.session(shortest + above)
        try:
            while session.state == "open":
                session.commit([int(source.choice(session.allowed().ids()))])
        except TooLarge:
            continue
        assert canonical.vocabulary.encode(session.text) == session.tokens


def test_a_used_up_budget_narrows_the_masks_and_says_so(canonical: Canonical) -> None:
    program = empty_strings(6)
    whole = Decoder(program, FreeFeasibility(program), canonical.vocabulary, canonical=canonical)
    narrow = Decoder(
        program, FreeFeasibility(program), canonical.vocabulary, canonical=canonical, max_hypotheses=3
    )
    source = random.Random(1)
    cut = 0
    for _ in range(60):
        session, free = narrow.session(), whole.session()
        while session.state == "open":
            allowed = session.allowed()
            assert allowed.count
            assert set(allowed) <= set(free.allowed())
            token = int(source.choice(allowed.ids()))
            session.commit([token])
            free.commit([token])
        json.loads(session.text)
        assert free.report.exact
        cut += not session.report.exact
    assert cut


def test_too_many_candidates_are_refused_before_a_record_begins() -> None:
    canonical = Canonical(vocabulary_like("unfamiliar"))
    nodes = (Literal('{"n": ', 1), Value(0, 2), Literal("}", 3), End())
    program = Program(nodes, 0, (Slot(0, "n", IntRange(0, 10_000_000)),), ())
    with pytest.raises(TooLarge) as error:
        Decoder(program, FreeFeasibility(program), canonical.vocabulary, canonical=canonical)
    assert error.value.place == "n"


@pytest.mark.parametrize("name", ["tricky", "gpt2"])
def test_ten_million_values_are_walked_by_their_digits(name: str) -> None:
    canonical = Canonical(vocabulary_like(name))
    nodes = (Literal('{"n": ', 1), Value(0, 2), Literal("}", 3), End())
    program = Program(nodes, 0, (Slot(0, "n", IntRange(0, 10_000_000)),), ())
    decoder = Decoder(program, FreeFeasibility(program), canonical.vocabulary, canonical=canonical)
    for value in (0, 7, 10, 999, 1000, 123_456, 10_000_000):
        session = decoder.session(20)
        ids = canonical.vocabulary.encode(f'{{"n": {value}}}')
        assert session.commit(ids) == len(ids)
        assert session.state == "complete"
    session = decoder.session()
    assert session.commit(canonical.vocabulary.encode('{"n": 10000001}')) < len(
        canonical.vocabulary.encode('{"n": 10000001}')
    )


def test_each_text_of_a_record_has_its_own_closing_tokens(canonical: Canonical) -> None:
    """Asked at every token or committed at once: the masks are those of the hypotheses."""
    nodes = (Literal('{"a": "', 1), Hole(0, 2), Literal('", "b": "', 3), Hole(1, 4), Literal('"}', 5), End())
    texts = (HoleSpec("a", "string", None, 0, None), HoleSpec("b", "string", None, 0, None))
    program = Program(nodes, 0, (), texts)
    decoder = Decoder(program, FreeFeasibility(program), canonical.vocabulary, canonical=canonical)
    session, hypotheses = decoder.session(), decoder.start
    for token in canonical.vocabulary.encode('{"a": "one!", "b": "two!"}'):
        assert session.allowed() == allowed_tokens(hypotheses)
        assert session.commit([token]) == 1
        hypotheses = decoder.opener.advance(hypotheses, token)
    assert session.state == "complete"
