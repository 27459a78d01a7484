"""Free numbers that every reader can read back: bounds on digits and exponents in XGrammar's rules.

Inside larger grammars numbers have the bounds that ``free_numbers.py`` gives them alone, and for its reasons:
all of them are finite, whatever reads them.
"""

from __future__ import annotations

import re

# rule: (its body as XGrammar 0.2 writes it, the bounded body)
_RULES = {
    "basic_integer": (
        '(("0") | (basic_integer_1 [1-9] [0-9]*))',
        '(("0") | (basic_integer_1 [1-9] [0-9]{0,18}))',
    ),
    "basic_number_2": ('(("0") | ([1-9] [0-9]*))', '(("0") | ([1-9] [0-9]{0,16}))'),
    "basic_number_3": (
        '("" | ("." basic_number_digits{1, -1}))',
        '("" | ("." basic_number_digits{1, 17}))',
    ),
    "basic_number_5": (
        '("" | ([eE] basic_number_4 basic_number_digits{1, -1}))',
        '("" | ([eE] basic_number_4 basic_number_digits{1, 2}))',
    ),
}


def with_bounded_numbers(grammar: str) -> str | None:
    """The grammar (EBNF as XGrammar prints it) with bounded numbers; None if its number rules are others."""
    for name, (found, bounded) in _RULES.items():
        rule = re.search(rf"^{name} ::= (.*)$", grammar, re.MULTILINE)
        if rule is None:
            if re.search(rf"\b{name}\b", grammar):
                return None
            continue
        if rule.group(1) != found:
            return None
        grammar = grammar[: rule.start(1)] + bounded + grammar[rule.end(1) :]
    return grammar
