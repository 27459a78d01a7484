"""What one step may cost, and what becomes of rows that break, stop or reach the end of the context in it."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
import transformers
from numpy.typing import NDArray

from factorspec_sdk.testing.scripted_model import ScriptedBatch, ScriptedModel
from factorspec_server.drafting import DraftingPolicy, Off
from factorspec_server.engines import BrokenLogits, Commit, Request, Sampling, load_model
from factorspec_server.engines.attention_mask import MaskForm, Sight
from factorspec_server.engines.runner import Runner
from factorspec_server.engines.torch_model import TorchModel
from tests.server.engines.random_trees import RandomTrees
from tests.server.engines.test_load import CONFIGS, SMALL, save
from tests.server.engines.toy_session import ToySession, random_alternatives


def trees(seed: int) -> DraftingPolicy:
    return cast("DraftingPolicy", RandomTrees(seed))


def free(prompt: Sequence[int], token_limit: int = 8, **options: Any) -> Request:
    return Request(prompt_ids=tuple(prompt), token_limit=token_limit, **options)


class CountingBatch(ScriptedBatch):
    def extend(self, tokens: Any, *arguments: Any) -> list[list[NDArray[np.float32]]]:
        cast("CountingModel", self._model).steps.append([len(row) for row in tokens])
        return super().extend(tokens, *arguments)


class CountingModel(ScriptedModel):
    """Notes the tokens of each row in each step."""

    def __init__(self) -> None:
        super().__init__(64)
        self.steps: list[list[int]] = []

    def open(self) -> ScriptedBatch:
        return CountingBatch(self)


def test_a_long_prompt_is_read_in_parts_and_nobody_waits_for_more_than_one() -> None:
    model = CountingModel()
    runner = Runner(model, step_tokens=64)
    short = [runner.admit(free((1, 2, seed), token_limit=30)) for seed in range(3)]
    runner.step()
    long = runner.admit(free([7] * 3000, token_limit=2))
    commits = [len(row.held) for row in short]
    while any(row.completion is None for row in short):
        runner.step()
        now = [len(row.held) for row in short]
        assert all(after > before for after, before in zip(now, commits, strict=True))
        commits = now
    assert long.is_reading
    while runner.num_rows:
        runner.step()
    assert long.completion is not None
    assert max(sum(step) for step in model.steps if len(step) > 1) == 64
    assert max(map(sum, model.steps)) == 4 * 64
    usage = long.completion.usage
    assert usage.fill_steps + usage.model_steps == len(model.steps) - 1
    assert usage.model_steps == 2


def test_a_long_certain_run_is_run_in_parts_without_logits() -> None:
    model = CountingModel()
    records = tuple((*[5] * 300, last) for last in (1, 2))
    runner = Runner(model, step_tokens=64)
    done = runner.admit(free((1,), token_limit=400, session=ToySession(records)))
    while runner.num_rows:
        runner.step()
    assert done.completion is not None
    assert [sum(step) for step in model.steps] == [4 * 64, 45]
    assert (done.completion.usage.fill_steps, done.completion.usage.model_steps) == (1, 1)


def test_the_mask_of_a_long_prompt_is_made_for_one_part_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = transformers.LlamaConfig(**{**SMALL, "max_position_embeddings": 4096})
    model = load_model(save(tmp_path / "long", config), device="cpu", num_threads=1)
    sizes: list[int] = []
    plain = MaskForm.mask

    def noting(form: MaskForm, sight: Sight, dtype: torch.dtype) -> Any:
        sizes.append(sight.seen.numel())
        return plain(form, sight, dtype)

    monkeypatch.setattr(MaskForm, "mask", noting)
    prompt = [(7 * at) % 90 for at in range(3000)]
    runner = Runner(model, step_tokens=32)
    row = runner.admit(free(prompt))
    while row.completion is None:
        runner.step()
    assert max(sizes) <= 128 * 3072
    whole = Runner(model, step_tokens=4096)
    other = whole.admit(free(prompt))
    while other.completion is None:
        whole.step()
    assert other.completion.token_ids == row.completion.token_ids


@pytest.fixture
def fragile(tmp_path: Path) -> TorchModel:
    """A model whose token 77 breaks every row that reads it."""
    model = load_model(save(tmp_path / "fragile", CONFIGS["llama"]), device="cpu", num_threads=1)
    with torch.no_grad():
        model.module.get_input_embeddings().weight[77] = float("nan")
    return model


def written(model: TorchModel, prompts: Sequence[Sequence[int]], runner: Runner) -> list[object]:
    """What each prompt's request writes, all together; an error's type where it fails."""
    rows = [runner.admit(free(prompt, token_limit=8)) for prompt in prompts]
    while runner.num_rows:
        runner.step()
    done = [row.completion for row in rows if row.completion is not None]
    return [one.token_ids if one.error is None else type(one.error) for one in done]


@pytest.mark.parametrize("step_tokens", [6, 500])
def test_a_row_whose_logits_break_ends_alone_and_leaves_nothing_behind(
    fragile: TorchModel, step_tokens: int
) -> None:
    long, short, other = range(3, 45), range(40, 45), [*range(3, 30), 9, 9, 9]
    broken = [*range(3, 30), 77, *range(3, 20)]
    whole = {
        name: written(fragile, [prompt], Runner(fragile))[0]
        for name, prompt in (("long", long), ("short", short), ("other", other))
    }
    runner = Runner(fragile, step_tokens=step_tokens)
    first = written(fragile, [broken, other, long, [3, 4, 77, 5]], runner)
    assert first == [BrokenLogits, whole["other"], whole["long"], BrokenLogits]
    # in the places that broken rows have left, and with what was kept of them
    for _ in range(2):
        assert written(fragile, [short, long, short, other], runner) == [
            whole[name] for name in ("short", "long", "short", "other")
        ]


def test_a_draft_that_breaks_the_model_does_not_reach_what_stands(fragile: TorchModel) -> None:
    """Token 77 is drafted in a branch; whoever does not go there must not notice."""
    tail = (9, 10, 11, 12, 13)
    records = ((5, 6, *tail, 1), (5, 6, *tail, 2), (5, 77, *tail, 1), (5, 77, *tail, 2))
    for seed in range(20):
        sampling = Sampling(temperature=1.0, seed=seed)
        found = []
        for policy in (Off(), trees(seed)):
            runner = Runner(fragile)
            session = ToySession(records)
            row = runner.admit(free((3, 4), 20, session=session, sampling=sampling, drafting=policy))
            # a longer row beside it: the pass reaches columns that the broken draft has left
            runner.admit(free(range(5, 60), token_limit=12))
            while runner.num_rows:
                runner.step()
            assert row.completion is not None
            found.append(row.completion)
        plain, drafted = found
        assert drafted.finish_reason == plain.finish_reason
        # certain tokens are written before the model is asked what follows them
        assert drafted.token_ids[: len(plain.token_ids)] == plain.token_ids
        assert plain.error is not None or drafted.token_ids == plain.token_ids


def test_a_tree_may_reach_the_last_position_of_the_context(tmp_path: Path) -> None:
    config = transformers.GPT2Config(
        vocab_size=96, bos_token_id=1, eos_token_id=2, n_embd=32, n_layer=2, n_head=4, n_positions=48
    )
    model = load_model(save(tmp_path / "gpt2", config), device="cpu", num_threads=1)
    for seed in range(12):
        found = []
        for policy in (Off(), trees(seed)):
            session = ToySession(random_alternatives(seed))
            limit = max(map(len, session.alternatives))
            prompt = [(3 * at) % 64 for at in range(48 - limit)]
            runner = Runner(model)
            sampling = Sampling(temperature=2.0, seed=seed)
            request = free(prompt, limit, session=session, sampling=sampling, drafting=policy)
            row = runner.admit(request)
            other = runner.admit(free((1, 2), token_limit=30))
            while runner.num_rows:
                runner.step()
            assert row.completion is not None
            assert row.completion.error is None
            assert other.completion is not None
            found.append((row.completion.token_ids, other.completion.token_ids))
        assert found[0] == found[1]


def test_a_request_cancelled_while_its_tree_is_verified_keeps_what_stands() -> None:
    model = ScriptedModel(64, seed=2)
    for seed in range(20):
        sampling = Sampling(temperature=1.0, seed=seed)
        whole = Runner(model)
        session = ToySession(random_alternatives(seed))
        row = whole.admit(free((1,), 99, session=session, sampling=sampling, drafting=trees(seed)))
        while whole.num_rows:
            whole.step()
        assert row.completion is not None
        runner = Runner(model)
        commits: list[Commit] = []

        stop = threading.Event()

        def cancel(commit: Commit, into: list[Commit] = commits, stop: threading.Event = stop) -> None:
            into.append(commit)
            if len(into) == 2:
                stop.set()

        session = ToySession(random_alternatives(seed))
        options: dict[str, Any] = {"session": session, "sampling": sampling, "drafting": trees(seed)}
        request = free((1,), 99, **options, on_commit=cancel, cancelled=stop)
        cut = runner.admit(request)
        other = runner.admit(free((4, 5), token_limit=12))
        while runner.num_rows:
            runner.step()
        assert cut.completion is not None
        assert other.completion is not None
        assert other.completion.finish_reason == "length"
        written = sum((commit.token_ids for commit in commits), ())
        assert cut.completion.token_ids == written == row.completion.token_ids[: len(written)]


def test_memory_of_keys_and_values_is_given_back_with_the_last_row(tmp_path: Path) -> None:
    model = load_model(save(tmp_path / "llama", CONFIGS["llama"]), device="cpu", num_threads=1)
    batch = model.open()
    for _ in range(3):
        batch.join()
    batch.extend([[1] * 100] * 3, [[]] * 3)
    for row in range(3):
        batch.accept(row, range(100))
    assert sum(buffer.numel() for buffer in batch._cache._buffers()) > 0
    for row in (0, 1, 0):
        batch.drop(row)
    assert sum(buffer.numel() for buffer in batch._cache._buffers()) == 0
