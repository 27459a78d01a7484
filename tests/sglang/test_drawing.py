"""Drafts leave the odds of what is drawn alone: many records against what the model says of each.

A record is one of a few numbers. Its digits are decided one behind the other, so the later ones are guessed.
How likely each number is follows from the model's logprobs of the digits in a text that nothing constrains:
those that may come share what the others leave.
"""

from __future__ import annotations

import json
import math
import re
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

import factorspec_sdk as fs
from factorspec_sdk.records.document import document
from tests.sglang.like_stock import ask
from tests.sglang.odds import limit, oddest
from tests.sglang.test_real_server import URL, pytestmark

__all__ = ["pytestmark"]

ROOT = URL.removesuffix("/v1")
PROMPT, BEGINNING = "A number as JSON:\n", '{"number": '
NUMBERS = [f"{a}{b}{c}" for a in "358" for b in "47" for c in "02"]
#: all temperatures are in the same batches; requests of each, and records of a request
REQUESTS, CHOICES, ROUNDS = {0.8: 7, 2.0: 3}, 16, 4


@fs.table(("number",), rows=[(int(number),) for number in NUMBERS])
class Pick(BaseModel):
    """A number."""

    number: Annotated[int, Field(ge=100, le=999)]


def drawn(temperature: float) -> list[dict[str, Any]]:
    sampling = {
        "temperature": temperature,
        "max_new_tokens": 30,
        "json_schema": json.dumps(document(Pick)),
        "n": CHOICES,
    }
    found: list[dict[str, Any]] = ask(ROOT, {"text": PROMPT, "sampling_params": sampling})
    return found


def logprobs(number: str) -> list[float]:
    """Of each digit behind those before it, among all tokens."""
    asked = {"text": f"{PROMPT}{BEGINNING}{number}", "sampling_params": {"max_new_tokens": 1}}
    told = ask(
        ROOT, {**asked, "return_logprob": True, "logprob_start_len": 0, "return_text_in_logprobs": True}
    )
    digits = told["meta_info"]["input_token_logprobs"][-len(number) :]
    assert [text for _, _, text in digits] == [*number]
    return [logprob for logprob, _, _ in digits]


def chances(of_digits: dict[str, list[float]], temperature: float) -> dict[str, float]:
    """How likely each beginning of a number is where only these numbers may come."""
    found = {"": 1.0}
    for size in range(1, 4):
        weights = {
            number[:size]: math.exp(told[size - 1] / temperature) for number, told in of_digits.items()
        }
        for text, weight in weights.items():
            beside = sum(other for one, other in weights.items() if one[:-1] == text[:-1])
            found[text] = found[text[:-1]] * weight / beside
    return {text: chance for text, chance in found.items() if text}


def accepted_guesses() -> float:
    with urllib.request.urlopen(f"{ROOT}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    found = re.findall(r"^factorspec_draft_tokens_total{(.*)} (.*)$", text, re.MULTILINE)
    return sum(float(count) for labels, count in found if "accepted" in labels and "certain" not in labels)


def drawn_beside_guesses() -> dict[float, list[str]]:
    """Numbers of each temperature, until some guesses stood: they rest where they did not pay before."""
    before = accepted_guesses()
    asked = [temperature for temperature, count in REQUESTS.items() for _ in range(count)]
    found: dict[float, list[str]] = {temperature: [] for temperature in REQUESTS}
    for _ in range(ROUNDS):
        with ThreadPoolExecutor(len(asked)) as pool:
            for temperature, answers in zip(asked, pool.map(drawn, asked), strict=True):
                assert len(answers) == CHOICES
                numbers = [Pick.model_validate_json(answer["text"]).number for answer in answers]
                found[temperature] += map(str, numbers)
        if accepted_guesses() > before:
            return found
    return pytest.skip("guesses rest: working them out takes longer here than it saves")


def test_records_are_drawn_by_their_probabilities() -> None:
    of_digits = {number: logprobs(number) for number in NUMBERS}
    for temperature, numbers in drawn_beside_guesses().items():
        counts = Counter(number[:size] for number in numbers for size in (1, 2, 3))
        known = chances(of_digits, temperature)
        far, text = oddest(counts, len(numbers), known)
        assert far < limit(ROUNDS * len(REQUESTS) * len(known)), (text, temperature, counts, known)
