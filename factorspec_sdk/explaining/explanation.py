"""All that can be said about one record: what does not fit, which relations are broken, what is nearest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from factorspec_sdk.errors import InfeasibleError, Problem
from factorspec_sdk.explaining.nearest_record import Nearest, nearest
from factorspec_sdk.explaining.placing import place
from factorspec_sdk.explaining.subject import RecordLike, SpecLike, record_of, spec_of
from factorspec_sdk.graph.compile import STEP_BUDGET
from factorspec_sdk.graph.unroll import unroll
from factorspec_sdk.relations.checking import Verdict
from factorspec_sdk.wire.check import check_spec


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is wrong with a record.

    problems: values outside their domains, missing and unknown fields, texts that are too short or too long.
        Patterns, formats and open values are not looked at; ``factorspec check`` and the model do.
    broken: relations that do not hold, report-only ones included, with fields, items and values.
    nearest: the valid record with the fewest changes; None where ``error`` says why there is none.
    """

    problems: tuple[Problem, ...]
    broken: tuple[Verdict, ...]
    nearest: Nearest | None
    error: InfeasibleError | None = None

    @property
    def is_valid(self) -> bool:
        """True if the record fits and every enforced relation holds."""
        return not self.problems and not any(verdict.enforced for verdict in self.broken)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield "the record is valid" if self.is_valid else "the record is not valid:"
        for problem in self.problems:
            yield f"  - {problem}"
        for verdict in self.broken:
            yield f"  - {verdict}" + ("" if verdict.enforced else " [report only]")
        if self.error is not None:
            yield str(self.error)
        elif self.nearest is not None and not self.is_valid:
            yield f"nearest valid record, {self.nearest}"


def explain(subject: SpecLike, record: RecordLike, step_budget: int = STEP_BUDGET) -> Explanation:
    """What is wrong with a record, and the nearest valid one.

    Args:
        subject: a spec, or a model (bound, if it has parameters).
        record: JSON, or an instance of the model.
        step_budget: for each question to the constraint core.

    Raises:
        RecordError: as ``nearest``.
        FactorspecError: a model that cannot be enforced.
    """
    spec, plain = spec_of(subject), record_of(record)
    unrolled = unroll(spec.root)
    problems = tuple(place(unrolled.root, plain, unrolled.holes).strays)
    broken = tuple(verdict for verdict in check_spec(spec, plain) if verdict.outcome == "broken")
    try:
        return Explanation(problems, broken, nearest(spec, plain, step_budget))
    except InfeasibleError as error:
        return Explanation(problems, broken, None, error)
