"""Decoding the problems: with a model without opinions, or with SmolLM2 under none, syntax and factorspec."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.progress import track

import factorspec_sdk as fs
from examples.trip_planner.models import Variant, itinerary, messages
from factorspec_sdk.errors import JsonValue
from factorspec_sdk.tokens import Canonical, Vocabulary
from factorspec_server.drafting import Session
from factorspec_server.engines import Model, Request, Sampling, generate_batch, load_model
from factorspec_server.engines.requests import Completion
from factorspec_server.engines.smollm2 import smollm2_dir
from factorspec_server.engines.syntax import SyntaxCompiler
from factorspec_server.housekeeping import Housekeeping
from factorspec_server.http.compiled_spec import Compiler
from factorspec_server.http.served_model import ServedModel
from tests.benchmarks.natural_plan_cases import Case
from tests.benchmarks.natural_plan_check import Record, official_check, violations
from tests.benchmarks.natural_plan_model import UniformModel
from tests.benchmarks.natural_plan_summary import Facts, Outcome, summarise
from tests.benchmarks.openings import time_openings

# Random notes take a token for nearly every character; SmolLM2 would ramble on without a limit.
RANDOM_TOKEN_LIMIT = 1536
TOKEN_LIMITS: dict[Variant, int] = {"strict": 384, "loose": 384, "open": 640}

DECODERS = ("none", "syntax", "factorspec")

Judge = Callable[[Case, str], tuple[list[str], bool]]


def random_runs(cases: Sequence[Case], variant: Variant, folder: Path, seed: int) -> list[Facts]:
    """One run: uniform draws among the allowed tokens of SmolLM2's vocabulary."""
    vocabulary = Vocabulary.from_file(str(smollm2_dir() / "tokenizer.json"))
    documents = [fs.document(itinerary(case.problem, variant)) for case in cases]  # as they reach a server
    bench = Bench(
        variant,
        UniformModel(vocabulary),
        Canonical(vocabulary),
        judge_of(variant, folder),
        RANDOM_TOKEN_LIMIT,
        Housekeeping(),
    )
    outcomes = [
        bench.factorspec(case, document, (0,), Sampling(temperature=1.0, seed=seed + number))
        for number, (case, document) in enumerate(zip(cases, documents, strict=True))
    ]
    return [summarise("factorspec", outcomes)]


def smollm2_runs(
    cases: Sequence[Case], variant: Variant, folder: Path, seed: int, decoders: Sequence[str] = DECODERS
) -> list[Facts]:
    """A run for each decoder over the same problems on the same engine, greedy; rich shows the progress."""
    model, greedy = load_model("smollm2"), Sampling(seed=seed)
    served = ServedModel.of(model)
    bench = Bench(
        variant, model, served.canonical, judge_of(variant, folder), TOKEN_LIMITS[variant], Housekeeping()
    )
    syntax = SyntaxCompiler(served.canonical.vocabulary)
    outcomes: dict[str, list[Outcome]] = {decoder: [] for decoder in decoders}
    for case in track(cases, "problems", console=Console(stderr=True)):
        prompt = served.template.encode_chat(messages(case.problem, variant))
        document = fs.document(itinerary(case.problem, variant))
        schema = _without_vendor_key(document)
        runs: dict[str, Callable[[], Outcome]] = {
            "none": partial(bench.plain, case, prompt, greedy, lambda: None),
            "syntax": partial(bench.plain, case, prompt, greedy, partial(syntax.session, schema)),
            "factorspec": partial(bench.factorspec, case, document, prompt, greedy),
        }
        for decoder in decoders:
            outcomes[decoder].append(runs[decoder]())
    return [summarise(decoder, found) for decoder, found in outcomes.items()]


@dataclass(frozen=True)
class Bench:
    """What all requests of a run share."""

    variant: Variant
    model: Model
    canonical: Canonical
    judge: Judge
    token_limit: int
    housekeeping: Housekeeping

    def factorspec(
        self, case: Case, document: dict[str, JsonValue], prompt: tuple[int, ...], sampling: Sampling
    ) -> Outcome:
        """Compile the document and decode under it."""
        vocabulary = self.canonical.vocabulary
        compiler = Compiler(self.canonical, max_entries=1, max_bytes=1 << 30, housekeeping=self.housekeeping)
        started = perf_counter()
        decoder = compiler.compile(document)[0].decoder
        compiled_s = perf_counter() - started
        open_s = time_openings(decoder)
        session = decoder.session(self.token_limit)
        completion = self._run(prompt, sampling, session)
        wall_s = perf_counter() - started
        problems, matches_gold = self.judge(case, session.text)
        return Outcome(
            problems=tuple(problems),
            matches_gold=matches_gold,
            unique=case.unique,
            usage=completion.usage,
            wall_s=wall_s,
            canonical=None if session.report.free else session.tokens == vocabulary.encode(session.text),
            compile_s=compiled_s,
            open_s=open_s,
        )

    def plain(
        self, case: Case, prompt: tuple[int, ...], sampling: Sampling, open_session: Callable[[], Any]
    ) -> Outcome:
        """Decode under the session that ``open_session`` makes, None for no constraint."""
        started = perf_counter()
        session = open_session()
        completion = self._run(prompt, sampling, session)
        wall_s = perf_counter() - started
        problems, matches_gold = self.judge(case, completion.text if session is None else session.text)
        return Outcome(tuple(problems), matches_gold, case.unique, completion.usage, wall_s)

    def _run(self, prompt: tuple[int, ...], sampling: Sampling, session: Session | None) -> Completion:
        request = Request(prompt_ids=prompt, token_limit=self.token_limit, session=session, sampling=sampling)
        (completion,) = generate_batch(self.model, [request])
        if completion.error is not None:
            raise completion.error
        return completion


def judge_of(variant: Variant, folder: Path) -> Judge:
    """What is wrong with a record, and whether its cities stand in the gold order."""
    official = official_check(folder) if variant == "strict" else None

    def judge(case: Case, text: str) -> tuple[list[str], bool]:
        record = _parsed(text)
        if record is None:
            return [f"{case.identifier}: not an itinerary: {text[:60]!r}"], False
        found = violations(case.raw, record, variant)
        if official is not None and not found:
            plan = [(stop["city"], stop["leave"] - stop["arrive"] + 1) for stop in record["stops"]]
            found = official(case.raw, plan)
        cities = tuple(stop["city"] for stop in record["stops"])
        return [f"{case.identifier}: {violation}" for violation in found], cities == case.gold

    return judge


def _parsed(text: str) -> Record | None:
    """The record, or None if the text is not one of the right shape."""
    try:
        record: Record = json.loads(text)
        kinds = {"city": str, "arrive": int, "leave": int}
        shaped = all(isinstance(stop[key], kind) for stop in record["stops"] for key, kind in kinds.items())
    except (ValueError, KeyError, TypeError):
        return None
    return record if shaped else None


def _without_vendor_key(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: _without_vendor_key(part) for key, part in schema.items() if key != "x-factorspec"}
    return [_without_vendor_key(part) for part in schema] if isinstance(schema, list) else schema
