"""``minimum``: the least of the named fields, compared with a value."""

from __future__ import annotations

from typing import Literal

from factorspec_sdk.relations.extremum import Extremum


class Minimum(Extremum):
    """XCSP3 ``minimum`` over integers, dates or times. Null and absent fields: see ``Extremum``."""

    kind: Literal["minimum"] = "minimum"

    @property
    def sign(self) -> int:
        return 1
