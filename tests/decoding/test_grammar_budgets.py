"""Grammars of free parts are compiled with the spec: what is refused or takes too long is told then."""

from __future__ import annotations

import threading

import pytest

from factorspec_sdk.decoding import Decoder, holes, placed_rules
from factorspec_sdk.decoding.grammars import GrammarRules
from factorspec_sdk.errors import DocumentError, JsonValue, TooLarge
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.graph.program import End, Hole, HoleSpec, Literal, Program
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Canonical
from factorspec_sdk.wire import parse_document
from tests.decoding.brute import FreeFeasibility
from tests.graph.documents import record


@pytest.fixture(scope="module")
def canonical() -> Canonical:
    return Canonical(vocabulary_like("qwen"))


def decoder_of(canonical: Canonical, properties: dict[str, JsonValue]) -> Decoder:
    compiled = compile_spec(parse_document(record(properties, [])))
    return Decoder(compiled.program, compiled.feasibility, canonical.vocabulary, canonical=canonical)


def pattern(text: str) -> JsonValue:
    return {"type": "string", "pattern": text}


def test_a_grammar_that_the_library_refuses_is_told_when_the_spec_is_compiled(canonical: Canonical) -> None:
    nodes = (Literal('{"x": ', 1), Hole(0, 2), Literal("}", 3), End())
    program = Program(nodes, 0, (), (HoleSpec("x", "json", {}, grammar="root ::= ("),))
    with pytest.raises(DocumentError, match="cannot be enforced"):
        Decoder(program, FreeFeasibility(program), canonical.vocabulary, canonical=canonical)


def test_many_patterns_are_bounded_together_and_equal_ones_count_once(
    canonical: Canonical, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (placed_rules, holes):
        monkeypatch.setattr(module, "MAX_GRAMMAR_SIZE", 5_000)
    same: dict[str, JsonValue] = {f"f{i}": pattern("^[a-z]{1,30}$") for i in range(20)}
    assert decoder_of(canonical, same).session().state == "open"
    different = {f"f{i}": pattern(f"^[a-z]{{1,{30 + i}}}$") for i in range(20)}
    with pytest.raises(TooLarge) as caught:
        decoder_of(canonical, different)
    (problem,) = caught.value.problems
    assert problem.place.startswith("f") and problem.hint


def test_one_large_grammar_is_refused_before_it_is_compiled(
    canonical: Canonical, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placed_rules, "MAX_GRAMMAR_SIZE", 1_000)
    values: list[JsonValue] = [f"value {i}" for i in range(200)]
    with pytest.raises(TooLarge, match="free parts of the record are too large"):
        decoder_of(canonical, {"f": {"type": "array", "items": {"enum": values}}})


def test_masks_that_threads_ask_for_together_are_those_of_one_thread(canonical: Canonical) -> None:
    spec = HoleSpec("f", "json", {"type": "array", "items": {"enum": ["Rome", "Oslo", 7, None, "Röm"]}})
    texts = [b"", b"[", b'["R', b'["Rome", ', b"[7", b'["Oslo", "R', b"[null, 7, nu", '["Rö'.encode()]

    def rows(rules: GrammarRules) -> list[bytes]:
        states = [rules.walk(rules.start(), text) for text in texts]
        return [rules.row(state).tobytes() for state in states]

    expected = rows(placed_rules._make(spec, canonical.vocabulary))
    for _ in range(10):
        shared, found = placed_rules._make(spec, canonical.vocabulary), list[list[bytes]]()
        threads = [threading.Thread(target=lambda: found.append(rows(shared))) for _ in range(4)]  # noqa: B023
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [expected] * 4
