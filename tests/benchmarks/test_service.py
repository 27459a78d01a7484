"""The benchmark of the constraint service ends, whatever its gold records are."""

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.testing import vocabulary_like
from tests.benchmarks.drafts_gold import Gold
from tests.benchmarks.service import Flight, run
from tests.constraint_service.pairs import serving

DOCUMENT: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 1, "maximum": 5}},
    "required": ["n"],
    "additionalProperties": False,
}


def test_a_gold_record_that_its_spec_does_not_admit_ends_alone() -> None:
    vocabulary = vocabulary_like("qwen")
    wrong, right = [Gold(text, DOCUMENT, (), vocabulary.encode(text)) for text in ('{"n": 9}', '{"n": 3}')]
    with serving(vocabulary) as service:
        opened = [Flight(gold, service.open(gold.document)) for gold in (wrong, right)]
        times = run(service, opened, 2, pause_s=0.0, host_s=0.0, guess_s=None)
        assert times.refused == 1
        assert opened[1].record.tokens == tuple(right.record)
