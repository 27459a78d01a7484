"""Log-probabilities: the model's own among what was allowed, alike under each drafting, of tokens shown."""

from __future__ import annotations

from math import exp, log
from random import Random

import numpy as np
import pytest

from factorspec_sdk.testing.scripted_model import ScriptedModel
from factorspec_server.drafting import Certain, Chain, DraftingPolicy, Off
from factorspec_server.engines import Commit, Completion, Request, Sampling, TokenLogprob, generate_batch
from factorspec_server.engines.chat import TextStream
from factorspec_server.engines.logprobs import likeliest, log_probabilities
from tests.server.engines.random_trees import RandomTrees
from tests.server.engines.toy_session import ToySession

WIDTH = 24
PROMPT = (3, 5, 5)


def records(seed: int) -> tuple[tuple[int, ...], ...]:
    draw = Random(seed)
    words = [tuple(draw.choices(range(WIDTH), k=6)) for _ in range(8)]
    return tuple((*left, *right) for left in words for right in words)


def told(policy: DraftingPolicy, sampling: Sampling, session: ToySession | None) -> Completion:
    request = Request(
        prompt_ids=PROMPT,
        token_limit=12,
        session=session,
        sampling=sampling,
        drafting=policy,
        top_logprobs=5,
    )
    (completion,) = generate_batch(ScriptedModel(WIDTH, seed=4), [request])
    return completion


def by_replay(tokens: tuple[int, ...], alternatives: tuple[tuple[int, ...], ...]) -> list[TokenLogprob]:
    """The reference: one token after the other, in plain Python."""
    batch = ScriptedModel(WIDTH, seed=4).open()
    batch.join()
    fed, found = list(PROMPT), list[TokenLogprob]()
    for at, token in enumerate(tokens):
        ((logits,),) = batch.extend([fed], [[(len(fed) - 1, None)]])
        batch.accept(0, range(len(fed)))
        fed = [token]
        begun = [record for record in alternatives if record[:at] == tokens[:at]]
        allowed = sorted({record[at] for record in begun}) if alternatives else list(range(WIDTH))
        whole = log(sum(exp(float(logits[one])) for one in allowed))
        values = {one: float(logits[one]) - whole for one in allowed}
        top = sorted(values.items(), key=lambda pair: (-pair[1], pair[0]))[:5]
        certain = len(allowed) == 1
        found.append(
            TokenLogprob(
                token,
                0.0 if certain else values[token],
                ((token, 0.0),) if certain else tuple(top),
                "certain" if certain else "chosen" if alternatives else "free",
            )
        )
    return found


def assert_equal(found: tuple[TokenLogprob, ...], wanted: list[TokenLogprob]) -> None:
    assert len(found) == len(wanted)
    for left, right in zip(found, wanted, strict=True):
        assert (left.token_id, left.origin) == (right.token_id, right.origin)
        assert left.logprob == pytest.approx(right.logprob, abs=1e-9)
        assert [one for one, _ in left.top] == [one for one, _ in right.top]
        assert [one for _, one in left.top] == pytest.approx([one for _, one in right.top], abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_they_equal_the_plain_loop_under_every_drafting(seed: int) -> None:
    policies: list[DraftingPolicy] = [Off(), Certain(), Chain(), RandomTrees(seed), RandomTrees(9 + seed)]
    sampling = Sampling(temperature=0.8, seed=seed, top_p=0.9, frequency_penalty=0.5, logit_bias=((2, 1.0),))
    completions = [told(policy, sampling, ToySession(records(seed))) for policy in policies]
    wanted = by_replay(completions[0].token_ids, records(seed))
    assert {entry.origin for entry in wanted} == {"certain", "chosen"}
    for completion in completions:
        assert completion.logprobs == completions[0].logprobs
        assert_equal(completion.logprobs, wanted)


def test_a_chat_is_told_over_all_tokens() -> None:
    completion = told(Certain(), Sampling(temperature=1.0, seed=3), None)
    assert_equal(completion.logprobs, by_replay(completion.token_ids, ()))


def test_nobody_asked() -> None:
    request = Request(prompt_ids=PROMPT, token_limit=5)
    (completion,) = generate_batch(ScriptedModel(WIDTH), [request])
    assert completion.logprobs == ()


@pytest.mark.parametrize("seed", range(20))
def test_commits_tell_what_the_completion_tells(seed: int) -> None:
    commits: list[Commit] = []
    request = Request(
        prompt_ids=PROMPT,
        token_limit=60,
        sampling=Sampling(temperature=1.0, seed=seed),
        stop=("é", "ab", "\n", "c") if seed % 2 else (),
        top_logprobs=0,
        on_commit=commits.append,
    )
    (completion,) = generate_batch(ScriptedModel(256, seed=seed, end_ids=(255,)), [request])
    entries = [entry for commit in commits for entry in commit.logprobs]
    assert tuple(entries) == completion.logprobs[: len(entries)]
    ids = [entry.token_id for entry in completion.logprobs]
    assert ids == list(completion.token_ids[: len(ids)])
    assert bytes(ids).decode(errors="replace").startswith(completion.text)
    assert all(entry.top == () for entry in entries)


def test_tokens_are_shown_with_the_first_of_their_characters() -> None:
    tokens = [b"on", b"e \xf0\x9f", b"\x98", b"\x80 EN", b"D", b"x"]
    stream = TextStream(
        lambda ids: b"".join(tokens[token] for token in ids).decode("utf-8", errors="replace"), ("END",)
    )
    shown = []
    for token in range(5):
        stream.push(token)
        shown.append(stream.num_shown)
    assert shown == [1, 1, 1, 4, 4]
    assert stream.stopped


def test_tokens_of_a_stop_string_are_not_shown() -> None:
    stream = TextStream(lambda ids: "".join("abEND"[token] for token in ids), ("END",))
    for token in range(5):
        stream.push(token)
    assert (stream.stopped, stream.num_shown) == (True, 2)
    assert stream.flush() == ""
    assert stream.num_shown == 2


@pytest.mark.parametrize("most", [0, 1, 3, 7, 50])
def test_the_likeliest_are_those_of_a_stable_sort(most: int) -> None:
    draw = np.random.default_rng(most)
    for size in (1, 5, 40):
        values = draw.integers(0, 6, size).astype(np.float64)
        assert likeliest(values, most) == np.argsort(-values, kind="stable")[:most].tolist()


def test_huge_logits_are_no_trouble() -> None:
    found = log_probabilities(np.array([1e4, 1e4, -1e30], dtype=np.float32))
    assert found.tolist() == pytest.approx([-log(2), -log(2), -1e30], rel=1e-6)
