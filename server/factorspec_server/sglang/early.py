"""Hooks that tell the worker as soon as tokens are written to grammars, before SGLang goes on with them.

At many requests SGLang takes milliseconds to look at each one's result; whoever plans the next step can use
them (``PlanSource.tokens_stand``).
"""

from __future__ import annotations

from typing import Any


def verify_resolved(_: list[list[int]], processor: Any, result: Any, batch: Any) -> None:
    """Hook behind what writes a verify step's tokens to the grammars, of all requests."""
    _tell(processor, batch)


def prefill_processed(_: None, processor: Any, batch: Any, result: Any) -> None:
    """Hook behind what looks at a prefill's results and writes first tokens to the grammars."""
    _tell(processor, batch)


def _tell(processor: Any, batch: Any) -> None:
    tell = getattr(processor.model_worker, "tokens_stand", None)  # none of a server without the algorithm
    if tell is not None:
        tell(batch.reqs)
