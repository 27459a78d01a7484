"""Log-probabilities of a completion's tokens.

They are the model's own, among the tokens that were allowed: the logits at temperature 1, before penalties,
biases and what temperature, top_k, top_p and min_p do. In a chat all tokens are allowed. A token that was the
only one allowed has probability 1; the model was not asked, and no logits are there to tell more.

Where the canonical filter takes tokens out of free text, those that it would refuse count as allowed: it
looks at the tokens that are drawn, not at all that the mask allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from factorspec_sdk.decoding import Origin
from factorspec_server.drafting.seam import Choice, FloatArray


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """What is told of one token.

    Attributes:
        token_id: the token.
        logprob: natural logarithm of its probability.
        top: the likeliest allowed tokens with theirs, likeliest first, of equals the lowest id first.
        origin: where the token came from.
    """

    token_id: int
    logprob: float
    top: tuple[tuple[int, float], ...]
    origin: Origin


class LogprobLog:
    """What is told of a completion's tokens, in order.

    Attributes:
        entries: of the tokens that are written.
    """

    def __init__(self, num_top: int) -> None:
        """``num_top``: most alternatives that are told of each token, the token itself among them."""
        self.entries: list[TokenLogprob] = []
        self._num_top = num_top
        self._drawn: dict[int, TokenLogprob] = {}

    def draw(self, position: int, choice: Choice, logits: FloatArray, token: int) -> None:
        """The model chose ``token`` at ``position``; it is told once the token is written.

        Args:
            position: index of the token in the completion.
            choice: what was allowed.
            logits: (n,) float32, the model's, of all allowed tokens.
            token: what was chosen.
        """
        if choice.allowed.count == 1:
            return
        ids = choice.allowed.ids()
        found = log_probabilities(logits)
        top = tuple((int(ids[at]), float(found[at])) for at in likeliest(found, self._num_top))
        own = float(found[int(np.searchsorted(ids, token))])
        self._drawn[position] = TokenLogprob(token, own, top, "free" if choice.free else "chosen")

    def write(self, token_ids: Sequence[int]) -> None:
        """These tokens were written; those that were not drawn were the only ones allowed."""
        for token_id in token_ids:
            drawn = self._drawn.pop(len(self.entries), None)
            if drawn is None or drawn.token_id != token_id:
                drawn = TokenLogprob(token_id, 0.0, ((token_id, 0.0),)[: self._num_top], "certain")
            self.entries.append(drawn)


def log_probabilities(logits: FloatArray) -> NDArray[np.float64]:
    """Natural logarithms of the probabilities: (n,) float64, of logits: (n,) float32."""
    exact = logits.astype(np.float64)
    exact -= exact.max()
    return exact - log(float(np.exp(exact).sum()))


def likeliest(values: NDArray[np.float64], most: int) -> list[int]:
    """Indices of the largest values, largest first, of equals the first one first. O(n + most · log most)."""
    if most == 0:
        return []
    most = min(most, len(values))
    least = np.partition(values, len(values) - most)[len(values) - most]
    candidates = np.flatnonzero(values >= least)
    order = np.argsort(-values[candidates], kind="stable")[:most]
    return [int(at) for at in candidates[order]]
