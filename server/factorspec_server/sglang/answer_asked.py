"""A chat request whose answer may be more than one record: it offers tools with relations, say.

It is read as the embedded server reads it, so that both take and refuse the same. Besides that it may say
what SGLang takes: ``chat_template_kwargs``, ``priority`` and ``extra_key``. Tools without
relations are SGLang's own affair, unless the request has our vendor field: by that a client asks for what we
do.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from factorspec_sdk.errors import DocumentError, FactorspecError, JsonValue, Problem, shown
from factorspec_sdk.wire import Spec
from factorspec_server.http.chat_request import ChatRequest, read_chat_request
from factorspec_server.http.json_body import read_json_object
from factorspec_server.salts import salt_problems
from factorspec_server.sglang.envelope import asks_for_relations, may_ask_for_relations

_VENDOR_FIELD = "factorspec"
#: what a chat template is given in any case, so that a request must not give it
_OWN_OPTIONS = frozenset({
    "add_generation_prompt", "chat_template", "conversation", "documents", "messages", "padding",
    "return_dict", "return_tensors", "tokenize", "tools", "truncation",
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerAsked:
    """One request.

    Attributes:
        chat: as the embedded server reads it.
        specs: of the tools that it offers, by name.
        record: of its response format; None: there is none.
        template_options: variables for the chat template.
        priority: for SGLang's scheduler; None: none is asked for.
        extra_key: SGLang's name for a salt, beside ``chat.cache_salt``.
    """

    chat: ChatRequest
    specs: Mapping[str, Spec]
    record: Spec | None
    template_options: Mapping[str, JsonValue]
    priority: int | None
    extra_key: str | None

    @property
    def salt(self) -> str | None:
        """Both salts as SGLang joins them."""
        return ((self.chat.cache_salt or "") + (self.extra_key or "")) or None


class RefusedRequest(Exception):
    """A request that is refused.

    Attributes:
        error: why.
        chat: the request, as far as it could be read.
    """

    def __init__(self, error: FactorspecError, chat: ChatRequest | None) -> None:
        super().__init__(str(error))
        self.error = error
        self.chat = chat


def may_be_ours(body: bytes) -> bool:
    """False if a body is none of these requests. O(length) without reading it."""
    if b'"tools"' not in body and b'"refusal"' not in body:
        return False
    text = body.decode("utf-8", "replace")
    return f'"{_VENDOR_FIELD}"' in text or may_ask_for_relations(text)


def is_ours(request: Mapping[str, JsonValue]) -> bool:
    """True if the answer to a request may be more than one record, and has to keep to relations."""
    wishes = request.get(_VENDOR_FIELD)
    if not offers_tools(request):
        return isinstance(wishes, dict) and wishes.get("refusal") is True
    return wishes is not None or tools_have_relations(request) or _record_has_relations(request)


def offers_tools(request: Mapping[str, JsonValue]) -> bool:
    """True if the model is told of tools."""
    return bool(request.get("tools")) and request.get("tool_choice") != "none"


def tools_have_relations(request: Mapping[str, JsonValue]) -> bool:
    """True if the parameters of some tool ask for relations."""
    tools = request.get("tools")
    functions = (
        [tool.get("function") for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    )
    documents = [each.get("parameters") for each in functions if isinstance(each, dict)]
    return any(isinstance(each, dict) and asks_for_relations(each) for each in documents)


def _record_has_relations(request: Mapping[str, JsonValue]) -> bool:
    wanted = request.get("response_format")
    schema = wanted.get("json_schema") if isinstance(wanted, dict) else None
    document = schema.get("schema") if isinstance(schema, dict) else None
    return isinstance(document, dict) and asks_for_relations(document)


def read_body(body: bytes) -> dict[str, JsonValue] | None:
    """The request that a body holds, if it may be one of these.

    Raises:
        RefusedRequest: it is not JSON.
    """
    if not may_be_ours(body):
        return None
    try:
        return read_json_object(body)
    except DocumentError as error:
        raise RefusedRequest(error, None) from error


def read_answer_asked(
    request: Mapping[str, JsonValue],
    spec_of: Callable[[dict[str, JsonValue]], Spec],
    *,
    most_choices: int,
    num_tokens: int,
) -> AnswerAsked:
    """The request, read and checked.

    Args:
        request: the JSON body.
        spec_of: parses a document.
        most_choices: that one request may ask for.
        num_tokens: token ids that the model has.

    Raises:
        RefusedRequest: it is malformed, asks for what cannot be served here, or holds a document that cannot
            be enforced.
    """
    chat: ChatRequest | None = None
    try:
        own = _own_fields(request)
        rest = {name: value for name, value in request.items() if name not in _OwnFields._fields}
        chat = read_chat_request(rest, most_choices=most_choices, num_tokens=num_tokens)
        if chat.factorspec.canonical_text:
            problem = Problem(
                "/factorspec/canonical_text", "is not supported with SGLang", "True", "leave it out"
            )
            raise DocumentError("the request cannot be served", [problem]).within("")
        record = None if chat.schema_document is None else spec_of(chat.schema_document)
        specs = {
            tool.name: _tool_spec(at, tool.document, spec_of) for at, tool in enumerate(chat.offered_tools)
        }
    except FactorspecError as error:
        raise RefusedRequest(error, chat) from error
    return AnswerAsked(
        chat=chat,
        specs=specs,
        record=record,
        template_options=own.chat_template_kwargs,
        priority=own.priority,
        extra_key=own.extra_key,
    )


def _tool_spec(
    at: int, document: dict[str, JsonValue], spec_of: Callable[[dict[str, JsonValue]], Spec]
) -> Spec:
    try:
        return spec_of(document)
    except DocumentError as error:
        raise error.within(f"/tools/{at}/function/parameters") from error


class _OwnFields(NamedTuple):
    """What a request says that the embedded server knows nothing of; see ``AnswerAsked``."""

    chat_template_kwargs: dict[str, JsonValue]
    priority: int | None
    extra_key: str | None


def _own_fields(request: Mapping[str, JsonValue]) -> _OwnFields:
    options, priority, key = (request.get(name) for name in _OwnFields._fields)
    problems = [*salt_problems(request, "extra_key")]
    if options is not None and not isinstance(options, dict):
        problems.append(Problem("/chat_template_kwargs", "must be an object", shown(options)))
    for name in options if isinstance(options, dict) else ():
        if name in _OWN_OPTIONS:
            message = "is the server's to give to the template"
            problems.append(Problem(f"/chat_template_kwargs/{name}", message, hint="leave it out"))
    if priority is not None and (not isinstance(priority, int) or isinstance(priority, bool)):
        problems.append(Problem("/priority", "must be an integer", shown(priority)))
    if problems:
        raise DocumentError("the request cannot be served", problems)
    return _OwnFields(
        options if isinstance(options, dict) else {},
        priority if isinstance(priority, int) else None,
        key if isinstance(key, str) else None,
    )


def with_messages(request: Mapping[str, JsonValue], messages: list[Mapping[str, object]]) -> bytes:
    """The request as SGLang gets it where no tool may be called: earlier calls are told as text."""
    left = {name: value for name, value in request.items() if name not in ("tools", "tool_choice")}
    return json.dumps({**left, "messages": messages}).encode()
