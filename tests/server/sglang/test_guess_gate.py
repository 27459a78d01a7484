"""Guesses rest where they cost more than they bring, and are tried again."""

from factorspec_server.sglang.guess_gate import GuessGate
from factorspec_server.sglang.shapes import Candidate, Shape


def step(tokens: float, seconds: float) -> Candidate:
    return Candidate(Shape(8), tokens, seconds)


def run(gate: GuessGate, steps: int, took_s: float, count: int = 8, *, in_text: bool = False) -> int:
    """How many of the steps are guessed, each of which brings twice as much with guesses."""
    guessed = 0
    for _ in range(steps):
        if gate.is_open(count, in_text=in_text):
            guessed += 1
            gate.learn(count, step(20.0, 0.007), step(10.0, 0.006), took_s, in_text=in_text)
    return guessed


def test_guesses_that_pay_never_rest() -> None:
    assert run(GuessGate(guesses=True), 300, 0.001) == 300


def test_guesses_that_take_long_rest_longer_each_time_and_are_tried_again() -> None:
    assert run(GuessGate(guesses=True), 4 + 63 + 4 + 127 + 4, 0.1) == 12
    assert run(GuessGate(guesses=True), 20_000, 0.1) < 4 * 30


def test_each_load_has_its_own_experience() -> None:
    gate = GuessGate(guesses=True)
    assert run(gate, 20, 0.1, count=128) == 4
    assert run(gate, 20, 0.001, count=1) == 20
    assert not gate.is_open(130)
    assert gate.is_open(1)


def test_what_was_slow_at_first_pays_as_soon_as_it_is_tried_again() -> None:
    gate = GuessGate(guesses=True)
    run(gate, 4, 1.0)
    assert not gate.is_open(8)
    assert run(gate, 62 + 100, 0.0001) == 100


def test_a_first_plan_that_is_slow_says_nothing() -> None:
    gate = GuessGate(guesses=True)
    run(gate, 1, 1.0)
    assert run(gate, 100, 0.0001) == 100


def test_without_guesses_it_is_closed() -> None:
    assert not GuessGate(guesses=False).is_open(1)


def test_free_text_has_its_own_experience() -> None:
    gate = GuessGate(guesses=True)
    for _ in range(5):  # a text, and choices behind it
        run(gate, 200, 0.1, in_text=True)
        assert run(gate, 20, 0.001) == 20
    assert run(gate, 500, 0.1, in_text=True) <= 4
