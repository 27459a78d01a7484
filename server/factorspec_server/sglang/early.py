"""Tokens of a verify step stand before SGLang goes on with its results, and are told to the worker at once.

Where grammars constrain a batch, SGLang looks at all results of a step before it launches the next one, which
needs the tokens alone, and the device stands still meanwhile. With our algorithm it does so afterwards, as it
does with batches that nothing constrains::

    SGLang                                   here
    is the next step to wait?  yes           tokens of the last step to the grammars;  no
    results of the last step                 launch of the next one
    launch of the next one                   results of the last step, with those tokens

A request that ends with the last step is part of the next one in both: batches are made before. Prefills are
looked at first, as SGLang does it. A step that the worker launches ahead (``ahead.py``) does not even wait
for the tokens: it has them written itself, once it is launched.

At many requests SGLang takes milliseconds to look at each one's result; whoever plans the next step hears
from the tokens first (``PlanSource.tokens_stand``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from factorspec_server.sglang import compat


class EarlyTokens:
    """Of the scheduler of this process.

    Args:
        is_ours: batches of which speculative algorithm are meant.
    """

    def __init__(self, is_ours: Callable[[Any], bool]) -> None:
        self._is_ours = is_ours
        self._resolved: tuple[Any, list[list[int]]] | None = None

    def results_first(
        self, is_first: bool, scheduler: Any, batch: Any, last_batch: Any = None
    ) -> bool | None:
        """Hook behind what decides whether the last step's results are looked at before the next launch."""
        if not (is_first and batch and self._is_ours(batch.spec_algorithm)):
            return None
        waiting = scheduler.result_queue
        if len(waiting) != 1 or not compat.looks_at_results_first(batch):
            return None
        last, result = waiting[0]
        if not (batch.forward_mode.is_decode() and last.forward_mode.is_decode()):
            return None
        write_tokens = partial(self._write, scheduler, last, result)
        if not scheduler.batch_result_processor.model_worker.launches_ahead(batch, write_tokens):
            write_tokens()
        return False

    def _write(self, scheduler: Any, last: Any, result: Any) -> None:
        """Wait for a step's tokens, and have SGLang write them to the grammars."""
        if result.copy_done is not None:
            result.copy_done.synchronize()
        self._resolved = result, compat.resolve_tokens(scheduler, result, last)

    def resolve(self, original: Callable[..., Any], processor: Any, result: Any, batch: Any) -> Any:
        """Hook around what writes a verify step's tokens to the grammars, of all requests: once a step."""
        if self._resolved is not None and self._resolved[0] is result:
            tokens, self._resolved = self._resolved[1], None
            return tokens
        tokens = original(processor, result, batch)
        _tell(processor, batch)
        return tokens


def prefill_processed(_: None, processor: Any, batch: Any, result: Any) -> None:
    """Hook behind what looks at a prefill's results and writes first tokens to the grammars."""
    _tell(processor, batch)


def _tell(processor: Any, batch: Any) -> None:
    tell = getattr(processor.model_worker, "tokens_stand", None)  # none of a server without the algorithm
    if tell is not None:
        tell(batch.reqs)
