"""The worker's steps, from drafts to what stands, with a model whose logits depend on its cache."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from factorspec_server.drafting import Certain, CostModel, DraftingPolicy, Off
from factorspec_server.drafting import Chain as Guessing
from factorspec_server.sglang.ahead import Ahead
from factorspec_server.sglang.batch_chains import BatchChains
from factorspec_server.sglang.branching import MOST_BRANCHES, Branching
from factorspec_server.sglang.guess_gate import GuessGate
from factorspec_server.sglang.mask_rows import MaskRows
from factorspec_server.sglang.plan_source import LocalPlans
from factorspec_server.sglang.policies import Policies
from factorspec_server.sglang.shapes import ManyRows, Shapes
from factorspec_server.sglang.staging import Staging
from factorspec_server.sglang.step_counts import StepCounts
from factorspec_server.sglang.step_drafts import StepDrafts
from factorspec_server.sglang.step_log import StepLog
from factorspec_server.sglang.step_sharing import StepSharing
from factorspec_server.sglang.steps_running import StepsRunning
from tests.server.engines.random_trees import RandomTrees
from tests.server.engines.toy_session import ToySession, highest_allowed, random_alternatives
from tests.server.sglang.test_batch_chains import Grammar, drafted_of, sampling
from tests.server.sglang.test_plain_step import OURS, modules

__all__ = ["modules"]
VOCAB, WORDS, END, MOST, ROOM = 96, 3, 90, 16, 160
PROMPT = (7, 8)


def logits_behind(seed: int, tokens: tuple[int, ...]) -> torch.Tensor:
    """What the model makes of a text; the same in float32 however many rows are asked for together."""
    return torch.from_numpy(np.random.default_rng(abs(hash((seed, tokens)))).random(VOCAB, dtype=np.float32))


class Model:
    """Keeps tokens where their keys and values would be, and reads the text of a request from there.

    Args:
        requests: how many.
        seed: of all of them; None: each has its own.
    """

    def __init__(self, requests: int, seed: int | None = None) -> None:
        self._seed = seed
        places = torch.randperm(requests * ROOM, generator=torch.Generator().manual_seed(1)) + 1
        self.places = SimpleNamespace(req_to_token=places.to(torch.int32).view(requests, ROOM))
        self.cache = torch.full((requests * ROOM + 1,), -1, dtype=torch.int64)
        self.many_steps = 0

    @property
    def req_to_token(self) -> torch.Tensor:
        """(rows, positions) int32; those behind the requests' rows are of branches."""
        found: torch.Tensor = self.places.req_to_token
        return found

    def forward(self, batch: Any, *, is_verify: bool) -> Any:
        assert is_verify
        is_decode = batch.spec_info is None
        count = len(batch.reqs)
        counts = [1] * count if is_decode else batch.spec_info.ragged_verify_layout.verify_lens_cpu
        owners = [owner for owner, inputs in enumerate(counts) for _ in range(inputs)]
        self.cache[batch.out_cache_loc] = batch.input_ids
        positions = batch.seq_lens - 1 if is_decode else batch.spec_info.positions
        wanted = range(count) if is_decode else batch.spec_info.select_index.tolist()
        rows = []
        for index in wanted:
            slot = int(batch.req_pool_indices[owners[index]])
            text = self.cache[self.req_to_token[slot, : int(positions[index]) + 1].long()]
            own = getattr(batch.reqs[owners[index]], "slot", slot)
            rows.append(logits_behind(own if self._seed is None else self._seed, tuple(text.tolist())))
        output = SimpleNamespace(next_token_logits=torch.stack(rows))
        return SimpleNamespace(logits_output=output, can_run_cuda_graph=False, next_token_ids=None)


class Info(SimpleNamespace):
    def apply_logits_bias(self, logits: torch.Tensor) -> None:
        if self.vocab_mask is not None:
            self.apply_mask_func(logits=logits, vocab_mask=self.vocab_mask)


def info(count: int) -> Info:
    names = ("top_ps", "top_ks", "min_ps", "sampling_seed", "logit_bias", "acc_additive_penalties")
    others = ("acc_scaling_penalties", "vocab_mask", "return_sampling_masks", "penalizer_orchestrator")
    fixed = {"temperatures": torch.ones(count, 1), "has_custom_logit_processor": False}
    return Info(**dict.fromkeys((*names, *others)), **fixed)


def request(session: ToySession | None) -> Any:
    return SimpleNamespace(
        grammar=None if session is None else Grammar(session, END),
        sampling_params=sampling(max_new_tokens=120),
        return_logprob=False,
        output_ids=[PROMPT[-1]],
        origin_input_ids=PROMPT[:1],
        kv_committed_len=1,
        to_finish=None,
        kv=SimpleNamespace(kv_allocated_len=ROOM),
        is_retracted=False,
        finished=lambda: False,
    )


def ragged(source: random.Random, most_rows: int) -> Shapes:
    cost = CostModel(((1, 1.0), (64, source.choice((1.0, 3.0, 20.0)))))
    tiers = tuple(range(1, 200))
    many = ManyRows(most=most_rows, uniform=cost, requests={}, tiers=tiers, ragged=cost)
    many = replace(many, branches=MOST_BRANCHES, entries=MOST_BRANCHES)
    return Shapes(widths=(1,), uniform=cost, tiers=tiers, ragged=cost, ragged_width=MOST, many=many)


def worker_of(model: Model, policy: DraftingPolicy, most_rows: int) -> Any:
    def sampler(output: Any, given: Any, *rest: Any) -> torch.Tensor:
        assert len(output.next_token_logits) == len(given.temperatures) == len(rest[-1])
        drawn: torch.Tensor = output.next_token_logits.argmax(-1)
        return drawn.to(torch.int32)

    @contextmanager
    def in_place(shape: Any, rows: Any, *, many: bool) -> Iterator[None]:
        model.many_steps += many
        yield

    def fail(one: Any, reason: str) -> None:
        raise AssertionError(reason)

    plans = LocalPlans(WORDS, Policies(lambda session, prompt: policy))
    kind: Any = import_module(OURS[0]).FactorSpecWorker
    worker = object.__new__(kind)
    vars(worker).update(
        _device="cpu",
        _words=WORDS,
        _most=MOST,
        _target_worker=SimpleNamespace(forward_batch_generation=model.forward),
        _model_runner=SimpleNamespace(sampler=sampler, war_fastpath_read_done_event=None),
        _log=StepLog(None),
        _running=StepsRunning(),
        _branching=Branching(model.places, SimpleNamespace(k_buffer=[model.cache], v_buffer=[])),
        _sharing=StepSharing(),
        _staging=Staging(pinned=False),
        _waited_s=0.0,
        _ahead=Ahead(VOCAB, is_on=False),
        _could_go_ahead=False,
        _write_tokens=None,
        _plans=plans,
        _chains=BatchChains(plans, drafted_of, fail),
        _rows=MaskRows(plans, drafted_of, fail),
        _drafting=StepDrafts(GuessGate(guesses=True), MOST),
        _graphs=SimpleNamespace(
            in_place=in_place,
            ran=lambda inputs, seconds: None,
            shapes=ragged(random.Random(most_rows), most_rows),
        ),
    )
    return worker


class Served:
    """Requests that a worker decodes together, as the scheduler has them.

    Attributes:
        done: what the step did, in order.
    """

    def __init__(
        self,
        sessions: Sequence[ToySession | None],
        policy: DraftingPolicy,
        most_rows: int,
        seed: int | None = None,
    ) -> None:
        """``seed``: see ``Model``."""
        self.model = Model(len(sessions), seed)
        self.requests = [request(session) for session in sessions]
        for slot in range(len(sessions)):
            self.requests[slot].slot = slot
            self.model.cache[self.model.req_to_token[slot, 0].long()] = PROMPT[0]
        self.worker = worker_of(self.model, policy, most_rows)
        self.worker._target_worker.forward_batch_generation = self.forward
        self.running = list(range(len(sessions)))
        self.last = torch.full((len(sessions),), PROMPT[-1])
        self.lengths = torch.ones(len(sessions), dtype=torch.int64)
        self.done: list[str] = []
        self._waiting: list[tuple[int, list[int]]] = []

    def forward(self, batch: Any, *, is_verify: bool) -> Any:
        self.done.append("forward")
        return self.model.forward(batch, is_verify=is_verify)

    def publish(self, lengths: torch.Tensor) -> None:
        self.done.append("publish")

    def batch(self) -> Any:
        """The next one; those whose end is not known yet are part of it."""
        self.done.clear()
        batch = batch_of(self.model, self.requests, self.running, self.last)
        batch.seq_lens, batch.seq_lens_cpu = self.lengths[self.running], self.lengths[self.running]
        return batch

    def take(self, result: Any) -> None:
        """Keep what a step brought; its tokens are written later."""
        running = self.running
        assert result.new_seq_lens.tolist() == (self.lengths[running] + result.accept_lens).tolist()
        self.lengths[running], self.last[running] = result.new_seq_lens, result.next_draft_input.last_tokens
        tokens, counts = result.next_token_ids.view(len(running), -1), result.accept_lens.tolist()
        self._waiting = [(slot, tokens[at, : counts[at]].tolist()) for at, slot in enumerate(running)]
        self.running = [slot for slot in running if not is_done(self.requests[slot])]

    def write_tokens(self) -> None:
        """Of the last step, but for requests that had ended when it began."""
        self.done.append("tokens")
        for slot, new in self._waiting:
            one = self.requests[slot]
            if is_done(one):
                continue
            one.output_ids += new
            one.kv_committed_len += len(new)
            if one.grammar is not None:
                one.grammar.session.commit([token for token in new if token != END])
                one.to_finish = is_done(one) or None
        self._waiting = []

    def output(self) -> list[list[int]]:
        return [one.output_ids[1:] for one in self.requests]


def decode(policy: DraftingPolicy, seed: int, most_rows: int) -> tuple[list[list[int]], int]:
    """Four records and an answer without a grammar, together: tokens, and steps with more rows than five."""
    served = Served(
        [*(ToySession(random_alternatives(seed * 4 + at)) for at in range(4)), None], policy, most_rows
    )
    run_to_the_end(served)
    return served.output(), served.model.many_steps


def run_to_the_end(served: Served) -> None:
    """Steps until all requests are done; the tokens of each are written before the next one."""
    while served.running:
        served.take(served.worker._verify(served.batch(), served.publish))
        assert sorted(served.done) == ["forward", "publish"]
        served.write_tokens()
        served.running = [slot for slot in served.running if not is_done(served.requests[slot])]


def decode_ahead(policy: DraftingPolicy, seed: int, source: random.Random) -> list[list[int]]:
    """The same where some steps are launched before the tokens of the last one are written."""
    served = Served([*(ToySession(random_alternatives(seed * 4 + at)) for at in range(4)), None], policy, 9)
    run_ahead(served, source)
    return served.output()


def run_ahead(served: Served, source: random.Random) -> None:
    """The same where some steps are launched before that."""
    worker = served.worker
    worker._ahead.is_fit = lambda batch: source.random() < 0.5
    worker._drafting.guesses_rest = lambda count: source.random() < 0.7
    while served.running:
        batch = served.batch()
        if worker.launches_ahead(batch, served.write_tokens):
            result = worker.forward_batch_generation(batch, served.publish)
            assert served.done == ["publish", "forward", "tokens"]
        else:
            served.write_tokens()
            result = worker._verify(batch, served.publish)
        served.take(result)


def batch_of(model: Model, requests: list[Any], running: list[int], last: torch.Tensor) -> Any:
    """A step's batch: requests by their places in the model's cache, and the last token of each."""
    lengths = torch.tensor([len(requests[slot].output_ids) for slot in running])
    return SimpleNamespace(
        forward_mode=SimpleNamespace(is_decode=lambda: True),
        reqs=[requests[slot] for slot in running],
        has_grammar=True,
        return_logprob=False,
        seq_lens=lengths,
        seq_lens_cpu=lengths.clone(),
        seq_lens_sum=None,
        req_pool_indices=torch.tensor(running),
        req_to_token_pool=SimpleNamespace(req_to_token=model.req_to_token),
        spec_info=SimpleNamespace(last_tokens=last[running]),
        sampling_info=info(len(running)),
    )


def is_done(one: Any) -> bool:
    return len(one.output_ids) > 60 if one.grammar is None else bool(one.output_ids[-1] == END)


def by_token(session: ToySession | None, seed: int) -> list[int]:
    """The same, a token at a time, without worker and cache."""
    tokens = list(PROMPT)
    while len(tokens) - 2 < 60 if session is None else session.state != "complete":
        chances = logits_behind(seed, tuple(tokens))
        allowed = list(range(VOCAB)) if session is None else session._next(session.written)
        token = max(allowed, key=lambda one: float(chances[one]))
        tokens.append(token)
        if session is not None:
            session.commit([token])
    return tokens[2:] if session is None else [*tokens[2:], END]


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("most_rows", [1, 9, 500])
@pytest.mark.parametrize("name", ["off", "certain", "lowest", "highest", "random"])
def test_steps_write_what_decoding_token_by_token_writes(name: str, most_rows: int) -> None:
    policies: dict[str, Any] = {
        "off": Off,
        "certain": Certain,
        "lowest": lambda: Guessing(width=9),
        "highest": lambda: Guessing(width=15, guesses=highest_allowed),
        "random": lambda: RandomTrees(3),
    }
    many_steps = 0
    for seed in range(6):
        found, many = decode(policies[name](), seed, most_rows)
        sessions = [*(ToySession(random_alternatives(seed * 4 + at)) for at in range(4)), None]
        want = [by_token(session, slot) for slot, session in enumerate(sessions)]
        assert found[:4] == want[:4]
        assert found[4][:60] == want[4][:60]
        many_steps += many
    assert (many_steps > 0) == (name not in ("off", "certain") and most_rows > 1)


@pytest.mark.usefixtures("modules")
def test_a_step_behind_the_end_counts_for_nothing() -> None:
    """It is launched before SGLang sees the end; results of a request that is taken back are dropped too."""
    model, last = Model(3), torch.full((3,), PROMPT[-1])
    requests = [request(ToySession(((3, 4, 5, 6),))) for _ in range(3)]
    worker = worker_of(model, Certain(), 1)
    kind: Any = import_module(OURS[0])
    counts = [StepCounts() for _ in requests]
    for one, steps in zip(requests, counts, strict=True):
        one.grammar.steps = steps
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "session_grammar_of", drafted_of)
        worker._verify(batch_of(model, requests, [0, 1, 2], last), None)
    requests[1].finished = lambda: True
    requests[2].is_retracted = True
    worker.on_verify_complete_cpu([4, 4, 4])
    assert [steps.fill_steps for steps in counts] == [1, 0, 0]
    assert [steps.tokens_run for steps in counts] == [5, 0, 0]


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("name", ["certain", "highest", "random"])
def test_steps_that_are_launched_ahead_write_the_same(name: str) -> None:
    policies: dict[str, Any] = {
        "certain": Certain,
        "highest": lambda: Guessing(width=15, guesses=highest_allowed),
        "random": lambda: RandomTrees(3),
    }
    for seed in range(10):
        found = decode_ahead(policies[name](), seed, random.Random(seed))
        sessions = [*(ToySession(random_alternatives(seed * 4 + at)) for at in range(4)), None]
        want = [by_token(session, slot) for slot, session in enumerate(sessions)]
        assert found[:4] == want[:4]
        assert found[4][:60] == want[4][:60]
