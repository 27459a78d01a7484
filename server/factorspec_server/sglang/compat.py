"""All that is known here of SGLang's versions and private places.

Names of SGLang are taken from this module (``compat.HookRegistry``), which imports them when they are first
asked for: importing it imports nothing of SGLang.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from factorspec_sdk.errors import EngineError, MissingExtra, Problem

TESTED = ("0.5.16",)
"""Releases that the tests ran with."""

INSTALL = f"pip install sglang=={TESTED[-1]}"

BACKEND_NAME = "factorspec"
"""Of the grammar backend: ``--grammar-backend factorspec``."""
ALGORITHM_NAME = "FACTORSPEC"
"""Of the speculative worker: ``--speculative-algorithm FACTORSPEC``."""

_MODULES = {
    "BaseGrammarBackend": "sglang.srt.constrained.base_grammar_backend",
    "BaseGrammarObject": "sglang.srt.constrained.base_grammar_backend",
    "GrammarStats": "sglang.srt.constrained.base_grammar_backend",
    "InvalidGrammarObject": "sglang.srt.constrained.base_grammar_backend",
    "register_grammar_backend": "sglang.srt.constrained.base_grammar_backend",
    "XGrammarGrammarBackend": "sglang.srt.constrained.xgrammar_backend",
    "ReasonerGrammarBackend": "sglang.srt.constrained.reasoner_grammar_backend",
    "ReasoningParser": "sglang.srt.parser.reasoning_parser",
    "BaseSpecWorker": "sglang.srt.speculative.base_spec_worker",
    "CaptureHiddenMode": "sglang.srt.model_executor.forward_batch_info",
    "Backend": "sglang.srt.model_executor.cuda_graph_config",
    "CustomSpecAlgo": "sglang.srt.speculative.spec_registry",
    "DecodeGraphCapture": "sglang.srt.model_executor.model_runner_components.cuda_graph_setup",
    "DecodeCudaGraphRunner": "sglang.srt.model_executor.runner.decode_cuda_graph_runner",
    "FINISH_ABORT": "sglang.srt.managers.schedule_batch",
    "ForwardMode": "sglang.srt.model_executor.forward_batch_info",
    "FutureMap": "sglang.srt.managers.overlap_utils",
    "GenerationBatchResult": "sglang.srt.managers.scheduler",
    "NgramVerifyInput": "sglang.srt.speculative.ngram_info",
    "RaggedVerifyLayout": "sglang.srt.speculative.ragged_verify",
    "SpeculativeAlgorithm": "sglang.srt.speculative.spec_info",
    "compute_spec_v2_logprobs": "sglang.srt.layers.logprob_processor",
    "envs": "sglang.srt.environ",
    "record_stream_for_v2_verify": "sglang.srt.speculative.spec_utils",
    "HookRegistry": "sglang.srt.plugins.hook_registry",
    "HookType": "sglang.srt.plugins.hook_registry",
    "KVWriteLoc": "sglang.srt.mem_cache.memory_pool",
    "apply_token_bitmask_inplace_triton": "sglang.kernels.ops.grammar.bitmask_ops",
    "get_tensor_model_parallel_rank": "sglang.srt.distributed",
    "is_cpu": "sglang.srt.utils",
}

ARGUMENTS_CHECKED = "sglang.srt.server_args.ServerArgs.check_server_args"
"""Runs in the main process, with all options known, before the schedulers start."""
_HTTP_SERVER = "sglang.srt.entrypoints.http_server"
XGRAMMAR_MASK = "sglang.srt.constrained.xgrammar_backend.XGrammarGrammar.apply_vocab_mask"
"""Raises for tensors on a CPU."""
NATIVE_ATTENTION = "sglang.srt.layers.attention.torch_native_backend.TorchNativeAttnBackend.forward_extend"
"""Knows no verification of drafts."""

DECODE_GRAPHS = "sglang.srt.model_executor.model_runner_components.cuda_graph_setup.capture_decode_graph"
"""Captures the model's own graphs."""
LOGITS_METADATA = "sglang.srt.layers.logits_processor.LogitsMetadata.from_forward_batch"
"""Tells the model's head at which rows to run."""
EXTRA_POSITIONS = "sglang.srt.mem_cache.allocation_sizing.get_req_to_token_extra_context_len"
"""Room of a request beyond the context's length; too little for two steps of drafts."""

_RESULTS = "sglang.srt.managers.scheduler_components.batch_result_processor.SchedulerBatchResultProcessor"
VERIFY_RESOLVED = f"{_RESULTS}._resolve_spec_v2_tokens"
"""Writes a verify step's tokens to the grammars, before each request's result is looked at."""
PREFILL_PROCESSED = f"{_RESULTS}.process_batch_result_prefill"
"""Looks at the results of a prefill."""


def __getattr__(name: str) -> Any:
    """A name of SGLang's."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def installed_version() -> str | None:
    """The installed release of SGLang."""
    try:
        return version("sglang")
    except PackageNotFoundError:
        return None


def check_version() -> str:
    """The installed release, if it is one that is known here.

    Raises:
        MissingExtra: SGLang is not installed.
        EngineError: it is a release that nobody has tried.
    """
    found = installed_version()
    if found is None:
        raise MissingExtra(f"sglang is not installed; run: {INSTALL}")
    if found not in TESTED:
        problem = Problem("sglang", f"tested is {', '.join(TESTED)}", repr(found), f"run: {INSTALL}")
        raise EngineError("this release of SGLang is not supported", [problem])
    return found


def add_backend(factory: Any) -> None:
    """Register the grammar backend and let ``--grammar-backend`` take its name. Idempotent."""
    arguments = import_module("sglang.srt.server_args")
    __getattr__("register_grammar_backend")(BACKEND_NAME, factory)
    if BACKEND_NAME not in arguments.GRAMMAR_BACKEND_CHOICES:
        arguments.add_grammar_backend_choices([BACKEND_NAME])


def is_first_rank() -> bool:
    """True in one of the schedulers that compute the same tokens together."""
    return bool(__getattr__("get_tensor_model_parallel_rank")() == 0)


def http_app() -> Any | None:
    """The app that SGLang serves over HTTP; None in a process that serves none."""
    module = sys.modules.get(_HTTP_SERVER)
    return None if module is None else module.app
