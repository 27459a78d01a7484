"""The session of an answer that may be text, a record, a refusal or tool calls.

::

    text ──opener──► call ──► call ──► …            tools by choice ("auto")
    call | record | refusal                         one of several from the first token on
             └──► call or end ──► call or end …     where calls may follow calls

What may be written next is the union over all that the answer may still become (``_alive``, mostly one); a
token leaves alive what goes on by it. Where one is left its own plans are drafted, as those of any record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from factorspec_sdk.decoding import Decoder, OnBudget, Origin, Report, Session
from factorspec_sdk.decoding.report import TextFilter
from factorspec_sdk.errors import TokenLimitTooSmall
from factorspec_sdk.tokens import Allowed, Vocabulary
from factorspec_server.drafting.seam import (
    GuessPolicy,
    Plan,
    SessionState,
    Shape,
    certain_run,
    one_choice,
)
from factorspec_server.engines.call_decoders import CallDecoders, CallTokens
from factorspec_server.engines.chat import ChatSession
from factorspec_server.engines.seam import Model
from factorspec_server.engines.writing import Writing


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRules:
    """What an answer may be.

    Attributes:
        vocabulary: the model's tokens.
        records: decoders of records with which the answer may begin and end.
        calls: decoders of tool calls; None: there are none.
        most_calls: calls that an answer may have.
        text: the answer may begin with text, in which a call may follow.
        stop: strings that end the text.
        on_budget: see ``Decoder.session``.
        canonical_text: see ``Decoder.session``.
    """

    vocabulary: Vocabulary
    records: tuple[Decoder, ...] = ()
    calls: CallDecoders | None = None
    most_calls: int = 1
    text: bool = False
    stop: tuple[str, ...] = ()
    on_budget: OnBudget = "narrow"
    canonical_text: bool = False


class AnswerSession:
    """One answer; see ``drafting.seam.Session``.

    Attributes:
        rules: what it may be.
        writings: what was settled on, in order: records, refusals and calls, the last one perhaps on its way.
    """

    def __init__(self, rules: AnswerRules, model: Model, token_limit: int) -> None:
        """Begin an answer.

        Raises:
            TokenLimitTooSmall: nothing that it may be fits.
        """
        self.rules = rules
        self.writings: list[Writing] = []
        self._limit = token_limit
        self._end_ids = frozenset(model.end_ids)
        self._tokens: list[int] = []
        self._decided: list[int] = []  # where one of several things was decided on
        self._text = ChatSession(model, rules.stop) if rules.text else None
        self._begun = 0  # bytes of the opener at the end of the text
        self._alive: list[Writing] = [] if rules.text else self._starts()
        self._may_end = False
        self._ended: SessionState = "open"

    @property
    def tokens(self) -> tuple[int, ...]:
        """The committed tokens."""
        return tuple(self._tokens)

    @property
    def num_tokens(self) -> int:
        """How many tokens are committed."""
        return len(self._tokens)

    @property
    def text(self) -> str:
        """The committed text, tags included."""
        return self.rules.vocabulary.decode(self._tokens, errors="replace")

    @property
    def record(self) -> Session | None:
        """The session of the record that is being written, if it is the only thing that may go on here."""
        only = self._alive[0] if len(self._alive) == 1 and not self._may_end else None
        return None if only is None or only.fixed() else only.session

    @property
    def report(self) -> Report:
        """Counts and origins so far. O(tokens)."""
        origins: list[Origin] = ["free"] * len(self._tokens)
        for writing in self.writings:
            origins[writing.start : writing.start + writing.num_tokens] = writing.origins()
        for at in self._decided:
            origins[at] = "chosen"
        reports = [writing.session.report for writing in self.writings]
        return Report(
            origins,
            exact=all(report.exact for report in reports),
            near_limit=any(report.near_limit for report in reports),
            text_filter=_sum_of([report.text_filter for report in reports if report.text_filter]),
        )

    @property
    def state(self) -> SessionState:
        """``complete`` where the answer ends, ``refused`` after a token that was not allowed."""
        return self._ended if self._text is None else self._text.state

    def plan(
        self,
        width: int | None = None,
        guesses: GuessPolicy | None = None,
        shape: Shape | None = None,
        *,
        until_s: float = inf,
    ) -> Plan:
        """The tokens to run next; see ``drafting.seam.Session``."""
        if self._text is not None:
            return one_choice(self._allowed_in_text(), free=True)
        if len(self._alive) == 1 and not self._may_end:
            only = self._alive[0]
            return only.plan(width, guesses, shape, until_s=until_s, written=self._tokens[: only.start])
        ids = self._allowed_by_several()
        return certain_run(tuple(ids)) if len(ids) == 1 else one_choice(Allowed.of(ids))

    def commit(self, token_ids: Sequence[int], /) -> None:
        """Append tokens; the first that is not allowed refuses the answer."""
        given = tuple(token_ids)
        while given and self.state == "open":
            if self._text is not None:
                taken = self._take_text(given[0], self._text)
            elif len(self._alive) == 1 and not self._may_end:
                taken = self._take(given)
            else:
                taken = self._take_one(given[0])
            self._tokens += given[:taken]
            given = given[taken:]
            self._settle()

    def _starts(self) -> list[Writing]:
        """All that the answer may be and that fits."""
        rules, found = self.rules, list[Writing]()
        errors: list[TokenLimitTooSmall] = []
        wanted = [(decoder, CallTokens()) for decoder in rules.records]
        if rules.calls is not None:
            wanted.append((rules.calls.first, rules.calls.tokens))
        for decoder, around in wanted:
            try:
                found.append(self._writing(decoder, around.opening, around.closing))
            except TokenLimitTooSmall as error:
                errors.append(error)
        if not found:
            raise min(errors, key=lambda error: inf if error.shortest is None else error.shortest)
        return found

    def _writing(
        self, decoder: Decoder, before: tuple[int, ...], after: tuple[int, ...], num_given: int = 0
    ) -> Writing:
        """A record that begins here, ``num_given`` of its tokens written already."""
        fixed = len(before) + len(after)
        left = self._limit - len(self._tokens) + num_given
        try:
            session = decoder.session(
                max(0, left - fixed),
                on_budget=self.rules.on_budget,
                canonical_text=self.rules.canonical_text,
            )
        except TokenLimitTooSmall as error:
            raise _with_tokens_around(error, left, fixed) from None
        if num_given:
            session.commit(session.plan().tokens[:num_given])
        return Writing(session, len(self._tokens), before, after, num_given)

    def _allowed_by_several(self) -> set[int]:
        """The tokens that may come where several things may go on, or the answer may end."""
        ids = {int(token) for writing in self._alive for token in writing.allowed().ids()}
        return ids | self._end_ids if self._may_end else ids

    def _allowed_in_text(self) -> Allowed:
        calls = self._calls
        left = self._limit - len(self._tokens) - 1
        return calls.watch.allowed(self._begun, has_room=left >= calls.num_needed)

    @property
    def _calls(self) -> CallDecoders:
        assert self.rules.calls is not None, "only what may turn into a call is free text here"
        return self.rules.calls

    def _take_text(self, token: int, text: ChatSession) -> int:
        """Write a token of text, which may open a call."""
        if token not in self._allowed_in_text():
            return self._refuse()
        text.commit((token,))
        begun = self._calls.watch.after(self._begun, token)
        self._begun = begun or 0
        if begun is None and text.state == "open":
            self._text = None
        return 1

    def _take(self, given: tuple[int, ...]) -> int:
        """Write tokens of the one record that is alive."""
        writing = self._alive[0]
        before = writing.num_tokens
        writing.commit(given)
        return writing.num_tokens - before or self._refuse()

    def _take_one(self, token: int) -> int:
        """Write a token where several things may go on, or the answer may end."""
        if len(self._allowed_by_several()) > 1:
            self._decided.append(len(self._tokens))
        if self._may_end and token in self._end_ids:
            self._alive, self._ended = [], "complete"
            return 1
        self._may_end = False
        for writing in self._alive:
            writing.commit((token,))
        self._alive = [writing for writing in self._alive if writing.state != "refused"]
        return 1 if self._alive else self._refuse()

    def _settle(self) -> None:
        """Note what the answer has become, and what may follow a call that is written."""
        if self._text is not None or self._ended != "open":
            return
        if not self._alive:  # text that ended with the opener
            calls = self._calls
            self._begin(calls.tokens.opening[1:], calls.num_given)
        if len(self._alive) > 1 or self._may_end:
            return
        writing = self._alive[0]
        if not self.writings or self.writings[-1] is not writing:
            self.writings.append(writing)
        if writing.state == "complete":
            self._alive, self._ended = [], "complete"
            if self._may_go_on(writing):
                self._begin((*self._calls.tokens.between, *self._calls.tokens.opening), 0)
                self._may_end, self._ended = True, "open"

    def _begin(self, before: tuple[int, ...], num_given: int) -> None:
        calls = self._calls
        self._alive = [self._writing(calls.inside, before, calls.tokens.closing, num_given)]

    def _may_go_on(self, writing: Writing) -> bool:
        """True if one more call may follow, and fits."""
        calls = self.rules.calls
        if calls is None or not self._end_ids or not calls.writes(writing.session):
            return False
        left = self._limit - len(self._tokens)
        return len(self.writings) < self.rules.most_calls and left >= calls.num_needed_next

    def _refuse(self) -> int:
        self._text, self._ended = None, "refused"
        return 0


def _with_tokens_around(error: TokenLimitTooSmall, token_limit: int, fixed: int) -> TokenLimitTooSmall:
    """The error, the tokens around the record counted."""
    if not fixed:
        return error
    size = None if error.shortest is None else error.shortest + fixed
    needed = f"at least {token_limit + 1}" if size is None else str(size)
    message = f"the shortest valid answer has {needed} tokens, the limit is {token_limit}"
    return TokenLimitTooSmall(message, token_limit=token_limit, shortest=size)


def _sum_of(filters: Sequence[TextFilter]) -> TextFilter | None:
    """What several filters did together; None where there is none."""
    if not filters:
        return None
    return TextFilter(
        checked=sum(each.checked for each in filters),
        refused=sum(each.refused for each in filters),
        dropped=sum(each.dropped for each in filters),
        time_s=sum(each.time_s for each in filters),
    )
