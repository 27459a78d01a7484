"""Settings of the speculative worker, and the server's settings that it refuses.

Environment variables, read when the server starts (SGLang's command line takes no flags of plugins):

=========================  ===================================================================================
``FACTORSPEC_WIDTHS``      widths of uniform steps, e.g. ``1,8,16,32,64,128``; the first is 1
``FACTORSPEC_RAGGED``      ``0``: no ragged steps; on CUDA only the attention backend ``fa3`` has them
``FACTORSPEC_DRAFTING``    what is drafted: ``off``, ``certain``, ``chain``, ``branches``, ``text``, ``tree``
                           (``drafting_policy``), or ``auto``: ``tree``, where that pays
``FACTORSPEC_GUESSES``     most guesses of a request in a step, behind one another; usual is 7
``FACTORSPEC_BREADTH``     most guesses at one place, of few requests: the others run in branches beside the
                           likeliest (``step_branches.py``), where steps are ragged; usual is 4, 1: none do
``FACTORSPEC_EARLIER``     ``0``: no guesses of what earlier records of the same spec wrote
``FACTORSPEC_ROWS``        most rows of logits in a step, on CUDA; usual is 256
``FACTORSPEC_AHEAD``       ``0``: no step is launched before the last one's tokens are known (``ahead.py``);
                           usual is 1 on CUDA; on CPU, where nothing runs beside, 0
``FACTORSPEC_STEP_LOG``    a file that gets a line for each verify step (``step_log.py``)
``FACTORSPEC_WORKERS``     processes that keep the records (``service_settings.py``); ``0``: the
                           scheduler does; usual is 1 on CPU, half of the cores up to 8 on CUDA
``FACTORSPEC_DEADLINE_S``  longest wait for one of them, in seconds; usual is 10
=========================  ===================================================================================
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from factorspec_sdk.errors import shown
from factorspec_server.drafting import DraftingSpec, PolicyName
from factorspec_server.settings import DraftingName

DRAFTING_VARIABLE = "FACTORSPEC_DRAFTING"
EARLIER_VARIABLE = "FACTORSPEC_EARLIER"
DRAFTINGS: tuple[DraftingName, ...] = (*get_args(PolicyName), "auto")

_GUESSES, _BREADTH, _ROWS = 7, 4, 256
_MOST = 999_999
#: seconds for which a plan of a tree may guess: steps wait for it twice as long, and not longer
_TREE_PATIENCE_S = 0.001
_LEAST_DRAWS = "SYNC_TOKEN_IDS_ACROSS_TP"
#: what ``auto`` is; guesses rest where they do not pay (``guess_gate.py``)
_BEST: PolicyName = "tree"

#: widths of uniform steps, and with them the most inputs of a request
_WIDTHS = (1, 8, 16, 32, 64, 128)


@dataclass(frozen=True, slots=True)
class Speculation:
    """See above.

    Attributes:
        widths: of uniform steps, ascending from 1.
        ragged: ragged steps too; None: where the machine can.
        drafting: what is drafted.
        guesses: most of a request in a step.
        rows: most rows of logits in a step.
        ahead: steps may be launched ahead; None: on CUDA.
        step_log: a file for what each step took.
        earlier: guesses may be what earlier records of the same spec wrote.
        breadth: most guesses at one place.
    """

    widths: tuple[int, ...] = _WIDTHS
    ragged: bool | None = None
    drafting: DraftingName = "auto"
    guesses: int = _GUESSES
    rows: int = _ROWS
    ahead: bool | None = None
    step_log: Path | None = None
    earlier: bool = True
    breadth: int = _BREADTH

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Speculation:
        """From environment variables.

        Raises:
            ValueError: one has no value that there is.
        """
        log = environment.get("FACTORSPEC_STEP_LOG")
        if log and not _can_be_file(Path(log)):
            raise ValueError(
                f"FACTORSPEC_STEP_LOG must be a file in a folder that is there, got {shown(log)}"
            )
        return cls(
            _widths(environment.get("FACTORSPEC_WIDTHS", "")),
            _switch(environment, "FACTORSPEC_RAGGED"),
            _drafting(environment.get(DRAFTING_VARIABLE, "auto")),
            guesses=_above_0(environment, "FACTORSPEC_GUESSES", _GUESSES),
            rows=_above_0(environment, "FACTORSPEC_ROWS", _ROWS),
            ahead=_switch(environment, "FACTORSPEC_AHEAD"),
            step_log=Path(log) if log else None,
            earlier=_switch(environment, EARLIER_VARIABLE) is not False,
            breadth=_above_0(environment, "FACTORSPEC_BREADTH", _BREADTH),
        )

    def trees(self, most: int) -> DraftingSpec | None:
        """What is drafted where branches run beside chains; None: branches are not wanted. See ``spec``."""
        spec = self.spec(most)
        if not spec.is_of_prompt or self.ragged is False or self.breadth == 1:
            return None
        return replace(spec, breadth=self.breadth, places=None, patience_s=_TREE_PATIENCE_S)

    def spec(self, most: int) -> DraftingSpec:
        """What is drafted: chains, which is what steps can run; ``most``: inputs of a request in a step."""
        name = _BEST if self.drafting == "auto" else self.drafting
        width = max(1, most - 1)
        return DraftingSpec(name=name, width=width, breadth=1, places=self.guesses, earlier=self.earlier)


def _switch(environment: Mapping[str, str], name: str) -> bool | None:
    text = environment.get(name, "")
    if text not in ("", "0", "1"):
        raise ValueError(f"{name} must be 0 or 1, got {shown(text)}")
    return text == "1" if text else None


def _has_least_draws(server_args: Any) -> bool:
    """True if SGLang has ranks agree on the least of the tokens that they draw; only the first one masks."""
    return server_args.tp_size > 1 and os.environ.get(_LEAST_DRAWS, "").lower() in ("1", "true")


def _drafting(given: str) -> DraftingName:
    for known in DRAFTINGS:
        if given == known:
            return known
    raise ValueError(f"{DRAFTING_VARIABLE} must be one of {', '.join(DRAFTINGS)}, got {shown(given)}")


def _above_0(environment: Mapping[str, str], name: str, usual: int) -> int:
    text = environment.get(name, "")
    if text and not (_is_number(text) and int(text)):
        raise ValueError(f"{name} must be a number from 1 to {_MOST}, got {shown(text)}")
    return int(text) if text else usual


def _widths(text: str) -> tuple[int, ...]:
    if not text:
        return _WIDTHS
    parts = text.split(",")
    widths = tuple(int(part) for part in parts if _is_number(part.strip()))
    if len(widths) != len(parts) or widths[:1] != (1,) or list(widths) != sorted(set(widths)):
        raise ValueError(
            f"FACTORSPEC_WIDTHS must be numbers that ascend from 1, such as 1,8,32, got {shown(text)}"
        )
    return widths


def _can_be_file(path: Path) -> bool:
    try:
        return path.parent.is_dir() and not path.is_dir()
    except OSError:  # a name that is too long
        return False


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= len(str(_MOST))


def most_inputs(device: str) -> int:
    """Most inputs of a request in a step, where the server's flags do not say."""
    return _WIDTHS[-1] if device == "cuda" else 64


def refusals(server_args: Any) -> list[str]:
    """The server's settings that would change answers or stop the server, each with what to do."""
    found = {
        "--pp-size above 1": server_args.pp_size > 1,
        "--ep-size above 1": getattr(server_args, "ep_size", 1) > 1,
        "--attn-cp-size above 1": getattr(server_args, "attn_cp_size", 1) > 1,
        "SYNC_TOKEN_IDS_ACROSS_TP: ranks draw what the first one does, leave it out": _has_least_draws(
            server_args
        ),
        "--enable-dp-attention": bool(getattr(server_args, "enable_dp_attention", False)),
        "--enable-return-hidden-states": bool(getattr(server_args, "enable_return_hidden_states", False)),
        "--enable-lora": bool(getattr(server_args, "enable_lora", False)),
        "--page-size above 1": (server_args.page_size or 1) > 1,
        "--enable-two-batch-overlap": bool(getattr(server_args, "enable_two_batch_overlap", False)),
        "--disaggregation-mode": getattr(server_args, "disaggregation_mode", "null") != "null",
        "--speculative-num-draft-tokens below 2": (server_args.speculative_num_draft_tokens or 2) < 2,
    }
    return [reason for reason, holds in found.items() if holds]
