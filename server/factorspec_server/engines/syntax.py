"""The ``syntax`` baseline: a session that knows the JSON Schema's syntax and nothing else.

The mask is XGrammar's, in the same layout as everywhere here (separators ", " and ": ", no free white space),
so that a comparison shows what the relations and the certain runs are worth. Tokens come one by one: nothing
is jumped over, and any split of the text into tokens is allowed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

import numpy as np

from factorspec_sdk.errors import DocumentError, MissingExtra
from factorspec_sdk.tokens import Allowed, Vocabulary
from factorspec_server.drafting.seam import GuessPolicy, Plan, SessionState, Shape, one_choice

_CACHE_BYTES = 64 << 20


class SyntaxCompiler:
    """Compiles schemas to syntax masks over one vocabulary; compiled ones are kept.

    Raises:
        MissingExtra: if XGrammar is not installed.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        try:
            import xgrammar
        except ModuleNotFoundError as error:
            raise MissingExtra("xgrammar is not installed; run: pip install 'factorspec[engine]'") from error
        self.vocabulary = vocabulary
        # tokens without bytes are special to XGrammar, that is never part of text
        texts = [
            b"" if token_id in vocabulary.added_ids else data
            for token_id, data in enumerate(vocabulary.all_bytes)
        ]
        info = xgrammar.TokenizerInfo(
            texts,
            vocab_type=xgrammar.VocabType.RAW,
            vocab_size=vocabulary.logit_width,
            stop_token_ids=list(vocabulary.end_ids) or None,
        )
        self._matcher = xgrammar.GrammarMatcher
        self._compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_limit_bytes=_CACHE_BYTES)

    def session(self, schema: Mapping[str, object]) -> SyntaxSession:
        """A new session for a schema.

        Raises:
            DocumentError: if XGrammar cannot compile the schema.
        """
        try:
            compiled = self._compiler.compile_json_schema(
                json.dumps(schema), any_whitespace=False, separators=(", ", ": ")
            )
        except RuntimeError as error:
            raise DocumentError(f"the syntax mask cannot be compiled: {error}") from error
        matcher = self._matcher(compiled, terminate_without_stop_token=True)
        return SyntaxSession(matcher, self.vocabulary)


class SyntaxSession:
    """One record under a syntax mask; made by ``SyntaxCompiler.session``."""

    def __init__(self, matcher: Any, vocabulary: Vocabulary) -> None:
        self._matcher = matcher
        self._vocabulary = vocabulary
        self._row = np.zeros((1, vocabulary.row_words), dtype=np.int32)
        self._tokens: list[int] = []

    @property
    def state(self) -> SessionState:
        """``complete`` once the record is closed."""
        return "complete" if self._matcher.is_terminated() else "open"

    @property
    def tokens(self) -> tuple[int, ...]:
        """The tokens committed so far."""
        return tuple(self._tokens)

    @property
    def text(self) -> str:
        """The text committed so far."""
        return self._vocabulary.decode(self._tokens, errors="replace")

    def plan(
        self,
        width: int | None = None,
        guesses: GuessPolicy | None = None,
        shape: Shape | None = None,
        *,
        until_s: float = inf,
    ) -> Plan:
        """One choice among the tokens that the grammar allows next. Does not change the session."""
        self._row.fill(-1)  # XGrammar leaves the row alone where all tokens are allowed
        self._matcher.fill_next_token_bitmask(self._row)
        return one_choice(Allowed.from_row(self._row[0]))

    def commit(self, token_ids: Sequence[int]) -> None:
        """Append tokens.

        Raises:
            DocumentError: if the grammar does not take one; an engine that commits allowed tokens never sees
            it.
        """
        for token_id in token_ids:
            if not self._matcher.accept_token(token_id):
                raise DocumentError(f"token {token_id!r} is not allowed by the syntax after {self.text!r}")
            self._tokens.append(token_id)
