"""Entry point of the group ``sglang.srt.platforms``: SGLang on machines without CUDA.

SGLang's CPU engine imports ``sgl_kernel``, whose wheel needs a CUDA driver. Its platforms are looked up
before anything imports that, in every process: here a stand-in takes its place, with the functions that a
server on torch's own attention calls (``cpu_kernels.py``). Any other function of it raises when it is
called.

Acts with ``SGLANG_USE_CPU_ENGINE=1`` alone, and not where ``sgl_kernel`` can be imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn

_NAME = "sgl_kernel"
# The modules that SGLang imports on every machine; it has code of its own for where others are missing.
_MODULES = frozenset(
    f"{_NAME}{module}"
    for module in (
        "", ".allreduce", ".elementwise", ".flash_attn", ".gemm", ".kvcacheio", ".mamba", ".moe", ".sampling",
        ".speculative", ".utils",
    )
)  # fmt: skip


def activate() -> None:
    """Put the stand-in in place where it is needed. Returns None: SGLang takes its own CPU platform."""
    if os.environ.get("SGLANG_USE_CPU_ENGINE") != "1" or _is_usable():
        return
    for name in [name for name in sys.modules if name.split(".")[0] == _NAME]:
        del sys.modules[name]
    os.environ.setdefault("SGLANG_NCCL_SO_PATH", os.devnull)  # else ranks look for their GPUs to connect them
    sys.meta_path.insert(0, _Finder())


def _is_usable() -> bool:
    """True if the real package has its CPU operators, or the stand-in is there already."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return True
    try:
        import sgl_kernel  # noqa: F401
        import torch
    except (ImportError, OSError, RuntimeError):
        return False
    return hasattr(torch.ops.sgl_kernel, "convert_weight_packed")


class _Finder:
    """Finds and loads the stand-in."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The stand-in's spec; None for other modules."""
        if name not in _MODULES:
            return None
        return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """An empty stand-in."""
        return _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Put the functions in."""
        from factorspec_server.sglang import cpu_kernels

        if module.__name__ in cpu_kernels.FUNCTIONS:
            vars(module).update({each.__name__: each for each in cpu_kernels.FUNCTIONS[module.__name__]})
        vars(module).setdefault("__version__", "0.0.0")


class _StandIn(ModuleType):
    """A module that has any function; those that it lacks raise when they are called."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _missing(f"{self.__name__}.{name}")


def _missing(name: str) -> Callable[..., NoReturn]:
    def call(*_: object, **__: object) -> NoReturn:
        raise NotImplementedError(
            f"{name} has no CPU version in factorspec; use a machine with CUDA for this"
        )

    return call
