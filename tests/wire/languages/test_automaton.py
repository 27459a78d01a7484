"""Automata against sets of texts, and patterns against Python's ``re``."""

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factorspec_sdk.wire.languages import automaton
from factorspec_sdk.wire.languages.automaton import (
    ANYTHING,
    NOTHING,
    Automaton,
    TooManyStates,
    of_lengths,
    of_texts,
)
from factorspec_sdk.wire.languages.regex import search
from factorspec_sdk.wire.patterns import PatternProblem

TEXTS = ["".join(letters) for size in range(4) for letters in itertools.product("ab\n", repeat=size)]
SETS = st.frozensets(st.sampled_from(TEXTS), max_size=6)


@given(SETS, SETS)
@settings(deadline=None, max_examples=150)
def test_operations_are_those_of_sets(left: frozenset[str], right: frozenset[str]) -> None:
    a, b = of_texts(left), of_texts(right)
    for found, expected in ((a & b, left & right), (a | b, left | right), (a - b, left - right)):
        assert set(found.texts(20) or ()) == expected
        assert found.is_empty is not bool(expected)
    rest = ANYTHING - a
    assert [text for text in TEXTS if not rest.holds(text)] == [text for text in TEXTS if text in left]
    assert (a - a).is_empty and (rest & a).is_empty and len((rest | a).edges) == 1


def test_the_smallest_automaton_has_one_state_for_equal_rests() -> None:
    assert len(of_texts(["aa", "ab", "ba", "bb"]).edges) == 3
    assert len(of_lengths(0, None).edges) == 1
    assert len(search("^(a|b)*(a|b)*$").edges) == 1


def test_texts_are_listed_where_they_are_few() -> None:
    assert NOTHING.texts(0) == []
    assert of_texts(["a", "b"]).texts(1) is None
    assert of_lengths(1, 1).texts(100) is None
    assert search("^ab*$").texts(100) is None


def test_lengths_count_characters() -> None:
    found = of_lengths(1, 2)
    assert [found.holds(text) for text in ("", "😀", "é😀", "abc")] == [False, True, True, False]
    assert of_lengths(2, None).holds("abcd")


def test_sizes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TooManyStates):
        search("^(a|b)*a(a|b){12}$")
    with pytest.raises(TooManyStates):
        of_lengths(5_000, None)
    monkeypatch.setattr(automaton, "MAX_STATES", 3)
    with pytest.raises(TooManyStates):
        of_texts(["abcd"])


PATTERNS = [
    "", "a", "^a", "b$", "^$", "^a|b$", "(^a|b$)", "^(?:a|ba)*$", "a{2}", "^a{1,2}b?$", "^a{2,}$", "^.$",
    "^.{2}$",
    "[^a]", "^[ab]+$", "^[^\\n]*$", "\\n", "^\\w+$", "^\\W$", "^\\s*$", "^\\S\\s", "^(a|)b", "a+?b", "^[a-]$",
    "^[\\w]b",
    "^\\x61", "\\u0062$", "^(?:(?:a)b)?$", "^(?<n>a)b$", "()", "^()*$",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_are_searched_as_python_does(pattern: str) -> None:
    found = search(pattern)
    # Python's "$" also stands before a last line end, and "?<n>" is written "?P<n>".
    known = re.compile(re.sub(r"\$(?=$|\||\))", r"\\Z", pattern).replace("?<n>", "?P<n>"), re.ASCII)
    for text in TEXTS:
        assert found.holds(text) is (known.search(text) is not None), text


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("^\\p{Letter}$", "aéπ", "1 "),
        ("^\\P{L}$", "1 ", "aπ"),
        ("^\\p{Script_Extensions}$", None, None),
        ("^\\cC$", "\x03", "cC"),
        ("^[\\b]$", "\x08", "b"),
        ("^\\0$", "\0", "0"),
        ("^\\ud83d\\ude00$", "😀", "D"),
        ("^\\u{1f600}$", "😀", "u"),
        ("^[😀-😂]$", "😁", "😃"),
        ("^\\s$", "\ufeff\u2003\v", "a"),
        ("^\\d$", "7", "߀"),
    ],
)
def test_patterns_beyond_python(pattern: str, inside: str | None, outside: str | None) -> None:
    if inside is None or outside is None:
        with pytest.raises(PatternProblem):
            search(pattern)
        return
    found: Automaton = search(pattern)
    assert all(map(found.holds, inside)) and not any(map(found.holds, outside))


@pytest.mark.parametrize(
    "pattern",
    [
        "(?=a)", "(?!a)", "(?<=a)", "(?i)a", "(a)\\1", "\\bx", "a^", "$a", "(^a)*", "a(b$)c", "a**", "*a",
        "a{3,2}",
        "[b-a]",
        "[a", "(a", "a)", "a]", "{2}", "\\q", "\\", "[\\d-z]", "\\ud800", "\\u{110000}", "a{5000}",
        "(?:a{100}){100}",
        "(" * 50 + "a" + ")" * 50, "\\p{Nonsense}", "\\c1",
    ],
)  # fmt: skip
def test_other_patterns_are_refused(pattern: str) -> None:
    with pytest.raises(PatternProblem):
        search(pattern)
