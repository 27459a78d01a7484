"""Workers remember finished records of a spec, and guess from them as a policy in this process does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from factorspec_sdk.decoding import Plan
from factorspec_sdk.tokens import Vocabulary
from factorspec_server.constraint_service import ConstraintService, DraftingSpec, RemoteRecord
from factorspec_server.drafting import DraftingPolicy
from tests.constraint_service.pairs import NOTES, Document, compiler_of, serving

TREE = DraftingSpec(name="tree", width=80, patience_s=None)
RECORD = '{"kind": "visit", "note": "The night train leaves late", "hours": 36, "again": "on Monday"}'
OTHER = '{"kind": "call", "note": "Somebody has to be asked first", "hours": 2, "again": "not yet"}'


@pytest.fixture
def service(vocabulary: Vocabulary) -> Iterator[ConstraintService]:
    with serving(vocabulary, workers=1) as made:
        made.draft(TREE)
        yield made


def opened(service: ConstraintService, document: Document = NOTES, salt: str | None = None) -> RemoteRecord:
    record = service.open(document, salt=salt)
    record.set_prompt(())
    return record


def steps(record: RemoteRecord, tokens: tuple[int, ...], policy: DraftingPolicy | None = None) -> list[Plan]:
    """Write a record by plans, as far as they are right."""
    plans = list[Plan]()
    while record.num_tokens < len(tokens):
        plan = record.plan()
        plans.append(plan)
        node, at = -1, record.num_tokens
        while at < len(tokens) and node >= -1:
            behind = [n for n, parent in enumerate(plan.parents) if parent == node]
            node = next((n for n in behind if plan.tokens[n] == tokens[at]), -2)
            at += 1
        record.commit(tokens[record.num_tokens : at])
    return plans


def written(
    service: ConstraintService, tokens: tuple[int, ...], *, ends: str = "finish", salt: str | None = None
) -> int:
    """Plans that it takes to write a record."""
    record = opened(service, salt=salt)
    count = len(steps(record, tokens))
    assert record.state == "complete"
    if ends == "finish":
        record.finish(origins=False)
        record.finish(origins=True)  # tells it again, remembers it once
    record.close()
    return count


@pytest.mark.parametrize("ends", ["finish", "close"])
def test_a_record_that_comes_again_takes_fewer_steps(
    service: ConstraintService, vocabulary: Vocabulary, ends: str
) -> None:
    tokens = vocabulary.encode(RECORD)
    first, *others = [written(service, tokens, ends=ends) for _ in range(5)]
    assert max(others) < first / 2
    assert others[-1] <= others[0]


def test_plans_are_those_of_a_policy_with_the_same_memory(
    service: ConstraintService, vocabulary: Vocabulary
) -> None:
    compiled, _ = compiler_of(vocabulary).compile(NOTES)
    compiled.decoder.prepare()
    earlier = compiled.decoder.earlier
    kinds = set[str]()
    for text in (RECORD, OTHER, RECORD, OTHER, OTHER):
        tokens, record = vocabulary.encode(text), opened(service)
        session, policy = compiled.decoder.session(), TREE.policy(vocabulary, (), earlier)
        while session.state == "open":
            plan = policy.plan(session)
            assert record.plan() == plan
            kinds |= {*plan.kinds}
            at = session.num_tokens
            for each in (session, record):
                each.commit(tokens[at : at + plan.num_certain + 1])
        record.finish(origins=False)
        record.close()
        earlier.remember(session.tokens)
    assert "earlier" in kinds


def test_what_is_not_complete_is_not_remembered(service: ConstraintService, vocabulary: Vocabulary) -> None:
    tokens = vocabulary.encode(RECORD)
    for finishes in (False, True):
        record = opened(service)
        record.commit(tokens[:-2])
        if finishes:
            record.finish(origins=False)
        record.close()
    record = opened(service)
    record.plan()
    assert record.commit([0]) == 0  # refused
    record.close()
    assert "earlier" not in {kind for plan in steps(opened(service), tokens) for kind in plan.kinds}


def test_all_is_forgotten_when_asked_for(service: ConstraintService, vocabulary: Vocabulary) -> None:
    tokens = vocabulary.encode(RECORD)
    first, second = written(service, tokens), written(service, tokens)
    open_record = opened(service)
    open_record.plan()
    service.forget()
    assert written(service, tokens) == first > second
    assert steps(open_record, tokens)
    assert open_record.state == "complete"


@pytest.mark.parametrize("drafting", [DraftingSpec(name="tree", width=80, earlier=False, patience_s=None)])
def test_nothing_is_remembered_where_that_is_switched_off(
    service: ConstraintService, vocabulary: Vocabulary, drafting: DraftingSpec
) -> None:
    service.draft(drafting)
    tokens = vocabulary.encode(RECORD)
    counts = {written(service, tokens, ends=ends) for ends in ("finish", "close", "finish")}
    assert len(counts) == 1
    service.draft(TREE)
    assert written(service, tokens) == counts.pop()


def test_records_of_a_spec_side_by_side(service: ConstraintService, vocabulary: Vocabulary) -> None:
    texts = [RECORD, OTHER] * 4
    records = [opened(service) for _ in texts]
    for record, text in zip(records[::-1], texts[::-1], strict=True):
        steps(record, vocabulary.encode(text))
    for record, text in zip(records, texts, strict=True):
        assert record.text == text
        record.finish(origins=False)
        record.close()
    assert written(service, vocabulary.encode(RECORD)) < len(RECORD) / 8


def test_specs_do_not_see_each_other_s_records(service: ConstraintService, vocabulary: Vocabulary) -> None:
    tokens = vocabulary.encode(RECORD)
    written(service, tokens)
    wider: Document = {**NOTES, "properties": {**NOTES["properties"], "hours": {"type": "integer"}}}  # type: ignore[dict-item]
    record = opened(service, wider)
    assert "earlier" not in {kind for plan in steps(record, tokens) for kind in plan.kinds}
    record.close()


@pytest.mark.parametrize("ends", ["finish", "close"])
def test_records_are_shared_with_those_of_the_same_salt_alone(
    service: ConstraintService, vocabulary: Vocabulary, ends: str
) -> None:
    tokens = vocabulary.encode(RECORD)
    first, again = (written(service, tokens, ends=ends, salt="one") for _ in range(2))
    assert again < first / 2
    others = [written(service, tokens, ends=ends, salt=salt) for salt in ("two", None)]
    assert others == [first, first]
    assert [written(service, tokens, ends=ends, salt=salt) for salt in ("two", None)] == [again, again]
    service.forget()
    assert [written(service, tokens, salt=salt) for salt in ("one", "two", None)] == [first] * 3


def test_a_record_that_was_closed_before_all_is_forgotten_is_not_remembered_after(
    service: ConstraintService, vocabulary: Vocabulary
) -> None:
    tokens, records = vocabulary.encode(RECORD), [opened(service) for _ in range(12)]
    for record in records:
        steps(record, tokens)
    for record in records:  # the worker hears of all and of the next before it has looked at the last
        record.close()
    service.forget()
    assert "earlier" not in {kind for plan in steps(opened(service), tokens) for kind in plan.kinds}


def test_a_record_that_is_opened_elsewhere_keeps_its_salt(
    service: ConstraintService, vocabulary: Vocabulary
) -> None:
    tokens = vocabulary.encode(RECORD)
    first = written(service, tokens, salt="one")
    record = opened(service, salt="two")
    twin = record.copy()
    assert len(steps(twin, tokens)) == first
    twin.finish(origins=False)
    for each in (twin, record):
        each.close()
    assert written(service, tokens, salt="two") < first / 2
    assert written(service, tokens) == first
