"""Why a value is not allowed at a place: the relations and fields that rule it out, no one too many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from factorspec_sdk.automata.nodes import NodeStore
from factorspec_sdk.errors import JsonValue, Problem, UnknownField, shown
from factorspec_sdk.explaining.fixing import Fixing
from factorspec_sdk.explaining.placing import Placed, place
from factorspec_sdk.explaining.quickxplain import minimal_subset
from factorspec_sdk.explaining.subject import RecordLike, SpecLike, json_of, record_of, spec_of
from factorspec_sdk.fields.paths import EVERY, parse_path
from factorspec_sdk.fields.text import json_text
from factorspec_sdk.graph.compile import STEP_BUDGET
from factorspec_sdk.graph.factors import Factor, Origin, connect, enforced_relations, lower_relations
from factorspec_sdk.graph.sources import bind_sources
from factorspec_sdk.graph.unroll import unroll
from factorspec_sdk.relations.unrolled import Part, walk
from factorspec_sdk.wire.spec import Spec

#: questions to the constraint core that one explanation may cost
MAX_QUESTIONS = 500


@dataclass(frozen=True, slots=True)
class WhyNot:
    """What rules a value out.

    path, value: what was asked about; ``value`` as JSON text.
    allowed: True if a valid record has it; False if none has; None if the budget did not suffice to say.
    outside: where the value does not fit the schema, or, if ``allowed`` is None, what is given does not; the
        relations were not asked then.
    relations: names of relations that rule it out, together with ``fields``.
    fields: (path, JSON text) of given fields that they speak of.
    already: these contradict each other whatever the value.
    minimal: each of the relations and fields was shown to be needed.
    """

    path: str
    value: str
    allowed: bool | None
    outside: tuple[Problem, ...] = ()
    relations: tuple[str, ...] = ()
    fields: tuple[tuple[str, str], ...] = ()
    already: bool = False
    minimal: bool = True

    def __str__(self) -> str:
        subject = f"{self.path} = {self.value}"
        if self.allowed:
            return f"{subject} is allowed: a valid record has it"
        if self.outside:
            whose = f"{subject}: what is given" if self.allowed is None else subject
            return f"{whose} does not fit the schema: " + "; ".join(map(str, self.outside))
        if self.allowed is None:
            return f"{subject}: the budget did not suffice to say whether a valid record has it"
        names = ", ".join(repr(name) for name in self.relations)
        given = ", ".join(f"{path} = {value}" for path, value in self.fields)
        least = "" if self.minimal else " (not all of them may be needed)"
        if self.already:
            what = f"{given} contradicts" if given else "nothing satisfies"
            return f"no record exists, with {subject} or without: {what} {names}{least}"
        because = f"with {given}, " if given else ""
        return f"{subject} is not allowed: {because}it contradicts {names}{least}"


def why_not(
    subject: SpecLike, given: RecordLike, path: str, value: object, step_budget: int = STEP_BUDGET
) -> WhyNot:
    """Why no valid record has ``value`` at ``path`` beside what is given.

    Args:
        subject: a spec, or a model (bound, if it has parameters).
        given: a part of a record; what is left out is open. Lists are whole but for those that hold ``path``.
        path: of a field, an item or a whole object or list, e.g. ``stops[1].city``.
        value: JSON, or what stands for it in Python, such as a date.
        step_budget: for each question to the constraint core, of which there are at most ``MAX_QUESTIONS``.

    Raises:
        UnknownField: there is no such field.
        RecordError: what is given is no object.
    """
    asked: object = path
    if not isinstance(asked, str):
        problem = Problem("", "a path is a text such as stops[1].city", shown(asked))
        raise UnknownField("no such field", [problem])
    return _Question(spec_of(subject), step_budget).answer(record_of(given), path, json_of(value))


class _Question:
    def __init__(self, spec: Spec, step_budget: int) -> None:
        self._store = NodeStore()
        plain = unroll(spec.root)
        self._plain_holes = plain.holes
        self._unrolled, impossible = bind_sources(plain, self._store)
        self._factors = [*lower_relations(self._unrolled, self._store), *impossible]
        self._fixing = Fixing(self._unrolled, self._store, step_budget)
        self._asked = 0
        self._sure = True

    def answer(self, given: dict[str, JsonValue], path: str, value: JsonValue) -> WhyNot:
        placed = [place(part, value, self._plain_holes) for part in self._parts(path)]
        text = _text(value)
        fitting = [target for target in placed if not target.strays]
        if not fitting:
            closest = min(placed, key=lambda target: target.worth)
            return WhyNot(path, text, False, tuple(closest.strays))
        answers = [self._in_branch(target, given, path, text) for target in fitting]
        allowed = [answer for answer in answers if answer.allowed is not False]
        return max(allowed, key=lambda answer: answer.allowed is True) if allowed else _together(answers)

    def _in_branch(self, target: Placed, given: dict[str, JsonValue], path: str, text: str) -> WhyNot:
        """The answer for one of the places that a path names in the branches of unions."""
        wanted = self._fixing.with_controllers(target.decisions)
        assert wanted is not None, "a part has no two places"
        about = place(self._unrolled.root, given, self._plain_holes, partial=True, open_list=path)
        if about.strays:
            return WhyNot(path, text, None, tuple(about.strays))
        if strange := self._without_source(target.texts):
            return WhyNot(path, text, False, relations=self._that_bind(strange))
        if strange := self._without_source({**about.texts, **target.texts}):
            holes = [self._unrolled.holes[hole] for hole in strange]
            quoted = tuple(
                (hole.path, _text(about.texts[at])) for hole, at in zip(holes, strange, strict=True)
            )
            return WhyNot(path, text, False, relations=self._that_bind(strange), fields=quoted, already=True)
        known = {slot: index for slot, index in about.decisions.items() if slot not in wanted}
        return self._contradiction(path, text, wanted, known)

    def _without_source(self, texts: Mapping[int, JsonValue]) -> list[int]:
        """The holes whose texts must be pieces of some texts, and are not."""
        sources = {hole: self._unrolled.holes[hole].sources for hole in texts}
        return [
            hole
            for hole, found in sources.items()
            if found is not None and not any(str(texts[hole]) in source for source in found)
        ]

    def _that_bind(self, holes: Sequence[int]) -> tuple[str, ...]:
        """Labels of the relations that bind holes to their sources."""
        binding = enforced_relations(self._unrolled, self._store)
        return tuple(
            origin.label
            for origin, lowering in binding
            if any(part.hole in holes for part, _ in origin.relation.sources(lowering))
        )

    def _contradiction(self, path: str, text: str, wanted: dict[int, int], known: dict[int, int]) -> WhyNot:
        factors = self._near(wanted, known)
        answer = self._fixing.is_satisfiable(factors, {**wanted, **known})
        if answer is not False:
            return WhyNot(path, text, answer)
        origins = list(dict.fromkeys(factor.origin for factor in factors))
        items: list[Origin | int] = [*origins, *known]

        def contradicts(chosen: list[Origin | int]) -> bool:
            self._asked += 1
            if self._asked > MAX_QUESTIONS:
                self._sure = False
                return False
            kept = {item for item in chosen if isinstance(item, Origin)}
            fixed = {item: known[item] for item in chosen if isinstance(item, int)}
            found = self._fixing.is_satisfiable([f for f in factors if f.origin in kept], {**wanted, **fixed})
            self._sure = self._sure and found is not None
            return found is False

        needed = minimal_subset(items, contradicts)
        fixed = {slot: index for slot, index in known.items() if slot in needed}
        already = self._fixing.is_satisfiable([f for f in factors if f.origin in needed], fixed)
        return WhyNot(
            path,
            text,
            False,
            relations=tuple(dict.fromkeys(item.label for item in needed if isinstance(item, Origin))),
            fields=tuple(self._field(item, known[item]) for item in needed if isinstance(item, int)),
            already=already is False,
            minimal=self._sure,
        )

    def _near(self, wanted: dict[int, int], known: dict[int, int]) -> list[Factor]:
        """The factors of the components of the value and of what is known, and of impossible ones."""
        slots = {*wanted, *known}
        false = [factor for factor in self._factors if not factor.condition.slots]
        groups = connect((factor for factor in self._factors if factor.condition.slots), self._unrolled)
        near = [
            g for g in groups if slots & {*g.slots} or self._fixing.is_satisfiable(g.factors, {}) is False
        ]
        return [*false, *(factor for group in near for factor in group.factors)]

    def _field(self, slot: int, index: int) -> tuple[str, str]:
        found = self._unrolled.slots[slot]
        text = found.domain.text(index)
        if text:
            return found.path, text
        if found.path.endswith("?"):
            return found.path.removesuffix("?"), ("absent", "present")[index]
        return found.path.removesuffix("|"), f"branch {index}"

    def _parts(self, path: str) -> list[Part]:
        segments = parse_path(path).segments
        if EVERY in segments or any(isinstance(s, int) and s < 0 for s in segments):
            raise UnknownField(
                "explanations speak of one place",
                [Problem(path, "names several places, or one that depends on a length", shown(path))],
            )
        parts = list(walk(self._unrolled.root, segments))
        if not parts:
            hint = "paths look like stops[1].city; lists have as many items as their bounds say"
            raise UnknownField("no such field", [Problem(path, "is not a field of the record", None, hint)])
        return parts


def _together(answers: list[WhyNot]) -> WhyNot:
    """What rules a value out in every branch."""
    first, *rest = answers
    for other in rest:
        relations = tuple(dict.fromkeys((*first.relations, *other.relations)))
        fields = tuple(dict.fromkeys((*first.fields, *other.fields)))
        already, minimal = first.already and other.already, first.minimal and other.minimal
        first = replace(first, relations=relations, fields=fields, already=already, minimal=minimal)
    return first


def _text(value: JsonValue) -> str:
    """A scalar as JSON text; anything else in short."""
    if isinstance(value, Mapping | list):
        return shown(value)
    try:
        return json_text(value)
    except (TypeError, ValueError):  # no JSON: any object, not-a-number, an integer of thousands of digits
        return shown(value)
