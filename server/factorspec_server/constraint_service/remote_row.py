"""The allowed tokens of a decision whose list is too long to stand beside its plan: a mask row."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from factorspec_sdk.tokens import Allowed
from factorspec_sdk.tokens.masks import Ids, Row


class RowSource(Protocol):
    """Where the rows of one plan come from. Errors are those of the record's worker, and EngineError."""

    def shared(self, row: int, /) -> Row | None:
        """The row in shared memory, if it is still of this plan; waits until it is written."""

    def asked(self, node: int, /) -> Row:
        """The row behind a node, asked for by a message."""


class RemoteRow(Allowed):
    """As ``Allowed``. Its row may be read until the record is asked about again; what was looked at as a
    whole before (``ids``) stays.
    """

    __slots__ = ("_node", "_number", "_source")

    def __init__(self, count: int, source: RowSource, node: int, number: int | None) -> None:
        """``number``: of the row in shared memory; None: it has to be asked for."""
        super().__init__(None, None, count)
        self._source = source
        self._node = node
        self._number = number

    def _now(self) -> Row:
        """The row, as long as nothing else is asked."""
        if self._row is not None:
            return self._row
        shared = None if self._number is None else self._source.shared(self._number)
        if shared is not None:
            return shared
        self._row = self._source.asked(self._node)
        return self._row

    def _load(self) -> None:
        if self._row is None:
            self._row = self._now().copy()

    def ids(self) -> Ids:
        """See ``Allowed``."""
        self._load()
        return super().ids()

    def only(self) -> int | None:
        """See ``Allowed``."""
        self._load()
        return super().only()

    def write_row(self, out: Row, holds: Allowed | None = None) -> None:
        """See ``Allowed``. Waits until the worker has written the row."""
        out[:] = self._now()

    def take_out(self, out: Row) -> bool:
        """See ``Allowed``: it is not quick."""
        return False

    def __contains__(self, token_id: object) -> bool:
        if type(token_id) is not int and not isinstance(token_id, int | np.integer):
            return False
        row = self._now()
        word = int(token_id) >> 5
        return 0 <= word < len(row) and bool((int(row[word]) >> (int(token_id) & 31)) & 1)

    __eq__ = Allowed.__eq__
    __hash__ = Allowed.__hash__
