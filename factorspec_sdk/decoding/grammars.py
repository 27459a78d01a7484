"""Holes whose text goes by a grammar: whole JSON values, and strings with a schema. Masks come from XGrammar.

XGrammar's mask is narrowed by the automaton of ``json_strings.py``, which runs beside it: lone surrogate
escapes and characters that cannot be finished are left out, and so are tokens that hold the closing quote of
a string (those are found through the endings instead, ``holes.py``). A state owns a matcher that is forked
before it goes on (3 µs), so states are immutable.

What is exact: the mask, and when a text may end. How short a text can still be made XGrammar does not say; a
way to finish is looked for greedily: near the token limit only tokens are kept after which one was found;
further away (``_MARGIN``) it is taken for granted that a token adds no more than that to the shortest way.
``placed_rules.py`` does better where it can read the grammar.

XGrammar makes the masks of a place in a grammar when one is first asked for, and keeps them with the
grammar (its dynamic compilation, which is safe for threads): thousands of places are compiled in
milliseconds. Releases before 0.2.6, one of which SGLang pins, make all of them at once. The time to compile
goes by the size of the grammar's text, which is bounded (``MAX_GRAMMAR_SIZE``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from inspect import signature
from typing import TYPE_CHECKING

import numpy as np

from factorspec_sdk.decoding.json_strings import OUTSIDE, PLAIN, StringState, walk
from factorspec_sdk.decoding.number_rules import with_bounded_numbers
from factorspec_sdk.decoding.string_masks import StringMasks
from factorspec_sdk.decoding.text_rules import TextRules
from factorspec_sdk.errors import (
    DocumentError,
    EngineError,
    JsonValue,
    MissingExtra,
    Problem,
    TooLarge,
    shown,
)
from factorspec_sdk.fields.text import ITEM_SEPARATOR, KEY_SEPARATOR
from factorspec_sdk.graph.feasibility import UNBOUNDED
from factorspec_sdk.graph.program import HoleSpec
from factorspec_sdk.tokens import Vocabulary, pack_ids, unpack_row
from factorspec_sdk.tokens.masks import Row
from factorspec_sdk.wire.languages.automaton import TooManyStates
from factorspec_sdk.wire.languages.grammar import pattern_grammar
from factorspec_sdk.wire.patterns import PatternProblem, pattern_size

if TYPE_CHECKING:
    import xgrammar

_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|.)", re.DOTALL)
_MISSING = "xgrammar is not installed; run: pip install 'factorspec[tokens]'"
#: characters of grammars, of one spec together; about two seconds to compile
MAX_GRAMMAR_SIZE = 1 << 20
#: what XGrammar keeps of grammars for one vocabulary, in bytes
_MAX_LIBRARY_BYTES = 1 << 26
_MARGIN = 64
_MAX_FINISH = 512
_MAX_TRIED = 64
# Bytes tried to bring a text to an end, those that close something first.
_CLOSERS = b'"}],:0 .-@/'
_FINISHERS = _CLOSERS + bytes(
    byte for byte in (*range(0x21, 0x7F), *range(0x80, 0x100)) if byte not in _CLOSERS
)


class GrammarState:
    """Where a text stands: the automaton's state, and the matcher (which is never moved)."""

    __slots__ = ("ends", "finish", "matcher", "row", "string")

    def __init__(self, string: StringState, matcher: xgrammar.GrammarMatcher | None) -> None:
        self.string = string
        self.matcher = matcher
        self.row: Row | None = None
        self.finish: bytes | None = None
        self.ends: bool | None = None


class GrammarRules(TextRules):
    """The texts of one grammar.

    Attributes:
        size: characters of the grammar's text, or as many as take as long to compile.
    """

    def __init__(self, spec: HoleSpec, vocabulary: Vocabulary, grammar: str) -> None:
        """Compiles the grammar (see ``grammar_text``): about 1 ms, and 2 µs a character of a large one.

        Raises:
            DocumentError: XGrammar refuses it.
        """
        super().__init__(vocabulary)
        self._vocabulary = vocabulary
        self._in_value = spec.kind == "json"
        self._least, self._most = spec.min_length, spec.max_length
        self._masks = StringMasks.of(vocabulary, in_value=self._in_value)
        self.size = _size_of(spec, grammar)
        self._compiled = _compiled(spec, vocabulary, grammar)
        matcher = _matcher(self._compiled)
        if not self._in_value:
            matcher.accept_string('"')
        self._start = GrammarState(StringState(OUTSIDE if self._in_value else 0), matcher)

    @property
    def num_bytes(self) -> int:
        """About the memory that the rules take now, in bytes; masks are added as places are met."""
        return 4 * self.size + int(self._compiled.memory_size_bytes)

    def start(self) -> GrammarState:
        """Before the first byte."""
        return self._start

    def walk(self, state: object, data: bytes) -> GrammarState | None:
        """The state after some bytes, or None."""
        assert isinstance(state, GrammarState)
        if not data:
            return state
        string = walk(state.string, data, in_value=self._in_value)
        if string is None or self._is_too_long(string):
            return None
        matcher = self._matcher_of(state).fork()
        return GrammarState(string, matcher) if matcher.accept_string(data) else None

    def after(self, state: object, token: int) -> GrammarState | None:
        """The state after a token that lies wholly inside the text."""
        data = self.bytes_of(token)
        after = self.walk(state, data) if data else None
        return after if after is not None and self._masks.may_end_in(after.string.mode) else None

    def may_go_on(self, state: object, data: bytes) -> bool:
        """True if a token with these bytes may be written and lies wholly inside the text."""
        after = self.walk(state, data)
        return after is not None and self._masks.may_end_in(after.string.mode)

    def mode(self, state: object) -> int:
        """Where the text stands."""
        assert isinstance(state, GrammarState)
        return state.string.mode

    def way_out(self, state: object) -> bytes | None:
        """The way to finish that was found."""
        assert isinstance(state, GrammarState)
        return state.finish if self.finish_cost(state) < UNBOUNDED else None

    def complete(self, state: object) -> bool:
        """True if the text may end here."""
        assert isinstance(state, GrammarState)
        if state.ends is None:
            matcher = self._matcher_of(state)
            state.ends = self._is_end(state.string, matcher if self._in_value else matcher.fork())
        return state.ends

    def row(self, state: object) -> Row:
        """The tokens that lie wholly inside the text."""
        assert isinstance(state, GrammarState)
        if state.row is None:
            row = np.zeros(self._vocabulary.row_words, dtype=np.int32)
            # On a fork: filling may use the matcher's scratch space, and states are shared between threads.
            self._matcher_of(state).fork().fill_next_token_bitmask(row)
            left = None if self._most is None or self._in_value else self._most - state.string.length
            state.row = row & self._masks.row(state.string.mode, left)
        return state.row

    def closing(self, state: object, ending: bytes) -> Sequence[int]:
        """The tokens that hold the rest of a text and then exactly ``ending``."""
        assert isinstance(state, GrammarState)
        found = []
        for data, token_id in self._tokens.ending_with(ending):
            end = self.walk(state, data)
            if end is not None and self.complete(end):
                found.append(token_id)
        return found

    def finish_cost(self, state: object) -> int:
        """Bytes of the way to finish that was found, or ``UNBOUNDED``."""
        assert isinstance(state, GrammarState)
        if state.finish is None:
            state.finish = self._finish_of(state)
        return UNBOUNDED if state.finish is None else len(state.finish)

    def row_within(self, state: object, num_tokens: int) -> Row:
        """Tokens after which a way to finish in time was found; all of them far from the limit."""
        row = self.row(state)
        if self.leaves_all(state, num_tokens):
            return row
        table = self._vocabulary.all_bytes
        ids = sorted(unpack_row(row).tolist(), key=lambda i: len(table[i]))
        finish = state.finish if isinstance(state, GrammarState) and state.finish else b""
        first = [i for i in ids if finish and finish.startswith(table[i])]
        kept = [i for i in {*first, *ids[:_MAX_TRIED]} if self._finishes(state, table[i], num_tokens)]
        return pack_ids(kept, self._vocabulary.row_words)

    def leaves_all(self, state: object, num_tokens: int) -> bool:
        """True if ``row_within`` is ``row``."""
        return self.finish_cost(state) + _MARGIN <= num_tokens

    def strides(self, state: object) -> Sequence[int]:
        """The first token of the way to finish that was found."""
        if self.complete(state) or self.finish_cost(state) >= UNBOUNDED:
            return ()
        assert isinstance(state, GrammarState)
        assert state.finish is not None
        token_id = self._vocabulary.token_id(state.finish[:1])
        return () if token_id is None else (token_id,)

    def _finishes(self, state: object, data: bytes, num_tokens: int) -> bool:
        after = self.walk(state, data)
        return after is not None and self.finish_cost(after) <= num_tokens

    def _matcher_of(self, state: GrammarState) -> xgrammar.GrammarMatcher:
        """The state's matcher. Do not move it."""
        assert state.matcher is not None
        return state.matcher

    def _finish_of(self, state: GrammarState) -> bytes | None:
        """Bytes that end the text: at each step the first of ``_FINISHERS`` that the grammar takes."""
        string, matcher = state.string, self._matcher_of(state).fork()
        out = bytearray()
        while len(out) < _MAX_FINISH:
            if self._is_end(string, matcher):
                return bytes(out)
            step = next(self._steps(string, matcher), None)
            if step is None:
                return None
            byte, string = step
            out.append(byte)
        return None

    def _steps(
        self, string: StringState, matcher: xgrammar.GrammarMatcher
    ) -> Iterator[tuple[int, StringState]]:
        """Bytes by which the text goes on, with the automaton's state; moves the matcher."""
        for byte in _FINISHERS:
            data = bytes((byte,))
            after = walk(string, data, in_value=self._in_value)
            if after is not None and not self._is_too_long(after) and matcher.accept_string(data):
                yield byte, after

    def _is_too_long(self, string: StringState) -> bool:
        return self._most is not None and not self._in_value and string.length > self._most

    def _is_end(self, string: StringState, matcher: xgrammar.GrammarMatcher) -> bool:
        """True if the text may end here. Leaves the matcher where it is."""
        if self._in_value:
            return string.mode == OUTSIDE and bool(matcher.is_completed())
        if string.mode != PLAIN or string.length < self._least or not matcher.accept_string('"'):
            return False
        ends = bool(matcher.is_completed())
        matcher.rollback(1)
        return ends


def grammar_text(spec: HoleSpec) -> str:
    """The grammar of a hole's texts, in EBNF. Raises DocumentError: XGrammar refuses the schema."""
    if spec.grammar is not None:
        return spec.grammar
    schema = spec.schema or {}
    pattern = schema.get("pattern") if spec.kind == "string" else None
    if isinstance(pattern, str):
        try:
            return pattern_grammar(pattern)
        except (PatternProblem, TooManyStates):
            pass
    schema = {"type": "string", **schema} if spec.kind == "string" else schema
    try:
        return _grammar_of_schema(schema, spec.path)
    except (RuntimeError, UnicodeDecodeError) as error:  # the second: a message of its own that it garbles
        raise _refused(spec, error) from error


def _refused(spec: HoleSpec, error: Exception) -> DocumentError:
    problem = Problem(spec.path, str(error), shown(spec.schema or {}))
    return DocumentError("a schema cannot be enforced", [problem])


@lru_cache(maxsize=8)
def _compiler(vocabulary: Vocabulary) -> xgrammar.GrammarCompiler:
    try:
        import xgrammar
    except ImportError as error:
        raise MissingExtra(_MISSING) from error
    texts = frozenset(vocabulary.text_ids)
    table = [data if i in texts else b"" for i, data in enumerate(vocabulary.all_bytes)]
    info = xgrammar.TokenizerInfo(
        table,
        xgrammar.VocabType.RAW,
        vocab_size=vocabulary.logit_width,
        stop_token_ids=list(vocabulary.end_ids),
    )
    if "enable_dynamic_compilation" not in signature(xgrammar.GrammarCompiler).parameters:
        # what these keep they read again as they print it, and there "\\xe912" is one character
        return xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
    return xgrammar.GrammarCompiler(
        info, max_threads=1, cache_limit_bytes=_MAX_LIBRARY_BYTES, enable_dynamic_compilation=True
    )


def _size_of(spec: HoleSpec, grammar: str) -> int:
    """XGrammar writes a pattern's repetitions out, in quadratic time."""
    pattern = spec.schema.get("pattern") if spec.kind == "string" and spec.schema is not None else None
    if not isinstance(pattern, str) or spec.grammar is not None:
        return len(grammar)
    try:
        states = pattern_size(pattern)
    except PatternProblem:  # the library does not get it: the grammar is our own
        states = 0
    return max(len(grammar), states * (32 + states // 16))


def _compiled(spec: HoleSpec, vocabulary: Vocabulary, grammar: str) -> xgrammar.CompiledGrammar:
    compiler = _compiler(vocabulary)
    import xgrammar

    try:
        return compiler.compile_grammar(xgrammar.Grammar.from_ebnf(grammar))
    except RuntimeError as error:
        raise _refused(spec, error) from error


def grammar_too_large(path: str) -> TooLarge:
    """The refusal of a spec whose grammars are too large together; ``path``: of the last one."""
    message = f"grammars of free parts of more than {MAX_GRAMMAR_SIZE} characters"
    hint = "shorten patterns, repetitions and lists of values inside lists without maxItems"
    return TooLarge("the free parts of the record are too large", [Problem(path, message, hint=hint)])


def _matcher(compiled: xgrammar.CompiledGrammar) -> xgrammar.GrammarMatcher:
    import xgrammar

    return xgrammar.GrammarMatcher(compiled)


def _readable(grammar: str) -> str:
    r"""A grammar as XGrammar prints it, so that it reads the same again.

    It prints U+00E9 as ``\xe9``, and reads ``\xe912`` as one character.
    """
    return _ESCAPE.sub(lambda found: f"\\u00{found[1]}" if found[1] else found[0], grammar)


def _grammar_of_schema(schema: dict[str, JsonValue], path: str) -> str:
    try:
        import xgrammar
    except ImportError as error:
        raise MissingExtra(_MISSING) from error

    grammar = xgrammar.Grammar.from_json_schema(
        json.dumps(schema),
        any_whitespace=False,
        separators=(ITEM_SEPARATOR, KEY_SEPARATOR),
        strict_mode=True,
    )
    bounded = with_bounded_numbers(_readable(str(grammar)))
    if bounded is None:
        raise EngineError(
            "this version of XGrammar writes numbers by rules that are not known here",
            [Problem(path, "free numbers cannot be bounded", hint="pip install 'xgrammar<0.3'")],
        )
    return bounded
