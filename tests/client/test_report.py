"""What a report says to people."""

import pytest
from pydantic import TypeAdapter

from factorspec_sdk.client import Report

PLAIN = {
    "exact": True,
    "near_limit": False,
    "prompt_tokens": 40,
    "tokens": 60,
    "certain": 50,
    "chosen": 8,
    "free": 2,
    "choice_points": 10,
    "model_steps": 4,
    "guessed": 9,
    "accepted": 6,
    "prefill_s": 0.25,
    "decode_s": 0.5,
    "compile_s": 0.01,
    "spec_cached": True,
    "seed": 1,
}
DRAFTED = {
    "reused": 39,
    "drafts": {
        "certain": {"drafted": 30, "accepted": 30},
        "branch": {"drafted": 40, "accepted": 22},
        "text": {"drafted": 0, "accepted": 0},
    },
    "tokens_run": 80,
    "in_vain": 21,
    "widest": 32,
}


def lines(report: dict[str, object]) -> list[str]:
    return str(TypeAdapter(Report).validate_python(report)).splitlines()


def test_a_report_of_a_server_that_drafts_tells_what_stood() -> None:
    assert lines({**PLAIN, **DRAFTED}) == [
        "60 tokens: 50 certain, 8 chosen, 2 free; 4 steps of the model",
        "drafted and kept: 22 of 40 in branches; 21 of 80 tokens run in vain",
        "0.25 s for the prompt (39 of 40 tokens known), 0.50 s for the record, "
        "0.01 s to compile the spec before",
    ]


@pytest.mark.parametrize("more", [{}, {"drafts": {"certain": {"drafted": 5, "accepted": 5}}}, {"later": 1}])
def test_reports_of_other_versions_are_read(more: dict[str, object]) -> None:
    assert lines({**PLAIN, **more}) == [
        "60 tokens: 50 certain, 8 chosen, 2 free; 4 steps of the model",
        "0.25 s for the prompt, 0.50 s for the record, 0.01 s to compile the spec before",
    ]


def test_a_report_tells_what_the_canonical_filter_took() -> None:
    counts = {"checked": 12, "refused": 2, "dropped": 0, "time_s": 0.014}
    told = "canonical text: 12 tokens checked, 2 drawn again"
    assert lines({**PLAIN, "text_filter": counts})[-1] == f"{told}; 0.01 s"
    last = lines({**PLAIN, "text_filter": {**counts, "dropped": 1}})[-1]
    assert last == f"{told}, 1 not canonical since no other fitted the limit; 0.01 s"
