"""What a node is in a CP-SAT model.

A value is a number, another scalar (null, a text, a boolean), or one of the marks (absent, unknown, missing,
compound): exactly one of ``is_number`` and the cases holds. A condition is true, false, or neither (unknown).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from factorspec_sdk.automata.nodes import ABSENT_INDEX, Code, Mark
from factorspec_sdk.fields.domains import BranchDomain, Domain, IntRange, Scalar, typed_key
from factorspec_sdk.fields.intervals import Span
from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.graph.cp.model import FALSE, TRUE, Affine, Lit, Model

#: slots of up to so many values, none of them numbers, are a literal for each value
MAX_LITERALS = 16
#: a mark, or the typed key of a scalar that is no number
Case = Mark | tuple[str, Scalar]
Cases = Mapping[Case, Lit]


class Truth(NamedTuple):
    """A condition: where it is true, and where it is false."""

    true: Lit
    false: Lit


class Value(ABC):
    """A value in a model."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @property
    @abstractmethod
    def is_number(self) -> Lit:
        """True where it is a number."""

    @property
    @abstractmethod
    def number(self) -> Affine:
        """The number that it is where it is one; anything within its bounds elsewhere."""

    @property
    @abstractmethod
    def cases(self) -> Cases:
        """What it is where it is no number."""

    def equals(self, code: Scalar) -> Lit:
        """True where it is this scalar."""
        if isinstance(code, int) and not isinstance(code, bool):
            if self.is_number == FALSE:
                return FALSE
            return self.model.all_of([self.is_number, self.model.equals(self.number, code)])
        return self.cases.get(typed_key(code), FALSE)

    def marked(self, *marks: Mark) -> Lit:
        """True where it is one of the marks."""
        return self.model.any_of(self.cases.get(mark, FALSE) for mark in marks)

    @property
    def missing(self) -> Lit:
        """True where it is MISSING."""
        return self.marked(Mark.MISSING)

    @property
    def is_scalar(self) -> Lit:
        """True where it is no mark."""
        return ~self.marked(*Mark)


class Made(Value):
    """A value whose parts are made already. ``number`` is None where it never is one."""

    def __init__(self, model: Model, is_number: Lit, number: Affine | None, cases: Cases) -> None:
        super().__init__(model)
        self._is_number, self._cases = is_number, cases
        self._number = model.constant(0) if number is None else number

    @property
    def is_number(self) -> Lit:
        return self._is_number

    @property
    def number(self) -> Affine:
        return self._number

    @property
    def cases(self) -> Cases:
        return self._cases


class SlotCode(Value):
    """The code of a slot.

    A slot of few values that are no numbers is a literal for each value; any other is a variable, the index
    of its value, -1 where the slot is absent, and literals where they are asked for::

        literals    [early] [late] [night] [off]      one of them holds, or the slot is absent
        x           -1 0 1 2 .. 999
    """

    def __init__(self, model: Model, domain: Domain, present: Lit) -> None:
        super().__init__(model)
        self.domain, self.present = domain, present
        self._progression = progression(domain)
        self._literals: tuple[Lit, ...] = ()
        size = len(domain)
        branch = isinstance(domain, BranchDomain)
        if size <= MAX_LITERALS and (branch or self._progression is None) and (present != TRUE or size > 2):
            self._literals = tuple(model.new_literal() for _ in range(size))
            model.exactly_one([*self._literals, ~present])

    @cached_property
    def x(self) -> int:
        """The variable."""
        last = len(self.domain) - 1
        x = self.model.new_variable(((0 if self.present == TRUE else -1, last),))
        if self.present != TRUE:
            self.model.define(x, ((0, last),), self.present)
        for index, literal in enumerate(self._literals):
            self.model.define(x, ((index, index),), literal)
        return x

    def settle(self) -> None:
        """Make the variable if there are no literals, so that the model holds the slot."""
        if not self._literals:
            assert self.x

    def at(self, indices: Iterable[int]) -> Lit:
        """True where the slot takes one of these indices (-1: it is absent)."""
        if not self._literals:
            return self.model.is_within(self.model.of(self.x), IndexSet.of(indices).spans)
        wanted = set(indices)
        absent = [~self.present] if ABSENT_INDEX in wanted else []
        found = [self._literals[index] for index in wanted if 0 <= index < len(self._literals)]
        whole = len(found) == len(self._literals)
        return self.model.any_of([*([self.present] if whole else found), *absent])

    def narrowed(self, spans: Sequence[Span]) -> dict[int, tuple[Span, ...]]:
        """Domains of variables that say that the index lies in ``spans``."""
        if not self._literals:
            return {self.x: tuple(spans)}
        kept = {index for lo, hi in spans for index in range(lo, hi + 1)}
        out: dict[int, tuple[Span, ...]]
        out = {literal: ((0, 0),) for index, literal in enumerate(self._literals) if index not in kept}
        if len(kept) == 1 and ABSENT_INDEX not in kept:
            out[self._literals[kept.pop()]] = ((1, 1),)
        return out

    def index(self, values: Sequence[int]) -> int:
        """The slot's index in a solution of the model."""
        if not self._literals:
            return values[self.x]
        taken = (index for index, literal in enumerate(self._literals) if values[literal])
        return next(taken, ABSENT_INDEX)

    def hinted(self, index: int) -> dict[int, int]:
        """Values of variables for a solution in which the slot takes ``index``."""
        if not self._literals:
            return {self.x: index}
        return {literal: int(at == index) for at, literal in enumerate(self._literals)}

    @cached_property
    def _codes(self) -> Sequence[Scalar]:
        return [self.domain.code(index) for index in range(len(self.domain))]

    @cached_property
    def _numbers(self) -> dict[int, int]:
        codes = enumerate(self._codes)
        return {index: c for index, c in codes if isinstance(c, int) and not isinstance(c, bool)}

    @property
    def is_number(self) -> Lit:
        return self.present if self._progression is not None else self.at(self._numbers)

    @property
    def number(self) -> Affine:
        return self._number

    @cached_property
    def _number(self) -> Affine:
        codes = self._progression
        if codes is not None:
            return self.model.affine({self.x: codes.step}, codes.lo)
        return number_among(self.model, [(self.at([index]), code) for index, code in self._numbers.items()])

    @property
    def cases(self) -> Cases:
        return self._cases

    @cached_property
    def _cases(self) -> Cases:
        found: dict[Case, Lit] = {} if self.present == TRUE else {Mark.ABSENT: ~self.present}
        if self._progression is None:
            others = ((index, code) for index, code in enumerate(self._codes) if index not in self._numbers)
            found.update((typed_key(code), self.at([index])) for index, code in others)
        return found

    def equals(self, code: Scalar) -> Lit:
        index = self.domain.index_of_code(code)
        return FALSE if index is None else self.at([index])

    def marked(self, *marks: Mark) -> Lit:
        return ~self.present if Mark.ABSENT in marks else FALSE


def progression(domain: Domain) -> IntRange | None:
    """The codes of a domain where they are an arithmetic progression by construction."""
    return IntRange(0, domain.size - 1) if isinstance(domain, BranchDomain) else domain.stride


def number_among(model: Model, options: Sequence[tuple[Lit, int]]) -> Affine:
    """A number that is ``code`` where its literal holds; at most one of the literals does."""
    codes = {code for _, code in options}
    if len(codes) < 2:
        return model.constant(codes.pop() if codes else 0)
    variable = model.new_variable([(code, code) for code in codes])
    for literal, code in options:
        model.within(model.of(variable), ((code, code),), [literal])
    return model.of(variable)


def known(model: Model, code: Code) -> Value:
    """A constant."""
    if isinstance(code, int) and not isinstance(code, bool):
        return Made(model, TRUE, model.constant(code), {})
    return Made(model, FALSE, None, {code if isinstance(code, Mark) else typed_key(code): TRUE})


def select(model: Model, options: Sequence[tuple[Lit, Value]]) -> Value:
    """The value whose literal holds; exactly one of the literals does."""
    options = [(literal, value) for literal, value in options if literal != FALSE]
    if len(options) == 1:
        return options[0][1]
    cases: dict[Case, list[Lit]] = {}
    numbers: list[tuple[Lit, Affine]] = []
    for literal, value in options:
        if value.is_number != FALSE:
            numbers.append((model.all_of([literal, value.is_number]), value.number))
        for case, own in value.cases.items():
            cases.setdefault(case, []).append(model.all_of([literal, own]))
    joined = {case: model.any_of(own) for case, own in cases.items()}
    return Made(model, model.any_of(literal for literal, _ in numbers), _joined(model, numbers), joined)


def _joined(model: Model, numbers: Sequence[tuple[Lit, Affine]]) -> Affine | None:
    """The expression whose literal holds; at most one of the literals does."""
    distinct = {expression for _, expression in numbers}
    if len(distinct) < 2:
        return distinct.pop() if distinct else None
    if all(not expression.terms for expression in distinct):
        return number_among(model, [(literal, expression.constant) for literal, expression in numbers])
    lo, hi = min(e.lo for e in distinct), max(e.hi for e in distinct)
    variable = model.new_variable(((lo, hi),))
    for literal, expression in numbers:
        model.within(model.total([(model.of(variable), 1), (expression, -1)]), ((0, 0),), [literal])
    return model.of(variable)
