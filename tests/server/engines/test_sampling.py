"""Sampling: the noise equals its scalar reference and depends on nothing but (seed, position, token)."""

import numpy as np
import pytest

from factorspec_server.engines.errors import BrokenLogits
from factorspec_server.engines.sampling import Sampling, choose, gumbel, gumbel_reference

ALL = np.arange(5_000, dtype=np.int32)


@pytest.mark.parametrize(
    ("seed", "position"), [(0, 0), (1, 0), (0, 1), (-7, 3), (2**64 + 5, 12), (2**63, 99_999)]
)
def test_noise_equals_its_scalar_reference(seed: int, position: int) -> None:
    ids = np.array([0, 1, 2, 31, 49_151, 2**31 - 1], dtype=np.int32)
    reference = [gumbel_reference(seed, position, int(token)) for token in ids]
    assert gumbel(seed, position, ids).tolist() == pytest.approx(reference, rel=1e-12)


def test_noise_of_a_token_does_not_depend_on_the_others() -> None:
    whole = gumbel(11, 4, ALL)
    some = np.array([3, 77, 4_999], dtype=np.int32)
    assert gumbel(11, 4, some).tolist() == whole[some].tolist()


def test_noise_has_the_mean_and_spread_of_gumbel_noise() -> None:
    noise = gumbel(5, 0, np.arange(200_000, dtype=np.int32))
    assert noise.mean() == pytest.approx(0.5772, abs=0.01)
    assert noise.var() == pytest.approx(np.pi**2 / 6, abs=0.03)
    assert np.isfinite(noise).all()


def test_noise_is_uncorrelated_between_positions_and_seeds() -> None:
    base = gumbel(1, 0, ALL)
    for seed, position in [(1, 1), (2, 0), (0, 1), (1, 2)]:
        assert abs(np.corrcoef(base, gumbel(seed, position, ALL))[0, 1]) < 0.06


def test_greedy_takes_the_lowest_of_equal_tokens() -> None:
    ids = np.array([4, 9, 17, 20], dtype=np.int32)
    assert choose(np.array([1.0, 2.0, 2.0, 0.5], dtype=np.float32), ids, Sampling(), 0) == 9


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=3.0), Sampling(temperature=1e-6)])
def test_only_allowed_tokens_win(sampling: Sampling) -> None:
    ids = np.array([5, 6, 1_000], dtype=np.int32)
    logits = np.array([-50.0, -60.0, -55.0], dtype=np.float32)
    assert {choose(logits, ids, sampling, position) for position in range(200)} <= {5, 6, 1_000}


def test_sampled_shares_follow_the_probabilities() -> None:
    ids = np.array([0, 1, 2], dtype=np.int32)
    shares = np.array([0.5, 0.3, 0.2])
    logits = np.log(shares).astype(np.float32)
    drawn = [choose(logits, ids, Sampling(temperature=1.0, seed=3), position) for position in range(20_000)]
    assert np.bincount(drawn) / len(drawn) == pytest.approx(shares, abs=0.015)


def test_top_k_keeps_the_lowest_ids_of_equals() -> None:
    ids = np.array([2, 4, 6, 8], dtype=np.int32)
    logits = np.array([1.0, 1.0, 1.0, 1.0], dtype=np.float32)
    sampling = Sampling(temperature=1.0, top_k=2)
    assert {choose(logits, ids, sampling, position) for position in range(100)} == {2, 4}


def test_top_p_counts_allowed_tokens_only() -> None:
    # over all four tokens the first would hold 90 %; over the allowed three, token 1 holds 60 %
    logits = np.log(np.array([0.06, 0.03, 0.01])).astype(np.float32)
    ids = np.array([1, 2, 3], dtype=np.int32)
    narrow = Sampling(temperature=1.0, top_p=0.59)
    wide = Sampling(temperature=1.0, top_p=0.65)
    assert {choose(logits, ids, narrow, position) for position in range(100)} == {1}
    assert {choose(logits, ids, wide, position) for position in range(100)} == {1, 2}


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_broken_logits_are_an_error(bad: float) -> None:
    with pytest.raises(BrokenLogits):
        choose(np.array([0.0, bad], dtype=np.float32), np.array([0, 1], dtype=np.int32), Sampling(), 0)


@pytest.mark.parametrize(
    "wrong",
    [{"temperature": -1.0}, {"temperature": float("nan")}, {"top_p": 0.0}, {"top_p": 1.5}, {"top_k": 0}],
)
def test_wrong_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Sampling(**wrong)  # type: ignore[arg-type]
