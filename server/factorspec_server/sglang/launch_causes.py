"""Why SGLang ended before it answered, told from what it said: one sentence, and what to do about it.

Its processes write some hundred lines before they end: tracebacks of each, and what follows from them. Known
causes have words of their own; of others the last exception is told that is not a consequence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from factorspec_sdk.errors import EngineError, ModelNotFound

_SHOWN_CHARS = 400
_SHOWN_LINES = 12
_KILLED = -9


class FlagError(Exception):
    """SGLang's own flags are wrong."""


def _flags(found: str) -> Exception:
    hint = "`sglang serve --help` lists them"
    return FlagError(f"SGLang does not take its flags: {_shortened(found).rstrip('.')}; {hint}")


def _memory(found: str) -> Exception:
    return EngineError(
        f"too little memory: {found}; lower --context-length, --max-total-tokens or "
        "--mem-fraction-static (behind the --), or take a smaller model"
    )


def _no_room(found: str) -> Exception:
    return EngineError(
        f"too little memory for keys and values: {found}; raise --mem-fraction-static or --max-total-tokens "
        "(behind the --), or take a smaller model"
    )


def _model(found: str) -> Exception:
    hint = "name a folder that holds it, or a model that this machine can download (HF_TOKEN: for gated ones)"
    return ModelNotFound(f"SGLang cannot load the model: {found.rstrip('.')}; {hint}")


#: what SGLang says before it ends -> the error for it
_CAUSES: tuple[tuple[re.Pattern[str], Callable[[str], Exception]], ...] = (
    (
        re.compile(r"error: ((?:unrecognized arguments|argument|ambiguous option|the following).*)"),
        _flags,
    ),
    (
        re.compile(r"ValueError: (--speculative-algorithm FACTORSPEC cannot go with .*)"),
        lambda found: FlagError(f"{found}; leave it out, or add --drafting off"),
    ),
    (
        re.compile(
            r"((?:\S+OutOfMemoryError|CUDA out of memory|Cannot allocate memory|.*DefaultCPUAllocator: "
            r"can't allocate memory|MemoryError).*)"
        ),
        _memory,
    ),
    (re.compile(r"(Not enough memory.*)"), _no_room),
    (
        re.compile(
            r"((?:OSError|HFValidationError|.*RepositoryNotFoundError|.*LocalEntryNotFoundError"
            r"|.*SafetensorError|.*not a valid model identifier|.*couldn't connect to"
            r"|.*Cannot find any model weights|.*Cannot find model module"
            r"|.*Model architectures .* are not supported).*)"
        ),
        _model,
    ),
    (
        re.compile(r"(No CUDA GPUs are available|Found no NVIDIA driver.*|Torch not compiled with CUDA.*)"),
        lambda found: EngineError(f"{found}; add --device cpu to serve on this machine's processor"),
    ),
    (
        re.compile(r"(.*[Aa]ddress already in use.*)"),
        lambda found: EngineError(f"the port is in use: {found}; choose another --port"),
    ),
)
_EXCEPTION = re.compile(r"^(?:\[[^\]]*\] )?((?:\w+\.)*\w*(?:Error|Exception|Interrupt)\b: .+)")
#: exceptions that other processes raise when one has ended
_FOLLOWS = re.compile(
    r"BrokenPipeError|EOFError|ConnectionResetError|ConnectionRefusedError|KeyboardInterrupt"
    r"|Initialization failed\. Please see the error messages above"
)
_DIED = re.compile(r"(?:died|terminated|exit(?:ed)?)\b.* (?:exit code:? )?-9\b")


def cause_of(lines: Sequence[str], code: int) -> Exception:
    """The error to raise.

    Args:
        lines: what it said last.
        code: that it ended with.
    """
    for pattern, error in _CAUSES:
        for line in reversed(lines):
            if found := pattern.search(line):
                return error(_shortened(found[1]))
    exceptions = list(_exceptions(lines))
    if exceptions:
        return EngineError(f"SGLang ended with {code}: {exceptions[-1]}")
    if code == _KILLED or any(_DIED.search(line) for line in lines):
        return EngineError(
            "a process of SGLang was killed (signal 9), as the system does where memory runs out (`dmesg` "
            "tells); a smaller model needs less, or --max-total-tokens 8192 behind the --"
            f"\n{last(lines)}"
        )
    return EngineError(f"SGLang ended with {code}\n{last(lines)}")


def last(lines: Sequence[str]) -> str:
    """The last lines, to be shown below a sentence."""
    return "\n".join(f"  | {line[:300]}" for line in [*lines][-_SHOWN_LINES:])


def _exceptions(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        found = _EXCEPTION.match(line)
        if found is not None and not _FOLLOWS.search(line):
            yield _shortened(found[1])


def _shortened(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 1]}…"
