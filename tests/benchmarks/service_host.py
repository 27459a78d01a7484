"""What a step costs SGLang's thread with the constraint service, without SGLang and a device.

    python -m tests.benchmarks.service_host --data DIR --bfcl DIR [--kind notes] [--in-flight 128]

Requests are written along their gold records, all at once, a step after the other, by what the worker of
``sglang/worker.py`` runs on the host: accept tokens, ask early, make chains, fill the block, fill rows. Gold
tokens stand in for what a model draws. Figures are the thread's processor time a request and step.
"""

from __future__ import annotations

import argparse
import gc
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import sleep, thread_time
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Vocabulary
from factorspec_server.constraint_service import ConstraintService, DraftingSpec, ServiceOptions
from factorspec_server.drafting import CostModel, PolicyName
from factorspec_server.sglang.batch_chains import BatchChains
from factorspec_server.sglang.chains import Chain
from factorspec_server.sglang.guess_gate import GuessGate
from factorspec_server.sglang.mask_rows import MaskRows
from factorspec_server.sglang.mixed_plans import MixedPlans
from factorspec_server.sglang.plan_source import LocalPlans
from factorspec_server.sglang.service_plans import ServicePlans
from factorspec_server.sglang.session_grammar import SessionGrammar, session_grammar_of
from factorspec_server.sglang.shapes import Shapes
from factorspec_server.sglang.step_drafts import StepDrafts
from factorspec_server.sglang.step_layout import StepLayout
from tests.benchmarks.drafts_gold import Folders, Gold, workloads
from tests.constraint_service.pairs import source_of

_MOST = 64
_TIERS = (*range(128, 1024, 64), *range(1024, 8193, 512))
_COST = CostModel.of([(1, 0.005), (128, 0.006), (1024, 0.012), (8192, 0.08)])
_SAMPLING = SimpleNamespace(
    frequency_penalty=0.0,
    presence_penalty=0.0,
    repetition_penalty=1.0,
    min_new_tokens=0,
    stop_strs=[],
    stop_regex_strs=[],
    stop_token_ids=None,
    max_new_tokens=100_000,
)


@dataclass(eq=False)
class Request:
    """As much of SGLang's as is looked at."""

    grammar: SessionGrammar | None
    gold: Sequence[int]
    origin_input_ids: list[int]
    output_ids: list[int] = field(default_factory=list)
    to_finish: Any = None
    return_logprob: bool = False
    sampling_params: Any = field(default_factory=lambda: _SAMPLING)
    kv: Any = field(default_factory=lambda: SimpleNamespace(kv_allocated_len=100_000))

    def finished(self) -> bool:
        """As SGLang says."""
        return len(self.output_ids) >= len(self.gold)


class Host:
    """The host part of steps, and what each part of it took."""

    def __init__(self, service: ConstraintService, spec: DraftingSpec) -> None:
        self._words = service.row_words
        remote = ServicePlans(service, self._words, _MOST, spec)
        plans = MixedPlans(LocalPlans(self._words), remote)
        self._chains = BatchChains(plans, session_grammar_of, _fail)
        self._rows = MaskRows(plans, session_grammar_of, _fail)
        self._drafts = StepDrafts(GuessGate(guesses=False), _MOST)
        self._shapes = Shapes(widths=(1, 8), uniform=_COST, tiers=_TIERS, ragged=_COST, ragged_width=_MOST)
        self.seconds: dict[str, float] = defaultdict(float)
        self.requests = self.inputs = 0

    @contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        began = thread_time()
        yield
        self.seconds[part] += thread_time() - began

    def step(self, requests: Sequence[Request], pause_s: float) -> None:
        """One step of all."""
        self.requests += len(requests)
        with self._timed("plans"):
            lengths = torch.tensor([len(each.output_ids) for each in requests], dtype=torch.int64)
            batch = SimpleNamespace(reqs=requests, seq_lens_cpu=lengths)
            chains, shape = self._drafts.of(self._chains, batch, self._shapes)
            running = [session_grammar_of(each.grammar) for each in requests]
        with self._timed("layout"):
            layout = StepLayout.ragged(chains, shape.num_inputs)
            layout.fill(np.empty(layout.size, dtype=np.int64), chains, lengths.numpy())
        sleep(pause_s)
        with self._timed("rows"):
            rows = torch.empty((layout.num_rows, self._words), dtype=torch.int32)
            self._rows.fill(rows, requests, chains, mask_known=False)
        brought = [_stood(each, chain) for each, chain in zip(requests, chains, strict=True)]
        self.inputs += sum(map(len, brought))
        with self._timed("accept"):
            for request, grammar, chain, tokens in zip(requests, running, chains, brought, strict=True):
                assert grammar is not None
                for token in tokens:
                    grammar.accept_token(token)
                grammar.steps.count(chain, len(tokens))
                request.output_ids += tokens
        with self._timed("ask"):
            self._chains.tokens_stand(requests)

    def shown(self) -> dict[str, object]:
        """Microseconds a request and step."""
        parts = {part: round(1e6 * spent / self.requests, 2) for part, spent in self.seconds.items()}
        return {**parts, "all": round(1e6 * sum(self.seconds.values()) / self.requests, 2)}


def _stood(request: Request, chain: Chain) -> list[int]:
    """The gold tokens that a step brings; what is certain is the gold record's where that is possible."""
    at = len(request.output_ids)
    tokens = request.gold[at : at + len(chain.tokens) + 1]
    assert tuple(tokens[:-1]) == chain.tokens[: len(tokens) - 1], "the gold record is another"
    return [*tokens]


def _fail(request: Any, reason: str) -> None:
    raise AssertionError(reason)


def notes(vocabulary: Vocabulary, count: int) -> list[Gold]:
    """Open trips with a long note each."""
    document: dict[str, JsonValue] = {
        "type": "object",
        "properties": {
            "note": {"type": "string"},
            "kind": {"enum": ["call", "visit", "letter"]},
            "hours": {"type": "integer", "minimum": 1, "maximum": 400},
        },
        "required": ["note", "kind", "hours"],
        "additionalProperties": False,
    }
    found = []
    for number in range(count):
        words = " ".join(("they", "wanted", "to", "hear", "about", "it", str(number)) * 8)
        record = {"note": words, "kind": "visit", "hours": 1 + number % 400}
        tokens = vocabulary.encode(json.dumps(record))
        found.append(Gold(str(number), document, vocabulary.encode("Write a note."), tokens))
    return found


def _opened(service: ConstraintService, gold: Gold) -> Request:
    record = service.open(gold.document)
    return Request(SessionGrammar(record, 0), gold.record, [*gold.prompt])


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder with trip.jsonl of NATURAL PLAN")
    parser.add_argument("--bfcl", type=Path, help="folder with data of bfcl-eval")
    parser.add_argument("--tokenizer", type=Path, help="a tokenizer.json (default: a small made-up one)")
    parser.add_argument("--in-flight", type=int, default=128)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--policy", default="certain")
    parser.add_argument("--pause-ms", type=float, default=20.0, help="the model's time in a step")
    parser.add_argument("--kind", default="notes", help="notes, trips_loose, tool_calls")
    asked = parser.parse_args()
    path = asked.tokenizer
    vocabulary = vocabulary_like("qwen") if path is None else Vocabulary.from_file(path)
    golds: Sequence[Gold] | str = notes(vocabulary, asked.in_flight)
    if asked.kind != "notes":
        workload = next(each for each in workloads() if each.name == asked.kind)
        golds = workload.read(Folders(asked.data, asked.bfcl, vocabulary), asked.in_flight)
    if isinstance(golds, str):
        raise SystemExit(golds)
    service = ConstraintService(
        source_of(vocabulary), ServiceOptions(workers=asked.workers, records=len(golds) + 1)
    )
    policy: PolicyName = asked.policy
    spec = DraftingSpec(name=policy, breadth=1)
    try:
        service.draft(spec)
        with ThreadPoolExecutor(8) as pool:
            left = list(pool.map(lambda gold: _opened(service, gold), golds))
        host, steps = Host(service, spec), 0
        gc.collect()
        gc.freeze()  # what else the process holds is not of the steps
        while left and steps < asked.steps:
            host.step(left, asked.pause_ms / 1e3)
            left = [each for each in left if not each.finished()]
            steps += 1
        figures = {"kind": asked.kind, "steps": steps, "tokens": round(host.inputs / host.requests, 2)}
        print(json.dumps({**figures, "us": host.shown()}))
    finally:
        service.close()


if __name__ == "__main__":
    main()
