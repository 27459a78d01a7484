"""Items that do not overlap, items that share a capacity, successors that form a circuit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

from factorspec_sdk.automata.circuit import Circuit
from factorspec_sdk.automata.cumulative import Cumulative
from factorspec_sdk.automata.items import Item
from factorspec_sdk.automata.no_overlap import Block, NoOverlap
from factorspec_sdk.automata.nodes import Mark, NodeStore, ValueNode
from factorspec_sdk.automata.travel import NOWHERE, Place, travel_time
from factorspec_sdk.graph.cp.encode_numbers import greatest
from factorspec_sdk.graph.cp.encode_residuals import condition_by_residuals
from factorspec_sdk.graph.cp.encoded import Value
from factorspec_sdk.graph.cp.encoder import Encoder, required
from factorspec_sdk.graph.cp.model import AT_MOST_ZERO, FALSE, TRUE, ZERO, Affine, Lit, Model, NotEncodable

#: pairs of items that one relation may have
MAX_PAIRS = 20_000
_BELOW_ZERO = ((-(1 << 60), -1),)


@dataclass(frozen=True, slots=True)
class _Stay:
    """An item, or a block of settled ones. there: it takes place. first, last: where it begins and ends."""

    number: int
    there: Lit
    start: Affine
    end: Affine
    first: ValueNode
    last: ValueNode
    least_length: int


def _stay(encoder: Encoder, item: Item) -> _Stay:
    model, start, end = encoder.model, encoder.value(item.start), encoder.value(item.end)
    model.clause([~start.missing])
    model.clause([~end.missing])
    there = model.all_of([start.is_number, end.is_number])
    model.within(model.total([(start.number, 1), (end.number, -1)]), AT_MOST_ZERO, [there])
    place = item.detail
    return _Stay(item.number, there, start.number, end.number, place, place, item.least_length)


def _settled(encoder: Encoder, store: NodeStore, block: Block) -> _Stay:
    start, end = encoder.model.constant(block.start), encoder.model.constant(block.end)
    first, last = _node(store, block.first), _node(store, block.last)
    return _Stay(block.number, TRUE, start, end, first, last, block.end - block.start)


def _node(store: NodeStore, place: Place) -> ValueNode:
    if place is None:
        return store.known(None)
    return store.known(Mark.MISSING if place == NOWHERE else place[1])


def _require_no_overlap(encoder: Encoder, node: NoOverlap) -> None:
    stays = [_settled(encoder, node.store, block) for block in node.blocks]
    stays += [_stay(encoder, item) for item in node.items]
    if len(stays) * (len(stays) - 1) > 2 * MAX_PAIRS:
        raise NotEncodable(f"a no_overlap of {len(stays)} items")
    if node.agenda.in_order:
        _in_order(encoder, node, sorted(stays, key=lambda stay: stay.number))
    elif node.agenda.pairs:
        _in_pairs(encoder, node, stays, len(node.blocks))
    else:
        _in_sequence(encoder, node, stays)


def _follows(encoder: Encoder, node: NoOverlap, one: _Stay, two: _Stay, when: Sequence[Lit]) -> None:
    """Where all of ``when`` hold, the second starts after the first and the way between them."""
    model, travel = encoder.model, node.agenda.travel
    parts = [(one.end, 1), (two.start, -1)]
    if travel is not None:
        way = encoder.value(travel_time(node.store, travel, one.last, two.first))
        model.clause([~way.missing, *(~literal for literal in when)])
        parts.append((way.number, 1))
    model.within(model.total(parts), AT_MOST_ZERO, when)


def _in_pairs(encoder: Encoder, node: NoOverlap, stays: Sequence[_Stay], settled: int) -> None:
    """Of every two items one is before the other. Blocks are apart already."""
    model = encoder.model
    for at, two in enumerate(stays):
        for one in stays[:at] if at >= settled else ():
            first = model.new_literal()
            _follows(encoder, node, one, two, [first, one.there, two.there])
            _follows(encoder, node, two, one, [~first, one.there, two.there])
    if all(stay.least_length > 0 for stay in stays):  # the same without ways, for CP-SAT's own propagation
        constraint = model.add().no_overlap
        constraint.intervals.extend([_interval(model, stay) for stay in stays])


def _interval(model: Model, stay: _Stay) -> int:
    """The number of an interval that is there where the item is."""
    forms = [model.affine_form(stay.start), _length(model, stay), model.affine_form(stay.end)]
    number = len(model.proto.constraints)
    constraint = model.add()
    if stay.there != TRUE:
        constraint.enforcement_literal.append(stay.there)
    for target, form in zip(("start", "size", "end"), forms, strict=True):
        model.write(getattr(constraint.interval, target), form)
    return number


def _length(model: Model, stay: _Stay) -> Affine:
    """The length, not negative, which holds where the item is there."""
    size = model.total([(stay.end, 1), (stay.start, -1)])
    if not size.terms and size.constant >= 0:
        return size
    found = model.of(model.new_variable(((0, max(size.hi, 0)),)))
    model.within(model.total([(found, 1), (size, -1)]), ZERO, [stay.there])
    return found


def _in_order(encoder: Encoder, node: NoOverlap, stays: Sequence[_Stay]) -> None:
    """Neighbours in writing order, the items between them being left out."""
    for at, one in enumerate(stays):
        between: list[Lit] = []
        for two in stays[at + 1 :]:
            adjacent = encoder.model.all_of([one.there, two.there, *(~literal for literal in between)])
            if adjacent != FALSE:
                _follows(encoder, node, one, two, [adjacent])
            between.append(two.there)
            if two.there == TRUE:
                break


def _in_sequence(encoder: Encoder, node: NoOverlap, stays: Sequence[_Stay]) -> None:
    """A round trip from a depot through all items that take place, along direct ways in order of time."""
    model = encoder.model
    arcs: list[tuple[int, int, Lit]] = [(0, 0, model.all_of(~stay.there for stay in stays))]
    for at, stay in enumerate(stays, 1):
        arcs += [(0, at, model.new_literal()), (at, 0, model.new_literal()), (at, at, ~stay.there)]
    for (i, one), (j, two) in permutations(enumerate(stays, 1), 2):
        arc = model.new_literal()
        arcs.append((i, j, arc))
        _follows(encoder, node, one, two, [arc])
        if (
            one.number > two.number
        ):  # of two items without length at one moment, the first written comes first
            model.within(model.total([(one.start, 1), (two.end, -1)]), _BELOW_ZERO, [arc])
    _circuit_of(model, arcs)


def _circuit_of(model: Model, arcs: Sequence[tuple[int, int, Lit]]) -> None:
    constraint = model.add().circuit
    for tail, head, literal in arcs:
        if literal != FALSE:
            constraint.tails.append(tail)
            constraint.heads.append(head)
            constraint.literals.append(literal)


def _require_cumulative(encoder: Encoder, node: Cumulative) -> None:
    model, capacity = encoder.model, encoder.value(node.capacity)
    model.clause([~capacity.missing])
    settled = [
        (_Stay(0, TRUE, model.constant(lo), model.constant(hi), *_nowhere(node.store), hi - lo), load)
        for lo, hi, load in node.profile
    ]
    loads = [(stay, model.constant(load)) for stay, load in settled]
    loads += [(_stay(encoder, item), _demand(model, encoder.value(item.detail))) for item in node.items]
    most = sum(load.hi for _, load in loads)
    intervals = [(_interval(model, stay), model.affine_form(load)) for stay, load in loads]
    bound = model.affine_form(_bound(model, capacity, most))
    constraint = model.add().cumulative
    constraint.intervals.extend([interval for interval, _ in intervals])
    for _, load in intervals:
        model.write(constraint.demands.add(), load)
    model.write(constraint.capacity, bound)


def _nowhere(store: NodeStore) -> tuple[ValueNode, ValueNode]:
    return store.known(None), store.known(None)


def _demand(model: Model, demand: Value) -> Affine:
    """The demand, not negative; 0 where it is no number."""
    if not demand.number.terms and demand.is_number in (TRUE, FALSE):
        return model.constant(max(demand.number.constant, 0) if demand.is_number == TRUE else 0)
    found = model.of(model.new_variable(((0, max(demand.number.hi, 0)),)))
    model.within(model.total([(found, 1), (demand.number, -1)]), ZERO, [demand.is_number])
    model.within(found, ZERO, [~demand.is_number])
    return found


def _bound(model: Model, capacity: Value, most: int) -> Affine:
    """The capacity, not negative; ``most`` where it is no number."""
    number = (
        capacity.number if capacity.number.lo >= 0 else greatest(model, [capacity.number, model.constant(0)])
    )
    if capacity.is_number == TRUE:
        return number
    found = model.of(model.new_variable(((0, max(most, number.hi)),)))
    model.within(model.total([(found, 1), (number, -1)]), ZERO, [capacity.is_number])
    model.within(found, ((most, max(most, number.hi)),), [~capacity.is_number])
    return found


def _require_circuit(encoder: Encoder, node: Circuit) -> None:
    """As CP-SAT's own circuit where every position is always there; else by residuals."""
    model, plan = encoder.model, node.plan
    if plan.positions is None or node.at:
        model.clause([~condition_by_residuals(encoder, node).false])
        return
    size, loops = len(plan.slots), []
    arcs: list[tuple[int, int, Lit]] = []
    for position, slot in zip(plan.positions, plan.slots, strict=True):
        value, leads = encoder.slots[slot], []
        for target in range(size):
            index = value.domain.index_of_code(target + plan.start)
            if index is not None:
                leads.append((position, target, value.at([index])))
        model.clause([literal for _, _, literal in leads])
        own = next((literal for tail, head, literal in leads if tail == head), FALSE)
        loops.append(own)
        if not plan.loops and size > 1:
            model.clause([~own])
        arcs += leads
    if plan.loops:
        model.clause([~own for own in loops])
    _circuit_of(model, arcs)


REQUIREMENTS = (
    required(NoOverlap, _require_no_overlap),
    required(Cumulative, _require_cumulative),
    required(Circuit, _require_circuit),
)
