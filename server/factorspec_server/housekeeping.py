"""Python's cyclic collector in a process that serves specs.

A compiled spec is some ten thousand small objects, freed by their reference counts when the spec is
dropped: they hold no cycles (``tests/server/test_housekeeping.py``). Left alone, the collector walks them
when they are young, in the middle of a request, and the model and vocabulary again and again. So a server
sets aside what it has loaded, sets aside each spec when it is compiled, and looks after everything rarely.
Constraint workers do so when they keep no record: a look at the young objects alone may take 20 ms.
"""

from __future__ import annotations

import atexit
import gc

#: new objects before the collector looks at the young ones
_YOUNG = 50_000
#: specs between two looks at everything
_SPECS_PER_SWEEP = 500
#: new objects behind which a process looks at them though it is not at rest
_MOST_YOUNG = 2_000_000


class Housekeeping:
    """The collector's settings of one process. Made once, after loading. Safe to call from threads."""

    def __init__(self, *, sweeps: bool = True) -> None:
        """``sweeps``: look after everything, now and rarely; else nothing is walked that was set aside, and
        the rest only when it is said that there is time (``look_around``).
        """
        self._num_specs = 0
        self._sweeps = sweeps
        self._set_aside(sweep=sweeps)
        gc.set_threshold(_YOUNG, 10, 10)
        if not sweeps:
            gc.disable()
        atexit.register(gc.unfreeze)  # libraries look for their leaks at exit

    def spec_compiled(self) -> None:
        """Set a new spec aside. O(1), but for one call in ``_SPECS_PER_SWEEP``, which walks everything."""
        self._num_specs += 1
        self._set_aside(sweep=self._sweeps and self._num_specs % _SPECS_PER_SWEEP == 0)

    @staticmethod
    def look_around(*, is_at_rest: bool) -> None:
        """Look at the new objects if they are many, and nobody waits, or if they are very many."""
        if gc.get_count()[0] > (_YOUNG if is_at_rest else _MOST_YOUNG):
            gc.collect()
            gc.freeze()

    @staticmethod
    def _set_aside(*, sweep: bool) -> None:
        if sweep:
            gc.unfreeze()
            gc.collect()
        gc.freeze()
