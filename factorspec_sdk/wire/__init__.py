"""The wire document, version 1: JSON Schema plus the vendor key ``x-factorspec``, read into a spec."""

from factorspec_sdk.wire.canonical import canonical_json, spec_hash
from factorspec_sdk.wire.document import parse_document
from factorspec_sdk.wire.limits import Limits
from factorspec_sdk.wire.published_schema import document_json_schema
from factorspec_sdk.wire.spec import Spec
from factorspec_sdk.wire.write import expression_json, relation_json

__all__ = [
    "Limits", "Spec", "canonical_json", "document_json_schema", "expression_json", "parse_document",
    "relation_json", "spec_hash",
]  # fmt: skip
