"""The step thread waits for whichever worker is out first, and asks one worker after the other."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from time import monotonic, sleep

import pytest

from factorspec_server.constraint_service import ConstraintService, Wanted
from factorspec_server.constraint_service.link import Link, wait_for
from factorspec_server.constraint_service.memory import PLANS, Layout, Memory
from tests.constraint_service.pairs import NOTES

_LONG_S = 20.0


@pytest.fixture
def links() -> Iterator[list[Link]]:
    """Two workers that nobody is: tests ring their bells."""
    memory, fd = Memory.create(Layout(workers=2, records=1, rows=1, row_words=1, most_tokens=8))
    made = [Link(number, 0, memory) for number in range(2)]
    yield made
    for link in made:
        for end in (link.step_socket, link.control_socket, *link.ends):
            end.close()
    os.close(fd)


def _ring(link: Link, step: int) -> None:
    link._memory.ring(link.number, PLANS, step)
    link.ends[0].send(b"b")


def test_whoever_is_out_is_told_while_another_plans(links: list[Link]) -> None:
    """Nobody waits for the second one."""
    _ring(links[0], 3)
    began = monotonic()
    assert wait_for({links[0]: 3, links[1]: 3}, PLANS, began + _LONG_S) == [links[0]]
    assert monotonic() - began < _LONG_S / 2


def test_a_bell_wakes_the_step_thread(links: list[Link]) -> None:
    """Rung while it sleeps."""
    ringer = threading.Timer(0.05, _ring, (links[1], 7))
    ringer.start()
    began = monotonic()
    assert wait_for({links[0]: 7, links[1]: 7}, PLANS, began + _LONG_S) == [links[1]]
    assert monotonic() - began < _LONG_S / 2
    ringer.join()


def test_nobody_is_told_once_the_time_is_over(links: list[Link]) -> None:
    """A bell of an earlier step is none."""
    _ring(links[0], 1)
    assert wait_for({links[0]: 2, links[1]: 2}, PLANS, monotonic() + 0.01) == []


def test_a_dead_worker_is_told(links: list[Link]) -> None:
    """Else whoever asks would wait for it as long as for a silent one."""
    for end in links[1].ends:
        end.close()
    began = monotonic()
    assert wait_for({links[0]: 1, links[1]: 1}, PLANS, began + _LONG_S) == [links[1]]
    assert monotonic() - began < _LONG_S / 2


def test_a_worker_is_asked_before_the_next_ones_questions_are_written(
    service: ConstraintService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it plans meanwhile."""
    until = monotonic() + _LONG_S
    while service.stats().workers_alive < 2 and monotonic() < until:
        sleep(0.01)
    records = [service.open({**NOTES, "title": f"{number}"}) for number in range(6)]
    done: list[Link | str] = []
    send = Link.send_packet

    def sent(self: Link, packet: bytes) -> None:
        done.append(self)
        send(self, packet)

    monkeypatch.setattr(Link, "send_packet", sent)
    for record in records:

        def tokens_from(start: int, link: Link = record.place.link) -> list[int]:
            done.append(f"{link.number}")
            return []

        monkeypatch.setattr(record, "tokens_from", tokens_from)
    plans = service.plans([Wanted(record, 8) for record in records])
    assert not [plan for plan in plans if isinstance(plan, Exception)]
    used = {record.place.link for record in records}
    assert len(used) > 1
    heads = [each for each in done if isinstance(each, Link)]
    assert len(heads) == len(used)
    for link in used:
        numbers = [at for at, each in enumerate(done) if each == f"{link.number}"]
        assert done[numbers[-1] + 1] is link
        assert numbers == list(range(numbers[0], numbers[-1] + 1))
    for record in records:
        record.close()
