"""From what a generator yielded to folds over lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from factorspec_sdk.fields.domains import CodeType
from factorspec_sdk.records.loops import Body, Loop, drive
from factorspec_sdk.records.parameters import Param, ParamLoop, Template
from factorspec_sdk.records.symbols import recorded, term_of
from factorspec_sdk.records.terms import Term, TermError, arithmetic, logic
from factorspec_sdk.records.tracing import LOOP_HINT, Symbolic, Trace, trace_of

FoldName = Literal["every", "some", "sum", "count", "min", "max"]

_WORDS = {
    "every": "every",
    "some": "some",
    "sum": "the sum of",
    "count": "the number of",
    "min": "the least",
    "max": "the most",
}


class Only(Symbolic):
    """A value with the condition under which an aggregate sees it."""

    __slots__ = ("_fs_value", "_fs_where")

    def __init__(self, trace: Trace, value: Term, where: Term) -> None:
        super().__init__(trace, f"{value.text} where {where.text}")
        object.__setattr__(self, "_fs_value", value)
        object.__setattr__(self, "_fs_where", where)


@dataclass(frozen=True, slots=True)
class _Part:
    """A body as terms."""

    value: Term
    where: Term | None
    loops: tuple[Loop, ...]


def only_if(value: object, where: object) -> object:
    """A value for an aggregate, with its condition."""
    trace = trace_of(value, where)
    if trace is None:
        return value if where else _LEFT_OUT
    try:
        condition = logic("and", [term_of(where, trace)])
        return Only(trace, term_of(value, trace), condition)
    except TermError as error:
        trace.fail(error.message, error.hint)


class _LeftOut:
    """Stands for a value that ``only`` left out, on ordinary values."""


_LEFT_OUT = _LeftOut()


def fold(op: FoldName, values: Iterable[object], compute: Callable[[list[object]], object]) -> object:
    """Record a fold over what the generator yields; compute it where nothing is symbolic."""
    trace = trace_of(values)
    if trace is not None:
        trace.fail(f"{values!r} is given where a generator is needed", LOOP_HINT)
    bodies = drive(values)
    trace = trace_of(*(body.value for body in bodies))
    if trace is None:
        found = [body.value for body in bodies if not isinstance(body.value, _LeftOut)]
        for body in bodies:
            for loop in body.loops:
                loop.trace.fail(f"the loop's body is the constant {body.value!r}", "name a field of the item")
        return compute(found)
    return recorded(trace, lambda: _combine(op, [_part(trace, op, body) for body in bodies]))


def _part(trace: Trace, op: FoldName, body: Body) -> _Part:
    value = body.value
    where: Term | None = None
    if issubclass(type(value), Only):
        where = object.__getattribute__(value, "_fs_where")
        term: Term = object.__getattribute__(value, "_fs_value")
    else:
        term = term_of(value, trace)
    if op in ("every", "some", "count"):
        logic("and", [term])
    elif op == "sum":
        arithmetic("add", term, term)
    return _Part(term, where, body.loops)


def _combine(op: FoldName, parts: Sequence[_Part]) -> Term:
    terms = [_nested(op, part) for part in parts]
    if len(terms) == 1:
        return terms[0]
    if op == "every":
        return logic("and", terms)
    if op == "some":
        return logic("or", terms)
    if op in ("min", "max"):
        raise TermError("the generator yields several values per item", "loop over one list")
    result = terms[0]
    for term in terms[1:]:
        result = arithmetic("add", result, term)
    return result


def _nested(op: FoldName, part: _Part) -> Term:
    """The body inside one fold per loop, the innermost loop with the filter."""
    term, where = part.value, part.where
    if not part.loops:
        return _unlooped(op, term, where)
    for at, loop in enumerate(reversed(part.loops)):
        if isinstance(loop.over, Param):
            term = _over_parameter(op, loop, loop.over, term, where)
            continue
        here: FoldName = "sum" if op == "count" and at else op
        template: dict[str, Template] = {"op": here, "in": loop.over, "as": loop.name, "body": term.template}
        binders = term.binders
        if where is not None:
            template["where"] = where.template
            binders |= where.binders
        root = loop.over.split(".", 1)[0].split("[", 1)[0]
        binders -= {loop.name}
        if root != "$":
            binders |= {root}
        text = f"{_WORDS[op]} {term.text} for {loop.name} in {loop.text}"
        code = "bool" if op in ("every", "some") else term.code if op in ("min", "max") else _number(term)
        term = Term(
            template, code, text, unit=term.unit if op in ("min", "max", "sum") else None, binders=binders
        )
        where = None
    return term


def _over_parameter(op: FoldName, loop: Loop, over: Param, term: Term, where: Term | None) -> Term:
    """A condition for each item of a parameter, written out when the values are there."""
    if op not in ("every", "some") or where is not None:
        hint = "loop inside fs.every(...) or fs.some(...), without fs.only; put sums into the parameter"
        raise TermError(f"this aggregate does not loop over the parameter {loop.text}", hint)
    quantifier: Literal["every", "some"] = "every" if op == "every" else "some"
    template = ParamLoop(over, quantifier, loop.name, term.template)
    text = f"{_WORDS[op]} {term.text} for {loop.name} in {loop.text}"
    return Term(template, "bool", text, binders=term.binders - {loop.name})


def _number(term: Term) -> CodeType:
    """The type of a sum or a count of such values."""
    return "decimal" if term.code == "decimal" else "int"


def _unlooped(op: FoldName, term: Term, where: Term | None) -> Term:
    if where is None and op != "count":
        return term
    condition = term if where is None else where if op != "count" else logic("and", [where, term])
    if op in ("every", "some"):
        return logic("implies" if op == "every" else "and", [condition, term])
    if op in ("min", "max"):
        raise TermError("only(...) needs a loop over a list of the record here")
    chosen: Template = {"const": 1} if op == "count" else term.template
    template: Template = {"op": "if", "args": [condition.template, chosen, {"const": 0}]}
    return Term(
        template,
        _number(term),
        f"{term.text} where {condition.text}",
        binders=term.binders | condition.binders,
    )
