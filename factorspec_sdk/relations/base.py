"""What every relation kind has in common: a frozen model whose fields are its JSON."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from factorspec_sdk.relations.evaluate import Truth
from factorspec_sdk.relations.expressions import WireModel
from factorspec_sdk.relations.view import View

if TYPE_CHECKING:
    from factorspec_sdk.automata.nodes import Condition
    from factorspec_sdk.relations.lowering import Lowering
    from factorspec_sdk.relations.unrolled import FreePart

#: a path below the object that holds the relation, or below a binder's name
PathText = Annotated[str, Field(min_length=1, max_length=1000)]


class RelationBase(WireModel, ABC):
    """Fields and contract shared by all kinds.

    name: unique within the object that holds it; errors and conflicts use it.
    why: one sentence that explains the relation to people.
    enforce: False for report-only relations: checked and named in the result, not enforced.
    on_lengths: every relation of this kind speaks of lengths of lists, without the word ``len``.
    """

    on_lengths: ClassVar[bool] = False

    name: Annotated[str, Field(min_length=1, max_length=200)]
    why: str | None = None
    enforce: bool = True

    @abstractmethod
    def holds(self, view: View) -> Truth:
        """Meaning: False breaks the relation, None (unknown) does not. The oracle of ``lower``."""

    @abstractmethod
    def explain(self, view: View) -> str:
        """Why the relation does not hold here: the fields, their values and what was expected."""

    def sources(self, lowering: Lowering) -> Iterable[tuple[FreePart, tuple[str, ...]]]:
        """Free texts that must be verbatim pieces of one of some texts; none for most kinds."""
        return ()

    @abstractmethod
    def lower(self, lowering: Lowering) -> Iterable[Condition]:
        """The same relation as conditions on slots; a record satisfies it if none of them is false."""
