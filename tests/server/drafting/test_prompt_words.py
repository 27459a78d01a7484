"""How much of a branch a prompt supports."""

import pytest

from factorspec_server.drafting.experts import Trust, opinions
from factorspec_server.drafting.prompt_words import PromptWords, claiming, claims

PROMPT = (
    "Meet a friend in Lisbon between day 9 and day 12. " + "Then rest. " * 20 + "Stay in Riga for 5 days."
)


def test_claims_are_words_with_the_numbers_behind_them() -> None:
    branch = '3}, {"city": "São Paulo", "arrive": 9, "leave": 12}, {"city": "Riga", "arrive": '
    assert list(claims(branch)) == [("Paulo", ("9", "12"))]
    assert list(claims('celsius"}')) == [("celsius", ())]
    assert not list(claims('", "unit": "'))


@pytest.mark.parametrize(
    ("branch", "support"),
    [
        ('Lisbon", "arrive": 9, "leave": 12}', 1.0),
        ('Lisbon", "arrive": 9, "leave": 13}', 0.5),
        ('Riga", "arrive": 9, "leave": 12}', 0.0),
        ('Lisbon", "arrive": 12}, {"city": "Riga", "arrive": 9}', 0.5),
        ('friend"', 1.0),
        ('enemy"', 0.0),
        ('"}]}', None),
    ],
)
def test_support_is_the_share_of_claims_that_the_prompt_has(branch: str, support: float | None) -> None:
    words = PromptWords(PROMPT)
    assert words.support(branch) == support
    assert words.support(branch) == support


@pytest.mark.parametrize(
    ("context", "claimed"),
    [
        ('{"city": "', ""),
        ('{"city": "Lis', "Lis"),
        ('{"tags": ["a", "b', "b"),
        ('{"city": "Riga", "arrive": ', 'Riga",  '),
        ('{"city": "Riga", "arrive": 1', 'Riga",  1'),
    ],
)
def test_a_branch_goes_on_with_what_its_value_has_begun(context: str, claimed: str) -> None:
    assert claiming(context) == claimed


def test_opinions_are_distributions() -> None:
    found = opinions(['Riga", "day": 9', 'Lisbon", "day": 9', '"'], PromptWords(PROMPT))
    for opinion in found:
        assert sum(opinion) == pytest.approx(1.0)
    even, lowest, least, prompt = found
    assert even == [1 / 3] * 3
    assert max(even) < lowest[0] < least[0] < 1.0
    assert prompt[1] == max(prompt)


def test_where_one_token_is_allowed_all_opinions_are_sure_of_it() -> None:
    assert set(map(tuple, opinions(["0."], PromptWords(PROMPT)))) == {(1.0,)}


def test_trust_goes_to_the_opinion_that_fares_best_and_comes_back() -> None:
    trust = Trust((0.5, 0.5))
    opinion = ((0.9, 0.1), (0.1, 0.9))
    for _ in range(50):
        trust.learn([0.9, 0.1])
    assert trust.mixed(opinion)[0] > 0.85
    for _ in range(4):
        trust.learn([0.1, 0.9])
    assert trust.mixed(opinion)[0] < 0.2
    assert sum(trust.mixed(opinion)) == pytest.approx(1.0)
