"""A feasibility by enumeration over any set of records, and small random programs to test against."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from factorspec_sdk.fields.domains import BranchDomain, Domain, EnumDomain, IntRange
from factorspec_sdk.fields.sets import IndexSet
from factorspec_sdk.fields.text import json_text
from factorspec_sdk.graph.feasibility import UNBOUNDED, Costs, NodeCost
from factorspec_sdk.graph.program import Branch, End, Literal, Node, Program, Slot, Value

Decisions = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Written:
    """One record: its decisions and the nodes that it passes."""

    decisions: Decisions
    path: tuple[tuple[int, int], ...]  # (pc, index or -1)


def enumerate_records(program: Program, limit: int) -> list[Written] | None:
    """All records of a program, or None if there are more than ``limit``."""
    out: list[Written] = []
    stack: list[tuple[int, Decisions, tuple[tuple[int, int], ...]]] = [(program.start, (), ())]
    while stack:
        pc, decisions, path = stack.pop()
        node = program.nodes[pc]
        if isinstance(node, End):
            out.append(Written(decisions, (*path, (pc, -1))))
            if len(out) > limit:
                return None
        elif isinstance(node, Value | Branch):
            for index in range(len(program.slots[node.slot].domain)):
                target = node.targets[index] if isinstance(node, Branch) else node.next
                stack.append((target, (*decisions, (node.slot, index)), (*path, (pc, index))))
        else:
            stack.append((node.next, decisions, (*path, (pc, -1))))
    return out


class BruteFeasibility:
    """Feasible = some record of the list goes on so. The state is what was decided."""

    def __init__(self, program: Program, records: list[Written]) -> None:
        self.program = program
        self.records = records
        self._by_prefix: dict[Decisions, list[Written]] = {}
        for record in records:
            for size in range(len(record.decisions) + 1):
                self._by_prefix.setdefault(record.decisions[:size], []).append(record)

    def start(self) -> Decisions:
        return ()

    def values(self, state: object, slot: int) -> IndexSet:
        assert isinstance(state, tuple)
        found = set()
        for record in self._by_prefix[state]:
            assert record.decisions[len(state)][0] == slot
            found.add(record.decisions[len(state)][1])
        return IndexSet.of(found)

    def assign(self, state: object, slot: int, index: int) -> Decisions:
        assert isinstance(state, tuple)
        after = (*state, (slot, index))
        assert after in self._by_prefix
        return after

    def reads(self, slot: int) -> bool:
        return True

    def forced(self, state: object, slot: int) -> tuple[Sequence[int], object]:
        """All that follows without a choice in every record."""
        assert isinstance(state, tuple)
        taken = []
        while len(values := self.values(state, slot)) == 1:
            taken.append(values.first)
            state = self.assign(state, slot, values.first)
            following = {record.decisions[len(state) :][:1] for record in self._by_prefix[state]}
            if following == {()}:
                break
            (slot,) = {decisions[0][0] for decisions in following}
        return taken, state

    def with_costs(self, cost: NodeCost) -> Costs:
        return BruteCosts(self, cost)


class BruteCosts:
    """Least, sure and most by looking at every completion."""

    def __init__(self, whole: BruteFeasibility, cost: NodeCost) -> None:
        self._whole = whole
        self._cost = cost

    def least(self, state: object, pc: int) -> int:
        return min(self._sums(state, pc, 0))

    def sure(self, state: object, pc: int) -> int:
        return min(self._sums(state, pc, 1))

    def fits(self, state: object, pc: int, budget: int) -> bool:
        return self.sure(state, pc) <= budget

    def likely(self, state: object, slot: int) -> None:
        """Nothing is at hand."""

    def most(self, state: object, pc: int) -> int:
        return max(self._sums(state, pc, 2))

    def _sums(self, state: object, pc: int, which: int) -> Iterator[int]:
        assert isinstance(state, tuple)
        for record in self._whole._by_prefix[state]:
            places = [at for at, _ in record.path]
            if pc not in places:
                continue
            rest = record.path[places.index(pc) :]
            yield sum(self._price(at, index, which) for at, index in rest)

    def _price(self, pc: int, index: int, which: int) -> int:
        node = self._whole.program.nodes[pc]
        if isinstance(node, Value):
            return self._cost.of_value(pc, index)[min(which, 1)]
        if isinstance(node, Literal):
            return self._cost.of_node(pc)[which]
        return 0


NASTY = (
    *(
        "",
        '"',
        "\\",
        " ",
        "  ",
        " a",
        "a ",
        "a  b",
        "é",
        "e\u0301",
        "\u0301",
        "😀",
        "👩‍👩‍👧",
        "},{",
        '", "',
        "1",
        "12",
        "123",
    ),
    *(
        "1234",
        "x1",
        "1x",
        "'",
        "'s",
        "it's",
        "a.",
        "a.b",
        "...",
        "?!",
        "New York",
        "Zürich",
        "東京",
        "\n",
        "\t",
        "</",
    ),
    *(
        "<think>",
        "<|end|>",
        "<thi",
        "nk>",
        "[",
        "]",
        "]}",
        ",",
        ":",
        '": ',
        "true",
        "null",
        "a,",
        "a\\",
        "re",
        "ing",
    ),
    *("\u00a0", "½", "ſ"),
)


class ProgramMaker:
    """A random record: nested objects and lists, branches, enums of nasty strings, numbers, null."""

    def __init__(self, seed: int, compact: bool = False) -> None:
        self.random = random.Random(seed)
        self.comma, self.colon = (",", ":") if compact else (", ", ": ")
        self.slots: list[Slot] = []
        self.nodes: list[Node] = []
        self.budget = self.random.randint(2, 6)

    def make(self) -> Program:
        tree = self._object(0)
        end = self._node(End())
        start = self._emit(tree, end)
        return Program(tuple(self.nodes), start, tuple(self.slots), ())

    # Parts are closures that emit themselves before a node; slots are numbered when parts are made.
    def _part(self, depth: int) -> Callable[[int], int]:
        kinds = ["enum", "enum", "int", "mixed"]
        if depth < 3 and self.budget > 0:
            kinds += ["object", "list", "list", "nullable"]
        self.budget -= 1
        kind = self.random.choice(kinds)
        if kind == "object":
            return self._object(depth + 1)
        if kind == "list":
            return self._list(depth + 1)
        if kind == "nullable":
            return self._nullable(depth + 1)
        return self._value(kind)

    def _value(self, kind: str) -> Callable[[int], int]:
        domain: Domain
        if kind == "int":
            lo = self.random.choice((-3, 0, 1, 8, 97, 998))
            domain = IntRange(lo, lo + self.random.randint(0, 5))
        elif kind == "mixed":
            pool: list[bool | int | str | None] = [None, True, False, 0, 1, 12, 123, 1000, -1, "1", "a"]
            domain = EnumDomain(tuple(self.random.sample(pool, self.random.randint(1, 4))))
        else:
            domain = EnumDomain(tuple(self.random.sample(NASTY, self.random.randint(1, 5))))
        slot = self._slot(domain)
        return lambda then: self._node(Value(slot, then))

    def _nullable(self, depth: int) -> Callable[[int], int]:
        slot = self._slot(BranchDomain(2))
        inner = self._part(depth)
        return lambda then: self._node(Branch(slot, (self._literal("null", then), inner(then))))

    def _object(self, depth: int) -> Callable[[int], int]:
        names = self.random.sample(
            ("a", "city", "1", "é", "it's", "<think>", " ", '"', "day"), self.random.randint(1, 3)
        )
        parts = [(json_text(name) + self.colon, self._part(depth)) for name in names]

        def emit(then: int) -> int:
            follow = self._literal("}", then)
            for at, (key, part) in reversed(list(enumerate(parts))):
                follow = self._literal((self.comma if at else "{") + key, part(follow))
            return follow

        return emit

    def _list(self, depth: int) -> Callable[[int], int]:
        most = self.random.randint(0, 3)
        least = self.random.randint(0, most)
        items: list[tuple[int | None, Callable[[int], int]]] = []
        for at in range(most):
            more = self._slot(BranchDomain(2)) if at >= least else None
            items.append((more, self._part(depth)))

        def emit(then: int) -> int:
            stop = self._literal("]", then)
            follow = stop
            for at, (more, part) in reversed(list(enumerate(items))):
                entry = part(follow)
                if at:
                    entry = self._literal(self.comma, entry)
                follow = entry if more is None else self._node(Branch(more, (stop, entry)))
            return self._literal("[", follow)

        return emit

    def _emit(self, part: Callable[[int], int], then: int) -> int:
        return part(then)

    def _slot(self, domain: Domain) -> int:
        self.slots.append(Slot(len(self.slots), f"slot{len(self.slots)}", domain))
        return len(self.slots) - 1

    def _node(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _literal(self, text: str, then: int) -> int:
        following = self.nodes[then]
        if isinstance(following, Literal):
            return self._node(Literal(text + following.text, following.next))
        return self._node(Literal(text, then))


def random_spec(
    seed: int, most_records: int = 400, compact: bool = False
) -> tuple[Program, BruteFeasibility] | None:
    """A random program with some of its records, or None if there are too many."""
    program = ProgramMaker(seed, compact).make()
    records = enumerate_records(program, 4 * most_records)
    if records is None:
        return None
    source = random.Random(seed)
    share = source.choice((1.0, 0.6, 0.3))
    kept = [record for record in records if source.random() < share][:most_records]
    return program, BruteFeasibility(program, kept or records[:1])


class FreeFeasibility:
    """Everything is feasible."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def start(self) -> Decisions:
        return ()

    def values(self, state: object, slot: int) -> IndexSet:
        return IndexSet.full(len(self.program.slots[slot].domain))

    def assign(self, state: object, slot: int, index: int) -> Decisions:
        return ()

    def reads(self, slot: int) -> bool:
        return False

    def forced(self, state: object, slot: int) -> tuple[Sequence[int], object]:
        return (), state

    def with_costs(self, cost: NodeCost) -> Costs:
        return FreeCosts(self.program, cost)


class FreeCosts:
    """Shortest and longest paths through the program."""

    def __init__(self, program: Program, cost: NodeCost) -> None:
        self._program = program
        self._cost = cost
        self._memo: dict[int, tuple[int, int, int]] = {}

    def least(self, state: object, pc: int) -> int:
        return max(0, self._all(pc)[0])

    def sure(self, state: object, pc: int) -> int:
        return self._all(pc)[1]

    def fits(self, state: object, pc: int, budget: int) -> bool:
        return self.sure(state, pc) <= budget

    def likely(self, state: object, slot: int) -> None:
        """Nothing is at hand."""

    def most(self, state: object, pc: int) -> int:
        return min(UNBOUNDED, self._all(pc)[2])

    def _all(self, pc: int) -> tuple[int, int, int]:
        if pc not in self._memo:
            node = self._program.nodes[pc]
            if isinstance(node, End):
                self._memo[pc] = (0, 0, 0)
            elif isinstance(node, Branch):
                parts = [self._all(target) for target in node.targets]
                self._memo[pc] = (
                    min(p[0] for p in parts),
                    min(p[1] for p in parts),
                    max(p[2] for p in parts),
                )
            else:
                rest, own = self._all(node.next), self._cost.of_node(pc)
                self._memo[pc] = (rest[0] + own[0], rest[1] + own[1], rest[2] + own[2])
        return self._memo[pc]
