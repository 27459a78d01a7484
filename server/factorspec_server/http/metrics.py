"""Counters in Prometheus' text form, one registry for each app."""

from __future__ import annotations

import time
from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from factorspec_server.engines import Completion, Usage
from factorspec_server.http.chat_job import ChatJob
from factorspec_server.http.chat_service import ChatService
from factorspec_server.http.service_metrics import ServiceCollector

_TIMES_S = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
_COMPILE_TIMES_S = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


class Metrics:
    """What one server counts since it started."""

    def __init__(self, service: ChatService) -> None:
        self._registry = CollectorRegistry()
        registry = self._registry
        self._requests = Counter(
            "factorspec_requests",
            "Chat requests by outcome: ok or the error's code.",
            ["outcome"],
            registry=registry,
        )
        self._tokens = Counter(
            "factorspec_tokens",
            "Tokens read (prompt, those reused among them) and written (certain, chosen, free).",
            ["origin"],
            registry=registry,
        )
        self._steps = Counter(
            "factorspec_model_steps",
            "Model steps that requests took part in: with a decision, or only filling in tokens.",
            ["kind"],
            registry=registry,
        )
        self._drafts = Counter(
            "factorspec_draft_tokens",
            "Drafted tokens by kind of draft and fate: accepted or rejected.",
            ["kind", "fate"],
            registry=registry,
        )
        self._run = Counter(
            "factorspec_run_tokens",
            "Tokens run by the model: prompt, kept in an answer, in_vain for drafts that did not stand.",
            ["use"],
            registry=registry,
        )
        self._time = Histogram(
            "factorspec_request_seconds", "Time from request to answer.", buckets=_TIMES_S, registry=registry
        )
        self._compile = Histogram(
            "factorspec_compile_seconds",
            "Time to compile a spec that was not cached.",
            buckets=_COMPILE_TIMES_S,
            registry=registry,
        )
        engine, cache = service.served.engine, service.compiler.cache
        for name, text, read in (
            ("waiting_requests", "Requests that wait for the engine.", lambda: engine.num_waiting),
            ("running_requests", "Requests that run.", lambda: engine.num_running),
            ("prefix_bytes", "Keys and values kept for equal beginnings.", lambda: engine.prefix_bytes),
            ("cached_specs", "Compiled specs that are kept.", lambda: len(cache)),
            ("cached_bytes", "Their approximate size.", lambda: cache.num_bytes),
        ):
            Gauge(f"factorspec_{name}", text, registry=registry).set_function(read)
        if service.service is not None:
            registry.register(ServiceCollector(service.service.counts))

    def count_outcome(self, outcome: str) -> None:
        """A request ended: "ok" or an error's code."""
        self._requests.labels(outcome).inc()

    def count_answer(self, job: ChatJob, completions: Sequence[Completion], time_s: float) -> None:
        """A request was run; ``time_s`` seconds passed from its arrival."""
        for completion in completions:
            self._count_usage(completion.usage)
        self._time.observe(time_s)
        for compile_s in job.compiles_s:
            self._compile.observe(compile_s)

    def _count_usage(self, usage: Usage) -> None:
        self._tokens.labels("prompt").inc(usage.prompt_tokens)
        self._tokens.labels("reused").inc(usage.reused)
        self._tokens.labels("certain").inc(usage.certain)
        self._tokens.labels("chosen").inc(usage.chosen - usage.free)
        self._tokens.labels("free").inc(usage.free)
        self._steps.labels("decision").inc(usage.model_steps)
        self._steps.labels("fill").inc(usage.fill_steps)
        for kind, count in usage.drafts.items():
            self._drafts.labels(kind, "accepted").inc(count.accepted)
            self._drafts.labels(kind, "rejected").inc(count.drafted - count.accepted)
        self._run.labels("prompt").inc(usage.prompt_tokens - usage.reused)
        self._run.labels("kept").inc(usage.tokens_run - usage.in_vain)
        self._run.labels("in_vain").inc(usage.in_vain)

    def tally(self, job: ChatJob, started: float) -> Tally:
        """What counts how one request ends; ``started`` is by ``time.perf_counter``."""
        return Tally(self, job, started)

    def text(self) -> bytes:
        """The metrics page."""
        return bytes(generate_latest(self._registry))


class Tally:
    """Counts how one request ends."""

    def __init__(self, metrics: Metrics, job: ChatJob, started: float) -> None:
        self._metrics = metrics
        self._job = job
        self._started = started

    def completed(self, completions: Sequence[Completion]) -> None:
        """With an answer."""
        self._metrics.count_outcome("ok")
        self._metrics.count_answer(self._job, completions, time.perf_counter() - self._started)

    def failed(self, code: str) -> None:
        """With an error."""
        self._metrics.count_outcome(code)

    def dropped(self) -> None:
        """With a client that went away."""
        self._metrics.count_outcome("client_disconnected")
