"""How many workers keep records, and how long anybody waits for them."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from factorspec_server.sglang import compat
from factorspec_server.sglang.service_relations import service_options
from factorspec_server.sglang.service_settings import (
    DEADLINE_S,
    MOST_WORKERS,
    ServiceSettings,
    is_shared,
    keeps_records,
)


def cores(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(count)), raising=False)


@pytest.mark.parametrize(("count", "workers"), [(1, 1), (2, 1), (6, 3), (16, 8), (128, 8)])
def test_beside_a_gpu_half_of_the_cores_are_workers(
    monkeypatch: pytest.MonkeyPatch, count: int, workers: int
) -> None:
    cores(monkeypatch, count)
    assert ServiceSettings.read({}, "cuda") == ServiceSettings(workers, DEADLINE_S)
    assert ServiceSettings.read({}, "cpu") == ServiceSettings(1, DEADLINE_S)


def test_the_environment_decides() -> None:
    given = {"FACTORSPEC_WORKERS": "3", "FACTORSPEC_DEADLINE_S": "0.5"}
    assert ServiceSettings.read(given, "cpu") == ServiceSettings(3, 0.5)
    assert ServiceSettings.read({"FACTORSPEC_WORKERS": "0"}, "cuda").workers == 0


@pytest.mark.parametrize("workers", ["-1", "two", "1.5", str(MOST_WORKERS + 1), " "])
def test_a_wrong_number_of_workers_is_told(workers: str) -> None:
    with pytest.raises(ValueError, match=f"FACTORSPEC_WORKERS must be .* got {workers!r}"):
        ServiceSettings.read({"FACTORSPEC_WORKERS": workers}, "cpu")


@pytest.mark.parametrize("deadline", ["0", "-1", "nan", "inf", "601", "soon"])
def test_a_wrong_deadline_is_told(deadline: str) -> None:
    with pytest.raises(ValueError, match=f"FACTORSPEC_DEADLINE_S must be .* got {deadline!r}"):
        ServiceSettings.read({"FACTORSPEC_DEADLINE_S": deadline}, "cpu")


def test_where_the_system_lacks_what_it_takes_the_scheduler_keeps_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(os, "memfd_create")
    assert ServiceSettings.read({"FACTORSPEC_WORKERS": "3"}, "cuda").workers == 0


def test_workers_keep_the_records_of_several_ranks_where_these_follow_the_first() -> None:
    def kept(workers: int = 2, **settings: object) -> bool:
        return keeps_records(ServiceSettings(workers), settings.get)

    assert kept(tp_size=1, speculative_algorithm="NGRAM")
    assert kept(tp_size=2, speculative_algorithm="FACTORSPEC")
    assert kept(tp_size=2, pp_size=1)
    assert not kept(tp_size=2, speculative_algorithm="NGRAM")
    assert not kept(tp_size=2, pp_size=2)
    assert not kept(tp_size=2, enable_dp_attention=True)
    assert not kept(0)


def test_a_single_rank_follows_nobody() -> None:
    assert not is_shared({"tp_size": 1}.get)
    assert is_shared({"tp_size": 4}.get)


@pytest.mark.parametrize(
    ("drafted", "running", "most", "records"),
    [(None, None, 64, 1024), (128, 128, 128, 2048), (16, 4096, 64, 4096)],
)
def test_a_service_has_places_for_requests_that_wait(
    monkeypatch: pytest.MonkeyPatch, drafted: int | None, running: int | None, most: int, records: int
) -> None:
    monkeypatch.setattr(compat, "setting", getattr)
    server_args = SimpleNamespace(speculative_num_draft_tokens=drafted, max_running_requests=running)
    options = service_options(server_args, ServiceSettings(3, 2.5))
    assert (options.workers, options.deadline_s) == (3, 2.5)
    assert (options.most_tokens, options.records) == (most, records)
