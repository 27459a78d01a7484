"""A record of the service and a session in this process, written side by side."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from factorspec_sdk.decoding import Plan, Session
from factorspec_sdk.errors import FactorspecError, JsonValue
from factorspec_sdk.explaining.spec_report import certificate_json
from factorspec_sdk.tokens import Allowed, Canonical, Vocabulary
from factorspec_server.constraint_service import (
    ConstraintService,
    DraftingSpec,
    RemoteRecord,
    ServiceOptions,
    VocabularySource,
)
from factorspec_server.drafting import DraftingPolicy
from factorspec_server.http.compiled_spec import Compiler
from factorspec_server.http.report import origins_of, session_counts

Document = dict[str, JsonValue]
DOCUMENTS = Path(__file__).parents[1] / "wire" / "documents"
#: free text beside choices and numbers
NOTES: Document = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["call", "visit", "letter"]},
        "note": {"type": "string"},
        "hours": {"type": "integer", "minimum": 1, "maximum": 400},
        "again": {"type": "string", "maxLength": 30},
    },
    "required": ["kind", "note", "hours", "again"],
    "additionalProperties": False,
}


def wire_documents() -> dict[str, Document]:
    """The kept documents, by name."""
    return {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(DOCUMENTS.glob("*.json"))}


def source_of(vocabulary: Vocabulary) -> VocabularySource:
    """What another process needs to make it."""
    return VocabularySource.of_tokenizer(
        vocabulary.tokenizer, vocabulary.logit_width, vocabulary.end_ids, name=vocabulary.name
    )


@contextmanager
def serving(vocabulary: Vocabulary, **options: Any) -> Iterator[ConstraintService]:
    """A service with two workers, unless told otherwise."""
    made = ConstraintService(
        source_of(vocabulary), ServiceOptions(**{"workers": 2, "records": 32, "deadline_s": 60.0, **options})
    )
    try:
        yield made
    finally:
        made.close()


def compiler_of(vocabulary: Vocabulary) -> Compiler:
    """In this process."""
    return Compiler(Canonical(vocabulary), max_entries=64, max_bytes=1 << 30)


class RandomTokens:
    """Draws among the allowed tokens; texts end soon."""

    def __init__(self, vocabulary: Vocabulary, seed: int) -> None:
        self._random = Random(seed)
        self._closers = [i for i in vocabulary.text_ids if vocabulary.token_bytes(i)[:1] == b'"']

    def choose(self, allowed: Allowed) -> int:
        """One of the tokens."""
        closing = [token for token in self._closers if token in allowed]
        ends = bool(closing) and allowed.count > len(closing) and self._random.random() < 0.15
        among: list[int] = closing if ends else allowed.ids().tolist()
        return self._random.choice(among)


@dataclass
class Pair:
    """Both, in the same state."""

    record: RemoteRecord
    session: Session
    policy: DraftingPolicy

    def compare_plans(self) -> None:
        """Ask both for what to run next."""
        assert self.record.plan() == self.expected()

    def expected(self) -> Plan:
        """What the policy plans; where it guesses nothing the session's own plan, which has no chances."""
        plan = self.policy.plan(self.session)
        return plan if False in plan.certain or not plan.chances else self.session.plan()

    def compare(self) -> None:
        """Compare all that can be seen without a plan."""
        record, session = self.record, self.session
        assert (record.num_tokens, record.tokens) == (session.num_tokens, session.tokens)
        assert record.state == session.state
        words = session.decoder.vocabulary.row_words
        rows = np.full((2, words), -1, dtype=np.int32)
        allowed = record.fill_row(rows[0])
        assert allowed == session.fill_row(rows[1])
        assert np.array_equal(rows[0], rows[1])
        assert allowed.count == len(allowed.ids())

    def compare_reports(self) -> None:
        """Compare what is told when the record ends."""
        vocabulary = self.session.decoder.vocabulary
        assert self.record.text == self.session.text
        complete = self.session.state == "complete"
        counts = {**session_counts(self.session), "text": self.session.text, "complete": complete}
        assert self.record.finish(origins=False) == counts
        with_origins = {**counts, "origins": origins_of(self.session, vocabulary)}
        assert self.record.finish(origins=True) == json.loads(json.dumps(with_origins))

    def commit(self, tokens: Sequence[int]) -> int:
        """Write tokens with both."""
        written = self.record.commit(tokens)
        assert written == self.session.commit(tokens)
        return written

    def rollback(self, num_tokens: int) -> None:
        """Take tokens back with both."""
        self.record.rollback(num_tokens)
        self.session.rollback(num_tokens)


class Pairs:
    """Makes pairs: records of a service, and sessions of a compiler that has the same vocabulary."""

    def __init__(
        self, service: ConstraintService, vocabulary: Vocabulary, drafting: DraftingSpec | None = None
    ) -> None:
        self.service = service
        self.vocabulary = vocabulary
        self.compiler = compiler_of(vocabulary)
        self.drafting = drafting or DraftingSpec(name="certain", patience_s=None)
        service.draft(self.drafting)

    def open(self, document: Document, *, prompt: Sequence[int] = (), token_limit: int | None = None) -> Pair:
        """A new pair."""
        compiled, _ = self.compiler.compile(document)
        compiled.decoder.prepare()
        record = self.service.open(document, token_limit=token_limit)
        assert record.spec_hash == compiled.spec.hash
        assert record.certificates == [certificate_json(each) for each in compiled.certificates]
        record.set_prompt(prompt)
        return Pair(record, compiled.decoder.session(token_limit), self.policy(prompt))

    def policy(self, prompt: Sequence[int] = ()) -> DraftingPolicy:
        """What is drafted, for one record."""
        return self.drafting.policy(self.vocabulary, prompt)


def write(pair: Pair, vocabulary: Vocabulary, seed: int, *, each_token: bool) -> None:
    """Write a whole record, tokens at random. each_token: compare behind each, not only behind each plan."""
    model, source = RandomTokens(vocabulary, seed), Random(seed)
    while True:
        pair.compare_plans()
        if each_token:
            pair.compare()
        if pair.session.state == "complete":
            break
        for token in _tokens_of(pair, model):
            assert pair.commit((token,)) == 1
            if each_token:
                pair.compare()
        if each_token and pair.session.num_tokens > 3 and source.random() < 0.2:
            pair.rollback(2)
            pair.compare()
    pair.compare()
    pair.compare_reports()


def _tokens_of(pair: Pair, model: RandomTokens) -> list[int]:
    """The tokens of a verify step: what is certain, and decisions as long as they were guessed."""
    tokens: list[int] = []
    twin = pair.session.copy()
    plan = twin.plan()
    tokens += plan.tokens
    twin.commit(plan.tokens)
    if twin.state == "open":
        tokens.append(model.choose(twin.allowed()))
    return tokens


def outcome(open_record: Any) -> tuple[type[Exception], str, object, dict[str, object]] | None:
    """The error that opening a record raises, to compare."""
    try:
        open_record()
    except FactorspecError as error:
        return type(error), error.message, error.problems, vars(error)
    return None
