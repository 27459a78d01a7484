"""Counters of records on SGLang's Prometheus endpoint (``--enable-metrics``).

SGLang's processes share their metrics through a directory; what is counted here, in the scheduler, stands on
``/metrics`` beside SGLang's own. Names and labels::

    factorspec_records_total{outcome}        complete, incomplete (limit, abort), or the code of an error
    factorspec_record_tokens_total{origin}   certain, chosen, free
    factorspec_draft_tokens_total{kind, outcome}   drafted, accepted; by kind of draft
    factorspec_model_steps_total             forward passes in which the model decided something
    factorspec_narrowed_records_total        records whose masks a budget cut
    factorspec_refused_documents_total{code} documents that cannot be enforced, or not within the budgets
    factorspec_compile_seconds               of specs that were not known yet
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class RecordMetrics:
    """The counters of one scheduler; make it once, after SGLang has set up its directory."""

    def __init__(self) -> None:
        from prometheus_client import Counter, Histogram

        self._records = Counter("factorspec_records", "Records by how they ended.", ["outcome"])
        self._tokens = Counter("factorspec_record_tokens", "Tokens of records by origin.", ["origin"])
        self._drafts = Counter("factorspec_draft_tokens", "Drafted tokens.", ["kind", "outcome"])
        self._steps = Counter("factorspec_model_steps", "Passes in which the model decided something.")
        self._narrowed = Counter("factorspec_narrowed_records", "Records whose masks a budget cut.")
        self._refused = Counter(
            "factorspec_refused_documents", "Documents by why they were refused.", ["code"]
        )
        self._compile_s = Histogram("factorspec_compile_seconds", "Seconds to compile a new spec.")

    def refused(self, code: str) -> None:
        """Count a document that was refused."""
        self._refused.labels(code).inc()

    def count(self, report: Mapping[str, Any]) -> None:
        """Count a record by its report (``reports.report_of``)."""
        error = report["error"]
        outcome = "complete" if report["complete"] else "incomplete"
        self._records.labels(outcome if error is None else error["error"]["code"]).inc()
        for origin in ("certain", "chosen", "free"):
            self._tokens.labels(origin).inc(report[origin])
        for kind, counts in report["drafts"].items():
            for name, count in counts.items():
                self._drafts.labels(kind, name).inc(count)
        self._steps.inc(report["model_steps"])
        if not report["exact"]:
            self._narrowed.inc()
        if not report["spec_cached"]:
            self._compile_s.observe(report["compile_s"])
