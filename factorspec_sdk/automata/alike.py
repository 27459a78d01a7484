"""``Alike``: values read one after the other are all equal; null and absent ones are skipped.

State: the value that was seen, None before the first. A value that some slot still to come cannot take
(although it must take one) is refused at once.
"""

from __future__ import annotations

from collections.abc import Iterable

from factorspec_sdk.automata.nodes import Code
from factorspec_sdk.automata.reading import Read, ReadingPlan, State, code_key
from factorspec_sdk.fields.domains import Domain


class Alike(ReadingPlan):
    """The plan of one ``all_equal``. later[at]: domains of the certain slots from ``at`` on, each once."""

    def __init__(self, reads: Iterable[Read]) -> None:
        super().__init__(reads)
        later: list[tuple[Domain, ...]] = [()]
        for at in reversed(range(len(self))):
            known, domain = later[-1], self.domains[at]
            new = self.certain(at) and all(domain.key != other.key for other in known)
            later.append((*known, domain) if new else known)
        self.later = tuple(later[::-1])

    def step(self, at: int, state: State, index: int, code: Code) -> State | None:
        key = code_key(index, code)
        if key is None:
            return state
        if state is not _NOTHING and state != key:
            return None
        return key if self._possible(at, code) else None

    def allowed(self, at: int, state: State) -> int | None:
        domain = self.domains[at]
        null = domain.index_of_code(None)
        mask = 0 if null is None else 1 << null
        if state is _NOTHING:
            codes = ((index, domain.code(index)) for index in range(len(domain)))
            return mask | sum(1 << i for i, code in codes if code is not None and self._possible(at, code))
        assert isinstance(state, tuple)
        found = domain.index_of_code(state[1])
        return mask if found is None else mask | 1 << found

    def _possible(self, at: int, code: Code) -> bool:
        """True if every slot that surely takes a value after ``at`` can take this one."""
        assert code is None or isinstance(code, bool | int | str)
        return all(domain.index_of_code(code) is not None for domain in self.later[at + 1])


_NOTHING = ()
START: State = _NOTHING
