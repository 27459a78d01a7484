"""One request inside a running batch: plan, feed, verify, commit.

The row's invariant, between two steps::

    prompt + completion  =  tokens whose keys and values the batch holds (``cached``)  +  ``pending``

``pending`` is never empty while the row is open, since the logits of the next choice come from its last
token.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from factorspec_server.drafting.seam import Choice, FloatArray, Plan, Session
from factorspec_server.engines.chat import ChatSession
from factorspec_server.engines.errors import ContextTooLong, SessionRefused, SessionStalled
from factorspec_server.engines.requests import Commit, Completion, FinishReason, Request, Usage
from factorspec_server.engines.sampling import choose
from factorspec_server.engines.seam import Model, Want

GATHERED_IDS = 512
"""Up to this many allowed tokens only their logits are computed; beyond it a dense row is cheaper."""


class Row:
    """A request's progress: ``advance``, ``feed`` and ``settle`` in turn until ``completion`` is set."""

    def __init__(self, model: Model, request: Request) -> None:
        self.request = request
        self.completion: Completion | None = None
        self.cached = 0
        self._model = model
        self._chat = ChatSession(model, request.stop) if request.session is None else None
        self._session = _only(request.session, self._chat)
        self._pending: list[int] = list(request.prompt_ids)
        self._tokens: list[int] = []
        self._text: list[str] = []
        self._plan: Plan | None = None
        self._choices: list[Choice] = []
        self._counts = dict.fromkeys(("chosen", "free", "guessed", "accepted", "model_steps"), 0)
        self._started = perf_counter()
        self._prefill_s = 0.0

    def advance(self) -> None:
        """Commit what is certain until the model has to decide, or finish the request.

        Tokens with no choice behind them are not run here: they wait in ``pending`` and ride on the next
        step.
        """
        while self.completion is None:
            reason = self._reason_to_finish()
            if reason is not None:
                self.finish(reason)
                return
            plan = self.request.drafting.plan(self._session)
            room = self._room
            self._choices = [choice for choice in plan.choices if choice.node + 1 < room]
            if self._choices:
                self._plan = plan
                return
            if not plan.tokens:
                raise SessionStalled("the session is open but plans neither tokens nor a choice")
            certain = list(plan.tokens[:room])
            self._pending += certain
            self._commit(certain)

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

    def feed(self) -> tuple[list[int], list[Want]]:
        """The tokens to run in this step, and where logits are wanted. Does not change the row."""
        assert self._plan is not None
        start = len(self._pending)
        last = self._choices[-1].node
        wanted: list[Want] = []
        for choice in self._choices:
            ids = choice.allowed.ids() if choice.allowed.count <= GATHERED_IDS else None
            wanted.append((start + choice.node, ids))
        return [*self._pending, *self._plan.tokens[: last + 1]], wanted

    def count_step(self, step_s: float) -> None:
        """Account for a model step of ``step_s`` seconds that ran this row's feed."""
        if self._counts["model_steps"] == 0:
            prompt = len(self.request.prompt_ids)
            fed = len(self._pending) + self._choices[-1].node + 1
            self._prefill_s = step_s * prompt / fed
        self._counts["model_steps"] += 1

    def settle(self, logits: Sequence[FloatArray]) -> None:
        """Verify the plan in order, commit what stands, set ``cached`` to the tokens that the batch keeps.

        Args:
            logits: one array for each want of ``feed``.
        """
        assert self._plan is not None
        planned = self._plan.tokens
        kept, drawn = len(planned), None
        node = self._choices[-1].node
        for choice, values in zip(self._choices, logits, strict=True):
            token = self._choose(choice, values)
            self._counts["guessed"] += len(choice.children)
            if token not in (planned[child] for child in choice.children):
                node, kept, drawn = choice.node, choice.node + 1, token
                break
            self._counts["accepted"] += 1
        run = [*planned[:kept]] if drawn is None else [*planned[:kept], drawn]
        self.cached += len(self._pending) + node + 1
        self._pending = run[node + 1 :]
        self._plan = None
        self._commit(run[: self._room])

    def _choose(self, choice: Choice, values: FloatArray) -> int:
        """Sample at a choice, and count it where there was something to choose."""
        ids = choice.allowed.ids()
        scores = values if len(ids) <= GATHERED_IDS else values[ids]
        if len(ids) > 1:
            self._counts["chosen"] += 1
            self._counts["free"] += int(choice.free)
        return choose(scores, ids, self.request.sampling, len(self._tokens) + choice.node + 1)

    def _commit(self, token_ids: list[int]) -> None:
        text = ""
        if self._chat is not None:
            text = self._chat.write(token_ids)
            self._text.append(text)
        else:
            self._session.commit(token_ids)
        self._tokens += token_ids
        if self.request.on_commit is not None:
            self.request.on_commit(Commit(tuple(token_ids), text, len(self._tokens)))

    def finish(self, reason: FinishReason, error: Exception | None = None) -> None:
        """End the request; later calls change nothing."""
        if self.completion is not None:
            return
        if self._chat is not None:
            self._text.append(self._chat.flush())
        usage = Usage(
            prompt_tokens=len(self.request.prompt_ids),
            tokens=len(self._tokens),
            prefill_s=self._prefill_s,
            decode_s=perf_counter() - self._started - self._prefill_s,
            **self._counts,
        )
        self.completion = Completion(tuple(self._tokens), "".join(self._text), reason, usage, error)


def _only(record: Session | None, chat: ChatSession | None) -> Session:
    """The one of the two that there is."""
    session = chat if record is None else record
    assert session is not None
    return session
