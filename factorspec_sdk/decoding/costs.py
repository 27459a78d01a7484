"""What the nodes of a program cost in tokens, so that costs add up to those of a whole record.

The measure of a prefix p of a record is the number of tokens of p as if it ended there::

    N(p) = |tokens(p)| = |tokens before the last cut| + |tokens(tail)|     tail = what stands behind that cut

A node that writes x after a prefix with tail t therefore costs ``N(p x) - N(p) = |tokens(t x)| -
|tokens(t)|``: that depends on the tail alone, and the costs along a path add up to the tokens of the record,
exactly. A cost may be negative (a tail's tokens may merge).

Which tails can stand before a node is known from the program, nearly always one. Where there are several,
least and most differ; where there are too many (``MAX_TAILS``), every node is priced by its bytes
(``by_bytes``): a safe upper bound, and 0 below.

Free text begins after any tail and ends with an empty one. It costs at least what its opening and closing
tokens save at the literals beside it, surely no more than the shortest text written by itself, and at most
its bytes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cached_property

from factorspec_sdk.decoding.holes import Holes
from factorspec_sdk.decoding.hypotheses import Opening
from factorspec_sdk.decoding.layout import Layout, post_order
from factorspec_sdk.decoding.longest import BYTES_PER_CHARACTER
from factorspec_sdk.decoding.token_bytes import TokenBytes
from factorspec_sdk.fields.domains import Domain, IntRange
from factorspec_sdk.graph.feasibility import UNBOUNDED, Costs, Feasibility
from factorspec_sdk.graph.program import Branch, End, Hole, Length, Literal, Value
from factorspec_sdk.tokens import Canonical

MAX_TAILS = 64
_MAX_LISTED = 65_536
_MAX_REGION = 64
_NODE_BYTES = 260

Pair = tuple[int, int]
Triple = tuple[int, int, int]


class TokenCost:
    """``NodeCost`` in tokens of one vocabulary."""

    def __init__(self, layout: Layout, canonical: Canonical, holes: Holes) -> None:
        self._layout = layout
        self._canonical = canonical
        self._holes = holes
        self._after: dict[Hashable, frozenset[str]] = {}
        self._tails = self._all_tails()
        self.by_bytes = self._tails is None
        self._values: dict[tuple[int, frozenset[str]], dict[int, Pair]] = {}
        self._nodes: dict[Hashable, Triple] = {}

    def of_value(self, pc: int, index: int) -> Pair:
        """(least, most) of the value ``index`` at ``pc``."""
        node = self._layout.node(pc)
        if isinstance(node, Length):
            return self._of_length(int(self._layout.program.slots[node.slot].domain.text(index)))
        assert isinstance(node, Value)
        key = (self._layout.domains[node.slot], self._tails_at(pc))
        known = self._values.get(key)
        if known is None:
            known = self._values.setdefault(key, {})
        pair = known.get(index)
        if pair is None:
            pair = known[index] = self._pair(pc, self._layout.value_text(node.slot, index))
        return pair

    def of_node(self, pc: int) -> Triple:
        """(least, sure, most) of the node at ``pc``."""
        node = self._layout.node(pc)
        key: Hashable = pc
        if isinstance(node, Value):
            key = (self._layout.domains[node.slot], self._tails_at(pc))
        known = self._nodes.get(key)
        if known is None:
            known = self._nodes[key] = self._of_node(pc)
        return known

    def pending(self, pc: int, tail: str) -> int | None:
        """N of a tail that is held before ``pc``: its tokens; None if no bound is known."""
        if self.by_bytes:
            return len(tail.encode())
        return self.size(tail) if tail in self._tails_at(pc) else None

    def size(self, text: str) -> int:
        """Number of tokens of a piece of text."""
        return len(self._canonical.encode_piece(text)) if text else 0

    def tail(self, text: str, pc: int) -> str:
        """What is held of a text after a cut, before the node at ``pc``."""
        if not text or isinstance(self._layout.node(pc), End):
            return ""
        return self._canonical.tail(text, self._layout.following(pc))

    def _tails_at(self, pc: int) -> frozenset[str]:
        return frozenset() if self._tails is None else self._tails[pc]

    def _pair(self, pc: int, text: str) -> Pair:
        if self.by_bytes:
            return 0, len(text.encode())
        costs = [self.size(tail + text) - self.size(tail) for tail in self._tails_at(pc)]
        return min(costs), max(costs)

    def _of_node(self, pc: int) -> Triple:
        node = self._layout.node(pc)
        if isinstance(node, Literal):
            least, most = self._pair(pc, self._layout.literal(pc))
            return least, most, most
        if isinstance(node, Hole):
            return self._of_hole(pc, node)
        if isinstance(node, Value | Length):
            domain = self._layout.program.slots[node.slot].domain
            if domain.stride is not None and len(domain) > _MAX_LISTED:
                return self._of_stride(pc, domain, domain.stride)
            pairs = [self.of_value(pc, index) for index in range(len(domain))]
            return min(p[0] for p in pairs), min(p[1] for p in pairs), max(p[1] for p in pairs)
        return 0, 0, 0

    def _of_stride(self, pc: int, domain: Domain, codes: IntRange) -> Triple:
        """Bounds for a range too wide to list: the shortest numbers are tried, the longest counted."""
        near = (sign * 10**k for k in range(20) for sign in (1, -1))
        tried = sorted({0, 1, -1, codes.lo, codes.hi, *near})
        indices = [index for code in tried if (index := codes.index_of_code(code)) is not None]
        sure = min(self.of_value(pc, index)[1] for index in indices)
        longest = max(len(domain.text(0)), len(domain.text(len(domain) - 1)))
        extra = max((self.size(tail + '"-1') - self.size(tail) for tail in self._tails_at(pc)), default=0)
        return min(0, sure), sure, longest + max(0, extra)

    def _of_hole(self, pc: int, node: Hole) -> Triple:
        rules = self._holes.rules(node.hole)
        spec = self._layout.program.holes[node.hole]
        region = self.region(node.next)
        saved = region + max((self.size(tail) for tail in self._tails_at(pc)), default=0)
        # Where the length is a decision of its own, that is what characters cost.
        measured = isinstance(self._layout.node(node.next), Length)
        sure = 0 if measured else rules.finish_cost(rules.start())
        most = UNBOUNDED
        if spec.kind == "string" and spec.max_length is not None:
            most = BYTES_PER_CHARACTER * spec.max_length + region
        return 1 - saved, sure, most

    def _of_length(self, length: int) -> Pair:
        """One token for each character is enough. One token may open the text and another close it (with
        what ``_of_hole`` counts, three); the others hold nothing but text.
        """
        longest = TokenBytes.of(self._layout.vocabulary).longest
        return 0 if self.by_bytes else max(0, -(-length // longest) - 3), length

    def region(self, pc: int) -> int:
        """Most bytes that a token that closes free text may take of what follows: up to the first cut."""
        longest, stack = 0, [(pc, "")]
        while stack:
            pc, text = stack.pop()
            node = self._layout.node(pc)
            if isinstance(node, Literal):
                text += self._layout.literal(pc)
                cut = self._canonical.cuts.first_cut_at_or_after(text, 1)
                if cut is None and len(text) < _MAX_REGION:
                    stack.append((node.next, text))
                longest = max(longest, len(text[:cut].encode()))
            elif isinstance(node, Branch):
                stack += [(target, text) for target in set(node.targets)]
            elif isinstance(node, Length):
                stack.append((node.next, text))
        return longest

    def _all_tails(self) -> dict[int, frozenset[str]] | None:
        """The tails that can stand before each node; None if they are too many."""
        layout = self._layout
        tails: dict[int, set[str]] = {layout.program.start: {self._canonical.start.text}}
        closing: set[int] = set()  # reached within the first piece after free text
        for pc in reversed(list(post_order(layout.program))):
            here, node = tails.get(pc, set()), layout.node(pc)
            if len(here) > MAX_TAILS or (isinstance(node, Value) and self._is_too_wide(node)):
                return None
            if isinstance(node, Hole):
                closing.add(node.next)
                tails.setdefault(node.next, set()).add("")
            elif isinstance(node, Branch):
                for target in node.targets:
                    tails.setdefault(target, set()).update(here)
                if pc in closing:
                    closing.update(node.targets)
            elif isinstance(node, Length):
                closing.add(node.next)
                tails.setdefault(node.next, set()).update(here)
            elif isinstance(node, Literal | Value):
                after = self._tails_after(node, pc, here, pc in closing)
                tails.setdefault(node.next, set()).update(after)
                if isinstance(node, Literal) and pc in closing and not self._has_cut(pc):
                    closing.add(node.next)
        return {pc: frozenset(found) for pc, found in tails.items()}

    def _tails_after(
        self, node: Literal | Value, pc: int, before: Iterable[str], closing: bool
    ) -> frozenset[str]:
        if isinstance(node, Literal):
            literal = self._layout.literal(pc)
            out = {self.tail(tail + literal, node.next) for tail in before}
            if closing:
                # A token that closes the text may have taken some of the literal already.
                out |= {self.tail(literal[at:], node.next) for at in range(len(literal) + 1)}
            return frozenset(out)
        domain = self._layout.program.slots[node.slot].domain
        following = self._layout.following(node.next)
        tail = None if domain.stride is None else self._tail_after_digits(domain, following)
        if tail is not None:
            return frozenset((tail,))
        key = (
            self._layout.domains[node.slot],
            frozenset(before),
            following,
            isinstance(self._layout.node(node.next), End),
        )
        known = self._after.get(key)
        if known is None:
            texts = [self._layout.value_text(node.slot, index) for index in range(len(domain))]
            known = frozenset(self.tail(tail + text, node.next) for text in texts for tail in before)
            self._after[key] = known
        return known

    def _tail_after_digits(self, domain: Domain, following: str) -> str | None:
        """What is held behind a value that ends with a digit: the same whatever the digit and what follows;
        None where it is not.
        """
        cuts, closing = self._canonical.cuts, '"' if isinstance(domain.value(0), str) else ""
        if not following or not domain.text(0).rstrip('"')[-1].isdigit():
            return None
        ends = {cuts.last_cut(digit + closing, following) for digit in "0123456789"}
        return closing if ends == {1} else None

    def _is_too_wide(self, node: Value) -> bool:
        """True if the tails after a value cannot be listed."""
        domain = self._layout.program.slots[node.slot].domain
        if len(domain) <= _MAX_LISTED:
            return False
        following = self._layout.following(node.next)
        return domain.stride is None or self._tail_after_digits(domain, following) is None

    def _has_cut(self, pc: int) -> bool:
        return self._canonical.cuts.first_cut_at_or_after(self._layout.literal(pc), 1) is not None


class BriefCost:
    """The same costs, but no text costs more than a short one surely does."""

    def __init__(self, layout: Layout, cost: TokenCost) -> None:
        self._layout = layout
        self._cost = cost

    def of_value(self, pc: int, index: int) -> Pair:
        """(least, most) of the value ``index`` at ``pc``."""
        return self._cost.of_value(pc, index)

    def of_node(self, pc: int) -> Triple:
        """(least, sure, most) of the node at ``pc``."""
        least, sure, most = self._cost.of_node(pc)
        return (least, sure, sure) if isinstance(self._layout.node(pc), Hole) else (least, sure, most)


class Bounds:
    """Bounds on the tokens still to be written from a place of the program."""

    def __init__(self, layout: Layout, feasibility: Feasibility, canonical: Canonical, holes: Holes) -> None:
        self._layout = layout
        self._feasibility = feasibility
        self._canonical = canonical
        self._holes = holes

    @property
    def num_bytes(self) -> int:
        """About the memory that the bounds take, in bytes: nothing before they are needed. O(1)."""
        return _NODE_BYTES * len(self._layout.program.nodes) if "cost" in vars(self) else 0

    @cached_property
    def cost(self) -> TokenCost:
        """The costs of nodes. Made when first needed."""
        return TokenCost(self._layout, self._canonical, self._holes)

    @cached_property
    def costs(self) -> Costs:
        """The cheapest completions."""
        return self._feasibility.with_costs(self.cost)

    @cached_property
    def _brief(self) -> Costs:
        if not self._layout.program.holes:
            return self.costs
        return self._feasibility.with_costs(BriefCost(self._layout, self.cost))

    def least(self, at: Opening) -> int:
        """No completion from here has fewer tokens."""
        at, written = self._behind_literal(at)
        pending = 0 if self.cost.by_bytes else self.cost.pending(at.pc, at.held.text)
        if pending is None:
            return 0
        rest = self.costs.least(at.state, at.pc)
        # ``Costs.least`` is never negative, but the tail's tokens may still merge into fewer.
        return max(0, written + pending - at.held.emitted + rest) if rest > 0 else 0

    def sure(self, at: Opening) -> int:
        """Some completion from here has at most so many tokens."""
        at, written = self._behind_literal(at)
        pending = self.cost.pending(at.pc, at.held.text)
        if pending is None:
            return UNBOUNDED
        return written + pending - at.held.emitted + self.costs.sure(at.state, at.pc)

    def fits(self, at: Opening, num_tokens: int) -> bool:
        """True if some completion surely has at most ``num_tokens``. Cheap if there are plenty."""
        at, written = self._behind_literal(at)
        pending = self.cost.pending(at.pc, at.held.text)
        if pending is None:
            return False
        return self.costs.fits(at.state, at.pc, num_tokens - written - pending + at.held.emitted)

    def brief(self, at: Opening) -> int:
        """No completion from here whose texts are as short as can be (``sure``) has more tokens."""
        at, written = self._behind_literal(at)
        pending = self.cost.pending(at.pc, at.held.text)
        if pending is None:
            return UNBOUNDED
        return written + pending - at.held.emitted + self._brief.most(at.state, at.pc)

    def _behind_literal(self, at: Opening) -> tuple[Opening, int]:
        """The place behind a literal that is written in part, and what the rest of it costs then."""
        if not at.offset:
            return at, 0
        node = self._layout.node(at.pc)
        assert isinstance(node, Literal)
        rest = self._layout.literal(at.pc)[at.offset :]
        tail = self.cost.tail(rest, node.next)
        behind = at._replace(pc=node.next, offset=0, held=at.held._replace(text=tail, emitted=0))
        if self.cost.by_bytes:
            return behind, len(rest.encode()) - len(tail.encode())
        return behind, self.cost.size(rest) - self.cost.size(tail)
