"""The embedded engine: continuous batches on torch, verified drafts, sampling without hidden state.

Importing this package imports no torch; ``load_model`` does.
"""

from factorspec_server.engines.errors import (
    BrokenLogits,
    ContextTooLong,
    EngineClosed,
    ModelFailed,
    ModelUnsupported,
    SessionRefused,
    SessionStalled,
)
from factorspec_server.engines.load import DEFAULT_MODEL, load_model
from factorspec_server.engines.logprobs import TokenLogprob
from factorspec_server.engines.requests import Commit, Completion, Event, FinishReason, Request, Usage, cancel
from factorspec_server.engines.runner import generate_batch
from factorspec_server.engines.sampling import Sampling, seed_of_choice
from factorspec_server.engines.scheduler import EngineThread
from factorspec_server.engines.seam import Batch, Model
from factorspec_server.engines.syntax import SyntaxCompiler, SyntaxSession

__all__ = [
    "DEFAULT_MODEL",
    "Batch",
    "BrokenLogits",
    "Commit",
    "Completion",
    "ContextTooLong",
    "EngineClosed",
    "EngineThread",
    "Event",
    "FinishReason",
    "Model",
    "ModelFailed",
    "ModelUnsupported",
    "Request",
    "Sampling",
    "SessionRefused",
    "SessionStalled",
    "SyntaxCompiler",
    "SyntaxSession",
    "TokenLogprob",
    "Usage",
    "cancel",
    "generate_batch",
    "load_model",
    "seed_of_choice",
]
