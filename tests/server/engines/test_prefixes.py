"""Keys and values of equal beginnings are reused: the same output, fewer tokens run, bounded memory."""

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factorspec_sdk.testing.scripted_model import ScriptedModel
from factorspec_server.drafting import Chain
from factorspec_server.engines import Completion, Request, Sampling, load_model
from factorspec_server.engines.prefixes import SHORTEST, PrefixStore
from factorspec_server.engines.runner import Runner
from factorspec_server.engines.seam import Model
from tests.server.engines.test_load import CONFIGS, save
from tests.server.engines.toy_session import ToySession, random_alternatives

HEAD = tuple(random.Random(0).choices(range(1, 64), k=120))


def asked(seed: int, prompt: tuple[int, ...], **options: object) -> Request:
    values = {"session": ToySession(random_alternatives(seed)), "drafting": Chain(width=8), **options}
    sampling = Sampling(temperature=0.9, seed=seed)
    return Request(prompt_ids=prompt, token_limit=60, sampling=sampling, **values)  # type: ignore[arg-type]


def prompts() -> list[tuple[int, ...]]:
    """Equal ones, ones that part somewhere, and one that is a beginning of another."""
    return [HEAD, HEAD, (*HEAD[:70], 5, 6, 7), (*HEAD, 9, 9), HEAD[:60], (1, 2, 3), (*HEAD[:70], 5, 8)]


def run(runner: Runner, requests: list[Request]) -> list[Completion]:
    rows = [runner.admit(request) for request in requests]
    while runner.num_rows:
        runner.step()
    completions = [row.completion for row in rows if row.completion is not None]
    assert [completion.error for completion in completions] == [None] * len(requests)
    return completions


def alone(model: Model) -> list[tuple[int, ...]]:
    return [
        run(Runner(model, prefix_bytes=0), [asked(seed, prompt)])[0].token_ids
        for seed, prompt in enumerate(prompts())
    ]


@pytest.mark.parametrize("step_tokens", [16, 1000])
def test_output_is_the_same_with_and_without_reuse(step_tokens: int) -> None:
    model = ScriptedModel(64, seed=3)
    wanted = alone(model)
    runner = Runner(model, step_tokens=step_tokens)
    for _ in range(2):
        found = run(runner, [asked(seed, prompt) for seed, prompt in enumerate(prompts())])
        assert [completion.token_ids for completion in found] == wanted
    reused = [completion.usage.reused for completion in found]
    least = [len(HEAD) - 1, len(HEAD) - 1, 70, len(HEAD), 59, 0, 70]
    assert all(low <= count <= low + 2 for low, count in zip(least, reused, strict=True))


def test_requests_that_come_together_read_a_common_prompt_once() -> None:
    model = ScriptedModel(64, seed=3)
    found = run(Runner(model), [asked(seed, HEAD) for seed in range(6)])
    assert [completion.usage.reused for completion in found] == [0] + [len(HEAD) - 1] * 5
    assert model.tokens_run < 2 * len(HEAD) + sum(completion.usage.tokens_run for completion in found)


def test_a_beginning_is_taken_over_while_the_rest_is_still_being_read() -> None:
    model = ScriptedModel(64, seed=3)
    long = (*HEAD[:50], *random.Random(1).choices(range(64), k=2000))
    runner = Runner(model, step_tokens=64)
    rows = [runner.admit(asked(0, long)), runner.admit(asked(1, (*HEAD[:50], 7)))]
    while rows[1].completion is None:
        runner.step()
    assert rows[0].is_reading
    assert rows[1].completion.usage.reused == 50


def test_without_bytes_nothing_is_kept_and_nobody_waits() -> None:
    model = ScriptedModel(64, seed=3)
    runner = Runner(model, prefix_bytes=0)
    found = run(runner, [asked(seed, HEAD) for seed in range(4)])
    assert [completion.usage.reused for completion in found] == [0] * 4
    assert runner.prefix_bytes == 0


def test_an_answer_is_reused_by_the_next_turn() -> None:
    model = ScriptedModel(64, seed=3)
    runner = Runner(model)
    (first,) = run(runner, [Request(prompt_ids=HEAD, token_limit=40)])
    turn = (*HEAD, *first.token_ids, 4, 5, 6)
    (second,) = run(runner, [Request(prompt_ids=turn, token_limit=5)])
    assert second.usage.reused == len(HEAD) + 39  # the last token never ran
    (fresh,) = run(Runner(model, prefix_bytes=0), [Request(prompt_ids=turn, token_limit=5)])
    assert second.token_ids == fresh.token_ids


def test_a_cancelled_request_leaves_what_it_ran_to_others() -> None:
    model = ScriptedModel(64, seed=3)
    runner = Runner(model, step_tokens=8)
    request = asked(0, HEAD)
    row = runner.admit(request)
    runner.step()
    request.cancelled.set()
    runner.step()
    assert row.completion is not None
    assert row.completion.finish_reason == "cancelled"
    (next_one,) = run(runner, [asked(1, HEAD)])
    assert next_one.usage.reused == 32  # of one step; the second did not run
    assert next_one.token_ids == run(Runner(model), [asked(1, HEAD)])[0].token_ids


@given(st.integers(0, 1 << 30))
def test_the_store_finds_the_longest_kept_beginning_within_its_bound(seed: int) -> None:
    source = random.Random(seed)
    store = PrefixStore(300, 1)
    kept: list[tuple[int, ...]] = []
    for _ in range(40):
        tokens: tuple[int, ...] = ()
        while source.random() < 0.85 or len(tokens) < 5:
            tokens += tuple([source.randrange(2)] * source.randrange(1, 20))
        found = store.match(np.array(tokens, dtype=np.int32))
        matched: tuple[int, ...] = ()
        for segment, count in found:
            assert isinstance(segment, tuple)
            assert 0 < count <= len(segment)
            matched += segment[:count]
        assert matched == tokens[: len(matched)]
        longest = max((shared(tokens, other) for other in kept), default=0)
        assert len(matched) <= longest
        fits = len(tokens) + store.num_bytes <= 300
        store.add(tokens, lambda start, whole=tokens: whole[start:])  # type: ignore[misc]
        kept.append(tokens)
        assert store.num_bytes <= 300
        again = sum(count for _, count in store.match(np.array(tokens, dtype=np.int32)))
        assert not fits or again > len(tokens) - SHORTEST
    store.clear()
    assert store.num_bytes == 0
    assert store.match(np.array(tokens, dtype=np.int32)) == []


def shared(left: tuple[int, ...], right: tuple[int, ...]) -> int:
    return next((at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), len(left))


def test_what_was_used_longest_ago_goes_first() -> None:
    store = PrefixStore(100, 1)
    first, second, third = ((token,) * 40 for token in (1, 2, 3))
    for tokens in (first, second, first, third):
        store.add(tokens, lambda start, whole=tokens: whole[start:])  # type: ignore[misc]
    held = [bool(store.match(np.array(tokens, dtype=np.int32))) for tokens in (first, second, third)]
    assert held == [True, False, True]


@pytest.mark.parametrize("name", ["llama", "mistral_window", "gemma2"])
def test_torch_models_reuse_exactly(name: str, tmp_path: Path) -> None:
    model = load_model(save(tmp_path / name, CONFIGS[name]), device="cpu", num_threads=1)
    wanted = alone(model)
    runner = Runner(model, step_tokens=100)
    for _ in range(2):
        found = run(runner, [asked(seed, prompt) for seed, prompt in enumerate(prompts())])
        assert [completion.token_ids for completion in found] == wanted
    assert found[0].usage.reused == len(HEAD) - 1
    assert 0 < runner.prefix_bytes <= 400 * model.token_bytes


def test_the_bytes_of_a_token_are_those_that_a_segment_takes(tmp_path: Path) -> None:
    for name in CONFIGS:
        model = load_model(save(tmp_path / name, CONFIGS[name]), device="cpu", num_threads=1)
        batch = model.open()
        batch.join()
        batch.extend([list(range(20))], [[]])
        batch.accept(0, range(20))
        segment = batch.save(0, 4)
        assert segment is not None
        assert sum(part.numel() * part.itemsize for part in segment.states) == 16 * model.token_bytes
