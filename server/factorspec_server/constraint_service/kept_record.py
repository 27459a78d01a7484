"""A record as its worker keeps it: the session, what it drafts, and the plan that is out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from factorspec_sdk.decoding import Plan, Session
from factorspec_sdk.errors import FactorspecError
from factorspec_sdk.tokens import Allowed
from factorspec_server.constraint_service.plan_words import cut_plan
from factorspec_server.drafting import DraftingPolicy, DraftingSpec
from factorspec_server.drafting.looking import values_until
from factorspec_server.engines.errors import SessionRefused, SessionStalled, failure_of
from factorspec_server.engines.remembering import earlier_of, remember
from factorspec_server.http.compiled_spec import CompiledSpec
from factorspec_server.http.report import Written, written_counts

#: of a record; engines switch between one that guesses and one that does not
_MOST_POLICIES = 2
#: serials begin anew behind so many
_SERIALS = 0x7FFFFFFF


class KeptRecord:
    """One record. Used by the worker's main thread, once it is opened.

    Attributes:
        slot: of shared memory.
        serial: of the record; slots are used again.
        session: writes it.
        rows: what the slot's mask rows hold.
        question: number of the last one.
        choosing: how many values the last plan's first choice is among; None: there is none, or of text.
        is_in_text: it is of text.
    """

    def __init__(
        self,
        place: tuple[int, int],
        compiled: CompiledSpec,
        session: Session,
        prompt: Sequence[int],
        num_rows: int,
    ) -> None:
        """``place``: slot and serial; ``compiled``: the session's spec."""
        self.slot, self.serial = place
        self.session = session
        self._compiled = compiled
        self.rows: list[Allowed | None] = [None] * num_rows
        self.choosing: int | None = None
        self.is_in_text = False
        self.question = 0
        self._prompt = [*prompt]
        self._is_remembered = False
        self._policies: dict[DraftingSpec, DraftingPolicy] = {}
        #: the last one's spec, by identity, and it
        self._used: tuple[DraftingSpec, DraftingPolicy] | None = None

    def add_prompt(self, token_ids: Sequence[int]) -> None:
        """The next part of the prompt."""
        self._prompt += token_ids
        self._policies.clear()
        self._used = None

    def write(self, kept: int, tokens: Sequence[int]) -> None:
        """Bring the session to where the engine has it: so many tokens of before, and further ones.

        Raises:
            FactorspecError: the session does not take them.
        """
        session = self.session
        if session.num_tokens > kept or session.state == "refused":
            session.rollback(max(0, session.num_tokens - kept))
        if session.num_tokens != kept:
            raise SessionRefused(f"the session has {session.num_tokens} tokens, the engine knows of {kept}")
        written = session.commit(tuple(tokens))
        if written != len(tokens):
            raise SessionRefused(f"the session refused token {tokens[written]}, which it had allowed")

    def write_all(self, tokens: Sequence[int]) -> None:
        """Bring the session to where just these tokens are written. Raises as ``write``."""
        same = _num_same(self.session.tokens, tokens)
        self.write(same, tokens[same:])

    def plan(self, drafting: DraftingSpec, most: int) -> Plan | FactorspecError:
        """What to run next."""
        self.choosing, self.is_in_text = None, False
        try:
            plan = self._policy_for(drafting).plan(self.session)
            if not plan.tokens and not plan.complete and not all(each.allowed.count for each in plan.choices):
                raise SessionStalled("the session is open but allows no token")
        except Exception as error:  # noqa: BLE001 - one record's session must not end the worker
            return failure_of(error)
        if plan.choices:
            first = plan.choices[0]
            self.is_in_text = first.free
            self.choosing = None if first.free else first.allowed.count
        return cut_plan(plan, most)

    def guessed(self, drafting: DraftingSpec, most: int) -> Plan | None:
        """What to run next, with guesses; None: nothing is guessed. Raises as sessions do."""
        plan = cut_plan(self._policy_for(drafting).plan(self.session), most)
        return plan if False in plan.certain else None

    def prepare(self, drafting: DraftingSpec, most: int) -> Plan:
        """Work out the plan without guesses, which the session keeps; whoever asks for it first finds it.

        Args:
            drafting: what it will be asked for with; nothing that guesses.
            most: tokens of the plan.

        Raises:
            Exception: whatever the session does; it does so again when it is asked.
        """
        self._policy_for(drafting)
        return cut_plan(self.session.plan(), most)

    def row_behind(self, tokens: Sequence[int]) -> Allowed:
        """What is allowed behind these tokens of the record. Raises as sessions do."""
        twin = self.session.copy()
        kept = _num_same(twin.tokens, tokens)
        twin.rollback(twin.num_tokens - kept)
        rest = tuple(tokens[kept:])
        if twin.commit(rest) != len(rest):
            raise SessionRefused("the session refused a token of its own plan")
        return twin.allowed()

    def finish(self, *, origins: bool, judge: bool) -> dict[str, Any]:
        """What a report needs; see ``RemoteRecord.finish``. O(tokens), and the relations' checks."""
        session = self.session
        counted: dict[str, Any] = written_counts(session, session.decoder.vocabulary, origins=origins)
        if judge:
            text = session.text if session.state == "complete" else ""
            counted |= Written(self._compiled, json.loads(text) if text else None).judged()
        return counted

    def remember(self) -> None:
        """Remember it once, if it is complete, for records of its spec that come after it. O(tokens)."""
        if not self._is_remembered and self.session.state == "complete":
            self._is_remembered = True
            remember(self.session)

    def look_behind(self, is_over: Callable[[], bool]) -> Plan | None:
        """Work out what is certain behind each value of the last choice; the spec's runs keep it.

        ``is_over``: asked between two values: somebody waits.

        Returns:
            The plan with the values that were looked behind as guesses; None where the session cannot tell.
        """
        with suppress(Exception):  # the session says so itself when it is asked
            return self.session.plan(guesses=values_until(is_over))
        return None

    def look_behind_text(self, is_over: Callable[[], bool]) -> None:
        """Work out what follows the text that is written next; the spec's runs keep it."""
        with suppress(Exception):  # the session says so itself when it is asked
            self.session.look_behind_text(is_over)

    def _policy_for(self, drafting: DraftingSpec) -> DraftingPolicy:
        used = self._used
        if used is not None and used[0] is drafting:
            return used[1]
        policy = self._policies.get(drafting)
        if policy is None:
            if len(self._policies) >= _MOST_POLICIES:
                self._policies.clear()
            vocabulary = self.session.decoder.vocabulary
            policy = drafting.policy(vocabulary, self._prompt, earlier_of(self.session))
            self._policies[drafting] = policy
        self._used = drafting, policy
        return policy


def _num_same(left: Sequence[int], right: Sequence[int]) -> int:
    """How many of their first tokens agree."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(left), len(right)))


def place_record(records: dict[int, KeptRecord], record: KeptRecord) -> None:
    """Keep a record in its slot, unless a newer one has it: then nobody waits for this one."""
    held = records.get(record.slot)
    if held is None or (record.serial - held.serial) & _SERIALS <= _SERIALS >> 1:
        records[record.slot] = record
