from random import Random

import numpy as np
import pytest

from factorspec_sdk.tokens import Allowed, pack_ids, unpack_row


@pytest.mark.parametrize("width", [1, 31, 32, 33, 64, 257, 1000])
def test_ids_rows_and_membership_agree(width: int) -> None:
    source = np.random.default_rng(width)
    for size in {0, 1, min(5, width), width}:
        ids = np.sort(source.choice(width, size, replace=False)).astype(np.int32)
        words = -(-width // 32)
        row = pack_ids(ids.tolist(), words)
        for token in range(width):
            assert bool((int(row[token // 32]) >> (token % 32)) & 1) == (token in ids)
        for allowed in (Allowed.of(ids.tolist()), Allowed.from_row(row)):
            assert allowed.count == len(allowed) == size
            assert allowed.ids().tolist() == list(allowed) == ids.tolist()
            assert allowed.ids().dtype == np.int32
            assert [t for t in range(-1, width + 40) if t in allowed] == ids.tolist()
            out = np.full(words, -1, dtype=np.int32)
            for _ in range(2):
                allowed.write_row(out)
                assert np.array_equal(out, row)
        assert np.array_equal(unpack_row(row), ids)
        assert Allowed.of(ids.tolist()) == Allowed.from_row(row)
        assert hash(Allowed.of(ids.tolist())) == hash(Allowed.from_row(row))


def test_a_row_may_be_given_more_ids() -> None:
    row = pack_ids([3, 40], 2)
    allowed = Allowed.from_row(row, also=[31, 40, 63])
    assert allowed.ids().tolist() == [3, 31, 40, 63]
    assert unpack_row(row).tolist() == [3, 40]


def test_a_row_is_written_into_a_slice_of_a_batch() -> None:
    batch = np.zeros((3, 2), dtype=np.int32)
    Allowed.of([31, 32]).write_row(batch[1])
    assert unpack_row(batch[1]).tolist() == [31, 32]
    assert not batch[0].any()
    assert not batch[2].any()


def test_a_row_is_written_over_one_that_is_held() -> None:
    source, words = np.random.default_rng(3), 40
    lists = [source.choice(32 * words, size, replace=False).tolist() for size in (0, 1, 3, 5, 60, 900)]
    found = [Allowed.of(ids) for ids in lists] + [Allowed.from_row(pack_ids(ids, words)) for ids in lists]
    out, holds = np.full(words, -1, dtype=np.int32), None
    for at in source.integers(len(found), size=200).tolist():
        found[at].write_row(out, holds)
        holds = found[at]
        assert np.array_equal(out, pack_ids(holds, words))


def test_ids_in_any_order_and_twice() -> None:
    assert Allowed.of([5, 1, 5]).ids().tolist() == [1, 5]


@pytest.mark.parametrize("span", [40, 400, 4000, 150_000])
@pytest.mark.parametrize("count", [1, 16, 32, 33, 64, 300])
def test_many_ids_are_packed_as_few_are(count: int, span: int) -> None:
    """Short lists word by word, long ones as arrays: the rows are those of one bit after the other."""
    ids = set(Random(count * span).sample(range(span), min(count, span)))
    expected = np.zeros(150_016 // 32, dtype=np.uint32)
    for token in ids:
        expected[token >> 5] |= np.uint32(1 << (token & 31))
    allowed, other = Allowed.of(ids), Allowed.of((3, 70, 5000))
    row = np.full(len(expected), -1, dtype=np.int32)
    for _ in range(2):
        allowed.write_row(row)
        assert np.array_equal(row.view(np.uint32), expected)
    other.write_row(row, holds=allowed)
    assert np.flatnonzero(row).tolist() == [0, 2, 156]
    allowed.write_row(row, holds=other)
    assert np.array_equal(row.view(np.uint32), expected)
