"""What a schema asks of a part of a record, as an expression over the part's fields.

A *part* is a schema node and the reference that names it. Scalars with a finite domain are tried value by
value; lists and objects go by terms (``languages/terms.py``), as those of open values do. The expressions are
true or false, never unknown, where the part is there: what may be absent or null is asked for first.
"""

from __future__ import annotations

from collections.abc import Iterable

from factorspec_sdk.fields.domains import IntRange
from factorspec_sdk.fields.paths import FieldPath
from factorspec_sdk.relations.expressions import (
    Comparison,
    Const,
    Expr,
    Fold,
    In,
    Length,
    Op,
    OpName,
    Present,
    Ref,
)
from factorspec_sdk.wire.languages.automaton import ANYTHING, Automaton
from factorspec_sdk.wire.languages.lists import CountRule, ItemRule, ListTerm
from factorspec_sdk.wire.languages.numbers import integers, numbers
from factorspec_sdk.wire.languages.objects import ObjectTerm
from factorspec_sdk.wire.languages.rules import Values, values_of
from factorspec_sdk.wire.languages.scalars import ScalarType, scalar_text
from factorspec_sdk.wire.languages.value_rules import Rules
from factorspec_sdk.wire.schema import (
    ArrayNode,
    FiniteNode,
    FreeNode,
    NullableNode,
    ObjectNode,
    SchemaNode,
    TextNode,
)

TRUE: Expr = Const(const=True)
FALSE: Expr = Const(const=False)
#: domains that are tried value by value, and values that are listed in an expression
MAX_TRIED = 20_000
MAX_LISTED = 500
#: nodes of all expressions of a document
MAX_NODES = 20_000


class NotFinite(Exception):
    """A demand on a part that has no finite domain; the place of the part."""

    def __init__(self, place: str, reason: str) -> None:
        self.place, self.reason = place, reason
        super().__init__(reason)


def both(parts: Iterable[Expr]) -> Expr:
    """All of them hold."""
    kept = [part for part in parts if part != TRUE]
    if FALSE in kept:
        return FALSE
    return TRUE if not kept else kept[0] if len(kept) == 1 else Op(op="and", args=tuple(kept))


def either(parts: Iterable[Expr]) -> Expr:
    """Some of them holds."""
    kept = [part for part in parts if part != FALSE]
    if TRUE in kept:
        return TRUE
    return FALSE if not kept else kept[0] if len(kept) == 1 else Op(op="or", args=tuple(kept))


def opposite(part: Expr) -> Expr:
    """It does not hold."""
    return FALSE if part == TRUE else TRUE if part == FALSE else Op(op="not", args=(part,))


def present(ref: str) -> Expr:
    """The part is there (it may be null)."""
    return Present(op="present", of=ref, null=True)


def compared(op: OpName, left: Expr, right: int | str | bool | None) -> Expr:
    """A comparison with a constant."""
    return Op(op=op, args=(left, Const(const=right)))


class ValueConditions:
    """Writes the conditions of one document. Raises ``NotFinite`` or ``NotFree`` for what it cannot write."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._nodes = 0
        self._names = 0

    def of(self, node: SchemaNode, ref: str, atoms: Values) -> Expr:
        """The part satisfies all atoms."""
        values = values_of(self._rules.resources, atoms)
        if values is None:
            return FALSE
        if not values:
            return TRUE
        self._count(node)
        match node:
            case FiniteNode():
                return self._finite(node, ref, values)
            case TextNode():
                return self._free(node, values, "string", ANYTHING)
            case FreeNode():
                kind = node.schema.get("type") if node.grammar is None else None
                if kind not in ("integer", "number"):
                    raise NotFinite(node.pointer, "this part has no finite domain")
                return self._free(node, values, "number", integers() if kind == "integer" else numbers())
            case NullableNode():
                null = compared("eq", Ref(ref=ref), None)
                found = both([opposite(null), self.of(node.inner, ref, values)])
                return either([null, found]) if self._fits("null", "null", values) else found
            case ArrayNode():
                lists = (choice for atom in sorted(values) for choice in self._rules.lists.choices(atom))
                return both(either(self.list_term(node, ref, t) for t in choice) for choice in lists)
            case ObjectNode():
                objects = (choice for atom in sorted(values) for choice in self._rules.objects.choices(atom))
                return both(either(self.object_term(node, ref, t) for t in choice) for choice in objects)
            case _:
                raise NotFinite(node.pointer, "a union cannot be looked into")

    def _count(self, node: SchemaNode) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise NotFinite(node.pointer, "the keywords make too large a relation")

    def _fits(self, kind: ScalarType, text: str, values: Values) -> bool:
        scalars = self._rules.scalars
        return all(scalars.of(number, kind).holds(text) is positive for number, positive in values)

    def _free(self, node: TextNode | FreeNode, values: Values, kind: ScalarType, whole: Automaton) -> Expr:
        """Free parts satisfy a schema all or not at all."""
        found = whole
        for number, positive in sorted(values):
            wanted = self._rules.scalars.of(number, kind)
            found = found & wanted if positive else found - wanted
        if found.is_empty:
            return FALSE
        if not (whole - found).is_empty:
            raise NotFinite(node.pointer, "free text or an unbounded number has no finite domain")
        return TRUE

    def _finite(self, node: FiniteNode, ref: str, atoms: Values) -> Expr:
        domain = node.domain
        if len(domain) > MAX_TRIED:
            raise NotFinite(node.pointer, f"more than {MAX_TRIED} values")
        fits = []
        for index in range(len(domain)):
            typed = scalar_text(domain.value(index))
            if typed is None:
                raise NotFinite(node.pointer, "a value is no scalar of JSON")
            fits.append(self._fits(*typed, atoms))
        inside = [index for index, fit in enumerate(fits) if fit]
        if len(inside) in (0, len(fits)):
            return TRUE if inside else FALSE
        if isinstance(domain, IntRange) and inside[-1] - inside[0] + 1 == len(inside):
            lo, hi = domain.code(inside[0]), domain.code(inside[-1])
            bounds = [compared("ge", Ref(ref=ref), lo)] if inside[0] else []
            if inside[-1] + 1 < len(fits):
                bounds.append(compared("le", Ref(ref=ref), hi))
            return both(bounds)
        outside = [index for index, fit in enumerate(fits) if not fit]
        few = min(inside, outside, key=len)
        if len(few) > MAX_LISTED:
            raise NotFinite(node.pointer, f"more than {MAX_LISTED} values to tell apart")
        values = tuple(_constant(node, index) for index in few)
        listed = In(op="in", arg=Ref(ref=ref), values=values)
        return listed if few is inside else opposite(listed)

    # -- lists -----------------------------------------------------------------------------------------

    def list_term(self, node: ArrayNode, ref: str, term: ListTerm) -> Expr:
        """The list satisfies a term."""
        size = Length(op="len", of=ref)
        parts = []
        if term.least > node.min_items:
            parts.append(compared("ge", size, term.least) if term.least <= node.max_items else FALSE)
        if term.most is not None and term.most < node.max_items:
            parts.append(compared("le", size, term.most) if term.most >= node.min_items else FALSE)
        parts += [self._item_rule(node, ref, rule) for rule in term.items]
        parts += [self._count_rule(node, ref, rule) for rule in term.counts]
        if term.unique:
            parts.append(self._repeats(node, ref, "every", "eq"))
        if term.repeats:
            parts.append(self._repeats(node, ref, "some", "gt"))
        return both(parts)

    def _item_rule(self, node: ArrayNode, ref: str, rule: ItemRule) -> Expr:
        if rule.start == 0 and rule.stop is None:
            name = self._name()
            body = self.of(node.item, name, frozenset((rule.atom,)))
            return (
                TRUE
                if body == TRUE
                else Fold.model_validate({"op": "every", "in": ref, "as": name, "body": body})
            )
        stop = node.max_items if rule.stop is None else min(rule.stop, node.max_items)
        return both(
            either(
                [
                    opposite(self._there(node, ref, at)),
                    self.of(node.item, f"{ref}[{at}]", frozenset((rule.atom,))),
                ]
            )
            for at in range(rule.start, stop)
        )

    @staticmethod
    def _there(node: ArrayNode, ref: str, at: int) -> Expr:
        return TRUE if at < node.min_items else compared("gt", Length(op="len", of=ref), at)

    def _count_rule(self, node: ArrayNode, ref: str, rule: CountRule) -> Expr:
        if rule.start:
            raise NotFinite(node.pointer, "items behind the first ones are not counted")
        name = self._name()
        body = self.of(node.item, name, frozenset((rule.atom,)))
        counted = Fold.model_validate({"op": "count", "in": ref, "as": name, "body": body})
        parts = [compared("ge", counted, rule.least)] if rule.least else []
        if rule.most is not None:
            parts.append(compared("le", counted, rule.most))
        return both(parts)

    def _repeats(self, node: ArrayNode, ref: str, fold: str, op: Comparison) -> Expr:
        """How many items equal an item, itself included: 1 for ``every``, more than 1 for ``some``."""
        one, other = self._name(), self._name()
        equal = self.equal(node.item, one, other)
        counted = Fold.model_validate({"op": "count", "in": ref, "as": other, "body": equal})
        body = compared(op, counted, 1)
        return Fold.model_validate({"op": fold, "in": ref, "as": one, "body": body})

    def equal(self, node: SchemaNode, left: str, right: str) -> Expr:
        """Two parts of one node are equal."""
        self._count(node)
        match node:
            case FiniteNode():
                return Op(op="eq", args=(Ref(ref=left), Ref(ref=right)))
            case NullableNode():
                nulls = [compared("eq", Ref(ref=ref), None) for ref in (left, right)]
                neither = [opposite(null) for null in nulls]
                return either([both(nulls), both([*neither, self.equal(node.inner, left, right)])])
            case ObjectNode():
                return both(
                    self._equal_if_there(known.node, f"{left}{key}", f"{right}{key}", known.required)
                    for known in node.properties
                    for key in [_step(known.name)]
                )
            case ArrayNode():
                sizes = Op(op="eq", args=(Length(op="len", of=left), Length(op="len", of=right)))
                items = (
                    either([
                        opposite(self._there(node, left, at)),
                        self.equal(node.item, f"{left}[{at}]", f"{right}[{at}]"),
                    ])
                    for at in range(node.max_items)
                )  # fmt: skip
                return both([sizes, *items])
            case _:
                raise NotFinite(node.pointer, "free parts cannot be compared")

    def _equal_if_there(self, node: SchemaNode, left: str, right: str, required: bool) -> Expr:
        equal = self.equal(node, left, right)
        if required:
            return equal
        there = [present(left), present(right)]
        return either([both(map(opposite, there)), both([*there, equal])])

    # -- objects ---------------------------------------------------------------------------------------

    def object_term(self, node: ObjectNode, ref: str, term: ObjectTerm) -> Expr:
        """The object satisfies a term."""
        known = {prop.name: prop for prop in node.properties}
        there = {
            name: TRUE if prop.required else present(f"{ref}{_step(name)}") for name, prop in known.items()
        }
        parts = [there.get(name, FALSE) for name in sorted(term.present)]
        parts += [opposite(there.get(name, FALSE)) for name in sorted(term.absent)]
        parts.append(_number(there, term))
        for name, prop in known.items():
            wanted = self.of(prop.node, f"{ref}{_step(name)}", term.atoms(name))
            parts.append(either([opposite(there[name]), wanted]))
        for keys, atom in term.some:
            parts.append(
                either(
                    both([there[name], self.of(prop.node, f"{ref}{_step(name)}", frozenset((atom,)))])
                    for name, prop in known.items()
                    if keys.holds(name)
                )
            )
        return both(parts)

    def _name(self) -> str:
        self._names += 1
        return f"item{self._names}"


def _constant(node: FiniteNode, index: int) -> Const:
    value = node.domain.value(index)
    if isinstance(value, float):
        raise NotFinite(node.pointer, "a value with a fraction is no constant of a relation")
    return Const(const=value)


def _number(there: dict[str, Expr], term: ObjectTerm) -> Expr:
    """The number of members is within the bounds of a term."""
    always = sum(presence == TRUE for presence in there.values())
    asked = [presence for presence in there.values() if presence != TRUE]
    least, most = term.least - always, None if term.most is None else term.most - always
    if least > len(asked) or (most is not None and most < 0):
        return FALSE
    ones = tuple(Op(op="if", args=(p, Const(const=1), Const(const=0))) for p in asked)
    parts = [compared("ge", Op(op="add", args=ones), least)] if least > 0 else []
    if most is not None and most < len(asked):
        parts.append(compared("le", Op(op="add", args=ones), most))
    return both(parts)


def _step(name: str) -> str:
    """The step of a path to a member, behind what comes before."""
    return str(FieldPath("", (name,)))
