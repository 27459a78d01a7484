"""``sample``: valid records without a model, drawn at random through the same masks that a model would see.

Not uniform over the records: each token is drawn among those that still lead to one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from factorspec_sdk.decoding import Choice, Decoder, Session
from factorspec_sdk.errors import TokenLimitTooSmall
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.testing import byte_vocabulary
from factorspec_sdk.wire import Spec

# Bytes for free text and free values; each token of the byte vocabulary is one byte.
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ")
_MARKS = frozenset(b'"{}[],:.-+') | {0x65}
_MARK_SHARE = 0.12
_LONG = 20_000


def sample_records(spec: Spec, *, seed: int) -> Iterator[str]:
    """Endless valid records, as canonical JSON texts. The same seed gives the same records.

    Raises:
        InfeasibleError: there is none.
        MissingExtra: the token layer is not installed.
    """
    compiled, vocabulary = compile_spec(spec), byte_vocabulary()
    decoder = Decoder(compiled.program, compiled.feasibility, vocabulary)
    draw = random.Random(seed)
    while True:
        # a limit makes masks dearer, so that there is none unless the draws do not come to an end
        session = decoder.session()
        if not _written(session, draw, _LONG):
            session = decoder.session(max(_LONG, _shortest(decoder)))
            _written(session, draw, None)
        yield session.text


def _written(session: Session, draw: random.Random, most: int | None) -> bool:
    """Write a record; False if it has ``most`` tokens and is not complete."""
    while session.state == "open":
        if most is not None and session.num_tokens >= most:
            return False
        plan = session.plan()
        session.commit(plan.tokens)
        if plan.choices:
            session.commit([_drawn(plan.choices[0], draw)])
    return True


def _shortest(decoder: Decoder) -> int:
    """Tokens of the shortest record, as far as the decoder tells it; it does where it is more than one."""
    try:
        decoder.session(1)
    except TokenLimitTooSmall as error:
        return error.shortest or 1
    return 1


def _drawn(choice: Choice, draw: random.Random) -> int:
    """One of the allowed tokens; in free text letters and, now and then, what may close it."""
    ids = choice.allowed.ids().tolist()
    if choice.free:
        marks = [token for token in ids if token in _MARKS]
        plain = [token for token in ids if token in _PLAIN]
        ids = marks if marks and (not plain or draw.random() < _MARK_SHARE) else plain or ids
    return int(draw.choice(ids))
