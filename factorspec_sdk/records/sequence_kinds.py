"""Declared relations on how often, and in which order, values occur."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from factorspec_sdk.records.conditions import inline_rows, side_text
from factorspec_sdk.records.declarations import Scope
from factorspec_sdk.records.kinds import OverPaths, Shapes, constants, one_code
from factorspec_sdk.records.moments import Constant
from factorspec_sdk.records.parameters import InlineTable, Param, ParamTable, Template

Times = int | tuple[int, int | None]
State = str | int
#: (state, value, next state)
Transition = tuple[State, Constant, State]


class Cardinality(OverPaths):
    """How often each of some values occurs."""

    def __init__(
        self,
        paths: Sequence[str],
        times: Mapping[Constant, Times],
        name: str | None,
        why: str | None,
        *,
        closed: bool,
        enforce: bool,
    ) -> None:
        super().__init__(paths, name, why, enforce=enforce)
        self.times = dict(times)
        self.closed = closed

    @property
    def default_name(self) -> str:
        listed = ", ".join(f"{side_text(value)} {_times_text(times)}" for value, times in self.times.items())
        return f"{self.listed}: {listed}{', nothing else' if self.closed else ''}"

    def build(self, scope: Scope) -> dict[str, Template] | None:
        paths, shapes = self.over(scope)
        one_code(scope, shapes)
        if not self.times:
            scope.fail("times", "at least one value is needed")
        occurs: list[Template] = []
        for value, times in self.times.items():
            bounds = self._bounds(scope, value, times)
            found = constants(scope, shapes, (value,))
            assert isinstance(found, list)
            occurs.extend({**const, **bounds} for const in found if isinstance(const, dict))
        built: dict[str, Template] = {"kind": "cardinality", "over": paths, "occurs": occurs}
        return {**built, "closed": True} if self.closed else built

    def _bounds(self, scope: Scope, value: Constant, times: Times) -> dict[str, Template]:
        least, most = (times, times) if isinstance(times, int) else times
        wrong = least < 0 or (most is not None and most < least)
        if wrong or isinstance(times, bool):
            scope.fail(
                "times", f"{side_text(value)} cannot occur {_times_text(times)}", "give n or (least, most)"
            )
        return {"least": least} if most is None else {"least": least, "most": most}


def _times_text(times: Times) -> str:
    if isinstance(times, int):
        return f"{times}×"
    return f"{times[0]}–{'∞' if times[1] is None else times[1]}×"


class Precedence(OverPaths):
    """Values are first used in a given order."""

    def __init__(
        self,
        paths: Sequence[str],
        values: Iterable[Constant] | Param,
        name: str | None,
        why: str | None,
        *,
        enforce: bool,
    ) -> None:
        super().__init__(paths, name, why, enforce=enforce)
        self.values = values if isinstance(values, Param) else tuple(values)

    @property
    def default_name(self) -> str:
        if isinstance(self.values, Param):
            return f"{self.listed}: first uses in the order of {self.values.name}"
        return f"{self.listed}: {' before '.join(map(side_text, self.values))}"

    def build(self, scope: Scope) -> dict[str, Template] | None:
        paths, shapes = self.over(scope)
        one_code(scope, shapes)
        values = constants(scope, shapes, self.values)
        if isinstance(values, list) and len(values) < 2:
            scope.fail("values", "at least two values are needed")
        return {"kind": "precedence", "over": paths, "values": values}


class Regular(OverPaths):
    """The values, one after the other, are a word of a finite automaton."""

    def __init__(
        self,
        paths: Sequence[str],
        transitions: Iterable[Transition] | Param,
        start: State,
        final: Iterable[State],
        name: str | None,
        why: str | None,
        *,
        enforce: bool,
    ) -> None:
        super().__init__(paths, name, why, enforce=enforce)
        self.transitions = transitions if isinstance(transitions, Param) else tuple(transitions)
        self.first = start
        self.final = tuple(final)

    @property
    def default_name(self) -> str:
        return f"{self.listed} from {self.first} to {' or '.join(map(str, self.final))}"

    def build(self, scope: Scope) -> dict[str, Template] | None:
        paths, shapes = self.over(scope)
        one_code(scope, shapes)
        if not self.final:
            scope.fail("final", "at least one final state is needed")
        final: list[Template] = list(self.final)
        table = self._table(scope, shapes)
        return {"kind": "regular", "over": paths, "table": table, "start": self.first, "final": final}

    def _table(self, scope: Scope, shapes: Shapes) -> Template:
        transitions = self.transitions
        if isinstance(transitions, Param):
            return ParamTable(transitions, 3)
        if not transitions:
            scope.fail("transitions", "at least one transition is needed")
        constants(scope, shapes, tuple({value: None for _, value, _ in transitions}))
        return scope.attempt("transitions", lambda: InlineTable(inline_rows(transitions, 3)))


def successions(
    after: Mapping[Constant, Iterable[Constant]],
    first: Iterable[Constant] | None,
    last: Iterable[Constant] | None,
) -> tuple[list[Transition], list[State]]:
    """(transitions, final states) of the automaton whose state is the last value."""
    allowed = {value: tuple(values) for value, values in after.items()}
    everything = dict.fromkeys([*allowed, *(value for values in allowed.values() for value in values)])
    transitions: list[Transition] = [("start", value, _state(value)) for value in first or everything]
    transitions += [
        (_state(value), other, _state(other)) for value, values in allowed.items() for other in values
    ]
    ends = ["start", *map(_state, everything if last is None else last)]
    return list(dict.fromkeys(transitions)), list(dict.fromkeys(ends))


def _state(value: Constant) -> str:
    return f"after {side_text(value)}"
