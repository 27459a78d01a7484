"""``subset_of``: every value of one list occurs in another list, or in a column of a table."""

from __future__ import annotations

from typing import Literal

from factorspec_sdk.relations.inclusion import Occurring


class SubsetOf(Occurring):
    """The values as sets, so repeats do not matter. For null and absent fields see ``Occurring``."""

    kind: Literal["subset_of"] = "subset_of"
