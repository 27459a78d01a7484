"""A record in a text that holds more than it."""

from __future__ import annotations

import pytest

from factorspec_sdk import records
from factorspec_sdk.client.reading import Reading, problem_of, read_record
from tests.client.canned import BAD, GOOD, Stay, as_text

SPEC = records.spec(Stay)


def read(answer: str) -> Reading[Stay]:
    return read_record(Stay, SPEC, answer)


@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "\n {} \n",
        "```json\n{}\n```",
        "Here you are:\n```\n{}\n```\nEnjoy!",
        "<think>a set {{1, 2}} or {{}}</think>{}",
        "Sure: {} Anything else? {{",
        '{{"draft": 1}} then {}',
    ],
)
def test_what_stands_around_a_valid_record_does_not_matter(around: str) -> None:
    reading = read(around.format(as_text(GOOD)))
    assert reading.value == Stay(**GOOD)
    assert reading.text == as_text(GOOD)
    assert [verdict.outcome for verdict in reading.verdicts] == ["holds", "holds"]


def test_the_last_valid_record_counts() -> None:
    other = {**GOOD, "last": 6}
    for tail in ("", as_text(BAD), '{"first": '):
        value = read(f"{as_text(GOOD)} or rather {as_text(other)} {tail}").value
        assert value is not None and value.last == 6


def test_all_that_is_wrong_is_told_at_once_and_by_name() -> None:
    reading = read(as_text({**BAD, "note": 3}))
    assert reading.value is None
    assert [problem.place for problem in reading.problems] == ["note", "", ""]
    text = "\n".join(map(str, reading.problems))
    assert "relation 'each once' does not hold: cities[0] and cities[1] are both 'Oslo'" in text
    assert "relation 'in order' (a stay does not end before it begins) does not hold" in text
    assert "first = 9" in text or "first (9)" in text


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("", "holds no JSON object"),
        ("I cannot do that.", "holds no JSON object"),
        ("[1, 2]", "holds no JSON object"),
        (as_text(GOOD)[:-9], "cannot be read"),
        ('{"first": NaN}', "cannot be read"),
        ('{"first": ' + "9" * 5000 + "}", "cannot be read"),
        ('{"a":' * 100_000, "cannot be read"),
        ("{" * 100_000, "cannot be read"),
    ],
)
def test_texts_without_a_record_say_why(answer: str, says: str) -> None:
    reading = read(answer)
    assert reading.value is None and reading.data is None
    assert says in str(reading.problems[0])


def test_a_validators_own_words_are_told_without_pydantics() -> None:
    item = {"loc": ("city",), "msg": "Value error, 'foo' is not one of ours", "input": "foo"}
    assert str(problem_of(item)) == "city: 'foo' is not one of ours (got 'foo')"
