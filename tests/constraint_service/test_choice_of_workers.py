"""Which worker a record is opened at."""

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, cast

from factorspec_server.constraint_service.openings import Openings
from factorspec_server.constraint_service.record import Opening


class Link:
    """A worker that opens what it is given at once, or keeps it waiting."""

    def __init__(self, known: tuple[bytes, ...] = (), *, is_busy: bool = False) -> None:
        self.records: set[int] = set()
        self.opening = self.latest = 0
        self._known = known
        self._is_busy = is_busy

    @property
    def load(self) -> int:
        return len(self.records) + 4 * self.opening

    def knows(self, spec: bytes) -> bool:
        return spec in self._known

    def call(self, _kind: str, _body: bytes = b"", **_fields: Any) -> Future[Any]:
        answer: Future[Any] = Future()
        if not self._is_busy:
            answer.set_result(({}, b""))
        return answer


def openings_at(links: list[Link]) -> Openings:
    keeper = SimpleNamespace(ready_links=lambda _until: links, look=lambda: None)
    return Openings(cast(Any, keeper), 5.0)


def opened(links: list[Link], *specs: bytes, openings: Openings | None = None) -> list[int]:
    """Where records of these specs are opened, one after the other."""
    openings = openings or openings_at(links)
    found = [openings.open(Opening(b"{}", spec, None, "narrow"), 0, until=1e12) for spec in specs]
    return [links.index(cast(Any, place.link)) for place in found]


def test_new_specs_go_round() -> None:
    links = [Link(), Link(), Link()]
    assert opened(links, *map(bytes, range(7))) == [0, 1, 2, 0, 1, 2, 0]


def test_records_that_ended_do_not_make_a_worker_the_first_again() -> None:
    links = [Link(), Link(), Link()]
    openings = openings_at(links)
    for expected in (0, 1, 2, 0):
        assert opened(links, b"new", openings=openings) == [expected]
        for link in links:
            link.records.clear()


def test_a_worker_that_has_the_spec_is_preferred_while_it_has_not_much_more_to_do() -> None:
    links = [Link(), Link((b"known",)), Link()]
    assert opened(links, *[b"known"] * 5) == [1] * 5
    links[1].records.update(range(100, 200))
    assert opened(links, b"known", b"known") == [0, 2]


def test_workers_that_compile_are_given_others_last() -> None:
    links = [Link(), Link()]
    links[0].opening = 1
    assert opened(links, *map(bytes, range(4))) == [1, 1, 1, 1]
