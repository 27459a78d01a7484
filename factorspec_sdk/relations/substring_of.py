"""``substring_of``: a text is a verbatim piece of one of some texts that arrive with the request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from factorspec_sdk.automata.tables import membership
from factorspec_sdk.automata.tries import build_trie
from factorspec_sdk.errors import shown
from factorspec_sdk.relations.base import PathText, RelationBase
from factorspec_sdk.relations.evaluate import Truth
from factorspec_sdk.relations.unrolled import FreePart, LeafPart, Part, branches
from factorspec_sdk.relations.view import Tables, View, quantity

if TYPE_CHECKING:
    from factorspec_sdk.automata.nodes import Condition
    from factorspec_sdk.relations.lowering import Lowering


class SubstringOf(RelationBase):
    """Each named text occurs, character by character, in a cell of the table.

    Null, absent ones and what is no text are left out. The empty text occurs in every text, if there is one.
    Free text is masked along the source, values of a finite domain are looked up.
    """

    kind: Literal["substring_of"] = "substring_of"
    over: Annotated[tuple[PathText, ...], Field(min_length=1)]
    table: str

    def holds(self, view: View) -> Truth:
        return self._stray(view) is None

    def explain(self, view: View) -> str:
        stray = self._stray(view)
        if stray is None:
            return "all texts are pieces of the source"
        return f"{stray[0]} = {shown(stray[1])} does not occur verbatim in {self.table!r}"

    def lower(self, lowering: Lowering) -> Iterable[Condition]:
        texts = _texts(lowering.tables, self.table)
        for part in self._parts(lowering):
            if isinstance(part, LeafPart):
                domain = part.domain
                rows = [
                    (domain.code(index),)
                    for index in range(len(domain))
                    if not isinstance(value := domain.value(index), str) or _occurs(value, texts)
                ]
                keys = (lowering.leaf(part),)
                yield membership(lowering.store, build_trie(rows, (0,), None), keys, True)

    def sources(self, lowering: Lowering) -> Iterable[tuple[FreePart, tuple[str, ...]]]:
        texts = _texts(lowering.tables, self.table)
        return [(part, texts) for part in self._parts(lowering) if isinstance(part, FreePart)]

    def _parts(self, lowering: Lowering) -> Iterator[Part]:
        for part in (part for path in self.over for part in lowering.parts(path)):
            yield from branches(part)

    def _stray(self, view: View) -> tuple[str, str] | None:
        texts = _texts(view.tables, self.table)
        for path, value in (field for over in self.over for field in view.resolve(over)):
            code = quantity(value).code
            if isinstance(code, str) and not _occurs(code, texts):
                return path, code
        return None


def _texts(tables: Tables, name: str) -> tuple[str, ...]:
    """The cells of a table that are texts."""
    return tuple(cell for row in tables[name] for cell in row if isinstance(cell, str))


def _occurs(text: str, texts: Sequence[str]) -> bool:
    return any(text in source for source in texts)
