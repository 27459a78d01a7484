"""The rules in words: what a prompt says of the record, for models that nothing forces to keep to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from factorspec_sdk.client.prompt_form import form_of
from factorspec_sdk.client.transport import JsonObject
from factorspec_sdk.errors import JsonValue, Problem
from factorspec_sdk.relations import Relation
from factorspec_sdk.relations.intension import Intension
from factorspec_sdk.relations.slide import Slide
from factorspec_sdk.relations.wording import expression_text
from factorspec_sdk.wire import Spec
from factorspec_sdk.wire.schema import ObjectNode, SchemaNode, children

#: ``auto``: rules where the server may not enforce them; ``rules``: always; ``form``: a record's form alone;
#: ``none``: nothing; or words of one's own
Prompting = Literal["auto", "rules", "form", "none"] | Callable[[Spec], str]

_ANSWER = "Answer with one JSON object and nothing else"
_VENDOR = "x-factorspec"
#: names inside these are of properties, not of keywords
_NAMED = ("properties", "$defs", "definitions")
_MAX_ROWS = 200


def with_rules(
    turns: Sequence[JsonObject], spec: Spec, prompting: Prompting, *, in_words: bool
) -> list[JsonObject]:
    """The conversation with the rules in its system message, and the record's form at its end.

    Small models write prose after any number of rules, and JSON where the last thing that they read is its
    form.

    Args:
        turns: the conversation.
        spec: whose rules.
        prompting: what the caller wants; own words go into the system message, without a form.
        in_words: what ``auto`` means.
    """
    if prompting == "none" or (prompting == "auto" and not in_words):
        return list(turns)
    if callable(prompting):
        return _with_system(turns, prompting(spec))
    asked = _with_form(turns, form_of(spec))
    return asked if prompting == "form" else _with_system(asked, rules_of(spec))


def _with_system(turns: Sequence[JsonObject], words: str) -> list[JsonObject]:
    """Words at the end of the system message, which is added where there is none."""
    first = turns[0] if turns else {}
    said = first.get("content")
    if first.get("role") == "system" and isinstance(said, str):
        return [{**first, "content": f"{said}\n\n{words}"}, *turns[1:]]
    return [{"role": "system", "content": words}, *turns]


def _with_form(turns: Sequence[JsonObject], form: str) -> list[JsonObject]:
    """The form at the end of the last message, where the user has it."""
    words = f"{_ANSWER} in this form, with the right values:\n{form}"
    last = turns[-1] if turns else {}
    said = last.get("content")
    if last.get("role") == "user" and isinstance(said, str):
        return [*turns[:-1], {**last, "content": f"{said}\n\n{words}"}]
    return [*turns, {"role": "user", "content": words}]


def rules_of(spec: Spec) -> str:
    """What a record has to be: its JSON Schema, its relations one by one, the tables that they name."""
    return "\n".join(_lines(spec))


def correction_of(problems: Sequence[Problem]) -> str:
    """What a model is told about an answer that is not valid: every problem, with the values."""
    listed = "\n".join(f"- {problem}" for problem in problems)
    return f"That is not valid:\n{listed}\nAnswer with the whole corrected JSON object and nothing else."


def _lines(spec: Spec) -> Iterator[str]:
    yield f"{_ANSWER}. It has to fit this JSON Schema:"
    yield json.dumps(plain_schema(spec.document), ensure_ascii=False)
    yield from relations_in_words(spec)


def relations_in_words(spec: Spec) -> Iterator[str]:
    """The relations one by one, and the tables that they name; nothing where there are none."""
    rules = list(dict.fromkeys(_rules(spec.root)))
    if rules:
        yield "These relations have to hold:"
        yield from rules
    tables = dict(_tables(spec.root))
    if tables:
        yield "Tables:"
        yield from (f"- {name}: {rows}" for name, rows in tables.items())


def plain_schema(schema: JsonValue) -> JsonValue:
    """A schema without what the rules say in words; what it says of single values stays."""
    if isinstance(schema, list):
        return [plain_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    plain: JsonObject = {}
    for name, value in schema.items():
        if name == _VENDOR:
            domain = value.get("domain") if isinstance(value, dict) else None
            if domain is not None:
                plain["domain"] = domain
        elif name in _NAMED and isinstance(value, dict):
            plain[name] = {key: plain_schema(inner) for key, inner in value.items()}
        else:
            plain[name] = value if name in ("const", "enum", "default", "examples") else plain_schema(value)
    return plain


def _objects(node: SchemaNode) -> Iterator[ObjectNode]:
    if isinstance(node, ObjectNode):
        yield node
    for inner in children(node):
        yield from _objects(inner)


def _rules(root: SchemaNode) -> Iterator[str]:
    for node in _objects(root):
        held = "" if node is root else f" (in each object at {node.pointer})"
        yield from (f"- {_rule(relation)}{held}" for relation in node.relations if relation.enforce)


def _rule(relation: Relation) -> str:
    text = relation.name if relation.why is None else f"{relation.name}: {relation.why}"
    return f"{text} [{_meaning(relation)}]"


def _meaning(relation: Relation) -> str:
    match relation:
        case Intension():
            return expression_text(relation.expr)
        case Slide():
            items = ", ".join(relation.binders)
            over = relation.over.removeprefix("$.")
            return f"for consecutive items {items} of {over}: {expression_text(relation.expr)}"
        case _:
            said = relation.model_dump(
                mode="json", by_alias=True, exclude={"name", "why", "enforce", "kind"}, exclude_defaults=True
            )
            return f"{relation.kind} {json.dumps(said, ensure_ascii=False)}"


def _tables(root: SchemaNode) -> Iterator[tuple[str, str]]:
    for node in _objects(root):
        for name, rows in node.tables.items():
            shown = json.dumps([list(row) for row in rows[:_MAX_ROWS]], ensure_ascii=False, default=str)
            more = f" and {len(rows) - _MAX_ROWS} more rows" if len(rows) > _MAX_ROWS else ""
            yield name, shown + more
