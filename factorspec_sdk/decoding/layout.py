"""The program of a spec as one vocabulary sees it: safe texts, and what each decision is followed by.

A *site* is a place where candidates are opened: a value, a decision without text, or the literal at the
start. Each candidate is a text, the literal behind it up to the next decision, and the node ("exit") where
the program goes on. Sites of equal content share a key, so that their rows are made once::

    ... "day": | 3 | , "city": | "Rome" | } ]
               value  literal    exit
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from factorspec_sdk.fields.domains import Domain, IntRange, moment_of
from factorspec_sdk.graph.program import Branch, End, Hole, Length, Literal, Node, Program, Value
from factorspec_sdk.tokens import Canonical, Continuation

_DIGITS = "0123456789"
_JSON_STARTS = '"-0123456789[fnt{'
_ANY = None
# Domains with more values than this have rows that end at the first cut behind the value.
_LARGE = 64
# Measured, in bytes: a node with what is remembered of it, a slot, a listed value, a site.
_NODE_BYTES = 300
_SLOT_BYTES = 300
_VALUE_BYTES = 400
_SITE_BYTES = 1000


class Part(NamedTuple):
    """What is written behind a candidate, and where to go on: ``offset`` characters into a node."""

    after: Continuation
    pc: int
    offset: int


@dataclass(frozen=True, slots=True)
class Site:
    """Where candidates are opened. Sites with equal ``key`` have equal texts and continuations.

    Attributes:
        key: for caches; of this layout alone.
        slot: the slot that is decided, or None for a literal.
        size: number of candidates, feasible or not.
        text: the text of a candidate.
        part: what follows a candidate, and where the program goes on.
        direct: the node where a candidate without any text continues at once, or None.
        domain: the domain of the candidates, where they are values.
    """

    key: int
    slot: int | None
    size: int
    text: Callable[[int], str]
    part: Callable[[int], Part]
    direct: Callable[[int], int | None]
    domain: Domain | None = None

    @property
    def stride(self) -> IntRange | None:
        """The codes of the candidates, where they are integers in a stride."""
        return None if self.domain is None else self.domain.stride


class Layout:
    """Static facts about a program under one vocabulary. Immutable but for memos."""

    def __init__(self, program: Program, canonical: Canonical) -> None:
        self.program = program
        self.vocabulary = canonical.vocabulary
        self._cuts = canonical.cuts
        self._after_string = _nodes_after_strings(program)
        self._literals: dict[int, str] = {}
        self._values: dict[tuple[int, int], str] = {}
        self._keys: dict[Hashable, int] = {}
        # Content keys of domains are long: each is hashed once. The program keeps the domains alive.
        by_object = {id(slot.domain): slot.domain for slot in program.slots}
        numbers = {at: self._intern(("domain", domain.key)) for at, domain in by_object.items()}
        self.domains = tuple(numbers[id(slot.domain)] for slot in program.slots)
        self._domain_firsts: dict[int, frozenset[str]] = {}
        self._firsts: dict[int, frozenset[str] | None] = {}
        for pc in post_order(program):
            self._firsts[pc] = self._first_characters(pc)
        self._sites: dict[tuple[int, int], Site] = {}
        listed = sum(len(domain) for domain in by_object.values() if domain.stride is None)
        self._program_bytes = (
            _NODE_BYTES * len(program.nodes) + _SLOT_BYTES * len(program.slots) + _VALUE_BYTES * listed
        )

    @property
    def num_bytes(self) -> int:
        """About the memory that the layout and its program take, in bytes. O(1)."""
        return self._program_bytes + _SITE_BYTES * len(self._sites)

    def forget(self) -> None:
        """Drop the sites, which refer back to the layout: it is freed at once then, not by the collector."""
        self._sites.clear()

    def node(self, pc: int) -> Node:
        """The node at ``pc``."""
        return self.program.nodes[pc]

    def literal(self, pc: int) -> str:
        """The text of the literal at ``pc``, in the form that the tokenizer takes literally."""
        known = self._literals.get(pc)
        if known is None:
            node = self.program.nodes[pc]
            assert isinstance(node, Literal)
            # The escaper must know that such a text begins inside a string.
            guard = '"' if pc in self._after_string else ""
            known = self._literals[pc] = self.vocabulary.escape(guard + node.text)[len(guard) :]
        return known

    def value_text(self, slot: int, index: int) -> str:
        """The JSON text of a value, in the form that the tokenizer takes literally."""
        domain = self.program.slots[slot].domain
        if domain.stride is not None:
            return domain.text(index)
        key = (self.domains[slot], index)
        known = self._values.get(key)
        if known is None:
            known = self._values[key] = self.vocabulary.escape(domain.text(index))
        return known

    def following(self, pc: int) -> str:
        """The characters of which one comes first at ``pc``, ascending; empty if any may."""
        return "".join(sorted(self._firsts[pc] or ()))

    def continuation(self, pc: int, offset: int = 0) -> Part:
        """What is written at ``pc`` up to the next decision, behind ``offset`` characters of its literal."""
        node = self.program.nodes[pc]
        literal = ""
        if isinstance(node, Literal):
            literal = self.literal(pc)[offset:]
            pc, node = node.next, self.program.nodes[node.next]
        return Part(Continuation(literal, self.following(pc), isinstance(node, End)), pc, 0)

    def first_piece(self, pc: int) -> Part | None:
        """The beginning of the literal at ``pc`` up to its first cut, or None if it has no cut or is none."""
        node = self.program.nodes[pc]
        if not isinstance(node, Literal):
            return None
        literal = self.literal(pc)
        cut = self._cuts.first_cut_at_or_after(literal, 1)
        if cut is None:
            return None
        return Part(Continuation(literal[:cut], literal[cut]), pc, cut)

    def site(self, pc: int, offset: int = 0) -> Site:
        """The site at a Literal (behind ``offset`` of its characters), Value or Branch node."""
        known = self._sites.get((pc, offset))
        if known is None:
            node = self.program.nodes[pc]
            if isinstance(node, Value):
                known = self._value_site(node)
            elif isinstance(node, Branch):
                known = self._branch_site(node)
            else:
                known = self._literal_site(pc, offset)
            self._sites[pc, offset] = known
        return known

    def place(self, pc: int) -> str:
        """What people call the node at ``pc``."""
        node = self.program.nodes[pc]
        if isinstance(node, Value | Branch | Length):
            return self.program.slots[node.slot].path
        return self.program.holes[node.hole].path if isinstance(node, Hole) else ""

    def place_of(self, site: Site) -> str:
        """What people call a site."""
        return "" if site.slot is None else self.program.slots[site.slot].path

    def _intern(self, key: Hashable) -> int:
        return self._keys.setdefault(key, len(self._keys))

    def _value_site(self, node: Value) -> Site:
        slot = node.slot
        domain = self.program.slots[slot].domain
        # Rows of a large domain end early, so that they are the same whatever the next field is called.
        part = self.first_piece(node.next) if len(domain) > _LARGE else None
        part = self.continuation(node.next) if part is None else part
        return Site(
            key=self._intern(("value", self.domains[slot], part.after)),
            slot=slot,
            size=len(domain),
            text=lambda index: self.value_text(slot, index),
            part=lambda _: part,
            direct=lambda _: None,
            domain=domain,
        )

    def _branch_site(self, node: Branch) -> Site:
        parts = [self.continuation(target) for target in node.targets]
        directs = [None if part.after.literal or part.after.final else part.pc for part in parts]
        return Site(
            key=self._intern(("branch", tuple(part.after for part in parts))),
            slot=node.slot,
            size=len(parts),
            text=lambda _: "",
            part=lambda index: parts[index],
            direct=lambda index: directs[index],
        )

    def _literal_site(self, pc: int, offset: int) -> Site:
        part = self.continuation(pc, offset)
        return Site(
            key=self._intern(("literal", part.after)),
            slot=None,
            size=1,
            text=lambda _: "",
            part=lambda _: part,
            direct=lambda _: None,
        )

    def _first_characters(self, pc: int) -> frozenset[str] | None:
        node = self.program.nodes[pc]
        if isinstance(node, Literal):
            return frozenset(node.text[0]) if node.text else self._firsts[node.next]
        if isinstance(node, Value):
            number = self.domains[node.slot]
            known = self._domain_firsts.get(number)
            if known is None:
                known = _first_of_domain(self.program.slots[node.slot].domain)
                self._domain_firsts[number] = known
            return known
        if isinstance(node, Branch):
            found: set[str] = set()
            for target in node.targets:
                first = self._firsts[target]
                if first is None:
                    return _ANY
                found |= first
            return frozenset(found)
        if isinstance(node, Hole):
            return frozenset(_JSON_STARTS) if self.program.holes[node.hole].kind == "json" else _ANY
        if isinstance(node, Length):
            return self._firsts[node.next]
        return frozenset()


def successors(node: Node) -> tuple[int, ...]:
    """The nodes that may come next."""
    if isinstance(node, Branch):
        return node.targets
    return () if isinstance(node, End) else (node.next,)


def post_order(program: Program) -> Iterator[int]:
    """The nodes that can be reached, each after all that may follow it. Without recursion."""
    seen = {program.start}
    stack = [(program.start, iter(successors(program.nodes[program.start])))]
    while stack:
        pc, rest = stack[-1]
        following = next((target for target in rest if target not in seen), None)
        if following is None:
            stack.pop()
            yield pc
        else:
            seen.add(following)
            stack.append((following, iter(successors(program.nodes[following]))))


def _nodes_after_strings(program: Program) -> frozenset[int]:
    holes = (node for node in program.nodes if isinstance(node, Hole))
    behind = {node.next for node in holes if program.holes[node.hole].kind == "string"}
    return frozenset(node.next if isinstance(node := program.nodes[pc], Length) else pc for pc in behind)


def _first_of_domain(domain: Domain) -> frozenset[str]:
    stride = domain.stride
    if stride is not None:
        quoted = isinstance(domain.value(0), str)
        return frozenset('"' if quoted else _DIGITS + ("-" if stride.lo < 0 else ""))
    if moment_of(domain.code_type) is not None:
        return frozenset('"n')
    return frozenset(domain.text(index)[0] for index in range(len(domain)))
