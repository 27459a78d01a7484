"""``check``: is this record valid, and if not, where and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from factorspec_sdk.errors import JsonValue, Problem, shown
from factorspec_sdk.explaining.placing import listed
from factorspec_sdk.fields.domains import Domain
from factorspec_sdk.fields.paths import FieldPath, below
from factorspec_sdk.relations.checking import Verdict
from factorspec_sdk.wire import Spec
from factorspec_sdk.wire.check import check_spec
from factorspec_sdk.wire.schema import (
    ArrayNode,
    FiniteNode,
    FreeNode,
    NeverNode,
    NullableNode,
    ObjectNode,
    SchemaNode,
    TextNode,
    UnionNode,
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is wrong with a record.

    Attributes:
        problems: where it breaks the schema.
        verdicts: what each relation says.
    """

    problems: tuple[Problem, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def broken(self) -> tuple[Verdict, ...]:
        """Relations that are broken, report-only ones included."""
        return tuple(verdict for verdict in self.verdicts if verdict.outcome == "broken")

    @property
    def is_valid(self) -> bool:
        """True if the schema and every enforced relation hold."""
        return not self.problems and not any(verdict.enforced for verdict in self.broken)

    def lines(self) -> Iterator[str]:
        """What people should read."""
        held = sum(verdict.outcome == "holds" for verdict in self.verdicts)
        silent = [verdict for verdict in self.verdicts if verdict.outcome == "unknown"]
        line = f"{'valid' if self.is_valid else 'not valid'}: {held} of {len(self.verdicts)} relations hold"
        if silent:
            names = ", ".join(repr(verdict.name) for verdict in silent)
            line += f"; {len(silent)} say nothing about null or absent fields: {names}"
        yield line
        for problem in self.problems:
            yield f"  - schema: {problem}"
        for verdict in self.broken:
            yield f"  - {verdict}" + ("" if verdict.enforced else " [report only]")


def judge(spec: Spec, record: JsonValue) -> Judgement:
    """Everything that is wrong with a record, schema and relations."""
    return Judgement(tuple(problems_of(spec.root, record, "")), tuple(check_spec(spec, record)))


def problems_of(node: SchemaNode, value: JsonValue, path: str) -> Iterator[Problem]:
    """Where a value breaks a part of the schema; ``path`` is where it stands in the record."""
    match node:
        case ObjectNode():
            yield from _of_object(node, value, path)
        case ArrayNode():
            yield from _of_array(node, value, path)
        case NullableNode():
            if value is not None:
                yield from problems_of(node.inner, value, path)
        case NeverNode():
            yield Problem(path, "no value is allowed here: the record nests too deep", shown(value))
        case UnionNode():
            # of several branches the one that the value is closest to says what is wrong
            branches = [branch for branch in node.branches if not isinstance(branch, NeverNode)]
            found = (list(problems_of(branch, value, path)) for branch in branches)
            yield from min(found, key=len)
        case FiniteNode():
            yield from _of_domain(node.domain, value, path)
        case TextNode():
            yield from _of_text(node, value, path)
        case FreeNode():
            yield from _by_schema(node.schema, value, path)


def _of_domain(domain: Domain, value: JsonValue, path: str) -> Iterator[Problem]:
    if domain.index(value) is None:
        yield Problem(path, f"not one of {listed(domain)}", shown(value))


def _of_object(node: ObjectNode, value: JsonValue, path: str) -> Iterator[Problem]:
    if not isinstance(value, Mapping):
        yield Problem(path, "must be an object", shown(value))
        return
    known = {part.name for part in node.properties}
    for name in value:
        if name not in known:
            yield Problem(below(path, name), "is not a field of this record", shown(value[name]))
    for part in node.properties:
        if part.name in value:
            yield from problems_of(part.node, value[part.name], below(path, part.name))
        elif part.required:
            yield Problem(below(path, part.name), "is missing")


def _of_array(node: ArrayNode, value: JsonValue, path: str) -> Iterator[Problem]:
    if not isinstance(value, list):
        yield Problem(path, "must be a list", shown(value))
        return
    if not node.min_items <= len(value) <= node.max_items:
        yield Problem(path, f"must have {node.min_items} to {node.max_items} items", str(len(value)))
    for index, item in enumerate(value):
        yield from problems_of(node.item, item, f"{path}[{index}]")


def _of_text(node: TextNode, value: JsonValue, path: str) -> Iterator[Problem]:
    if not isinstance(value, str):
        yield Problem(path, "must be a text", shown(value))
        return
    most = len(value) if node.max_length is None else node.max_length
    if not node.min_length <= len(value) <= most:
        bound = "" if node.max_length is None else f" and at most {node.max_length}"
        yield Problem(path, f"must have at least {node.min_length}{bound} characters", str(len(value)))
    if node.schema is not None:
        yield from _by_schema(node.schema, value, path)


def _by_schema(schema: dict[str, JsonValue], value: JsonValue, path: str) -> Iterator[Problem]:
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    for error in validator.iter_errors(value):
        steps = FieldPath("$", tuple(error.absolute_path)).display if error.absolute_path else ""
        yield Problem(path + (steps if steps.startswith("[") or not steps else f".{steps}"), error.message)
