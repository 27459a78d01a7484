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
from copy import copy
from dataclasses import replace
from math import inf

from factorspec_sdk.decoding import Decoder, Origin, Report, Session
from factorspec_sdk.decoding.report import TextFilter
from factorspec_sdk.errors import TokenLimitTooSmall
from factorspec_sdk.tokens import Allowed, Vocabulary
from factorspec_sdk.tokens.masks import Row, check_rows
from factorspec_server.drafting.seam import (
    GuessPolicy,
    Plan,
    SessionState,
    Shape,
    certain_run,
    one_choice,
)
from factorspec_server.engines.answer_rules import AnswerRules
from factorspec_server.engines.call_decoders import CallDecoders, CallTokens
from factorspec_server.engines.chat import ChatSession
from factorspec_server.engines.seam import Wording
from factorspec_server.engines.writing import Writing


class AnswerSession:
    """One answer; see ``drafting.seam.Session``, and ``decoding.Session`` for what else can be asked.

    Attributes:
        rules: what it may be.
        token_limit: most tokens of it.
        writings: what was settled on, in order: records, refusals and calls, the last one perhaps on its way.
        has_ended: it is complete by an end token, which is its last.
    """

    def __init__(self, rules: AnswerRules, words: Wording, token_limit: int) -> None:
        """Begin an answer.

        Raises:
            TokenLimitTooSmall: nothing that it may be fits.
        """
        self.rules = rules
        self.token_limit = token_limit
        self.writings: list[Writing] = []
        self.has_ended = False
        self._words = words
        self._end_ids = frozenset(words.end_ids)
        self._tokens: list[int] = []
        self._decided: list[int] = []  # where one of several things was decided on
        self._text = ChatSession(words, rules.stop) if rules.text else None
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
        return self.vocabulary.decode(self._tokens, errors="replace")

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens that it is written in."""
        return self.rules.vocabulary

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
        if self._text is None:
            return self._ended
        return "complete" if self.is_cut else self._text.state

    @property
    def is_cut(self) -> bool:
        """It is text that reached the token limit, where ``AnswerRules.cuts_text`` says that this ends it."""
        is_text = self.rules.cuts_text and self._text is not None and self._text.state == "open"
        return is_text and len(self._tokens) >= self.token_limit

    def allowed(self) -> Allowed:
        """The tokens that may come next; none once the answer is complete. Does not change the session."""
        if self.state != "open":
            return Allowed.of(())
        if self._text is not None:
            return self._allowed_in_text()
        if len(self._alive) == 1 and not self._may_end:
            return self._alive[0].allowed()
        return Allowed.of(self._allowed_by_several())

    def fill_row(self, out: Row) -> Allowed:
        """Write the tokens that may come next into ``out``; see ``decoding.Session.fill_row``."""
        allowed = self.allowed()
        check_rows(out, (self.vocabulary.row_words,))
        allowed.write_row(out)
        return allowed

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
            written = self._tokens[: only.start]
            return self._whole(only, only.plan(width, guesses, shape, until_s=until_s, written=written))
        ids = self._allowed_by_several()
        return certain_run(tuple(ids)) if len(ids) == 1 else one_choice(Allowed.of(ids))

    def _whole(self, only: Writing, plan: Plan) -> Plan:
        """The plan of a record as one of the answer, which need not be complete where the record is."""
        if not plan.complete and not plan.ends:
            return plan
        is_last = not only.after and not self._may_go_on(only, len(plan.tokens) if plan.complete else 0)
        return plan if is_last else replace(plan, complete=False, ends=())

    def commit(self, token_ids: Sequence[int], /) -> int:
        """Append tokens; the first that is not allowed refuses the answer. How many were written."""
        before, given = len(self._tokens), tuple(token_ids)
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
        return len(self._tokens) - before

    def rollback(self, num_tokens: int) -> None:
        """Take back the last ``num_tokens`` tokens, and a refusal. O(tokens): the rest is written again.

        Raises:
            ValueError: there are not so many.
        """
        if not 0 <= num_tokens <= len(self._tokens):
            raise ValueError(f"cannot take back {num_tokens} of {len(self._tokens)} tokens")
        again = AnswerSession(self.rules, self._words, self.token_limit)
        kept = self._tokens[: len(self._tokens) - num_tokens]
        written = again.commit(kept)
        assert written == len(kept), "what was allowed is allowed again"
        vars(self).update(vars(again))

    def copy(self) -> AnswerSession:
        """An independent session in the same state. O(tokens)."""
        twin = copy(self)
        moved = {id(writing): writing.copy() for writing in (*self.writings, *self._alive)}
        twin.writings = [moved[id(writing)] for writing in self.writings]
        vars(twin).update(
            _tokens=[*self._tokens],
            _decided=[*self._decided],
            _text=None if self._text is None else self._text.copy(),
            _alive=[moved[id(writing)] for writing in self._alive],
        )
        return twin

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
        left = self.token_limit - len(self._tokens) + num_given
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
        left = self.token_limit - len(self._tokens) - 1
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
        self.has_ended = token in self._end_ids
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
            self._alive, self._ended, self.has_ended = [], "complete", True
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

    def _may_go_on(self, writing: Writing, num_ahead: int = 0) -> bool:
        """True if one more call may follow, and fits; ``num_ahead``: tokens that come before it."""
        calls = self.rules.calls
        if calls is None or not self._end_ids or not calls.writes(writing.session):
            return False
        left = self.token_limit - len(self._tokens) - num_ahead
        num_calls = len(self.writings) + all(known is not writing for known in self.writings)
        return num_calls < self.rules.most_calls and left >= calls.num_needed_next

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
