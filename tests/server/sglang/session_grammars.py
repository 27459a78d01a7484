"""Grammars of trips, as SGLang has them."""

from __future__ import annotations

from functools import cache

from factorspec_sdk.decoding import Decoder
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Canonical, unpack_row
from factorspec_sdk.wire import parse_document
from factorspec_server.sglang.session_grammar import Ended, SessionGrammar
from tests.server.http.serving import TRIP


@cache
def trip_decoder() -> Decoder:
    canonical = Canonical(vocabulary_like("smollm2"))
    compiled = compile_spec(parse_document(TRIP))
    return Decoder(compiled.program, compiled.feasibility, canonical.vocabulary, canonical=canonical)


def end_of(decoder: Decoder) -> int:
    return decoder.vocabulary.end_ids[0]


def grammar_of(decoder: Decoder, told: list[Ended] | None = None) -> SessionGrammar:
    ended = None if told is None else told.append
    return WithStats(decoder.session(60), end_of(decoder), request_id="r", ended=ended)


class WithStats(SessionGrammar):
    grammar_stats = None


def row_of(grammar: SessionGrammar, decoder: Decoder) -> list[int]:
    rows = grammar.allocate_vocab_mask(decoder.vocabulary.logit_width, 3, "cpu")
    assert (rows == -1).all()
    grammar.fill_vocab_mask(rows, 1)
    assert (rows[0] == -1).all()
    assert (rows[2] == -1).all()
    return list(map(int, unpack_row(rows[1].numpy())))
