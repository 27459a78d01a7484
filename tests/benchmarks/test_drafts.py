"""The drafts benchmark runs on a small tokenizer, and counts steps by its rule; its bars are not judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tokenizers import decoders

from factorspec_sdk.decoding import Choice, Decoder, Plan
from factorspec_sdk.errors import JsonValue
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.testing.tokenizers import END, qwen_like_tokenizer, vocabulary_like
from factorspec_sdk.tokens import Allowed, Canonical
from factorspec_sdk.wire import parse_document
from factorspec_server.drafting import Certain
from tests.benchmarks import drafts
from tests.benchmarks.drafts_bars import verdicts
from tests.benchmarks.drafts_gold import Folders, Gold, workloads
from tests.benchmarks.drafts_ngram import NgramDrafter, Shape
from tests.benchmarks.drafts_runs import Facts, Within
from tests.benchmarks.drafts_walk import ForcedDrafter, PlanDrafter, Refused, count_choices, steps_of, stood

FIELDS = (
    "workload",
    "drafter",
    "width",
    "has_choice",
    "records",
    "tokens",
    "steps",
    "tokens_per_step",
    "bound",
)
COLOURS: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"colour": {"enum": ["red", "green", "blue"]}, "size": {"const": 12}},
    "required": ["colour", "size"],
    "additionalProperties": False,
}


def test_the_benchmark_runs_and_writes_its_report(
    tmp_path: Path, shared_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("llguidance")
    tokenizer, out = tmp_path / "tokenizer.json", tmp_path / "out" / "drafts.json"
    made = qwen_like_tokenizer()
    made.decoder = decoders.ByteLevel()
    made.save(str(tokenizer))
    monkeypatch.setattr(drafts, "_QWEN3_WIDTH", None)
    monkeypatch.setattr(drafts, "_QWEN3_END", END)
    few = ["--limit", "1", "--data", str(shared_dir / "data" / "natural_plan"), "--bfcl", str(tmp_path)]
    chosen = ["--workload", "calendars", "--workload", "tool_calls"]
    assert drafts.main(["--json", str(out), "--tokenizer", str(tokenizer), *chosen, *few]) == 0
    report = json.loads(out.read_text(encoding="utf-8"))
    assert "pip install --no-deps bfcl-eval" in report["skipped"]["tool_calls"]
    assert all(set(FIELDS) <= run.keys() for run in report["runs"])
    widths = {(run["drafter"], run["width"]) for run in report["runs"]}
    assert {("certain", None), ("branches+text", 64), ("xgrammar jump", 8), ("llguidance ff", None)} <= widths
    for run in report["runs"]:
        assert run["tokens_per_step"] <= (run["width"] or run["tokens"])


def gold(text: str) -> tuple[Decoder, Gold]:
    canonical = Canonical(vocabulary_like("gpt2"))
    spec, vocabulary = compile_spec(parse_document(COLOURS)), canonical.vocabulary
    decoder = Decoder(spec.program, spec.feasibility, vocabulary, canonical=canonical)
    return decoder, Gold("c", COLOURS, vocabulary.encode("red"), vocabulary.encode(text))


def test_steps_of_certain_runs_are_counted_by_hand() -> None:
    decoder, given = gold('{"colour": "green", "size": 12}')
    assert count_choices(decoder, given) == 1
    session = decoder.session()
    before = session.commit(given.record[:1]) + len(session.plan().tokens)
    behind = len(given.record) - before - 1
    for width in (2, 3, 5, 8):
        steps = steps_of(before, width) + steps_of(behind, width)
        done = PlanDrafter(decoder, Within(Certain(), width - 1)).count(given)
        assert done.steps == -(-before // width) + -(-behind // width) == steps
        assert done.tokens == len(given.record) - 1
        assert ForcedDrafter([before - 1, behind], width).count(given).steps == done.steps
    assert PlanDrafter(decoder, Within(Certain(), None)).count(given).steps == 2


def test_a_record_that_the_spec_does_not_have_is_left_out() -> None:
    decoder, given = gold('{"colour": "black", "size": 12}')
    with pytest.raises(Refused):
        count_choices(decoder, given)


def test_nodes_stand_as_far_as_the_record_goes_along() -> None:
    allowed = Allowed.of((7, 8))
    plan = Plan(
        tokens=(1, 7, 2, 8, 3),
        parents=(-1, 0, 1, 0, 3),
        certain=(True, False, True, False, True),
        choices=(Choice(0, allowed, children=(1, 3)), Choice(2, allowed), Choice(4, allowed)),
        complete=False,
        kinds=("certain", "branch", "branch", "branch", "branch"),
    )
    assert [stood(plan, rest) for rest in ((1, 8, 3, 9), (1, 7, 2), (1, 9), (1,), (2,))] == [3, 3, 1, 1, 0]


def test_an_ngram_drafter_takes_what_followed_before() -> None:
    given = Gold("n", {}, (1, 2, 3, 4, 5, 6, 9, 2, 3, 7), (0, 2, 3, 4, 5, 6))
    chain, tree = Shape(2, 1), Shape(2, 2)
    assert NgramDrafter(chain, 3).count(given).steps == 3  # 2 | 3 4 5 | 6
    assert NgramDrafter(tree, 8).count(given).steps <= NgramDrafter(chain, 8).count(given).steps
    assert NgramDrafter(chain, 8, before=(0, 2, 3, 4, 5, 6)).count(given).steps == 1


def test_bars_say_which_figures_fail() -> None:
    def run(drafter: str, width: int | None, rate: float) -> Facts:
        return {
            "workload": "trips_loose", "drafter": drafter, "width": width, "has_choice": True,
            "tokens_per_step": rate, "steps": int(1000 / rate), "bound": 50.0,
        }  # fmt: skip

    runs = [
        run("certain", None, 49.0), run("certain", 64, 36.0), run("branches", 64, 46.0),
        run("branches+text", 64, 46.0),
        run("ngram most 2 breadth 1", 64, 20.0), run("ngram most 1 breadth 1", 64, 25.0),
    ]  # fmt: skip
    passed = {verdict.what: verdict.passed for verdict in verdicts(runs)}
    assert list(passed.values()) == [True, False, False]


def test_gold_records_are_spread_over_the_files(shared_dir: Path) -> None:
    folders = Folders(shared_dir / "data" / "natural_plan", None, vocabulary_like("gpt2"))
    for workload in workloads():
        found = workload.read(folders, 2)
        if isinstance(found, str):
            assert workload.name == "tool_calls"
        else:
            assert len({each.identifier for each in found}) == 2
            assert all(each.record and each.prompt for each in found)
