"""Mask rows of a step's decisions, written on the host while the device computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from factorspec_sdk.errors import FactorspecError
from factorspec_server.sglang.batch_chains import DraftedOf, Fail, is_free
from factorspec_server.sglang.chains import Chain, Decision
from factorspec_server.sglang.plan_source import PlanSource

_ALL = -1


class MaskRows:
    """Fills rows: (R, words) int32, as SGLang applies them; all bits 1 where nothing is masked.

    A row never leaves without an allowed token: drawing from one stops the whole server.

    Args:
        plans: writes the rows of our decisions.
        drafted_of: tells which grammar objects are ours.
        fail: ends a request.
    """

    def __init__(self, plans: PlanSource, drafted_of: DraftedOf, fail: Fail) -> None:
        self._plans = plans
        self._drafted_of = drafted_of
        self._fail = fail

    def fill(
        self, rows: torch.Tensor, requests: Sequence[Any], chains: Sequence[Chain], *, mask_known: bool
    ) -> None:
        """Write all rows.

        Args:
            rows: (R, words) int32 on the host, overwritten: of each chain as many as it has.
            requests: as SGLang has them.
            chains: of the requests.
            mask_known: where a token is known allow that one alone, as logprobs want it.
        """
        first = 0
        wanted: list[tuple[Any, Decision]] = []
        wanting: list[Any] = []
        array = rows.numpy()
        for request, chain in zip(requests, chains, strict=True):
            for place, decision in enumerate(chain.decisions):
                if decision.allowed is not None:
                    wanted.append((array[first + place], decision))
                    wanting.append(request)
                else:
                    array[first + place] = _ALL
                    if not (is_free(request) or self._has_failed(request)):
                        self._fill_foreign(rows, first + place, request)
            if not chain.decisions:
                array[first] = _ALL
                if mask_known and chain.then is not None:
                    array[first] = 0
                    array[first].view("uint32")[chain.then // 32] = 1 << chain.then % 32
            first += chain.num_rows
        for (row, _), request, failed in zip(wanted, wanting, self._plans.fill_rows(wanted), strict=True):
            if failed is not None:
                row[:] = _ALL
                self._end(request, failed.error)

    def _end(self, request: Any, error: FactorspecError) -> None:
        """End a request whose row cannot be had; what it draws is not looked at."""
        grammar = self._drafted_of(request.grammar)
        if grammar is not None and grammar.error is None:  # else another of its rows has ended it
            grammar.fail(error)
            self._fail(request, str(error))

    def _has_failed(self, request: Any) -> bool:
        """True of a request that ends with this step, unless it has ended already."""
        grammar = self._drafted_of(request.grammar)
        return grammar is not None and grammar.error is not None

    def _fill_foreign(self, rows: torch.Tensor, at: int, request: Any) -> None:
        """The row of a grammar that is not ours, or not drafted now."""
        grammar = request.grammar
        if grammar.finished or grammar.is_terminated():
            return
        grammar.fill_vocab_mask(rows, at)
        if not rows[at].any():
            rows[at] = _ALL
            self._fail(request, "the grammar allows no token of the model here")


def num_words(vocab_size: int) -> int:
    """Words of a row of the engine's vocabulary."""
    return (vocab_size + 31) // 32
