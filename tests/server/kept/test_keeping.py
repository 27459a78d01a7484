"""Records kept by constraint workers: who comes late, who goes early, who dies, and what is left of it."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from factorspec_server.constraint_service.embedded import EmbeddedService
from factorspec_server.http.app import create_app
from factorspec_server.http.kept import KeptSession
from tests.server.http.serving import (
    SteppedModel,
    body,
    byte_canonical,
    running,
    served_model,
    wait_until,
)
from tests.server.kept.two_servers import (
    TIMEOUT_S,
    ask,
    is_there,
    keeping,
    metric,
    plain,
    processes_of,
    service_of,
)

NUM_RECORDS = 6


def wanted(seed: int, **fields: Any) -> dict[str, Any]:
    return body(seed=seed, temperature=1.0, max_tokens=400, **fields)


def unseen(seed: int) -> dict[str, Any]:
    """A document that no other request has."""
    fields = {"n": {"type": "integer", "minimum": seed, "maximum": seed + 50}, "t": {"type": "string"}}
    return {"type": "object", "properties": fields, "required": ["n", "t"], "additionalProperties": False}


#: depends on who came first, who ran beside, and what a policy remembers, which dies with its worker
BY_CHANCE = {
    "spec_cached", "reused", "cached_tokens", "fill_steps", "model_steps", "tokens_run", "in_vain", "widest",
    "drafts", "guessed", "accepted",
}  # fmt: skip


def lasting(answer: Any) -> Any:
    """What of an answer does not depend on others."""
    if isinstance(answer, dict):
        return {name: lasting(each) for name, each in answer.items() if name not in BY_CHANCE}
    return [lasting(each) for each in answer] if isinstance(answer, list | tuple) else answer


def text_of(answer: Any) -> tuple[str, Any]:
    """The text of an answer, however it was cut into events, and what stands at its end."""
    if isinstance(answer[1], list):
        deltas = [choice.get("delta", {}) for event in answer[1] for choice in event["choices"]]
        return "".join(delta.get("content", "") for delta in deltas), lasting(answer[1][-1])
    return answer[2]["choices"][0]["message"]["content"], lasting(answer[2])


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGSTOP])
def test_workers_that_die_or_fall_silent_in_mid_record_lose_nothing(end: signal.Signals) -> None:
    model = SteppedModel()
    asked = [wanted(seed, stream=seed % 2 == 1) for seed in range(NUM_RECORDS)]
    with plain(served_model(SteppedModel()), "tree") as root:
        expected = [text_of(ask(root, each)) for each in asked]
    deadline_s = 60.0 if end is signal.SIGKILL else 30.0
    with (
        keeping(served_model(model), "tree", workers=2, deadline_s=deadline_s) as kept,
        ThreadPoolExecutor(NUM_RECORDS) as pool,
    ):
        wait_until(lambda: kept.service.stats().workers_alive == 2)  # so that both keep records
        model.pause_after = model.forward_passes + 3
        answers = [pool.submit(ask, kept.root, each) for each in asked]
        wait_until(lambda: not model.gate.is_set())
        for worker in processes_of(kept.service)[1]:
            os.kill(worker, end)
        model.gate.set()
        found = [text_of(answer.result(TIMEOUT_S)) for answer in answers]
        assert found == expected
        assert metric(kept.root, "factorspec_service_workers_replaced_total") >= 2
        assert metric(kept.root, "factorspec_service_records_rebuilt_total") >= 1
        assert metric(kept.root, "factorspec_service_records") == 0


def test_a_stopped_server_leaves_no_process() -> None:
    with keeping(served_model(SteppedModel()), workers=2) as kept:
        ask(kept.root, wanted(1))
        wait_until(lambda: len(processes_of(kept.service)[1]) == 2)
        nursery, workers = processes_of(kept.service)
    wait_until(lambda: not any(map(is_there, (nursery, *workers))))


def test_a_client_that_goes_away_gives_its_place_back() -> None:
    model = SteppedModel()
    with keeping(served_model(model)) as kept:
        model.pause_after = model.forward_passes + 2
        with httpx.Client(timeout=TIMEOUT_S) as client:
            sent = wanted(1, stream=True)
            with client.stream("POST", f"{kept.root}/v1/chat/completions", json=sent) as answer:
                lines = answer.iter_lines()
                assert next(lines).startswith("data: ")
                wait_until(lambda: not model.gate.is_set())
                assert metric(kept.root, "factorspec_service_records") == 1
        model.gate.set()
        wait_until(lambda: metric(kept.root, "factorspec_service_records") == 0)
        assert ask(kept.root, wanted(2))[0] == 200
        wait_until(lambda: metric(kept.root, "factorspec_service_asks_waiting") == 0)


def test_more_records_than_there_are_places_are_refused() -> None:
    with keeping(served_model(SteppedModel()), records=2) as kept:
        status, _, answer = ask(kept.root, wanted(1, n=3))
        assert (status, answer["error"]["code"]) == (503, "overloaded")
        wait_until(lambda: metric(kept.root, "factorspec_service_records") == 0)
        assert ask(kept.root, wanted(1, n=2))[0] == 200


class SlowOpener(EmbeddedService):
    """Opens documents with a field ``n`` only once ``gate`` is set."""

    gate = threading.Event()
    waiting = threading.Semaphore(0)

    def open(self, document: Any, **options: Any) -> KeptSession:
        if "n" in document["properties"]:
            self.waiting.release()
            assert self.gate.wait(TIMEOUT_S)
        return super().open(document, **options)


def test_nobody_waits_for_a_record_that_opens_late() -> None:
    late = 5
    with service_of(byte_canonical()) as service, ThreadPoolExecutor(late) as pool:
        opener = SlowOpener(service)
        with running(create_app(served_model(SteppedModel()), service=opener)) as root:
            answers = [pool.submit(ask, root, wanted(at, schema=unseen(at))) for at in range(late)]
            for _ in range(late):
                assert opener.waiting.acquire(timeout=TIMEOUT_S)
            assert ask(root, wanted(1))[0] == 200
            assert ask(root, body(schema=None, max_tokens=4))[0] == 200
            assert not any(answer.done() for answer in answers)
            opener.gate.set()
            assert [answer.result(TIMEOUT_S)[0] for answer in answers] == [200] * late


def test_capabilities_and_metrics_tell_of_the_service() -> None:
    with keeping(served_model(SteppedModel())) as kept:
        with httpx.Client(timeout=TIMEOUT_S) as client:
            facts = client.get(f"{kept.root}/v1/models").json()["data"][0]["factorspec"]
        assert facts["constraint_service"] == {"workers": 1, "records": 64, "deadline_s": 60.0}
        ask(kept.root, wanted(1))
        assert metric(kept.root, "factorspec_service_workers") == 1
        assert metric(kept.root, "factorspec_step_wait_seconds_count") > 0
    with plain(served_model(SteppedModel())) as root, httpx.Client(timeout=TIMEOUT_S) as client:
        facts = client.get(f"{root}/v1/models").json()["data"][0]["factorspec"]
        assert facts["constraint_service"] == {"workers": 0}
