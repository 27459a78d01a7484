"""What is left to the grammar library means the same there: patterns, formats, free parts."""

import datetime
import json
import re
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factorspec_sdk.errors import FactorspecError, JsonValue
from factorspec_sdk.fields import json_text
from factorspec_sdk.wire import parse_document
from factorspec_sdk.wire.patterns import PatternProblem, enforced_pattern
from factorspec_sdk.wire.schema import FreeNode, TextNode
from factorspec_sdk.wire.strings import FORMATS

xgrammar = pytest.importorskip("xgrammar")
from xgrammar.testing import _is_grammar_accept_string  # noqa: E402

PATTERNS = {
    "^[A-Z]{3}$": ["ABC", "AB", "ABCD", "abc", "A\nB"],
    "^(?:a|bc)*$": ["", "abc", "ab", "bcbc"],
    "^(a|)b?$": ["", "a", "ab", "b", "bb"],
    "^[+]?[0-9]{2,}-[0-9]{1,2}$": ["12-3", "+123-45", "1-2", "12-345"],
    "^\\+?\\d+\\.\\d{2}$": ["1.00", "+12.34", "1,00", "12"],
    "^\\w+( \\w+)*$": ["a b", "a  b", "a_1", "é", ""],
    '^[^"\\\\\\x00-\\x1f]+$': ["a", "é😀/", 'a"', "\\", "\n", ""],
    '^[^"\\\\\\x00-\\x1fa-c]{2}$': ["dd", "ad", "d"],
    "^[à-ü]+é$": ["àé", "aé", "ééé"],
    "^[0-9a-f-]+$": ["1-f", "g", ""],
    "^[a-]$": ["a", "-", "b"],
    "^(?:x(?:y(?:z)?)?)?$": ["", "x", "xy", "xyz", "xz"],
    "^a{0,2}b+?$": ["b", "aab", "aaab", "abb", "a"],
    "^\\u00e9\\x41$": ["éA", "éB"],
    "^\\$\\^\\|\\(\\)\\[\\]\\{\\}\\*\\?\\/\\-$": ["$^|()[]{}*?/-", "$"],
    "^(?:a|b){3}$": ["aba", "ab", "abab"],
    "^😀+$": ["😀", "😀😀", "a"],
    "^$": ["", "a"],
}
REFUSED = [
    "",
    "a",
    "^a",
    "a$",
    "^a\\$",
    "^a|b$",
    "^.$",
    "^[^a]$",
    "^\\s$",
    "^\\S$",
    "^\\D$",
    "^\\W$",
    "^\\bx$",
    "^(a)\\1$",
    "^(?=a)a$",
    "^(?<n>a)$",
    "^(?i)a$",
    "^\\p{L}$",
    '^"$',
    '^["]$',
    "^[!-~]$",
    "^\\\\$",
    "^\n$",
    "^\\n$",
    "^\\t$",
    "^[\\n]$",
    "^a**$",
    "^a{2}{3}$",
    "^*a$",
    "^a{3,2}$",
    "^[b-a]$",
    "^[]$",
    "^[a$",
    "^(a$",
    "^a)$",
    "^{2}$",
    "^[[a]$",
    "^a{3000}$",
    "^(?:a{100}){100}$",
    "^\\q$",
    "^\\x0a$",
    "^[\\x00-\\x7f]$",
    "^^a$",
    "^a$$",
    "^[\\s]$",
    "^" + "(" * 50 + "a" + ")" * 50 + "$",
]


def accepts(schema: dict[str, JsonValue], text: str) -> bool:
    grammar = xgrammar.Grammar.from_json_schema(
        json.dumps(schema), any_whitespace=False, separators=(", ", ": "), strict_mode=True
    )
    return bool(_is_grammar_accept_string(grammar, text))


def node_of(schema: Any) -> Any:
    return parse_document({"type": "object", "properties": {"a": schema}}).root.properties[0].node


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_mean_what_they_mean_in_python(pattern: str) -> None:
    node = node_of({"type": "string", "pattern": pattern})
    assert isinstance(node, TextNode) and node.schema is not None
    for text in PATTERNS[pattern]:
        expected = re.fullmatch(pattern[1:-1], text, re.ASCII) is not None
        assert accepts(node.schema, json_text(text)) == expected, text


@pytest.mark.parametrize("pattern", REFUSED)
def test_other_patterns_are_refused(pattern: str) -> None:
    with pytest.raises(PatternProblem):
        enforced_pattern(pattern, 2000)


PIECES = st.sampled_from(
    [
        "a",
        "b",
        "-",
        "1",
        " ",
        "é",
        "\\d",
        "\\w",
        "[ab]",
        '[^"\\\\\\x00-\\x1fa]',
        "[a-c1]",
        "(?:a|b1)",
        "(a|)",
        "\\.",
        "\\x41",
        "\\x41b",
        "[\\x41a]",
        "\\u00e9b",
        "[\\u00e9b]",
        '[^"\\\\\\u0000-\\u001fé1]',
        "[\\w-]",
        "[a\\-\\]\\^]",
        "[\\d-]",
        "[é-ü]",
    ]
)
QUANTIFIERS = st.sampled_from(["", "", "?", "*", "+", "{2}", "{1,}", "{0,2}", "+?"])
TEXTS = st.lists(st.sampled_from('ab-1 éA.c"\\\n'), max_size=6).map("".join)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(PIECES, QUANTIFIERS), max_size=4), st.lists(TEXTS, max_size=8))
def test_random_patterns_mean_what_they_mean_in_python(
    parts: list[tuple[str, str]], texts: list[str]
) -> None:
    inner = "".join(piece + quantifier for piece, quantifier in parts)
    schema: dict[str, JsonValue] = {"type": "string", "pattern": enforced_pattern(f"^{inner}$", 2000)}
    for text in texts:
        expected = re.fullmatch(inner, text, re.ASCII) is not None
        assert accepts(schema, json_text(text)) == expected, (
            inner,
            text,
        )


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet='^$.|?*+()[]{}\\ab1-"xu,:=é', max_size=12))
def test_every_text_is_taken_or_refused(text: str) -> None:
    """And what is taken, Python and XGrammar can read."""
    try:
        pattern = enforced_pattern(f"^{text}$", 2000)
    except PatternProblem:
        return
    compiled = re.compile(text, re.ASCII)
    for sample in ("", "a", "ab", "1", "-", "aa"):
        expected = compiled.fullmatch(sample) is not None
        assert accepts({"type": "string", "pattern": pattern}, json_text(sample)) == expected


@settings(max_examples=100, deadline=None)
@given(st.dates(), st.times(), st.uuids(), st.ip_addresses(v=4))
def test_formats_take_what_they_should(
    day: datetime.date, time: datetime.time, unique: Any, address: Any
) -> None:
    time = time.replace(microsecond=0)
    for name, text in {
        "date": day.isoformat(),
        "time": time.isoformat(),
        "date-time": f"{day.isoformat()}T{time.isoformat()}Z",
        "uuid": str(unique),
        "ipv4": str(address),
    }.items():
        assert re.fullmatch(str(FORMATS[name]["pattern"])[1:-1], text), (name, text)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 9999), st.integers(0, 19), st.integers(0, 39))
def test_the_date_pattern_takes_dates_only(year: int, month: int, day: int) -> None:
    text = f"{year:04d}-{month:02d}-{day:02d}"
    try:
        datetime.date.fromisoformat(text)
        expected = True
    except ValueError:
        expected = False
    assert (re.fullmatch(str(FORMATS["date"]["pattern"])[1:-1], text) is not None) == expected


@pytest.mark.parametrize(
    "text", ["2024-02-29", "2023-02-29", "2000-02-29", "1900-02-29", "0000-01-01", "2024-04-31"]
)
def test_the_grammar_reads_the_date_pattern(text: str) -> None:
    expected = text in ("2024-02-29", "2000-02-29")
    assert accepts({"type": "string", **FORMATS["date"]}, json_text(text)) == expected


SCALAR_SCHEMAS: Any = st.sampled_from(
    [
        {"type": "integer"},
        {"type": "integer", "minimum": 3},
        {"type": "integer", "exclusiveMaximum": -2},
        {"type": "integer", "multipleOf": 7},
        {"type": "integer", "minimum": -3, "maximum": 12},
        {"type": "integer", "minimum": 0, "maximum": 30, "multipleOf": 10},
        {"type": "boolean"},
        {"type": "null"},
        {"enum": ["a", "é\n", 1, True, None, '"']},
        {"const": "x"},
        {"type": "string"},
        {"type": "string", "pattern": "^[a-c]{1,2}$"},
        {"type": ["string", "null"]},
        {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 3}, {"type": "null"}]},
        {"type": "number", "minimum": 0, "exclusiveMaximum": 2.5},
    ]
)


def _array(items: Any, least: int) -> Any:
    return {"type": "array", "items": items, "minItems": least}


def _object(first: Any, second: Any, required: list[str]) -> Any:
    properties = {"a": first, "é b": second}
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


REQUIRED = st.sampled_from([[], ["a"], ["é b"], ["a", "é b"]])
SCHEMAS: Any = st.recursive(
    SCALAR_SCHEMAS,
    lambda below: st.builds(_array, below, st.integers(0, 2)) | st.builds(_object, below, below, REQUIRED),
    max_leaves=5,
)
VALUES: Any = st.recursive(
    st.sampled_from(
        [
            0,
            1,
            3,
            7,
            10,
            -2,
            -3,
            12,
            14,
            30,
            1.5,
            2.5,
            True,
            None,
            "a",
            "bb",
            "é\n",
            "x",
            '"',
            "",
            "123e4567-e89b-12d3-a456-426614174000",
        ]
    ),
    lambda below: (
        st.lists(below, max_size=3)
        | st.fixed_dictionaries({}, optional={"a": below, "é b": below}).map(
            lambda v: dict(sorted(v.items()))
        )
    ),
    max_leaves=5,
)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(SCHEMAS, st.lists(VALUES, min_size=5, max_size=15))
def test_free_parts_mean_what_the_schema_means(items: Any, values: list[Any]) -> None:
    schema = {"type": "array", "items": items}
    try:
        node = node_of(schema)
    except FactorspecError:
        return
    assert isinstance(node, FreeNode)
    validator = jsonschema.Draft202012Validator(schema)
    for value in values:
        assert accepts(node.schema, json_text([value])) == validator.is_valid([value]), value


def test_recursive_parts_mean_what_the_schema_means() -> None:
    document: Any = {
        "$defs": {
            "T": {
                "type": "object",
                "properties": {
                    "n": {"type": "integer"},
                    "kids": {"type": "array", "items": {"$ref": "#/$defs/T"}},
                },
                "required": ["n", "kids"],
            }
        },
        "type": "object",
        "properties": {"roots": {"type": "array", "items": {"$ref": "#/$defs/T"}}},
    }
    node = parse_document(document).root.properties[0].node
    assert isinstance(node, FreeNode)
    leaf = {"n": 1, "kids": []}
    for value, expected in [
        ([], True),
        ([leaf], True),
        ([{"n": 2, "kids": [leaf, leaf]}], True),
        ([{"n": 1}], False),
    ]:
        assert accepts(node.schema, json_text(value)) == expected
