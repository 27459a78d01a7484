"""XGrammar and llguidance as engines of the masks benchmark.

Both get the schema without the vendor key, in FactorSpec's layout: ", " and ": ", no free white space, closed
objects. Where a keyword keeps a library from taking a record, it gets the nearest schema without it, and the
run says so. A record ends with its closing bracket: no row is filled for an end token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from factorspec_sdk.fields.text import ITEM_SEPARATOR, KEY_SEPARATOR
from factorspec_sdk.tokens import Vocabulary
from factorspec_sdk.tokens.masks import Row
from tests.benchmarks.masks_engine import Engine, Refused, Walk, schema_text
from tests.benchmarks.masks_workload import Task, Tokens

#: keywords left out, one set after the other, until a library takes the schema and its records
LEFT_OUT: tuple[tuple[str, ...], ...] = ((), ("format",), ("pattern",), ("format", "pattern"))


def libraries(vocabulary: Vocabulary, tokenizer_json: str) -> list[Engine]:
    """All libraries and ways to use them. Loads both libraries: seconds."""
    return [
        Xgrammar("xgrammar", vocabulary),
        Xgrammar("xgrammar+cache", vocabulary, cache=True),
        Xgrammar("xgrammar+lazy", vocabulary, lazy=True),
        Xgrammar("xgrammar+jump", vocabulary, jump=True),
        Llguidance("llguidance", vocabulary, tokenizer_json),
        Llguidance("llguidance+ff", vocabulary, tokenizer_json, forced=True),
    ]


class XgrammarWalk:
    """A matcher; a row for every token."""

    def __init__(self, matcher: Any) -> None:
        self._matcher = matcher

    def skip(self, tokens: Tokens, at: int) -> int:
        return 0

    def fill(self, row: Row) -> None:
        self._matcher.fill_next_token_bitmask(row)

    def advance(self, token: int) -> bool:
        return bool(self._matcher.accept_token(token))

    def is_complete(self) -> bool:
        return bool(self._matcher.is_terminated())


class XgrammarJumpWalk(XgrammarWalk):
    """Where a string is forced, the record's tokens that lie wholly inside it need no row.

    What re-encoding the string would cost an engine is not counted.
    """

    def __init__(self, matcher: Any, table: Sequence[bytes]) -> None:
        super().__init__(matcher)
        self._table = table

    def skip(self, tokens: Tokens, at: int) -> int:
        forced = self._matcher.find_jump_forward_string()
        if not forced:
            return 0
        left, begin = len(forced.encode()), at
        while at < len(tokens):
            left -= len(self._table[tokens[at]])
            if left < 0:
                break
            self._matcher.accept_token(tokens[at])
            at += 1
        return at - begin


class XgrammarSpec:
    """A compiled grammar."""

    def __init__(self, compiled: Any, notes: tuple[str, ...], jump: Sequence[bytes] | None) -> None:
        self.notes = notes
        self._compiled = compiled
        self._jump = jump

    def walk(self) -> Walk:
        from xgrammar import GrammarMatcher

        matcher = GrammarMatcher(self._compiled, terminate_without_stop_token=True)
        return XgrammarWalk(matcher) if self._jump is None else XgrammarJumpWalk(matcher, self._jump)

    def memory_bytes(self) -> int | None:
        return int(self._compiled.memory_size_bytes)


class Xgrammar:
    """XGrammar. Without a cache, each schema is compiled as if it were the first.

    cache: the compiler keeps masks and grammars. lazy: masks are made when they are first needed.
    jump: forced strings are used.
    """

    def __init__(
        self,
        name: str,
        vocabulary: Vocabulary,
        *,
        cache: bool = False,
        lazy: bool = False,
        jump: bool = False,
    ) -> None:
        import xgrammar

        self.name = name
        self._options = {"cache_enabled": cache, "enable_dynamic_compilation": lazy}
        self._jump = vocabulary.all_bytes if jump else None
        texts = frozenset(vocabulary.text_ids)
        self._info = xgrammar.TokenizerInfo(
            [data if i in texts else b"" for i, data in enumerate(vocabulary.all_bytes)],
            xgrammar.VocabType.RAW,
            vocab_size=vocabulary.logit_width,
            stop_token_ids=list(vocabulary.end_ids),
        )
        self.left_out: dict[str, Sequence[str]] | None = {}
        self.prepare()

    def prepare(self) -> None:
        import xgrammar

        self._compiler = xgrammar.GrammarCompiler(self._info, max_threads=1, **self._options)

    def compile(self, task: Task) -> XgrammarSpec:
        without = (self.left_out or {}).get(task.name, ())
        try:
            compiled = self._compiler.compile_json_schema(
                schema_text(task, without), any_whitespace=False, separators=(ITEM_SEPARATOR, KEY_SEPARATOR)
            )
        except RuntimeError as error:
            raise Refused(str(error)) from error
        return XgrammarSpec(compiled, notes_of(without), self._jump)


class LlguidanceWalk:
    """A matcher; a row for every token."""

    def __init__(self, matcher: Any) -> None:
        self._matcher = matcher

    def skip(self, tokens: Tokens, at: int) -> int:
        return 0

    def fill(self, row: Row) -> None:
        self._matcher.unsafe_compute_mask_ptr(row.ctypes.data, row.nbytes)

    def advance(self, token: int) -> bool:
        return bool(self._matcher.consume_token(token))

    def is_complete(self) -> bool:
        return bool(self._matcher.is_accepting())


class LlguidanceForcedWalk(LlguidanceWalk):
    """Forced tokens need no row where they are the record's."""

    def skip(self, tokens: Tokens, at: int) -> int:
        forced = self._matcher.compute_ff_tokens() if at < len(tokens) else ()
        count = 0
        for token, wanted in zip(forced, tokens[at : at + len(forced)], strict=False):
            if token != wanted:
                break
            count += 1
        if count:
            self._matcher.consume_tokens(list(tokens[at : at + count]))
        return count


class LlguidanceSpec:
    """A matcher that is copied for each record, and so never moves."""

    def __init__(self, matcher: Any, notes: tuple[str, ...], *, forced: bool) -> None:
        self.notes = notes
        self._matcher = matcher
        self._forced = forced

    def walk(self) -> Walk:
        matcher = self._matcher.deep_copy()
        return LlguidanceForcedWalk(matcher) if self._forced else LlguidanceWalk(matcher)

    def memory_bytes(self) -> int | None:
        return None


class Llguidance:
    """llguidance with its slices for JSON. It has no cache over specs; its matchers make rows when asked."""

    def __init__(
        self, name: str, vocabulary: Vocabulary, tokenizer_json: str, *, forced: bool = False
    ) -> None:
        import llguidance

        self.name = name
        self._forced = forced
        self._matcher = llguidance.LLMatcher
        self._tokenizer = llguidance.LLTokenizer(
            tokenizer_json,
            n_vocab=vocabulary.logit_width,
            eos_token=list(vocabulary.end_ids),
            slices=llguidance.LLTokenizer.json_slices(),
        )
        self.left_out: dict[str, Sequence[str]] | None = {}

    def prepare(self) -> None:
        """Nothing is kept."""

    def compile(self, task: Task) -> LlguidanceSpec:
        without = (self.left_out or {}).get(task.name, ())
        grammar = self._matcher.grammar_from_json_schema(
            schema_text(task, without),
            {"item_separator": ITEM_SEPARATOR, "key_separator": KEY_SEPARATOR, "whitespace_flexible": False},
        )
        matcher = self._matcher(self._tokenizer, grammar)
        if matcher.is_error():
            raise Refused(matcher.get_error())
        return LlguidanceSpec(matcher, notes_of(without), forced=self._forced)


def notes_of(without: Sequence[str]) -> tuple[str, ...]:
    """What a run says about keywords that were left out."""
    return tuple(f"without {keyword!r}" for keyword in without)
