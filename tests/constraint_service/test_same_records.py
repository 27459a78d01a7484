"""Records of the service are those of sessions in the same process: plans, rows, states, reports."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from factorspec_sdk.tokens import Vocabulary
from factorspec_server.constraint_service import ConstraintService, DraftingSpec, Wanted
from tests.benchmarks.drafts_gold import Folders, workloads
from tests.benchmarks.sessions_growth import small_document
from tests.constraint_service.pairs import NOTES, Document, Pairs, serving, wire_documents, write

POLICIES = [
    DraftingSpec(name="off", patience_s=None),
    DraftingSpec(name="certain", patience_s=None),
    DraftingSpec(name="chain", width=7, patience_s=None),
    DraftingSpec(name="branches", patience_s=None, earlier=False),
    DraftingSpec(name="text", patience_s=None, earlier=False),
    DraftingSpec(name="tree", width=24, patience_s=None, earlier=False),
    DraftingSpec(
        name="tree", cost_points=((1, 0.01), (8, 0.011), (64, 0.03)), patience_s=None, earlier=False
    ),
]
SMALL: dict[str, Document] = {
    "notes": NOTES,
    **{f"small {number}": small_document(number) for number in range(3)},
}


@pytest.mark.parametrize("name", [*SMALL, *wire_documents()])
def test_each_token_of_a_record(service: ConstraintService, vocabulary: Vocabulary, name: str) -> None:
    pairs = Pairs(service, vocabulary)
    document = (SMALL | wire_documents())[name]
    for seed in range(2):
        pair = pairs.open(document)
        write(pair, vocabulary, seed, each_token=True)
        pair.record.close()


@pytest.mark.parametrize("drafting", POLICIES, ids=str)
def test_each_plan_of_a_record(
    service: ConstraintService, vocabulary: Vocabulary, drafting: DraftingSpec
) -> None:
    pairs = Pairs(service, vocabulary, drafting)
    prompt = vocabulary.encode("Please call name 2-3 for 14 hours, and write a note about name 2-7.")
    for document in SMALL.values():
        pair = pairs.open(document, prompt=prompt)
        write(pair, vocabulary, 5, each_token=False)
        pair.record.close()


@pytest.mark.parametrize("spare", [0, 1, 4, 15])
def test_near_a_token_limit(service: ConstraintService, vocabulary: Vocabulary, spare: int) -> None:
    pairs = Pairs(service, vocabulary)
    for document in (NOTES, small_document(1)):
        shortest = pairs.compiler.compile(document)[0].decoder.shortest()
        assert shortest is not None
        pair = pairs.open(document, token_limit=shortest + spare)
        write(pair, vocabulary, spare, each_token=True)
        assert pair.session.num_tokens <= shortest + spare
        pair.record.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["trips_loose", "meetings_optimal"])
def test_records_of_natural_plan(vocabulary: Vocabulary, shared_dir: Path, kind: str) -> None:
    workload = next(each for each in workloads() if each.name == kind)
    golds = workload.read(Folders(shared_dir / "data" / "natural_plan", None, vocabulary), 4)
    assert not isinstance(golds, str)
    with serving(vocabulary) as service:
        pairs = Pairs(service, vocabulary, DraftingSpec(name="tree", patience_s=None))
        for gold in golds:
            pair = pairs.open(gold.document, prompt=gold.prompt)
            while pair.session.num_tokens < len(gold.record):
                pair.compare_plans()
                at = pair.session.num_tokens
                size = len(pair.session.plan().tokens) + 1
                pair.commit(gold.record[at : at + size])
            pair.compare_plans()
            pair.compare()
            pair.compare_reports()
            assert pair.record.state == "complete"


def test_refused_and_broken_tokens(service: ConstraintService, vocabulary: Vocabulary) -> None:
    pairs = Pairs(service, vocabulary)
    pair = pairs.open(NOTES)
    certain = pair.session.plan().tokens
    assert pair.commit([*certain, vocabulary.end_ids[0], certain[0]]) == len(certain)
    assert pair.record.state == pair.session.state == "refused"
    assert pair.commit(certain) == 0
    pair.rollback(1)
    pair.compare()
    pair.rollback(0)
    assert pair.commit(certain[-1:]) == 1
    pair.compare()
    before = pair.record.tokens
    with pytest.raises(TypeError, match="must be an integer"):
        pair.record.commit([pair.session.allowed().ids()[0], "no token"])  # type: ignore[list-item]
    assert pair.record.tokens == before
    pair.compare()
    with pytest.raises(ValueError, match="cannot take back"):
        pair.record.rollback(len(before) + 1)
    write(pair, vocabulary, 3, each_token=True)
    pair.record.close()


def test_copies_go_their_own_way(service: ConstraintService, vocabulary: Vocabulary) -> None:
    pairs = Pairs(service, vocabulary)
    pair = pairs.open(NOTES, token_limit=120)
    source = Random(1)
    for _ in range(30):
        pair.commit((source.choice(pair.session.allowed().ids().tolist()),))
        if pair.session.state == "complete":
            break
    twin = type(pair)(pair.record.copy(), pair.session.copy(), pairs.policy())
    write(twin, vocabulary, 8, each_token=True)
    write(pair, vocabulary, 9, each_token=True)
    twin.record.close()
    pair.record.close()


def test_many_records_in_one_step(service: ConstraintService, vocabulary: Vocabulary) -> None:
    pairs = Pairs(service, vocabulary)
    documents = [*SMALL.values(), *wire_documents().values()]
    opened = [pairs.open(documents[number % len(documents)]) for number in range(20)]
    for step in range(12):
        wanted = [Wanted(pair.record, 512) for pair in opened]
        service.ask(wanted)
        service.ask(wanted[::2])
        for pair, plan in zip(opened, service.plans(wanted), strict=True):
            assert plan == pair.policy.plan(pair.session)
            pair.commit(pair.session.plan().tokens)
            if pair.session.state == "open":
                pair.commit((Random(step).choice(pair.session.allowed().ids().tolist()),))
    for pair in opened:
        pair.compare()
        pair.compare_reports()
        pair.record.close()


def test_a_plan_is_cut_to_what_is_wanted(service: ConstraintService, vocabulary: Vocabulary) -> None:
    record = Pairs(service, vocabulary).open(NOTES).record
    whole = record.plan()
    assert len(whole.tokens) > 4
    cut, again = (service.plans([Wanted(record, most)])[0] for most in (3, 512))
    assert again == whole
    assert not isinstance(cut, Exception)
    assert (cut.tokens, cut.choices, cut.complete) == (whole.tokens[:3], (), False)
    record.close()


def test_drafting_is_the_services(service: ConstraintService, vocabulary: Vocabulary) -> None:
    record = Pairs(service, vocabulary).open(NOTES).record
    with pytest.raises(ValueError, match="the service decides"):
        record.plan(width=4)
    record.close()
