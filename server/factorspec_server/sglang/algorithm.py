"""The speculative algorithm ``FACTORSPEC`` as SGLang asks for it by name.

SGLang's registry lacks some methods that its scheduler calls on every algorithm, and takes others to mean a
draft model. The class says what holds here: no draft model, no keys and values of one, chains for trees.
"""

from __future__ import annotations

import os
from typing import Any

from factorspec_server.sglang import compat
from factorspec_server.sglang.early import EarlyTokens, prefill_processed
from factorspec_server.sglang.service_settings import ServiceSettings
from factorspec_server.sglang.speculation import Speculation, most_inputs, refusals

NAME = "FACTORSPEC"


class Algorithm(compat.CustomSpecAlgo):
    """See above.

    Attributes:
        width: inputs of each request in the graphs that are captured now; of what SGLang makes for itself 1.
        ragged: graphs for ragged steps are captured now.
    """

    width = 1
    ragged = False

    def get_num_tokens_per_req_for_target_verify(self, num_draft_tokens: int, is_draft_worker: bool) -> int:
        """The width that graphs and attention backends are made for."""
        return self.width

    def supports_ragged_verify(self) -> bool:
        """True while graphs for ragged steps are captured: each runner asks once."""
        return self.ragged

    def is_ngram(self) -> bool:
        """All that SGLang concludes from it holds here: there is no draft model."""
        return True

    def has_draft_kv(self) -> bool:
        """Drafting writes no keys and values."""
        return False

    def need_topk(self) -> bool:
        """Nothing of a draft model's is relayed."""
        return False

    def carries_draft_hidden_states(self) -> bool:
        """Nothing of a draft model's is carried."""
        return False

    def create_future_map(
        self,
        device: Any,
        req_to_token_pool: Any,
        needs_cpu_seq_lens: bool = True,
        needs_confidence_relay: bool = False,
    ) -> Any:
        """What relays lengths from one step to the next."""
        return compat.FutureMap(device, self, req_to_token_pool, needs_cpu_seq_lens, needs_confidence_relay)

    def handle_server_args(self, server_args: Any) -> None:
        """Set what the worker needs.

        Raises:
            ValueError: a setting of the server cannot go with it, or one of ours has a wrong value.
        """
        Speculation.read(os.environ)
        ServiceSettings.read(os.environ, str(server_args.device))
        found = refusals(server_args)
        if found:
            raise ValueError(f"--speculative-algorithm {NAME} cannot go with {'; '.join(found)}")
        server_args.enable_mixed_chunk = False
        if server_args.max_running_requests is None:
            server_args.max_running_requests = 128
        server_args.speculative_eagle_topk = 1
        if server_args.speculative_num_draft_tokens is None:
            server_args.speculative_num_draft_tokens = most_inputs(server_args.device)
        server_args.speculative_num_steps = max(1, server_args.speculative_num_draft_tokens - 1)


def add_algorithm() -> None:
    """Register it, with what has to be changed in SGLang for it. Does nothing the second time."""
    if not _is_registered():
        registry, after = compat.HookRegistry, compat.HookType.AFTER
        registry.register(compat.DECODE_GRAPHS, capture_none, compat.HookType.AROUND)
        registry.register(compat.LOGITS_METADATA, want_rows, after)
        registry.register(compat.EXTRA_POSITIONS, _more_positions, after)
        early = EarlyTokens(lambda algorithm: isinstance(algorithm, Algorithm))
        registry.register(compat.VERIFY_RESOLVED, early.resolve, compat.HookType.AROUND)
        registry.register(compat.PREFILL_PROCESSED, prefill_processed, after)
        registry.register(compat.RESULTS_FIRST, early.results_first, after)
        compat.SpeculativeAlgorithm.register(NAME, supports_overlap=True, spec_class=Algorithm)(_worker)


def _is_registered() -> bool:
    try:
        compat.SpeculativeAlgorithm.from_string(NAME)
    except ValueError:
        return False
    return True


def capture_none(original: Any, *, model_runner: Any) -> Any:
    """Around SGLang's capture of the model's own graphs: the worker captures what it runs (``graphs.py``).

    The model's own would be wrong besides: its attention is made for the widest step, they for one input.
    """
    if model_runner.device == "cuda" and isinstance(model_runner.spec_algorithm, Algorithm):
        return compat.no_decode_graphs()
    return original(model_runner=model_runner)


def want_rows(metadata: Any, _: type[Any], forward_batch: Any) -> Any:
    """Hook behind ``LogitsMetadata.from_forward_batch``: the model's head runs at the wanted rows only."""
    rows = getattr(forward_batch.spec_info, "select_index", None)
    if rows is not None and forward_batch.forward_mode.is_target_verify():
        metadata.draft_extend_select_index = rows
    return metadata


def _more_positions(extra: int, *arguments: Any) -> int:
    """SGLang reserves places for two steps ahead; next to the context's end these must stand somewhere."""
    return max(extra, 4 + 2 * compat.most_draft_tokens(*arguments))


def _worker(server_args: Any) -> Any:
    """The worker's class; imported where a server with the algorithm starts."""
    from factorspec_server.sglang.worker import FactorSpecWorker

    return FactorSpecWorker
