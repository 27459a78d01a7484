"""What the first records of a vocabulary need, made before workers are forked: they share it then.

Left to the workers, each would make it in the middle of a step or beside one: the walk of all tokens through
strings takes 10 ms a mode, importing the grammar library a second, 0.1 s of it in one call.
"""

from __future__ import annotations

import json
import logging

import numpy as np

from factorspec_sdk.decoding import Decoder
from factorspec_sdk.decoding.string_masks import StringMasks
from factorspec_sdk.errors import FactorspecError, JsonValue
from factorspec_sdk.tokens import Canonical
from factorspec_server.http.compiled_spec import Compiler

_logger = logging.getLogger(__name__)
_TEXT: dict[str, JsonValue] = {"type": "string"}


def _record(**fields: JsonValue) -> dict[str, JsonValue]:
    return {
        "type": "object",
        "properties": fields,
        "required": [*fields],
        "additionalProperties": False,
    }


#: records of each kind of free part, with what follows one, and of decisions
_RECORDS: tuple[tuple[dict[str, JsonValue], dict[str, JsonValue]], ...] = (
    (
        _record(
            name={"const": "first"},
            text=_TEXT,
            short={"type": "string", "maxLength": 40},
            texts={"type": "array", "items": _TEXT, "maxItems": 2},
            inner=_record(text=_TEXT),
            number={"type": "number"},
            integer={"type": "integer"},
            numbers={"type": "array", "items": {"type": "number"}, "maxItems": 2},
            count={"type": "integer", "minimum": 0, "maximum": 400},
            is_last={"type": "boolean"},
        ),
        {
            "name": "first",
            "text": 'A note, and "more" of it.',
            "short": "C:\\notes",
            "texts": ["one", "two"],
            "inner": {"text": "é"},
            "number": -1.5,
            "integer": 12,
            "numbers": [2.25, 3],
            "count": 40,
            "is_last": False,
        },
    ),
    (
        _record(
            texts={"type": "array", "items": _TEXT},
            numbers={"type": "array", "items": {"type": "number"}},
            integers={"type": "array", "items": {"type": "integer"}},
            any={},
            pattern={"type": "string", "pattern": "^[a-z]{1,8}$"},
            day={"type": "string", "format": "date"},
        ),
        {
            "texts": ["A note.", "two"],
            "numbers": [1.5, 20],
            "integers": [1, 20],
            "any": {"a": ["text", 1, None, True]},
            "pattern": "abc",
            "day": "2025-01-31",
        },
    ),
)


def warm_up(canonical: Canonical) -> None:
    """Make the tables of strings, the grammar library and its tables, and what records with text look up."""
    for in_value in (False, True):
        StringMasks.of(canonical.vocabulary, in_value=in_value).walk_modes()
    compiler = Compiler(canonical, max_entries=1, max_bytes=1 << 20)
    for document, record in _RECORDS:
        try:
            compiled, _ = compiler.compile(document)
            compiled.decoder.prepare()
            _write(compiled.decoder, json.dumps(record, ensure_ascii=False))
        except FactorspecError as error:  # records that need it are refused with the reason
            _logger.warning("text is not prepared: %s", error)


def _write(decoder: Decoder, text: str) -> None:
    """Write a record, as engines do, as far as its tokens are canonical."""
    session, row = decoder.session(), np.zeros(decoder.row_shape, dtype=np.int32)
    for token in decoder.vocabulary.encode(text):
        for choice in session.plan().choices:
            choice.allowed.write_row(row)
        if not session.commit((token,)):
            return
