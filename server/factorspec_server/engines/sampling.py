"""Choosing a token: greedy or sampled, with noise that is a function of (seed, position, token).

Sampling is the Gumbel-max trick: among the allowed tokens take the one with the largest
``logit / temperature + g``, where g is Gumbel noise. The noise is counter-based: it does not depend on which
tokens are allowed, on how often the model ran, or on the batch, so that drafting cannot change what is
sampled.

The hash, in 64-bit arithmetic modulo 2**64, with splitmix64's constants::

    mix(x):  x ^= x >> 30;  x *= 0xBF58476D1CE4E5B9;  x ^= x >> 27;  x *= 0x94D049BB133111EB;  x ^= x >> 31
    key   =  mix(mix(seed + PHI) ^ (position + 1) * PHI)
    bits  =  mix(key + (token + 1) * PHI)                       PHI = 0x9E3779B97F4A7C15
    u     =  ((bits >> 12) + 1/2) / 2**52                       strictly between 0 and 1
    g     =  -log(-log(u))

For fixed (seed, position) the bits are splitmix64's stream from ``key``, indexed by the token.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from factorspec_server.drafting.seam import IntArray
from factorspec_server.engines.errors import BrokenLogits

_MASK = (1 << 64) - 1
_PHI = 0x9E3779B97F4A7C15
_MIX_1 = 0xBF58476D1CE4E5B9
_MIX_2 = 0x94D049BB133111EB


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are chosen among the allowed ones.

    Attributes:
        temperature: 0 is greedy.
        top_p: keep the most likely allowed tokens up to this share of their probability.
        top_k: keep this many of the most likely allowed tokens; None keeps all.
        min_p: keep allowed tokens that have at least this share of the likeliest one's probability.
        frequency_penalty: taken from a token's logit for each time that it stands in the answer.
        presence_penalty: taken from a token's logit once it stands in the answer.
        repetition_penalty: weakens tokens of the prompt and the answer, see ``penalties``; 1 does nothing.
        logit_bias: what is added to the logits of some tokens, as pairs of token and bias.
        seed: of the noise; any integer, taken modulo 2**64.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int | None = None
    seed: int = 0
    min_p: float = 0.0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    repetition_penalty: float = 1.0
    logit_bias: tuple[tuple[int, float], ...] = ()

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature >= 0.0):
            raise ValueError(f"temperature must be a finite number of at least 0, got {self.temperature!r}")
        if not 0.0 < self.top_p <= 1.0:
            raise ValueError(f"top_p must be above 0 and at most 1, got {self.top_p!r}")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top_k must be at least 1, got {self.top_k!r}")
        if not 0.0 <= self.min_p <= 1.0:
            raise ValueError(f"min_p must be from 0 to 1, got {self.min_p!r}")
        if not (math.isfinite(self.repetition_penalty) and self.repetition_penalty > 0.0):
            raise ValueError(f"repetition_penalty must be above 0, got {self.repetition_penalty!r}")
        added = self.frequency_penalty, self.presence_penalty, *(bias for _, bias in self.logit_bias)
        if not all(map(math.isfinite, added)):
            raise ValueError(f"penalties and biases must be finite numbers, got {added!r}")

    @property
    def has_penalties(self) -> bool:
        """True if logits are changed before a token is chosen."""
        changes = (
            self.frequency_penalty,
            self.presence_penalty,
            self.repetition_penalty - 1.0,
            self.logit_bias,
        )
        return any(changes)


def _mix(x: int) -> int:
    x = ((x ^ (x >> 30)) * _MIX_1) & _MASK
    x = ((x ^ (x >> 27)) * _MIX_2) & _MASK
    return x ^ (x >> 31)


def noise_key(seed: int, position: int) -> int:
    """The start of the noise stream of one position."""
    return _mix(_mix((seed + _PHI) & _MASK) ^ (((position + 1) * _PHI) & _MASK))


def seed_of_choice(seed: int, index: int) -> int:
    """The seed of one of several answers to a request with ``seed``.

    The first has the request's own, the others follow it in splitmix64's stream, without the lowest bit. A
    request for one answer with that seed gets that answer.
    """
    return seed if index == 0 else _mix((seed + index * _PHI) & _MASK) >> 1


def gumbel_reference(seed: int, position: int, token_id: int) -> float:
    """The noise of one token in plain integers: what ``gumbel`` must equal."""
    bits = _mix((noise_key(seed, position) + (token_id + 1) * _PHI) & _MASK)
    uniform = ((bits >> 12) + 0.5) / 2.0**52
    return -math.log(-math.log(uniform))


def gumbel(seed: int, position: int, token_ids: IntArray) -> NDArray[np.float64]:
    """Gumbel noise of the given tokens: (n,) float64; each depends on (seed, position, its token) alone."""
    x = (token_ids.astype(np.uint64) + np.uint64(1)) * np.uint64(_PHI) + np.uint64(noise_key(seed, position))
    x = (x ^ (x >> np.uint64(30))) * np.uint64(_MIX_1)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(_MIX_2)
    x ^= x >> np.uint64(31)
    uniform = ((x >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    return -np.log(-np.log(uniform))


def choose(logits: NDArray[np.floating[Any]], token_ids: IntArray, sampling: Sampling, position: int) -> int:
    """The token that stands at ``position``.

    Args:
        logits: (n,) float32, or float64 where penalties changed them: the logits of ``token_ids``.
        token_ids: (n,) int32, the allowed tokens, ascending; n >= 1.
        sampling: how to choose.
        position: index of the token in the completion, 0 is the first after the prompt.

    Raises:
        BrokenLogits: if the largest logit is not a finite number.
    """
    if not math.isfinite(float(logits.max())):
        raise BrokenLogits(f"the model's logits at position {position} are not finite numbers")
    if sampling.temperature == 0.0 or len(token_ids) == 1:
        # argmax takes the first of equals, that is the lowest token id
        return int(token_ids[int(np.argmax(logits))])
    scores = logits.astype(np.float64) / sampling.temperature
    kept = _kept(scores, sampling)
    if kept is not None:
        scores, token_ids = scores[kept], token_ids[kept]
    return int(token_ids[int(np.argmax(scores + gumbel(sampling.seed, position, token_ids)))])


def _kept(scores: NDArray[np.float64], sampling: Sampling) -> NDArray[np.intp] | None:
    """Indices that top_k, min_p and, of the rest, top_p keep, ascending, or None where they keep all."""
    limit = len(scores) if sampling.top_k is None else min(sampling.top_k, len(scores))
    if limit == len(scores) and sampling.top_p == 1.0 and sampling.min_p == 0.0:
        return None
    order = np.argsort(-scores, kind="stable")[:limit]  # stable: equals by lowest token id
    if sampling.min_p > 0.0:
        order = order[scores[order] >= scores[order[0]] + math.log(sampling.min_p)]
    if sampling.top_p < 1.0:
        weights = np.exp(scores[order] - scores[order[0]])
        before = np.cumsum(weights) - weights
        order = order[before < sampling.top_p * weights.sum()]
    return np.sort(order)
