"""One request inside a running batch: plan, feed, verify, commit.

The row's invariant, between two steps::

    prompt + completion  =  tokens whose keys and values the batch holds (``cached``)  +  ``pending``

``pending`` is never empty while the row is open, since the logits of the next choice come from its last
token. Certain tokens are written as soon as they are known, and wait there for the next step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from factorspec_sdk.decoding import CanonicalSession
from factorspec_server.drafting.seam import Choice, FloatArray, IntArray, Session
from factorspec_server.engines.answer_session import AnswerSession
from factorspec_server.engines.chat import ChatSession
from factorspec_server.engines.draft import Draft
from factorspec_server.engines.errors import BrokenLogits, ContextTooLong, SessionRefused, SessionStalled
from factorspec_server.engines.logprobs import LogprobLog, TokenLogprob
from factorspec_server.engines.penalties import penalties_of
from factorspec_server.engines.requests import Commit, Completion, FinishReason, Request
from factorspec_server.engines.sampling import choose
from factorspec_server.engines.seam import Model, Parents, Want
from factorspec_server.engines.tally import Tally

GATHERED_IDS = 512
"""Up to this many allowed tokens only their logits are computed; beyond it a dense row is cheaper."""


class Feed(NamedTuple):
    """Tokens to run, where logits are wanted, and how the tokens hang together."""

    tokens: list[int]
    wanted: list[Want]
    parents: Parents


class Row:
    """A request's progress: ``advance``, ``feed`` and ``settle`` in turn until ``completion`` is set."""

    def __init__(self, model: Model, request: Request) -> None:
        self.request = request
        self.prompt: IntArray = np.array(request.prompt_ids, dtype=np.int32)
        self.completion: Completion | None = None
        self.cached = 0
        self._model = model
        self._chat = ChatSession(model, request.stop) if request.session is None else None
        self._session = _only(request.session, self._chat)
        self._pending: list[int] = list(request.prompt_ids)
        self._tokens: list[int] = []
        self._text: list[str] = []
        self._draft: Draft | None = None
        self._running: Draft | None = None
        self._num_fed = 0
        self._tally = Tally(len(request.prompt_ids))
        self._logprobs = None if request.top_logprobs is None else LogprobLog(request.top_logprobs)
        self._num_told = 0
        self._penalties = penalties_of(request.sampling, request.prompt_ids, model.logit_width)

    @property
    def held(self) -> list[int]:
        """The tokens that the batch holds."""
        return [*self.request.prompt_ids, *self._tokens][: self.cached]

    @property
    def is_reading(self) -> bool:
        """True until the batch holds the prompt."""
        return self.cached < len(self.request.prompt_ids)

    @property
    def session(self) -> Session:
        """The record's session, or the chat's."""
        return self._session

    @property
    def needs_plan(self) -> bool:
        """True until it is known what runs next, or that the request has ended: ``advance`` finds out."""
        is_unknown = self._draft is None or self.request.cancelled.is_set()
        return is_unknown and self.completion is None

    @property
    def num_wanted(self) -> int:
        """Tokens that the row would run in one step if it could; 0 while it needs a plan."""
        if self._draft is None:
            return 0
        return len(self._pending) + len(self._draft.run)

    def reuse(self, num_tokens: int) -> None:
        """The batch holds the prompt's first ``num_tokens`` tokens already; at least one is left to run."""
        assert self.cached == 0 and num_tokens < len(self.request.prompt_ids)
        self.cached = self._tally.reused = num_tokens
        del self._pending[:num_tokens]

    def advance(self) -> None:
        """Commit what the next plan says is certain, or finish the request.

        Where the plan ends before the model has to decide, another is needed: ``needs_plan``.
        """
        if self._draft is not None and self.request.cancelled.is_set():
            self.finish("cancelled")
        is_known = True
        while self.needs_plan and is_known:
            reason = self._reason_to_finish()
            if reason is not None:
                self.finish(reason)
                return
            plan = self.request.drafting.plan(self._session)
            trunk = list(plan.tokens[: min(plan.num_certain, self._room)])
            if trunk:
                self._pending += trunk
                self._tally.count_certain(len(trunk))
                self._commit(trunk)
            draft = Draft.of(plan, len(trunk), self._room, as_chain=not self._model.takes_trees)
            if draft.choices:
                self._draft = draft
            elif not trunk:
                raise SessionStalled("the session is open but plans neither tokens nor a choice")
            is_known = self._room <= 0 or (plan.complete and len(trunk) == len(plan.tokens))

    def _reason_to_finish(self) -> FinishReason | None:
        if self.request.cancelled.is_set():
            return "cancelled"
        if self._session.state == "complete":
            return "stop"
        if self._session.state == "refused":
            raise SessionRefused("the session refused a token that it had allowed")
        if self._room <= 0:
            return "length"
        num_tokens = len(self.request.prompt_ids) + self.request.token_limit
        if num_tokens > self._model.max_positions:
            raise ContextTooLong(num_tokens=num_tokens, max_positions=self._model.max_positions)
        return None

    @property
    def _room(self) -> int:
        return self.request.token_limit - len(self._tokens)

    def feed(self, most: int) -> Feed:
        """What to run in this step: all that is wanted, or ``most`` of it; ``settle`` takes its logits.

        Where not even what is pending fits, its beginning runs without logits. A row that needs a plan runs
        nothing, and there is nothing to settle.
        """
        if self._draft is None:
            self._num_fed = 0
            return Feed([], [], None)
        start = len(self._pending)
        if start > most:
            self._running, self._num_fed = None, most
            return Feed(self._pending[:most], [], None)
        draft = self._running = self._draft.cut(most - start)
        place = {node: start + at for at, node in enumerate(draft.run)} | {-1: start - 1}
        wanted = [(place[choice.node], _gathered(choice)) for choice in draft.choices]
        tokens = [*self._pending, *(draft.tokens[node] for node in draft.run)]
        hung = [place[draft.parents[node]] for node in draft.run]
        self._num_fed = len(tokens)
        is_chain = hung == [*range(start - 1, len(tokens) - 1)]
        return Feed(tokens, wanted, None if is_chain else [*range(-1, start - 1), *hung])

    def settle(self, logits: Sequence[FloatArray], step_s: float) -> list[int]:
        """Verify what ran, commit what stands.

        Args:
            logits: one array for each want of ``feed``.
            step_s: seconds that the step took.

        Returns:
            The fed tokens that the batch is to hold, from the root down.
        """
        read = min(self._num_fed, len(self.request.prompt_ids) - self.cached)
        if self._running is None:
            kept = list(range(self._num_fed))
            self._tally.count_fill(self._num_fed, read, step_s)
            self.cached += self._num_fed
            del self._pending[: self._num_fed]
            return kept
        draft, self._draft, self._running = self._running, None, None
        try:
            walk = draft.walk(logits, self._choose)
        except BrokenLogits:
            if not draft.run:
                raise
            # a branch that breaks spoils all that runs beside it: once more, without drafts
            self._draft = draft.cut(0)
            self._tally.count_step(self._num_fed, 0, 0, step_s)
            return []
        place = {node: len(self._pending) + at for at, node in enumerate(draft.run)}
        held = [node for node in walk.nodes if node in place]
        kept = [*range(len(self._pending)), *(place[node] for node in held)]
        self._tally.count_step(self._num_fed, read, len(kept), step_s)
        self._tally.count_choices(walk.decided)
        self._tally.count_drafts(draft.kinds, draft.certain, walk.nodes)
        self.cached += len(kept)
        self._pending = walk.tokens[len(held) :]
        self._commit(walk.tokens)
        return kept

    def _choose(self, choice: Choice, values: FloatArray, before: Sequence[int]) -> int:
        """Sample at a choice behind the tokens ``before``; what the session does not admit is drawn again."""
        sampling = self.request.sampling
        session = self.request.session
        if isinstance(session, AnswerSession):
            session = session.record
        ids, position = choice.allowed.ids(), len(self._tokens) + len(before)
        logits = values if len(ids) <= GATHERED_IDS else values[ids]
        scores: NDArray[np.floating[Any]] = logits
        if self._penalties is not None:
            scores = self._penalties.logits(scores, ids, before)
        token = choose(scores, ids, sampling, position)
        if isinstance(session, CanonicalSession):
            while not session.admits(token, before):
                others = ids != token
                ids, scores = ids[others], scores[others]
                if not len(ids):
                    raise SessionStalled("the session admits none of the tokens that it allows")
                token = choose(scores, ids, sampling, position)
        if self._logprobs is not None:
            self._logprobs.draw(position, choice, logits, token)
        return token

    def _commit(self, token_ids: list[int]) -> None:
        text = ""
        if self._chat is not None:
            text = self._chat.write(token_ids)
            self._text.append(text)
        else:
            self._session.commit(token_ids)
        self._tokens += token_ids
        if self._penalties is not None:
            self._penalties.add(token_ids)
        if self._logprobs is not None:
            self._logprobs.write(token_ids)
        if self.request.on_commit is not None:
            told, self._num_told = self._num_told, self._num_shown
            logprobs = self._logprobs_from(told)
            self.request.on_commit(Commit(tuple(token_ids), text, len(self._tokens), logprobs))

    @property
    def _num_shown(self) -> int:
        """Tokens that the text so far, or the record, is made of."""
        return len(self._tokens) if self._chat is None else self._chat.num_shown

    def _logprobs_from(self, start: int) -> tuple[TokenLogprob, ...]:
        """What is told of the tokens shown, from one of them on; nothing where nobody asked."""
        return () if self._logprobs is None else tuple(self._logprobs.entries[start : self._num_shown])

    def finish(self, reason: FinishReason, error: Exception | None = None) -> None:
        """End the request; later calls change nothing."""
        if self.completion is not None:
            return
        if self._chat is not None:
            self._text.append(self._chat.flush())
        usage = self._tally.usage(len(self._tokens))
        self.completion = Completion(
            tuple(self._tokens), "".join(self._text), reason, usage, error, self._logprobs_from(0)
        )


def _gathered(choice: Choice) -> IntArray | None:
    """The tokens whose logits are computed; None: all."""
    return choice.allowed.ids() if choice.allowed.count <= GATHERED_IDS else None


def _only(record: Session | None, chat: ChatSession | None) -> Session:
    """The one of the two that there is."""
    session = chat if record is None else record
    assert session is not None
    return session
