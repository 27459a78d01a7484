"""What a call gives back: the value, and the report of how it came about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from factorspec_sdk.client.transport import JsonObject
from factorspec_sdk.errors import Attempt, Usage

if TYPE_CHECKING:
    from factorspec_sdk.explaining import Change

T = TypeVar("T")
Origin = Literal["certain", "chosen", "free"]
#: how a record was made
Route = Literal["constrained", "retry", "repair", "determined"]

_GUESSES = {"branch": "in branches", "text": "in free text", "earlier": "from earlier records"}


@dataclass(frozen=True, slots=True)
class RelationReport:
    """What one relation says about the record.

    Attributes:
        name: of the relation.
        place: path of the object that holds it; "" is the whole record.
        outcome: ``unknown`` where it speaks of null or absent fields.
        enforced: False for report-only relations, which may be broken.
        why: the relation's own text.
        explanation: why it is broken.
    """

    name: str
    place: str
    outcome: Literal["holds", "broken", "unknown"]
    enforced: bool = True
    why: str | None = None
    explanation: str | None = None

    def __str__(self) -> str:
        where = f" in {self.place}" if self.place else ""
        because = f": {self.explanation}" if self.explanation else ""
        return f"{self.outcome}: {self.name}{where}{because}"


@dataclass(frozen=True, slots=True)
class GoalReport:
    """What the record reaches at one level of the objective, and what is proven about it.

    Attributes:
        name: of the level, else what it does.
        goal: "maximize" or "minimize".
        value: of this record; dates and times as ISO texts, None where it has none.
        best: the best value found among the valid records within the gaps of the levels before.
        bound: none of those is better; None if that is not known.
        proven: ``best`` is the optimum.
        gap: records this far from ``best`` were allowed.
    """

    name: str
    goal: Literal["maximize", "minimize"]
    value: int | str | None
    best: int | str | None
    bound: int | str | None
    proven: bool
    gap: int

    def __str__(self) -> str:
        proof = "proven to be the optimum" if self.proven else f"not proven, bound {self.bound}"
        return f"{self.value}: {self.name} ({self.goal}), best is {self.best}, {proof}"


@dataclass(frozen=True, slots=True)
class DraftReport:
    """Tokens that were drafted, and those of them that stand in the record."""

    drafted: int
    accepted: int


@dataclass(frozen=True, slots=True)
class TextFilterReport:
    """What writing free text in the tokenizer's own tokens took.

    Attributes:
        checked: sampled tokens that were looked at.
        refused: those that were drawn again.
        dropped: tokens that stand all the same, since no other fitted into the token limit.
        time_s: seconds for it.
    """

    checked: int
    refused: int
    dropped: int
    time_s: float

    def __str__(self) -> str:
        drawn = f"canonical text: {self.checked} tokens checked, {self.refused} drawn again"
        left = f", {self.dropped} not canonical since no other fitted the limit" if self.dropped else ""
        return f"{drawn}{left}; {self.time_s:.2f} s"


@dataclass(frozen=True, slots=True)
class Report:
    """How a record came about, as the server tells it.

    Attributes:
        exact: False if a budget narrowed the choice among valid records; the record is valid all the same.
        near_limit: True if the token limit left out some valid records towards the end.
        prompt_tokens: tokens of the prompt.
        reused: those of them that the server did not have to read again.
        tokens: tokens of the record: ``certain`` + ``chosen`` + ``free``.
        certain: tokens that the spec determined.
        chosen: tokens that the model chose among those that lead to a valid record.
        free: tokens of free text.
        choice_points: positions where at least two tokens were allowed.
        model_steps: forward passes in which the model decided something for this record.
        fill_steps: forward passes that only read parts of a long prompt or of a long certain run.
        guessed: drafted tokens that were not certain.
        accepted: those of them that stood.
        drafts: drafted and accepted tokens by kind: ``certain`` (all that the spec determines, behind guesses
            too), and the guesses: ``branch`` (values of a choice), ``text`` (of free text), ``earlier`` (of
            either, from earlier records of the spec). Guesses of all kinds are ``guessed`` and ``accepted``;
            ``certain`` tokens, accepted guesses, and what was chosen without one (``choice_points`` -
            ``accepted``) are the record's ``tokens``. Without certain ones where nothing is drafted.
        tokens_run: tokens that the model ran for the record, drafts that did not stand included.
        in_vain: those of them that did not stand.
        widest: most of them in one pass.
        prefill_s: seconds for the prompt.
        decode_s: seconds for the record.
        compile_s: seconds to compile the spec, in this request or an earlier one.
        spec_cached: True if it was an earlier one.
        seed: of the sampling noise; the same seed gives the same record. None: the server does not tell.
        relations: a verdict for each relation on each object that holds it.
        objective: what the record reaches, level by level.
        origins: each token's text and where it came from; None unless the call asked for it.
        text_filter: of a call with ``canonical_text``.
    """

    exact: bool
    near_limit: bool
    prompt_tokens: int
    tokens: int
    certain: int
    chosen: int
    free: int
    choice_points: int
    model_steps: int
    guessed: int
    accepted: int
    prefill_s: float
    decode_s: float
    compile_s: float
    spec_cached: bool
    seed: int | None
    reused: int = 0
    fill_steps: int = 0
    drafts: Mapping[str, DraftReport] = field(default_factory=dict)
    tokens_run: int = 0
    in_vain: int = 0
    widest: int = 0
    relations: tuple[RelationReport, ...] = ()
    objective: tuple[GoalReport, ...] = ()
    origins: tuple[tuple[str, Origin], ...] | None = None
    text_filter: TextFilterReport | None = None

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        tokens = f"{self.tokens} tokens: {self.certain} certain, {self.chosen} chosen, {self.free} free"
        yield f"{tokens}; {self.model_steps} steps of the model" if self.model_steps else tokens
        drafts = [
            f"{count.accepted} of {count.drafted} {_GUESSES[kind]}"
            for kind, count in self.drafts.items()
            if kind in _GUESSES and count.drafted
        ]
        if drafts:
            vain = f"{self.in_vain} of {self.tokens_run} tokens run in vain"
            yield f"drafted and kept: {', '.join(drafts)}; {vain}"
        reused = f" ({self.reused} of {self.prompt_tokens} tokens known)" if self.reused else ""
        times = f"{self.prefill_s:.2f} s for the prompt{reused}, {self.decode_s:.2f} s for the record"
        if self.prefill_s or self.decode_s:
            before = " before" if self.spec_cached else ""
            yield f"{times}, {self.compile_s:.2f} s to compile the spec{before}"
        if self.text_filter is not None:
            yield str(self.text_filter)
        if not self.exact:
            yield "a budget narrowed the choice among valid records"
        if self.near_limit:
            yield "the token limit left out some valid records"
        yield from map(str, self.objective)
        yield from map(str, self.relations)


@dataclass(frozen=True, slots=True)
class Result(Generic[T]):
    """A valid record and how it came about.

    Attributes:
        value: the record, validated by its model.
        report: how it came about. On other routes than ``constrained`` no server tells: all tokens count as
            free text, and the verdicts on the relations are the client's own.
        text: the record's JSON text, as it was written.
        usage: token counts, of all attempts together.
        spec_hash: hash of the spec that the record satisfies.
        time_s: seconds from request to answer, as seen here, of all attempts together.
        raw: the whole last answer; empty where none was asked for.
        route: the strategy that made it.
        attempts: all answers that were asked for, the last one included.
        changes: fields that ``repair`` changed in the last answer.
    """

    value: T
    report: Report
    text: str
    usage: Usage
    spec_hash: str
    time_s: float
    raw: JsonObject
    route: Route = "constrained"
    attempts: tuple[Attempt, ...] = ()
    changes: tuple[Change, ...] = ()

    @property
    def calls(self) -> int:
        """How often a model was asked."""
        return len(self.attempts)
