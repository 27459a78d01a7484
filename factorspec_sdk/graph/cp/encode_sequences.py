"""Values that differ pairwise, and numbers in order."""

from __future__ import annotations

from factorspec_sdk.automata.chain import Chain
from factorspec_sdk.automata.distinct import Distinct
from factorspec_sdk.graph.cp.encoded import SlotCode, Truth
from factorspec_sdk.graph.cp.encoder import Encoder, of_condition, required
from factorspec_sdk.graph.cp.model import AT_MOST_ZERO, FALSE, TRUE, ZERO, Affine, Lit, NotEncodable

#: pairs that an ``all_different`` below other conditions may have
MAX_PAIRS = 20_000


def _require_distinct(encoder: Encoder, node: Distinct) -> None:
    """Each slot as its value's number in the universe; null and absent ones as a number of their own."""
    model, plan = encoder.model, node.plan
    members = []
    for at in range(node.at, len(plan.slots)):
        slot, numbers = encoder.slots[plan.slots[at]], plan.bits[at]
        used = [index for index, number in enumerate(numbers) if number >= 0 and node.used >> number & 1]
        model.clause([~slot.at(used)])
        members.append(_universe_number(encoder, slot, numbers, -1 - at))
    members = [model.affine_form(member) for member in members]
    constraint = model.add().all_diff
    for member in members:
        model.write(constraint.exprs.add(), member)


def _universe_number(encoder: Encoder, slot: SlotCode, numbers: tuple[int, ...], otherwise: int) -> Affine:
    """A value's number among the values of all slots; ``otherwise`` where the slot is null or absent."""
    model = encoder.model
    in_a_row = numbers == tuple(range(numbers[0], numbers[0] + len(numbers))) and numbers[0] >= 0
    if in_a_row and slot.present == TRUE:
        return model.affine({slot.x: 1}, numbers[0])
    variable = model.new_variable(((otherwise, otherwise), (0, max(0, *numbers))))
    if in_a_row:
        shifted = model.total([(model.of(variable), 1), (model.of(slot.x), -1)], -numbers[0])
        model.within(shifted, ZERO, [slot.present])
        model.within(model.of(variable), ((otherwise, otherwise),), [~slot.present])
        return model.of(variable)
    for index, number in enumerate(numbers):
        value = number if number >= 0 else otherwise
        model.within(model.of(variable), ((value, value),), [slot.at([index])])
    model.within(model.of(variable), ((otherwise, otherwise),), [~slot.present])
    return model.of(variable)


def _distinct(encoder: Encoder, node: Distinct) -> Truth:
    """False where two slots take the same value or one a used value."""
    model, plan = encoder.model, node.plan
    count = len(plan.slots) - node.at
    if count * (count - 1) // 2 > MAX_PAIRS:
        raise NotEncodable(f"an all_different of {count} fields stands below another condition")
    by_number: dict[int, list[Lit]] = {}
    for at in range(node.at, len(plan.slots)):
        slot = encoder.slots[plan.slots[at]]
        for index, number in enumerate(plan.bits[at]):
            if number >= 0:
                by_number.setdefault(number, []).append(slot.at([index]))
    clashes: list[Lit] = []
    for number, literals in by_number.items():
        if node.used >> number & 1:
            clashes += literals
        elif len(literals) > 1:
            taken = model.total([(model.counted(literal), 1) for literal in literals])
            clashes.append(model.is_within(taken, ((2, len(literals)),)))
    clash = model.any_of(clashes)
    return Truth(~clash, clash)


def _chain(encoder: Encoder, node: Chain) -> Truth:
    """Each number continues the order after the last one before it."""
    model, plan = encoder.model, node.plan
    broken: list[Lit] = []
    seen = FALSE if node.last is None else TRUE
    last = model.constant(0 if node.last is None else node.last)
    for slot in plan.slots[node.at :]:
        value = encoder.slots[slot]
        if value.is_number == FALSE:
            continue
        step = model.total([(last, plan.sign), (value.number, -plan.sign)], plan.gap)
        broken.append(model.all_of([seen, value.is_number, ~model.is_within(step, AT_MOST_ZERO)]))
        last = _latest(encoder, value, last)
        seen = model.any_of([seen, value.is_number])
    wrong = model.any_of(broken)
    return Truth(~wrong, wrong)


def _latest(encoder: Encoder, value: SlotCode, last: Affine) -> Affine:
    """The slot's number where it is one, else the last before it."""
    model = encoder.model
    if value.is_number == TRUE:
        return value.number
    lo, hi = min(last.lo, value.number.lo), max(last.hi, value.number.hi)
    found = model.of(model.new_variable(((lo, hi),)))
    model.within(model.total([(found, 1), (value.number, -1)]), ((0, 0),), [value.is_number])
    model.within(model.total([(found, 1), (last, -1)]), ((0, 0),), [~value.is_number])
    return found


CONDITIONS = (of_condition(Distinct, _distinct), of_condition(Chain, _chain))
REQUIREMENTS = (required(Distinct, _require_distinct),)
