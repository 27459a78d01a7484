"""Requests for several answers leave nothing behind in SGLang's list of those that run.

SGLang enters such a request under as many names as it asks for answers, has the answers written under other
names, and takes one of the first ones out again (0.5.16): the rest stay. A server that is told to stop waits
until the list is empty, without end. Nobody writes under those names, so they are taken out once the request
is over, however it ends.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any


async def batch_handled(
    original: Callable[..., AsyncIterator[Any]], manager: Any, obj: Any, *arguments: Any, **named: Any
) -> AsyncIterator[Any]:
    """Hook around ``TokenizerManager._handle_batch_request``.

    Args:
        original: answers a request for more than one text.
        manager: SGLang's, with ``rid_to_state``.
        obj: the request.
        *arguments: passed on.
        **named: passed on.
    """
    try:
        async for answer in original(manager, obj, *arguments, **named):
            yield answer
    finally:
        if getattr(obj, "parallel_sample_num", 1) > 1:
            for name in obj.rid:
                manager.rid_to_state.pop(name, None)
