"""What is told of a record's steps."""

from factorspec_server.drafting import Allowed
from factorspec_server.sglang.chains import Chain, Decision
from factorspec_server.sglang.step_counts import StepCounts

ANY = Allowed.of((1, 2))


def test_certain_runs_and_guesses_are_told_apart() -> None:
    counts = StepCounts()
    counts.count(Chain((5, 6), (), 7), 3)  # no decision: a fill
    guessing = Chain((5, 1, 6, 2), (Decision(1, ANY), Decision(3, ANY, 0.5, "text"), Decision(4, ANY)))
    counts.count(guessing, 2)  # the first guess fell
    counts.count(guessing, 5)
    assert counts.report(certain=9) == {
        "model_steps": 2,
        "fill_steps": 1,
        "guessed": 4,
        "accepted": 2,
        "drafts": {
            "certain": {"drafted": 10, "accepted": 9},  # one ran behind the guess that fell
            "branch": {"drafted": 2, "accepted": 1},
            "text": {"drafted": 2, "accepted": 1},
        },
        "tokens_run": 13,
        "in_vain": 3,
        "widest": 5,
    }
