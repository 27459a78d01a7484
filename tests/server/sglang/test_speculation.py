"""Settings of the speculative worker, its staging memory and its tensors."""

import json
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import pytest
import torch

from factorspec_server.drafting import DraftingSpec, PolicyName
from factorspec_server.sglang.acceptance import Ends
from factorspec_server.sglang.chains import Chain
from factorspec_server.sglang.drawing import draws_one_by_one, for_rows, mask
from factorspec_server.sglang.speculation import Speculation, most_inputs, refusals
from factorspec_server.sglang.staging import Staging
from factorspec_server.sglang.step_layout import StepLayout
from factorspec_server.sglang.step_log import SUMMED_STEPS, StepLog, summary
from factorspec_server.sglang.step_tensors import StepTensors


def test_settings_are_read_from_the_environment() -> None:
    assert Speculation.read({}) == Speculation()
    given = {"FACTORSPEC_WIDTHS": "1,4,9", "FACTORSPEC_RAGGED": "0", "FACTORSPEC_DRAFTING": "chain"}
    assert Speculation.read(given) == Speculation((1, 4, 9), False, "chain")
    assert Speculation.read({"FACTORSPEC_RAGGED": "1"}).ragged is True
    assert Speculation.read({"FACTORSPEC_AHEAD": "0"}).ahead is False
    rows = Speculation.read({"FACTORSPEC_GUESSES": "3", "FACTORSPEC_ROWS": "64"})
    assert (rows.guesses, rows.rows) == (3, 64)
    assert Speculation.read({"FACTORSPEC_BREADTH": "2"}).breadth == 2
    assert Speculation.read({"FACTORSPEC_STEP_LOG": "/x"}).step_log == Path("/x")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FACTORSPEC_WIDTHS", "8,16"),
        ("FACTORSPEC_WIDTHS", "1,x"),
        ("FACTORSPEC_WIDTHS", "1,²"),
        ("FACTORSPEC_WIDTHS", "1," + "9" * 5000),
        ("FACTORSPEC_GUESSES", "9" * 5000),
        ("FACTORSPEC_STEP_LOG", "/tmp"),
        ("FACTORSPEC_STEP_LOG", "x" * 5000),
        ("FACTORSPEC_WIDTHS", "1,8,4"),
        ("FACTORSPEC_RAGGED", "yes"),
        ("FACTORSPEC_AHEAD", "2"),
        ("FACTORSPEC_DRAFTING", "wide"),
        ("FACTORSPEC_GUESSES", "0"),
        ("FACTORSPEC_ROWS", "many"),
        ("FACTORSPEC_BREADTH", "-1"),
        ("FACTORSPEC_STEP_LOG", "/nowhere/at/all"),
    ],
)
def test_a_setting_with_a_wrong_value_is_named(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must .*{value[:100]}"):
        Speculation.read({name: value})


def test_chains_are_drafted_as_wide_as_steps_are() -> None:
    for name in get_args(PolicyName):
        spec = Speculation.read({"FACTORSPEC_DRAFTING": name}).spec(128)
        assert (spec.name, spec.width, spec.breadth, spec.places) == (name, 127, 1, 7)
    assert Speculation(guesses=2).spec(64) == DraftingSpec(name="tree", width=63, breadth=1, places=2)


def test_trees_are_drafted_where_branches_can_run() -> None:
    for name in get_args(PolicyName):
        trees = Speculation.read({"FACTORSPEC_DRAFTING": name}).trees(128)
        if name in ("branches", "text", "tree"):
            assert trees == DraftingSpec(name=name, width=127, breadth=4, places=None, patience_s=0.001)
        else:
            assert trees is None
    assert Speculation(ragged=False).trees(128) is None
    assert Speculation(breadth=1).trees(128) is None


def server_args(**changes: object) -> SimpleNamespace:
    usual = {"tp_size": 1, "pp_size": 1, "page_size": 1, "speculative_num_draft_tokens": None}
    return SimpleNamespace(**{**usual, **changes})


def test_settings_of_the_server_that_cannot_go_with_it_are_refused() -> None:
    assert refusals(server_args()) == []
    assert refusals(server_args(page_size=None)) == []
    assert refusals(server_args(tp_size=2)) == []
    assert refusals(server_args(pp_size=2, ep_size=2, page_size=16)) == [
        "--pp-size above 1",
        "--ep-size above 1",
        "--page-size above 1",
    ]
    assert refusals(server_args(disaggregation_mode="decode", speculative_num_draft_tokens=1)) == [
        "--disaggregation-mode",
        "--speculative-num-draft-tokens below 2",
    ]
    assert most_inputs("cuda") == 128


def test_ranks_that_would_draw_the_least_token_of_all_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYNC_TOKEN_IDS_ACROSS_TP", "True")
    assert refusals(server_args()) == []
    (told,) = refusals(server_args(tp_size=2))
    assert told.startswith("SYNC_TOKEN_IDS_ACROSS_TP: ")


def test_staging_hands_out_two_blocks_in_turn() -> None:
    staging = Staging(pinned=False)
    first = staging.block("a", (2, 3), torch.int64)
    staging.next_step()
    second = staging.block("a", (4,), torch.int64)
    assert first.data_ptr() != second.data_ptr()
    staging.next_step()
    assert staging.block("a", (5,), torch.int64).data_ptr() == first.data_ptr()
    assert staging.block("a", (5000,), torch.int64).shape == (5000,)


def test_padding_goes_to_the_dummy_place() -> None:
    layout = StepLayout.uniform([Chain((8, 9), (), 7), Chain()], 4)
    block = torch.zeros(layout.size, dtype=torch.int64)
    layout.fill(block.numpy(), [Chain((8, 9), (), 7), Chain()], torch.tensor([5, 1]).numpy())
    step = StepTensors.of(block, layout)
    step.start_with(torch.tensor([70, 71]))
    assert step.ids.tolist() == [70, 8, 9, 0, 71, 0, 0, 0]
    req_to_token = torch.arange(30, dtype=torch.int32).view(3, 10) + 100
    assert step.cache_places(torch.tensor([2, 0]), req_to_token).tolist() == [125, 126, 127, 0, 101, 0, 0, 0]
    assert isinstance(step.ends, Ends)


class Info(SimpleNamespace):
    """Sampling settings that mask as SGLang's do."""

    def apply_logits_bias(self, logits: torch.Tensor) -> None:
        if self.vocab_mask is not None:
            self.apply_mask_func(logits=logits, vocab_mask=self.vocab_mask)


def info(**changes: object) -> Info:
    names = ("top_ps", "top_ks", "min_ps", "sampling_seed", "logit_bias", "acc_additive_penalties")
    others = ("acc_scaling_penalties", "vocab_mask", "return_sampling_masks", "penalizer_orchestrator")
    empty = dict.fromkeys((*names, *others))
    return Info(
        **{
            **empty,
            "temperatures": torch.tensor([[0.5], [1.0]]),
            "has_custom_logit_processor": False,
            **changes,
        }
    )


def test_rows_have_the_settings_of_their_request() -> None:
    both = for_rows(info(top_ps=torch.tensor([0.1, 0.2])), torch.tensor([0, 0, 1, 1]))
    assert both.temperatures.flatten().tolist() == [0.5, 0.5, 1.0, 1.0]
    assert torch.equal(both.top_ps, torch.tensor([0.1, 0.1, 0.2, 0.2]))
    assert both.top_ks is None
    assert for_rows(info()).temperatures.shape == (2, 1)


def test_masks_are_applied_once() -> None:
    given, logits = info(), torch.zeros(1, 3)
    mask(given, logits, torch.ones(1, 1), lambda logits, vocab_mask: logits.sub_(vocab_mask))
    assert logits.tolist() == [[-1.0, -1.0, -1.0]]
    assert given.vocab_mask is None


def test_batches_that_are_told_of_once_a_step_have_one_row_a_request() -> None:
    def batch(logprob: bool = False, **changes: object) -> SimpleNamespace:
        return SimpleNamespace(return_logprob=logprob, sampling_info=info(**changes))

    assert not draws_one_by_one(batch())
    assert draws_one_by_one(batch(logprob=True))
    assert draws_one_by_one(batch(has_custom_logit_processor=True))
    assert draws_one_by_one(batch(penalizer_orchestrator=SimpleNamespace(is_required=True)))
    assert not draws_one_by_one(batch(penalizer_orchestrator=SimpleNamespace(is_required=False)))
    assert draws_one_by_one(batch(return_sampling_masks=[False, True]))


def test_steps_are_logged_some_at_a_time(tmp_path: Path) -> None:
    log, silent = StepLog(tmp_path / "steps"), StepLog(None)
    for each in (log, silent):
        for _ in range(21):
            each.mark("between")
            each.mark("plans")
            each.end(requests=2, width=8, inputs=16, used=11)
    lines = (tmp_path / "steps").read_text().splitlines()
    assert len(lines) == 20
    assert json.loads(lines[0])["wait"] == 0.0
    log.flush()
    silent.flush()
    last = json.loads((tmp_path / "steps").read_text().splitlines()[20])
    assert list(last) == ["requests", "width", "inputs", "used", "between", "plans", "wait"]
    assert last["used"] == 11


def test_a_file_that_cannot_be_written_ends_the_log_and_not_the_server(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = StepLog(tmp_path)  # a folder
    for _ in range(41):
        log.end(requests=2, width=8, inputs=16, used=11)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "FACTORSPEC_STEP_LOG" in caplog.text


def test_some_steps_are_summed_up(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    log = StepLog(tmp_path / "steps")
    for step in range(SUMMED_STEPS):
        log.end(requests=1, width=1, inputs=1, used=1, wait_s=1e-3 * (step % 100))
    log.flush()
    assert str({"steps": SUMMED_STEPS, "p50": 49.0, "p99": 98.0, "most": 99.0}) in caplog.text
    assert summary([3.0]) == {"steps": 1, "p50": 3.0, "p99": 3.0, "most": 3.0}
