"""Weights of the tokens at a choice between values: opinions, mixed by how well each has fared so far.

Each opinion is a distribution over the allowed tokens. The mixture weighs an opinion by the chance that it
gave to what the model took at earlier choices of the request (Bayes), so that the one that suits the request
soon speaks alone, and none does harm for long::

    even       all alike
    lowest     the lowest token, likely: the first digit of the least number, say
    least      the lowest token, nearly surely
    prompt     branches whose values stand in the prompt as the record has them (``prompt_words.py``)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

from factorspec_server.drafting.prompt_words import PromptWords

Opinions = tuple[Sequence[float], ...]

_SHARES_OF_LOWEST = (0.7, 0.97)
#: what full support is worth against none, as a logarithm
_SUPPORT = 4.0
#: no opinion is ever given up
_LEAST_TRUST = 0.02


def opinions(branches: Sequence[str], words: PromptWords) -> Opinions:
    """What each expert thinks of the allowed tokens, ascending.

    Args:
        branches: for each token its text, with what is certain behind it where that is known.
        words: of the prompt.
    """
    count = len(branches)
    if count == 1:  # guesses may lead to where one token alone is allowed
        return ([1.0],) * (len(_SHARES_OF_LOWEST) + 2)
    lowest = [[share, *[(1.0 - share) / (count - 1)] * (count - 1)] for share in _SHARES_OF_LOWEST]
    return [1.0 / count] * count, *lowest, _supported(branches, words)


def _supported(branches: Sequence[str], words: PromptWords) -> Sequence[float]:
    found = [words.support(branch) for branch in branches]
    known = [support for support in found if support is not None]
    usual = sum(known) / len(known) if known else 0.0
    odds = [exp(_SUPPORT * (usual if support is None else support)) for support in found]
    total = sum(odds)
    return [one / total for one in odds]


class Trust:
    """How much each opinion counts; one number each."""

    def __init__(self, shares: Sequence[float]) -> None:
        self._shares = list(shares)

    def mixed(self, found: Opinions) -> list[float]:
        """The mixture: sums to 1, as each opinion does."""
        return [sum(map(float.__mul__, self._shares, column)) for column in zip(*found, strict=True)]

    def learn(self, given: Sequence[float]) -> None:
        """What each opinion gave to the token that the model took."""
        shares = [share * chance for share, chance in zip(self._shares, given, strict=True)]
        total = sum(shares)
        if total > 0.0:
            floored = [max(_LEAST_TRUST, share / total) for share in shares]
            self._shares = [share / sum(floored) for share in floored]
