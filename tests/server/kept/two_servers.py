"""Two servers with the same model: one whose records are kept by constraint workers, one without any."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx

from factorspec_sdk.tokens import Canonical
from factorspec_server.constraint_service import (
    ConstraintService,
    ServiceOptions,
    VocabularySource,
)
from factorspec_server.constraint_service.embedded import EmbeddedService
from factorspec_server.drafting import DraftingSpec, PolicyName
from factorspec_server.http.app import create_app
from factorspec_server.http.served_model import ServedModel
from factorspec_server.settings import ServerSettings
from tests.server.http.serving import running

TIMEOUT_S = 120.0
#: what no two runs have in common
_TIMES = {"prefill_s", "decode_s", "compile_s", "time_s", "created", "id"}


@dataclass(frozen=True)
class Keeping:
    """A server whose records are kept elsewhere. service: what keeps them; root: the server's address."""

    root: str
    service: ConstraintService


def source_of(canonical: Canonical) -> VocabularySource:
    vocabulary = canonical.vocabulary
    return VocabularySource.of_tokenizer(
        vocabulary.tokenizer, vocabulary.logit_width, vocabulary.end_ids, name=vocabulary.name
    )


@contextmanager
def service_of(canonical: Canonical, **options: Any) -> Iterator[ConstraintService]:
    """A service with one worker, unless told otherwise."""
    service = ConstraintService(
        source_of(canonical), ServiceOptions(**{"workers": 1, "records": 64, "deadline_s": 60.0, **options})
    )
    try:
        yield service
    finally:
        service.close()


@contextmanager
def keeping(
    served: ServedModel, policy: PolicyName = "certain", *, earlier: bool = False, **options: Any
) -> Iterator[Keeping]:
    """A server with workers; guesses take as long as they take. earlier: they remember finished records,
    which they may do a little earlier or later than others.
    """
    with service_of(served.canonical, **options) as service:
        service.draft(DraftingSpec(name=policy, patience_s=None, earlier=earlier))
        service.await_workers(TIMEOUT_S)
        app = create_app(
            replace(served, patience_s=None, earlier=earlier),
            ServerSettings(drafting=policy),
            None,
            EmbeddedService(service),
        )
        with running(app) as root:
            yield Keeping(root, service)


@contextmanager
def plain(served: ServedModel, policy: PolicyName = "certain", *, earlier: bool = False) -> Iterator[str]:
    """A server without; its address."""
    patient = replace(served, patience_s=None, earlier=earlier)
    with running(create_app(patient, ServerSettings(drafting=policy))) as root:
        yield root


def ask(root: str, body: dict[str, Any]) -> Any:
    """All that a server says to a request: status and body, of streams the events; without times."""
    with httpx.Client(timeout=TIMEOUT_S) as client:
        answer = client.post(f"{root}/v1/chat/completions", json=body)
    if not body.get("stream") or answer.status_code != 200:
        return answer.status_code, answer.headers.get("x-factorspec-spec"), timeless(answer.json())
    lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if line]
    assert lines[-1] == "[DONE]"
    events = [timeless(json.loads(line)) for line in lines[:-1]]
    # several answers run side by side; each one's events are in order
    return answer.status_code, sorted(events, key=lambda event: event["choices"][0]["index"])


def timeless(value: Any) -> Any:
    """The same without times and names made up for one answer."""
    if isinstance(value, dict):
        return {name: timeless(each) for name, each in value.items() if name not in _TIMES}
    return [timeless(each) for each in value] if isinstance(value, list) else value


def metric(root: str, name: str) -> float:
    """A number of the metrics page."""
    with httpx.Client(timeout=TIMEOUT_S) as client:
        lines = client.get(f"{root}/metrics").text.splitlines()
    return next(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(f"{name} "))


def processes_of(service: ConstraintService) -> tuple[int, list[int]]:
    """The nursery's process, and its workers'."""
    process = service._keeper._process
    assert process is not None
    assert process.pid > 1
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return process.pid, [int(child) for child in children]


def is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
