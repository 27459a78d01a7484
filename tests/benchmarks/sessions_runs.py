"""128 sessions at a time of one workload: CPU time, and what one session holds."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Sequence
from random import Random
from time import process_time_ns

import numpy as np

from factorspec_sdk.decoding import Decoder, Session, fill_rows
from factorspec_sdk.graph.collector import collector_paused
from factorspec_sdk.tokens import Allowed, Canonical, Vocabulary
from tests.benchmarks.masks_workload import Task, compiled

Facts = dict[str, object]
#: of the tokens of a text so many close it, where they may
_CLOSING = 0.08
_WEIGHED_SPECS = 4
_WEIGHED_RECORDS = 3


class RandomModel:
    """Draws among the allowed tokens; texts end after about a dozen tokens."""

    def __init__(self, vocabulary: Vocabulary, seed: int) -> None:
        self._random = Random(seed)
        self._closers = [i for i in vocabulary.text_ids if vocabulary.token_bytes(i)[:1] == b'"']

    def choose(self, allowed: Allowed) -> int:
        """One of the tokens."""
        if allowed.count > 1_000 and self._random.random() < _CLOSING:
            closing = [token for token in self._closers if token in allowed]
            if closing:
                return self._random.choice(closing)
        ids = allowed.ids()
        return int(ids[self._random.randrange(len(ids))])


class Batch:
    """Sessions that are replaced by new ones when their records are complete."""

    def __init__(self, decoders: Sequence[Decoder], size: int) -> None:
        self._decoders = decoders
        self._started = 0
        self._vocabulary = decoders[0].vocabulary
        self._sessions = [self._new() for _ in range(size)]
        self._rows = np.zeros((size, self._vocabulary.row_words), dtype=np.int32)
        self._holds: list[Allowed] | None = None
        self._model = RandomModel(self._vocabulary, 0)
        self.cpu_ns = 0
        self.step_ns: list[int] = []
        self.num_tokens = 0
        self.num_records = 0

    def step(self) -> None:
        """One step of every session. The model's own time does not count."""
        before = process_time_ns()
        for at, session in enumerate(self._sessions):
            session.commit(session.plan().tokens)
            if session.state == "complete":
                self._sessions[at] = self._next(session)
        self._holds = fill_rows(self._sessions, self._rows, self._holds)
        middle = process_time_ns()
        chosen = [(self._model.choose(allowed),) if allowed.count else () for allowed in self._holds]
        after = process_time_ns()
        for session, tokens in zip(self._sessions, chosen, strict=True):
            session.commit(tokens)
        self.step_ns.append(process_time_ns() - after + middle - before)
        self.cpu_ns += self.step_ns[-1]

    def count(self) -> int:
        """All tokens written so far."""
        return self.num_tokens + sum(session.num_tokens for session in self._sessions)

    def _next(self, session: Session) -> Session:
        """A new session at its first choice; of a spec with one record it is complete at once."""
        self.num_tokens += session.num_tokens
        self.num_records += 1
        session = self._new()
        session.commit(session.plan().tokens)
        return session

    def _new(self) -> Session:
        self._started += 1
        return self._decoders[self._started % len(self._decoders)].session()


def decoder_of(task: Task, canonical: Canonical, max_run_bytes: int = 1 << 20) -> Decoder:
    """The task's decoder, new."""
    with collector_paused():
        spec = compiled(task)
        return Decoder(
            spec.program,
            spec.feasibility,
            canonical.vocabulary,
            canonical=canonical,
            max_run_bytes=max_run_bytes,
        )


def measured(
    name: str, tasks: Sequence[Task], canonical: Canonical, num_sessions: int, num_steps: int
) -> Facts:
    """The figures of one workload; ``again``: of specs whose records have been written before."""
    decoders = [decoder_of(task, canonical) for task in tasks]
    facts: Facts = {"workload": name, "specs": len(decoders), "sessions": num_sessions, "steps": num_steps}
    gc.collect()
    gc.freeze()
    for kind in ("", "_again"):
        batch = Batch(decoders, num_sessions)
        for _ in range(num_steps):
            batch.step()
        num_tokens = batch.count()
        facts |= {
            f"token{kind}_us": round(batch.cpu_ns / num_tokens / 1e3, 2),
            f"request_step{kind}_us": round(batch.cpu_ns / num_steps / num_sessions / 1e3, 2),
            f"batch_step{kind}_p99_us": round(sorted(batch.step_ns)[-1 - num_steps // 100] / 1e3),
            f"tokens{kind}": num_tokens,
            f"records{kind}": batch.num_records,
        }
    gc.unfreeze()
    weighed = tasks[:: max(1, len(tasks) // _WEIGHED_SPECS)]
    facts["session_bytes"] = max(_session_bytes(task, canonical) for task in weighed)
    facts["run_bytes"] = max(decoder.runs.num_bytes for decoder in decoders)
    return facts


def _session_bytes(task: Task, canonical: Canonical) -> int:
    """What a session holds at its largest, if no other session shares any of it.

    The record has been written before, so that what is made once for all sessions is there already; but no
    runs are remembered, so that all of the session's are its own.
    """
    decoder, model = decoder_of(task, canonical, 0), RandomModel(canonical.vocabulary, 1)
    return max(_peak(decoder, _record(decoder, model)) for _ in range(_WEIGHED_RECORDS))


def _record(decoder: Decoder, model: RandomModel) -> tuple[int, ...]:
    session = decoder.session()
    while session.state == "open":
        session.commit(session.plan().tokens)
        if session.state == "open":
            session.commit((model.choose(session.allowed()),))
    return session.tokens


def _peak(decoder: Decoder, tokens: tuple[int, ...]) -> int:
    row = np.zeros(decoder.vocabulary.row_words, dtype=np.int32)
    gc.collect()
    tracemalloc.start()
    before, most = tracemalloc.get_traced_memory()[0], 0
    session, holds, at = decoder.session(), None, 0
    while at < len(tokens):
        at += session.commit(session.plan().tokens)
        holds = session.fill_row(row, holds)
        most = max(most, tracemalloc.get_traced_memory()[0] - before)
        at += session.commit(tokens[at : at + 1])
    tracemalloc.stop()
    return most
