"""What the options of a call may be. A value that is none of these is an error, never taken for another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import TYPE_CHECKING, Literal, get_args

from factorspec_sdk.errors import DeclarationError, Problem, shown

if TYPE_CHECKING:
    from factorspec_sdk.client.exchange import Options

#: what the server does where a budget ends in mid-record
OnBudget = Literal["narrow", "abort"]
#: how a record is made sure to be valid; see ``Client.generate``
Strategy = Literal["auto", "constrained", "retry", "repair", "determined"]
#: what ``auto`` may do where the server does not enforce the spec
Fallback = Literal["retry", "repair"]
#: what the embedded engine drafts; changes speed, never output
Drafting = Literal["auto", "off", "certain", "chain", "branches", "text", "tree"]

_GUESSING_NOTHING = ("off", "certain")
_MOST_WIDTH = 256
_CHOICES: Mapping[str, tuple[object, ...]] = {
    "strategy": ("auto", "constrained", "retry", "repair", "determined"),
    "fallback": (None, "retry", "repair"),
    "on_budget": ("narrow", "abort"),
    "origins": (False, True),
    "canonical_text": (False, True),
    "skip_model": (False, True),
}
_NUMBERS = {
    "max_tokens": "an integer from 1 on, or None",
    "max_answers": "an integer from 1 on",
    "temperature": "a number from 0 on",
    "top_p": "a number above 0 and at most 1",
    "seed": "an integer, or None",
}


def check_options(options: Options) -> None:
    """All values of a call's options.

    Raises:
        DeclarationError: some are none that there are; all of them are named.
    """
    problems = list(_problems(options))
    if problems:
        raise DeclarationError("the record cannot be asked for like this", problems)


def check_drafting(drafting: object, width: object) -> None:
    """What an engine in this process shall draft.

    Raises:
        DeclarationError: there is no such drafting, or no such width for it.
    """
    problems = []
    names = get_args(Drafting)
    if drafting not in names:
        problems.append(Problem("drafting", f"must be one of {', '.join(map(repr, names))}", shown(drafting)))
    if width is not None and drafting in _GUESSING_NOTHING:
        hint = "leave it out, or take another drafting"
        problems.append(Problem("width", f"has no meaning where {drafting} guesses nothing", hint=hint))
    elif width is not None and not (type(width) is int and 1 <= width <= _MOST_WIDTH):
        problems.append(
            Problem("width", f"must be an integer from 1 to {_MOST_WIDTH}, or None", shown(width))
        )
    if problems:
        raise DeclarationError("the engine cannot draft like this", problems)


def _problems(options: Options) -> Iterator[Problem]:
    for name, choices in _CHOICES.items():
        value = getattr(options, name)
        if not any(value is one or (isinstance(one, str) and value == one) for one in choices):
            yield Problem(name, f"must be one of {', '.join(map(repr, choices))}", shown(value))
    for name, allowed in _NUMBERS.items():
        value = getattr(options, name)
        if not _is_number_for(name, value):
            yield Problem(name, f"must be {allowed}", shown(value))
    prompting = options.prompting
    if prompting not in ("auto", "rules", "form", "none") and not callable(prompting):
        message = "must be one of 'auto', 'rules', 'form', 'none', or a function of the spec"
        yield Problem("prompting", message, shown(prompting))


def _is_number_for(name: str, value: object) -> bool:
    if value is None:
        return name in ("max_tokens", "seed")
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return False
    match name:
        case "temperature":
            return value >= 0
        case "top_p":
            return 0 < value <= 1
        case "seed":
            return isinstance(value, int)
        case _:
            return isinstance(value, int) and value >= 1
