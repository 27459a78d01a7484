"""From a wire document to a spec: load, read, check, normalise. Nothing is silently dropped.

The passes, each in its own file::

    load             JSON within the budgets
    read_schema      schema nodes; relations become their models
    unions           branches are told apart
    check_relations  paths, tables, names, types, of the objective too
    free             schemas of free parts
    normalise        the writing order of every object becomes explicit, keys are sorted, hash
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.wire.canonical import canonical_json, hash_of
from factorspec_sdk.wire.check_relations import RelationChecker
from factorspec_sdk.wire.free import FreeParts
from factorspec_sdk.wire.keyword_relations import KeywordRelations
from factorspec_sdk.wire.keywords import VENDOR, Schema
from factorspec_sdk.wire.limits import Limits
from factorspec_sdk.wire.load import load_document
from factorspec_sdk.wire.problems import Problems, pointer
from factorspec_sdk.wire.read_schema import SchemaReader
from factorspec_sdk.wire.schema import NeverNode, ObjectNode
from factorspec_sdk.wire.spec import Spec
from factorspec_sdk.wire.unions import check_unions
from factorspec_sdk.wire.vendor import VERSION, check_version

DEFAULT_LIMITS = Limits()


def parse_document(source: Mapping[str, object] | str | bytes, *, limits: Limits = DEFAULT_LIMITS) -> Spec:
    """Read a wire document (version 1), given as JSON text or as the value of one.

    Does not change ``source``.

    Raises:
        RequestTooLarge: a budget of ``limits`` is exceeded.
        UnsupportedKeyword: something cannot be enforced exactly; all problems are listed.
        DocumentError: something is not well formed; all problems are listed.
        EmptyDomain: all is well, but a slot has no value.
    """
    document = load_document(source, limits)
    problems = Problems(limits)
    check_version(document, problems)
    if VENDOR not in document and f'"{VENDOR}":' in canonical_json(document):
        problems.add(pointer("", VENDOR), "the root must say the version", hint='write {"version": 1}')
    reader = SchemaReader(document, limits, problems)
    root = reader.read(document, "")
    if isinstance(root, NeverNode):
        problems.empty(
            "", "no record ends within max_depth: raise it, or let the recursion end by null or []"
        )
    elif not isinstance(root, ObjectNode) and id(root) not in reader.broken:
        problems.refuse("", "a record is an object", hint='write "type": "object" at the root')
    if isinstance(root, ObjectNode):
        root = _checked(root, reader, limits, problems)
    problems.raise_if_any()
    assert isinstance(root, ObjectNode)
    text = canonical_json(_normalised(document, reader))
    return Spec(json.loads(text), hash_of(text), root, reader.objective)


def _checked(root: ObjectNode, reader: SchemaReader, limits: Limits, problems: Problems) -> ObjectNode:
    overlapping = check_unions(reader.unions, reader.target, problems)
    keywords = KeywordRelations(reader.related, reader.open_values, problems)
    related = keywords.of(root)
    if not isinstance(related, ObjectNode):
        return root  # refused
    root, overlapping = related, keywords.renewed(overlapping)
    checker = RelationChecker(reader, overlapping, limits, problems)
    checker.visit(root, {})
    checker.check_objective(root, reader.objective)
    parts = FreeParts(reader, limits, problems)
    parts.fill()
    shortened = parts.long_lists(root, checker.facts.touched)
    assert isinstance(shortened, ObjectNode)
    return shortened


def _normalised(document: Schema, reader: SchemaReader) -> Schema:
    """The document with every object's order and the version written out. Changes our own copy."""
    for schema, names in [*reader.orders, *reader.open_values.orders()]:
        order: list[JsonValue] = list(names)
        schema[VENDOR] = {**_vendor(schema), "order": order}
    document[VENDOR] = {**_vendor(document), "version": VERSION}
    return document


def _vendor(schema: Schema) -> Schema:
    value = schema.get(VENDOR, {})
    assert isinstance(value, dict)
    return value
