"""The engine's loop of the example, as a person runs it."""

import json

import pytest

from examples.engine_session import main


@pytest.mark.parametrize("seed", range(5))
def test_it_prints_a_valid_record_and_a_short_report(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    main(seed)
    text, report = capsys.readouterr().out.splitlines()
    record = json.loads(text)
    assert list(record) == ["from", "to", "nights", "note"]
    assert record["from"] != record["to"]
    assert 1 <= record["nights"] <= 30
    assert len(record["note"]) <= 12
    assert report.startswith("Report(num_tokens=")
