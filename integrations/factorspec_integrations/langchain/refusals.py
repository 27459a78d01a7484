"""A model that declines: the error that LangChain has for it."""

from __future__ import annotations

from typing import cast

from langchain_core import exceptions
from langchain_core.exceptions import LangChainException
from langchain_core.messages import AIMessage


class Declined(LangChainException):
    """The model declined to write what was asked for; in releases of LangChain that have no error for it."""

    def __init__(self, message: str, *, raw_message: AIMessage) -> None:
        self.raw_message = raw_message
        super().__init__(message)


#: what a refusal is raised as
ModelRefusalError: type[LangChainException] = getattr(exceptions, "ModelRefusalError", Declined)


def raise_for_refusal(message: AIMessage) -> None:
    """Raise ``ModelRefusalError``, with the model's reason, where the message is a refusal."""
    reason = message.additional_kwargs.get("refusal")
    if reason:
        error = cast("type[Declined]", ModelRefusalError)
        raise error(f"the model declined: {reason}", raw_message=message)
