"""The conversation of a call, checked before anything is sent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from factorspec_sdk.client.transport import JsonObject
from factorspec_sdk.errors import DeclarationError, JsonValue, Problem, reason_of, shown

_HINT = "give a text, or a list of messages such as {'role': 'user', 'content': '...'}"


def turns_of(messages: str | Iterable[Mapping[str, JsonValue]]) -> list[JsonObject]:
    """The messages as a request holds them; a text is one of the user.

    Raises:
        DeclarationError: these are no messages, or what one holds cannot be sent as JSON.
    """
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    if not _is_listed(messages):
        problem = Problem("messages", "are no conversation", shown(messages), _HINT)
        raise DeclarationError("the conversation cannot be sent", [problem])
    listed = list(messages)
    problems = list(_problems(listed))
    if problems:
        raise DeclarationError("the conversation cannot be sent", problems)
    return [dict(message) for message in listed]


def _is_listed(messages: object) -> bool:
    return isinstance(messages, Iterable) and not isinstance(messages, bytes | Mapping)


def _problems(messages: Iterable[object]) -> Iterator[Problem]:
    for at, message in enumerate(messages):
        place = f"messages[{at}]"
        if not isinstance(message, Mapping):
            yield Problem(place, "is no message", shown(message), _HINT)
            continue
        try:
            json.dumps(dict(message), ensure_ascii=False).encode()
        except UnicodeEncodeError:
            yield Problem(place, "holds half a surrogate pair", shown(message), "leave it out")
        except (TypeError, ValueError, RecursionError) as error:
            yield Problem(place, f"cannot be sent as JSON: {reason_of(str(error))}", shown(message))
