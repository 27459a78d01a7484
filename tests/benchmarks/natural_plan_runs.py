"""Decoding the problems: with a model without opinions, or with SmolLM2 under none, syntax and factorspec."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.progress import track

from factorspec_sdk.tokens import Canonical, Vocabulary
from factorspec_server.drafting import Certain, DraftingPolicy, Session
from factorspec_server.engines import Model, Request, Sampling, generate_batch, load_model
from factorspec_server.engines.requests import Completion
from factorspec_server.engines.runner import Runner
from factorspec_server.engines.smollm2 import smollm2_dir
from factorspec_server.engines.syntax import SyntaxCompiler
from factorspec_server.housekeeping import Housekeeping
from factorspec_server.http.compiled_spec import Compiler
from factorspec_server.http.served_model import ServedModel
from factorspec_server.settings import DraftingName
from tests.benchmarks.natural_plan_cases import RANDOM_TOKEN_LIMIT, Case
from tests.benchmarks.natural_plan_model import UniformModel
from tests.benchmarks.natural_plan_summary import Facts, Outcome, summarise
from tests.benchmarks.openings import time_openings

DECODERS = ("none", "syntax", "factorspec")
DRAFTING: tuple[DraftingName, ...] = ("auto", "off", "certain", "chain", "branches", "text", "tree")


def random_runs(cases: Sequence[Case], seed: int) -> list[Facts]:
    """One run: uniform draws among the allowed tokens of SmolLM2's vocabulary."""
    vocabulary = Vocabulary.from_file(str(smollm2_dir() / "tokenizer.json"))
    bench = Bench(UniformModel(vocabulary), Canonical(vocabulary), Housekeeping())
    outcomes = [
        bench.factorspec(case, (0,), Sampling(temperature=1.0, seed=seed + number), RANDOM_TOKEN_LIMIT)
        for number, case in enumerate(cases)
    ]
    return [summarise("factorspec", outcomes)]


def smollm2_runs(
    cases: Sequence[Case], seed: int, decoders: Sequence[str], drafting: Sequence[DraftingName]
) -> list[Facts]:
    """A run for each decoder over the same problems on the same engine, greedy; rich shows the progress.

    Of ``factorspec`` there is a run for each way of drafting. Where there are several, prompts are read
    before the runs, and no run's times hold them.
    """
    model, greedy = load_model("smollm2"), Sampling(seed=seed)
    served = ServedModel.of(model)
    runner = Runner(model) if len(drafting) > 1 else None
    bench = Bench(model, served.canonical, Housekeeping(), runner)
    syntax = SyntaxCompiler(served.canonical.vocabulary)
    outcomes: dict[tuple[str, DraftingName | None], list[Outcome]] = defaultdict(list)
    for case in track(cases, "problems", console=Console(stderr=True)):
        prompt = served.template.encode_chat(case.messages)
        schema = _without_vendor_key(case.document)
        opens: dict[str, Callable[[], Any]] = {
            "none": lambda: None,
            "syntax": partial(syntax.session, schema),
        }
        if runner is not None:  # so that no run pays for the prompt that the others take over
            bench.plain(replace(case, token_limit=1), prompt, greedy, lambda: None)
        for decoder in decoders:
            if decoder in opens:
                outcomes[decoder, None].append(bench.plain(case, prompt, greedy, opens[decoder]))
                continue
            for name in drafting:
                policy = served.drafting(name, prompt)
                found = bench.factorspec(case, prompt, greedy, case.token_limit, policy)
                outcomes[decoder, name].append(found)
    return [summarise(decoder, found, name) for (decoder, name), found in outcomes.items()]


@dataclass(frozen=True)
class Bench:
    """What all requests of a run share; with a ``runner`` they read equal prompts once."""

    model: Model
    canonical: Canonical
    housekeeping: Housekeeping
    runner: Runner | None = None

    def factorspec(
        self,
        case: Case,
        prompt: tuple[int, ...],
        sampling: Sampling,
        token_limit: int,
        drafting: DraftingPolicy | None = None,
    ) -> Outcome:
        """Compile the document and decode under it."""
        vocabulary = self.canonical.vocabulary
        compiler = Compiler(self.canonical, max_entries=1, max_bytes=1 << 30, housekeeping=self.housekeeping)
        started = perf_counter()
        decoder = compiler.compile(case.document)[0].decoder
        compiled_s = perf_counter() - started
        open_s = time_openings(decoder)
        session = decoder.session(token_limit)
        completion = self._run(prompt, sampling, session, token_limit, drafting)
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
        self,
        prompt: tuple[int, ...],
        sampling: Sampling,
        session: Session | None,
        token_limit: int,
        drafting: DraftingPolicy | None = None,
    ) -> Completion:
        request = Request(
            prompt_ids=prompt,
            token_limit=token_limit,
            session=session,
            sampling=sampling,
            drafting=drafting or Certain(),
        )
        runner = self.runner
        if runner is None:
            (completion,) = generate_batch(self.model, [request])
        else:
            row = runner.admit(request)
            while runner.num_rows:
                runner.step()
            assert row.completion is not None
            completion = row.completion
        if completion.error is not None:
            raise completion.error
        return completion


def _without_vendor_key(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: _without_vendor_key(part) for key, part in schema.items() if key != "x-factorspec"}
    return [_without_vendor_key(part) for part in schema] if isinstance(schema, list) else schema
