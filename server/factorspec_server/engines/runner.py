"""Running requests together: the loop that joins sessions, drafting, model and sampling.

Each step, for every open row: run what is pending and the drafted tree in one forward pass, with logits at
the choices only; sample along the tree as far as it agrees; commit, and commit what is certain behind it. A
record with n choice points takes at most n steps with logits, and none if it is wholly determined.

Requests join and leave at any step. A step runs a bounded number of tokens: long prompts and long certain
runs are run in parts, and what rows want is shared out so that a row that wants little gets all of it::

    wanted        1   1   40   3000          of 512 tokens a step:
    gets          1   1   40    470

Where sessions are kept elsewhere (``keeping.Keeper``), all are asked for their plans together once a step's
tokens stand; a row whose plan is late sits steps out, one that has no first plan yet joins later.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from factorspec_server.drafting.seam import FloatArray
from factorspec_server.engines.errors import ModelFailed
from factorspec_server.engines.keeping import Keeper, NobodyElse
from factorspec_server.engines.prefixes import SHORTEST, Match, PrefixStore, common
from factorspec_server.engines.requests import Completion, Request
from factorspec_server.engines.row import Row
from factorspec_server.engines.seam import Batch, Model

STEP_TOKENS = 512
PREFIX_BYTES = 256 << 20
_LONE = 4
#: longest wait for plans where others could run: seconds, or a share of the last step, whichever is longer
_PATIENCE_S, _PATIENCE_SHARE = 0.005, 0.1
#: longest wait where nothing can run; requests that come meanwhile are seen then
_IDLE_S = 0.01


class Runner:
    """The requests that run together on one model. Not for use by two threads at once.

    Args:
        model: what to run.
        step_tokens: most tokens of a step, all rows together; each row gets one at least. A row that runs
            alone gets four times as many, since larger parts of a prompt are read in less time.
        prefix_bytes: bytes of keys and values that are kept of what was run lately; 0 keeps none.

    Attributes:
        keeper: of sessions that are kept elsewhere.
    """

    def __init__(
        self, model: Model, *, step_tokens: int = STEP_TOKENS, prefix_bytes: int = PREFIX_BYTES
    ) -> None:
        self._model = model
        self.step_tokens = step_tokens
        self.keeper: Keeper = NobodyElse()
        self._prefixes = PrefixStore(prefix_bytes, model.token_bytes)
        self._batch: Batch | None = None
        self._rows: list[Row] = []  # as the batch has them
        self._joining: list[Row] = []
        self._ended: list[Row] = []

    @property
    def num_rows(self) -> int:
        """Requests that are not finished."""
        return len(self._rows) + len(self._joining)

    @property
    def prefix_bytes(self) -> int:
        """Bytes of keys and values that are kept of what was run lately."""
        return self._prefixes.num_bytes

    def admit(self, request: Request) -> Row:
        """Take a request; it joins once its first plan is there, unless it needs no model."""
        row = Row(self._model, request)
        self.keeper.ask([row.session])
        self._joining.append(row)
        return row

    def step(self) -> None:
        """One step of all rows; errors stand in the completions.

        An error of one request (its session, its callback, its logits) ends that request alone; an error of
        the model ends all that are open, and the batch is made anew.
        """
        try:
            self._plan((*self._joining, *self._rows), 0.0)
            if all(row.needs_plan for row in (*self._joining, *self._rows)):
                self._plan((*self._joining, *self._rows), _IDLE_S)
            self._leave()
            self._join()
            if self._batch is not None and any(row.num_wanted for row in self._rows):
                self._run(self._batch)
        except Exception as error:  # noqa: BLE001 - errors must reach the requests
            failure = ModelFailed(f"the model failed while running: {error}")
            failure.__cause__ = error
            for row in (*self._rows, *self._joining):
                row.finish("error", failure)
                self._ended.append(row)
            self._rows, self._joining, self._batch = [], [], None
            self._prefixes.clear()

    def take_ended(self) -> list[Row]:
        """The requests that have ended since the last call."""
        ended, self._ended = self._ended, []
        return ended

    def _plan(self, rows: Sequence[Row], wait_s: float) -> None:
        """Advance the rows that need plans, as far as these come within ``wait_s`` seconds."""
        until = perf_counter() + wait_s
        needing = [row for row in rows if row.needs_plan]
        while needing:
            left = max(0.0, until - perf_counter())
            late = {id(session) for session in self.keeper.late([row.session for row in needing], left)}
            ready = [row for row in needing if id(row.session) not in late or row.request.cancelled.is_set()]
            for row in ready:
                _guarded_advance(row)
            needing = [row for row in ready if row.needs_plan]

    def _leave(self) -> None:
        """Let those go that have ended."""
        if any(row.completion is not None for row in self._joining):
            self._ended += [row for row in self._joining if row.completion is not None]
            self._joining = [row for row in self._joining if row.completion is None]
        if self._batch is not None:
            self._drop_ended(self._batch)

    def _join(self) -> None:
        """Let those that wait join; one whose beginning is being run by another row waits for that, and one
        without a plan for that.
        """
        waiting, self._joining = self._joining, []
        for at, row in enumerate(waiting):
            try:
                self._enter_or_wait(row)
            except Exception:
                self._joining += waiting[at:]
                raise

    def _enter_or_wait(self, row: Row) -> None:
        if row.request.cancelled.is_set():
            row.finish("cancelled")
            self._ended.append(row)
            return
        match = None if row.needs_plan else self._match(row)
        if match is None:
            self._joining.append(row)
            return
        if self._batch is None:
            self._batch = self._model.open()
        self._batch.join()
        for segment, count in match:
            self._batch.restore(len(self._rows), segment, count)
        self._rows.append(row)
        row.reuse(sum(count for _, count in match))

    def _match(self, row: Row) -> Match | None:
        """What the row can take over; None if it is worth while to wait for what another row is reading."""
        wanted = row.prompt[:-1]  # the last token runs in any case: its logits are wanted
        salt = row.request.salt
        match = self._prefixes.match(wanted, salt)
        for index, other in enumerate(self._rows):
            known = sum(count for _, count in match)
            is_alike = other.is_reading and other.request.salt == salt
            shared = common(other.prompt, wanted) if is_alike else 0
            if shared - known < max(SHORTEST, (len(wanted) - known) // 2) or not self._prefixes.fits(shared):
                continue
            if other.cached < shared:
                return None
            self._keep(index)
            match = self._prefixes.match(wanted, salt)
        return match

    def _run(self, batch: Batch) -> None:
        """One forward pass and what follows from it; raises only what the model raises."""
        most = self.step_tokens * (_LONE if len(self._rows) == 1 else 1)
        shares = shared_out([row.num_wanted for row in self._rows], most)
        feeds = [row.feed(share) for row, share in zip(self._rows, shares, strict=True)]
        started = perf_counter()
        outputs = batch.extend(
            [feed.tokens for feed in feeds], [feed.wanted for feed in feeds], [feed.parents for feed in feeds]
        )
        step_s = perf_counter() - started
        was_reading = [row.is_reading for row in self._rows]
        ran = [index for index, feed in enumerate(feeds) if feed.tokens]
        kept = {index: self._settled(index, outputs[index], step_s) for index in ran}
        self.keeper.ask([row.session for row in self._rows if row.needs_plan])
        for index in ran:
            batch.accept(index, kept[index])
        self._plan(self._rows, max(_PATIENCE_S, _PATIENCE_SHARE * step_s))
        for index in ran:
            if was_reading[index] and not self._rows[index].is_reading:
                self._keep(index)
        self._drop_ended(batch)

    def _settled(self, index: int, logits: Sequence[FloatArray], step_s: float) -> list[int]:
        """The fed tokens of a row that stand."""
        row = self._rows[index]
        try:
            return row.settle(logits, step_s)
        except Exception as error:  # noqa: BLE001 - one request's session must not end the others
            row.finish("error", error)
            return []

    def _keep(self, index: int) -> None:
        """Keep what the batch holds of a row for others."""
        row, batch = self._rows[index], self._batch
        assert batch is not None
        if row.completion is None or row.completion.error is None:
            self._prefixes.add(row.held, lambda start: batch.save(index, start), row.request.salt)

    def _drop_ended(self, batch: Batch) -> None:
        for index in reversed(range(len(self._rows))):
            if self._rows[index].completion is not None:
                self._keep(index)
                batch.drop(index)
                self._ended.append(self._rows[index])
                self._rows[index] = self._rows[-1]
                del self._rows[-1]


def generate_batch(model: Model, requests: Sequence[Request]) -> list[Completion]:
    """Run requests together until each has ended; nothing is raised, errors stand in the completions.

    Returns:
        One completion for each request, in order.
    """
    # what is run alone is of no use to others
    runner = Runner(model, prefix_bytes=PREFIX_BYTES if len(requests) > 1 else 0)
    rows = [runner.admit(request) for request in requests]
    while runner.num_rows:
        runner.step()
    return [row.completion for row in rows if row.completion is not None]


def shared_out(wanted: Sequence[int], most: int) -> list[int]:
    """What each row gets of ``most`` tokens: all that it wants or an equal share of the rest; at least 1 of
    what it wants.
    """
    shares = [0] * len(wanted)
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    for at, row in enumerate(order):
        shares[row] = min(wanted[row], max(1, most // (len(order) - at)))
        most -= shares[row]
    return shares


def _guarded_advance(row: Row) -> None:
    try:
        row.advance()
    except Exception as error:  # noqa: BLE001 - one request's session must not end the others
        row.finish("error", error)
