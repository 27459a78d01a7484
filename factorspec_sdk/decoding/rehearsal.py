"""One record written while compiling, so that the first records of a spec with grammars find what they need.

Masks of places in a grammar cost tens of microseconds each. A pattern or a format has few places, and every
record comes by most of them; made with the spec, off the engine's thread, they delay no step. What is made
so is what sessions would make, kept where they keep it: the runs of one record, its texts as short as they
can be, and on the way the masks of the grammars' first places::

    {"id": "········", "day": "····", ...     the runs between the texts, and at each text all places near
            places                            its beginning (``PlacedRules.prepare``)

Without patterns and formats, what every record comes by is made so: the runs behind the first decisions, if
no relation reads them (``begin``). More would cost more than a spec is worth that may never be used.

Nothing depends on it but time. It is bounded by counts alone, so that a spec costs the same each time.
"""

from __future__ import annotations

from factorspec_sdk.decoding.grammars import GrammarRules
from factorspec_sdk.decoding.holes import HoleStep, Lead
from factorspec_sdk.decoding.hypotheses import Hypothesis, NumberStep, RowWalk
from factorspec_sdk.decoding.layout import Layout
from factorspec_sdk.decoding.placed_rules import PlacedRules
from factorspec_sdk.decoding.run_tree import RunTree
from factorspec_sdk.decoding.runs import Run
from factorspec_sdk.decoding.text_places import HolePlace
from factorspec_sdk.decoding.text_rules import TextRules, TextState

#: decisions of the record, and tokens of one of its texts
_MAX_DECISIONS = 128
_MAX_TEXT = 64
#: places of all the grammars together; behind so many the record is left
_MAX_PLACES = 160
#: first decisions behind which runs are made without a grammar, in specs with no more slots than this and no
#: more listed values of one
_MAX_BEGUN = 2
_MAX_SLOTS = 256
_MAX_VALUES = 64
#: a larger grammar's places cost too much, and so may all that stands behind (``GrammarRules.size``)
_MAX_SIZE = 1 << 13


def wants_rehearsal(layout: Layout) -> bool:
    """True if texts go by patterns or formats."""
    holes = layout.program.holes
    return any(spec.kind == "string" and spec.schema is not None for spec in holes)


def rehearse(runs: RunTree) -> int:
    """Write one record, as far as the bounds allow; how many places of grammars have their masks then."""
    run, places = runs.root(), 0
    for _ in range(_MAX_DECISIONS):
        if run.complete or not run.allowed.count:
            break
        step = next(filter(None, map(_step_of, run.after)), None)
        if step is None:
            run = runs.after(run, int(run.allowed.ids()[0]))
            continue
        rules, place = step.place.rules, step.place
        if isinstance(rules, PlacedRules) and isinstance(place, HolePlace) and rules.size <= _MAX_SIZE:
            places += rules.prepare(tuple(sorted(place.endings)), _MAX_PLACES - places)
        is_too_much = isinstance(rules, GrammarRules) and rules.size > _MAX_SIZE
        behind = None if is_too_much or places >= _MAX_PLACES else _behind_text(runs, step)
        if behind is None:
            break
        run = behind
    return places


def begin(runs: RunTree, layout: Layout) -> None:
    """Make the runs behind the first decisions, as far as no relation reads them."""
    slots, run = layout.program.slots, runs.root()
    if len(slots) > _MAX_SLOTS or any(len(s.domain) > _MAX_VALUES and s.domain.stride is None for s in slots):
        return
    for _ in range(_MAX_BEGUN):
        behind = None if run.complete else _behind_decision(runs, run)
        if behind is None:
            return
        run = behind


def _behind_decision(runs: RunTree, run: Run) -> Run | None:
    """The run behind some value of the decision that a run ends at; None where that is not plain."""
    text = next(filter(None, map(_step_of, run.after)), None)
    if text is not None:
        return None if text.place.steps is None else _behind_text(runs, text)
    first = run.after[0]
    if not isinstance(first, RowWalk | NumberStep):
        return None
    slot, feasibility = first.source.site.slot, first.source.feasibility
    if slot is None or feasibility.reads(slot):
        return None
    ids = run.allowed.ids()
    behind = runs.after(run, int(ids[len(ids) // 2]))
    return behind if behind.exit is None else runs.after(behind.exit.run, min(behind.exit.ids))


def _step_of(hypothesis: Hypothesis) -> HoleStep | None:
    """The text that begins with this hypothesis, if one does."""
    while isinstance(hypothesis, Lead):
        hypothesis = hypothesis.then
    return hypothesis if isinstance(hypothesis, HoleStep) and not hypothesis.prefix else None


def _behind_text(runs: RunTree, step: HoleStep) -> Run | None:
    """The run behind a short text and the longest token that closes it; the others' are made too."""
    place, end = step.place, _end_of(step.place.rules, step.text)
    if end is None:
        return None
    endings = place.endings_at(end)
    tokens = [i for i in place.closing_ids(end) if place.rules.bytes_of(i) in endings]
    tokens.sort(key=lambda i: len(place.rules.bytes_of(i)))
    closed = runs.in_text(step._replace(text=end))
    return [runs.after(closed, token) for token in tokens][-1] if tokens else None


def _end_of(rules: TextRules, text: TextState) -> TextState | None:
    """Where a short text may end."""
    for _ in range(_MAX_TEXT):
        if rules.complete(text):
            return text
        tokens = rules.strides(text)
        after = rules.after(text, tokens[-1]) if tokens else None
        if after is None:
            return None
        text = after
    return None
