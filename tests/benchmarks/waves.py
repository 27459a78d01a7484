"""What a wave of unseen specs costs the requests that decode meanwhile (promise P5).

    python -m tests.benchmarks.waves [--workers 0 1 2] [--seconds 20] [--clients 4] [--threads N] [--pause]
                                     [--json OUT]

SmolLM2 writes chats and records all the time; with --pause nothing but a pause of 20 ms stands for it, which
takes no processor: what is seen then is the interpreter's lock, not the lack of cores. Every step of the
engine is timed, first by themselves, then while two clients open one spec after the other that nobody has
seen: 30 invoice lines and their totals, whose compiling takes tens of milliseconds. With no workers that is
done in the engine's process, beside its thread.

Reported for each number of workers: steps, and their p50 and p99 in milliseconds, quiet and in the wave; how
much the p99 grew; and the specs that were opened meanwhile.
"""

from __future__ import annotations

import argparse
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from time import monotonic, perf_counter, sleep
from typing import Any

import numpy as np

import factorspec_sdk as fs
from factorspec_sdk.records.document import document
from factorspec_sdk.testing.scripted_model import ScriptedBatch, ScriptedModel
from factorspec_server.commands.constraint_workers import start_workers
from factorspec_server.constraint_service.embedded import EmbeddedService
from factorspec_server.engines import Request, load_model
from factorspec_server.engines.threads import usable_cores
from factorspec_server.engines.torch_model import TorchModel
from factorspec_server.http.chat_job import ChatJob
from factorspec_server.http.chat_service import ChatService
from factorspec_server.http.served_model import ServedModel
from factorspec_server.settings import ServerSettings
from tests.benchmarks.invoices import Invoice, given

_CLIENTS = 2
_TOKENS = 400
_PAUSE_S = 0.02


@cache
def invoice() -> dict[str, Any]:
    """The document that all differ from by their titles."""
    found: dict[str, Any] = json.loads(json.dumps(document(fs.bind(Invoice, given()))))
    return found


def unseen(number: int) -> dict[str, Any]:
    """An invoice's document that differs from all others."""
    return {**invoice(), "title": f"invoice of batch {number}"}


class Steps:
    """Times the steps of an engine."""

    def __init__(self, served: ServedModel) -> None:
        self.times_s: list[float] = []
        runner = served.engine._runner
        step = runner.step

        def timed() -> None:
            started = perf_counter()
            step()
            self.times_s.append(perf_counter() - started)

        vars(runner)["step"] = timed

    def during(self, seconds: float) -> list[float]:
        """The steps of the next seconds."""
        self.times_s.clear()
        threading.Event().wait(seconds)
        return [*self.times_s]


def asked(service: ChatService, document: dict[str, Any]) -> ChatJob:
    """A request for a record."""
    wanted: dict[str, Any] = {"name": "invoice", "schema": document}
    body: dict[str, Any] = {
        "model": service.served.name,
        "messages": [{"role": "user", "content": "An invoice."}],
        "response_format": {"type": "json_schema", "json_schema": wanted},
    }
    return service.prepare(service.read(body))


def chat(service: ChatService) -> None:
    """Write free text."""
    messages = [{"role": "user", "content": "Tell a long story about a harbour."}]
    prompt = service.served.template.encode_chat(messages)
    service.served.engine.generate([Request(prompt_ids=prompt, token_limit=_TOKENS)], timeout_s=600)


def record(service: ChatService) -> None:
    """Write a record of a spec that is known."""
    job = asked(service, unseen(0))
    service.served.engine.generate(job.requests, timeout_s=600)
    job.close()


@contextmanager
def again_and_again(service: ChatService, *works: Callable[[ChatService], None]) -> Iterator[None]:
    """Clients that do their work all the time, each on a thread of its own."""
    over = threading.Event()

    def client(work: Callable[[ChatService], None]) -> None:
        while not over.is_set():
            work(service)

    threads = [threading.Thread(target=client, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


class Wave:
    """Opens unseen specs, one after the other. times_s: seconds that each took."""

    def __init__(self, start: int) -> None:
        self._numbers = iter(range(start, 1 << 30))
        self.times_s: list[float] = []

    def open(self, service: ChatService) -> None:
        """Open the next."""
        began = monotonic()
        asked(service, unseen(next(self._numbers))).close()
        self.times_s.append(monotonic() - began)


class PausingBatch(ScriptedBatch):
    """Takes its time and no processor, as a model on a GPU does."""

    def extend(self, *arguments: Any) -> Any:
        sleep(_PAUSE_S)
        return super().extend(*arguments)


def measured(model: TorchModel, workers: int, seconds: float, clients: int) -> dict[str, object]:
    """One row of the table; half of the clients chat, the others write records."""
    served = ServedModel.of(model, drafting="certain")
    made = start_workers(workers, served, model, ("certain", None)) if workers else None
    with served.engine:
        if made is not None:
            served.engine.keep_with(made)
        service = ChatService(served, ServerSettings(drafting="certain"), None, made)
        steps = Steps(served)
        wave = Wave(1 + (workers << 20))
        with again_and_again(service, *([chat, record] * (clients // 2))):
            steps.during(3.0)
            quiet = steps.during(seconds)
            with again_and_again(service, *[wave.open] * _CLIENTS):
                busy = steps.during(seconds)
    _close(made)
    grown = float(np.percentile(busy, 99) / np.percentile(quiet, 99) - 1)
    return {
        "workers": workers,
        **_shown("quiet", quiet),
        **_shown("wave", busy),
        "p99_grown": round(grown, 3),
        "specs": len(wave.times_s),
        "open_p50_ms": round(1e3 * float(np.median(wave.times_s)), 1),
    }


def _close(service: EmbeddedService | None) -> None:
    if service is not None:
        service.close()


def _shown(name: str, times_s: list[float]) -> dict[str, object]:
    values = {f"{name}_p{q}_ms": round(1e3 * float(np.percentile(times_s, q)), 2) for q in (50, 99)}
    return {f"{name}_steps": len(times_s), **values}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--threads", type=int, default=None, help="of torch")
    parser.add_argument("--pause", action="store_true", help="no model: each step sleeps for 20 ms")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--json", type=Path, default=None)
    given_ = parser.parse_args()
    model = load_model("smollm2", device=given_.device, num_threads=given_.threads, progress=False)
    if given_.pause:
        scripted = ScriptedModel(model.logit_width, end_ids=model.end_ids)
        vars(model)["open"] = lambda: PausingBatch(scripted)
    rows = []
    for workers in given_.workers:
        rows.append(measured(model, workers, given_.seconds, given_.clients))
        print(json.dumps(rows[-1]), flush=True)
    if given_.json is not None:
        given_.json.write_text(json.dumps({"cores": usable_cores(), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
