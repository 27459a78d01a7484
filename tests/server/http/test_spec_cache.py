"""The cache of compiled specs: bounds, one making at a time, failures."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from factorspec_server.http.spec_cache import SpecCache


def keys(cache: SpecCache[str], asked: str) -> str:
    """Which of the asked keys have to be made now."""
    return "".join(key for key in asked if not cache.get(key, lambda key=key: key, 1).was_cached)  # type: ignore[misc]


def test_the_least_recently_used_goes_first() -> None:
    cache: SpecCache[str] = SpecCache(max_entries=2, max_bytes=100)
    assert keys(cache, "aba") == "ab"
    assert keys(cache, "c") == "c"
    assert keys(cache, "a") == ""
    assert keys(cache, "b") == "b"
    assert len(cache) == cache.num_bytes == 2


def test_bytes_are_bounded_and_too_large_values_are_not_kept() -> None:
    cache: SpecCache[str] = SpecCache(max_entries=10, max_bytes=10)
    for key, size in (("a", 4), ("b", 4), ("c", 4)):
        cache.get(key, str, size)
    assert (len(cache), cache.num_bytes) == (2, 8)
    assert not cache.get("huge", str, 11).was_cached
    assert cache.num_bytes <= 10
    assert not cache.get("huge", str, 11).was_cached


def test_two_that_miss_together_make_once() -> None:
    cache: SpecCache[int] = SpecCache(max_entries=2, max_bytes=100)
    begun, go_on = threading.Event(), threading.Event()
    made: list[int] = []

    def make() -> int:
        begun.set()
        assert go_on.wait(10)
        made.append(1)
        return 7

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(cache.get, "k", make, 1)
        assert begun.wait(10)
        others = [pool.submit(cache.get, "k", make, 1) for _ in range(2)]
        go_on.set()
        assert [one.result(10).value for one in (first, *others)] == [7, 7, 7]
    assert made == [1]


def test_failures_are_raised_and_not_kept() -> None:
    cache: SpecCache[int] = SpecCache(max_entries=2, max_bytes=100)

    def fail() -> int:
        raise KeyError("no")

    for _ in range(2):
        with pytest.raises(KeyError):
            cache.get("k", fail, 1)
    assert cache.get("k", lambda: 3, 1).value == 3
