"""``maximum``: the greatest of the named fields, compared with a value."""

from __future__ import annotations

from typing import Literal

from factorspec_sdk.relations.extremum import Extremum


class Maximum(Extremum):
    """XCSP3 ``maximum`` over integers, dates or times. Null and absent fields: see ``Extremum``."""

    kind: Literal["maximum"] = "maximum"

    @property
    def sign(self) -> int:
        return -1
