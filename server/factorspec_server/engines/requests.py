"""What goes into a batch and what comes out: requests, commits, completions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from factorspec_server.drafting import Certain, DraftingPolicy, Session
from factorspec_server.drafting.seam import DraftKind
from factorspec_server.engines.logprobs import TokenLogprob
from factorspec_server.engines.sampling import Sampling

FinishReason = Literal["stop", "length", "cancelled", "error"]


@dataclass(frozen=True, slots=True)
class Commit:
    """Tokens that became part of a completion in one go.

    Attributes:
        token_ids: the tokens, in writing order.
        text: the text of a chat that may be shown now (sessions with a spec: "", their session has the text).
        num_committed: tokens of the completion so far, these included.
        logprobs: of tokens whose text may be shown now, where the request asks for them.
    """

    token_ids: tuple[int, ...]
    text: str
    num_committed: int
    logprobs: tuple[TokenLogprob, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One completion to write.

    Attributes:
        prompt_ids: the prompt's tokens, at least one.
        session: the constraint; None writes freely until an end token or a stop string.
        token_limit: most tokens of the completion, at least one.
        sampling: how tokens are chosen.
        drafting: how many tokens run in one step.
        stop: strings that end a free completion; they are not part of it.
        salt: of those who may know what else was asked for: keys and values are shared with their requests.
        top_logprobs: alternatives told of each token beside its log-probability; None: neither is wanted.
        cancelled: set it to end the request at its next step.
        on_commit: called on the engine's thread after each commit; must be quick.
    """

    prompt_ids: tuple[int, ...]
    token_limit: int
    session: Session | None = None
    sampling: Sampling = Sampling()
    drafting: DraftingPolicy = Certain()
    stop: tuple[str, ...] = ()
    salt: str | None = None
    top_logprobs: int | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)
    on_commit: Callable[[Commit], None] | None = None

    def __post_init__(self) -> None:
        if not self.prompt_ids:
            raise ValueError("prompt_ids must hold at least one token")
        if self.token_limit < 1:
            raise ValueError(f"token_limit must be at least 1, got {self.token_limit!r}")


@dataclass(frozen=True, slots=True)
class DraftCount:
    """Tokens that were drafted, and those of them that stand in the completion."""

    drafted: int = 0
    accepted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a completion cost.

    Attributes:
        prompt_tokens: tokens of the prompt.
        reused: those of them whose keys and values were there from other requests.
        tokens: tokens of the completion.
        chosen: tokens that the model chose among at least two, free text included.
        free: those of ``chosen`` that stand in free text.
        guessed: drafted tokens that were not certain.
        accepted: those of them that stood.
        drafts: drafted and accepted tokens by kind. ``certain`` are all that the spec determines, behind
            guesses too; ``guessed`` and ``accepted`` are the sums of the others. What is accepted of all
            kinds and what was chosen without a guess (``chosen`` - ``accepted``) are the completion. Without
            drafting its certain tokens are drawn one by one, and none is counted.
        model_steps: forward passes in which the model decided something for this request.
        fill_steps: forward passes that only ran parts of a long prompt or a long certain run.
        tokens_run: tokens run for the completion, those in vain included; the last token never runs.
        in_vain: tokens run for drafts that did not stand.
        widest: most tokens of the completion run in one pass.
        prefill_s: seconds for the prompt: of each pass, the prompt's share of the tokens fed.
        decode_s: seconds for everything else, waiting, planning and sampling included.
    """

    prompt_tokens: int
    reused: int = 0
    tokens: int = 0
    chosen: int = 0
    free: int = 0
    guessed: int = 0
    accepted: int = 0
    drafts: Mapping[DraftKind, DraftCount] = field(default_factory=dict)
    model_steps: int = 0
    fill_steps: int = 0
    tokens_run: int = 0
    in_vain: int = 0
    widest: int = 0
    prefill_s: float = 0.0
    decode_s: float = 0.0

    @property
    def certain(self) -> int:
        """Tokens that the spec determined."""
        return self.tokens - self.chosen

    @property
    def choice_points(self) -> int:
        """Positions where at least two tokens were allowed."""
        return self.chosen


@dataclass(frozen=True, slots=True)
class Completion:
    """How a request ended.

    Attributes:
        token_ids: the completion's tokens; the last of a free completion may be an end token.
        text: the text of a free completion; "" with a session, which has the text itself.
        finish_reason: ``stop`` is the only one that stands for a complete record.
        usage: what it cost.
        error: why it ended, where ``finish_reason`` is ``error``.
        logprobs: of the tokens that the text or the record is made of, where the request asks for them.
    """

    token_ids: tuple[int, ...]
    text: str
    finish_reason: FinishReason
    usage: Usage
    error: Exception | None = None
    logprobs: tuple[TokenLogprob, ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """What came of one of several requests that were sent together: tokens, or its end."""

    index: int
    part: Commit | Completion


def cancel(requests: Sequence[Request]) -> None:
    """End requests at their next step."""
    for request in requests:
        request.cancelled.set()


def failed(request: Request, error: Exception | None) -> Completion:
    """The completion of a request that never ran: with an error, or cancelled where there is none."""
    usage = Usage(prompt_tokens=len(request.prompt_ids))
    return Completion((), "", "cancelled" if error is None else "error", usage, error)
