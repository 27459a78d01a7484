"""Logits as penalties and biases change them: among the allowed tokens, before temperature.

::

    z      the model's logit of an allowed token
    n      how often the token stands in the answer so far, certain tokens included
    seen   it stands in the prompt or in the answer so far

    z  ←   z / r  where z > 0, else  z · r          where seen       repetition_penalty r
    z  ←   z  -  f · n  -  p · (n > 0)                               frequency_penalty f, presence_penalty p
    z  ←   z  +  b                                                   logit_bias

What a token gets depends on the tokens before it alone, so that drafting cannot change what is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from factorspec_server.drafting.seam import FloatArray, IntArray
from factorspec_server.engines.sampling import Sampling


class Penalties:
    """The penalties of one request and the tokens that it has written.

    Takes 13 bytes for each token that the model knows.
    """

    def __init__(self, sampling: Sampling, prompt_ids: Sequence[int], logit_width: int) -> None:
        self._sampling = sampling
        self._counts = np.zeros(logit_width, dtype=np.int32)
        self._in_prompt = np.zeros(logit_width, dtype=np.bool_)
        self._in_prompt[list(prompt_ids)] = True
        self._bias = np.zeros(logit_width, dtype=np.float64)
        for token_id, bias in sampling.logit_bias:
            self._bias[token_id] = bias

    def add(self, token_ids: Sequence[int]) -> None:
        """These tokens were written."""
        np.add.at(self._counts, list(token_ids), 1)

    def logits(
        self, logits: FloatArray, token_ids: IntArray, before: Sequence[int] = ()
    ) -> NDArray[np.float64]:
        """The changed logits. Changes nothing else.

        Args:
            logits: (n,) float32, of ``token_ids``.
            token_ids: (n,) int32, the allowed tokens.
            before: tokens behind those that were added.

        Returns:
            (n,) float64.
        """
        sampling = self._sampling
        counts = self._counts[token_ids]
        for token_id in before:
            counts += token_ids == token_id
        seen = self._in_prompt[token_ids] | (counts > 0)
        found = logits.astype(np.float64)
        repetition = sampling.repetition_penalty
        found = np.where(seen, np.where(found > 0, found / repetition, found * repetition), found)
        found -= sampling.frequency_penalty * counts + sampling.presence_penalty * (counts > 0)
        return found + self._bias[token_ids]


def penalties_of(sampling: Sampling, prompt_ids: Sequence[int], logit_width: int) -> Penalties | None:
    """The penalties of a request, None where it asks for none."""
    return Penalties(sampling, prompt_ids, logit_width) if sampling.has_penalties else None
