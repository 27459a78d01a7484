"""A record whose session is kept by a worker process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Protocol, SupportsIndex

from factorspec_sdk.decoding import GuessPolicy, OnBudget, Plan, SessionState, Shape
from factorspec_sdk.decoding.token_ids import token_id
from factorspec_sdk.errors import FactorspecError, JsonValue
from factorspec_sdk.tokens import Allowed
from factorspec_sdk.tokens.masks import Row, check_rows
from factorspec_server.constraint_service.link import Link
from factorspec_server.constraint_service.plan_walk import PlanWalk


class Host(Protocol):
    """The service, as its records see it."""

    row_words: int

    def plan_of(self, record: RemoteRecord, /) -> Plan:
        """The plan for a record's state; asks and waits. Raises what the record's plan fails with."""

    def told(self, record: RemoteRecord, kind: str, /, **fields: Any) -> Any:
        """What the record's worker, or any that the record is opened at, answers to a message."""

    def text_of(self, tokens: Sequence[int], /) -> str:
        """The text of tokens."""

    def twin_of(self, record: RemoteRecord, /) -> RemoteRecord:
        """Another record with the same tokens."""

    def release(self, record: RemoteRecord, /) -> None:
        """The record is closed."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What a record is opened with, now and wherever it must be opened again."""

    document: bytes
    spec: bytes
    token_limit: int | None
    on_budget: OnBudget
    salt: str | None = None


@dataclass(slots=True)
class Place:
    """Where a record is kept, and what has been asked about it; the service's own notes.

    Attributes:
        slot: of shared memory.
        serial: tells the record from others that had the slot.
        link: the worker.
        sent: the first so many tokens are those that the worker has.
        question: number of the last one.
        step: of the last question.
        asked: version of the record that it was about; -1: none.
        most: tokens that were asked for.
        answered: version of the record that ``answer`` is about; -1: none.
        answer: the last plan, or why there is none.
        has_prompt: the worker has the prompt.
        is_guessed: the question is answered again with guesses, and it is not known that there are none.
    """

    slot: int
    serial: int
    link: Link
    sent: int = 0
    question: int = 0
    step: int = 0
    asked: int = -1
    most: int = 0
    answered: int = -1
    answer: Plan | FactorspecError | None = None
    has_prompt: bool = False
    is_guessed: bool = False
    is_closed: bool = False
    facts: dict[str, Any] = field(default_factory=dict)


class RemoteRecord:
    """A record being written. Used by the step thread, but ``finish`` and ``close`` by any thread.

    What it may write next is told by its last plan; methods that need to know more ask the worker and wait,
    at most as long as ``ConstraintService.plans``, and raise what that returns.

    Attributes:
        opening: what it was opened with.
        place: where it is kept; the service's.
        version: another number for each state in which it was.
        rolled_back: how often tokens were taken back.
        prompt: as it was set.
        is_told: ``finish`` has told its worker what was written.
    """

    def __init__(self, host: Host, opening: Opening, place: Place) -> None:
        """Use ``ConstraintService.open``."""
        self.opening = opening
        self.place = place
        self.version = 0
        self.rolled_back = 0
        self.prompt: tuple[int, ...] = ()
        self.is_told = False
        self._host = host
        self._tokens: list[int] = []
        self._walk: PlanWalk | None = None
        #: a plan for this state that nobody follows yet
        self._fresh: Plan | None = None
        self._refused = False

    @property
    def spec_hash(self) -> str:
        """Of its spec."""
        return str(self.place.facts["spec_hash"])

    @property
    def was_cached(self) -> bool:
        """The spec had been compiled for an earlier record."""
        return bool(self.place.facts["was_cached"])

    @property
    def compile_s(self) -> float:
        """Seconds that compiling took."""
        return float(self.place.facts["compile_s"])

    @property
    def certificates(self) -> Sequence[dict[str, JsonValue]]:
        """What is proven about each level of the objective (``certificate_json``)."""
        found: Sequence[dict[str, JsonValue]] = self.place.facts["certificates"]
        return found

    @property
    def tokens(self) -> tuple[int, ...]:
        """The committed tokens."""
        return tuple(self._tokens)

    @property
    def num_tokens(self) -> int:
        """How many tokens are committed."""
        return len(self._tokens)

    def tokens_from(self, start: int) -> Sequence[int]:
        """The committed tokens from a place on."""
        return self._tokens[start:]

    @property
    def text(self) -> str:
        """The committed text, as ``Session.text``. Asks a worker and waits. Also of a closed record."""
        return self._host.text_of(self._tokens)

    @property
    def state(self) -> SessionState:
        """As ``Session.state``. Waits for a plan where the last one does not tell."""
        if self._refused:
            return "refused"
        return "complete" if self._known().is_complete else "open"

    def plan(
        self,
        width: int | None = None,
        guesses: GuessPolicy | None = None,
        shape: Shape | None = None,
        *,
        until_s: float = inf,
    ) -> Plan:
        """The service's plan for this state: asks and waits.

        Raises:
            ValueError: any argument is given; what is drafted is the service's to say (``draft``).
        """
        if width is not None or guesses is not None or shape is not None or until_s != inf:
            raise ValueError("the service decides what is drafted: call plan() without arguments")
        return self._host.plan_of(self)

    def commit(self, token_ids: Iterable[SupportsIndex]) -> int:
        """As ``Session.commit``. Sent with the next question."""
        given = tuple(token_ids)
        if not given or self._refused:
            return 0
        walk = self._followed()
        if walk is not None and not walk.is_off and walk.write_run(given):  # type: ignore[arg-type]
            self._note(walk.plan.tokens[walk.node + 1 - len(given) : walk.node + 1])
            return len(given)
        written = 0
        try:
            for token in map(token_id, given):
                if not self._known().write(token):
                    self._refused = True
                    break
                self._note((token,))
                written += 1
        except TypeError:
            self.rollback(written)
            raise
        return written

    def take(self, run: tuple[int, ...], token: int) -> bool:
        """Commit what is certain and the token that was chosen behind it: the usual step, at once.

        Returns:
            False, and nothing is done, unless the run is all that the last plan says in front of its choice,
            nothing of it is written, and the token is allowed there: ``commit`` sees to it then. Raises as
            ``commit``.
        """
        plan, walk = self._fresh, self._walk
        if plan is None and walk is not None and walk.node < 0 and not walk.is_off:
            plan = walk.plan
        if plan is None or plan.tokens != run or not plan.choices or type(token) is not int:
            return False
        choice = plan.choices[0]
        if self._refused or choice.children or choice.node != len(run) - 1 or token not in choice.allowed:
            return False
        self._walk = self._fresh = None
        self._tokens += run
        self._tokens.append(token)
        self.version += 1
        return True

    def allowed(self) -> Allowed:
        """The tokens that may come next; none once the record is complete. Does not change the record."""
        return self._known().allowed()

    def fill_row(self, out: Row, holds: Allowed | None = None) -> Allowed:
        """As ``Session.fill_row``."""
        allowed = self.allowed()
        if allowed is not holds:
            check_rows(out, (self._host.row_words,))
            allowed.write_row(out, holds)
        return allowed

    def rollback(self, num_tokens: int) -> None:
        """As ``Session.rollback``."""
        if not 0 <= num_tokens <= len(self._tokens):
            raise ValueError(f"cannot take back {num_tokens} of {len(self._tokens)} tokens")
        self._refused = False
        if num_tokens:
            del self._tokens[len(self._tokens) - num_tokens :]
            self.place.sent = min(self.place.sent, len(self._tokens))
            self._walk = self._fresh = None
            self.version += 1
            self.rolled_back += 1

    def copy(self) -> RemoteRecord:
        """An independent record in the same state, in a slot of its own. Waits until a worker has it.

        Raises:
            Overloaded: no slot is free.
        """
        twin = self._host.twin_of(self)
        twin.stand(self._tokens, refused=self._refused)
        return twin

    def set_prompt(self, token_ids: Sequence[int]) -> None:
        """Tell the prompt, once; what is drafted may depend on it."""
        self.prompt = tuple(token_ids)

    def finish(self, *, origins: bool, judge: bool = False) -> dict[str, JsonValue]:
        """What a report needs of the record: ``session_counts``, and where they are wanted ``origins``, and
        what relations and objective say of it (``record_report``).

        Raises:
            FactorspecError: the record is closed, or no worker can tell in time.
        """
        told: dict[str, JsonValue] = self._host.told(
            self, "finish", tokens=[*self._tokens], origins=origins, judge=judge
        )
        self.is_told = True
        return told

    def close(self) -> None:
        """Free the record's slot. The second time nothing happens."""
        self._host.release(self)

    def _known(self) -> PlanWalk:
        """What the last plan says of this state; another is asked for where it says nothing."""
        walk = self._followed()
        if walk is None or walk.is_off:
            walk = PlanWalk(self._host.plan_of(self))
            self._walk, self._fresh = walk, None
        return walk

    def _followed(self) -> PlanWalk | None:
        if self._fresh is not None:
            self._walk, self._fresh = PlanWalk(self._fresh), None
        return self._walk

    def follow(self, plan: Plan) -> None:
        """A plan for this state has come; the service's."""
        self._walk, self._fresh = None, plan

    def stand(self, tokens: Sequence[int], *, refused: bool) -> None:
        """Its worker has written these tokens; the service's."""
        self._tokens, self._refused = [*tokens], refused

    def _note(self, tokens: Sequence[int]) -> None:
        self._tokens += tokens
        self.version += 1
