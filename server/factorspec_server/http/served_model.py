"""What is served: an engine thread, the model's chat template, and its tokenizer for the token layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from factorspec_sdk.decoding import Earlier
from factorspec_sdk.tokens import Canonical, Vocabulary
from factorspec_server.drafting import (
    DEFAULT_WIDTH,
    PATIENCE_S,
    CostModel,
    DraftingPolicy,
    DraftingSpec,
    PolicyName,
    StepCost,
)
from factorspec_server.engines.chat_vocabulary import chat_vocabulary
from factorspec_server.engines.runner import PREFIX_BYTES
from factorspec_server.engines.scheduler import EngineThread
from factorspec_server.engines.step_costs import measure_costs, split_tokens, step_tokens
from factorspec_server.settings import MOST_WIDTH, DraftingName

if TYPE_CHECKING:
    from factorspec_server.engines.torch_model import TorchModel


_BY_COST = ("auto", "branches", "text", "tree")


class ChatTemplate(Protocol):
    """Turns conversations into prompts."""

    def encode_chat(self, messages: Sequence[Mapping[str, object]]) -> tuple[int, ...]:
        """Tokens of a conversation up to where the answer begins."""


@dataclass(frozen=True, slots=True)
class ServedModel:
    """One model, ready to be asked.

    Attributes:
        engine: runs requests; started if steps were measured, since that is done on its thread.
        template: of the model's conversations.
        canonical: encodes records' texts.
        costs: seconds of a step by its tokens, as measured; None: not measured.
        aliases: further names under which requests may ask for the model.
        patience_s: seconds after which a plan guesses no more; None: however long it takes.
        earlier: what is guessed may be what earlier records of the same spec wrote.
    """

    engine: EngineThread
    template: ChatTemplate
    canonical: Canonical
    costs: CostModel | None = None
    aliases: tuple[str, ...] = ()
    patience_s: float | None = PATIENCE_S
    earlier: bool = True

    @classmethod
    def of(
        cls,
        model: TorchModel,
        *,
        max_batch: int = 8,
        prefix_bytes: int = PREFIX_BYTES,
        aliases: Sequence[str] = (),
        drafting: DraftingName = "auto",
        width: int | None = None,
        earlier: bool = True,
    ) -> ServedModel:
        """A loaded model with an engine thread of its own.

        Times some steps, which takes about a second, if what is drafted depends on it.

        Args:
            model: what to serve.
            max_batch: most requests that run together.
            prefix_bytes: bytes of keys and values kept of what was run lately.
            aliases: further names of the model.
            drafting: what will be drafted.
            width: and how wide, see ``drafting``.
            earlier: see the attribute.

        Raises:
            EngineError: the tokenizer is of a kind whose tokens cannot be predicted exactly.
        """
        canonical = Canonical(vocabulary_of(model))
        engine = EngineThread(model, max_batch=max_batch, prefix_bytes=prefix_bytes)
        costs = None
        if drafting in _BY_COST and width is None:
            try:
                costs = engine.call(lambda: measure_costs(model))
            except BaseException:
                engine.close()
                raise
            model.split_tokens = split_tokens(costs)
            engine.limit_steps(step_tokens(costs))
        return cls(engine, model.chat, canonical, costs, tuple(aliases), earlier=earlier)

    @property
    def name(self) -> str:
        """The name under which the model is served."""
        return self.engine.model.name

    def drafting(
        self,
        name: DraftingName,
        prompt_ids: Sequence[int],
        width: int | None = None,
        earlier: Earlier | None = None,
    ) -> DraftingPolicy:
        """A drafting policy for one request.

        Args:
            name: ``auto`` drafts trees, or what is certain alone, see ``is_too_slow``.
            prompt_ids: of the request.
            width: most tokens drafted in a step, see ``ServerSettings``; None: as many as pay by the measured
                cost, if there is one, but never more than were measured.
            earlier: what records of its spec wrote before.
        """
        spec = self.drafting_spec(name, width)
        cost = self._step_cost(CostModel(spec.cost_points)) if spec.cost_points else None
        return spec.policy(self.canonical.vocabulary, prompt_ids, earlier, cost)

    def drafting_spec(self, name: DraftingName, width: int | None = None) -> DraftingSpec:
        """The same for all requests, as data; costs are those of a step, for all its requests together."""
        costs = self.costs
        policy: PolicyName = "tree" if name == "auto" else name
        if name == "auto" and width is None and self.is_too_slow:
            policy = "certain"
        if width is not None or costs is None or not costs.is_curve or name not in _BY_COST:
            spec = DraftingSpec(name=policy, width=width or DEFAULT_WIDTH)
        else:
            most = min(MOST_WIDTH, costs.largest)
            spec = DraftingSpec(name=policy, width=most, cost_points=tuple(costs.points))
        return replace(spec, patience_s=self.patience_s, earlier=self.earlier)

    @property
    def is_too_slow(self) -> bool:
        """True if steps take so long that what more tokens cost could not be measured."""
        return self.costs is not None and not self.costs.is_curve

    def _step_cost(self, costs: CostModel) -> StepCost:
        """Seconds of a step by the tokens of one request, beside the requests that run when it is asked."""
        return lambda num_tokens: costs.for_batch(max(1, self.engine.num_running))(num_tokens)


def vocabulary_of(model: TorchModel) -> Vocabulary:
    """The vocabulary of a model.

    Raises:
        EngineError: the tokenizer is of a kind whose tokens cannot be predicted exactly.
    """
    return chat_vocabulary(model.chat, model.logit_width, name=model.name)
