"""A schema's text on its way to the scheduler, which gets nothing of a request but that.

Options that a session needs stand beside the schema's keywords, under a key of their own, and are taken out
again before the document is read::

    {"type": "object", …, "x-factorspec": {…},
     "x-factorspec-request": {"id": "…", "token_limit": 512, "on_budget": "abort"}}

An answer that may call tools, or be one of several things, is told by the options alone (``answer``).

Which documents are written by sessions is told by their keywords (``asks_for_relations``); XGrammar takes the
rest, as it would without the plugin. It knows nothing of the keywords in ``_UNKNOWN_TO_XGRAMMAR``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from factorspec_sdk.errors import DocumentError, JsonValue, Problem, UnsupportedKeyword, reason_of
from factorspec_sdk.wire.keywords import VENDOR
from factorspec_server.http.answer_wish import AnswerWish

if TYPE_CHECKING:
    from factorspec_server.constraint_service import WrittenDocument

OPTIONS = f"{VENDOR}-request"

#: relational keywords that XGrammar accepts and does not enforce -> the value that asks for nothing
_UNKNOWN_TO_XGRAMMAR: Mapping[str, object] = {
    "uniqueItems": False, "contains": None, "if": None, "then": None, "else": None, "not": None,
    "dependentRequired": {}, "dependentSchemas": {}, "dependencies": {},
}  # fmt: skip
_SCHEMAS = ("items", "additionalProperties", "additionalItems", "contains", "not", "if", "then", "else",
            "propertyNames", "unevaluatedItems", "unevaluatedProperties")  # fmt: skip
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_MAPPINGS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")
#: how a key begins that is ours, or was to be: XGrammar would pass over a misspelt one
_OURS = (VENDOR, "x_factorspec", "x-factor-spec", "x-factor_spec")
_MARKERS = (*(f'"{name}"' for name in _UNKNOWN_TO_XGRAMMAR), *(f'"{start}' for start in _OURS))
_VENDOR_KEY = re.compile(f'"{VENDOR}"\\s*:')
#: what to do where a structural tag asks for relations
_IN_TAGS = "send the schema as response_format of type 'json_schema' (SGLang's json_schema), or as a tool"


class RequestOptions(BaseModel):
    """What a session is opened with.

    Attributes:
        id: names the request in reports; None: nobody waits for one.
        token_limit: most tokens of the record.
        most_tokens: the limit instead where the shortest answer needs more.
        on_budget: what happens where a budget ends in mid-record.
        origins: the report says where each token came from.
        answer: what the answer may be, where that is more than one record; then there is no document.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    id: str | None = None
    token_limit: Annotated[int | None, Field(ge=1)] = None
    most_tokens: Annotated[int | None, Field(ge=1)] = None
    on_budget: Literal["narrow", "abort"] = "narrow"
    origins: bool = False
    answer: AnswerWish | None = None


class KeptDocument:
    """A document that may come again; whoever opens it leaves it as it is.

    Attributes:
        document: as it was read.
        written: as the constraint service takes it; None: nobody has written it yet.
    """

    __slots__ = ("document", "written")

    def __init__(self, document: dict[str, JsonValue]) -> None:
        self.document = document
        self.written: WrittenDocument | None = None


@dataclass(frozen=True, slots=True)
class Envelope:
    """A document and the options of its request; ``kept``: what is known of the document beside it.

    ``salt``: of the request (``Decoder.session``). It is none of the options, which clients may write.
    """

    document: dict[str, JsonValue]
    options: RequestOptions = RequestOptions()
    kept: KeptDocument | None = field(default=None, compare=False, repr=False)
    salt: str | None = None

    def as_document(self) -> dict[str, JsonValue]:
        """One JSON object of both."""
        options = self.options.model_dump(exclude_defaults=True)
        return {**self.document, OPTIONS: options} if options else self.document


def may_ask_for_relations(text: str) -> bool:
    """False if a schema's text cannot ask for relations. O(length) without reading it."""
    return any(marker in text for marker in _MARKERS)


def refused_in_tags(place: str) -> UnsupportedKeyword:
    """What is told of relations in a structural tag, which XGrammar would pass over."""
    problem = Problem(place, f"{VENDOR} is not enforced in structural tags", None, _IN_TAGS)
    return UnsupportedKeyword("the request cannot be served", [problem])


def has_vendor_key(text: str) -> bool:
    """True if a JSON text has the vendor key anywhere. O(length) without reading it."""
    return _VENDOR_KEY.search(text) is not None


def open_envelope(text: str) -> Envelope | None:
    """What a schema's text holds; None if no relations are asked for, or it is no JSON object.

    Raises:
        DocumentError: the options are none of ours.
    """
    if not may_ask_for_relations(text):
        return None
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(read, dict):
        return None
    given = read.pop(OPTIONS, None)
    if given is None and not asks_for_relations(read):
        return None
    return Envelope(read, options_of(given or {}))


def options_of(given: object) -> RequestOptions:
    """The options as a request has them. Raises DocumentError: they are none of ours."""
    try:
        return RequestOptions.model_validate(given)
    except ValidationError as error:
        problems = [
            Problem("/".join((f"/{OPTIONS}", *map(str, item["loc"]))), reason_of(item["msg"]))
            for item in error.errors(include_url=False, include_input=False)
        ]
        raise DocumentError(f"{OPTIONS} cannot be read", problems) from error


def asks_for_relations(document: Mapping[str, object]) -> bool:
    """True if some subschema has the vendor key, or a relational keyword that XGrammar would pass over.

    A misspelt vendor key counts: whoever reads the document says so, where XGrammar would pass over it.
    """
    return any(_is_relational(schema) for schema in _subschemas(document))


def _is_relational(schema: Mapping[str, object]) -> bool:
    return any(name.startswith(_OURS) for name in schema) or any(
        name in schema and schema[name] != neutral for name, neutral in _UNKNOWN_TO_XGRAMMAR.items()
    )


def _subschemas(document: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """All schemas of a document, itself first."""
    waiting: list[object] = [document]
    while waiting:
        schema = waiting.pop()
        if not isinstance(schema, Mapping):
            continue
        yield schema
        waiting += [schema[name] for name in _SCHEMAS if name in schema]
        for name in _LISTS:
            listed = schema.get(name)
            waiting += listed if isinstance(listed, list) else []
        for name in _MAPPINGS:
            named = schema.get(name)
            waiting += named.values() if isinstance(named, Mapping) else []
