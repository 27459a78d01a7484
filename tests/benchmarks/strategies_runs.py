"""One strategy on many problems, through the client, with what it took."""

import json
import sys
import threading
from collections import Counter
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter, thread_time
from typing import Any, Literal, get_args

from factorspec_sdk.client import Client, Result, Transport
from factorspec_sdk.client.transport import JsonObject
from factorspec_sdk.errors import FactorspecError
from tests.benchmarks.natural_plan_cases import Case

Measured = Literal["constrained", "retry", "repair"]
STRATEGIES: tuple[Measured, ...] = get_args(Measured)
PromptForm = Literal["rules", "form", "none"]
PROMPTING: tuple[PromptForm, ...] = get_args(PromptForm)

Facts = dict[str, Any]


@dataclass(frozen=True)
class Limits:
    """Of ``retry`` and ``repair``: most answers of a record, and tokens of an answer. Requests at a time."""

    max_answers: int
    max_tokens: int
    concurrency: int


@dataclass(frozen=True)
class Answered:
    """What an answer was, and the seconds that it took."""

    body: JsonObject
    time_s: float


class Remembering:
    """A transport that sends equal requests once.

    Greedy answers to equal requests are equal, so that ``repair`` begins with what ``retry`` began with. The
    seconds of an answer count for each of them.
    """

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self._answers: dict[str, Answered] = {}
        self._mine = threading.local()

    def complete(self, body: JsonObject, *, timeout_s: float) -> JsonObject:
        key = json.dumps(body, sort_keys=True)
        known = self._answers.get(key)
        if known is None:
            started = perf_counter()
            known = Answered(self._inner.complete(body, timeout_s=timeout_s), perf_counter() - started)
            self._answers[key] = known
        self._mine.time_s = self.taken_s() + known.time_s
        return known.body

    def taken_s(self) -> float:
        """Seconds of the answers that this thread was given."""
        found = getattr(self._mine, "time_s", 0.0)
        assert isinstance(found, float)
        return found

    def stream(self, body: JsonObject, *, timeout_s: float) -> Generator[JsonObject]:
        return self._inner.stream(body, timeout_s=timeout_s)

    def model_name(self, *, timeout_s: float) -> str:
        return self._inner.model_name(timeout_s=timeout_s)

    def close(self) -> None:
        self._inner.close()


@dataclass(frozen=True)
class Outcome:
    """What came of one problem.

    valid: by the independent checker. reason: why not.
    changed, kept: fields of the answer that ``repair`` changed, and left as they were.
    """

    valid: bool
    reason: str
    calls: int
    prompt_tokens: int
    tokens: int
    changed: int
    kept: int
    answer_s: float
    client_cpu_s: float


class Bench:
    """Asks one server for records."""

    def __init__(self, transport: Transport, limits: Limits, prompting: PromptForm) -> None:
        self._transport = Remembering(transport)
        self._limits = limits
        self._prompting = prompting

    def run(self, strategy: Measured, cases: Sequence[Case]) -> Facts:
        """The sums over all problems; each is told on standard error as it ends."""
        client = Client(engine=self._transport, timeout_s=3600)
        assert client.model, "looked up before the clocks run"
        started = perf_counter()
        with ThreadPoolExecutor(self._limits.concurrency) as pool:
            outcomes = list(pool.map(lambda case: self._outcome(client, strategy, case), cases))
        return _facts(strategy, outcomes, perf_counter() - started)

    def _outcome(self, client: Client, strategy: Measured, case: Case) -> Outcome:
        cpu_s, answer_s = thread_time(), self._transport.taken_s()
        result: Result[Any] | FactorspecError
        try:
            if strategy == "constrained":
                result = client.generate(case.record, case.messages, strategy="constrained")
            else:
                result = client.generate(
                    case.record,
                    case.messages,
                    strategy=strategy,
                    prompting=self._prompting,
                    max_answers=self._limits.max_answers,
                    max_tokens=self._limits.max_tokens,
                )
        except FactorspecError as error:
            result = error
        times = self._transport.taken_s() - answer_s, thread_time() - cpu_s
        outcome = _outcome(case, result, *times)
        print(f"{case.identifier} {strategy}: {outcome}", file=sys.stderr, flush=True)
        return outcome


def _outcome(
    case: Case, result: Result[Any] | FactorspecError, answer_s: float, client_cpu_s: float
) -> Outcome:
    usages = [one.usage for one in result.attempts if one.usage is not None]
    changed, kept = 0, 0
    if isinstance(result, FactorspecError):
        problems: tuple[str, ...] = (result.code,)
    else:
        problems = case.judged(result.text).problems
        changed = len(result.changes)
        kept = _fields(json.loads(result.text)) - sum(change.after is not None for change in result.changes)
    return Outcome(
        valid=not problems,
        reason="".join(problems[:1]),
        calls=len(result.attempts),
        prompt_tokens=sum(usage.prompt_tokens for usage in usages),
        tokens=sum(usage.completion_tokens for usage in usages),
        changed=changed,
        kept=kept,
        answer_s=answer_s,
        client_cpu_s=client_cpu_s,
    )


def _fields(value: object) -> int:
    if isinstance(value, dict | list):
        return sum(map(_fields, value.values() if isinstance(value, dict) else value))
    return 1


def _facts(strategy: Measured, outcomes: Sequence[Outcome], wall_s: float) -> Facts:
    valid = [outcome for outcome in outcomes if outcome.valid]
    is_repair = strategy == "repair"
    return {
        "strategy": strategy,
        "records": len(outcomes),
        "valid": len(valid),
        "calls": sum(outcome.calls for outcome in outcomes),
        "prompt_tokens": sum(outcome.prompt_tokens for outcome in outcomes),
        "tokens": sum(outcome.tokens for outcome in outcomes),
        "changed": sum(outcome.changed for outcome in valid) if is_repair else None,
        "kept": sum(outcome.kept for outcome in valid) if is_repair else None,
        "answer_s": round(sum(outcome.answer_s for outcome in outcomes), 1),
        "client_cpu_s": round(sum(outcome.client_cpu_s for outcome in outcomes), 2),
        "wall_s": round(wall_s, 1),
        "reasons": dict(Counter(outcome.reason for outcome in outcomes if not outcome.valid)),
    }
