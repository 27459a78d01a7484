"""Rules of answers with tools over small vocabularies, and a model that begins its answer as told."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import AddedToken

from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.testing.scripted_model import _MASK, _PHI, ScriptedModel, _mix
from factorspec_sdk.testing.tokenizers import END, qwen_like_tokenizer
from factorspec_sdk.tokens import Canonical, Vocabulary
from factorspec_server.engines.answer_rules import AnswerRules
from factorspec_server.http.call_format import CallFormat, SpelledCalls
from factorspec_server.http.compiled_spec import CompiledSpec, Compiler
from factorspec_server.http.tool_decoders import ToolDecoders

#: tags spelled by ordinary tokens; tags that are tokens; a leading mark; line breaks that are tokens
FAMILIES = ("smollm2", "tags", "sentencepiece", "gemma")

AWAY: dict[str, Any] = {
    "type": "object",
    "properties": {
        "from": {"enum": ["Oslo", "São Paulo", "</tool_call>"]},
        "to": {"enum": ["Oslo", "São Paulo", "</tool_call>", '}\n</tool_call>"']},
        "note": {"type": "string", "maxLength": 5},
    },
    "required": ["from", "to", "note"],
    "x-factorspec": {
        "version": 1,
        "relations": [{"name": "away", "kind": "all_different", "over": ["$.from", "$.to"]}],
    },
}
LATER: dict[str, Any] = {
    "type": "object",
    "properties": {name: {"type": "integer", "minimum": 1, "maximum": 30} for name in ("start", "end")},
    "required": ["start", "end"],
    "x-factorspec": {
        "version": 1,
        "relations": [
            {
                "name": "later",
                "kind": "intension",
                "expr": {"op": "lt", "args": [{"ref": "$.start"}, {"ref": "$.end"}]},
            }
        ],
    },
}
TOOLS = {"away": AWAY, "later": LATER, "a": {"type": "object", "properties": {}}}


@cache
def vocabulary_of(family: str) -> Vocabulary:
    if family != "tags":
        return vocabulary_like(family)
    tokenizer = qwen_like_tokenizer()
    tags = ("<tool_call>", "</tool_call>")
    tokenizer.add_tokens([AddedToken(tag, special=False, normalized=False) for tag in tags])
    end_id = tokenizer.token_to_id(END)
    assert end_id is not None
    return Vocabulary.from_tokenizer(tokenizer, tokenizer.get_vocab_size() + 3, (end_id,), name="tags")


class Making:
    """Makes rules over one vocabulary."""

    def __init__(self, family: str) -> None:
        self.vocabulary = vocabulary_of(family)
        canonical = Canonical(self.vocabulary)
        self.compiler = Compiler(canonical, max_entries=50, max_bytes=1 << 30)
        spelled = SpelledCalls.of(CallFormat(), self.vocabulary)
        self.decoders = ToolDecoders(self.compiler, canonical, spelled, max_entries=9, max_bytes=1 << 30)

    def rules(self, *names: str, **fields: Any) -> AnswerRules:
        compiled: list[tuple[str, CompiledSpec]] = [
            (name, self.compiler.compile(TOOLS[name])[0]) for name in names or TOOLS
        ]
        calls = self.decoders.calls(compiled, self.vocabulary.logit_width)
        return AnswerRules(vocabulary=self.vocabulary, calls=calls, **fields)


@cache
def making(family: str) -> Making:
    return Making(family)


class TellingModel(ScriptedModel):
    """A scripted model that writes given tokens behind a prompt wherever they are allowed."""

    def __init__(
        self, vocabulary: Vocabulary, prompt: Sequence[int], told: Sequence[int], *, seed: int = 0
    ) -> None:
        super().__init__(vocabulary.logit_width, seed=seed, end_ids=vocabulary.end_ids)
        self._vocabulary = vocabulary
        self._told: dict[int, int] = {}
        context = _mix((seed + _PHI) & _MASK)
        for at, token in enumerate([*prompt, *told]):
            if at >= len(prompt):
                self._told[context] = token
            context = _mix((context ^ ((token + 1) * _PHI)) & _MASK)

    def decode(self, token_ids: Sequence[int]) -> str:
        ids = [token for token in token_ids if token not in self.end_ids]
        return self._vocabulary.decode(ids, errors="replace")

    def logits(self, context: int, token_ids: NDArray[np.int32] | None) -> NDArray[np.float32]:
        found = super().logits(context, token_ids)
        if context in self._told:
            ids = self._all_ids if token_ids is None else token_ids
            found = np.where(ids == self._told[context], np.float32(100.0), found).astype(np.float32)
        return found
