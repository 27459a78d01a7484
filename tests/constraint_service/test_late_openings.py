"""Records that are opened when nobody waits for them any more."""

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, cast

import pytest

from factorspec_sdk.errors import EngineError
from factorspec_server.constraint_service.kept_record import KeptRecord, place_record
from factorspec_server.constraint_service.openings import Openings
from factorspec_server.constraint_service.record import Opening


class SlowLink:
    """A worker that answers pings at once, and opens when it is told to."""

    def __init__(self) -> None:
        self.records: set[int] = set()
        self.opening = self.latest = 0
        self.load = 0
        self.compiled: Future[tuple[dict[str, Any], bytes]] = Future()
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def knows(self, _spec: bytes) -> bool:
        return False

    def call(self, kind: str, _body: bytes = b"", **fields: Any) -> Future[Any]:
        self.asked.append((kind, fields))
        if kind == "open":
            return self.compiled
        answered: Future[Any] = Future()
        answered.set_result((None, b""))
        return answered


def test_a_record_that_comes_too_late_is_closed_and_no_load() -> None:
    link = SlowLink()
    keeper = SimpleNamespace(ready_links=lambda _until: [link], look=lambda: None)
    with pytest.raises(EngineError, match="compiling it takes too long"):
        Openings(cast(Any, keeper), 5.0).open(Opening(b"{}", b"", None, "narrow"), 3, until=0.0)
    assert link.opening == 1
    link.compiled.set_result(({}, b""))
    assert (link.opening, link.records) == (0, set())
    assert [kind for kind, _ in link.asked] == ["open", "ping", "close"]
    opened, closed = link.asked[0][1], link.asked[2][1]
    assert closed == {"slot": 3, "serial": opened["serial"]}


@pytest.mark.parametrize(
    ("held", "serial", "stays"),
    [(None, 5, 5), (4, 5, 5), (6, 5, 6), (0x7FFFFFFF, 1, 1), (2, 0x7FFFFFF0, 2)],
)
def test_a_slot_keeps_its_newest_record(held: int | None, serial: int, stays: int) -> None:
    def record(number: int) -> KeptRecord:
        return cast(KeptRecord, SimpleNamespace(slot=1, serial=number))

    records = {} if held is None else {1: record(held)}
    place_record(records, record(serial))
    assert records[1].serial == stays
