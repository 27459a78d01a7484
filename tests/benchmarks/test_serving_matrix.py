"""The serving benchmark's matrix without a server: engines, workloads, solver, steps, costs, bars."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from factorspec_sdk.testing import byte_vocabulary
from tests.benchmarks.serving import Asked, _engines_of, sharing
from tests.benchmarks.serving_bars import bars, main
from tests.benchmarks.serving_cells import Cell, request
from tests.benchmarks.serving_client import Answer, fixed
from tests.benchmarks.serving_costs import bound_ms, filled_us, worker_costs
from tests.benchmarks.serving_figures import medians
from tests.benchmarks.serving_forced import PassLog
from tests.benchmarks.serving_notes import LONG_TOKENS, long_notes, short_notes
from tests.benchmarks.serving_open import LONG_CHARACTERS, with_long_notes
from tests.benchmarks.serving_records import MIXED, Record, mixed, read_workloads, write_workloads
from tests.benchmarks.serving_results import Results
from tests.benchmarks.serving_servers import ENGINES
from tests.benchmarks.serving_solver import Solvers, solve
from tests.benchmarks.serving_steps import Pass, StepFiles, step_figures
from tests.benchmarks.serving_workload import asking, without_relations

NUMBER: Any = {"type": "integer", "minimum": 1, "maximum": 9}


def record(name: str, *, text: str = "{}") -> Record:
    return Record(prompt=[1], gold=[2, 3], text=text, document=json.dumps({"title": name}), schema_text="{}")


def test_engines_that_follow_one_another_share_a_server_where_they_can() -> None:
    asked = [Asked(name) for name in ("xgrammar", "solver", "plain", "ngram", "ngram-24", "xgrammar")]
    names = [[each.name for each in together] for together in sharing(asked)]
    assert names == [["xgrammar", "solver", "plain"], ["ngram"], ["ngram-24"], ["xgrammar"]]


def test_variants_of_our_engine_differ_in_their_variables() -> None:
    ours = [kind for name, kind in ENGINES.items() if name.startswith("factorspec")]
    variables = {tuple(sorted(kind.environment.items())) for kind in ours}
    assert len(variables) == len(ours)
    assert ENGINES["factorspec"].environment == {"FACTORSPEC_DRAFTING": "auto", "FACTORSPEC_WORKERS": "8"}


def test_the_mixture_has_the_same_share_of_each_kind(tmp_path: Path) -> None:
    kinds = {"a": [record("a")] * 6, "b": [record("b")] * 3, "c": [record("c")]}
    titles = [json.loads(each.document)["title"] for each in mixed(kinds)]
    assert sorted(titles) == list("aabbcc")
    assert titles != sorted(titles)
    write_workloads(tmp_path / "w", kinds)
    assert len(read_workloads(tmp_path / "w")[MIXED]) == 6
    assert mixed({}) == []


def test_a_known_record_is_the_only_text_of_its_grammar() -> None:
    sampling = fixed(record("a", text='{"a": "b\\\\c"}'))["sampling_params"]
    assert sampling["ebnf"] == r'root ::= "{\"a\": \"b\\\\c\"}"'
    assert "ignore_eos" not in sampling
    assert "json_schema" not in sampling


def folder_with(path: Path, messages: Sequence[str]) -> Path:
    """Data files in which users write these messages."""
    turns = [[{"role": "user", "content": message}] for message in messages]
    for name in ("BFCL_v4_multi_turn_base.json", "BFCL_v4_parallel.json"):
        (path / name).write_text(json.dumps({"question": turns}) + "\n")
    return path


def test_long_notes_are_pieces_of_messages_that_share_nothing(tmp_path: Path) -> None:
    words = [f"word{number}" for number in range(200)]
    folder = folder_with(tmp_path, [" ".join(words[:80]), "short", " ".join(words[80:])])
    notes = list(long_notes(folder, byte_vocabulary()))
    assert len(notes) > 5
    assert all(LONG_TOKENS - 12 < len(note) <= LONG_TOKENS for note in notes)
    assert notes[0].startswith("word0 word1 ")
    assert "short" not in " ".join(notes)
    assert len({note[:20] for note in notes}) == len(notes)


def test_short_notes_end_with_a_word(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, ["I would like to know, please, " + "how much it costs " * 5, "a" * 50])
    first, second = short_notes(folder)
    assert first == "I would like to know, please, how much it costs how much it costs how much it"
    assert second == "a" * 50


def test_documents_without_relations_ask_for_sessions_all_the_same() -> None:
    asked = asking({"type": "object"})
    assert asked == {"type": "object", "x-factorspec": {"version": 1, "relations": []}}
    assert asking(asked) == asked
    assert without_relations(asked) == {"type": "object"}


def test_only_notes_get_more_room() -> None:
    document: Any = {"a": [{"maxLength": 80}], "b": {"maxLength": 81}}
    assert with_long_notes(document) == {"a": [{"maxLength": LONG_CHARACTERS}], "b": {"maxLength": 81}}


def test_a_solver_comes_before_the_request_and_its_time_counts() -> None:
    with pytest.raises(AssertionError):
        request(record("a"), ENGINES["solver"])
    answer = Answer(0.0, 3.0, 5.0, [2.0], 10, 0, True, solved_s=2.0)
    found = medians([_row([answer])])
    assert (found["decode_ms"], found["solve_ms"]) == (4000.0, 2000.0)


def _row(wave: list[Answer]) -> Any:
    return SimpleNamespace(wave=wave, loop=[], cpu_s=1.0, wall_s=4.0, num_new_specs=0)


def test_a_wave_alone_says_what_a_loop_would() -> None:
    found = medians([_row([Answer(0.0, 1.0, 2.0, [1.0], 10), Answer(0.0, 1.0, 4.0, [1.0], 10)])])
    assert (found["records_s"], found["tokens_s"], found["cores"]) == (0.5, 5.0, 0.25)


def test_fresh_and_long_workloads_have_no_loop() -> None:
    names = ("trip-open", "tool-new", "chat", "trip")
    cells = [Cell(name, 64, [record("a")], ENGINES["ngram"]) for name in names]
    found = [(cell.is_fresh, cell.num_loop) for cell in cells]
    assert found == [(True, 0), (True, 0), (False, 0), (False, 128)]


class TestSteps:
    def test_steps_between_which_prompts_were_read_do_not_count(self) -> None:
        passes = [Pass(at, at + 0.25, reads, 1) for at, reads in ((0.0, False), (0.5, False), (0.75, True))]
        more = [Pass(at, at + 0.25, False, 1) for at in (1.0, 1.5, 9.0)]
        found = step_figures(passes + more)
        assert found == {"num_steps": 5, "step_ms": [500.0, 500.0], "between_ms": [250.0, 250.0]}

    def test_nothing_was_done(self) -> None:
        assert step_figures([]) == {"num_steps": 0, "step_ms": [0.0, 0.0], "between_ms": [0.0, 0.0]}

    def test_each_reading_goes_on_where_the_last_one_ended(self, tmp_path: Path) -> None:
        files = StepFiles(tmp_path / "passes", tmp_path / "worker")
        assert files.figures()["num_steps"] == 0
        log = PassLog(str(files.passes))
        batch = SimpleNamespace(forward_mode=SimpleNamespace(name="DECODE"), batch_size=2)
        log.end(batch)  # it was never prepared
        for _ in range(2):
            log.begin()
            log.end(batch)
        files.worker.write_text(
            '{"requests": 2, "wait": 0.5}\n{"requests": 3, "wait": 0.25}\n{"steps": 1}\n{"requ'
        )
        found = files.figures()
        assert found["num_steps"] == 2
        assert found["worker"] == {"requests": 2.5, "wait": [0.5, 0.5], "full_wait": [0.25, 0.25]}
        with files.worker.open("a") as file:
            file.write('ests": 8, "wait": 1.0}\n')
        assert files.figures()["worker"] == {"requests": 8.0, "wait": [1.0, 1.0], "full_wait": [1.0, 1.0]}

    def test_without_a_file_nothing_is_written(self) -> None:
        log = PassLog(None)
        log.begin()
        log.end(None)


class TestCosts:
    def test_the_worker_s_costs_are_read_from_its_log(self) -> None:
        log = "x FactorSpec: ragged up to 6144 inputs, milliseconds: 4: 5.3, 768: 17.7, 6144: 120.0\ny"
        points = worker_costs(log)
        assert points == [(4, 5.3), (768, 17.7), (6144, 120.0)]
        assert filled_us(points) == pytest.approx(1e3 * (120.0 - 17.7) / (6144 - 768))
        assert worker_costs("nothing") == []

    def test_the_bound_is_the_time_of_all_tokens_at_once(self) -> None:
        points = [(1, 5.0), (101, 6.0), (1101, 26.0), (2101, 46.0)]
        assert bound_ms(points, 1, 101.0) == 6.0
        assert bound_ms(points, 8, 200.0) == pytest.approx(36.0, abs=0.1)
        assert bound_ms(points, 64, 100.0) > 46.0 * 6400 / 2101 - 1


def cell(engine: str, workload: str, in_flight: int, decode_ms: float, **more: Any) -> dict[str, Any]:
    figures = {"decode_ms": decode_ms, "records_s": 10.0, "tokens_step": 7.0, "tokens_record": 100.0}
    where = {"engine": engine, "workload": workload, "in_flight": in_flight, "errors": 0}
    return {**where, **figures, "gold": "1/1", **more}


def written(path: Path, rows: list[dict[str, Any]], **engines: Any) -> Path:
    report = {"machine": {"gpu": "H", "cpus": "16"}, "began": "then", "engines": engines, "rows": rows}
    path.write_text(json.dumps(report))
    return path


class TestBars:
    def results(self, folder: Path) -> list[Path]:
        waited = {"worker": {"wait": [0.1, 0.9], "full_wait": [0.1, 0.4], "plans": [0.2, 0.9]}}
        ours = [
            cell("factorspec", "trip", 1, 20.0, tokens_step=42.0),
            cell("factorspec", "trip", 128, 200.0, tokens_step=42.0, **waited),
            cell("factorspec", "tool", 8, 100.0),
            cell("factorspec", "tool-new", 8, 100.0),
            cell("factorspec", "chat", 8, 101.0),
        ]
        others = [
            cell("xgrammar", "trip", 1, 290.0),
            cell("xgrammar", "trip", 128, 600.0),
            cell("ngram", "trip", 1, 90.0),
            cell("ngram-24", "trip", 128, 900.0, tokens_step=30.0),
            cell("xgrammar", "tool", 8, 120.0),
            cell("xgrammar", "tool-new", 8, 114.0),
            cell("plain", "chat", 8, 100.0),
            cell("xgrammar", "chat", 1, 1.0, errors=3),
        ]
        costs = {"worker_costs_ms": [[4, 5.0], [1000, 25.0], [13000, 265.0]]}
        return [
            written(folder / "others", others),
            written(folder / "ours", ours, factorspec=costs),
        ]

    def test_each_bar_is_met_or_missed_or_was_not_measured(self, tmp_path: Path) -> None:
        states = {bar.what: bar.state for bar in bars(Results.read(self.results(tmp_path)), "factorspec")}
        assert states["trip at 1: tokens by step, factorspec / ngram"] == "met"
        assert states["trip at 128: tokens by step, factorspec / ngram-24"] == "missed"
        assert states["trip at 1: decode time, xgrammar / factorspec"] == "missed"
        assert states["trip at 128: decode time, xgrammar / factorspec"] == "met"
        assert states["trip at 64: decode time, xgrammar / factorspec"] == "not measured"
        assert states["trip at 1: decode time, ngram / factorspec"] == "met"
        assert states["tool at 8: decode time, xgrammar / factorspec"] == "met"
        assert states["tool-new at 8: decode time, xgrammar / factorspec"] == "missed"
        assert states["chat at 8: decode time, plain / factorspec"] == "met"
        assert states["chat at 1: decode time, plain / factorspec"] == "not measured"
        assert states["p99 of the wait of full steps for the service at 128, ms, factorspec"] == "met"

    def test_the_last_file_counts(self, tmp_path: Path) -> None:
        later = written(tmp_path / "later", [cell("factorspec", "trip", 1, 19.0)])
        results = Results.read([*self.results(tmp_path), later])
        assert results.figure("factorspec", "trip", 1) == 19.0
        assert results.figure("xgrammar", "chat", 1) is None

    def test_tables_and_bars_are_printed(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main([str(path) for path in self.results(tmp_path)]) == 1
        out = capsys.readouterr().out
        assert "| trip | 1 | 290 | 90.00 |" in out
        assert "A filled input costs 20.0 µs where many run." in out
        # 128 records of 100 tokens take 261 ms at best, ours take 200: prompts are read one after the other
        assert "| trip | 128 | 261 | 130 % | 2 % |" in out
        assert "missed        trip at 1: decode time, xgrammar / factorspec: 14.50 (≥ 15.0)" in out


def test_the_solver_finds_records_and_says_where_there_are_none() -> None:
    pytest.importorskip("ortools")
    took_s, found = solve(_three_numbers(most=9))
    assert found
    assert took_s > 0
    assert not solve(_three_numbers(most=2))[1]


async def _solved(each: Record) -> Solvers:
    with Solvers(1) as solvers:
        await solvers.solve(each)
    return solvers


def test_solvers_are_processes_whose_time_is_counted() -> None:
    pytest.importorskip("ortools")
    solvers = asyncio.run(_solved(Record(prompt=[], gold=[], document=_three_numbers(most=9))))
    assert solvers.num_solved == 1
    assert solvers.cpu_s > 0


def _three_numbers(most: int) -> str:
    """Three different numbers from 1 on."""
    team = {"type": "array", "items": {**NUMBER, "maximum": most}, "minItems": 3, "maxItems": 3}
    relation = {"name": "once", "kind": "all_different", "over": ["$.team[*]"]}
    made = {"type": "object", "properties": {"team": team}, "required": ["team"]}
    key = {"x-factorspec": {"version": 1, "relations": [relation]}}
    return json.dumps({**made, "additionalProperties": False, **key})


def test_a_workload_may_have_fewer_cells() -> None:
    read = _engines_of(ENGINES)
    assert read("xgrammar:trip-open@1/8+tool,plain") == [
        Asked("xgrammar", ("trip-open", "tool"), {"trip-open": [1, 8]}),
        Asked("plain"),
    ]
