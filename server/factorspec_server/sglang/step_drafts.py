"""What the requests of a step run, and in which shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from factorspec_server.sglang import compat
from factorspec_server.sglang.batch_chains import BatchChains, may_stop
from factorspec_server.sglang.chains import Chain
from factorspec_server.sglang.drawing import draws_one_by_one
from factorspec_server.sglang.guess_choice import choose
from factorspec_server.sglang.guess_gate import GuessGate
from factorspec_server.sglang.shapes import Shape, Shapes

#: requests that are drafted trees: with more of them inputs cost more, and several share a constraint worker,
#: so that plans come too late for their step
MOST_TREED = 8


class StepDrafts:
    """Drafts the steps of one scheduler.

    Args:
        gate: tells when to guess.
        most: most inputs of a request in a step.
        clock: seconds.
    """

    def __init__(self, gate: GuessGate, most: int, clock: Callable[[], float] = perf_counter) -> None:
        self._gate = gate
        self._most = most
        self._clock = clock

    def guesses_rest(self, num_requests: int) -> bool:
        """True if the plans of the next step would not guess: of so many requests, nearly all in free text.

        Called once a step.
        """
        return not self._gate.is_open(num_requests, in_text=True)

    def of(
        self, chains: BatchChains, batch: Any, shapes: Shapes, *, spared_s: float = 0.0
    ) -> tuple[list[Chain], Shape]:
        """The chain of each request, as long as it runs, and the shape of the step.

        Args:
            chains: of batches.
            batch: of the step.
            shapes: that can run.
            spared_s: seconds that a step without guesses would take less than ``shapes`` says, in free text.
        """
        rooms, count = self._rooms(batch), len(batch.reqs)
        in_text = spared_s > 0.0
        guesses = (
            self._gate.is_open(count, in_text=in_text)
            and shapes.many is not None
            and not draws_one_by_one(batch)
        )
        many = shapes.many
        branches = guesses and many is not None and bool(many.branches) and count <= MOST_TREED
        began_s = self._clock() - chains.waited_for_certain_s
        found: Sequence[Chain] = chains.of(batch.reqs, rooms, guesses=guesses, branches=branches)
        took_s = self._clock() - chains.waited_for_certain_s - began_s
        if not guesses:
            found = [chain if chain.is_certain else chain.cut(chain.num_certain) for chain in found]
        chosen = choose(shapes, found)
        if guesses:
            without = chosen.without._replace(seconds=chosen.without.seconds - spared_s)
            self._gate.learn(count, chosen.step, without, took_s, in_text=in_text)
        return chosen.of(found), chosen.shape

    def _rooms(self, batch: Any) -> list[int]:
        """Of each request, the most tokens that may run behind its last one: for them there are places in the
        cache, and all may be accepted.
        """
        room, lengths = self._room, batch.seq_lens_cpu.tolist()
        return [room(request, length) for request, length in zip(batch.reqs, lengths, strict=True)]

    def _room(self, request: Any, length: int) -> int:
        if request.grammar is None or request.finished():
            return 0
        room: int = min(self._most, request.kv.kv_allocated_len - length)
        to_write: int = request.sampling_params.max_new_tokens - compat.num_written(request)
        if to_write <= room:
            room = min(room, to_write - may_stop(request))
        return max(0, room - 1)
