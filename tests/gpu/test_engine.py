"""The embedded engine on a GPU: float32 is token-identical, as on the CPU; half precision runs."""

from pathlib import Path

import pytest
import torch

from factorspec_server.drafting import Off
from factorspec_server.engines import Sampling, load_model
from factorspec_server.engines.runner import Runner
from factorspec_server.engines.step_costs import measure_costs
from tests.server.engines.test_load import CONFIGS, save
from tests.server.engines.test_prefixes import HEAD, alone, asked, prompts
from tests.server.engines.test_prefixes import run as run_all
from tests.server.engines.test_trees import run, toy, trees

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


@pytest.mark.parametrize("name", CONFIGS)
def test_architectures_run_trees_exactly(name: str, tmp_path: Path) -> None:
    model = load_model(save(tmp_path / name, CONFIGS[name]), device="cuda", dtype="float32")
    assert model.takes_trees
    sampling = Sampling(temperature=3.0)
    alone = [run(model, [toy(seed, Off(), sampling)])[0].token_ids for seed in range(8)]
    for step_tokens in (6, 1000):
        requests = [toy(seed, trees(seed, 40), sampling) for seed in range(8)]
        together = run(model, requests, step_tokens=step_tokens)
        assert [completion.token_ids for completion in together] == alone


@pytest.mark.parametrize("name", ["llama", "gemma2"])
def test_equal_beginnings_are_reused_exactly(name: str, tmp_path: Path) -> None:
    model = load_model(save(tmp_path / name, CONFIGS[name]), device="cuda", dtype="float32")
    wanted = alone(model)
    runner = Runner(model, step_tokens=100)
    for _ in range(2):
        found = run_all(runner, [asked(seed, prompt) for seed, prompt in enumerate(prompts())])
        assert [completion.token_ids for completion in found] == wanted
    assert found[0].usage.reused == len(HEAD) - 1


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_passes_the_check_and_runs_trees(dtype: str, tmp_path: Path) -> None:
    model = load_model(save(tmp_path / "llama", CONFIGS["llama"]), device="cuda", dtype=dtype)  # type: ignore[arg-type]
    assert model.takes_trees
    completions = run(model, [toy(seed, trees(seed, 40), Sampling(seed=seed)) for seed in range(8)])
    assert all(completion.finish_reason == "stop" for completion in completions)
    assert measure_costs(model).step_s(1) > 0
