"""Answers that are not valid, changed as little as makes them so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from pydantic import BaseModel

from factorspec_sdk.client.loose_reading import loose_objects
from factorspec_sdk.client.reading import Reading, json_objects, read_record
from factorspec_sdk.errors import Problem, RecordError
from factorspec_sdk.wire import Spec

T = TypeVar("T", bound=BaseModel)


def repaired(record: type[T], spec: Spec, reading: Reading[T], answer: str) -> Reading[T]:
    """The reading with the fewest fields of the answer changed so that all relations hold.

    Where the answer holds several objects, the one that says most of the record's fields counts. What it
    leaves out is added. The reading stays as it was where the answer holds no object, none of its fields can
    be kept, a part is missing that cannot be made up, or the model has validators that no spec knows.

    Raises:
        Unsatisfiable: no record exists.
        TooLarge: the budget for finding one does not suffice.
        MissingExtra: ``json-repair`` is not installed.
    """
    if reading.value is not None:
        return reading
    found: list[Mapping[str, object]] = [
        *(data for _, data in json_objects(answer)),
        *loose_objects(answer, spec),
    ]
    if not found:
        return reading
    # this brings the constraint core, which a client does without otherwise
    from factorspec_sdk.explaining import nearest_of

    try:
        _, near = nearest_of(spec, found)
    except RecordError:
        return reading
    if not near.kept:
        nothing = Problem("", "no field of the answer can be kept in a valid record")
        return replace(reading, problems=(*reading.problems, nothing))
    mended = read_record(record, spec, json.dumps(near.record, ensure_ascii=False))
    return reading if mended.value is None else replace(mended, changes=near.changes)
