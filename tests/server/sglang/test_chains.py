"""Chains: the likeliest path of a plan, cut anywhere, decoded to what token by token decoding writes."""

import random

import pytest

from factorspec_server.constraint_service.plan_words import cut_plan
from factorspec_server.drafting import Allowed, Certain, DraftingPolicy, Guess, Off, Position
from factorspec_server.drafting import Chain as Chains
from factorspec_server.drafting.seam import Choice, DraftKind, Plan
from factorspec_server.sglang import plan_source
from factorspec_server.sglang.chains import ONE_TOKEN, Chain, Decision, chain_of
from factorspec_server.sglang.plan_source import Asked, Failed, LocalPlans
from tests.server.engines.random_trees import RandomTrees
from tests.server.engines.toy_session import ToySession, highest_allowed, random_alternatives
from tests.server.sglang.steps import END, by_token, decode

POLICIES = (Off(), Certain(), Chains(width=4), Chains(width=32, guesses=highest_allowed), Chains(width=1))


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("most", [0, 1, 3, 40])
def test_chains_write_what_token_by_token_decoding_writes(most: int, ragged: bool) -> None:
    for seed in range(25):
        alternatives = random_alternatives(seed)
        policies: list[DraftingPolicy] = [*POLICIES, RandomTrees(seed)]
        for policy in policies:
            for one in decode(alternatives, seed, policy, most=most, ragged=ragged):
                assert one.tokens == by_token(alternatives, one.seed), (seed, policy)


def test_a_record_takes_a_step_for_each_choice_and_one() -> None:
    for seed in range(40):
        alternatives = random_alternatives(seed)
        for one in decode(alternatives, seed, Certain(), most=200, ragged=True):
            record = tuple(one.tokens[1:-1])
            choices = sum(
                len({other[n] for other in alternatives if other[:n] == record[:n]}) > 1
                for n in range(len(record))
            )
            assert one.steps == choices + 1


def test_a_determined_record_is_one_chain_that_ends() -> None:
    session = ToySession(((3, 4, 5),))
    assert chain_of(session.plan(), END) == Chain((3, 4, 5), (), END)
    assert chain_of(session.plan(), END).cut(2) == Chain((3, 4), (), 5)
    assert chain_of(session.plan(), END).cut(0) == Chain((), (), 3)


def test_a_path_that_breaks_off_keeps_its_last_token_back() -> None:
    allowed = Allowed.of((5, 6))
    choice = Choice(0, allowed, False, (1,))
    kinds: tuple[DraftKind, ...] = ("certain", "branch", "branch")
    plan = Plan((4, 5, 8), (-1, 0, 1), (True, False, True), (choice,), False, kinds)
    assert chain_of(plan, END) == Chain((4, 5), (Decision(1, allowed),), 8)
    cut = Plan((4, 5), (-1, 0), (True, True), (), False, ("certain", "certain"))
    assert chain_of(cut, END) == Chain((4,), (), 5)
    assert chain_of(cut, END).cut(0) == Chain((), (), 4)
    guess_alone = Plan((4, 5), (-1, 0), (True, False), (choice,), False, kinds[:2])
    assert chain_of(guess_alone, END) == Chain((4,), (Decision(1, allowed),))


def test_a_guessed_path_that_completes_the_record_is_ended_like_a_certain_one() -> None:
    session = ToySession(((3, 4, 5), (3, 6, 5, 7)))
    plan = session.plan(None, highest_allowed)
    chain = chain_of(plan, END)
    assert (chain.tokens, chain.then, chain.num_rows) == ((3, 6, 5, 7), END, 1)
    assert chain.row_offsets == [1]
    assert not chain.is_certain
    assert chain_of(session.plan(2, highest_allowed), END).then == 5
    assert chain.cut(3) == Chain((3, 6, 5), chain.decisions, 7)


def test_decisions_tell_how_likely_their_guesses_are() -> None:
    def likely(position: Position) -> list[Guess]:
        return [Guess(int(position.allowed.ids()[0]), 0.5, "text")]

    chain = chain_of(ToySession(((1, 3, 4), (1, 3, 5), (2,))).plan(None, likely), END)
    assert chain.tokens == (1, 3, 4)
    assert [(one.chance, one.kind) for one in chain.decisions] == [(0.5, "text"), (0.25, "text")]


def test_a_cut_is_itself_where_everything_fits() -> None:
    assert ONE_TOKEN.cut(0) is ONE_TOKEN
    source = random.Random(5)
    for _ in range(50):
        tokens = tuple(source.randrange(9) for _ in range(source.randrange(1, 9)))
        chain = Chain(tokens, (Decision(len(tokens), None),))
        assert chain.cut(len(tokens)) is chain
        assert chain.cut(len(tokens) - 1) == Chain(tokens[:-1], (), tokens[-1])


def test_a_session_that_cannot_go_on_fails_alone() -> None:
    class Broken(ToySession):
        def plan(self, *args: object, **kwargs: object) -> Plan:
            return Plan((), (), (), (Choice(-1, Allowed.of(())),), False, ())

    sessions = [ToySession(((3, 4),)), Broken(((3, 4),)), ToySession(((3, 4),), (3, 4))]
    asked = [Asked(one, (), END, 9) for one in sessions]
    first, failed, complete = LocalPlans(4).chains(asked)
    assert first == Chain((3, 4), (), END)
    assert isinstance(failed, Failed)
    assert str(failed.error) == "the session is open but allows no token"
    assert complete == Chain((), (), END)


def test_looking_ahead_changes_nothing_and_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_source, "perf_counter", lambda: 0.0)  # no look takes long
    asked = [Asked(ToySession(random_alternatives(seed)), (), END, 50) for seed in range(8)]
    plans, calls = LocalPlans(4), iter(range(100))
    before = plans.chains(asked)
    plans.look_ahead(lambda: next(calls) >= 5)
    assert next(calls) == 6
    plans.look_ahead(lambda: False)
    assert plans.chains(asked) == before
    assert all(one.session.state == "open" for one in asked)


def test_after_a_long_look_none_is_taken_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(10_000))
    asked = [Asked(ToySession(((3, 4), (3, 5))), (), END, 50)]
    plans, looked = LocalPlans(4), 0

    def is_over() -> bool:
        nonlocal looked
        looked += 1
        return False

    monkeypatch.setattr(plan_source, "perf_counter", lambda: float(next(clock)))  # each look takes long
    for _ in range(52):
        plans.chains(asked)
        plans.look_ahead(is_over)
    assert looked == 2


@pytest.mark.parametrize("policy", [Certain(), Chains(width=30), Chains(width=9, guesses=highest_allowed)])
def test_a_plan_that_is_cut_anywhere_is_a_chain_of_what_is_left(policy: DraftingPolicy) -> None:
    for seed in range(20):
        session = ToySession(random_alternatives(seed))
        plan = policy.plan(session)
        whole = chain_of(plan, END)
        for most in range(1, len(plan.tokens) + 1):
            found = chain_of(cut_plan(plan, most), END)
            assert found == whole.cut(len(found.tokens))
            assert len(found.tokens) >= most - 1
