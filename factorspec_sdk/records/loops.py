"""Loops over symbolic lists: each binds exactly one item, inside one aggregate.

``every(x.a < x.b for x in self.items)`` is recorded by running the generator: the list yields one bound
item, the generator yields one body, and the aggregate wraps the body in a fold over the list. What the loop
must not do is run anywhere else: a list comprehension, a builtin, a loop of statements would see a list of
one item. ``drive`` is therefore the only function that may resume a generator expression which loops over a
symbolic list; a loop recognises it by the frame that resumed it. Generator functions are refused: they could
count their rounds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NoReturn

from factorspec_sdk.records.parameters import Param
from factorspec_sdk.records.tracing import LOOP_HINT, Trace


@dataclass(frozen=True, slots=True)
class Loop:
    """An open loop: the bound name, the list (or parameter) that it runs over, how people read that."""

    name: str
    over: str | Param
    text: str
    trace: Trace


@dataclass(frozen=True, slots=True)
class Body:
    """What a generator yielded, and the loops that were open around it, the outermost first."""

    value: object
    loops: tuple[Loop, ...]


@dataclass(slots=True)
class _Run:
    """A generator that an aggregate is running: its open loops, and what it yielded so far."""

    loops: list[Loop] = field(default_factory=list)
    bodies: list[Body] = field(default_factory=list)


_RUNS: ContextVar[tuple[_Run, ...]] = ContextVar("_RUNS", default=())


class BoundItem:
    """Iterator over a symbolic list: yields one bound item, then ends."""

    __slots__ = ("_before", "_bind", "_loop", "_over", "_text", "_trace")

    def __init__(self, trace: Trace, over: str | Param, text: str, bind: Callable[[str], object]) -> None:
        self._trace = trace
        self._over = over
        self._text = text
        self._bind = bind
        self._loop: Loop | None = None
        self._before = 0

    def __iter__(self) -> Iterator[object]:
        return self

    def __next__(self) -> object:
        frame = sys._getframe(1)  # noqa: SLF001
        if (
            frame.f_code.co_name != "<genexpr>"
            or frame.f_back is None
            or frame.f_back.f_code is not drive.__code__
        ):
            self._trace.fail(f"a loop over {self._text} stands outside an aggregate", LOOP_HINT)
        run = _RUNS.get()[-1]
        return self._open(run) if self._loop is None else self._close(run)

    def _open(self, run: _Run) -> object:
        # Names are never used again within a recording, so that an item that leaves its loop is noticed.
        self._trace.loops += 1
        self._loop = Loop(f"x{self._trace.loops}", self._over, self._text, self._trace)
        self._before = len(run.bodies)
        run.loops.append(self._loop)
        return self._bind(self._loop.name)

    def _close(self, run: _Run) -> NoReturn:
        if not run.loops or run.loops[-1] is not self._loop:
            self._trace.fail(f"the loops around {self._text} are not nested in each other")
        if len(run.bodies) == self._before:
            # a comprehension inside the generator runs in the generator's own frame from Python 3.12 on
            self._trace.fail(f"the loop over {self._text} yields nothing to its aggregate", LOOP_HINT)
        run.loops.pop()
        raise StopIteration


def drive(values: Iterable[object]) -> list[Body]:
    """Run a generator to its end, and note for each value which symbolic loops are open around it."""
    run = _Run()
    token = _RUNS.set((*_RUNS.get(), run))
    try:
        iterator = iter(values)
        while True:
            try:
                value = next(iterator)
            except StopIteration:
                return run.bodies
            run.bodies.append(Body(value, tuple(run.loops)))
    finally:
        _RUNS.reset(token)
