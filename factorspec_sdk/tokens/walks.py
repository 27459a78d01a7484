"""Which walk suits a tokenizer's digits, and whether one does; else every value must be a candidate.

=======  ===================================================================  ============================
grouped  pre-tokens of 1 (Qwen, SmolLM2) or 3 digits from the left (Llama 3)  ``NumberWalk``, ``FormWalk``,
                                                                              ``SingleDigitWalk``
merged   a run of digits is one pre-token (GPT-2)                             ``MergedWalk``
others   grouped from the right, or by an expression that is not known        none
=======  ===================================================================  ============================
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from factorspec_sdk.fields.forms import DecimalForm, Form
from factorspec_sdk.tokens.canonical import Canonical
from factorspec_sdk.tokens.digit_walk import DigitWalk, Leads
from factorspec_sdk.tokens.forms import FormWalk, pieces_of
from factorspec_sdk.tokens.held import Held
from factorspec_sdk.tokens.merged import MergedWalk
from factorspec_sdk.tokens.numbers import NumberWalk
from factorspec_sdk.tokens.single_digits import SingleDigitWalk

_MAX_GROUP = 3
_DIGITS = "0123456789"
_ANY_LENGTH = 1 << 30
_NUMBERS = (0, 7, 10, 99, 123, 1000, 2024, 65_536, 123_456, 1_000_000, 99_999_999)


def walk_of(canonical: Canonical, held: Held, form: Form | None, lo: int, hi: int) -> DigitWalk:
    """The walk after a held tail for codes in ``[lo, hi]``.

    ``supports_numbers`` or ``supports_form`` must hold.

    Args:
        canonical: encodes.
        held: what is held when the value begins.
        form: how the codes are spelled; None: as integers.
        lo: least code.
        hi: greatest code.
    """
    opening = "" if form is None else form.opening
    before = {
        negative: f"{held.text}{opening}{'-' if negative else ''}"
        for negative in (False, True)
        if (lo < 0 if negative else hi >= 0)
    }
    size = group_size(canonical)
    if size is None:
        return _merged(canonical, held, form, before, max(abs(lo), abs(hi)))
    tail = len(canonical.encode_piece("1"))
    whole = {negative: canonical.encode_piece(text + "1") for negative, text in before.items()}
    leads = {negative: tokens[held.emitted : len(tokens) - tail] for negative, tokens in whole.items()}
    if form is None:
        return _of_integers(canonical, leads, size, len(str(max(abs(lo), abs(hi)))))
    return FormWalk(canonical, leads, form, size)


def _of_integers(canonical: Canonical, leads: Leads, size: int, longest: int) -> NumberWalk:
    digits = canonical.digit_tokens if size == 1 else ()
    if digits:
        return SingleDigitWalk(canonical, leads, longest, digits)
    return NumberWalk(canonical, leads, size, longest)


def group_size(canonical: Canonical) -> int | None:
    """Digits of a full group, or None where the digit rule is another."""
    size = canonical.cuts.num_digits
    return None if size is None or size > _MAX_GROUP else size


def merges_digits(canonical: Canonical) -> bool:
    """True if a run of digits is one pre-token, whose tokens are what merges make of it."""
    family = canonical.cuts.family
    return (
        family is not None
        and group_size(canonical) is None
        and not canonical.vocabulary.definition.ignores_merges
    )


def supports_numbers(canonical: Canonical) -> bool:
    """True if integers can be walked digit by digit; else every value must be a candidate."""
    return group_size(canonical) is not None or (
        merges_digits(canonical) and _stand_alone(canonical, None, [*_NUMBERS, *(-n for n in _NUMBERS)])
    )


def supports_form(canonical: Canonical, form: Form, codes: Sequence[int]) -> bool:
    """True if texts of a form can be walked: the tokens of some of them are those of their pieces."""
    known = group_size(canonical) is not None or merges_digits(canonical)
    return known and _stand_alone(canonical, form, codes)


def _stand_alone(canonical: Canonical, form: Form | None, codes: Sequence[int]) -> bool:
    """True if the pieces of the texts of some codes are encoded apart from each other."""
    size = group_size(canonical) or _ANY_LENGTH
    quote = ("", "") if form is None else (form.opening, form.closing)
    for code in codes:
        body = str(abs(code)) if form is None else form.body(abs(code))
        opening = f"{quote[0]}-" if code < 0 else quote[0]
        pieces = [opening, *pieces_of(body, size), f"{quote[1]},"]
        parts = [canonical.encode_piece(piece) for piece in pieces if piece]
        if tuple(chain.from_iterable(parts)) != canonical.vocabulary.encode_inside("".join(pieces)):
            return False
    return True


def _merged(
    canonical: Canonical, held: Held, form: Form | None, before: dict[bool, str], largest: int
) -> MergedWalk:
    form = DecimalForm(0, len(str(largest)), "", "") if form is None else form
    cuts = {negative: canonical.cuts.last_cut(text, _DIGITS) for negative, text in before.items()}
    leads = {
        negative: canonical.encode_piece(text[: cuts[negative]])[held.emitted :]
        for negative, text in before.items()
    }
    joined = {negative: text[cuts[negative] :] for negative, text in before.items()}
    assert set(joined.values()) <= {"", " "}, "no more than a space joins digits"
    return MergedWalk(canonical, leads, form, len(form.body(largest)), joined)
