"""What an answer may be: text, records, refusals, tool calls."""

from __future__ import annotations

from dataclasses import dataclass

from factorspec_sdk.decoding import Decoder, OnBudget
from factorspec_sdk.tokens import Vocabulary
from factorspec_server.engines.call_decoders import CallDecoders


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRules:
    """What an answer may be.

    Attributes:
        vocabulary: the model's tokens.
        records: decoders of records with which the answer may begin and end.
        calls: decoders of tool calls; None: there are none.
        most_calls: calls that an answer may have.
        text: the answer may begin with text, in which a call may follow.
        stop: strings that end the text.
        on_budget: see ``Decoder.session``.
        canonical_text: see ``Decoder.session``.
        cuts_text: text that reaches the token limit is complete for the engine, since that ends an answer by
            an end token alone (``AnswerSession.is_cut``).
        salt: see ``Decoder.session``.
    """

    vocabulary: Vocabulary
    records: tuple[Decoder, ...] = ()
    calls: CallDecoders | None = None
    most_calls: int = 1
    text: bool = False
    stop: tuple[str, ...] = ()
    on_budget: OnBudget = "narrow"
    canonical_text: bool = False
    cuts_text: bool = False
    salt: str | None = None
