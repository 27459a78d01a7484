"""Which starts are possible for jobs that one after the other must all be done: exact, over sets of jobs.

Plain version: a sequence of jobs is walked from the first to the last; what matters of the way so far is
which jobs are *done*, which one was *last* and when it ended. Then:

* waiting is allowed, so an earlier end is never worse: per (done, last) the earliest end is enough, and
  backwards the latest end from which the rest can still be completed;
* a job that is not done must still be reachable in time from where the last one ended (``_alive``), which
  leaves a few jobs to go on with, and few sets of done jobs: those that windows in time tell apart.

A start of a job is possible where it lies between the earliest arrival and the latest departure on some step
into that job. Cost: O(states · jobs within reach), some thousand states for 50 jobs with windows of an hour.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

#: earlier than every time
LONG_AGO = -(1 << 60)
#: steps to further jobs that may be looked at, per state that may be
MAX_EDGES_PER_STATE = 10
Span = tuple[int, int]
#: (jobs done as a bit mask, number of the last one)
Done = tuple[int, int]
#: time from one job's end to another job's start; None: no way
Way = Callable[[int, int], int | None]


@dataclass(frozen=True, slots=True)
class Job:
    """starts: when it may start, as disjoint closed intervals in order. length: how long it takes."""

    starts: tuple[Span, ...]
    length: int

    def first_from(self, time: int) -> int | None:
        """The first possible start that is not before ``time``."""
        at = bisect_left(self.starts, time, key=lambda span: span[1])
        return max(self.starts[at][0], time) if at < len(self.starts) else None

    def last_until(self, time: int) -> int | None:
        """The last possible start that is not after ``time``."""
        at = bisect_right(self.starts, time, key=lambda span: span[0]) - 1
        return min(self.starts[at][1], time) if at >= 0 else None


class TooManyStates(Exception):
    """More sets of done jobs, or steps between them, than may be looked at."""


class Timetable:
    """All sequences of some jobs. num_edges: steps from job to job looked at so far."""

    def __init__(self, jobs: Sequence[Job], direct: Way, least: Way, max_states: int) -> None:
        """``direct``: the way from a job to the next one; ``least``: over any other jobs, at most as long."""
        self._order = sorted(range(len(jobs)), key=lambda at: jobs[at].starts[0])
        self._place = {job: at for at, job in enumerate(self._order)}
        self.jobs = [jobs[at] for at in self._order]
        self._all = (1 << len(jobs)) - 1
        self._ways = [[direct(a, b) for b in self._order] for a in self._order]
        self._alive = [_Alive(self.jobs, [least(a, b) for b in self._order]) for a in self._order]
        self._by_deadline = sorted(range(len(jobs)), key=lambda at: self.jobs[at].starts[-1][1])
        self._max_states = max_states
        self._steps: list[dict[Done, list[tuple[int, int]]]] = []
        self.num_edges = 0
        self._levels = self._forward()

    @property
    def is_feasible(self) -> bool:
        """True if there is a sequence of all jobs."""
        return bool(self._levels[-1])

    def _forward(self) -> list[dict[Done, int]]:
        """Per number of jobs done, the earliest end of each (done, last); notes the steps between them."""
        levels: list[dict[Done, int]] = [{(0, -1): LONG_AGO}]
        count = 0
        for _ in self.jobs:
            steps = {}
            for state, time in levels[-1].items():
                steps[state] = self._next(state, time)
                if self.num_edges > MAX_EDGES_PER_STATE * self._max_states:
                    raise TooManyStates
            reached: dict[Done, int] = {}
            for (done, _last), found in steps.items():
                for job, start in found:
                    key, end = (done | 1 << job, job), start + self.jobs[job].length
                    if end < reached.get(key, end + 1):
                        reached[key] = end
            count += len(reached)
            if count > self._max_states:
                raise TooManyStates
            self._steps.append(steps)
            levels.append(reached)
        return levels

    def _next(self, state: Done, time: int) -> list[tuple[int, int]]:
        """(job, its earliest start) of the jobs that may come next without making another one impossible."""
        done, last = state
        rest = self._all & ~done
        deadline = next(self.jobs[at].starts[-1][1] for at in self._by_deadline if rest >> at & 1)
        ways = self._ways[last] if last >= 0 else None
        found, left = [], rest
        while left:
            bit = left & -left
            left ^= bit
            at = bit.bit_length() - 1
            job = self.jobs[at]
            if job.starts[0][0] > deadline:
                break  # and so are all that follow: another job would be too late
            self.num_edges += 1
            way = 0 if ways is None else ways[at]
            start = None if way is None else job.first_from(time + way)
            if start is not None and not rest & ~bit & ~self._alive[at].after(start + job.length):
                found.append((at, start))
        return found

    @cached_property
    def _latest(self) -> list[dict[Done, int]]:
        """Per number of jobs done, the latest end of each (done, last) that leaves time for the rest."""
        latest: list[dict[Done, int]] = [{} for _ in self._levels]
        latest[-1] = dict.fromkeys(self._levels[-1], -LONG_AGO)
        for level in range(len(self.jobs) - 1, 0, -1):
            for (done, last), steps in self._steps[level].items():
                ends = []
                for job, start in steps:
                    leave = self._last_start(latest[level + 1], done, job)
                    way = self._ways[last][job]
                    if leave is not None and leave >= start and way is not None:
                        ends.append(leave - way)
                if ends:
                    latest[level][done, last] = max(ends)
        return latest

    def _last_start(self, latest: dict[Done, int], done: int, job: int) -> int | None:
        """The last start of ``job`` after ``done`` from which the rest can be completed."""
        end = latest.get((done | 1 << job, job))
        return None if end is None else self.jobs[job].last_until(end - self.jobs[job].length)

    def starts(self, job: int) -> list[Span]:
        """The possible starts of a job, as intervals within which its own starts lie. O(states)."""
        at = self._place[job]
        found: list[Span] = []
        for level, states in enumerate(self._steps):
            for state, steps in states.items():
                for other, start in steps:
                    if other == at:
                        last = self._last_start(self._latest[level + 1], state[0], at)
                        if last is not None and start <= last:
                            found.append((start, last))
        return found

    def witness(self) -> list[int]:
        """Starts of all jobs in one sequence: each as early as it goes. There must be one."""
        found = [0] * len(self.jobs)
        (done, last), end = next(iter(self._levels[-1].items()))
        for level in reversed(range(len(self.jobs))):
            found[self._order[last]] = start = end - self.jobs[last].length
            done ^= 1 << last
            last = next(
                before
                for (others, before), steps in self._steps[level].items()
                if others == done and (last, start) in steps
            )
            end = self._levels[level][done, last]
        return found


class _Alive:
    """Which jobs can still start in time after one job, by the time when that ends."""

    def __init__(self, jobs: Sequence[Job], ways: Sequence[int | None]) -> None:
        ends = [
            LONG_AGO if way is None else job.starts[-1][1] - way for job, way in zip(jobs, ways, strict=True)
        ]
        order = sorted(range(len(jobs)), key=lambda at: ends[at])
        self._ends = [ends[at] for at in order]
        self._masks = [0] * (len(jobs) + 1)
        for at in reversed(range(len(jobs))):
            self._masks[at] = self._masks[at + 1] | 1 << order[at]

    def after(self, end: int) -> int:
        """Bit mask of the jobs that can be reached by their last start from ``end``."""
        return self._masks[bisect_left(self._ends, end)]
