"""Free numbers that every reader can read back: bounds on digits and exponents in XGrammar's rules.

Inside larger grammars numbers have the bounds that ``free_numbers.py`` gives them alone, and for its reasons:
all of them are finite, whatever reads them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_DIGITS = "basic_number_digits"
_INTEGER = (
    '(("0") | (basic_integer_1 [1-9] [0-9]*))',
    '(("0") | (basic_integer_1 [1-9] [0-9]{0,18}))',
)
_WHOLE = ('(("0") | ([1-9] [0-9]*))', '(("0") | ([1-9] [0-9]{0,16}))')
_Rules = Mapping[str, tuple[str, str]]

# Each: rule -> (its body as releases of XGrammar write it, the bounded body).
_SINCE_0_2_6: _Rules = {
    "basic_integer": _INTEGER,
    "basic_number_2": _WHOLE,
    "basic_number_3": (f'("" | ("." {_DIGITS}{{1, -1}}))', f'("" | ("." {_DIGITS}{{1, 17}}))'),
    "basic_number_5": (
        f'("" | ([eE] basic_number_4 {_DIGITS}{{1, -1}}))',
        f'("" | ([eE] basic_number_4 {_DIGITS}{{1, 2}}))',
    ),
}
_UP_TO_0_2_5: _Rules = {
    "basic_integer": _INTEGER,
    "basic_number_7": _WHOLE,
    "basic_number_3": ('("" | ("." basic_number_2))', '("" | ("." [0-9]{1,17}))'),
    "basic_number_6": (
        '("" | ([eE] basic_number_4 basic_number_5))',
        '("" | ([eE] basic_number_4 [0-9]{1,2}))',
    ),
}


def with_bounded_numbers(grammar: str) -> str | None:
    """The grammar (EBNF as XGrammar prints it) with bounded numbers; None if its number rules are others."""
    found = (_bounded(grammar, rules) for rules in (_SINCE_0_2_6, _UP_TO_0_2_5))
    return next((bounded for bounded in found if bounded is not None), None)


def _bounded(grammar: str, rules: _Rules) -> str | None:
    """The grammar with these rules bounded; None if one of them is missing or has another body."""
    for name, (body, bounded) in rules.items():
        rule = re.search(rf"^{name} ::= (.*)$", grammar, re.MULTILINE)
        if rule is None:
            if re.search(rf"\b{name}\b", grammar):
                return None
            continue
        if rule.group(1) != body:
            return None
        grammar = grammar[: rule.start(1)] + bounded + grammar[rule.end(1) :]
    return grammar
