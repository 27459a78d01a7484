"""Free text in the tokenizer's own tokens: refused tokens are drawn again, whatever is drafted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from factorspec_sdk.decoding import Decoder
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.testing.scripted_model import ScriptedModel
from factorspec_server.drafting import DraftingPolicy, Guess, Off, Plan, Position, Session
from factorspec_server.engines import Request, Sampling
from factorspec_server.engines.runner import generate_batch
from tests.decoding.brute import FreeFeasibility
from tests.decoding.test_holes import list_program, note_program

PROGRAMS = {"note": note_program(0, 12), "list": list_program(most=9)}


@dataclass(frozen=True)
class Oracle:
    """Drafts what is known to come, beside a token that may not be admitted."""

    known: tuple[int, ...]

    def plan(self, session: Session) -> Plan:
        return session.plan(12, self._guesses)

    def _guesses(self, position: Position) -> Sequence[Guess]:
        at = len(position.tokens())
        other = int(position.allowed.ids()[at % position.allowed.count])
        likely = [Guess(self.known[at], 0.6, "text")] if at < len(self.known) else []
        return [*likely, Guess(other, 0.3, "text")]


def written(decoder: Decoder, seed: int, policy: DraftingPolicy) -> tuple[tuple[int, ...], int, int]:
    """The tokens of a record, how many were refused, and the steps of the model."""
    vocabulary = decoder.vocabulary
    session = decoder.session(canonical_text=True)
    model = ScriptedModel(vocabulary.logit_width, seed=seed, scale=4)
    request = Request(
        prompt_ids=(3, 4),
        token_limit=300,
        session=session,
        sampling=Sampling(temperature=1.0, seed=seed),
        drafting=policy,
    )
    (completion,) = generate_batch(model, [request])
    assert completion.error is None
    text_filter = session.report.text_filter
    assert text_filter is not None
    return completion.token_ids, text_filter.refused, completion.usage.model_steps


@pytest.mark.parametrize("name", PROGRAMS)
def test_records_are_canonical_whatever_is_drafted(name: str) -> None:
    vocabulary = vocabulary_like("gpt2")
    decoder = Decoder(PROGRAMS[name], FreeFeasibility(PROGRAMS[name]), vocabulary)
    all_refused = all_saved = 0
    for seed in range(6):
        tokens, refused, steps = written(decoder, seed, Off())
        text = vocabulary.decode(tokens)
        json.loads(text)
        assert vocabulary.encode(text) == tokens
        drafted, refused_then, fewer = written(decoder, seed, Oracle(tokens))
        assert (drafted, refused_then) == (tokens, refused)
        all_refused += refused
        all_saved += steps - fewer
    assert all_refused > 0
    assert all_saved > 0
