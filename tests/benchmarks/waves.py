"""What a wave of unseen specs costs the requests that decode meanwhile (promise P5).

    python -m tests.benchmarks.waves [--workers 0 1 2] [--seconds 20] [--chats 4] [--threads N] [--json OUT]

SmolLM2 writes chats all the time; every step of the engine is timed, first by themselves, then while two
clients open one spec after the other that nobody has seen: 30 invoice lines and their totals, whose compiling
takes tens of milliseconds. With no workers that is done in the engine's process, beside its thread.

Reported for each number of workers: steps, and their p50 and p99 in milliseconds, quiet and in the wave; how
much the p99 grew; and the specs that were opened meanwhile.
"""

from __future__ import annotations

import argparse
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

import numpy as np

import factorspec_sdk as fs
from factorspec_sdk.records.document import document
from factorspec_server.commands.constraint_workers import start_workers, usable_cores
from factorspec_server.constraint_service.embedded import EmbeddedService
from factorspec_server.engines import Request, load_model
from factorspec_server.engines.torch_model import TorchModel
from factorspec_server.http.chat_service import ChatService
from factorspec_server.http.served_model import ServedModel
from factorspec_server.settings import ServerSettings
from tests.benchmarks.invoices import Invoice, given

_CLIENTS = 2
_TOKENS = 400


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


@contextmanager
def chatting(served: ServedModel, count: int) -> Iterator[None]:
    """So many chats all the time: one that ends is followed by another."""
    over = threading.Event()
    prompt = served.template.encode_chat([{"role": "user", "content": "Tell a long story about a harbour."}])

    def chat() -> None:
        while not over.is_set():
            served.engine.generate([Request(prompt_ids=prompt, token_limit=_TOKENS)], timeout_s=600)

    threads = [threading.Thread(target=chat, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


@contextmanager
def waving(service: ChatService, start: int) -> Iterator[list[float]]:
    """Clients that open unseen specs, one after the other; the list gets the seconds that each took."""
    over, opened = threading.Event(), list[float]()
    numbers = iter(range(start, 1 << 30))

    def client() -> None:
        while not over.is_set():
            began = monotonic()
            body: dict[str, Any] = {
                "model": service.served.name,
                "messages": [{"role": "user", "content": "An invoice."}],
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "invoice", "schema": unseen(next(numbers))},
                },
            }
            service.prepare(service.read(body)).close()
            opened.append(monotonic() - began)

    threads = [threading.Thread(target=client, daemon=True) for _ in range(_CLIENTS)]
    for thread in threads:
        thread.start()
    try:
        yield opened
    finally:
        over.set()
        for thread in threads:
            thread.join()


def measured(model: TorchModel, workers: int, seconds: float, chats: int) -> dict[str, object]:
    """One row of the table."""
    served = ServedModel.of(model, drafting="certain")
    made = start_workers(workers, served, model, ("certain", None)) if workers else None
    with served.engine:
        if made is not None:
            served.engine.keep_with(made)
        service = ChatService(served, ServerSettings(drafting="certain"), None, made)
        steps = Steps(served)
        with chatting(served, chats):
            steps.during(3.0)
            quiet = steps.during(seconds)
            with waving(service, workers << 20) as opened:
                wave = steps.during(seconds)
    _close(made)
    grown = float(np.percentile(wave, 99) / np.percentile(quiet, 99) - 1)
    return {
        "workers": workers,
        **_shown("quiet", quiet),
        **_shown("wave", wave),
        "p99_grown": round(grown, 3),
        "specs": len(opened),
        "open_p50_ms": round(1e3 * float(np.median(opened)), 1) if opened else None,
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
    parser.add_argument("--chats", type=int, default=4)
    parser.add_argument("--threads", type=int, default=None, help="of torch")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--json", type=Path, default=None)
    given_ = parser.parse_args()
    model = load_model("smollm2", device=given_.device, num_threads=given_.threads, progress=False)
    rows = []
    for workers in given_.workers:
        rows.append(measured(model, workers, given_.seconds, given_.chats))
        print(json.dumps(rows[-1]), flush=True)
    if given_.json is not None:
        given_.json.write_text(json.dumps({"cores": usable_cores(), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
