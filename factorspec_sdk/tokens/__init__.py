"""The token layer: vocabulary, cuts, canonical tokens, candidates' rows, numbers and masks.

Knows nothing of relations. ``decoding`` puts it together with the factor graph. Needs the extra ``tokens``.
"""

from factorspec_sdk.tokens.beginnings import Beginnings, Verdict
from factorspec_sdk.tokens.canonical import Canonical
from factorspec_sdk.tokens.certain import certain, certain_by_last_cut, certain_rows
from factorspec_sdk.tokens.cuts import Cuts
from factorspec_sdk.tokens.digit_walk import DigitWalk, NumberState, SteppedValues, Values
from factorspec_sdk.tokens.held import NOTHING_HELD, Continuation, Held
from factorspec_sdk.tokens.masks import Allowed, pack_ids, unpack_row
from factorspec_sdk.tokens.rows import RowTable, RowTables
from factorspec_sdk.tokens.single_digits import SingleDigitWalk
from factorspec_sdk.tokens.vocabulary import Vocabulary
from factorspec_sdk.tokens.walks import supports_form, supports_numbers, walk_of

__all__ = [
    "NOTHING_HELD",
    "Allowed",
    "Beginnings",
    "Canonical",
    "Continuation",
    "Cuts",
    "DigitWalk",
    "Held",
    "NumberState",
    "RowTable",
    "RowTables",
    "SingleDigitWalk",
    "SteppedValues",
    "Values",
    "Verdict",
    "Vocabulary",
    "certain",
    "certain_by_last_cut",
    "certain_rows",
    "pack_ids",
    "supports_form",
    "supports_numbers",
    "unpack_row",
    "walk_of",
]
