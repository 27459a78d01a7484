"""All that is known here of SGLang's versions: which were tested, and where they differ.

Names of SGLang are taken from this module (``compat.HookRegistry``), which imports them when they are first
asked for: importing it imports nothing of SGLang. Where releases differ, a function says what is meant and
does it as the installed one has it. Which private places must be there stands in ``places.py``.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import SimpleNamespace
from typing import Any, Literal

from factorspec_sdk.errors import EngineError, MissingExtra, Problem
from factorspec_server.sglang.places import missing_places

Device = Literal["cpu", "cuda"]

REFERENCE = "0.5.16"
"""The release that everything was measured with."""
TESTED: Mapping[str, tuple[Device, ...]] = {"0.5.16": ("cpu", "cuda"), "0.5.23": ("cpu",)}
"""Releases that the tests ran with, and on which devices, ascending."""
_SERIES = re.compile(r"0\.5\.(\d+)(?:\.post\d+)?")
_OLDEST = 16

INSTALL = f"pip install sglang=={REFERENCE}"

_logger = logging.getLogger(__name__)

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
    "DecodeCudaGraphRunner": "sglang.srt.model_executor.runner.decode_cuda_graph_runner",
    "FINISH_ABORT": "sglang.srt.managers.schedule_batch",
    "ForwardMode": "sglang.srt.model_executor.forward_batch_info",
    "FutureMap": "sglang.srt.managers.overlap_utils",
    "GenerationBatchResult": "sglang.srt.managers.scheduler",
    "NgramVerifyInput": "sglang.srt.speculative.ngram_info",
    "RaggedVerifyLayout": "sglang.srt.speculative.ragged_verify",
    "SpeculativeAlgorithm": "sglang.srt.speculative.spec_info",
    "envs": "sglang.srt.environ",
    "record_stream_for_v2_verify": "sglang.srt.speculative.spec_utils",
    "HookRegistry": "sglang.srt.plugins.hook_registry",
    "HookType": "sglang.srt.plugins.hook_registry",
    "KVWriteLoc": "sglang.srt.mem_cache.memory_pool",
    "MHATokenToKVPool": "sglang.srt.mem_cache.memory_pool",
    "apply_token_bitmask_inplace_triton": "sglang.kernels.ops.grammar.bitmask_ops",
    "is_cpu": "sglang.srt.utils",
}

BATCH_HANDLED = "sglang.srt.managers.tokenizer_manager.TokenizerManager._handle_batch_request"
"""Answers a request for more than one text."""
REQUEST_ENTERED = "sglang.srt.managers.tokenizer_manager.TokenizerManager._init_req_state"
"""Notes a request among those that run, before anything is done for it; what it raises is answered 400."""
GRAMMAR_ASKED = "sglang.srt.constrained.grammar_manager.GrammarManager.process_req_with_grammar"
"""Asks the backend for a request's grammar, once it is known how many tokens the request may write."""
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
RESULTS_FIRST = "sglang.srt.managers.scheduler.Scheduler.is_disable_overlap_for_batch"
"""Decides whether a step's results are looked at before the next one is launched."""


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


def check_installed() -> str:
    """The installed release. Raises MissingExtra where there is none."""
    found = installed_version()
    if found is None:
        raise MissingExtra(f"sglang is not installed in this environment; run: {INSTALL}")
    return found


def check_version(device: Device, tell: Callable[[str], None] = _logger.warning) -> str:
    """The installed release, if it is one that can be served with on that device.

    Of a release that was tested nothing is looked at. Another one of the series, from the oldest tested on,
    has its sources read: all that is used here must be there. That takes some 2 s.

    Args:
        device: that the model is to run on.
        tell: what was not tested.

    Raises:
        MissingExtra: SGLang is not installed.
        EngineError: it is of another series, or lacks a place that is used here; all that it lacks are named.
    """
    found = check_installed()
    if device in TESTED.get(found, ()):
        return found
    known = " and ".join(f"{one} ({', '.join(devices)})" for one, devices in TESTED.items())
    series = _SERIES.fullmatch(found)
    if series is None or int(series[1]) < _OLDEST:
        problem = Problem(
            "sglang",
            f"tested are {known}; 0.5.{_OLDEST} and later 0.5.x may do",
            repr(found),
            f"run: {INSTALL}",
        )
        raise EngineError("this release of SGLang is not supported", [problem])
    missing = missing_places(device, name_places())
    if missing:
        problems = [Problem(place, reason, None, f"run: {INSTALL}") for place, reason in missing]
        raise EngineError(
            f"SGLang {found} is not one of those tested, {known}, and lacks what is used here", problems
        )
    tell(f"SGLang {found} was not tested on {device}; tested are {known}. All that is used of it is there.")
    return found


def name_places() -> list[str]:
    """The places of the names that this module gives."""
    return [f"{module}:{name}" for name, module in _MODULES.items()]


def add_backend(factory: Any) -> None:
    """Register the grammar backend and let ``--grammar-backend`` take its name. Idempotent."""
    arguments = import_module("sglang.srt.server_args")
    __getattr__("register_grammar_backend")(BACKEND_NAME, factory)
    if BACKEND_NAME not in arguments.GRAMMAR_BACKEND_CHOICES:
        arguments.add_grammar_backend_choices([BACKEND_NAME])


def is_first_rank() -> bool:
    """True in one of the schedulers that compute the same tokens together."""
    return bool(_runtime().get_parallel().tp_rank == 0)


def tensor_ranks() -> Any:
    """The group of the schedulers that compute the same tokens together, this one included."""
    return _runtime().get_parallel().tp_group


def chat_handler(app: Any) -> Any:
    """What serves chat completions in an app of SGLang's."""
    return app.state.openai_serving_chat


def requires_reasoning(handler: Any, template_options: Mapping[str, Any]) -> bool:
    """True if a model thinks before it answers a chat, as the handler of chat completions decides it."""
    request = SimpleNamespace(
        chat_template_kwargs=dict(template_options), reasoning_effort=template_options.get("reasoning_effort")
    )
    return bool(handler._get_reasoning_from_request(request))  # noqa: SLF001


def http_app() -> Any | None:
    """The app that SGLang serves over HTTP; None in a process that serves none."""
    module = sys.modules.get(_HTTP_SERVER)
    return None if module is None else module.app


def setting(server_args: Any, name: str) -> Any:
    """A setting that the server runs with; newer releases keep it apart from what was asked for."""
    overrides = import_module("sglang.srt.arg_groups.overrides")
    if hasattr(overrides, "resolution_result"):
        found = overrides.resolution_result(server_args, name)
        if found is not None:
            return found
    return getattr(server_args, name)


def override(server_args: Any, values: Mapping[str, Any]) -> None:
    """Change settings of a running server."""
    owner = server_args if hasattr(server_args, "override") else _runtime().get_context()
    owner.override("factorspec", **values)


def graph_sizes(server_args: Any) -> Any:
    """The part of the settings that says for how many requests decodes are captured; None: they are not."""
    config = (
        server_args.cuda_graph_config
        if hasattr(server_args, "override")
        else _runtime().get_exec().graph.cuda_graph_config
    )
    if config is None or config.decode.backend == __getattr__("Backend").DISABLED:
        return None
    return config.decode


def most_draft_tokens(*arguments: Any) -> int:
    """The most inputs that a request may have in a step; ``arguments``: of the hook ``EXTRA_POSITIONS``."""
    found = (
        arguments[0].max_speculative_num_draft_tokens
        if arguments
        else _runtime().max_speculative_num_draft_tokens()
    )
    return found or 0


def no_decode_graphs() -> Any:
    """What SGLang's capture of decodes returns where it captured none."""
    module = import_module("sglang.srt.model_executor.model_runner_components.cuda_graph_setup")
    if hasattr(module, "DecodeGraphCapture"):
        return module.DecodeGraphCapture(runner=None, graph_mem_usage=0)
    return module.GraphCapture(runner=None, memory_phase="target_verify", memory_usage_gb=0, capture_time=0)


def set_mask(info: Any, rows: Any, apply_rows: Callable[..., None]) -> None:
    """Have ``info.apply_logits_bias`` apply mask rows; None: no mask.

    Args:
        info: SGLang's settings of the rows to draw.
        rows: (rows, words) int32.
        apply_rows: takes ``logits`` and ``vocab_mask``.
    """
    if not hasattr(info, "grammar_mask"):
        info.vocab_mask, info.apply_mask_func = rows, apply_rows
        return
    base = import_module("sglang.srt.constrained.base_grammar_backend")
    handle = SimpleNamespace(apply_vocab_mask=apply_rows)
    info.grammar_mask = None if rows is None else base.GrammarMask(handle, rows)


def add_logprobs(batch: Any, output: Any, tokens: Any, rows: Any) -> None:
    """Put the logprobs of tokens into a step's output.

    Args:
        batch: of the step.
        output: with the logits; changed.
        tokens: (B,) int64.
        rows: (B, 1) int64, the row of logits of each.
    """
    module = import_module("sglang.srt.layers.logprob_processor")
    if hasattr(module, "compute_spec_v2_logprobs"):
        module.compute_spec_v2_logprobs(batch, output, tokens, rows, 0)
    else:
        module.compute_spec_logprobs(batch, output, tokens, accept_index=rows)


def looks_at_results_first(batch: Any) -> bool:
    """True if the release looks at a step's results before it launches a batch that grammars constrain.

    Later ones write its tokens to the grammars while the device computes, where the algorithm does it itself.
    """
    return not hasattr(batch, "grammar_needs_sync")


def resolve_tokens(scheduler: Any, result: Any, batch: Any) -> Any:
    """Write a verify step's tokens to the grammars, as SGLang does when it looks at the results."""
    return getattr(scheduler.batch_result_processor, VERIFY_RESOLVED.rpartition(".")[2])(result, batch)


def num_written(request: Any) -> int:
    """Tokens of a request's answer so far, those included whose results are not looked at yet."""
    committed = getattr(request, "kv_committed_len", None)
    if committed is None:
        committed = request.kv.kv_committed_len
    return max(len(request.output_ids), int(committed) + 1 - len(request.origin_input_ids))


def wait_for_the_end(model_runner: Any) -> None:
    """Have SGLang's other stream wait for a whole step, and not only until a decode has read its inputs."""
    for name in ("shared_read_done_event", "war_fastpath_read_done_event"):
        if hasattr(model_runner, name):
            setattr(model_runner, name, None)


def _runtime() -> Any:
    return import_module("sglang.srt.runtime_context")
