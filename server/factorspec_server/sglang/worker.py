"""The speculative worker: certain tokens of many requests go into the cache together, a step for each run.

::

    chains    batch_chains.py   what each request runs, from its session's plan
    shape     shapes.py         one width for all, or each request's own: what brings the most tokens a second
    block     step_layout.py    ids, positions, rows …: one copy to the device
    forward   graphs.py         the graphs of that shape
    rows      mask_rows.py      written on the host meanwhile, for decisions alone
    draw      drawing.py        SGLang's sampler, one row for each decision
    accept    acceptance.py     on the device; nobody waits

Certain tokens are accepted without logits. Prefills run as they do without speculation, and steps in which
nothing is constrained nearly so (``plain_step.py``). Where hardly anything becomes certain, in free text,
steps have one input of each request and are launched before the last one's tokens are known (``ahead.py``).
Where several ranks run one model, chains, shape, rows and draws are the first one's (``ranks.py``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from time import perf_counter
from typing import Any

import torch

from factorspec_server.sglang import compat
from factorspec_server.sglang.acceptance import Accepted, accept
from factorspec_server.sglang.ahead import Ahead
from factorspec_server.sglang.batch_chains import BatchChains, is_free
from factorspec_server.sglang.branching import MOST_BRANCHES, Branching
from factorspec_server.sglang.chains import Chain
from factorspec_server.sglang.drawing import draw, for_rows, mask
from factorspec_server.sglang.graphs import Graphs
from factorspec_server.sglang.guess_gate import GuessGate
from factorspec_server.sglang.kv_copies import can_copy
from factorspec_server.sglang.mask_rows import MaskRows, num_words
from factorspec_server.sglang.mixed_plans import MixedPlans
from factorspec_server.sglang.plain_step import as_decode, is_plain, set_inputs
from factorspec_server.sglang.plan_source import LocalPlans, PlanSource
from factorspec_server.sglang.policies import Policies
from factorspec_server.sglang.process_parts import parts
from factorspec_server.sglang.ranks import ranks_of
from factorspec_server.sglang.service_plans import ServicePlans
from factorspec_server.sglang.session_grammar import SessionGrammar, session_grammar_of
from factorspec_server.sglang.shapes import Shape, host_s
from factorspec_server.sglang.speculation import Speculation
from factorspec_server.sglang.staging import Staging
from factorspec_server.sglang.step_drafts import StepDrafts
from factorspec_server.sglang.step_layout import StepLayout
from factorspec_server.sglang.step_log import StepLog
from factorspec_server.sglang.step_sharing import StepSharing
from factorspec_server.sglang.step_tensors import StepTensors
from factorspec_server.sglang.steps_running import Ran, StepsRunning
from factorspec_server.sglang.verify_input import ChainInput, ragged_layout

Publish = Callable[[torch.Tensor], None]
WriteTokens = Callable[[], None]


class FactorSpecWorker(compat.BaseSpecWorker):
    """One for each scheduler; used by its thread alone."""

    def __init__(self, *, server_args: Any, target_worker: Any, **_: Any) -> None:
        super().__init__()
        self._target_worker = target_worker
        self._model_runner = target_worker.model_runner
        self._device = self._model_runner.device
        self._most: int = compat.setting(server_args, "speculative_num_draft_tokens")
        settings = Speculation.read(os.environ)
        self._sharing = StepSharing(ranks_of(server_args))
        self._words = num_words(self._model_runner.model_config.vocab_size)
        self._spec = spec = settings.spec(self._most)
        self._waited_s = self._mask_s = 0.0
        parts().draft(spec)
        self._drafting = StepDrafts(GuessGate(guesses=spec.guesses), self._most)
        may_go = self._device == "cuda" if settings.ahead is None else settings.ahead
        vocab_size = self._model_runner.model_config.vocab_size
        self._ahead = Ahead(vocab_size, is_on=may_go and self._sharing.is_alone)
        self._could_go_ahead = False
        #: writes the last step's tokens, where the next step goes ahead of them
        self._write_tokens: WriteTokens | None = None
        self._staging = Staging(pinned=self._device == "cuda")
        self._log = StepLog(None if self._sharing.follows else settings.step_log)
        self._running = StepsRunning()
        mr, guesses = self._model_runner, spec.guesses
        self._graphs = Graphs(mr, mr.spec_algorithm, settings, self._most, guesses=guesses)
        self._trees = settings.trees(self._most) if self._sharing.is_alone else None
        #: None: no branches run beside chains
        self._branching: Branching | None = None

    @cached_property
    def _plans(self) -> PlanSource:
        """Asked by the first request: what keeps the records is made after the worker."""
        service = parts().service
        trees = self._trees if self._branching is not None else None
        policies = [None if spec is None else Policies.of_spec(spec) for spec in (self._spec, trees)]
        local = LocalPlans(self._words, *policies)
        if service is None:
            return local
        return MixedPlans(local, ServicePlans(service, self._words, self._most, self._spec, trees))

    @cached_property
    def _chains(self) -> BatchChains:
        return BatchChains(self._plans, session_grammar_of, self._sharing.end, self._sharing.end_soon)

    @cached_property
    def _rows(self) -> MaskRows:
        return MaskRows(self._plans, session_grammar_of, self._sharing.end_soon)

    @property
    def draft_worker(self) -> None:
        """There is none."""
        return None

    def alloc_memory_pool(self, **pools: Any) -> None:
        """SGLang calls it once the model's own pools are there, and before anything else looks at them."""
        super().alloc_memory_pool(**pools)
        if self._trees is not None and can_copy(self._model_runner):
            runner = self._model_runner
            self._branching = Branching(runner.req_to_token_pool, runner.token_to_kv_pool)
            self._graphs.allow_branches(MOST_BRANCHES, int(runner.max_running_requests))

    def init_attention_backends(self) -> None:
        """SGLang calls it once the model's own attention is there; that one verifies a single input."""
        for name in ("speculative_num_draft_tokens", "num_draft_tokens"):
            if getattr(self._model_runner.attn_backend, name, None) is not None:
                setattr(self._model_runner.attn_backend, name, 1)

    def init_cuda_graphs(self) -> None:
        """SGLang calls it once the model's own graphs are there."""
        self._graphs.capture()

    def update_weights_from_disk(self, recv_req: Any) -> tuple[bool, str]:
        """There are no weights beside the model's."""
        return True, "no draft weights"

    update_weights_from_ipc = update_weights_from_disk

    def update_weights_from_tensor(self, recv_req: Any) -> Any:
        """Goes to the model."""
        return self._target_worker.update_weights_from_tensor(recv_req)

    def forward_batch_generation(self, batch: Any, on_publish: Publish | None = None) -> Any:
        """Run a prefill or a verify step."""
        stream = torch.get_device_module(self._device).current_stream()
        compat.record_stream_for_v2_verify(batch, None, stream)
        if not batch.forward_mode.is_decode():
            return self._prefill(batch, on_publish)
        write_tokens, self._write_tokens = self._write_tokens, None
        if write_tokens is not None:
            return self._launched_ahead(batch, write_tokens, on_publish)
        return self._plain(batch, on_publish) if is_plain(batch) else self._verify(batch, on_publish)

    def tokens_stand(self, requests: Sequence[Any]) -> None:
        """Tokens were written to the grammars of these requests; called by our hooks (``algorithm.py``)."""
        if not self._sharing.follows:
            self._chains.tokens_stand(requests)

    def launches_ahead(self, batch: Any, write_tokens: WriteTokens) -> bool:
        """True if the batch is to be launched before the last step's tokens are known; asked by our hook.

        Args:
            batch: runs next, behind a step that runs still.
            write_tokens: waits for that step, writes its tokens to the grammars; the launched step calls it.
        """
        self._could_go_ahead = self._ahead.is_fit(batch)
        if self._could_go_ahead and self._drafting.guesses_rest(len(batch.reqs)):
            self._write_tokens = write_tokens
        return self._write_tokens is not None

    def _prefill(self, batch: Any, on_publish: Publish | None) -> Any:
        if batch.has_grammar:
            self.tokens_stand(batch.reqs)  # none yet, but a first row is wanted behind the forward pass
        lengths = batch.seq_lens.clone()
        _publish(lengths, on_publish)
        result = self._target_worker.forward_batch_generation(batch)
        return self._result(result, self._one_each(result.next_token_ids), lengths)

    def _plain(self, batch: Any, on_publish: Publish | None) -> Any:
        self._log.mark("between")
        positions, count = batch.seq_lens, len(batch.reqs)
        self._running.add(())
        result, after = self._decode(batch, on_publish)
        info, output = for_rows(batch.sampling_info), result.logits_output
        mask(info, output.next_token_logits, None, SessionGrammar.apply_vocab_mask)
        accepted = self._one_each(draw(self._model_runner.sampler, output, info, positions))
        self._log.mark("rows and drawing")
        self._log.end(requests=count, width=1, inputs=count, used=count)
        return self._result(result, accepted, after)

    def _launched_ahead(self, batch: Any, write_tokens: WriteTokens, on_publish: Publish | None) -> Any:
        """A step of one input of each request, whose mask rows are written while it runs."""
        self._staging.next_step()
        self._mask_s = 0.0
        self._log.mark("between")
        positions, count = batch.seq_lens, len(batch.reqs)
        result, after = self._decode(batch, on_publish)
        write_tokens()
        self._log.mark("tokens")
        chains = self._chains.of(batch.reqs, [0] * count)
        self._runs(batch.reqs, chains)
        self._log.mark("plans")
        info, output = for_rows(batch.sampling_info), result.logits_output
        self._mask(batch, info, output, chains, count, mask_known=True)
        accepted = self._one_each(draw(self._model_runner.sampler, output, info, positions))
        self._log.mark("rows and drawing")
        self._look_ahead()
        self._told(requests=count, width=1, inputs=count, used=count, is_ahead=True)
        return self._result(result, accepted, after)

    def _decode(self, batch: Any, on_publish: Publish | None) -> tuple[Any, torch.Tensor]:
        """Launch a step of one input of each request; its result, and how long requests are behind it."""
        set_inputs(batch)
        as_decode(batch)
        after = batch.seq_lens
        _publish(after, on_publish)
        result = self._run(batch, Shape(1), None, len(batch.reqs))
        self._log.mark("launch")
        return result, after

    def _one_each(self, drawn: torch.Tensor) -> Accepted:
        last = drawn.to(torch.int64)
        return Accepted(last[:, None], torch.ones(len(last), dtype=torch.int32, device=self._device), last)

    def _verify(self, batch: Any, on_publish: Publish | None) -> Any:
        self._staging.next_step()
        self._mask_s = 0.0
        self._log.mark("between")
        chains, shape = self._drafts(batch)
        self._log.mark("plans")
        layout = _layout(chains, shape)
        block = self._staging.block("step", (layout.size,), torch.int64)
        layout.fill(block.numpy(), chains, batch.seq_lens_cpu.numpy())
        step = StepTensors.of(block.to(self._device, non_blocking=True), layout)
        lengths = batch.seq_lens
        after = None
        if all(chain.is_certain for chain in chains):  # then another step may be launched while this one runs
            after = lengths + step.counts
            _publish(after, on_publish)
        self._log.mark("block")
        ran, branches = batch, layout.branches
        if branches is not None and self._branching is not None:
            ran = self._branching.widened(batch, step, layout)
        result = self._forward(ran, step, layout, shape)
        self._log.mark("launch")
        accepted = self._accepted(ran, result.logits_output, layout.entries_of(chains), step, layout)
        if branches is not None and self._branching is not None and accepted.entries is not None:
            self._branching.keep(batch, step, branches, accepted.entries)
            self._running.ends_in(accepted.entries, branches)
        self._log.mark("rows and drawing")
        batch.forward_mode = compat.ForwardMode.DECODE
        if after is None:
            after = lengths + accepted.lengths
            _publish(after, on_publish)
        verified = self._result(result, accepted, after)
        if batch.has_grammar:
            self._look_ahead()
        used = sum(chain.num_drafted + 1 for chain in chains)
        self._told(requests=layout.num_requests, width=shape.width, inputs=layout.num_inputs, used=used)
        return verified

    def _look_ahead(self) -> None:
        """Have plans worked out until the device has come so far."""
        if self._device == "cuda" and not self._sharing.follows:
            done = torch.cuda.Event()  # type: ignore[no-untyped-call]
            done.record()
            self._plans.look_ahead(done.query)
            self._log.mark("looking ahead")

    def _told(self, *, requests: int, width: int, inputs: int, used: int, is_ahead: bool = False) -> None:
        """Say what the step was like, see ``StepLog``."""
        if self._sharing.follows:
            return
        waited_s, self._waited_s = self._waited_s, self._plans.waited_s
        wait_s, metrics = self._waited_s - waited_s, parts().metrics
        if metrics is not None:
            metrics.step(width=width, wait_s=wait_s, mask_s=self._mask_s, is_ahead=is_ahead)
        self._log.end(requests=requests, width=width, inputs=inputs, used=used, wait_s=wait_s)

    def _drafts(self, batch: Any) -> tuple[list[Chain], Shape]:
        """What each request runs, and the shape of the step."""
        if self._sharing.follows:
            self._running.add(())
            return self._sharing.hear(batch.reqs)
        spared_s = host_s(len(batch.reqs)) if self._could_go_ahead else 0.0
        self._could_go_ahead = False
        chains, shape = self._drafting.of(self._chains, batch, self._graphs.shapes, spared_s=spared_s)
        self._sharing.tell(chains, shape, batch.reqs)
        self._runs(batch.reqs, chains)
        return chains, shape

    def _runs(self, requests: Sequence[Any], chains: Sequence[Chain]) -> None:
        """These chains run: keep whose they are until it is known what stands of them."""
        grammars = [_drafted(request) for request in requests]
        self._ahead.saw(grammars, chains)
        self._running.add(
            [
                None if grammar is None else Ran(request, grammar.steps, chain)
                for request, grammar, chain in zip(requests, grammars, chains, strict=True)
            ]
        )

    def on_verify_complete_cpu(self, num_correct_drafts_per_req: list[int], batch_size: int = 0) -> None:
        """SGLang calls it for each verify step, in order, once its result is on the host.

        It drops those of requests that have ended meanwhile, or were taken back: nothing was written there.
        """
        self._sharing.tokens_come()
        self._running.came(num_correct_drafts_per_req)

    def _forward(self, batch: Any, step: StepTensors, layout: StepLayout, shape: Shape) -> Any:
        """Run the inputs; the logits of the decisions' rows come back, and no one waits for them."""
        step.start_with(batch.spec_info.last_tokens)
        batch.input_ids = step.ids
        batch.out_cache_loc = step.cache_places(batch.req_pool_indices, batch.req_to_token_pool.req_to_token)
        info = ChainInput(
            width=self._most if shape.is_ragged else shape.width,
            new_seq_lens=batch.seq_lens,
            draft_token=step.ids,
            positions=step.positions,
            select_index=step.rows,
        )
        if shape.num_inputs is not None:
            info.num_tokens_per_req = -1
            info.ragged_verify_layout = ragged_layout(step.counts, layout, shape.num_inputs)
        batch.spec_info, batch.forward_mode = info, compat.ForwardMode.TARGET_VERIFY
        if shape.is_decode:
            as_decode(batch)
        return self._run(batch, shape, step.rows, len(step.rows))

    def _run(self, batch: Any, shape: Shape, rows: torch.Tensor | None, num_rows: int) -> Any:
        with self._graphs.in_place(shape, rows, many=num_rows > len(batch.reqs)):
            began_s = perf_counter()
            result = self._target_worker.forward_batch_generation(batch, is_verify=True)
            self._graphs.ran(len(batch.input_ids), perf_counter() - began_s)
        # there last tokens are filtered, which are known at the end
        compat.wait_for_the_end(self._model_runner)
        output = result.logits_output
        output.next_token_logits = output.next_token_logits[:num_rows]  # graphs fill batches up
        return result

    def _accepted(
        self, batch: Any, output: Any, chains: Sequence[Chain], step: StepTensors, layout: StepLayout
    ) -> Accepted:
        """Mask, draw, and see what stands."""
        info = for_rows(batch.sampling_info, None if layout.has_one_row_each else step.askers)
        self._mask(batch, info, output, chains, len(step.rows), mask_known=batch.return_logprob)
        kept = output.next_token_logits.clone() if batch.return_logprob else None
        drawn = draw(self._model_runner.sampler, output, info, step.positions[step.rows])
        self._sharing.agree(drawn)
        accepted = accept(step.ends, drawn[step.picks], step.branches)
        if kept is not None:
            output.next_token_logits = kept
            every = torch.arange(layout.num_requests, device=self._device)
            compat.add_logprobs(batch, output, accepted.last, every[:, None])
        return accepted

    def _mask(
        self, batch: Any, info: Any, output: Any, chains: Sequence[Chain], num_rows: int, *, mask_known: bool
    ) -> None:
        """Write the mask rows of chains, and apply them to the logits."""
        rows = None
        if batch.has_grammar and not self._sharing.follows:
            on_host = self._staging.block("rows", (num_rows, self._words), torch.int32)
            began_s = perf_counter()
            self._rows.fill(on_host, batch.reqs, chains, mask_known=mask_known)
            self._mask_s = perf_counter() - began_s
            rows = on_host.to(self._device, non_blocking=True)
        mask(info, output.next_token_logits, rows, SessionGrammar.apply_vocab_mask)

    def _result(self, result: Any, accepted: Accepted, new_seq_lens: torch.Tensor) -> Any:
        stride = accepted.tokens.shape[1]
        return compat.GenerationBatchResult(
            logits_output=result.logits_output,
            next_token_ids=accepted.tokens.flatten(),
            can_run_cuda_graph=result.can_run_cuda_graph,
            accept_lens=accepted.lengths.to(torch.int32),
            new_seq_lens=new_seq_lens,
            next_draft_input=ChainInput.between(new_seq_lens, accepted.last),
            speculative_num_draft_tokens=stride,
        )


def _publish(new_seq_lens: torch.Tensor, on_publish: Publish | None) -> None:
    """Tell the next step how long requests are then."""
    if on_publish is not None:
        on_publish(new_seq_lens)


def _layout(chains: Sequence[Chain], shape: Shape) -> StepLayout:
    if shape.num_inputs is None:
        return StepLayout.uniform(chains, shape.width)
    return StepLayout.ragged(chains, shape.num_inputs)


def _drafted(request: Any) -> SessionGrammar | None:
    return None if is_free(request) else session_grammar_of(request.grammar)
