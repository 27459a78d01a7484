"""Two ranks in two processes, over gloo: what the first one tells, what the other makes of it."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist

from factorspec_sdk.errors import EngineError
from factorspec_server.drafting import Allowed
from factorspec_server.sglang.ranks import GroupRanks
from factorspec_server.sglang.session_grammar import Ended
from factorspec_server.sglang.shared_grammar import FollowingGrammar, LeadingGrammar, SharedOutcome

END, OTHER_END, ROW_WORDS, VOCAB = 90, 91, 3, 96
SIZES = (0, 1, 4094, 4095, 4096, 9000)
RECORD = (3, 4, 5)
_WAIT_S = 120.0


@dataclass
class Refused:
    error_message: str


@dataclass
class Toy:
    """A record of certain tokens, as much of a session as grammars ask; its keeper may go in the middle."""

    breaks_at: int | None
    written: tuple[int, ...] = ()

    @property
    def state(self) -> str:
        return "complete" if self.written == RECORD else "open"

    @property
    def num_tokens(self) -> int:
        return len(self.written)

    @property
    def text(self) -> str:
        return str(self.written)

    def fill_row(self, out: Any) -> Allowed:
        if self.breaks_at == len(self.written):
            raise EngineError("its keeper is gone")
        allowed = Allowed.of(RECORD[len(self.written) :][:1])
        allowed.write_row(out)
        return allowed

    def commit(self, token_ids: Sequence[int]) -> int:
        fits = self.written + tuple(token_ids) == RECORD[: len(self.written) + len(token_ids)]
        self.written += tuple(token_ids) if fits else ()
        return len(token_ids) if fits else 0

    def rollback(self, num_tokens: int) -> None:
        self.written = self.written[: len(self.written) - num_tokens]


def grammar_of(ranks: GroupRanks, ended: list[Ended], breaks_at: int | None = None) -> Any:
    if not ranks.is_first:
        return FollowingGrammar((END, OTHER_END), ranks)
    session: Any = Toy(breaks_at)
    return LeadingGrammar(session, (END, OTHER_END), ranks, request_id="a", ended=ended.append)


def numbers_told(ranks: GroupRanks) -> list[bool]:
    """Whether messages of all sizes come over as they are."""
    found = []
    for size in SIZES:
        told = np.arange(size, dtype=np.int32) * 3 - 5
        if ranks.is_first:
            ranks.tell(told)
        else:
            heard = ranks.hear()
            found.append(heard.dtype == np.int32 and heard.tolist() == told.tolist())
    return found


def tokens_shared(ranks: GroupRanks) -> list[int]:
    drawn = torch.tensor([5, 6, 7] if ranks.is_first else [1, 1, 1])
    ranks.share(drawn)
    return drawn.tolist()


def row(grammar: Any) -> list[int]:
    """The tokens of a batch's second row."""
    rows = torch.full((3, ROW_WORDS), -1, dtype=torch.int32)
    grammar.fill_vocab_mask(rows, 1)
    assert (rows[[0, 2]] == -1).all()
    return np.flatnonzero(np.unpackbits(rows[1].numpy().view(np.uint8), bitorder="little")).tolist()


def record_written(ranks: GroupRanks) -> list[Any]:
    """A record token by token: rows, and whether it is terminated."""
    ended: list[Ended] = []
    grammar = grammar_of(ranks, ended)
    found: list[Any] = []
    for token in (*RECORD, END):
        found += [row(grammar), grammar.is_terminated()]
        grammar.accept_token(token)
    found.append(grammar.is_terminated())
    grammar.rollback(1)
    found += [grammar.is_terminated(), row(grammar)]
    grammar.accept_token(END)
    found.append(grammar.is_terminated())
    grammar.finished = True
    assert [one.error for one in ended] == ([None] if ranks.is_first else [])
    return found


def record_given_up(ranks: GroupRanks) -> list[Any]:
    """A record whose keeper goes away behind the first token: rows, what is raised and when."""
    ended: list[Ended] = []
    grammar = grammar_of(ranks, ended, breaks_at=1)
    found: list[Any] = []
    for token in (RECORD[0], END):
        found += [row(grammar)]
        try:
            grammar.accept_token(token)
        except ValueError:
            found.append("raised")
        found.append(grammar.is_terminated())
    grammar.finished = True
    assert [str(one.error) for one in ended] == (["its keeper is gone"] if ranks.is_first else [])
    return found


def record_refused_in_between(ranks: GroupRanks) -> list[Any]:
    """A token that does not belong there: nobody says so before all know."""
    grammar = grammar_of(ranks, [])
    grammar.accept_token(RECORD[2])
    found: list[Any] = [grammar.is_terminated(), row(grammar)]
    with pytest.raises(ValueError, match="given up"):
        grammar.accept_token(RECORD[0])
    untold = grammar_of(ranks, [])
    untold.accept_token(RECORD[2])
    untold.accept_token(OTHER_END)
    return [*found, untold.is_terminated()]


def outcomes(ranks: GroupRanks) -> list[str]:
    """Grammars that all ranks get, or none does."""
    own: list[Any] = ["a grammar", Refused("no record exists: ¡nunca!"), ValueError("a defect"), Refused("")]
    found = []
    for one in own:
        made: Future[Any] = Future()
        promise = SharedOutcome(made, ranks, Refused)
        assert not promise.done()
        if not ranks.is_first:
            made.set_result("a follower")
        elif isinstance(one, Exception):
            made.set_exception(one)
        else:
            made.set_result(one)
        assert promise.done()
        got = promise.result()
        found.append(got.error_message if isinstance(got, Refused) else got)
    return found


SCENES = (
    numbers_told, tokens_shared, record_written, record_given_up, record_refused_in_between, outcomes,
)  # fmt: skip


def _rank(rank: int, meeting: str, results: Any) -> None:
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    group = dist.group.WORLD
    ranks = GroupRanks(is_first=rank == 0, source=0, host_group=group, device_group=group)
    try:
        results.put((rank, {scene.__name__: scene(ranks) for scene in SCENES}))
        dist.barrier()
    except BaseException as error:
        results.put((rank, {"failed": repr(error)}))
        raise
    finally:
        dist.destroy_process_group()


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, Any]]:
    """What both ranks have seen, by rank and scene."""
    meeting: Path = tmp_path_factory.mktemp("ranks") / "meeting"
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    processes = [context.Process(target=_rank, args=(rank, str(meeting), results)) for rank in range(2)]
    for process in processes:
        process.start()
    try:
        found = dict(results.get(timeout=_WAIT_S) for _ in processes)
        assert not any("failed" in seen for seen in found.values()), found
        return found
    finally:
        for process in processes:
            process.join(10)
            process.kill()


def test_messages_of_all_sizes_come_over(told: dict[int, dict[str, Any]]) -> None:
    assert told[1]["numbers_told"] == [True] * len(SIZES)


def test_draws_are_those_of_the_first_rank(told: dict[int, dict[str, Any]]) -> None:
    assert [told[rank]["tokens_shared"] for rank in range(2)] == [[5, 6, 7]] * 2


def test_a_record_is_the_same_on_all_ranks(told: dict[int, dict[str, Any]]) -> None:
    written = [[3], False, [4], False, [5], False, [END], False, True, False, [END], True]
    assert [told[rank]["record_written"] for rank in range(2)] == [written] * 2


def test_a_record_that_is_given_up_ends_on_all_ranks_at_once(told: dict[int, dict[str, Any]]) -> None:
    seen = [[3], False, [END], "raised", False]
    assert [told[rank]["record_given_up"] for rank in range(2)] == [seen] * 2


def test_what_is_wrong_is_told_before_it_is_raised(told: dict[int, dict[str, Any]]) -> None:
    seen = [False, [END], True]
    assert [told[rank]["record_refused_in_between"] for rank in range(2)] == [seen] * 2


def test_what_the_first_rank_refuses_nobody_gets(told: dict[int, dict[str, Any]]) -> None:
    refused = ["no record exists: ¡nunca!", "Grammar compilation failed: a defect", ""]
    assert told[0]["outcomes"] == ["a grammar", *refused]
    assert told[1]["outcomes"] == ["a follower", *refused]
