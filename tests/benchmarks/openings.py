"""How long each opening of a slot takes: its feasible values, and their tokens."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

from factorspec_sdk.decoding import Decoder
from factorspec_sdk.graph.program import Branch, Value


def time_openings(decoder: Decoder, clock: Callable[[], float] = perf_counter) -> list[float]:
    """Seconds that each opening of a slot takes from now on; the list grows as the decoder is used."""
    times: list[float] = []
    opener = decoder.opener
    inner = opener.open

    def timed(at: Any, *feasible: Any) -> Any:
        if not isinstance(opener.layout.node(at.pc), Value | Branch):
            return inner(at, *feasible)
        started = clock()
        found = inner(at, *feasible)
        times.append(clock() - started)
        return found

    vars(opener)["open"] = timed
    return times
