"""Plans behind each value that a record may choose next, worked out before anybody asks.

::

    0 question   1 serial   2 values   then for each value: token, where its words begin, how many
    words of plans (``plan_words.py``), all certain

Known once the question stands there: it is written last, and nothing is written again before the record is
asked about. Values without an entry are asked about as ever. Processors that may see words in another order
than they were written go without (``memory.py``).
"""

from __future__ import annotations

from array import array

from factorspec_sdk.decoding import Choice, DraftKind, Plan
from factorspec_sdk.tokens import Allowed
from factorspec_server.constraint_service.memory import Memory
from factorspec_server.constraint_service.plan_words import MOST_LISTED, decode, encode

_HEAD = 3


def branches_of(plan: Plan) -> dict[int, Plan]:
    """Behind each guess of the first choice of a plan the certain run, as a plan of its own."""
    starts = sorted(plan.choices[0].children)
    ends = [*starts[1:], len(plan.tokens)] if starts else []
    choices = {choice.node: choice for choice in plan.choices}
    found: dict[int, Plan] = {}
    kind: DraftKind = "certain"
    for start, end in zip(starts, ends, strict=True):
        last, choice = end - 1, choices.get(end - 1)
        complete = last in plan.ends
        if choice is None and not complete:
            continue  # the plan's room ended there
        tokens = plan.tokens[start + 1 : end]
        size = len(tokens)
        found[plan.tokens[start]] = Plan(
            tokens=tokens,
            parents=tuple(range(-1, size - 1)),
            certain=(True,) * size,
            choices=() if choice is None else (Choice(size - 1, choice.allowed, choice.free),),
            complete=complete,
            kinds=(kind,) * size,
        )
    return found


def write_ahead(memory: Memory, slot: int, serial: int, question: int, branches: dict[int, Plan]) -> None:
    """Publish the plans behind values, those whose choices have no long lists."""
    room = memory.layout.plan_words - _HEAD - 3 * len(branches)
    entries: list[tuple[int, array[int]]] = []
    for token, plan in branches.items():
        words, _ = encode(plan, rows=0, room=1 << 30)
        if all(choice.allowed.count <= MOST_LISTED for choice in plan.choices) and len(words) <= room:
            entries.append((token, words))
            room -= len(words)
    start = _HEAD + 3 * len(entries)
    out = array("i", (len(entries),))
    for token, words in entries:
        out.extend((token, start, len(words)))
        start += len(words)
    for _, words in entries:
        out.extend(words)
    memory.publish(memory.ahead_at(slot), question, serial, out)


def words_ahead(memory: Memory, slot: int, serial: int, question: int, token: int) -> memoryview | None:
    """The words of the plan behind a value, if it is known."""
    words, at = memory.words, memory.ahead_at(slot)
    if words[at] != question or words[at + 1] != serial:
        return None
    entries = words[at + _HEAD : at + _HEAD + 3 * words[at + 2]].tolist()
    for place in range(0, len(entries), 3):
        if entries[place] == token:
            start = at + entries[place + 1]
            return words[start : start + entries[place + 2]]
    return None


def read_ahead(memory: Memory, slot: int, serial: int, question: int, token: int) -> Plan | None:
    """The plan behind a value, if it is known."""
    words = words_ahead(memory, slot, serial, question, token)
    return None if words is None else plan_ahead(words)


def plan_ahead(words: memoryview) -> Plan | None:
    """The plan of such words."""
    found = decode(words, _no_row)
    return found if isinstance(found, Plan) else None


def _no_row(node: int, count: int, row: int) -> Allowed:
    raise AssertionError(f"{count} tokens behind node {node} are listed")
