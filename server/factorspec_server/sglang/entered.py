"""Requests that would end SGLang's scheduler, or end as a 500, are refused where SGLang takes them in.

Clients give token ids at ``/generate``, ``/v1/completions`` and ``/v1/chat/completions``, and SGLang hands
them on as they are: one that is no row of the model's embedding is an illegal access on CUDA, an IndexError
on CPU, and ends the scheduler with all that runs, whoever asked for it. A list as ``rid`` of a
single prompt is no key of SGLang's table of requests.

SGLang answers 400 with the text of a ValueError. Nothing of the request is noted before.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from factorspec_sdk.errors import shown


def request_entered(manager: Any, obj: Any, *_: Any, **__: Any) -> None:
    """Hook before ``TokenizerManager._init_req_state``. O(token ids) where there are any.

    Args:
        manager: SGLang's, with ``model_config`` and ``mm_processor``.
        obj: the request, its batch and its arguments normalised.

    Raises:
        ValueError: it is refused.
    """
    is_single = getattr(obj, "is_single", True)
    if is_single and not isinstance(obj.rid, str):
        raise ValueError(f"rid must be a string beside a single prompt, got {shown(obj.rid)}; write one name")
    if getattr(obj, "input_ids", None) is None:
        return
    if is_single:
        _check_ids(manager, obj, "")
        return
    for number in range(obj.batch_size):  # behind them stand the same ones, where n is above 1
        _check_ids(manager, obj[number], f" of prompt {number}" if obj.batch_size > 1 else "")


def _check_ids(manager: Any, prompt: Any, where: str) -> None:
    """Raise ValueError for a prompt with an id that the model lacks."""
    if manager.mm_processor is not None and prompt.contains_mm_input():
        return  # ids of images stand for no rows
    ids: Sequence[int] = prompt.input_ids
    most = inf if prompt.lora_path else manager.model_config.vocab_size  # adapters may add tokens
    if not ids or (min(ids) >= 0 and max(ids) < most):
        return
    at, wrong = next((at, each) for at, each in enumerate(ids) if not 0 <= each < most)
    allowed = "not negative" if most == inf else f"from 0 to {most - 1}"
    raise ValueError(
        f"token id {shown(wrong)} at position {at}{where} is none of the model's, which are {allowed}"
    )
