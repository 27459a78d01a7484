"""Explanations against brute force on generated specs."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from factorspec_sdk.errors import Unsatisfiable
from factorspec_sdk.explaining import nearest, why_not
from factorspec_sdk.explaining.differences import changes_between
from factorspec_sdk.graph.layout import lay_out
from factorspec_sdk.graph.reference import all_candidates, all_records
from factorspec_sdk.graph.unroll import unroll
from factorspec_sdk.wire import Spec, parse_document
from tests.differential.generate import document

Record = dict[str, Any]


def generated(seed: int) -> tuple[Spec, list[Record], list[Record]]:
    """A spec, its valid records, and some records that fit its schema."""
    spec = parse_document(document(seed, max_size=400))
    program = lay_out(unroll(spec.root))
    valid = [json.loads(record.text) for record in all_records(spec, program)]
    candidates = [json.loads(record.text) for record in all_candidates(program)]
    return spec, valid, random.Random(seed).sample(candidates, min(3, len(candidates)))


@pytest.mark.parametrize("seed", range(120))
def test_the_nearest_record_is_valid_and_no_other_is_nearer(seed: int) -> None:
    spec, valid, asked = generated(seed)
    if not valid:
        with pytest.raises(Unsatisfiable):
            nearest(spec, asked[0])
        return
    for record in asked:
        found = nearest(spec, record)
        assert found.record in valid
        assert found.proven or unroll(spec.root).ends
        least = min(len([*changes_between(record, other)]) for other in valid)
        assert len(found.changes) == least or not found.proven


def scalars(value: object, path: str = "") -> list[tuple[str, Any]]:
    """The scalar fields of a record with their paths."""
    if isinstance(value, dict):
        return [f for key, v in value.items() for f in scalars(v, f"{path}.{key}" if path else key)]
    if isinstance(value, list):
        return [f for at, v in enumerate(value) for f in scalars(v, f"{path}[{at}]")]
    return [(path, value)]


@pytest.mark.parametrize("seed", range(120))
def test_a_value_is_ruled_out_exactly_where_no_record_has_it(seed: int) -> None:
    spec, valid, asked = generated(seed)
    rng = random.Random(seed)
    for record in asked:
        fields = scalars(record)
        if not fields:
            continue
        path, value = rng.choice(fields)
        top = [key for key in record if not path.startswith(key) and rng.random() < 0.6]
        given = {key: record[key] for key in top}
        has = [
            other
            for other in valid
            if (path, value) in scalars(other)
            and all(key in other and other[key] == given[key] for key in top)
        ]
        found = why_not(spec, given, path, value)
        assert found.allowed is bool(has), (found, given)
        if not has:
            assert found.relations
            assert found.minimal
