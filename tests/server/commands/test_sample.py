"""``factorspec sample``: random records of a spec."""

from __future__ import annotations

import json

from factorspec_sdk.wire import parse_document
from factorspec_server.commands.check import judge
from tests.server.commands.calling import ORDER, lines, process, run


def test_samples_are_valid_and_repeatable(spec: str) -> None:
    told = lines(run("sample", spec, "-n", "25", "--seed", "7"))
    assert len(set(told)) > 5
    for text in told:
        judgement = judge(parse_document(ORDER), json.loads(text))
        assert judgement.is_valid, "\n".join(judgement.lines())
    assert lines(run("sample", spec, "-n", "25", "--seed", "7")) == told
    assert lines(run("sample", spec, "-n", "25", "--seed", "8")) != told


def test_a_reader_that_stops_reading_is_no_error(spec: str) -> None:
    with process("sample", spec, "-n", "1000000") as sample:
        assert sample.stdout is not None and sample.stderr is not None
        assert json.loads(sample.stdout.readline())
        sample.stdout.close()
        assert sample.stderr.read() == ""
        assert sample.wait(60) == 0
