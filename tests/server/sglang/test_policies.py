"""Each session has a policy of its own, and leaves nothing behind."""

import gc
from collections.abc import Sequence

from factorspec_sdk.decoding import Decoder
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Canonical
from factorspec_sdk.wire import parse_document
from factorspec_server.drafting import Certain, DraftingSpec, Off, Session, Tree
from factorspec_server.sglang.policies import Policies
from tests.server.engines.toy_session import ToySession
from tests.server.http.serving import TRIP


def test_a_policy_is_made_once_for_a_session_and_goes_with_it() -> None:
    asked: list[tuple[int, ...]] = []

    def make(session: Session, prompt: Sequence[int]) -> Certain:
        asked.append(tuple(prompt))
        return Certain()

    policies = Policies(make)
    first, second = ToySession(((1, 2),)), ToySession(((1, 2),))
    known = policies.of(first, (5, 6))
    assert policies.of(first, (7,)) is known
    assert policies.of(second, (8,)) is not known
    assert asked == [(5, 6), (8,)]
    assert len(policies) == 2
    for _ in range(50):
        policies.of(ToySession(((1, 2),)), ())
    del first
    gc.collect()
    assert len(policies) == 1


def test_a_spec_makes_policies_of_the_session_s_vocabulary() -> None:
    canonical, compiled = Canonical(vocabulary_like("smollm2")), compile_spec(parse_document(TRIP))
    decoder = Decoder(compiled.program, compiled.feasibility, canonical.vocabulary, canonical=canonical)
    policies = Policies.of_spec(DraftingSpec(name="tree", breadth=1))
    session = decoder.session()
    policy = policies.of(session, [1, 2])
    assert isinstance(policy, Tree)
    assert policies.of(session.copy(), [1, 2]) is not policy
    assert isinstance(policies.resting, Certain)
    assert isinstance(Policies.of_spec(DraftingSpec(name="off")).resting, Off)
