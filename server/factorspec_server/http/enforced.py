"""What is enforced in an answer: its documents compiled, and the rules that they make together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from factorspec_sdk.decoding import OnBudget
from factorspec_sdk.errors import DocumentError, InfeasibleError
from factorspec_sdk.tokens import Vocabulary
from factorspec_server.engines.answer_rules import AnswerRules
from factorspec_server.http.answer_wish import AnswerWish
from factorspec_server.http.compiled_spec import CompiledSpec, Compiler
from factorspec_server.http.tool_decoders import ToolDecoders


@dataclass(frozen=True, slots=True, kw_only=True)
class Enforced:
    """What is enforced in an answer.

    Attributes:
        record: the response format's document; None: there is none.
        tools: the tools' documents by name, in the order of the request.
        rules: what the answer may be, where it is more than one record or than text.
        fresh: what was compiled for this request, not for earlier ones.
    """

    record: CompiledSpec | None = None
    tools: Mapping[str, CompiledSpec] = field(default_factory=dict)
    rules: AnswerRules | None = None
    fresh: tuple[CompiledSpec, ...] = ()

    @property
    def specs(self) -> tuple[CompiledSpec, ...]:
        """All that is enforced."""
        return (*self.tools.values(), *(() if self.record is None else (self.record,)))


class Writes(NamedTuple):
    """How the sessions of an answer write.

    Attributes:
        on_budget: see ``Decoder.session``.
        canonical_text: see ``Decoder.session``.
        cuts_text: see ``AnswerRules``.
        salt: see ``Decoder.session``.
    """

    on_budget: OnBudget = "narrow"
    canonical_text: bool = False
    cuts_text: bool = False
    salt: str | None = None


class Tokens(NamedTuple):
    """The model's tokens: its vocabulary, and the first id that is never chosen."""

    vocabulary: Vocabulary
    num_tokens: int


def enforced(
    wish: AnswerWish,
    compiler: Compiler,
    decoders: Callable[[], ToolDecoders],
    tokens: Tokens,
    writes: Writes,
) -> Enforced:
    """What a wish comes to.

    Args:
        wish: what the answer may be.
        compiler: of single documents.
        decoders: of calls and refusals; asked for where there are such.
        tokens: of the model.
        writes: how its sessions write.

    Raises:
        DocumentError: a document cannot be enforced. Places in a tool's are pointers into the request.
        InfeasibleError: nothing can satisfy a document, or proving that exceeds the budgets.
        EngineError: the tokenizer cannot write calls.
    """
    record, fresh = None, list[CompiledSpec]()
    if wish.record is not None:
        record, was_cached = compiler.compile(wish.record)
        record.decoder.prepare()  # the first tables are made here, not where tokens are drawn
        if not was_cached:
            fresh.append(record)
    tools: dict[str, CompiledSpec] = {}
    for at, tool in enumerate(wish.tools):
        try:
            tools[tool.name], was_cached = compiler.compile(tool.document)
        except (DocumentError, InfeasibleError) as error:
            raise error.within(f"/tools/{at}/function/parameters") from error
        if not was_cached:
            fresh.append(tools[tool.name])
    rules = None if wish.is_one_record else _rules(wish, record, tools, decoders(), tokens, writes)
    return Enforced(record=record, tools=tools, rules=rules, fresh=tuple(fresh))


def _rules(
    wish: AnswerWish,
    record: CompiledSpec | None,
    tools: Mapping[str, CompiledSpec],
    decoders: ToolDecoders,
    tokens: Tokens,
    writes: Writes,
) -> AnswerRules:
    records = [] if record is None or wish.must_call else [record.decoder]
    if wish.refusal:
        records.append(decoders.refusal)
    called = [(tool.name, tools[tool.name]) for tool in wish.tools if tool.callable]
    return AnswerRules(
        vocabulary=tokens.vocabulary,
        records=tuple(records),
        calls=decoders.calls(called, tokens.num_tokens) if called else None,
        most_calls=wish.most_calls,
        text=wish.text,
        stop=tuple(wish.stop),
        on_budget=writes.on_budget,
        canonical_text=writes.canonical_text,
        cuts_text=writes.cuts_text,
        salt=writes.salt,
    )
