"""The compiled spec for one vocabulary."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from weakref import finalize

from factorspec_sdk.decoding.canonical_session import CanonicalSession
from factorspec_sdk.decoding.canonical_text import CanonicalText
from factorspec_sdk.decoding.choice_plans import ChoicePlans
from factorspec_sdk.decoding.costs import Bounds
from factorspec_sdk.decoding.earlier import Earlier
from factorspec_sdk.decoding.hypotheses import Opening
from factorspec_sdk.decoding.layout import Layout
from factorspec_sdk.decoding.limit import TokenLimit
from factorspec_sdk.decoding.longest import most_bytes
from factorspec_sdk.decoding.memories import Memories
from factorspec_sdk.decoding.opening import Opener
from factorspec_sdk.decoding.rehearsal import begin, rehearse, wants_rehearsal
from factorspec_sdk.decoding.run_tree import RunTree
from factorspec_sdk.decoding.runs import Hypotheses
from factorspec_sdk.decoding.search import shortest
from factorspec_sdk.decoding.session import Session
from factorspec_sdk.decoding.standing import OnBudget
from factorspec_sdk.errors import (
    BudgetSpent,
    DeclarationError,
    DocumentError,
    EngineError,
    Problem,
    TokenLimitTooSmall,
    TooLarge,
    shown,
)
from factorspec_sdk.graph.feasibility import UNBOUNDED, Feasibility
from factorspec_sdk.graph.program import End, Hole, Program, Value
from factorspec_sdk.tokens import Canonical, Vocabulary

_MAX_HYPOTHESES = 4096
_ON_BUDGET = ("narrow", "abort")
#: about what the runs may take that a decoder remembers, in bytes
MAX_RUN_BYTES = 1 << 20
#: tokens of the first decision behind which runs are prepared
_MOST_PREPARED = 8
_STEPS_FOR_A_MESSAGE = 2_000
# Records with more decisions are not searched for a message: the search would not end.
_SLOTS_FOR_A_MESSAGE = 100


class Decoder:
    """A program and its feasibility under one vocabulary, shared by sessions.

    Immutable but for caches whose every use is a single operation, so threads may share it.

    Attributes:
        program: the layout of a record.
        feasibility: which values lead to a valid record.
        vocabulary: the model's tokens.
        canonical: the tokens' encoding, piece by piece.
        opener: makes hypotheses.
        runs: what sessions have worked out, for those that come after them.
        memories: what records wrote that are finished, where somebody tells it; sessions do not.
    """

    def __init__(
        self,
        program: Program,
        feasibility: Feasibility,
        vocabulary: Vocabulary,
        *,
        canonical: Canonical | None = None,
        max_hypotheses: int = _MAX_HYPOTHESES,
        max_run_bytes: int = MAX_RUN_BYTES,
    ) -> None:
        """Cheap, but for ``canonical``: give one per vocabulary.

        Args:
            program: the layout of a record; texts of its records are prefix-free, as JSON values are.
            feasibility: which values lead to a valid record.
            vocabulary: the model's tokens.
            canonical: of the same vocabulary; made if None.
            max_hypotheses: readings of the written tokens that are kept; beyond it masks are subsets
                (``Report.exact``).
            max_run_bytes: about what the runs may take that sessions share; 0: they share none.

        Raises:
            DocumentError: a record may end with a value that has no end of its own (a bare number), or the
                grammar library refuses the schema of a free part.
            TooLarge: a decision has too many candidates, or free parts are too large together.
        """
        _check_end(program)
        self.program = program
        self.feasibility = feasibility
        self.vocabulary = vocabulary
        self.row_shape = (vocabulary.row_words,)
        self.canonical = Canonical(vocabulary) if canonical is None else canonical
        self.layout = Layout(program, self.canonical)
        finalize(self, self.layout.forget)
        self.opener = Opener(self.layout, feasibility, self.canonical, max_hypotheses)
        self.opener.check()
        self.opener.holes.check()
        self.runs = RunTree(self.opener, max_run_bytes)
        self._max_run_bytes = max_run_bytes
        self.memories = Memories()
        self.choice_plans = ChoicePlans()
        self.bounds = Bounds(self.layout, feasibility, self.canonical, self.opener.holes)
        self._is_read = any(map(feasibility.reads, range(len(program.slots))))
        if max_run_bytes and not self._is_read and wants_rehearsal(self.layout):
            rehearse(self.runs)

    def prepare(self) -> None:
        """Work out the run before the first decision, and those behind the first ones that no relation reads.

        Where relations read what is decided, and few tokens may come there, so are the runs behind those: a
        first decision often settles most of a record, and what it settles is the longest run of all.

        Servers call it where they compile, off the engine's thread: with an objective the first questions to
        the oracle may take tens of milliseconds. Does nothing the second time.
        """
        root = self.runs.root()
        if not self._max_run_bytes:
            return
        begin(self.runs, self.layout)
        if self._is_read and not root.free and root.allowed.count <= _MOST_PREPARED:
            for token in root.allowed.ids().tolist():
                with suppress(BudgetSpent, TooLarge):  # a session that goes there says so
                    self.runs.after(root, token)

    def session(
        self,
        token_limit: int | None = None,
        *,
        on_budget: OnBudget = "narrow",
        canonical_text: bool = False,
        salt: str | None = None,
    ) -> Session:
        """A new record.

        Args:
            token_limit: most tokens of the record; None: any number.
            on_budget: what the session does where a budget ends in mid-record: go on among the values that
                are proven (the report says ``exact: False``), or raise ``BudgetSpent``.
            canonical_text: free text is written in the tokenizer's own tokens too. Engines must then ask
                about each sampled token (``Session.admits``).
            salt: records of the same one may know of each other (``memories``); changes nothing that is
                written.

        Raises:
            TokenLimitTooSmall: no valid record fits.
            DeclarationError: ``on_budget`` is none of these.
            EngineError: canonical text, and the tokenizer splits texts in a way that is not known.
        """
        if on_budget not in _ON_BUDGET:
            raise _no_such(on_budget)
        kind = CanonicalSession if canonical_text else Session
        if canonical_text and not self.canonical.cuts.is_local:
            name = self.vocabulary.name
            raise EngineError(
                f"canonical text is not supported with tokenizer {name!r}",
                [Problem("canonical_text", "the tokenizer splits texts in a way that is not known", "true")],
            )
        is_ample = token_limit is None or self.most_bytes <= token_limit
        narrowing = None if is_ample or token_limit is None else self._narrowing(token_limit)
        session = kind(self, token_limit, narrowing, on_budget)
        session.salt = salt
        return session

    def _narrowing(self, token_limit: int) -> TokenLimit:
        """The rule of a limit that matters. Raises TokenLimitTooSmall."""
        start = self.opener.start()
        # Whatever is chosen fits, or some choice does; the second takes longer to find out.
        if self.bounds.brief(start) <= token_limit or self.bounds.fits(start, token_limit):
            return TokenLimit(self.opener, self.bounds, self.runs, token_limit)
        if self.bounds.least(start) > token_limit:
            raise self._too_small(start, token_limit)
        found = shortest(self.opener, self.bounds, self.start, token_limit)
        if found.tokens is None:
            raise self._too_small(start, token_limit)
        return TokenLimit(self.opener, self.bounds, self.runs, token_limit, witness=found.tokens)

    @property
    def num_bytes(self) -> int:
        """About the memory that the decoder takes now, in bytes; it grows while records are written.

        The oracle's is not in it; grammars of free parts are, though decoders with equal ones share them.
        """
        parts = (self.layout, self.opener, self.opener.holes, self.runs, self.bounds, self.memories)
        return sum(part.num_bytes for part in parts)

    @property
    def earlier(self) -> Earlier:
        """What finished records without a salt wrote."""
        return self.memories.unsalted

    def shortest(self, max_steps: int = 4_000) -> int | None:
        """Tokens of the shortest valid record, or None if the search for it ends without one. Not cached."""
        found = shortest(self.opener, self.bounds, self.start, None, max_steps)
        return None if found.tokens is None else len(found.tokens)

    @cached_property
    def start(self) -> Hypotheses:
        """The hypotheses before the first token."""
        return self.opener.close([self.opener.start()])

    @cached_property
    def canonical_text(self) -> CanonicalText:
        """Tells which tokens of free text are canonical."""
        return CanonicalText(self.opener, self.canonical)

    @cached_property
    def most_bytes(self) -> int:
        """Bytes, and so tokens, that no record exceeds."""
        return min(UNBOUNDED, len(self.vocabulary.lead) + most_bytes(self.layout))

    def _too_small(self, start: Opening, token_limit: int) -> TokenLimitTooSmall:
        """The refusal; names the shortest record's size where bounds or a short search tell it."""
        least, sure = self.bounds.least(start), self.bounds.sure(start)
        size = sure if least == sure else None
        if size is None and len(self.program.slots) <= _SLOTS_FOR_A_MESSAGE:
            size = self.shortest(_STEPS_FOR_A_MESSAGE)
        needed = f"at least {max(least, token_limit + 1)}" if size is None else str(size)
        message = f"the shortest valid record has {needed} tokens, the limit is {token_limit}"
        return TokenLimitTooSmall(message, token_limit=token_limit, shortest=size)


def _check_end(program: Program) -> None:
    """Refuse records that end with a value: of ``1`` and ``12`` no one can tell the end."""
    nodes, slots = program.nodes, program.slots
    last = [node for node in nodes if isinstance(node, Value | Hole) and isinstance(nodes[node.next], End)]
    paths = [
        slots[node.slot].path if isinstance(node, Value) else program.holes[node.hole].path for node in last
    ]
    if paths:
        rule = "a record may end with this value, so that nothing tells where it ends"
        problems = [Problem(path, rule, hint="write an object or a list around it") for path in paths]
        raise DocumentError("a record must end with fixed text", problems)


def _no_such(on_budget: object) -> DeclarationError:
    problem = Problem("on_budget", f"must be one of {', '.join(map(repr, _ON_BUDGET))}", shown(on_budget))
    return DeclarationError("the session cannot be opened", [problem])
