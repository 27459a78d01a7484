"""Finite domains, sets of their values, paths to fields, and the JSON text of values."""

from factorspec_sdk.fields.domains import DecimalDomain, Domain, EnumDomain, IntRange, StepDomain
from factorspec_sdk.fields.paths import FieldPath, parse_path
from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.fields.text import json_text

__all__ = [
    "DecimalDomain",
    "Domain",
    "EnumDomain",
    "FieldPath",
    "IndexSet",
    "IntRange",
    "StepDomain",
    "json_text",
    "parse_path",
]
