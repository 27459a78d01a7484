"""Making a plan: the certain run, and behind each choice what a policy guesses, as far as the width goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from factorspec_sdk.decoding.plan import Choice, DraftKind, GuessPolicy, Plan
from factorspec_sdk.decoding.runs import Run

RunAfter = Callable[[Run, Sequence[int], int], Run]
"""The run behind a token chosen after a run; the tokens are all of the record up to that choice."""


def planned(
    run: Run,
    offset: int,
    written: Sequence[int],
    run_after: RunAfter,
    width: int | None,
    guesses: GuessPolicy | None,
) -> Plan:
    """The plan of a session that has written ``written`` and stands at ``offset`` of ``run``."""
    tokens = list(run.tokens[offset:])
    num_certain = len(tokens)
    guessed_at: list[int] = []
    choices: list[Choice] = []
    while (width is None or len(tokens) <= width) and not run.complete:
        at = len(tokens)
        before = [*written, *tokens]
        guess = None if guesses is None or at == width else guesses(before, run.allowed, run.free)
        drafted = guess is not None and guess in run.allowed
        choices.append(Choice(at - 1, run.allowed, run.free, (at,) if drafted else ()))
        if guess is None or not drafted:
            break
        run = run_after(run, before, guess)
        guessed_at.append(at)
        tokens += (guess, *run.tokens)
    whole = width is None or len(tokens) <= width
    tokens = tokens if whole else tokens[:width]
    size = len(tokens)
    certain = [True] * size
    kinds: list[DraftKind] = ["certain" if at < num_certain else "branch" for at in range(size)]
    for at in guessed_at:
        certain[at] = False
    return Plan(
        tokens=tuple(tokens),
        parents=tuple(range(-1, size - 1)),
        certain=tuple(certain),
        choices=tuple(choices),
        complete=whole and run.complete and not choices,
        kinds=tuple(kinds),
    )
