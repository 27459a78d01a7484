"""Plans with guesses: trees whose every node is what a session that goes there allows."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from factorspec_sdk.decoding import Decoder, Guess, Plan, Position, Session
from factorspec_sdk.errors import BudgetSpent, DeclarationError, TokenLimitTooSmall
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Canonical
from tests.decoding.brute import FreeFeasibility
from tests.decoding.test_session import decoders, empty_strings


@pytest.fixture(scope="module")
def canonical() -> Canonical:
    return Canonical(vocabulary_like("tricky"))


@dataclass
class Dice:
    """Weighs some of the allowed tokens by chance, the same way whenever it is asked for the same place."""

    seed: int
    most: int = 3
    asked: dict[tuple[int, ...], Sequence[Guess]] = field(default_factory=dict)

    def __call__(self, position: Position, /) -> Sequence[Guess]:
        tokens = tuple(position.tokens())
        source = random.Random(f"{self.seed} {tokens}")
        ids = position.allowed.ids().tolist()
        picked = source.sample(ids, min(len(ids), source.randint(0, self.most)))
        guesses = [
            Guess(token, source.random() / len(picked), "text", (position.note, token)) for token in picked
        ]
        self.asked[tokens] = guesses
        wrong = next((token for token in range(len(ids) + 1) if token not in position.allowed), 0)
        return [Guess(wrong, 1.0), *guesses, *guesses]


def path_to(plan: Plan, node: int) -> list[int]:
    path: list[int] = []
    while node >= 0:
        path.append(node)
        node = plan.parents[node]
    return path[::-1]


def check_nodes(session: Session, plan: Plan, width: int | None) -> None:
    """Each node and each choice is what a session without guesses meets there."""
    choices = {choice.node: choice for choice in plan.choices}
    assert [choice.node for choice in plan.choices] == sorted(choices)
    assert len(choices) == len(plan.choices)
    behind = {
        node: [n for n, p in enumerate(plan.parents) if p == node] for node in range(-1, len(plan.tokens))
    }
    for node in range(-1, len(plan.tokens)):
        other = session.copy()
        path = path_to(plan, node)
        assert other.commit([plan.tokens[at] for at in path]) == len(path)
        assert node < 0 or plan.parents[node] < node
        assert plan.complete or (node in plan.ends) == (other.state == "complete")
        if node in choices:
            assert other.allowed() == choices[node].allowed
            assert choices[node].allowed.count > 1
            assert list(choices[node].children) == behind[node]
            assert not any(plan.certain[child] for child in behind[node])
            assert len({plan.tokens[child] for child in behind[node]}) == len(behind[node])
        elif behind[node]:
            assert [plan.tokens[child] for child in behind[node]] == list(other.allowed())
            assert all(plan.certain[child] for child in behind[node])
        else:
            assert (
                other.state == "complete"
                or len(plan.tokens) - plan.num_certain == width
                or node in plan_cut(plan)
            )


def plan_cut(plan: Plan) -> set[int]:
    """The last node: where a plan that is cut by its shape may end in mid-run."""
    return {len(plan.tokens) - 1}


def chances(session: Session, plan: Plan, dice: Dice) -> list[float]:
    found: list[float] = []
    for node, parent in enumerate(plan.parents):
        before = found[parent] if parent >= 0 else 1.0
        if not plan.certain[node]:
            tokens = (*session.tokens, *(plan.tokens[at] for at in path_to(plan, parent)))
            before *= next(g.weight for g in dice.asked[tokens] if g.token == plan.tokens[node])
        found.append(before)
    return found


def test_every_node_is_what_a_session_that_goes_there_allows(canonical: Canonical) -> None:
    source = random.Random(5)
    drafted = 0
    for decoder in decoders(canonical, 12):
        session = decoder.session()
        while session.state == "open":
            width = (
                source.choice((None, 1, 2, 4, 16)) if not decoder.program.holes else source.choice((4, 12))
            )
            dice = Dice(source.randrange(99))
            plan = session.plan(width, dice)
            assert plan == session.plan(width, dice)
            assert width is None or len(plan.tokens) - plan.num_certain <= width
            trunk = session.plan()
            assert plan.tokens[: len(trunk.tokens)] == trunk.tokens
            assert plan.num_certain == len(trunk.tokens)
            check_nodes(session, plan, width)
            drafted += len(plan.tokens) - plan.num_certain
            session.commit(trunk.tokens)
            if trunk.choices:
                session.commit([int(source.choice(session.allowed().ids()))])
    assert drafted > 200


def test_the_likeliest_nodes_are_drafted(canonical: Canonical) -> None:
    for decoder in decoders(canonical, 12):
        session = decoder.session()
        session.commit(session.plan().tokens)
        for seed in range(4):
            dice = Dice(seed)
            small = session.plan(9, dice)
            found = chances(session, small, dice)
            assert found == sorted(found, reverse=True)
            assert small.complete or list(small.chances) == pytest.approx(found)
            large = session.plan(30, dice)
            assert large.tokens[: len(small.tokens)] == small.tokens
            assert large.parents[: len(small.tokens)] == small.parents


def test_a_shape_keeps_the_first_nodes(canonical: Canonical) -> None:
    seen: list[Sequence[float]] = []

    def half(chances: Sequence[float]) -> int:
        seen.append(chances)
        return len(chances) // 2

    for decoder in decoders(canonical, 8):
        session = decoder.session()
        whole = session.plan(24, Dice(1))
        if whole.complete:
            continue
        part = session.plan(24, Dice(1), half)
        assert len(part.tokens) == max(whole.num_certain, len(whole.tokens) // 2)
        assert part.tokens == whole.tokens[: len(part.tokens)]
        assert len(seen[-1]) == len(whole.tokens)
        check_nodes(session, part, len(part.tokens))
    assert seen


def test_looking_at_branches_leaves_a_session_near_its_limit_alone(canonical: Canonical) -> None:
    for decoder in decoders(canonical, 10):
        try:
            decoder.session(0)
        except TokenLimitTooSmall as error:
            limit = (error.shortest or 12) + 2
        session, plain = decoder.session(limit), decoder.session(limit)
        source = random.Random(2)
        while session.state == "open":
            assert session.plan(24, Dice(source.randrange(9), most=6)).choices or session.plan().complete
            assert plain.plan().num_certain == session.plan().num_certain
            assert session.report == plain.report
            assert session.allowed() == plain.allowed()
            token = int(source.choice(session.allowed().ids()))
            session.commit([token])
            plain.commit([token])


def test_a_branch_where_a_budget_ends_is_not_drafted(canonical: Canonical) -> None:
    program = empty_strings(6)
    decoder = Decoder(
        program, FreeFeasibility(program), canonical.vocabulary, canonical=canonical, max_hypotheses=3
    )

    def every(position: Position, /) -> Sequence[Guess]:
        return [Guess(token, 0.1) for token in position.allowed.ids().tolist()]

    spent = 0
    for seed in range(40):
        session, plain = decoder.session(on_budget="abort"), decoder.session(on_budget="abort")
        source = random.Random(seed)
        try:
            while plain.state == "open":
                token = int(source.choice(plain.allowed().ids()))
                session.plan(40, every)
                assert session.commit([token]) == plain.commit([token]) == 1
        except BudgetSpent:
            spent += 1
            with pytest.raises(BudgetSpent):
                session.plan(40, every)
    assert spent


def test_no_branch_is_worked_out_when_the_time_is_over(canonical: Canonical) -> None:
    asked: list[Sequence[int] | None] = []

    def every(position: Position, /) -> Sequence[Guess]:
        ids = position.allowed.ids().tolist()
        asked.append(position.run(ids[0]))
        return [Guess(token, 0.1) for token in ids]

    for decoder in decoders(canonical, 6):
        session = decoder.session()
        session.commit(session.plan().tokens)
        assert session.plan(40, every).tokens
        assert asked.pop() is not None
        asked.clear()
        assert session.plan(40, every, until_s=0.0) == session.plan(40)
        assert not asked


def test_a_budget_rule_that_there_is_not_is_refused(canonical: Canonical) -> None:
    program = empty_strings(1)
    decoder = Decoder(program, FreeFeasibility(program), canonical.vocabulary, canonical=canonical)
    wrong: Any = "stop"
    with pytest.raises(DeclarationError, match=r"on_budget: must be one of 'narrow', 'abort' \(got 'stop'\)"):
        decoder.session(on_budget=wrong)
