"""What an answer may be, as a JSON document: a record, tools by choice or by force, text, a refusal.

It says all that opens a session, wherever that is done: documents, not what was compiled of them::

    {"tools": [{"name": "book", "document": {…}, "callable": true}], "must_call": true, "most_calls": 1,
     "form": {"opener": "<tool_call>", …}}
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from factorspec_server.http.call_format import CallFormat
from factorspec_server.http.chat_request import ChatRequest
from factorspec_server.http.tool_request import MOST_TOOLS

_FORM_CHARS = 200


class WishedTool(BaseModel):
    """A tool.

    Attributes:
        name: of it.
        document: of its arguments.
        callable: the answer may call it; else it is told of alone.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str
    document: dict[str, Any]
    callable: bool = True


class Form(BaseModel):
    """How calls are written: the fields of ``CallFormat``."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    opener: Annotated[str, Field(min_length=1, max_length=_FORM_CHARS)]
    before_name: Annotated[str, Field(max_length=_FORM_CHARS)]
    before_arguments: Annotated[str, Field(min_length=1, max_length=_FORM_CHARS)]
    closer: Annotated[str, Field(min_length=1, max_length=_FORM_CHARS)]
    between: Annotated[str, Field(max_length=_FORM_CHARS)]

    @property
    def format(self) -> CallFormat:
        """The format."""
        return CallFormat(**self.model_dump())


class AnswerWish(BaseModel):
    """What one answer may be.

    Attributes:
        record: document of the response format.
        tools: that it may call, or is told of.
        must_call: it is calls; a record is not for this answer then.
        text: it may be text, and turn into calls.
        refusal: it may decline.
        most_calls: calls that it may have.
        stop: strings that end the text.
        form: how calls are written; None: as ``CallFormat`` has it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    record: dict[str, Any] | None = None
    tools: Annotated[list[WishedTool], Field(max_length=MOST_TOOLS)] = []
    must_call: bool = False
    text: bool = False
    refusal: bool = False
    most_calls: Annotated[int, Field(ge=1)] = 1
    stop: list[str] = []
    form: Form | None = None

    @classmethod
    def of(cls, chat: ChatRequest, form: CallFormat, most_calls: int) -> AnswerWish:
        """What a request wishes; it was checked before.

        Args:
            chat: the request.
            form: how the model writes calls.
            most_calls: that an answer may have where the request says nothing else.
        """
        names = {tool.name for tool in chat.callable_tools}
        tools = [
            WishedTool.model_construct(name=tool.name, document=tool.document, callable=tool.name in names)
            for tool in chat.offered_tools
        ]
        return cls.model_construct(
            record=chat.schema_document,
            tools=tools,
            must_call=chat.must_call,
            text=chat.is_text,
            refusal=chat.factorspec.refusal,
            most_calls=most_calls if chat.parallel_tool_calls else 1,
            stop=list(chat.stop),
            form=Form.model_construct(
                opener=form.opener,
                before_name=form.before_name,
                before_arguments=form.before_arguments,
                closer=form.closer,
                between=form.between,
            ),
        )

    @property
    def is_one_record(self) -> bool:
        """It is a record and nothing else, or text alone."""
        return not self.tools and not self.refusal
