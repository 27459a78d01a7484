"""A CP-SAT model as the encoder writes it: variables, literals, linear expressions.

A literal is a number, as in CP-SAT's protocol buffer: ``v`` says that variable v is 1, ``~v`` that it is 0.
Variable 0 is the constant 1, so that ``TRUE`` and ``FALSE`` are literals too, and constants fold away::

    variables   0: [1, 1]   1: [lo, hi] ..     literals   v >= 0: v is 1      ~v = -v - 1: v is 0
    Affine      sum of (variable, coefficient), plus a constant, with its bounds

Definitions (``all_of``, ``is_within``) are made once and hold in both directions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from factorspec_sdk.errors import MissingExtra
from factorspec_sdk.fields.intervals import Intervals, Span

if TYPE_CHECKING:
    from ortools.sat.python import cp_model, cp_model_helper

Lit = int
TRUE: Lit = 0
FALSE: Lit = ~TRUE
#: bounds beyond which no expression may go: CP-SAT computes in 64 bits
LARGEST = 1 << 52
#: variables and constraints of one model: five seconds to write
MAX_SIZE = 100_000
_ENDLESS = 1 << 60
#: what comparisons with 0 leave
AT_MOST_ZERO: tuple[Span, ...] = ((-_ENDLESS, 0),)
ZERO: tuple[Span, ...] = ((0, 0),)
NOT_ZERO: tuple[Span, ...] = ((-_ENDLESS, -1), (1, _ENDLESS))


class NotEncodable(Exception):
    """A condition has no form that CP-SAT takes within the limits; the message says why."""


def import_cp_sat() -> type[cp_model.CpModel]:
    """CP-SAT's model class.

    Raises:
        MissingExtra: OR-Tools is not installed.
    """
    try:
        from ortools.sat.python.cp_model import CpModel
    except ImportError as error:
        raise MissingExtra("this spec needs CP-SAT; run: pip install 'factorspec[solver]'") from error
    return CpModel


@dataclass(frozen=True, slots=True)
class Affine:
    """Σ coefficient · variable + constant. terms: by rising variable, no coefficient is 0."""

    terms: tuple[tuple[int, int], ...]
    constant: int
    lo: int
    hi: int


class Model:
    """One CP-SAT model that grows. Raises ``NotEncodable`` where numbers get too large.

    domains: the values of each variable as they were declared. size: variables and constraints.
    """

    def __init__(self) -> None:
        self.cp = import_cp_sat()()
        self.proto = self.cp.proto
        self.domains: list[tuple[Span, ...]] = []
        self.size = 0
        self._defined: dict[object, Lit] = {}
        self.new_variable(((1, 1),))

    def add(self) -> cp_model_helper.ConstraintProto:
        """A constraint that is still empty."""
        self._count()
        constraint: cp_model_helper.ConstraintProto = self.proto.constraints.add()
        return constraint

    def _count(self) -> None:
        self.size += 1
        if self.size > MAX_SIZE:
            raise NotEncodable(f"its model has more than {MAX_SIZE} variables and constraints")

    # -- variables and expressions ----------------------------------------------------------------

    def new_variable(self, spans: Sequence[Span]) -> int:
        """A variable with the values of ``spans``, in any order."""
        self._count()
        domain = Intervals.union(spans).spans
        variable = self.proto.variables.add()
        variable.domain.extend([end for span in domain for end in span])
        self.domains.append(domain)
        return len(self.domains) - 1

    def new_literal(self) -> Lit:
        """A truth of its own."""
        return self.new_variable(((0, 1),))

    def affine(self, terms: Mapping[int, int], constant: int = 0) -> Affine:
        """The expression Σ coefficient · variable + constant."""
        kept = tuple(sorted((variable, factor) for variable, factor in terms.items() if factor))
        lo = hi = constant
        for variable, factor in kept:
            ends = factor * self.domains[variable][0][0], factor * self.domains[variable][-1][1]
            lo, hi = lo + min(ends), hi + max(ends)
        self.check(lo, hi)
        return Affine(kept, constant, lo, hi)

    def check(self, lo: int, hi: int) -> None:
        """Refuse bounds that CP-SAT cannot compute with."""
        if max(-lo, hi) > LARGEST:
            raise NotEncodable("its numbers are too large")

    def write(self, target: cp_model_helper.LinearExpressionProto, expression: Affine) -> None:
        """Write an expression into a constraint."""
        target.vars.extend([variable for variable, _ in expression.terms])
        target.coeffs.extend([factor for _, factor in expression.terms])
        target.offset = expression.constant

    def of(self, variable: int) -> Affine:
        """A variable as an expression."""
        return self.affine({variable: 1})

    def constant(self, number: int) -> Affine:
        """A number as an expression."""
        return self.affine({}, number)

    def counted(self, literal: Lit) -> Affine:
        """1 where the literal holds, else 0."""
        if literal in (TRUE, FALSE):
            return self.constant(int(literal == TRUE))
        return self.affine({literal: 1}) if literal >= 0 else self.affine({~literal: -1}, 1)

    def total(self, parts: Iterable[tuple[Affine, int]], constant: int = 0) -> Affine:
        """Σ factor · part + constant."""
        terms: dict[int, int] = {}
        for part, factor in parts:
            constant += factor * part.constant
            for variable, own in part.terms:
                terms[variable] = terms.get(variable, 0) + factor * own
        return self.affine(terms, constant)

    def affine_form(self, expression: Affine) -> Affine:
        """The expression with at most one variable, as some constraints want it."""
        if len(expression.terms) < 2:
            return expression
        found = self.of(self.new_variable(((expression.lo, expression.hi),)))
        self.within(self.total([(found, 1), (expression, -1)]), ZERO)
        return found

    # -- logic ------------------------------------------------------------------------------------

    def clause(self, literals: Iterable[Lit]) -> None:
        """At least one of the literals holds."""
        kept = set(literals) - {FALSE}
        if TRUE in kept or any(~literal in kept for literal in kept):
            return
        self.add().bool_or.literals.extend(sorted(kept))

    def exactly_one(self, literals: Iterable[Lit]) -> None:
        """One of the literals holds, the others do not."""
        kept = [literal for literal in literals if literal != FALSE]
        self.add().exactly_one.literals.extend(kept)

    def all_of(self, literals: Iterable[Lit]) -> Lit:
        """True where all literals hold."""
        kept = set(literals) - {TRUE}
        if FALSE in kept or any(~literal in kept for literal in kept):
            return FALSE
        if len(kept) < 2:
            return next(iter(kept), TRUE)
        key = ("all", frozenset(kept))
        found = self._defined.get(key)
        if found is None:
            found = self._defined[key] = self.new_literal()
            forward = self.add()
            forward.enforcement_literal.append(found)
            forward.bool_and.literals.extend(sorted(kept))
            self.clause([found, *(~literal for literal in kept)])
        return found

    def any_of(self, literals: Iterable[Lit]) -> Lit:
        """True where at least one literal holds."""
        return ~self.all_of(~literal for literal in literals)

    # -- linear -----------------------------------------------------------------------------------

    def within(self, expression: Affine, spans: Sequence[Span], when: Iterable[Lit] = ()) -> None:
        """Where all of ``when`` hold, the expression lies in ``spans``."""
        conditions = sorted(set(when) - {TRUE})
        if FALSE in conditions:
            return
        kept = _clipped(spans, expression.lo, expression.hi)
        if kept == ((expression.lo, expression.hi),):
            return
        if not kept:
            self.clause(~literal for literal in conditions)
            return
        constraint = self.add()
        constraint.enforcement_literal.extend(conditions)
        linear = constraint.linear
        linear.vars.extend([variable for variable, _ in expression.terms])
        linear.coeffs.extend([factor for _, factor in expression.terms])
        linear.domain.extend([end - expression.constant for span in kept for end in span])

    def is_within(self, expression: Affine, spans: Sequence[Span]) -> Lit:
        """True where the expression lies in ``spans``."""
        kept = _clipped(spans, expression.lo, expression.hi)
        if not kept:
            return FALSE
        if kept == ((expression.lo, expression.hi),):
            return TRUE
        shifted = tuple((lo - expression.constant, hi - expression.constant) for lo, hi in kept)
        if len(expression.terms) == 1 and expression.terms[0][1] == 1:
            return self._variable_within(expression.terms[0][0], shifted)
        key = ("within", expression.terms, shifted)
        found = self._defined.get(key)
        if found is None:
            found = self._defined[key] = self.new_literal()
            self.within(expression, kept, [found])
            self.within(expression, _outside(kept, expression.lo, expression.hi), [~found])
        return found

    def equals(self, expression: Affine, number: int) -> Lit:
        """True where the expression is ``number``."""
        return self.is_within(expression, ((number, number),))

    def define(self, variable: int, spans: Sequence[Span], literal: Lit) -> None:
        """``literal`` is the truth of "the variable lies in ``spans``"."""
        domain = self.domains[variable]
        self._defined["within", ((variable, 1),), _meet(domain, spans)] = literal
        outside = _meet(domain, _outside(spans, domain[0][0], domain[-1][1]))
        self._defined["within", ((variable, 1),), outside] = ~literal
        self.within(self.of(variable), spans, [literal])
        self.within(self.of(variable), outside, [~literal])

    def _variable_within(self, variable: int, spans: Sequence[Span]) -> Lit:
        """``is_within`` of a variable, by the values of its domain that are meant."""
        domain = self.domains[variable]
        inside = _meet(domain, spans)
        if not inside or inside == domain:
            return TRUE if inside else FALSE
        if domain == ((0, 1),):
            return variable if inside == ((1, 1),) else ~variable
        found = self._defined.get(("within", ((variable, 1),), inside))
        if found is None:
            found = self.new_literal()
            self.define(variable, inside, found)
        return found


def _clipped(spans: Sequence[Span], lo: int, hi: int) -> tuple[Span, ...]:
    """What lies in ``[lo, hi]``."""
    return tuple((max(a, lo), min(b, hi)) for a, b in spans if a <= hi and b >= lo)


def _outside(spans: Sequence[Span], lo: int, hi: int) -> tuple[Span, ...]:
    """What of ``[lo, hi]`` lies in none of the spans."""
    out, start = [], lo
    for a, b in spans:
        if a > start:
            out.append((start, a - 1))
        start = max(start, b + 1)
    return (*out, (start, hi)) if start <= hi else tuple(out)


def _meet(left: Sequence[Span], right: Sequence[Span]) -> tuple[Span, ...]:
    """The intersection."""
    return tuple((max(a, c), min(b, d)) for a, b in left for c, d in right if a <= d and c <= b)
