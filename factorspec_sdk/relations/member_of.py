"""``member_of``: each of the fields takes a value that occurs in another list, or in a column of a table."""

from __future__ import annotations

from typing import Literal

from factorspec_sdk.relations.inclusion import Occurring


class MemberOf(Occurring):
    """A foreign key: ``edges[*].source`` is one of ``nodes[*].id``. Null and absent fields: ``Occurring``."""

    kind: Literal["member_of"] = "member_of"
