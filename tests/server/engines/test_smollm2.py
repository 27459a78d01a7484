"""The real SmolLM2: conversion, tokenizer, chat, and P3 in float32."""

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from factorspec_sdk.decoding import Decoder
from factorspec_sdk.errors import JsonValue
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.tokens import Vocabulary
from factorspec_sdk.wire import parse_document
from factorspec_server.drafting import Certain, Chain, DraftingPolicy, Off
from factorspec_server.engines import Request, Sampling, SyntaxCompiler, generate_batch
from factorspec_server.engines.runner import Runner
from factorspec_server.engines.smollm2 import smollm2_dir
from factorspec_server.engines.torch_model import TorchModel
from factorspec_server.http.served_model import ServedModel
from factorspec_server.settings import DraftingName
from tests.server.engines.random_trees import RandomTrees
from tests.server.engines.toy_session import ToySession, highest_allowed

pytestmark = [pytest.mark.model, pytest.mark.slow]

CONVERT = "from factorspec_server.engines.smollm2 import smollm2_dir; print(smollm2_dir(progress=False))"
SAMPLINGS = (Sampling(), Sampling(temperature=0.8, seed=5), Sampling(temperature=1.2, top_p=0.9, seed=6))


def records(model: TorchModel) -> tuple[tuple[int, ...], ...]:
    """Some short records over cities and days, as tokens."""
    encode = model.chat.backend.encode
    return tuple(
        tuple(encode(json.dumps({"from": start, "days": days, "to": end})).ids)
        for start in ("Rome", "Paris", "Oslo", "Lima")
        for days in (3, 5, 12)
        for end in ("Berlin", "Bergen", "Madrid")
    )


def prompts(model: TorchModel) -> list[tuple[int, ...]]:
    questions = ("Plan a trip.", "I want to see fjords; where should I go?")
    return [model.chat.encode_chat([{"role": "user", "content": question}]) for question in questions]


def run(
    model: TorchModel, policy: DraftingPolicy, sampling: Sampling, *, at_once: bool
) -> list[tuple[int, ...]]:
    alternatives = records(model)
    requests = [
        Request(
            prompt_ids=prompt,
            token_limit=60,
            session=ToySession(alternatives),
            sampling=sampling,
            drafting=policy,
        )
        for prompt in prompts(model)
    ]
    batches: Sequence[list[Request]] = [requests] if at_once else [[request] for request in requests]
    completions = [completion for batch in batches for completion in generate_batch(model, batch)]
    assert [completion.finish_reason for completion in completions] == ["stop"] * len(requests)
    return [completion.token_ids for completion in completions]


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
def test_output_is_token_identical_under_every_policy_and_batch(
    smollm2: TorchModel, sampling: Sampling
) -> None:
    reference = run(smollm2, Off(), sampling, at_once=False)
    trees = cast("DraftingPolicy", RandomTrees(seed=1))
    for policy in (Certain(), Chain(width=8), Chain(width=32, guesses=highest_allowed), trees):
        assert run(smollm2, policy, sampling, at_once=False) == reference
        assert run(smollm2, policy, sampling, at_once=True) == reference


TRIP: dict[str, JsonValue] = {
    "type": "object",
    "properties": {
        "start": {"enum": ["Oslo", "Bergen", "Rome", "Lisbon"]},
        "end": {"enum": ["Oslo", "Bergen", "Rome", "Lisbon"]},
        "nights": {"type": "integer", "minimum": 1, "maximum": 12},
        "note": {"type": "string", "maxLength": 24},
        "train": {"type": "boolean"},
    },
    "required": ["start", "end", "nights", "note", "train"],
    "additionalProperties": False,
    "x-factorspec": {
        "version": 1,
        "relations": [{"name": "away", "kind": "all_different", "over": ["$.start", "$.end"]}],
    },
}
WAYS: tuple[tuple[DraftingName, int | None], ...] = (
    ("certain", None),
    ("chain", 8),
    ("branches", 32),
    ("text", 16),
    ("auto", None),
)


@pytest.mark.parametrize("sampling", SAMPLINGS[:2], ids=str)
def test_records_are_token_identical_however_they_are_drafted(
    smollm2: TorchModel, sampling: Sampling
) -> None:
    served = ServedModel.of(smollm2)
    compiled = compile_spec(parse_document(TRIP))
    canonical = served.canonical
    decoder = Decoder(compiled.program, compiled.feasibility, canonical.vocabulary, canonical=canonical)
    question = [{"role": "user", "content": "A trip from Bergen to Lisbon, 3 nights, by train please."}]
    prompt = served.template.encode_chat(question)
    asked = [prompt, prompt, (*prompt[:-9], *prompt[-4:])]

    def run_all(runner: Runner, way: tuple[DraftingName, int | None]) -> list[tuple[int, ...]]:
        rows = [
            runner.admit(
                Request(
                    prompt_ids=prompt_ids,
                    token_limit=80,
                    session=decoder.session(80),
                    sampling=sampling,
                    drafting=served.drafting(way[0], prompt_ids, way[1]),
                )
            )
            for prompt_ids in asked
        ]
        while runner.num_rows:
            runner.step()
        completions = [row.completion for row in rows if row.completion is not None]
        assert [completion.finish_reason for completion in completions] == ["stop"] * len(asked)
        return [completion.token_ids for completion in completions]

    reference = run_all(Runner(smollm2, prefix_bytes=0), ("off", None))
    runner = Runner(smollm2, step_tokens=40)
    for way in WAYS:
        assert run_all(runner, way) == reference


def test_chat_in_a_ragged_batch_equals_single_runs(smollm2: TorchModel) -> None:
    for sampling in SAMPLINGS[:2]:
        requests = [
            Request(prompt_ids=prompt, token_limit=8, sampling=sampling) for prompt in prompts(smollm2)
        ]
        together = [completion.token_ids for completion in generate_batch(smollm2, requests)]
        alone = [generate_batch(smollm2, [request])[0].token_ids for request in requests]
        assert together == alone


def test_the_model_answers_and_ends(smollm2: TorchModel) -> None:
    prompt = smollm2.chat.encode_chat([{"role": "user", "content": "What is the capital of France?"}])
    (completion,) = generate_batch(smollm2, [Request(prompt_ids=prompt, token_limit=40)])
    assert completion.text == "The capital of France is Paris."
    assert completion.finish_reason == "stop"
    assert completion.token_ids[-1] == smollm2.end_ids[0]


def test_the_end_token_is_the_one_of_the_template(smollm2: TorchModel) -> None:
    assert smollm2.end_ids == (smollm2.chat.backend.token_to_id("<|im_end|>"),) == (2,)


def test_the_template_is_chat_ml_with_the_default_system_prompt(smollm2: TorchModel) -> None:
    text = smollm2.chat.render_chat([{"role": "user", "content": "Hi"}])
    assert text == (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
        "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )


def test_digits_are_tokens_of_their_own(smollm2: TorchModel) -> None:
    backend = smollm2.chat.backend
    assert [backend.id_to_token(token) for token in backend.encode("  1").ids] == ["ĠĠ", "1"]
    assert [backend.id_to_token(token) for token in backend.encode("x1234").ids] == ["x", "1", "2", "3", "4"]
    for text in ("São  Paulo 12:30", "日本語 😀 l'été\n\n  x\t12", '{"a": "\\u00e9", "n": -4.50}'):
        assert smollm2.decode(backend.encode(text).ids) == text


def test_the_syntax_mask_writes_json_by_the_schema(smollm2: TorchModel) -> None:
    vocabulary = Vocabulary.from_tokenizer(smollm2.chat.backend, smollm2.logit_width, smollm2.end_ids)
    schema = {
        "type": "object",
        "properties": {
            "city": {"enum": ["Oslo", "Rome"]},
            "days": {"type": "integer", "minimum": 1, "maximum": 9},
        },
        "required": ["city", "days"],
        "additionalProperties": False,
    }
    compiler = SyntaxCompiler(vocabulary)
    sessions = [compiler.session(schema) for _ in range(4)]
    requests = [
        Request(
            prompt_ids=prompts(smollm2)[0],
            token_limit=40,
            session=session,
            sampling=Sampling(temperature=1.5, seed=seed),
        )
        for seed, session in enumerate(sessions)
    ]
    for session, completion in zip(sessions, generate_batch(smollm2, requests), strict=True):
        assert completion.finish_reason == "stop"
        record = json.loads(session.text)
        assert session.text == json.dumps(record)
        assert record["city"] in {"Oslo", "Rome"}
        assert record["days"] in range(1, 10)
        assert completion.usage.model_steps == completion.usage.tokens


def environment(cache: Path) -> dict[str, str]:
    path = [str(Path(__file__).resolve().parents[3] / part) for part in (".", "server")]
    return {"FACTORSPEC_CACHE": str(cache), "PYTHONPATH": ":".join(path), "PATH": "", "OMP_NUM_THREADS": "1"}


def test_two_conversions_at_once_and_a_killed_one_leave_one_whole_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [sys.executable, "-c", CONVERT]
    with subprocess.Popen(command, env=environment(tmp_path)) as killed:
        while not list(tmp_path.glob("models/*.partial-*")) and killed.poll() is None:
            pass
        killed.send_signal(signal.SIGKILL)
    assert list(tmp_path.glob("models/*.partial-*"))
    both = [
        subprocess.Popen(command, env=environment(tmp_path), stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    printed = {process.communicate(timeout=100)[0].strip() for process in both}
    monkeypatch.setenv("FACTORSPEC_CACHE", str(tmp_path))
    assert printed == {str(smollm2_dir(progress=False))}
    assert {path.suffix for path in tmp_path.glob("models/*")} == {".2-v1", ".lock"}
