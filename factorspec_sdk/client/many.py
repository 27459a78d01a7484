"""Many records: a bounded number at a time, in order, failures aside, kept in a file as they come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from threading import Event
from types import UnionType
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from factorspec_sdk.client.asking import ask, ask_async
from factorspec_sdk.client.exchange import Exchange, Message, Options
from factorspec_sdk.client.kept import KeptResults
from factorspec_sdk.client.patience import (
    PATIENCE_S,
    AsyncSend,
    Patience,
    Send,
    patiently,
    patiently_async,
)
from factorspec_sdk.client.progress import OnEnd, progress_bar
from factorspec_sdk.client.result import Result
from factorspec_sdk.client.strategies import steps_of
from factorspec_sdk.errors import Attempt, DeclarationError, FactorspecError, Problem, shown
from factorspec_sdk.records import spec as spec_of
from factorspec_sdk.wire import Spec

T = TypeVar("T", bound=BaseModel)
Prompt = str | Sequence[Message]

CONCURRENCY = 8

_NOTHING = "nothing can be asked for"


@dataclass(frozen=True, slots=True)
class Failure:
    """A record of many that there is not.

    Attributes:
        index: of its prompt.
        error: why.
    """

    index: int
    error: FactorspecError

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """The answers that came before it was given up."""
        return self.error.attempts


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How many records are asked for.

    Attributes:
        concurrency: most requests at a time.
        resume: file that keeps results, and holds those of earlier runs; None keeps none.
        progress: show a progress bar.
        patience_s: longest time in which nothing comes through before requests fail, in seconds.
    """

    concurrency: int = CONCURRENCY
    resume: str | PathLike[str] | None = None
    progress: bool = False
    patience_s: float = PATIENCE_S

    def __post_init__(self) -> None:
        rules: dict[str, tuple[type | UnionType, Callable[[Any], bool], str]] = {
            "concurrency": (int, lambda value: value >= 1, "must be at least 1"),
            "patience_s": (int | float, lambda value: value >= 0, "must be a number of seconds from 0 on"),
            "resume": (str | PathLike | None, lambda _: True, "must be the path of a file, or None"),
            "progress": (bool, lambda _: True, "must be True or False"),
        }
        given = {name: getattr(self, name) for name in rules}
        problems = [
            Problem(name, rule, shown(given[name]))
            for name, (kind, is_good, rule) in rules.items()
            if not isinstance(given[name], kind) or not is_good(given[name])
        ]
        if problems:
            raise DeclarationError(_NOTHING, problems)


def exchanges_of(
    record: type[T] | Sequence[type[T]], prompts: Sequence[Prompt], options: Options
) -> list[Exchange[T]]:
    """One exchange a prompt. A seed counts up, so that equal prompts do not give equal records.

    Raises:
        DeclarationError: a model or a prompt cannot be sent, or there is not one model a prompt.
    """
    _check_listed(record, prompts)
    models = [record] * len(prompts) if isinstance(record, type) else list(record)
    if len(models) != len(prompts):
        problem = Problem(
            "", f"{len(models)} models for {len(prompts)} prompts", hint="give one each, or one"
        )
        raise DeclarationError("models and prompts do not match", [problem])
    specs: dict[type[T], Spec] = {model: spec_of(model) for model in dict.fromkeys(models)}
    seeded = (
        options if options.seed is None else replace(options, seed=options.seed + at)
        for at in range(len(prompts))
    )
    return [
        _exchange(at, model, prompt, how, specs[model])
        for at, (model, prompt, how) in enumerate(zip(models, prompts, seeded, strict=True))
    ]


def _exchange(at: int, model: type[T], prompt: Prompt, options: Options, spec: Spec) -> Exchange[T]:
    try:
        return Exchange.of(model, prompt, options, spec=spec)
    except DeclarationError as error:
        problems = [replace(problem, place=f"prompts[{at}].{problem.place}") for problem in error.problems]
        raise DeclarationError(_NOTHING, problems) from error


def _check_listed(record: object, prompts: object) -> None:
    """A text is no list of prompts: each of its letters would be one."""
    problems = []
    if isinstance(prompts, str | bytes) or not isinstance(prompts, Sequence):
        problems.append(Problem("prompts", "are no list", shown(prompts), "give prompts in a list"))
    if not isinstance(record, type) and (isinstance(record, str) or not isinstance(record, Sequence)):
        problems.append(Problem("record", "is no model", shown(record), "give a model, or one a prompt"))
    if problems:
        raise DeclarationError(_NOTHING, problems)
    for model in record if isinstance(record, Sequence) else ():
        if not isinstance(model, type):
            spec_of(model)  # raises, and names it


class _Batch(Generic[T]):
    """The state of one run: what is left to do, and what came of the rest."""

    def __init__(self, exchanges: Sequence[Exchange[T]], kept: KeptResults | None) -> None:
        self.exchanges = exchanges
        self._kept = kept
        self.results: list[Result[T] | Failure | None]
        self.results = [None] * len(exchanges) if kept is None else [*kept.found(exchanges)]
        self.left = [at for at, result in enumerate(self.results) if result is None]

    def end(self, index: int, outcome: Result[T] | FactorspecError) -> bool:
        """Take what came of one request, and say whether it failed."""
        if isinstance(outcome, FactorspecError):
            self.results[index] = Failure(index, outcome)
            return True
        if self._kept is not None:
            self._kept.add(index, self.exchanges[index], outcome)
        self.results[index] = outcome
        return False

    def all(self) -> list[Result[T] | Failure]:
        """What came of all of them, in order."""
        return [result for result in self.results if result is not None]


@contextmanager
def _batch(exchanges: Sequence[Exchange[T]], run: Run) -> Iterator[tuple[_Batch[T], OnEnd]]:
    opened = nullcontext(None) if run.resume is None else KeptResults(Path(run.resume))
    with opened as kept:
        batch = _Batch(exchanges, kept)
        total = len(exchanges)
        with progress_bar(total, total - len(batch.left), show=run.progress) as tell:
            yield batch, tell


def run_many(exchanges: Sequence[Exchange[T]], run: Run, send: Send) -> list[Result[T] | Failure]:
    """Results and failures in order.

    An interrupt (Ctrl-C) asks for nothing more; requests under way are finished and kept, then it is raised.
    """
    with _batch(exchanges, run) as (batch, tell):
        left, stopped = iter(batch.left), Event()
        send_again = patiently(send, Patience(run.patience_s), stopped)

        def work() -> None:
            # the iterator of a list is safe to share: taking the next is one operation
            for index in left:
                if stopped.is_set():
                    return
                outcome: Result[T] | FactorspecError
                try:
                    outcome = ask(steps_of(batch.exchanges[index]), send_again)
                except FactorspecError as error:
                    outcome = error
                tell(batch.end(index, outcome))

        with ThreadPoolExecutor(run.concurrency, thread_name_prefix="factorspec-many") as pool:
            try:
                workers = [pool.submit(work) for _ in range(min(run.concurrency, len(batch.left)))]
                _raise_first(wait(workers, return_when=FIRST_EXCEPTION).done)
            finally:
                stopped.set()
        return batch.all()


def _raise_first(done: set[Future[None]]) -> None:
    for future in done:
        future.result()


async def run_many_async(
    exchanges: Sequence[Exchange[T]], run: Run, send: AsyncSend
) -> list[Result[T] | Failure]:
    """``run_many`` for asyncio. Cancelling drops the requests under way; what is done is kept."""
    with _batch(exchanges, run) as (batch, tell):
        left = iter(batch.left)
        send_again = patiently_async(send, Patience(run.patience_s))

        async def work() -> None:
            for index in left:
                outcome: Result[T] | FactorspecError
                try:
                    outcome = await ask_async(steps_of(batch.exchanges[index]), send_again)
                except FactorspecError as error:
                    outcome = error
                tell(batch.end(index, outcome))

        tasks = [asyncio.ensure_future(work()) for _ in range(min(run.concurrency, len(batch.left)))]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return batch.all()
