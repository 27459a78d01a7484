"""The tensors of one verify step in one block of integers, so that one copy brings them to the device.

::

    ids        │ positions  │ owners     │ rows │ askers │ picks │ offsets │ guesses │ known │ …
    num_inputs   num_inputs   num_inputs   R      R        B·K     B·K       B·K       B·K

    … │ firsts │ counts │ tokens
        B        B        B·S

B requests, R rows of logits (``num_rows``), K ends of each request at most (``num_ends``), S places for what
stands (``stride``). An end is a decision, or the certain token behind a chain. Each decision has a row of
logits, and each request at least one.

Where requests have branches, each branch is one more of the B (``step_branches.py``): its first token stands
where others have their last one, its offsets count from its request's last token, its tokens are those of its
path, and the block ends with what tells where it hangs from. Askers are requests in any case.

=========  ==============================================================================================
ids        the tokens that run: of each request its last token (filled in on the device) and its chain
positions  of each of them; 0 where padded
owners     the request that each of them belongs to; -1: padding, whose keys and values nobody reads
rows       index into the inputs whose logits are read, request by request
askers     the request of each row
picks      of the request's k-th end, the row whose draw it takes
offsets    tokens of the chain before that end
guesses    the chain's token there; -1: none, nothing runs behind it
known      the token that stands there whatever the logits are; -1: the logits decide
firsts     index into the inputs of the request's last token
counts     tokens that run for the request
tokens     the chain, where a guess may yet be replaced
=========  ==============================================================================================

Requests with fewer than K ends repeat their last one. In a ragged layout the requests' inputs stand one
behind the other and zeros fill up to ``num_inputs``; in a uniform one each has ``width`` inputs, zeros behind
its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from factorspec_server.sglang.chains import Chain
from factorspec_server.sglang.step_branches import Ints, StepBranches

_End = tuple[int, int, int, int]
NO_TOKEN = -1


@dataclass(frozen=True, slots=True)
class StepLayout:
    """Sizes of a step, and where its parts stand in the block.

    Attributes:
        counts: of each request, the inputs that it has, padding of a uniform layout included.
        num_inputs: of all requests, padding included.
        num_rows: R.
        num_ends: K.
        stride: S.
        branches: that run beside the chains; None: there are none.
    """

    counts: tuple[int, ...]
    num_inputs: int
    num_rows: int
    num_ends: int
    stride: int
    branches: StepBranches | None = None

    @classmethod
    def uniform(cls, chains: Sequence[Chain], width: int) -> StepLayout:
        """Each request runs ``width`` inputs; no chain may have more tokens than fit behind the last one, nor
        branches.
        """
        return cls._of(chains, [width] * len(chains), width * len(chains))

    @classmethod
    def ragged(cls, chains: Sequence[Chain], num_inputs: int | None = None) -> StepLayout:
        """Each request runs what it has; ``num_inputs``: of the step together, None: as many as there are."""
        branches = StepBranches.of(chains)
        entries = chains if branches is None else branches.entries
        counts = [len(entry.tokens) + 1 for entry in entries]
        return cls._of(entries, counts, sum(counts) if num_inputs is None else num_inputs, branches)

    @classmethod
    def _of(
        cls,
        chains: Sequence[Chain],
        counts: list[int],
        num_inputs: int,
        branches: StepBranches | None = None,
    ) -> StepLayout:
        longest = max([len(chain.tokens) for chain in chains]) if branches is None else branches.longest
        assert all(len(chain.tokens) < count for chain, count in zip(chains, counts, strict=True))
        num_rows = sum([len(chain.decisions) or 1 for chain in chains])
        num_ends = max([len(chain.decisions) + (chain.then is not None) for chain in chains])
        return cls(tuple(counts), num_inputs, num_rows, num_ends, longest + 1, branches)

    @property
    def num_entries(self) -> int:
        """B: requests, and branches."""
        return len(self.counts)

    @property
    def num_requests(self) -> int:
        """Requests alone."""
        return self.num_entries if self.branches is None else self.branches.num_requests

    def entries_of(self, chains: Sequence[Chain]) -> Sequence[Chain]:
        """The chains of the step's requests, and of their branches."""
        return chains if self.branches is None else self.branches.entries

    @property
    def has_one_row_each(self) -> bool:
        """True if each request has a single row of logits."""
        return self.num_rows == self.num_entries and self.branches is None

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of the block's parts, in order."""
        many = self.num_entries * self.num_ends
        rows, ends = [self.num_rows] * 2, [many] * 4
        return (
            *[self.num_inputs] * 3,
            *rows,
            *ends,
            *[self.num_entries] * 2,
            self.num_entries * self.stride,
            *(() if self.branches is None else self.branches.sizes(self.stride)),
        )

    @property
    def size(self) -> int:
        """Integers of the block."""
        return sum(self.sizes)

    def fill(self, block: Ints, chains: Sequence[Chain], lengths: Ints) -> None:
        """Write the block.

        Args:
            block: (size,) int64, overwritten.
            chains: of the requests.
            lengths: of each request, int64, tokens before its last one: its first position.
        """
        branches = self.branches
        chains = self.entries_of(chains)
        if branches is not None:
            lengths = lengths[branches.owners] + branches.befores
        parts = np.split(block, np.cumsum(self.sizes)[:-1])
        ids, positions, owners, rows, askers, picks, offsets, guesses, known, firsts, counts, tokens = parts[
            :12
        ]
        count = np.array(self.counts, dtype=np.int64)
        start = np.cumsum(count) - count
        firsts[:] = start
        counts[:] = [len(chain.tokens) + 1 for chain in chains]
        ids[:], positions[:], owners[:] = 0, 0, NO_TOKEN
        place = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        used = np.repeat(start, counts) + place
        owners[used] = np.repeat(np.arange(len(chains)), counts)
        positions[used] = np.repeat(lengths, counts) + place
        written = tokens.reshape(self.num_entries, self.stride)
        for index, chain in enumerate(chains):
            size = len(chain.tokens)
            if size:
                ids[start[index] + 1 : start[index] + 1 + size] = chain.tokens
                written[index, :size] = chain.tokens
        ends = np.array(self._ends(chains), dtype=np.int64)
        shape = self.num_entries, self.num_ends
        for part, values in zip((picks, offsets, guesses, known), np.moveaxis(ends, 2, 0), strict=True):
            part.reshape(shape)[:] = values
        if self.has_one_row_each:  # at the first end, whatever it is
            askers[:] = np.arange(len(chains))
            rows[:] = start + ends[:, 0, 1]
            first_rows = askers
        else:
            num_rows = np.array([chain.num_rows for chain in chains], dtype=np.int64)
            askers[:] = np.repeat(np.arange(len(chains)), num_rows)
            rows[:] = start[askers] + [offset for chain in chains for offset in chain.row_offsets]
            first_rows = np.cumsum(num_rows) - num_rows
        picks.reshape(shape)[:] += first_rows[:, None]
        if branches is not None:
            askers[:] = branches.owners[askers]
            offsets.reshape(shape)[:] += branches.befores[:, None]
            ids[firsts[branches.num_requests :]] = branches.heads
            branches.fill(parts[12:], written)

    def _ends(self, chains: Sequence[Chain]) -> Sequence[Sequence[_End]]:
        """See ``_ends``. A chain with one end has it behind all of its tokens."""
        num_ends = self.num_ends
        if num_ends > 1:
            return [_ends(chain, num_ends) for chain in chains]
        known = [NO_TOKEN if chain.then is None else chain.then for chain in chains]
        sizes = [len(chain.tokens) for chain in chains]
        return [((0, size, NO_TOKEN, token),) for size, token in zip(sizes, known, strict=True)]


def _ends(chain: Chain, num_ends: int) -> Sequence[_End]:
    """(row of the request, offset, guess, known token) of each decision, and of the certain token behind the
    chain, for which any row will do.
    """
    tokens, decisions = chain.tokens, chain.decisions
    ends = [
        (
            row,
            decision.offset,
            tokens[decision.offset] if decision.offset < len(tokens) else NO_TOKEN,
            NO_TOKEN,
        )
        for row, decision in enumerate(decisions)
    ]
    if chain.then is not None:
        ends.append((0, len(tokens), NO_TOKEN, chain.then))
    return ends + ends[-1:] * (num_ends - len(ends))
