"""Answers that are not valid, changed as little as makes them so."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TypeVar

from pydantic import BaseModel

from factorspec_sdk.client.reading import Reading, read_record
from factorspec_sdk.errors import RecordError
from factorspec_sdk.wire import Spec

T = TypeVar("T", bound=BaseModel)


def repaired(record: type[T], spec: Spec, reading: Reading[T]) -> Reading[T]:
    """The reading with the fewest fields changed so that all relations hold; as it was where that is no help.

    It is of no help where there is no object, where a part is missing that cannot be made up, and where the
    model has validators that no spec knows.

    Raises:
        Unsatisfiable: no record exists.
        TooLarge: the budget for finding one does not suffice.
    """
    # this brings the constraint core, which a client does without otherwise
    from factorspec_sdk.explaining import nearest

    if reading.value is not None or reading.data is None:
        return reading
    try:
        found = nearest(spec, reading.data)
    except RecordError:
        return reading
    mended = read_record(record, spec, json.dumps(found.record, ensure_ascii=False))
    return reading if mended.value is None else replace(mended, changes=found.changes)
