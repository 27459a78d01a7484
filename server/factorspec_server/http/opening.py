"""Opens the session of a request, wherever it is kept: of one document, or of an answer that may be several.

::

    document                     ──► Session          one record
    AnswerWish (tools, text …)   ──► AnswerSession    calls, text that may turn into calls, refusals, a record

Both are told by JSON documents alone, so that one process may read a request and another write its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from factorspec_sdk.decoding import OnBudget, Session
from factorspec_sdk.errors import DocumentError, JsonValue, Problem, TokenLimitTooSmall
from factorspec_sdk.explaining.spec_report import certificate_json
from factorspec_sdk.tokens import Canonical
from factorspec_server.engines.answer_session import AnswerSession
from factorspec_server.engines.seam import Wording
from factorspec_server.http.answer_wish import AnswerWish
from factorspec_server.http.call_format import CallFormat, SpelledCalls
from factorspec_server.http.compiled_spec import CompiledSpec, Compiler
from factorspec_server.http.enforced import Enforced, Tokens, Writes, enforced
from factorspec_server.http.spec_cache import SpecCache
from factorspec_server.http.tool_decoders import ToolDecoders
from factorspec_server.settings import Budgets

#: a model has one way to write calls; a few more are there for who asks for others
_MOST_FORMS = 4
_FORM_BYTES = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """How a session writes.

    Attributes:
        token_limit: most tokens; None: as many as it takes, for one record alone.
        most_tokens: the limit instead where the shortest answer needs more than ``token_limit``.
        on_budget: what happens where a budget ends in mid-record.
        salt: see ``Decoder.session``.
    """

    token_limit: int | None = None
    most_tokens: int | None = None
    on_budget: OnBudget = "narrow"
    salt: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedSession:
    """A session in which nothing is written, and what is known of its specs.

    Attributes:
        session: the session.
        compile_s: seconds that compiling its specs took, whenever that was.
        was_cached: all of them were compiled for earlier requests.
        certificates: of the record's objective (``certificate_json``).
        tool_certificates: of each tool's that has one.
    """

    session: Session | AnswerSession
    compile_s: float
    was_cached: bool
    certificates: Sequence[JsonValue] = ()
    tool_certificates: Mapping[str, Sequence[JsonValue]] = field(default_factory=dict)


class SessionOpener:
    """Opens sessions for one model's tokens. Methods may be called from any thread."""

    def __init__(
        self, canonical: Canonical, words: Wording, compiler: Compiler, budgets: Budgets | None = None
    ) -> None:
        """Cheap.

        Args:
            canonical: encodes records' texts.
            words: what the tokenizer says of its ids.
            compiler: of single documents, for the same tokens.
            budgets: how much is kept of sets of tools.
        """
        self._canonical = canonical
        self._words = words
        self._compiler = compiler
        self._budgets = budgets or Budgets()
        self._decoders: SpecCache[ToolDecoders] = SpecCache(
            max_entries=_MOST_FORMS, max_bytes=_MOST_FORMS * _FORM_BYTES, size_of=lambda _: _FORM_BYTES
        )

    def open(
        self, document: dict[str, JsonValue], answer: AnswerWish | None, options: SessionOptions
    ) -> OpenedSession:
        """A session. May take as long as the budgets for compiling allow.

        Args:
            document: of the record, where ``answer`` says nothing.
            answer: what the answer may be.
            options: how it is written.

        Raises:
            DocumentError: a document cannot be enforced; places are pointers into it, those in a tool's into
                the request.
            InfeasibleError: nothing can satisfy a document, or nothing within the token limit.
            EngineError: the tokenizer cannot write calls.
        """
        if answer is None:
            compiled, was_cached = self._compiler.compile(document)
            compiled.decoder.prepare()
            session = _within_limits(_of_record(compiled, options), options)
            return OpenedSession(
                session=session,
                compile_s=compiled.compile_s,
                was_cached=was_cached,
                certificates=_certificates(compiled),
            )
        made = self._enforced(answer, options)
        return OpenedSession(
            session=self._answer(made, options),
            compile_s=sum(compiled.compile_s for compiled in made.specs),
            was_cached=not made.fresh,
            certificates=() if made.record is None else _certificates(made.record),
            tool_certificates={
                name: _certificates(compiled)
                for name, compiled in made.tools.items()
                if compiled.certificates
            },
        )

    def forget_records(self) -> None:
        """Forget what was written, of which what comes after it is guessed."""
        self._compiler.forget_records()
        for decoders in self._decoders.values():
            decoders.forget_records()

    def _enforced(self, answer: AnswerWish, options: SessionOptions) -> Enforced:
        form = CallFormat() if answer.form is None else answer.form.format
        tokens = Tokens(self._canonical.vocabulary, self._words.num_tokens)
        writes = Writes(options.on_budget, cuts_text=True, salt=options.salt)
        return enforced(answer, self._compiler, lambda: self._decoders_of(form), tokens, writes)

    def _answer(self, made: Enforced, options: SessionOptions) -> Session | AnswerSession:
        if made.rules is None:
            assert made.record is not None, "an answer without rules is one record"
            return _within_limits(_of_record(made.record, options), options)
        if options.token_limit is None:
            problem = Problem("/token_limit", "is missing", hint="text and calls have one")
            raise DocumentError("the answer cannot be opened", [problem])
        rules = made.rules
        return _within_limits(lambda limit: AnswerSession(rules, self._words, limit or 0), options)

    def _decoders_of(self, form: CallFormat) -> ToolDecoders:
        return self._decoders.get(form, lambda: self._made(form)).value

    def _made(self, form: CallFormat) -> ToolDecoders:
        budgets = self._budgets
        return ToolDecoders(
            self._compiler,
            self._canonical,
            SpelledCalls.of(form, self._canonical.vocabulary),
            max_entries=budgets.cached_tool_sets,
            max_bytes=budgets.cached_tool_bytes,
        )


def _of_record(compiled: CompiledSpec, options: SessionOptions) -> Callable[[int | None], Session]:
    return partial(compiled.decoder.session, on_budget=options.on_budget, salt=options.salt)


def _within_limits(
    make: Callable[[int | None], Session | AnswerSession], options: SessionOptions
) -> Session | AnswerSession:
    """A session under the limit, or under the other one where the shortest answer needs more."""
    try:
        return make(options.token_limit)
    except TokenLimitTooSmall:
        most, limit = options.most_tokens, options.token_limit
        if most is None or limit is None or most <= limit:
            raise
        return make(most)


def _certificates(compiled: CompiledSpec) -> list[JsonValue]:
    return [certificate_json(each) for each in compiled.certificates]
