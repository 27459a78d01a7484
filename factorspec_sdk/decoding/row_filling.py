"""The rows of many sessions in one buffer, for a batch of requests."""

from __future__ import annotations

from collections.abc import Sequence

from factorspec_sdk.decoding.session import Session
from factorspec_sdk.tokens import Allowed
from factorspec_sdk.tokens.masks import Row, check_rows


def fill_rows(
    sessions: Sequence[Session], out: Row, holds: Sequence[Allowed | None] | None = None
) -> list[Allowed]:
    """Write the tokens that may come next in each session into a row of ``out``.

    Args:
        sessions: of the same vocabulary.
        out: (number of sessions, row_words) int32, CPU, of any strides; layout as in ``tokens/masks.py``.
            Of a torch tensor its ``numpy()``.
        holds: what each row holds, as the last call on them returned; rows of which that is still so are not
            written.

    Returns:
        The tokens that each row holds now.

    Raises:
        ValueError: ``out`` has another shape or type, or ``holds`` another length.
    """
    if not sessions:
        return []
    check_rows(out, (len(sessions), sessions[0].decoder.vocabulary.row_words))
    held = (None,) * len(sessions) if holds is None else holds
    return [session.fill_row(row, known) for session, row, known in zip(sessions, out, held, strict=True)]
