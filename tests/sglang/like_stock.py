"""Requests without a grammar, asked of SGLang with and without our plugin: the answers are to be the same.

Asked one at a time, in this order, over SGLang's own ``/generate``.
"""

from __future__ import annotations

import json
import urllib.request
from typing import Any

Answer = dict[str, Any]

_TRIP = "A trip through the north of Europe begins in Oslo, where"
#: of each step, so that it can be told where two tokens were as good as equal
_TOLD = {"return_logprob": True, "top_logprobs_num": 2}


def _greedy(text: str = _TRIP, tokens: int = 32, **sampling: Any) -> dict[str, Any]:
    return {
        "text": text,
        **_TOLD,
        "sampling_params": {"temperature": 0, "max_new_tokens": tokens, **sampling},
    }


#: name -> request; the sampled one comes first, when no number has been drawn yet
REQUESTS: dict[str, dict[str, Any]] = {
    "sampled": {
        "text": _TRIP,
        "sampling_params": {"temperature": 0.8, "top_p": 0.9, "top_k": 40, "max_new_tokens": 32},
    },
    "greedy": _greedy(),
    "without logprobs": {"text": _TRIP, "sampling_params": {"temperature": 0, "max_new_tokens": 32}},
    "again, from the cache": _greedy(),
    "a longer prompt, in part from the cache": _greedy(f"{_TRIP} the harbour is full of ships and"),
    "logprobs of the prompt": {
        **_greedy("The capital of France is Paris. The capital of Italy is", 4),
        "logprob_start_len": 0,
        "token_ids_logprob": [1, 2, 3],
    },
    "one of a kind": _greedy(temperature=0.9, top_k=1),
    "penalties": _greedy(frequency_penalty=0.7, presence_penalty=0.4),
    "repetition": _greedy(repetition_penalty=1.3),
    "biased": _greedy(logit_bias={"28": 4.0, "30": -50.0}),
    "at least": _greedy("The end.", 40, min_new_tokens=24),
    "stop string": _greedy("1, 2, 3, 4,", stop=[" 8", "nothing of this"]),
    "stop string, kept": {**_greedy("1, 2, 3, 4,", stop=[" 9,"], no_stop_trim=True)},
    "stop token": _greedy("One. Two. Three.", stop_token_ids=[30]),
    "on and on": _greedy("List of words: tree, house,", 96, ignore_eos=True),
    "n": {
        **_greedy("Once upon a time", 12),
        "sampling_params": {"temperature": 0, "max_new_tokens": 12, "n": 3},
    },
}


def ask(root: str, request: dict[str, Any], timeout_s: float = 300.0) -> Any:
    """What ``/generate`` answers: an object, a list for more than one choice."""
    sent = urllib.request.Request(
        f"{root}/generate", json.dumps(request).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(sent, timeout=timeout_s) as answer:
        return json.load(answer)


def ask_all(root: str) -> dict[str, list[Answer]]:
    """All requests, one at a time; their choices."""
    found: dict[str, list[Answer]] = {}
    for name, request in REQUESTS.items():
        answer = ask(root, request)
        found[name] = answer if isinstance(answer, list) else [answer]
    return found


def difference(found: Answer, stock: Answer, *, logprobs_within: float) -> str | None:
    """What differs from stock's answer to the same greedy request; None: nothing.

    Where stock's two best tokens are within ``logprobs_within`` of each other either may come, and nothing
    behind is compared. The first token's logprob may be missing of a request that was taken back: stock loses
    it, too.
    """
    tokens, wanted = (each["output_ids"] for each in (found, stock))
    at = next((at for at, pair in enumerate(zip(tokens, wanted, strict=False)) if pair[0] != pair[1]), None)
    if at is not None and _gap(stock, at) <= logprobs_within:
        return None
    if at is not None or len(tokens) != len(wanted):
        return f"tokens differ from {at}: {tokens} instead of {wanted}, {_gap(stock, at or 0)} apart"
    if found["text"] != stock["text"]:
        return f"the text is {found['text']!r} instead of {stock['text']!r}"
    ours, theirs = found["meta_info"], stock["meta_info"]
    for name in ("finish_reason", "prompt_tokens", "completion_tokens"):
        if ours[name] != theirs[name]:
            return f"{name} is {ours[name]} instead of {theirs[name]}"
    counts = [len(each.get("output_token_logprobs") or ()) for each in (ours, theirs)]
    lost = int(bool(ours["num_retractions"]) and counts[0] + 1 == counts[1])
    for name, first in (
        ("output_token_logprobs", lost),
        ("input_token_logprobs", 0),
        ("output_top_logprobs", lost),
        ("output_token_ids_logprobs", lost),
    ):
        wanted = theirs.get(name)
        far = _farther(ours.get(name), wanted and wanted[first:], logprobs_within)
        if far is not None:
            return f"{name}: {far}"
    return None


def _gap(stock: Answer, at: int) -> float:
    """How far apart the two best tokens of a step were; infinite where stock did not say."""
    top = stock["meta_info"].get("output_top_logprobs") or []
    if at >= len(top):
        return float("inf")
    best, second = sorted((one[0] for one in top[at]), reverse=True)[:2]
    return float(best - second)


def _farther(ours: Any, theirs: Any, within: float) -> str | None:
    """Where two lists of logprobs differ by more than ``within``."""
    if isinstance(theirs, list) and isinstance(ours, list) and len(ours) == len(theirs):
        for mine, other in zip(ours, theirs, strict=True):
            if (found := _farther(mine, other, within)) is not None:
                return found
        return None
    if isinstance(theirs, float) and isinstance(ours, float):
        return None if abs(ours - theirs) <= within else f"{ours} instead of {theirs}"
    return None if ours == theirs else f"{ours} instead of {theirs}"
