"""The shortest way to finish a text is one, and none is shorter: from every place that random walks reach."""

import json
import random
import re

import pytest

pytest.importorskip("xgrammar")

from factorspec_sdk.decoding.grammar_ways import Ways, whole_characters
from factorspec_sdk.decoding.grammars import GrammarRules
from factorspec_sdk.decoding.placed_rules import grammar_rules
from factorspec_sdk.errors import FactorspecError
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.graph.program import HoleSpec
from factorspec_sdk.testing import byte_vocabulary
from factorspec_sdk.tokens import unpack_row
from factorspec_sdk.wire import parse_document
from tests.conformance.suite_cases import wrapped
from tests.wire.languages.schemas import Maker


def rules_of(schema: object) -> GrammarRules | None:
    try:
        holes = compile_spec(parse_document(wrapped(schema))).program.holes
    except FactorspecError:
        return None
    return grammar_rules(holes[0], byte_vocabulary()) if holes and holes[0].grammar is not None else None


@pytest.mark.parametrize("seed", range(25))
def test_a_byte_shortens_the_way_by_one_at_most_and_some_byte_does(seed: int) -> None:
    rng, rules = random.Random(seed), rules_of(Maker(seed + 500).schema())
    if rules is None:
        return
    state = rules.start()
    for _ in range(25):
        cost = rules.finish_cost(state)
        # The end may stand here, and then nothing is left; so it does where nothing is left.
        assert (cost == 0) is rules.complete(state)
        afters = [rules.walk(state, bytes((byte,))) for byte in unpack_row(rules.row(state)).tolist()]
        costs = [rules.finish_cost(after) for after in afters if after is not None]
        assert cost == 0 or min(costs) == cost - 1
        if not costs:
            break
        state = rng.choice([after for after in afters if after is not None])


@pytest.mark.parametrize(
    ("schema", "text", "way"),
    [
        ({"pattern": "abc"}, '"xa', 'bc"'),
        ({"pattern": "abc"}, '"xab', 'c"'),
        ({"pattern": "^é😀$"}, '"é', '😀"'),
        ({"items": {"const": "x"}, "minItems": 2, "type": ["array", "boolean"]}, '["x"', ', "x"]'),
        ({"required": ["a"], "properties": {"a": {"const": 12}}, "not": {"type": "null"}}, "{", '"a": 12}'),
        ({"contains": {"const": "zz"}, "type": ["array", "boolean"]}, '["y"', ', "zz"]'),
        ({"type": ["object", "boolean"], "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
         '{"a": {"a": ', "true}}"),
    ],
)  # fmt: skip
def test_ways(schema: object, text: str, way: str) -> None:
    rules = rules_of(schema)
    assert rules is not None
    data = text.encode()
    for cut in (0, len(data) // 2, len(data) - 1):
        state = rules.walk(rules.walk(rules.start(), data[:cut]), data[cut:])
        assert state is not None and rules.finish_cost(state) == len(way.encode())
        assert state.finish == way.encode()
    inside = rules_of({"pattern": "^é😀$"})
    assert inside is not None
    assert inside.finish_cost(inside.walk(inside.start(), '"é😀'.encode()[:-2])) == 3


@pytest.mark.parametrize("pattern", ["abc", "^[a-z]*abc$", "^(?:x|abc1?)+$"])
def test_a_request_with_a_pattern_fits_its_limit(pattern: str) -> None:
    from factorspec_sdk.decoding import Decoder

    compiled = compile_spec(parse_document(wrapped({"type": "string", "pattern": pattern})))
    decoder = Decoder(compiled.program, compiled.feasibility, byte_vocabulary())
    assert decoder.shortest() == len('{"v": "abc"}' if "x" not in pattern else '{"v": "x"}')
    for seed in range(5):
        rng, session = random.Random(seed), decoder.session(token_limit=20)
        while session.state == "open":
            session.commit([int(rng.choice(session.allowed().ids()))])
        text = json.loads(session.text)["v"]
        assert session.num_tokens <= 20 and re.search(pattern, text) is not None


def test_the_start_of_a_character_is_kept() -> None:
    for text in ("", "a", "é", "aé€😀"):
        data = text.encode()
        for cut in range(len(data) + 1):
            whole, rest = whole_characters(data[:cut])
            assert whole.encode() + rest == data[:cut] and text.startswith(whole) and len(rest) < 4


def test_a_place_is_small_however_long_the_text() -> None:
    ways = Ways(
        'root ::= a\na ::= "x" a | [^y\\u00e9-\\U0001f600] "y"* b | ""\nb ::= "\\"\\\\" | a\n'.replace(
            '"y"*', "c*"
        )
        + 'c ::= "y"\n'
    )
    place = ways.after(ways.start, "x" * 1000)
    assert len(place) < 10 and ways.finish(place, b"") == b""
    assert ways.finish(ways.after(ways.start, "zyy"), b"") == b""
    assert HoleSpec("", "json", {}).grammar is None
