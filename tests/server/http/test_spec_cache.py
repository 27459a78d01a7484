"""The cache of compiled specs: bounds, one making at a time, failures."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from factorspec_server.http.spec_cache import SpecCache


def keys(cache: SpecCache[str], asked: str) -> str:
    """Which of the asked keys have to be made now."""
    return "".join(key for key in asked if not cache.get(key, lambda key=key: key).was_cached)  # type: ignore[misc]


def test_the_least_recently_used_goes_first() -> None:
    cache: SpecCache[str] = SpecCache(max_entries=2, max_bytes=100, size_of=lambda _: 1)
    assert keys(cache, "aba") == "ab"
    assert keys(cache, "c") == "c"
    assert keys(cache, "a") == ""
    assert keys(cache, "b") == "b"
    assert len(cache) == cache.num_bytes == 2


def test_bytes_are_bounded_and_too_large_values_are_not_kept() -> None:
    cache: SpecCache[str] = SpecCache(max_entries=10, max_bytes=10, size_of=len)
    for key in "abc":
        cache.get(key, lambda: "four")
    assert (len(cache), cache.num_bytes) == (2, 8)
    for _ in range(2):
        assert not cache.get("huge", lambda: "eleven char").was_cached
        assert cache.num_bytes <= 10


def test_values_that_grew_are_measured_anew_when_they_are_used() -> None:
    cache: SpecCache[list[int]] = SpecCache(max_entries=10, max_bytes=10, size_of=len)
    first, second = [0] * 4, [0] * 4
    cache.get("first", lambda: first)
    cache.get("second", lambda: second)
    first += [0] * 5
    assert cache.find("first") is first
    assert (len(cache), cache.num_bytes) == (1, 9)
    assert cache.find("second") is None
    first += [0] * 5
    assert cache.find("first") is first
    assert (len(cache), cache.num_bytes) == (0, 0)


def test_values_that_grew_are_measured_anew_although_nobody_asks_for_them() -> None:
    cache: SpecCache[list[int]] = SpecCache(max_entries=100, max_bytes=1000, size_of=len)
    values = [[0] for _ in range(64)]
    for at, value in enumerate(values):
        cache.get(at, lambda value=value: value)  # type: ignore[misc]
        value += [0] * 9  # by its only use
    assert cache.num_bytes >= 10 * 64 * 7 // 8
    for at in range(9):
        cache.get(at, list)
    assert cache.num_bytes == 10 * 64
    for at in range(100, 150):
        cache.get(at, lambda: [0] * 10)
    assert len(cache) == 100 and cache.num_bytes == 1000


def test_two_that_miss_together_make_once() -> None:
    cache: SpecCache[int] = SpecCache(max_entries=2, max_bytes=100, size_of=lambda _: 1)
    begun, go_on = threading.Event(), threading.Event()
    made: list[int] = []

    def make() -> int:
        begun.set()
        assert go_on.wait(10)
        made.append(1)
        return 7

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(cache.get, "k", make)
        assert begun.wait(10)
        others = [pool.submit(cache.get, "k", make) for _ in range(2)]
        go_on.set()
        assert [one.result(10).value for one in (first, *others)] == [7, 7, 7]
    assert made == [1]


def test_failures_are_raised_and_not_kept() -> None:
    cache: SpecCache[int] = SpecCache(max_entries=2, max_bytes=100, size_of=lambda _: 1)

    def fail() -> int:
        raise KeyError("no")

    for _ in range(2):
        with pytest.raises(KeyError):
            cache.get("k", fail)
    assert cache.get("k", lambda: 3).value == 3
