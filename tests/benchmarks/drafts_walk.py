"""How many verify steps a drafter needs along a gold record.

One rule for all drafters::

    step     runs the last token that is known but has not run and what is drafted behind it, ``width`` in all
    gain     the drafted tokens that the record goes on with, and one more: the one that is drawn at the last
             of them, or is certain there
    begin    the record's first token comes with the prompt's pass, for everyone
    end      the record's last token is known; a tail that is certain has to run as all else

So a step gains at most ``width`` tokens, and a record of n tokens is n - 1 tokens of gain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import process_time
from typing import Protocol

from factorspec_sdk.decoding import Decoder, Plan, Session
from factorspec_server.drafting import Certain, DraftingPolicy
from tests.benchmarks.drafts_gold import Gold, Tokens
from tests.benchmarks.masks_engine import Spec


@dataclass
class Count:
    """What a drafter did along a record, or along several. plan_s: processor time of making drafts."""

    records: int = 1
    tokens: int = 0
    steps: int = 0
    drafted: int = 0
    plan_s: float = 0.0

    def add(self, other: Count) -> None:
        """Take in another record's."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


class Refused(Exception):
    """The gold record is no record of the spec."""


class Drafter(Protocol):
    """A way to draft, for one width."""

    def count(self, gold: Gold) -> Count:
        """Walk along a record."""


@dataclass
class PlanDrafter:
    """FactorSpec's plans. policy: for one record's request; its plans have one token less than a step."""

    decoder: Decoder
    policy: DraftingPolicy

    def count(self, gold: Gold) -> Count:
        """Walk along a record, one plan for each step.

        Raises:
            Refused: at a token that the spec does not allow.
        """
        session, record = self.decoder.session(), gold.record
        done = Count(tokens=len(record) - 1)
        _commit(session, record, 1)
        while session.num_tokens < len(record):
            began = process_time()
            plan = self.policy.plan(session)
            done.plan_s += process_time() - began
            done.steps += 1
            done.drafted += len(plan.tokens)
            known = min(len(record), session.num_tokens + stood(plan, record[session.num_tokens :]) + 1)
            _commit(session, record, known)
        if session.state != "complete":
            raise Refused(f"{gold.identifier}: the record is not complete")
        return done


def _commit(session: Session, record: Tokens, known: int) -> None:
    wanted = record[session.num_tokens : known]
    if session.commit(wanted) < len(wanted):
        raise Refused(f"token {session.num_tokens} of {len(record)} is not allowed")


def stood(plan: Plan, rest: Sequence[int]) -> int:
    """How many of a plan's nodes the record's further tokens go along."""
    behind: dict[tuple[int, int], int] = {
        (parent, token): node
        for node, (parent, token) in enumerate(zip(plan.parents, plan.tokens, strict=True))
    }
    node = -1
    for count, token in enumerate(rest):
        found = behind.get((node, token))
        if found is None:
            return count
        node = found
    return len(rest)


def count_choices(decoder: Decoder, gold: Gold) -> int:
    """Positions behind the first token where the spec allows at least two.

    Raises:
        Refused: at a token that the spec does not allow.
    """
    session, found = decoder.session(), 0
    _commit(session, gold.record, 1)
    while session.num_tokens < len(gold.record):
        plan = Certain().plan(session)
        found += len(plan.choices)
        _commit(session, gold.record, min(len(gold.record), session.num_tokens + len(plan.tokens) + 1))
    return found


@dataclass
class ForcedDrafter:
    """Tokens that a grammar forces; ``runs`` as ``forced_runs`` gives them."""

    runs: Sequence[int]
    width: int | None

    def count(self, gold: Gold) -> Count:
        """Walk along a record."""
        *behind_choices, last = self.runs
        steps = sum(steps_of(run + 1, self.width) for run in behind_choices) + steps_of(last, self.width)
        return Count(tokens=len(gold.record) - 1, steps=steps, drafted=sum(self.runs))


def steps_of(gain: int, width: int | None) -> int:
    """Steps that gain so many tokens, of which all but the last are known before."""
    return min(gain, 1) if width is None else -(-gain // width)


def forced_runs(spec: Spec, record: Tokens) -> list[int]:
    """How many tokens are forced behind the first token, and behind each one that is not forced.

    The last number is that of the record's end, which may be 0.

    Raises:
        Refused: at a token that the library does not allow.
    """
    walk = spec.walk()
    if not walk.advance(record[0]):
        raise Refused("the first token is not allowed")
    runs, at = [], 1
    while at <= len(record):
        run = walk.skip(record, at) if at < len(record) else 0
        runs.append(run)
        at += run
        if at < len(record) and not walk.advance(record[at]):
            raise Refused(f"token {at} of {len(record)} is not allowed")
        at += 1
    return runs
