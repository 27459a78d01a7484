"""``Alike``: values read one after the other are all equal; null and absent ones are skipped.

State: the key of the value that was seen, () before the first. A value that some slot still to come cannot
take (although it must take one) is refused at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from factorspec_sdk.automata.nodes import Code
from factorspec_sdk.automata.reading import (
    Key,
    Read,
    ReadingPlan,
    State,
    code_key,
    distinct_domains,
    keys_of,
    mask_of,
    null_bit,
    nullable,
    takes,
)

_NOTHING: State = ()


class Alike(ReadingPlan):
    """The plan of one ``all_equal``.

    later[at]: domains of the certain slots from ``at`` on. all[at]: domains of all slots from ``at`` on.
    """

    def __init__(self, reads: Iterable[Read]) -> None:
        super().__init__(reads)
        self.later = distinct_domains(self, self.certain)
        self.all = distinct_domains(self, lambda at: True)

    @property
    def start(self) -> State:
        return _NOTHING

    def step(self, at: int, state: State, index: int, code: Code) -> State | None:
        key = code_key(index, code)
        if key is None or key == state:
            return state
        return key if state == _NOTHING and self._possible(at, key) else None

    def skip(self, at: int, to: int, state: State) -> State:
        return state

    def allowed(self, at: int, state: State) -> int | None:
        domain = self.domains[at]
        if state != _NOTHING:
            return null_bit(domain) | mask_of(domain, [cast(Key, state)])
        if all(domain.key == other.key for other in self.later[at + 1]):
            return None
        keys = keys_of(domain)
        return sum(1 << index for index, key in keys if key is None or self._possible(at, key))

    def slack(self, at: int, state: State) -> bool:
        if state == _NOTHING:
            return len(self.all[at]) == 1
        return all(takes(domain, cast(Key, state)) or nullable(domain) for domain in self.all[at])

    def _possible(self, at: int, key: Key) -> bool:
        """True if every slot that surely takes a value after ``at`` can take this one."""
        return all(takes(domain, key) for domain in self.later[at + 1])
