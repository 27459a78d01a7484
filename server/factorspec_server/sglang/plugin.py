"""Entry point of the group ``sglang.srt.plugins``: registers what SGLang asks for by name.

SGLang calls ``register`` in its main process and in each scheduler. It imports nothing that the process does
not import anyway, and a server that does not name the grammar backend never meets the rest.
"""

from __future__ import annotations

import logging
import os
from typing import Any

from factorspec_sdk.errors import EngineError
from factorspec_server.sglang import compat
from factorspec_server.sglang.asked_salt import grammar_asked
from factorspec_server.sglang.dropped_names import batch_handled
from factorspec_server.sglang.entered import request_entered

_logger = logging.getLogger(__name__)


def register() -> None:
    """Register what SGLang lacks. Does nothing a second time, or beside a release that cannot be used.

    Errors are logged: SGLang goes on without a plugin that fails.
    """
    try:
        compat.check_version("cpu" if os.environ.get("SGLANG_USE_CPU_ENGINE") == "1" else "cuda")
    except EngineError as error:
        _logger.error("factorspec is not available: %s", error)
        return
    compat.add_backend(_make_backend)
    _hook(compat.ARGUMENTS_CHECKED, _arguments_checked, compat.HookType.AFTER)
    _hook(compat.GRAMMAR_ASKED, grammar_asked, compat.HookType.AROUND)
    _hook(compat.GRAMMAR_ASKED, _room_told, compat.HookType.BEFORE)
    _hook(compat.BATCH_HANDLED, batch_handled, compat.HookType.AROUND)
    _hook(compat.REQUEST_ENTERED, request_entered, compat.HookType.BEFORE)
    _add_algorithm()
    if compat.is_cpu():
        _fill_gaps_on_cpu()


def _make_backend(server_args: Any, tokenizer: Any, vocab_size: int, eos_token_ids: Any) -> Any:
    from factorspec_server.sglang.backend import make_backend

    return make_backend(server_args, tokenizer, vocab_size, eos_token_ids)


def _room_told(manager: Any, req: Any) -> None:
    from factorspec_server.sglang.room import room_told

    room_told(manager, req)


def _arguments_checked(result: object, server_args: Any) -> None:
    """Look at our own settings, before a model is loaded, and let answers over HTTP say what was enforced.

    Raises:
        ValueError: an environment variable has a wrong value.
    """
    if compat.setting(server_args, "grammar_backend") != compat.BACKEND_NAME:
        return
    from factorspec_server.sglang.service_settings import ServiceSettings

    ServiceSettings.read(os.environ, str(compat.setting(server_args, "device")))
    app = compat.http_app()
    if app is None:
        return
    if compat.setting(server_args, "tokenizer_worker_num") > 1:
        _logger.warning("with --tokenizer-worker-num above 1 answers do not say which spec was enforced")
        return
    from factorspec_server.sglang.answers import attach

    attach(app)


def _add_algorithm() -> None:
    from factorspec_server.sglang.algorithm import add_algorithm

    add_algorithm()


def _fill_gaps_on_cpu() -> None:
    from factorspec_server.sglang.cpu_attention import forward_extend
    from factorspec_server.sglang.cpu_masks import apply_vocab_mask

    _hook(compat.XGRAMMAR_MASK, apply_vocab_mask, compat.HookType.AROUND)
    _hook(compat.NATIVE_ATTENTION, forward_extend, compat.HookType.AROUND)


def _hook(place: str, hook: Any, kind: Any) -> None:
    """Register a hook, once."""
    registry = compat.HookRegistry
    if not any(known is hook for _, known, _ in registry._hooks.get(place, ())):  # noqa: SLF001
        registry.register(place, hook, kind)
