"""What finished records wrote is found again, within bounds, and forgotten."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from random import Random

import pytest

from factorspec_sdk.decoding.earlier import (
    AGREEING,
    ALONE,
    DIFFERING,
    LENGTHS,
    MOST_RECORDS,
    MOST_TOKENS,
    NOTHING_YET,
    Earlier,
)


def holding(*records: Sequence[int]) -> Earlier:
    earlier = Earlier()
    for record in records:
        earlier.remember(record)
    return earlier


def next_of(earlier: Earlier, tokens: Sequence[int], most: int = 3) -> list[int]:
    return [place.token for place in earlier.places(tokens, most)]


def slowly(records: Sequence[Sequence[int]], tokens: Sequence[int]) -> int | None:
    """What came behind the longest end of ``tokens``, to a level, in the record used last."""
    tail = [-1, *tokens][-LENGTHS[-1] :]
    found = None
    for length in sorted({min(length, len(tail)) for length in LENGTHS}):
        wanted, places = tail[-length:], list[int]()
        for record in records:
            marked = [-1, *record]
            ends = range(length, len(marked))
            places += [marked[end] for end in ends if marked[end - length : end] == wanted]
        if not places:
            break
        found = places[-1]
    return found


def test_a_record_that_begins_alike_goes_on_alike() -> None:
    earlier = holding((5, 6, 7, 8, 9))
    assert next_of(earlier, ()) == [5]
    (place,) = earlier.places((5, 6), 3)
    assert (place.token, place.others) == (7, ALONE)
    behind = place.behind((7, 8))
    assert behind is not None
    assert behind.token == 9
    assert behind.length == 5
    assert place.behind((7, 9)) is None
    assert place.behind((7, 8, 9)) is None
    assert next_of(earlier, (6,)) == []


def test_the_longest_match_counts_and_then_the_record_used_last() -> None:
    long = tuple(range(20, 30))
    earlier = holding((*long, 1), (8, *long[-3:], 2), (9, *long[-3:], 3))
    assert next_of(earlier, (7, *long)) == [1]
    assert next_of(earlier, (7, *long[-3:])) == [3, 2, 1]
    assert next_of(earlier, (7, *long[-3:]), 1) == [3]
    earlier.remember((8, *long[-3:], 2))
    assert next_of(earlier, (7, *long[-3:])) == [2, 3, 1]


def test_places_tell_whether_others_agree() -> None:
    earlier = holding((1, 2, 3, 4, 5), (9, 2, 3, 4, 5))
    assert [place.others for place in earlier.places((7, 2, 3, 4), 3)] == [AGREEING]
    earlier.remember((8, 2, 3, 4, 6))
    assert [place.others for place in earlier.places((7, 2, 3, 4), 1)] == [DIFFERING]


@pytest.mark.parametrize("seed", range(40))
def test_what_is_found_is_what_a_slow_search_finds(seed: int) -> None:
    source = Random(seed)
    letters = source.choice((6, 200_000))
    records = [
        tuple(source.randrange(letters) for _ in range(source.randrange(1, 60)))
        for _ in range(source.randrange(1, 12))
    ]
    records = [*dict.fromkeys(records)]
    earlier = holding(*records)
    for _ in range(200):
        record = source.choice(records)
        tokens = [*record[: source.randrange(len(record) + 1)]]
        if source.random() < 0.5:
            tokens = [source.randrange(letters), *tokens[source.randrange(len(tokens) + 1) :]]
        expected = slowly(records, tokens)
        found = next_of(earlier, tokens, 1)
        assert found == ([] if expected is None else [expected])


def test_only_so_much_is_kept() -> None:
    earlier = Earlier()
    empty = earlier.num_bytes
    assert empty < 8192
    for number in range(3 * MOST_RECORDS):
        earlier.remember((number, 5))
    assert len(earlier) == MOST_RECORDS
    assert next_of(earlier, (0,)) == []
    for number in range(100):
        earlier.remember([number] * 1000)
    assert len(earlier) == (MOST_TOKENS - 1) // 1001
    assert earlier.num_bytes - empty < 10 * MOST_TOKENS
    assert next_of(earlier, [99] * 20) == [99]


def test_of_a_huge_record_the_beginning_is_kept() -> None:
    earlier = holding(range(1_000_000))
    assert len(earlier) == 1
    assert next_of(earlier, range(MOST_TOKENS - 3)) == [MOST_TOKENS - 3]
    assert next_of(earlier, range(MOST_TOKENS)) == []


def test_the_record_that_was_of_use_last_is_kept_longest() -> None:
    earlier = holding(*[(number, 7) for number in range(MOST_RECORDS)])
    earlier.use(earlier.places((0,), 1)[0])
    earlier.remember((500, 7))
    assert next_of(earlier, (0,)) == [7]
    assert next_of(earlier, (1,)) == []
    gone = earlier.places((0,), 1)[0]
    earlier.forget()
    earlier.use(gone)
    assert len(earlier) == 0


def test_the_same_record_is_kept_once_and_makes_repeats_likelier() -> None:
    earlier = holding((1, 2, 3))
    size, (place,) = earlier.num_bytes, earlier.places((1, 2), 1)
    before = earlier.rate(place, NOTHING_YET).value
    earlier.remember((1, 2, 3))
    assert earlier.num_bytes == size
    assert earlier.rate(place, NOTHING_YET).value > before


def test_nothing_is_left_of_what_is_forgotten() -> None:
    earlier = holding((1, 2, 3))
    (place,) = earlier.places((1, 2), 1)
    first = Earlier().rate(place, NOTHING_YET).value
    earlier.remember((1, 2, 3))
    earlier.forget()
    assert (len(earlier), earlier.num_bytes, next_of(earlier, (1, 2))) == (0, Earlier().num_bytes, [])
    assert earlier.rate(place, NOTHING_YET).value == first
    assert place.token == 3  # who follows a place goes on with it


@pytest.mark.parametrize("tokens", [(), (0x10FFFF, 1), (1 << 40,), (3, 0x110000)])
def test_what_no_character_stands_for_is_not_remembered(tokens: tuple[int, ...]) -> None:
    earlier = holding(tokens)
    assert len(earlier) == 0
    earlier.remember((1, 2, 0xD800, 0))
    assert next_of(earlier, (1, 2, 0xD800)) == [0]
    assert next_of(earlier, (1, 2, 1 << 40)) == []


def test_records_come_while_others_read() -> None:
    earlier, failed = Earlier(), list[BaseException]()

    def write(first: int) -> None:
        try:
            for number in range(300):
                earlier.remember((first, number % 50, 1, 2, 3, number))
                if number % 100 == 99:
                    earlier.forget()
        except BaseException as error:  # noqa: BLE001 - told below
            failed.append(error)

    threads = [threading.Thread(target=write, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        for place in earlier.places((0, 7, 1, 2, 3), 3):
            assert 0 <= place.token < 300
            earlier.use(place)
    assert not failed
    for thread in threads:
        thread.join()
