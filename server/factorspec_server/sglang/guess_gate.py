"""Whether the plans of a step guess: where that takes longer than it saves, they rest for a while.

Guesses are worked out before the device can go on, so their time belongs to the step: where this process
guesses that of its plans, where workers do the wait for what comes behind certain plans, which is bounded
(``service_plans.py``), and the reading of it. What certain plans are waited for is paid either way. With as
many requests as there are now (to a power of two), over the steps of late::

    with guesses      tokens / (seconds of the step + planning)
    without           tokens / (seconds of the step)

Tokens are those that are expected to stand. Where the second is more, no guesses are made for some steps, and
then tried again, with what was measured before forgotten: a plan that once took a second says nothing of now.
The first plans behind a rest are not counted, since policies read their prompts for them. Batches in free
text (``ahead.py``) count for themselves: what pays at choices may not pay there, where a step without guesses
is launched ahead.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from factorspec_server.sglang.shapes import Candidate

#: steps that are looked at before guesses rest, and for how many they do: twice as many each time, up to
_LEAST, _REST_STEPS, _MOST_REST_STEPS = 3, 64, 1024
_FADE = 0.9


@dataclass(slots=True)
class _Load:
    """Sums over steps since the last rest, old ones fading: tokens and seconds with guesses, and without."""

    with_guesses: list[float] = field(default_factory=lambda: [0.0, 0.0])
    without: list[float] = field(default_factory=lambda: [0.0, 0.0])
    seen: int = -1
    rest: int = 0
    next_rest: int = _REST_STEPS

    def add(self, step: Candidate, without: Candidate, took_s: float) -> None:
        """A step with guesses, and the best without."""
        self.seen += 1
        if not self.seen:
            return
        for sums, tokens, seconds in (
            (self.with_guesses, step.tokens, step.seconds + took_s),
            (self.without, without.tokens, without.seconds),
        ):
            sums[:] = sums[0] * _FADE + tokens, sums[1] * _FADE + seconds

    def pause(self) -> None:
        """Rest, and begin anew."""
        self.with_guesses, self.without = [0.0, 0.0], [0.0, 0.0]
        self.seen, self.rest = -1, self.next_rest
        self.next_rest = min(2 * self.next_rest, _MOST_REST_STEPS)

    @property
    def pays(self) -> bool:
        """Guesses bring more tokens a second."""
        (tokens, seconds), (fewer, less) = self.with_guesses, self.without
        return tokens * less >= fewer * seconds


class GuessGate:
    """Decides step by step.

    Args:
        guesses: False: never.
    """

    def __init__(self, *, guesses: bool) -> None:
        self._guesses = guesses
        self._loads: dict[tuple[int, bool], _Load] = {}

    def is_open(self, num_requests: int, *, in_text: bool = False) -> bool:
        """True if the plans of the next step, of so many requests, guess; ``in_text``: they are there."""
        if not self._guesses:
            return False
        load = self._load(num_requests, in_text)
        load.rest = max(0, load.rest - 1)
        return not load.rest

    def learn(
        self,
        num_requests: int,
        step: Candidate,
        without: Candidate,
        took_s: float,
        *,
        in_text: bool = False,
    ) -> None:
        """A step was planned with guesses.

        Args:
            num_requests: of the step.
            step: what it is expected to bring.
            without: what the best one without guesses would have brought.
            took_s: seconds that its plans took, beside the wait for certain ones.
            in_text: as it was asked.
        """
        load = self._load(num_requests, in_text)
        load.add(step, without, took_s)
        if load.seen >= _LEAST:
            if load.pays:
                load.next_rest = _REST_STEPS
            else:
                load.pause()

    def _load(self, num_requests: int, in_text: bool) -> _Load:
        return self._loads.setdefault((num_requests.bit_length(), in_text), _Load())
