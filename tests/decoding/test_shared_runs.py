"""Sessions that share what they work out, against plain ones that share nothing."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from factorspec_sdk.decoding import Decoder, Session, fill_rows, trail
from factorspec_sdk.graph.program import Program
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Allowed, Canonical, pack_ids
from tests.decoding import test_measured as measured
from tests.decoding import test_pieces as pieces
from tests.decoding.brute import FreeFeasibility, random_spec
from tests.decoding.plain_session import PlainSession
from tests.decoding.test_holes import list_program, note_program
from tests.decoding.test_masks import number_program
from tests.decoding.test_session import empty_strings


@pytest.fixture(scope="module")
def canonical() -> Canonical:
    return Canonical(vocabulary_like("tricky"))


def free(program: Program, canonical: Canonical, **options: int) -> Decoder:
    return Decoder(program, FreeFeasibility(program), canonical.vocabulary, canonical=canonical, **options)


DECODERS = {
    "note": lambda canonical: free(note_program(), canonical),
    "note 2..9": lambda canonical: free(note_program(2, 9), canonical),
    "list 3": lambda canonical: free(list_program(most=3), canonical),
    "values": lambda canonical: free(list_program("json", {"type": "integer"}), canonical),
    "number": lambda canonical: free(list_program("json", {"type": "number"}), canonical),
    "pattern": lambda canonical: free(list_program("string", {"pattern": "^[a-c]{0,4}$"}), canonical),
    "measured": lambda canonical: measured.decoder_of(canonical, "neighbours"),
    "optional measured": lambda canonical: measured.decoder_of(canonical, "presence"),
    "piece": lambda canonical: pieces.decoder_of(canonical, ("one two three",), 1, 9),
    "numbers": lambda canonical: free(number_program(-150, 1200, 1), canonical),
    "narrowed": lambda canonical: free(empty_strings(6), canonical, max_hypotheses=3),
}


def specs(canonical: Canonical, count: int, **options: int) -> Iterator[Decoder]:
    seed = 900
    while count:
        seed += 1
        spec = random_spec(seed)
        if spec is not None:
            count -= 1
            program, feasibility = spec
            yield Decoder(program, feasibility, canonical.vocabulary, canonical=canonical, **options)


class Pair:
    """A session and its plain twin."""

    def __init__(self, session: Session, plain: PlainSession) -> None:
        self.session = session
        self.plain = plain
        self._row = np.full(session.decoder.vocabulary.row_words, -1, dtype=np.int32)
        self._holds: Allowed | None = None

    def check(self) -> list[int]:
        """Both say the same; returns what is allowed."""
        session, plain = self.session, self.plain
        allowed = plain.allowed()
        assert session.tokens == tuple(plain.tokens)
        assert session.state == plain.state
        assert session.allowed() == allowed
        assert list(session.report.origins) == plain.origins
        self._holds = session.fill_row(self._row, self._holds)
        assert np.array_equal(self._row, pack_ids(allowed, len(self._row)))
        plan = session.plan()
        if not plan.tokens:
            assert session.report.exact == plain.exact
            # A session looks ahead to the next decision, its plain twin does not.
            assert session.report.near_limit or plain.limit is None or not plain.limit.near_limit
            assert [choice.allowed for choice in plan.choices] == [allowed] * (plain.state == "open")
        return list(allowed)

    def step(self, source: random.Random) -> None:
        """Some tokens at once, or some back, or a wrong one."""
        ids = self.check()
        session, plain = self.session, self.plain
        act = source.random()
        if act < 0.15 or not ids:
            back = source.randint(0, min(len(plain.tokens), source.choice((2, 9, 200))))
            session.rollback(back)
            plain.rollback(back)
        elif act < 0.2:
            wrong = source.randrange(session.decoder.vocabulary.logit_width)
            if wrong not in ids:
                assert session.commit([wrong, ids[0]]) == 0
                assert session.state == "refused"
                session.rollback(0)
        else:
            tokens = session.plan().tokens
            tokens = tokens[: source.randint(1, len(tokens))] if tokens else (source.choice(ids),)
            twin = session.copy()
            given = tokens if act < 0.6 else list(tokens) if act < 0.8 else np.array(tokens)
            assert session.commit(given) == len(tokens)
            assert twin.tokens == tuple(plain.tokens)
            for token in tokens:
                plain.commit(token)


def walk(decoder: Decoder, source: random.Random, num_pairs: int, num_steps: int, limits: bool) -> int:
    """Several pairs in turn; returns how many of the limits were near."""
    pairs, shortest = [], decoder.shortest() if limits else None
    for _ in range(num_pairs):
        limit = None if shortest is None else shortest + source.choice((0, 1, 2, 5, 30))
        pairs.append(Pair(decoder.session(limit), PlainSession(decoder, limit)))
    for _ in range(num_steps):
        source.choice(pairs).step(source)
    return sum(pair.session.report.near_limit for pair in pairs)


@pytest.mark.parametrize("max_run_bytes", [0, 20_000, 1 << 20])
def test_sharing_changes_nothing(canonical: Canonical, max_run_bytes: int) -> None:
    source, sizes = random.Random(max_run_bytes), []
    for decoder in specs(canonical, 12, max_run_bytes=max_run_bytes):
        walk(decoder, source, 4, 60, limits=False)
        sizes.append(decoder.runs.num_bytes)
        assert max_run_bytes or not (decoder.runs._beginning or decoder.runs._ending)
    assert max(sizes) <= max_run_bytes
    assert (max(sizes) > 0) == (max_run_bytes > 0)


@pytest.mark.parametrize("name", DECODERS)
def test_sharing_changes_nothing_in_texts_numbers_and_budgets(canonical: Canonical, name: str) -> None:
    decoder = DECODERS[name](canonical)
    walk(decoder, random.Random(name), 4, 200, limits=False)


@pytest.mark.parametrize("limits", [False, True])
@pytest.mark.parametrize("name", ["list 3", "narrowed", "numbers", "number"])
def test_sessions_that_keep_few_runs_find_back(
    canonical: Canonical, monkeypatch: pytest.MonkeyPatch, name: str, limits: bool
) -> None:
    monkeypatch.setattr(trail, "_MOST_RECENT", 3)
    monkeypatch.setattr(trail, "_RECENT", 1)
    monkeypatch.setattr(trail, "_MOST_KEPT", 2)
    monkeypatch.setattr(trail, "_TEXT_PER_MARK", 3)
    walk(DECODERS[name](canonical), random.Random(name), 4, 300, limits=limits)


@pytest.mark.parametrize("name", DECODERS)
def test_limits_share_what_they_do_not_narrow(canonical: Canonical, name: str) -> None:
    decoder = DECODERS[name](canonical)
    near = walk(decoder, random.Random(name), 8, 300, limits=True)
    assert near


def test_limits_of_small_specs(canonical: Canonical) -> None:
    source = random.Random(4)
    near = sum(walk(decoder, source, 4, 60, limits=True) for decoder in specs(canonical, 12))
    assert near


def test_runs_behind_a_first_decision_are_prepared(canonical: Canonical) -> None:
    """Where relations read it and few tokens may come; what sessions write is the same."""
    for number, decoder in enumerate(specs(canonical, 12)):
        decoder.prepare()
        root = decoder.runs.root()
        few = not root.free and root.allowed.count <= 8
        assert set(root.children) == (set(root.allowed.ids().tolist()) if few else set())
        walk(decoder, random.Random(number), 3, 60, limits=False)


def test_nothing_more_is_prepared_where_it_is_not_kept(canonical: Canonical) -> None:
    for decoder in specs(canonical, 3, max_run_bytes=0):
        decoder.prepare()
        assert not decoder.runs.root().children


@pytest.mark.sources
def test_a_second_session_opens_nothing_anew(canonical: Canonical, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also behind texts that differ, and with limits that are ample."""
    for decoder in (free(note_program(), canonical), *specs(canonical, 4)):
        first = decoder.session()
        while first.state == "open":
            first.commit(first.plan().tokens or (int(first.allowed().ids()[-1]),))
        opened: list[object] = []
        with monkeypatch.context() as patched:
            patched.setattr(decoder.opener, "close", opened.append)
            for limit in (None, 10_000):
                again = decoder.session(limit)
                again.commit(first.tokens)
                assert again.state == "complete"
                assert again.report.origins == first.report.origins
        assert not opened


def test_threads_share_a_decoder(canonical: Canonical) -> None:
    decoder = free(list_program(most=3), canonical, max_run_bytes=60_000)
    with ThreadPoolExecutor(4) as pool:
        work = [pool.submit(walk, decoder, random.Random(seed), 3, 80, limits=False) for seed in range(4)]
        for each in work:
            each.result(60)


def test_rows_of_a_batch_are_those_of_its_sessions(canonical: Canonical) -> None:
    source, words = random.Random(1), canonical.vocabulary.row_words
    sessions = [decoder.session() for decoder in (free(note_program(), canonical), *specs(canonical, 5))]
    buffer = np.full((len(sessions), 2, words + 3), -1, dtype=np.int32)
    out = buffer[:, 1, 1 : words + 1]
    holds: list[Allowed] | None = None
    for _ in range(40):
        holds = fill_rows(sessions, out, holds)
        for session, row in zip(sessions, out, strict=True):
            assert np.array_equal(row, pack_ids(session.allowed(), words))
            if session.state == "open":
                session.commit([int(source.choice(session.allowed().ids()))])
    assert (buffer[:, 0] == -1).all()
    assert (buffer[:, 1, [0, -1]] == -1).all()
    assert fill_rows([], out[:0]) == []


def test_a_row_that_is_held_is_not_written_again(canonical: Canonical) -> None:
    session = free(note_program(), canonical).session()
    session.commit(canonical.vocabulary.encode('{"note": "')[:-1])
    text = canonical.vocabulary.encode('"some text of more than one token')
    row = np.zeros(canonical.vocabulary.row_words, dtype=np.int32)
    session.commit(text[:2])
    holds = session.fill_row(row)
    session.commit(text[2:3])
    row.fill(0)
    assert session.fill_row(row, holds) is holds
    assert not row.any()
    session.fill_row(row)
    assert row.any()


def test_buffers_of_another_shape_or_type_are_refused(canonical: Canonical) -> None:
    decoder = free(note_program(), canonical)
    words = decoder.vocabulary.row_words
    for shape, kind in (((words + 1,), np.int32), ((words,), np.int64), ((1, words), np.int32)):
        with pytest.raises(ValueError, match="packed rows need int32 of shape"):
            decoder.session().fill_row(np.zeros(shape, dtype=kind))
    with pytest.raises(ValueError, match="packed rows need"):
        fill_rows([decoder.session()], np.zeros((2, words), dtype=np.int32))
