"""The certain tokens of a candidate: those that no later decision can change.

A session holds a tail of text W that begins at a cut, of whose tokens e are given out already. A candidate v
with the literal that follows it makes the text x = W + v + literal::

    x = ' "Oslo", "day": '                     c = last cut of x
        |--- head ------|tail|                 certain = (tokens(head) + stable tokens of tail)[e:]
                        c                      held    = tail, with how many of its tokens are given out
                                                         (SentencePiece style: c is behind those)

One step makes it faster. The cuts of a literal do not depend on the candidate, so from its first inner cut
on the tokens are worked out once and joined to those of each candidate (``LiteralEnd``).
"""

from __future__ import annotations

from collections.abc import Iterable

from factorspec_sdk.tokens.canonical import Canonical
from factorspec_sdk.tokens.held import NOTHING_HELD, Continuation, Held, LiteralEnd
from factorspec_sdk.tokens.memo import ID_BYTES, text_bytes


def certain(canonical: Canonical, held: Held, text: str, after: Continuation) -> tuple[tuple[int, ...], Held]:
    """The certain tokens of ``held.text + text + after.literal`` not yet given out, and what is held then.

    Args:
        canonical: encodes; remembers the ends of literals.
        held: what was held before.
        text: the candidate's JSON text, empty for a decision without own text.
        after: what follows it.
    """
    return certain_rows(canonical, held, (text,), after)[0]


def certain_rows(
    canonical: Canonical, held: Held, texts: Iterable[str], after: Continuation
) -> list[tuple[tuple[int, ...], Held]]:
    """``certain`` of some candidates with the same continuation."""
    end = _literal_end(canonical, after)
    if end is None:
        return [certain_by_last_cut(canonical, held, text, after) for text in texts]
    before, begin, tokens, held_after = held.text, end.begin, end.tokens, end.held
    given, added, encode = held.emitted, canonical.vocabulary.added, canonical.encode_piece
    found = []
    for text in texts:
        piece = f"{before}{text}{begin}"
        if added.may_begin_in(piece) and added.may_span(piece, len(piece)):
            found.append(certain_by_last_cut(canonical, held, text, after))
        else:
            found.append((encode(piece)[given:] + tokens, held_after))
    return found


def certain_by_last_cut(
    canonical: Canonical, held: Held, text: str, after: Continuation
) -> tuple[tuple[int, ...], Held]:
    """What ``certain`` gives, by the drawing above; the slow reference."""
    whole = held.text + text + after.literal
    given = held.emitted
    if after.final:
        return canonical.encode_piece(whole)[given:], NOTHING_HELD
    tail = canonical.tail(whole, after.following)
    cut = len(whole) - len(tail)
    head = canonical.encode_piece(whole[:cut]) if cut else ()
    if not tail:
        return head[given:], NOTHING_HELD
    stable = () if canonical.cuts.joins is not None else canonical.stable(tail)
    # Tokens once given out stay given out, also where `stable` knows fewer of a longer tail.
    emitted = max(len(stable), given - len(head))
    return (head + stable)[given:], Held(tail, emitted)


def _literal_end(canonical: Canonical, after: Continuation) -> LiteralEnd | None:
    """The end of a literal that is the same whatever stands before, or None if there is none."""
    memo = canonical.literal_ends
    if after in memo:
        return memo[after]
    end = None
    cuts = canonical.cuts
    cut = cuts.first_cut_at_or_after(after.literal, 1) if cuts.is_local else None
    if cut is not None:
        rest = Continuation(after.literal[cut:], after.following, after.final)
        end = LiteralEnd(after.literal[:cut], *certain_by_last_cut(canonical, NOTHING_HELD, "", rest))
    tokens = 0 if end is None else len(end.tokens)
    return memo.keep(after, end, 2 * text_bytes(after.literal, after.following) + ID_BYTES * tokens)
