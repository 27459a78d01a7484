"""Engines that a text can be walked through, byte by byte."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from functools import cache
from typing import Any

from factorspec_sdk.decoding import Decoder
from factorspec_sdk.errors import EmptyDomain, FactorspecError, Unsatisfiable
from factorspec_sdk.fields.text import ITEM_SEPARATOR, KEY_SEPARATOR
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.testing import byte_vocabulary
from factorspec_sdk.tokens import Canonical, Vocabulary
from factorspec_sdk.wire import parse_document

#: whether a whole text is a path, from its first byte to the end of the record
Walk = Callable[[str], bool]


class Refused(Exception):
    """An engine does not take a schema; the text says why."""


@cache
def _bytes() -> tuple[Vocabulary, Canonical]:
    vocabulary = byte_vocabulary()
    return vocabulary, Canonical(vocabulary)


def _nothing(text: str) -> bool:
    return False


def factorspec(document: dict[str, Any]) -> Walk:
    """Ours, through the masks of a session with one token for each byte."""
    vocabulary, canonical = _bytes()
    try:
        compiled = compile_spec(parse_document(document))
        decoder = Decoder(compiled.program, compiled.feasibility, vocabulary, canonical=canonical)
    except (EmptyDomain, Unsatisfiable):
        return _nothing
    except FactorspecError as error:
        raise Refused(str(error)) from error

    def walk(text: str) -> bool:
        session = decoder.session()
        data = text.encode()
        return session.commit(data) == len(data) and session.state == "complete"

    return walk


def xgrammar(document: dict[str, Any], strict: bool) -> Walk:
    """XGrammar's mask; ``strict`` closes objects that do not say otherwise."""
    library = importlib.import_module("xgrammar")
    info = library.TokenizerInfo([bytes((b,)) for b in range(256)] + [b""], stop_token_ids=[256])
    try:
        grammar = library.Grammar.from_json_schema(
            json.dumps(document),
            any_whitespace=False,
            separators=(ITEM_SEPARATOR, KEY_SEPARATOR),
            strict_mode=strict,
        )
        compiled = library.GrammarCompiler(info, max_threads=1).compile_grammar(grammar)
    except RuntimeError as error:
        if "cannot accept any value" in str(error):
            return _nothing
        raise Refused(str(error)) from error

    def walk(text: str) -> bool:
        matcher = library.GrammarMatcher(compiled)
        return bool(matcher.accept_string(text) and matcher.accept_token(256))

    return walk


def llguidance(document: dict[str, Any]) -> Walk:
    """The mask of llguidance."""
    library = importlib.import_module("llguidance")
    options = {
        "whitespace_flexible": False, "item_separator": ITEM_SEPARATOR, "key_separator": KEY_SEPARATOR,
    }  # fmt: skip
    tokenizer = library.LLTokenizer("byte")
    try:
        grammar = library.LLMatcher.grammar_from_json_schema(json.dumps(document), overrides=options)
    except ValueError as error:
        raise Refused(str(error)) from error
    first = library.LLMatcher(tokenizer, grammar, log_level=0)
    if first.is_error():
        if "unsatisfiable" in first.get_error().lower():
            return _nothing
        raise Refused(first.get_error())

    def walk(text: str) -> bool:
        matcher = library.LLMatcher(tokenizer, grammar, log_level=0)
        data = list(text.encode())
        return matcher.try_consume_tokens(data) == len(data) and bool(matcher.is_accepting())

    return walk


ENGINES: dict[str, Callable[[dict[str, Any]], Walk]] = {
    "factorspec": factorspec,
    "xgrammar": lambda document: xgrammar(document, strict=False),
    "xgrammar_strict": lambda document: xgrammar(document, strict=True),
    "llguidance": llguidance,
}
