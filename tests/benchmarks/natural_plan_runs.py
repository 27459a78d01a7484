"""Decoding the problems: with a model without opinions, or with SmolLM2 under none, syntax and factorspec."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.progress import track

from factorspec_sdk.tokens import Canonical, Vocabulary
from factorspec_server.drafting import Session
from factorspec_server.engines import Model, Request, Sampling, generate_batch, load_model
from factorspec_server.engines.requests import Completion
from factorspec_server.engines.smollm2 import smollm2_dir
from factorspec_server.engines.syntax import SyntaxCompiler
from factorspec_server.housekeeping import Housekeeping
from factorspec_server.http.compiled_spec import Compiler
from factorspec_server.http.served_model import ServedModel
from tests.benchmarks.natural_plan_cases import RANDOM_TOKEN_LIMIT, Case
from tests.benchmarks.natural_plan_model import UniformModel
from tests.benchmarks.natural_plan_summary import Facts, Outcome, summarise
from tests.benchmarks.openings import time_openings

DECODERS = ("none", "syntax", "factorspec")


def random_runs(cases: Sequence[Case], seed: int) -> list[Facts]:
    """One run: uniform draws among the allowed tokens of SmolLM2's vocabulary."""
    vocabulary = Vocabulary.from_file(str(smollm2_dir() / "tokenizer.json"))
    bench = Bench(UniformModel(vocabulary), Canonical(vocabulary), Housekeeping())
    outcomes = [
        bench.factorspec(case, (0,), Sampling(temperature=1.0, seed=seed + number), RANDOM_TOKEN_LIMIT)
        for number, case in enumerate(cases)
    ]
    return [summarise("factorspec", outcomes)]


def smollm2_runs(cases: Sequence[Case], seed: int, decoders: Sequence[str] = DECODERS) -> list[Facts]:
    """A run for each decoder over the same problems on the same engine, greedy; rich shows the progress."""
    model, greedy = load_model("smollm2"), Sampling(seed=seed)
    served = ServedModel.of(model)
    bench = Bench(model, served.canonical, Housekeeping())
    syntax = SyntaxCompiler(served.canonical.vocabulary)
    outcomes: dict[str, list[Outcome]] = {decoder: [] for decoder in decoders}
    for case in track(cases, "problems", console=Console(stderr=True)):
        prompt = served.template.encode_chat(case.messages)
        schema = _without_vendor_key(case.document)
        runs: dict[str, Callable[[], Outcome]] = {
            "none": partial(bench.plain, case, prompt, greedy, lambda: None),
            "syntax": partial(bench.plain, case, prompt, greedy, partial(syntax.session, schema)),
            "factorspec": partial(bench.factorspec, case, prompt, greedy, case.token_limit),
        }
        for decoder in decoders:
            outcomes[decoder].append(runs[decoder]())
    return [summarise(decoder, found) for decoder, found in outcomes.items()]


@dataclass(frozen=True)
class Bench:
    """What all requests of a run share."""

    model: Model
    canonical: Canonical
    housekeeping: Housekeeping

    def factorspec(
        self, case: Case, prompt: tuple[int, ...], sampling: Sampling, token_limit: int
    ) -> Outcome:
        """Compile the document and decode under it."""
        vocabulary = self.canonical.vocabulary
        compiler = Compiler(self.canonical, max_entries=1, max_bytes=1 << 30, housekeeping=self.housekeeping)
        started = perf_counter()
        decoder = compiler.compile(case.document)[0].decoder
        compiled_s = perf_counter() - started
        open_s = time_openings(decoder)
        session = decoder.session(token_limit)
        completion = self._run(prompt, sampling, session, token_limit)
        wall_s = perf_counter() - started
        return Outcome(
            judgement=case.judged(session.text),
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
        completion = self._run(prompt, sampling, session, case.token_limit)
        wall_s = perf_counter() - started
        judgement = case.judged(completion.text if session is None else session.text)
        return Outcome(judgement, case.unique, completion.usage, wall_s)

    def _run(
        self, prompt: tuple[int, ...], sampling: Sampling, session: Session | None, token_limit: int
    ) -> Completion:
        request = Request(prompt_ids=prompt, token_limit=token_limit, session=session, sampling=sampling)
        (completion,) = generate_batch(self.model, [request])
        if completion.error is not None:
            raise completion.error
        return completion


def _without_vendor_key(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: _without_vendor_key(part) for key, part in schema.items() if key != "x-factorspec"}
    return [_without_vendor_key(part) for part in schema] if isinstance(schema, list) else schema
