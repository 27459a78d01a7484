"""Declared relations of the kinds over texts."""

from __future__ import annotations

from collections.abc import Sequence

from factorspec_sdk.records.declarations import Scope
from factorspec_sdk.records.kinds import OverPaths
from factorspec_sdk.records.parameters import InlineTable, Param, ParamTable, Template


class SubstringOf(OverPaths):
    """Texts are verbatim pieces of a text that is known before."""

    def __init__(
        self,
        paths: Sequence[str],
        of: str | Sequence[str] | Param,
        name: str | None,
        why: str | None,
        *,
        enforce: bool,
    ) -> None:
        super().__init__(paths, name, why, enforce=enforce)
        self.of = of

    @property
    def default_name(self) -> str:
        source = self.of.name if isinstance(self.of, Param) else "the text"
        return f"verbatim in {source}: {self.listed}"

    def build(self, scope: Scope) -> dict[str, Template] | None:
        if not self.paths:
            scope.fail("", "at least one path is needed")
        found = [scope.texts(text) for text in self.paths]
        table = self._table(scope)
        if table is None:
            return None
        paths: list[Template] = [str(one.path) for one in found if one is not None]
        return {"kind": "substring_of", "over": paths, "table": table}

    def _table(self, scope: Scope) -> ParamTable | InlineTable | None:
        if isinstance(self.of, Param):
            return ParamTable(self.of, 1, single=True)
        texts: list[object] = [self.of] if isinstance(self.of, str) else [*self.of]
        found = [text for text in texts if isinstance(text, str)]
        if not texts or len(found) < len(texts):
            scope.fail("of", f"a source is a text, or several: not {self.of!r}")
            return None
        return InlineTable(tuple((text,) for text in found))
