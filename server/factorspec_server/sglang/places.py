"""Every private place of SGLang that is relied on, as ``source_places.py`` reads it.

Of places in brackets one is enough: that is where releases differ, and ``compat.py`` takes the one that is
there. What names SGLang exports itself (flags, endpoints) is not listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from factorspec_server.sglang.source_places import Sources, sources_of

_GRAMMARS = "sglang.srt.constrained.base_grammar_backend"
_SCHEDULE = "sglang.srt.managers.schedule_batch"
_SAMPLING = "sglang.srt.sampling.sampling_batch_info:SamplingBatchInfo"
_RUNNER = "sglang.srt.model_executor.model_runner:ModelRunner"
_GRAPHS = "sglang.srt.model_executor.runner.decode_cuda_graph_runner:DecodeCudaGraphRunner"
_SETUP = "sglang.srt.model_executor.model_runner_components.cuda_graph_setup"
_SPEC = "sglang.srt.speculative"


def _of(owner: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{owner}.{name}" for name in names)


_ALWAYS: tuple[str | tuple[str, ...], ...] = (
    # registering
    "sglang.srt.plugins.hook_registry:HookRegistry.register(target, hook, hook_type)",
    *_of("sglang.srt.plugins.hook_registry:HookRegistry", "_hooks"),
    *_of("sglang.srt.plugins.hook_registry:HookType", "AFTER", "AROUND", "BEFORE"),
    "sglang.srt.server_args:add_grammar_backend_choices",
    "sglang.srt.server_args:GRAMMAR_BACKEND_CHOICES",
    "sglang.srt.server_args:ServerArgs.check_server_args(self)",
    "sglang.srt.entrypoints.http_server:app",
    *_of("sglang.srt.managers.tokenizer_manager:TokenizerManager", "rid_to_state",
         "_handle_batch_request(obj, request)", "_init_req_state(obj)", "mm_processor", "model_config"),
    *_of("sglang.srt.managers.io_struct:GenerateReqInput", "rid", "parallel_sample_num", "is_single",
         "batch_size", "input_ids", "lora_path", "contains_mm_input", "__getitem__(i)"),
    # the grammar backend
    f"{_GRAMMARS}:register_grammar_backend(name, init_func)",
    f"{_GRAMMARS}:BaseGrammarBackend.get_cached_or_future_value(key, require_reasoning)",
    f"{_GRAMMARS}:BaseGrammarBackend._init_value_dispatch(key, require_reasoning)",
    f"{_GRAMMARS}:BaseGrammarBackend.set_cache(key, value)",
    f"{_GRAMMARS}:BaseGrammarBackend.reset",
    "sglang.srt.constrained.grammar_manager:GrammarManager.process_req_with_grammar(req)",
    f"{_GRAMMARS}:GrammarStats(dispatch_type, is_cache_hit)",
    *_of(f"{_GRAMMARS}:BaseGrammarObject", "accept_token(token)", "rollback(k)", "is_terminated", "finished",
         "allocate_vocab_mask(vocab_size, batch_size, device)", "fill_vocab_mask(vocab_mask, idx)",
         "move_vocab_mask(vocab_mask, device)", "apply_vocab_mask(logits, vocab_mask)", "copy"),
    "sglang.srt.constrained.xgrammar_backend:XGrammarGrammarBackend"
    "(tokenizer, vocab_size, model_eos_token_ids, any_whitespace)",
    "sglang.srt.constrained.xgrammar_backend:XGrammarGrammarBackend.dispatch_json(key_string)",
    "sglang.srt.constrained.xgrammar_backend:XGrammarGrammarBackend.dispatch_structural_tag(key_string)",
    "sglang.srt.constrained.reasoner_grammar_backend:ReasonerGrammarBackend(enable_strict_thinking)",
    "sglang.srt.parser.reasoning_parser:ReasoningParser(model_type, stream_reasoning, tokenizer)",
    *_of(f"{_SCHEDULE}:Req", "extra_key", "set_finish_with_abort(error_msg)"),
    "sglang.srt.runtime_context:get_parallel",
    *_of("sglang.srt.distributed.parallel_state:GroupCoordinator", "cpu_group", "device_group", "first_rank",
         "is_first_rank"),
    # answers that may call tools
    *_of("sglang.srt.entrypoints.openai.serving_chat:OpenAIServingChat", "tokenizer_manager",
         "template_manager", "reasoning_parser", "default_sampling_params",
         "_get_reasoning_from_request(request)"),
    "sglang.srt.managers.io_struct:GenerateReqInput"
    "(input_ids, sampling_params, stream, require_reasoning, priority, extra_key)",
    # the speculative algorithm
    f"{_SPEC}.spec_info:SpeculativeAlgorithm.register(name, supports_overlap, spec_class)",
    f"{_SPEC}.spec_info:SpeculativeAlgorithm.from_string",
    *_of(f"{_SPEC}.spec_registry:CustomSpecAlgo", "handle_server_args(server_args)", "is_ngram",
         "has_draft_kv", "get_num_tokens_per_req_for_target_verify(num_draft_tokens, is_draft_worker)",
         "supports_ragged_verify"),
    "sglang.srt.managers.overlap_utils:FutureMap"
    "(device, spec_algo, req_to_token_pool, needs_cpu_seq_lens, needs_confidence_relay)",
    (f"{_SETUP}:DecodeGraphCapture(runner, graph_mem_usage)",
     f"{_SETUP}:GraphCapture(runner, memory_phase, memory_usage_gb, capture_time)"),
    f"{_SETUP}:capture_decode_graph(model_runner)",
    "sglang.srt.layers.logits_processor:LogitsMetadata.from_forward_batch(forward_batch)",
    "sglang.srt.layers.logits_processor:LogitsMetadata.draft_extend_select_index",
    "sglang.srt.mem_cache.allocation_sizing:get_req_to_token_extra_context_len",
    ("sglang.srt.server_args:ServerArgs.max_speculative_num_draft_tokens",
     "sglang.srt.runtime_context:max_speculative_num_draft_tokens"),
    # the worker
    *_of(f"{_SPEC}.base_spec_worker:BaseSpecWorker", "target_worker", "draft_worker",
         "init_attention_backends", "init_cuda_graphs",
         "on_verify_complete_cpu(num_correct_drafts_per_req, batch_size)"),
    f"{_SPEC}.spec_utils:record_stream_for_v2_verify(batch, verify_input, fwd_stream)",
    f"{_SPEC}.ngram_info:NgramVerifyInput"
    "(draft_token, positions, draft_token_num, new_seq_lens, accept_tokens, accept_lens)",
    "sglang.srt.managers.tp_worker:TpModelWorker.forward_batch_generation(batch, is_verify)",
    "sglang.srt.managers.scheduler:GenerationBatchResult(logits_output, next_token_ids, can_run_cuda_graph, "
    "accept_lens, new_seq_lens, next_draft_input, speculative_num_draft_tokens)",
    *_of("sglang.srt.managers.scheduler_components.batch_result_processor:SchedulerBatchResultProcessor",
         "model_worker", "_resolve_spec_v2_tokens(result, batch)",
         "process_batch_result_prefill(batch, result)"),
    *_of("sglang.srt.managers.scheduler:Scheduler", "is_disable_overlap_for_batch(batch, last_batch)",
         "result_queue", "batch_result_processor"),
    (f"{_SCHEDULE}:Req.kv_committed_len", f"{_SCHEDULE}:Req.kv"),
    *_of("sglang.srt.model_executor.forward_batch_info:ForwardMode", "DECODE", "TARGET_VERIFY", "is_decode",
         "is_target_verify"),
    "sglang.srt.model_executor.forward_batch_info:CaptureHiddenMode.NULL",
    *_of(_RUNNER, "attn_backend", "decode_cuda_graph_runner", "spec_algorithm", "sampler", "model_config",
         "device", "server_args"),
    (*_of(_RUNNER, "war_fastpath_read_done_event"), *_of(_RUNNER, "shared_read_done_event")),
    "sglang.srt.layers.sampler:Sampler.forward"
    "(logits_output, sampling_info, return_logprob, top_logprobs_nums, token_ids_logprobs, positions)",
    *_of(_SAMPLING, "temperatures", "top_ps", "top_ks", "min_ps", "sampling_seed", "logit_bias",
         "acc_additive_penalties", "acc_scaling_penalties", "has_custom_logit_processor",
         "return_sampling_masks", "apply_logits_bias(logits)"),
    (f"{_GRAMMARS}:GrammarMask(grammar, vocab_mask)", *_of(_SAMPLING, "apply_mask_func")),
    ("sglang.srt.layers.logprob_processor:compute_spec_v2_logprobs"
     "(batch, logits_output, predict, accept_index, speculative_num_steps)",
     "sglang.srt.layers.logprob_processor:compute_spec_logprobs"
     "(batch, logits_output, predict, accept_index)"),
    *_of(f"{_SCHEDULE}:ScheduleBatch", "reqs", "seq_lens", "seq_lens_cpu", "seq_lens_sum", "forward_mode",
         "sampling_info", "has_grammar", "return_logprob", "spec_info", "input_ids", "out_cache_loc",
         "req_pool_indices", "req_to_token_pool"),
    *_of(f"{_SCHEDULE}:Req", "grammar", "to_finish", "finished", "sampling_params", "output_ids",
         "origin_input_ids", "return_logprob", "kv", "is_retracted"),
    f"{_SCHEDULE}:FINISH_ABORT(message)",
    *_of("sglang.srt.sampling.sampling_params:SamplingParams", "max_new_tokens", "min_new_tokens",
         "stop_strs", "stop_regex_strs", "stop_token_ids", "frequency_penalty",
         "presence_penalty", "repetition_penalty"),
    "sglang.srt.model_executor.cuda_graph_config:Backend.DISABLED",
    # branches
    f"{_SPEC}.base_spec_worker:BaseSpecWorker.alloc_memory_pool",
    *_of("sglang.srt.mem_cache.memory_pool:MHATokenToKVPool", "k_buffer", "v_buffer",
         "move_kv_cache(tgt_loc, src_loc)", "use_native_move_kv_cache", "_kv_copy_config"),
    *_of(_RUNNER, "req_to_token_pool", "token_to_kv_pool", "max_running_requests"),
    "sglang.srt.mem_cache.memory_pool:ReqToTokenPool.req_to_token",
    *_of(f"{_SCHEDULE}:ScheduleBatch", "orig_seq_lens", "multimodal_inputs"),
)  # fmt: skip
_ON_CPU: tuple[str | tuple[str, ...], ...] = (
    "sglang.srt.constrained.xgrammar_backend:XGrammarGrammar.apply_vocab_mask(logits, vocab_mask)",
    "sglang.srt.layers.attention.torch_native_backend:TorchNativeAttnBackend.forward_extend"
    "(q, k, v, layer, forward_batch, save_kv_cache)",
    *_of("sglang.srt.layers.attention.torch_native_backend:TorchNativeAttnBackend", "token_to_kv_pool",
         "req_to_token_pool", "swa_out_cache_loc"),
    "sglang.srt.mem_cache.memory_pool:KVWriteLoc",
)  # fmt: skip
_ON_CUDA: tuple[str | tuple[str, ...], ...] = (
    "sglang.kernels.ops.grammar.bitmask_ops:apply_token_bitmask_inplace_triton",
    f"{_SPEC}.ragged_verify:RaggedVerifyLayout._assemble_device"
    "(verify_lens, graph_num_tokens, verify_lens_cpu, total_verify_tokens)",
    f"{_RUNNER}._get_attention_backend(init_new_workspace)",
    *_of(_RUNNER, "init_new_workspace", "graph_shared_output"),
    f"{_GRAPHS}(model_runner, attn_backend, speculative_num_steps, speculative_num_draft_tokens)",
    *_of(_GRAPHS, "get_spec_info(num_tokens)", "captured_req_width", "capture_forward_mode", "buffers",
         "max_bs", "device", "ragged_verify_mode", "capture_num_tokens", "capture_bs", "backend",
         "_ragged_capture_slots(num_tokens)",
         "_capture_ragged_verify_layout(num_tokens)", "_build_ragged_verify_token_buckets",
         "_capture_one_stream(stream_idx)", "capture_one_shape(size, forward, stream_idx, variant_label)",
         "capture_prepare", "_make_graph_key(size, stream_idx, variant_label)",
         "_resolve_lora_variant(forward_batch)"),
    "sglang.srt.model_executor.graph_shared_output:GraphSharedOutput.get_logits_buffer(vocab_size, rows)",
    ("sglang.srt.server_args:ServerArgs.override(source)",
     "sglang.srt.runtime_context:RuntimeContext.override(source)"),
)  # fmt: skip


def missing_places(
    device: Literal["cpu", "cuda"], names: Iterable[str] = (), sources: Sources | None = None
) -> list[tuple[str, str]]:
    """What is not there: (place, what is missing).

    Args:
        device: that models run on.
        names: further places.
        sources: to look in; None: the installed ones.
    """
    found = sources or sources_of("sglang")
    if found is None:
        return [("sglang", "has no sources to look in")]
    return list(_missing(found, (*names, *_ALWAYS, *(_ON_CPU if device == "cpu" else _ON_CUDA))))


def _missing(sources: Sources, places: Iterable[str | tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    for place in places:
        choices = (place,) if isinstance(place, str) else place
        lacks = [sources.lacks(each) for each in choices]
        if None not in lacks:
            yield " or ".join(choices), "; ".join(str(each) for each in lacks)
