"""What is served: an engine thread, the model's chat template, and its tokenizer for the token layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from factorspec_sdk.tokens import Canonical, Vocabulary
from factorspec_server.engines.cache_dir import cache_dir
from factorspec_server.engines.scheduler import EngineThread

if TYPE_CHECKING:
    from factorspec_server.engines.torch_model import TorchModel


_ANSWER = '{"a": 1}'


class ChatTemplate(Protocol):
    """Turns conversations into prompts."""

    def encode_chat(self, messages: Sequence[Mapping[str, object]]) -> tuple[int, ...]:
        """Tokens of a conversation up to where the answer begins."""


@dataclass(frozen=True, slots=True)
class ServedModel:
    """One model, ready to be asked.

    Attributes:
        engine: runs requests; not started yet.
        template: of the model's conversations.
        canonical: encodes records' texts.
        aliases: further names under which requests may ask for the model.
    """

    engine: EngineThread
    template: ChatTemplate
    canonical: Canonical
    aliases: tuple[str, ...] = ()

    @classmethod
    def of(cls, model: TorchModel, *, max_batch: int = 8, aliases: Sequence[str] = ()) -> ServedModel:
        """A loaded model with an engine thread of its own.

        Raises:
            EngineError: the tokenizer is of a kind whose tokens cannot be predicted exactly.
        """
        canonical = Canonical(vocabulary_of(model))
        engine = EngineThread(model, max_batch=max_batch)
        return cls(engine, model.chat, canonical, tuple(aliases))

    @property
    def name(self) -> str:
        """The name under which the model is served."""
        return self.engine.model.name


def vocabulary_of(model: TorchModel) -> Vocabulary:
    """The vocabulary of a model; whether records have a leading mark is read off its chat template.

    Raises:
        EngineError: the tokenizer is of a kind whose tokens cannot be predicted exactly.
    """
    vocabulary = _vocabulary(model, None)
    if vocabulary.lead and model.chat.answer_ids(_ANSWER) == vocabulary.encode_inside(_ANSWER):
        vocabulary = _vocabulary(model, leading_mark=False)
    return vocabulary


def _vocabulary(model: TorchModel, leading_mark: bool | None) -> Vocabulary:
    return Vocabulary.from_tokenizer(
        model.chat.backend,
        model.logit_width,
        model.chat.end_ids,
        name=model.name,
        leading_mark=leading_mark,
        cache=cache_dir() / "vocabularies",
    )
