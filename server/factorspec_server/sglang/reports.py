"""Counts of finished records on their way from the scheduler to the HTTP process, where answers are made.

The HTTP process listens at a Unix datagram socket in the abstract namespace: a name without a file, which
is gone with its process, however that ends. It hands the name to the schedulers in their environment. A
scheduler notes how a record ended when SGLang says that its request is finished, before the answer leaves,
and a thread of its own counts and sends::

    scheduler, main thread   Ended ─► queue ─► thread: counts as JSON ─► socket
    HTTP process             socket ─► thread ─► board: request id ─► reports, until they are asked for

Waits have deadlines. Where a report is lost the answer says that it failed: without one nobody could tell
whether the masks were exact.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import socket
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from queue import Full, Queue

from factorspec_sdk.errors import FactorspecError, JsonValue
from factorspec_server.engines.precedence import go_last
from factorspec_server.http.error_body import error_body, status_of
from factorspec_server.sglang.record_metrics import RecordMetrics
from factorspec_server.sglang.records import Opened, counts_of, is_cut
from factorspec_server.sglang.session_grammar import Ended

ADDRESS_VARIABLE = "FACTORSPEC_REPORTS"
"""Of the environment: where reports are waited for; absent: nowhere."""

DEADLINE_S = 5.0
"""Longest wait for a report, and for room to send one, in seconds."""

_MAX_KEPT = 4096
_MAX_QUEUED = 4096
_DATAGRAM_BYTES = 1 << 18

Report = dict[str, JsonValue]

INTERNAL = ("certificates", "complete", "digest", "error", "tool_certificates")
"""What reports hold for the HTTP process alone."""

#: of a record whose keeper is gone
_UNCOUNTED: Report = {
    "exact": False, "near_limit": False, "tokens": 0, "certain": 0, "chosen": 0, "free": 0,
    "choice_points": 0, "complete": False,
}  # fmt: skip

_logger = logging.getLogger(__name__)


def report_of(opened: Opened, ended: Ended) -> Report:
    """What the scheduler knows of a record, by the names of ``http/report.py``; O(tokens).

    Beside them: ``digest`` of its text, ``certificates`` of the objective, whether it is ``complete``, and
    the ``error`` that it ended with. Where a record's keeper does not tell its counts, that is an error too.
    """
    grammar, error = ended.grammar, ended.error
    try:
        counted = counts_of(grammar.written(), origins=opened.options.origins)
        text = str(counted.pop("text"))
    except FactorspecError as lost:
        _logger.error("what a record counted is lost: %s", lost)
        counted, text, error = {**_UNCOUNTED, "tokens": grammar.session.num_tokens}, "", error or lost
    certain = int(str(counted["certain"]))
    by_token: Report = {
        "model_steps": counted["tokens"], "fill_steps": 0, "guessed": 0, "accepted": 0, "drafts": {},
        "tokens_run": counted["tokens"], "in_vain": 0, "widest": 1,
    }  # fmt: skip
    return {
        **counted,
        **(grammar.steps.report(certain) if grammar.steps.tokens_run else by_token),
        "prefill_s": round(grammar.prefill_s, 6),
        "decode_s": round(grammar.decode_s, 6),
        "compile_s": round(opened.compile_s, 6),
        "spec_cached": opened.was_cached,
        "certificates": [*opened.certificates],
        "tool_certificates": {name: [*each] for name, each in opened.tool_certificates.items()},
        "complete": grammar.is_terminated() and not is_cut(grammar.session),
        "digest": digest_of(text),
        "error": None if error is None else {"status": status_of(error), **error_body(error)},
    }


def digest_of(text: str) -> str:
    """By which the report of one of several records is told; white space around them does not count."""
    return sha256(text.strip().encode("utf-8", "replace")).hexdigest()


def is_begun(report: Report) -> bool:
    """False of what is no record: where several choices are asked for, SGLang sends a request ahead that has
    their prompt put into its cache, and ends it at the first token.
    """
    is_told = report.get("complete") or report.get("error") is not None
    return bool(is_told or int(str(report.get("tokens", 0))) > 1)


def _are_all(reports: Sequence[Report], count: int) -> bool:
    """Whether the reports of so many choices are there; of a single choice nothing is sent ahead."""
    return len([one for one in reports if count == 1 or is_begun(one)]) >= count


class ReportSender:
    """Counts records of a scheduler and sends reports, on a thread of its own. Calls return at once."""

    def __init__(self, address: str | None, metrics: RecordMetrics | None = None) -> None:
        """``address``: of the board; None: nobody waits for reports."""
        self._address = None if address is None else f"\0{address}"
        self._metrics = metrics
        self._queue: Queue[tuple[Opened, Ended]] = Queue(_MAX_QUEUED)
        threading.Thread(target=self._run, name="factorspec-reports", daemon=True).start()

    @classmethod
    def of_environment(cls, metrics: RecordMetrics | None = None) -> ReportSender | None:
        """The sender of this process; None if nobody waits for reports or counts records."""
        address = os.environ.get(ADDRESS_VARIABLE) or None
        return None if address is None and metrics is None else cls(address, metrics)

    def send(self, opened: Opened, ended: Ended) -> None:
        """Send the report of a record that nobody writes any more."""
        try:
            self._queue.put_nowait((opened, ended))
        except Full:
            ended.grammar.close()
            _logger.error("a report is lost: %d wait to be sent", _MAX_QUEUED)

    def _run(self) -> None:
        go_last()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending:
            sending.settimeout(DEADLINE_S)
            while True:
                opened, ended = self._queue.get()
                try:
                    report = report_of(opened, ended)
                    if self._metrics is not None and is_begun(report):
                        self._metrics.count(report)
                    if self._address is not None and ended.request_id is not None:
                        message = {"id": ended.request_id, "report": report}
                        sending.sendto(json.dumps(message).encode(), self._address)
                except OSError as error:
                    _logger.error("a report is lost: %s", error)
                except Exception:  # the thread must outlive whatever one record does
                    _logger.exception("a report is lost")
                finally:
                    ended.grammar.close()
                    del opened, ended  # or the record would stay until the next one ends


class ReportBoard:
    """Keeps reports until they are asked for. Methods may be called from any thread.

    Attributes:
        address: what ``ReportSender`` is made with.
    """

    def __init__(self) -> None:
        self.address = f"factorspec-{secrets.token_hex(16)}"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(f"\0{self.address}")
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, list[Report]] = OrderedDict()
        self._waiting: dict[str, tuple[int, Callable[[], object]]] = {}
        threading.Thread(target=self._run, name="factorspec-reports", daemon=True).start()

    async def take(self, request_id: str, count: int, *, deadline_s: float = DEADLINE_S) -> list[Report]:
        """The reports of a request; fewer than ``count`` if no more came within ``deadline_s`` seconds."""
        loop = asyncio.get_running_loop()
        all_here = asyncio.Event()
        with self._lock:
            if _are_all(self._kept.get(request_id, ()), count):
                return self._kept.pop(request_id)
            self._waiting[request_id] = (count, lambda: loop.call_soon_threadsafe(all_here.set))
        with suppress(TimeoutError):
            await asyncio.wait_for(all_here.wait(), deadline_s)
        with self._lock:
            self._waiting.pop(request_id, None)
            return self._kept.pop(request_id, [])

    def forget(self, request_id: str) -> None:
        """Drop what came for a request that nobody waits for any more."""
        with self._lock:
            self._kept.pop(request_id, None)

    def close(self) -> None:
        """Stop listening."""
        self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread
        self._socket.close()

    def _run(self) -> None:
        while True:
            try:
                data = self._socket.recv(_DATAGRAM_BYTES)
            except OSError:
                return
            if not data:
                return  # closed
            try:
                message = json.loads(data)
                self._note(message["id"], message["report"])
            except (ValueError, KeyError, TypeError) as error:
                _logger.error("a report cannot be read: %s", error)

    def _note(self, request_id: str, report: Report) -> None:
        with self._lock:
            reports = self._kept.setdefault(request_id, [])
            reports.append(report)
            while len(self._kept) > _MAX_KEPT:
                self._kept.popitem(last=False)
            count, tell = self._waiting.get(request_id, (0, None))
        if tell is not None and _are_all(reports, count):
            tell()
