"""Relations on a concrete record: verdicts, one by one, with explanations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from factorspec_sdk.relations import Relation
from factorspec_sdk.relations.view import View


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one relation says about one object of a record.

    name: the relation's name. place: path of the object that holds it, "" for the whole record.
    outcome: "holds", "broken", or "unknown" (it speaks of null or absent fields; not broken).
    explanation: why it is broken, with fields and values; "" otherwise. why: the relation's own text.
    """

    name: str
    place: str
    outcome: Literal["holds", "broken", "unknown"]
    explanation: str
    why: str | None
    enforced: bool

    def __str__(self) -> str:
        where = f" in {self.place}" if self.place else ""
        why = f" ({self.why})" if self.why else ""
        return f"relation {self.name!r}{why}{where}: {self.explanation or self.outcome}"


def check_relation(relation: Relation, view: View) -> Verdict:
    """The verdict of one relation on the object that ``view`` shows."""
    truth = relation.holds(view)
    outcome: Literal["holds", "broken", "unknown"] = (
        "unknown" if truth is None else "holds" if truth else "broken"
    )
    explanation = relation.explain(view) if truth is False else ""
    return Verdict(relation.name, view.prefix, outcome, explanation, relation.why, relation.enforce)


def check_relations(relations: Iterable[Relation], view: View) -> list[Verdict]:
    """Verdicts of several relations on one object."""
    return [check_relation(relation, view) for relation in relations]
