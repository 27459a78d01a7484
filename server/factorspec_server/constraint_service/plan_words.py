"""A plan as words of shared memory.

::

    0 question   1 serial   2 kind   3 tokens   4 complete   5 choices   6 words behind these, or bytes
    CERTAIN   tokens                                   all certain, made without guesses
    TREE      tokens, parents, marks                   mark: 1 if certain, + 2 · kind
              how many chances, ends; chances, ends    a chance: a double, two words
    ERROR     bytes of JSON (``failures.py``)
    then for each choice:
        node  free  allowed  children  ids             ids: how many follow, or HAS_ROW, or ASK
        children …   ids … or the row's number

The first word is written last. Of a plan that has more choices with long lists than there are rows, the rest
are asked for one by one (``ASK``).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import get_args

from factorspec_sdk.decoding import Choice, DraftKind, Plan
from factorspec_sdk.tokens import Allowed

CERTAIN, TREE, ERROR = range(3)
HEAD = 7
HAS_ROW, ASK = -1, -2
#: so many allowed tokens are listed beside the plan; of more there is a row
MOST_LISTED = 48
_KINDS: tuple[DraftKind, ...] = get_args(DraftKind)
_NUMBERS = {kind: number for number, kind in enumerate(_KINDS)}

Encoded = tuple["array[int]", Sequence[Allowed]]
"""Words behind the question and serial; of each row the tokens that it must hold."""

MakeAllowed = Callable[[int, int, int], Allowed]
"""Makes the tokens of a choice: (node, how many, number of the row or ASK)."""


def cut_plan(plan: Plan, most: int) -> Plan:
    """The plan's first ``most`` nodes."""
    if len(plan.tokens) <= most:
        return plan
    return Plan(
        tokens=plan.tokens[:most],
        parents=plan.parents[:most],
        certain=plan.certain[:most],
        chances=plan.chances[:most],
        ends=tuple(node for node in plan.ends if node < most),
        choices=tuple(
            Choice(each.node, each.allowed, each.free, tuple(c for c in each.children if c < most))
            for each in plan.choices
            if each.node < most
        ),
        complete=False,
        kinds=plan.kinds[:most],
    )


def encode(plan: Plan, *, rows: int, room: int, held: Sequence[Allowed] = ()) -> Encoded:
    """The words of a plan, at most ``room`` of them: a larger one is cut.

    Args:
        plan: encoded.
        rows: that there are.
        room: for words.
        held: what the first rows must hold in any case.
    """
    rows_of = {id(allowed): row for row, allowed in enumerate(held)}
    all_held = [*held]
    is_certain = False not in plan.certain and not plan.chances
    words = array(
        "i", (CERTAIN if is_certain else TREE, len(plan.tokens), plan.complete, len(plan.choices), 0)
    )
    words.extend(plan.tokens)
    if not is_certain:
        words.extend(plan.parents)
        marks = zip(plan.certain, plan.kinds, strict=True)
        words.extend([sure + 2 * _NUMBERS[kind] for sure, kind in marks])
        words.extend((len(plan.chances), len(plan.ends)))
        words.frombytes(array("d", plan.chances).tobytes())
        words.extend(plan.ends)
    for choice in plan.choices:
        allowed, count = choice.allowed, choice.allowed.count
        head = (choice.node, choice.free, count, len(choice.children))
        if count <= MOST_LISTED and len(words) + 2 * MOST_LISTED < room:
            words.extend((*head, count, *choice.children, *allowed.ids().tolist()))
            continue
        row = rows_of.get(id(allowed))
        if row is None and len(all_held) < rows:
            row = rows_of[id(allowed)] = len(all_held)
            all_held.append(allowed)
        words.extend((*head, ASK if row is None else HAS_ROW, *choice.children, row or 0))
    if len(words) > room:
        return encode(cut_plan(plan, len(plan.tokens) // 2), rows=rows, room=room, held=held)
    words[4] = len(words) - 5
    return words, all_held


def encode_error(data: bytes, room: int) -> Encoded:
    """The words of an error; ``data`` must fit into ``room`` words."""
    assert len(data) <= 4 * (room - 5)
    words = array("i", (ERROR, 0, 0, 0, len(data)))
    words.frombytes(data + bytes(-len(data) % 4))
    return words, ()


def decode(words: memoryview, make: MakeAllowed) -> Plan | bytes:
    """The plan, or the bytes of an error; ``words``: the block from its kind on."""
    kind, size, complete, num_choices, length = words[:5].tolist()
    if kind == ERROR:
        return words[5 : 5 + -(-length // 4)].tobytes()[:length]
    rest = words[5 : 5 + length].tolist()
    tokens = tuple(rest[:size])
    del rest[:size]
    at = 0
    chances: tuple[float, ...] = ()
    ends: tuple[int, ...] = ()
    if kind == CERTAIN:
        parents, certain, kinds = tuple(range(-1, size - 1)), (True,) * size, (_KINDS[0],) * size
    else:
        parents, marks = tuple(rest[:size]), rest[size : 2 * size]
        certain, kinds = tuple([bool(m & 1) for m in marks]), tuple([_KINDS[m >> 1] for m in marks])
        num_chances, num_ends = rest[2 * size : 2 * size + 2]
        at = 2 * size + 2
        first = 5 + size + at
        chances = tuple(array("d", words[first : first + 2 * num_chances].tobytes()))
        at += 2 * num_chances
        ends = tuple(rest[at : at + num_ends])
        at += num_ends
    choices = []
    for _ in range(num_choices):
        node, free, count, num_children, listed = rest[at : at + 5]
        at += 5
        children = tuple(rest[at : at + num_children])
        at += num_children
        if listed >= 0:
            allowed = Allowed.of(rest[at : at + listed])
            at += listed
        else:
            allowed = make(node, count, rest[at] if listed == HAS_ROW else ASK)
            at += 1
        choices.append(Choice(node, allowed, bool(free), children))
    return Plan(tokens, parents, certain, tuple(choices), bool(complete), kinds, chances, ends)
