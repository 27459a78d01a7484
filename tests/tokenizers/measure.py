"""What the matrix measures of one tokenizer: canonical share of records, and masks against brute force."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from time import process_time

import numpy as np

from factorspec_sdk.decoding import Decoder, Session
from factorspec_sdk.errors import TooLarge
from factorspec_sdk.graph.program import Program
from factorspec_sdk.tokens import Canonical, pack_ids
from tests.decoding.brute import BruteFeasibility, random_spec
from tests.decoding.tries import Trie, record_tokens
from tests.tokenizers.records import LAYOUTS, specs

_MAX_RECORDS = 120


@dataclass(frozen=True)
class Share:
    """Records written at random along the masks.

    Attributes:
        records: how many.
        canonical: those whose tokens are the tokenizer's own encoding of their text.
        tokens: of all records; ``certain`` of them were certain, and ``choices`` chosen.
        seconds: of processor time for masks, plans and commits.
        wrong: texts of records that are not canonical.
        refused: kinds of records with ranges that are too wide for the tokenizer.
    """

    records: int
    canonical: int
    tokens: int
    certain: int
    choices: int
    seconds: float
    wrong: tuple[str, ...]
    refused: tuple[str, ...]


def written(canonical: Canonical, count: int, seed: int = 0) -> Share:
    """Write so many records, of each kind and layout in turn."""
    decoders, refused = _decoders(canonical)
    source = random.Random(seed)
    good = tokens = certain = choices = 0
    seconds, wrong = 0.0, []
    for number in range(count):
        session = decoders[number % len(decoders)].session()
        began = process_time()
        write_at_random(session, source)
        seconds += process_time() - began
        report = session.report
        tokens += report.num_tokens
        certain += report.certain
        choices += report.choice_points
        if is_canonical(canonical, session):
            good += 1
        else:
            wrong.append(session.text)
    return Share(count, good, tokens, certain, choices, seconds, tuple(wrong), refused)


def _decoders(canonical: Canonical) -> tuple[list[Decoder], tuple[str, ...]]:
    """A decoder of each kind and layout that the tokenizer takes, and the names of the others."""
    found, refused = [], []
    for spec in (spec for layout in LAYOUTS for spec in specs(layout)):
        try:
            found.append(Decoder(spec.program, spec.feasibility, canonical.vocabulary, canonical=canonical))
        except TooLarge:
            refused.append(spec.name)
    return found, tuple(refused)


def write_at_random(session: Session, source: random.Random) -> None:
    """Write a record: each choice is drawn among the allowed tokens."""
    while session.state == "open":
        plan = session.plan()
        session.commit(plan.tokens)
        if plan.choices:
            session.commit([int(source.choice(plan.choices[0].allowed.ids()))])


def is_canonical(canonical: Canonical, session: Session) -> bool:
    """True if a complete record is JSON, and its tokens are the tokenizer's own encoding of it."""
    text = session.text
    json.loads(text)
    return session.state == "complete" and canonical.vocabulary.encode(text) == session.tokens


@dataclass(frozen=True)
class Nodes:
    """Positions of small specs whose masks were compared with brute force, and those that were wrong."""

    checked: int
    wrong: tuple[str, ...]


def compared(canonical: Canonical, num_specs: int, first_seed: int = 0) -> Nodes:
    """Compare the mask of every position of small random specs with all records, encoded one by one.

    Each mask is compared over the whole width of the logits, as a packed row.
    """
    checked, wrong = 0, []
    for layout in LAYOUTS:
        for program, feasibility in small_specs(num_specs, first_seed, layout == "compact"):
            decoder = Decoder(program, feasibility, canonical.vocabulary, canonical=canonical)
            for session, node in _positions(decoder, feasibility):
                checked += 1
                if not _is_right(session, node):
                    wrong.append(session.text)
    return Nodes(checked, tuple(wrong))


@cache
def small_specs(count: int, first_seed: int, compact: bool) -> tuple[tuple[Program, BruteFeasibility], ...]:
    """So many random specs of few records, made once for all tokenizers."""
    found: list[tuple[Program, BruteFeasibility]] = []
    seed = first_seed
    while len(found) < count:
        spec = random_spec(seed, _MAX_RECORDS, compact)
        found += [] if spec is None else [spec]
        seed += 1
    return tuple(found)


def _positions(decoder: Decoder, feasibility: BruteFeasibility) -> Iterator[tuple[Session, Trie]]:
    """Every node of the trie of all records' tokens, with a session there."""
    stack = [(decoder.session(), Trie.of(record_tokens(decoder, feasibility.records)))]
    while stack:
        session, node = stack.pop()
        yield session, node
        for token, child in node.children.items():
            after = session.copy()
            if after.commit([token]) == 1:
                stack.append((after, child))


def _is_right(session: Session, node: Trie) -> bool:
    """True if the mask is exactly what some record goes on with, and completeness is as it should be."""
    words = session.decoder.vocabulary.row_words
    row = np.empty(words, dtype=np.int32)
    session.allowed().write_row(row)
    done = (session.state == "complete") == (not node.children)
    return done and bool(np.array_equal(row, pack_ids(node.children, words)))
