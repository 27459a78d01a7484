"""Counting what one request costs while it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import get_args

from factorspec_server.drafting.seam import Choice, DraftKind
from factorspec_server.engines.requests import DraftCount, Usage

_KINDS: tuple[DraftKind, ...] = get_args(DraftKind)


class Tally:
    """Counts of one request, from its start.

    Attributes:
        reused: tokens of the prompt whose keys and values were there already.
    """

    def __init__(self, prompt_tokens: int) -> None:
        self.reused = 0
        self._prompt_tokens = prompt_tokens
        self._drafted: Counter[DraftKind] = Counter()
        self._accepted: Counter[DraftKind] = Counter()
        self._counts = dict.fromkeys(
            ("chosen", "free", "model_steps", "fill_steps", "tokens_run", "in_vain"), 0
        )
        self._widest = 0
        self._started = perf_counter()
        self._prefill_s = 0.0

    def count_choices(self, decided: Sequence[Choice]) -> None:
        """The model decided; a choice among one is none."""
        among = [choice for choice in decided if choice.allowed.count > 1]
        self._counts["chosen"] += len(among)
        self._counts["free"] += sum(choice.free for choice in among)

    def count_fill(self, num_fed: int, read: int, step_s: float) -> None:
        """A pass without logits over ``num_fed`` tokens, ``read`` of them of the prompt."""
        self._counts["fill_steps"] += 1
        self._count_pass(num_fed, read, step_s)

    def count_step(self, num_fed: int, read: int, num_kept: int, step_s: float) -> None:
        """A pass that verified a draft; the batch keeps ``num_kept`` of its tokens."""
        self._counts["model_steps"] += 1
        self._counts["in_vain"] += num_fed - num_kept
        self._count_pass(num_fed, read, step_s)

    def _count_pass(self, num_fed: int, read: int, step_s: float) -> None:
        read = max(read, 0)
        self._counts["tokens_run"] += num_fed - read
        self._widest = max(self._widest, num_fed - read)
        self._prefill_s += step_s * read / num_fed

    def count_certain(self, num_tokens: int) -> None:
        """So many tokens stand in any case."""
        self._drafted["certain"] += num_tokens
        self._accepted["certain"] += num_tokens

    def count_drafts(
        self, kinds: Sequence[DraftKind], certain: Sequence[bool], accepted: Iterable[int]
    ) -> None:
        """A draft was verified: what brought its nodes in, which are certain behind others; these stand."""
        found = ["certain" if sure else kind for kind, sure in zip(kinds, certain, strict=True)]
        self._drafted.update(found)
        self._accepted.update(found[node] for node in accepted)

    def usage(self, num_tokens: int) -> Usage:
        """What the request has cost, with ``num_tokens`` written."""
        return Usage(
            prompt_tokens=self._prompt_tokens,
            reused=self.reused,
            tokens=num_tokens,
            guessed=self._drafted.total() - self._drafted["certain"],
            accepted=self._accepted.total() - self._accepted["certain"],
            widest=self._widest,
            drafts={kind: DraftCount(self._drafted[kind], self._accepted[kind]) for kind in _KINDS},
            prefill_s=self._prefill_s,
            decode_s=perf_counter() - self._started - self._prefill_s,
            **self._counts,
        )
