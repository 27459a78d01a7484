"""Grammar objects whose records the constraint service keeps, step by step beside those of this process."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from factorspec_sdk.decoding import Session
from factorspec_sdk.errors import FactorspecError
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Vocabulary
from factorspec_server.constraint_service import ConstraintService
from factorspec_server.http.compiled_spec import Compiler
from factorspec_server.sglang.batch_chains import BatchChains
from factorspec_server.sglang.chains import Chain
from factorspec_server.sglang.mask_rows import MaskRows
from factorspec_server.sglang.plan_source import LocalPlans, PlanSource
from factorspec_server.sglang.records import counts_of
from factorspec_server.sglang.service_plans import ServicePlans
from factorspec_server.sglang.session_grammar import SessionGrammar, session_grammar_of
from tests.constraint_service.pairs import NOTES, compiler_of, serving
from tests.server.http.serving import TRIP
from tests.server.sglang.test_batch_chains import Request

DOCUMENTS = [TRIP, NOTES]
MOST = 24
LIMIT = 120


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return vocabulary_like("smollm2")


@pytest.fixture(scope="module")
def service(vocabulary: Vocabulary) -> Iterator[ConstraintService]:
    with serving(vocabulary) as made:
        yield made


@pytest.fixture(scope="module")
def compiler(vocabulary: Vocabulary) -> Compiler:
    return compiler_of(vocabulary)


@dataclass
class Side:
    """Requests of a running batch, and whoever works their chains and rows out."""

    plans: PlanSource
    grammars: list[SessionGrammar]
    requests: list[Any] = field(init=False)
    failed: list[tuple[int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.requests = [Request(grammar) for grammar in self.grammars]
        self._chains = BatchChains(self.plans, session_grammar_of, self._fail)
        self._rows = MaskRows(self.plans, session_grammar_of, self._fail)

    def step(self, rooms: list[int], row_words: int) -> tuple[list[Chain], np.ndarray]:
        """What runs, and the rows of its decisions."""
        import torch

        chains = self._chains.of(self.requests, rooms)
        rows = torch.zeros((sum(chain.num_rows for chain in chains), row_words), dtype=torch.int32)
        self._rows.fill(rows, self.requests, chains, mask_known=False)
        return chains, rows.numpy()

    def stand(self, run: list[list[int]]) -> None:
        """These tokens stand, as SGLang tells them one by one."""
        for request, tokens in zip(self.requests, run, strict=True):
            for token in tokens:
                if not request.is_finished:
                    request.grammar.accept_token(token)
                    request.is_finished = request.grammar.is_terminated()
        self._chains.tokens_stand(self.requests)

    def _fail(self, request: Any, reason: str) -> None:
        self.failed.append((next(at for at, each in enumerate(self.requests) if each is request), reason))
        request.is_finished = True


def sides(
    service: ConstraintService, compiler: Compiler, documents: list[Any]
) -> tuple[Side, Side, list[SessionGrammar]]:
    end = service_end(compiler)
    remote = [SessionGrammar(service.open(each, token_limit=LIMIT), end) for each in documents]
    local = [SessionGrammar(compiler.compile(each)[0].decoder.session(LIMIT), end) for each in documents]
    words = service.row_words
    return Side(ServicePlans(service, words, MOST), remote), Side(LocalPlans(words), local), remote


def service_end(compiler: Compiler) -> int:
    return compiler.compile(TRIP)[0].decoder.vocabulary.end_ids[0]


def drawn(chain: Chain, rows: np.ndarray, source: random.Random) -> list[int]:
    """What stands of a chain of certain tokens: all of it, and one behind it."""
    if chain.then is not None:
        return [*chain.tokens, chain.then]
    bits = np.unpackbits(rows[0].view(np.uint8), bitorder="little")
    return [*chain.tokens, int(source.choice(np.flatnonzero(bits)))]


def write(
    service: ConstraintService, compiler: Compiler, seed: int, disturb: Any = lambda step: None
) -> None:
    source = random.Random(seed)
    served, here, grammars = sides(service, compiler, [DOCUMENTS[at % 2] for at in range(5)])
    words, steps = service.row_words, 0
    while not all(request.is_finished for request in here.requests):
        disturb(steps)
        rooms = [source.choice([0, 3, MOST]) for _ in grammars]
        chains, rows = served.step(rooms, words)
        expected, expected_rows = here.step(rooms, words)
        assert [(chain.tokens, chain.then) for chain in chains] == [
            (chain.tokens, chain.then) for chain in expected
        ]
        assert np.array_equal(rows, expected_rows)
        run, first = [], 0
        for chain in chains:
            run.append(drawn(chain, rows[first : first + chain.num_rows], source))
            first += chain.num_rows
        for side in (served, here):
            side.stand(run)
        steps += 1
    assert not served.failed
    for grammar, other in zip(grammars, here.grammars, strict=True):
        assert isinstance(other.session, Session)
        assert grammar.session.tokens == other.session.tokens
        assert grammar.session.text == other.session.text
        assert counts_of(grammar.session, origins=False) == counts_of(other.session, origins=False)
        grammar.close()


@pytest.mark.parametrize("seed", range(3))
def test_records_are_written_as_in_this_process(
    service: ConstraintService, compiler: Compiler, seed: int
) -> None:
    write(service, compiler, seed)


def test_records_are_written_on_when_their_workers_die(
    service: ConstraintService, compiler: Compiler
) -> None:
    before = service.stats().records_rebuilt

    def disturb(step: int) -> None:
        if step in (2, 5):
            for link in service._keeper.links:
                if link._pid_fd is not None:
                    signal.pidfd_send_signal(link._pid_fd, signal.SIGKILL)

    write(service, compiler, 9, disturb)
    assert service.stats().records_rebuilt > before


def test_a_service_that_is_gone_ends_its_requests_alone(vocabulary: Vocabulary, compiler: Compiler) -> None:
    with serving(vocabulary, workers=1) as mortal:
        served, _, _ = sides(mortal, compiler, [TRIP, NOTES])
        served.requests.append(Request())
        chains, _ = served.step([MOST] * 3, mortal.row_words)
        mortal.close()
        for grammar, chain in zip(served.grammars, chains, strict=False):
            for token in chain.tokens:
                grammar.accept_token(token)
        served.step([MOST] * 3, mortal.row_words)
    assert [at for at, _ in served.failed] == [0, 1]
    assert all(isinstance(grammar.error, FactorspecError) for grammar in served.grammars)
