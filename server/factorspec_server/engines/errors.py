"""What can go wrong in the embedded engine; branches of ``factorspec_sdk.errors``.

::

    EngineError
    ├── ModelUnsupported    the model's architecture cannot be run exactly
    ├── ModelFailed         the model raised while running; its whole batch is lost
    ├── BrokenLogits        the model's logits are not finite numbers
    ├── SessionStalled      a session is open but plans nothing
    ├── SessionRefused      a session refused a token that it had allowed
    ├── EngineClosed        the engine is shut down
    └── ContextTooLong      prompt and token limit exceed what the model can read

    DocumentError
    └── TemplateRefused     the chat template does not take the conversation
"""

from __future__ import annotations

import logging

from factorspec_sdk.errors import DocumentError, EngineError, FactorspecError

_logger = logging.getLogger(__name__)


class ModelUnsupported(EngineError):
    """The model's architecture cannot be run exactly by this engine."""

    code = "model_unsupported"


class ModelFailed(EngineError):
    """The model raised while running; every request of its batch ends with this error."""

    code = "model_failed"


class BrokenLogits(EngineError):
    """The model's logits are not finite numbers."""

    code = "broken_logits"


class SessionStalled(EngineError):
    """A session says that it is open, but plans neither tokens nor a choice."""

    code = "session_stalled"


class SessionRefused(EngineError):
    """A session refused a token that the engine committed; one of the two is wrong."""

    code = "session_refused"


class EngineClosed(EngineError):
    """The engine is shut down and takes no requests."""

    code = "engine_closed"


class ContextTooLong(EngineError):
    """The prompt and the token limit together exceed the model's context.

    Attributes:
        num_tokens: tokens of the prompt plus the token limit.
        max_positions: tokens that the model can read.
    """

    code = "context_too_long"

    def __init__(self, *, num_tokens: int, max_positions: int) -> None:
        self.num_tokens = num_tokens
        self.max_positions = max_positions
        super().__init__(
            f"prompt and token limit need {num_tokens} tokens, the model reads {max_positions}; "
            "shorten the prompt or lower the token limit"
        )


class TemplateRefused(DocumentError):
    """The model's chat template does not take the conversation: roles in another order, for example."""

    code = "template_refused"


def failure_of(error: Exception) -> FactorspecError:
    """The error of a session as its user gets it; what is not ours is a defect, and logged."""
    if isinstance(error, FactorspecError):
        return error
    _logger.error("a session failed", exc_info=error)
    return FactorspecError(f"the session failed: {error!r}")
