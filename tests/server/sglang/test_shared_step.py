"""Steps as a message from the first rank to the others."""

from __future__ import annotations

import random

import numpy as np
import pytest

from factorspec_server.drafting import Allowed
from factorspec_server.sglang.chains import ONE_TOKEN, Chain, Decision
from factorspec_server.sglang.shapes import Shape
from factorspec_server.sglang.shared_step import SharedStep
from factorspec_server.sglang.step_layout import StepLayout


def random_chain(source: random.Random) -> Chain:
    size = source.randrange(6)
    tokens = tuple(source.randrange(150_000) for _ in range(size))
    guessed = sorted(source.sample(range(size), source.randrange(size + 1)))
    decisions = tuple(Decision(at, Allowed.of((3, 4)), 0.5, "text") for at in guessed)
    if source.random() < 0.5:
        return Chain(tokens, decisions, source.randrange(150_000))
    return Chain(tokens, (*decisions, Decision(size, None)))


@pytest.mark.parametrize("shape", [Shape(8), Shape(6, 300)])
def test_what_is_told_is_heard_but_for_what_is_allowed(shape: Shape) -> None:
    source = random.Random(3)
    for count in (1, 2, 7, 64):
        chains = [random_chain(source) for _ in range(count)]
        ended = sorted(source.sample(range(count), source.randrange(count)))
        numbers = SharedStep(chains, shape, ended).numbers
        assert numbers.dtype == np.int32
        heard = SharedStep.of(numbers)
        assert (heard.shape, list(heard.ended)) == (shape, ended)
        assert [(one.tokens, one.then, one.row_offsets) for one in heard.chains] == [
            (one.tokens, one.then, one.row_offsets) for one in chains
        ]
        assert all(decision.allowed is None for one in heard.chains for decision in one.decisions)
        block, same = (layout_block(each) for each in (chains, heard.chains))
        assert (block == same).all()


def layout_block(chains: object) -> np.ndarray:
    assert isinstance(chains, list)
    layout = StepLayout.ragged(chains)
    block = np.zeros(layout.size, dtype=np.int64)
    layout.fill(block, chains, np.arange(len(chains), dtype=np.int64))
    return block


def test_a_request_without_a_constraint_is_told_as_one_token() -> None:
    assert SharedStep.of(SharedStep([ONE_TOKEN], Shape(1)).numbers) == SharedStep([ONE_TOKEN], Shape(1), [])
