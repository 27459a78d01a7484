"""Forced runs: what follows from one value by the local conditions alone.

After a value the local conditions often leave one value for the next slots too (a day of departure
follows from the day of arrival and the city). Such a run depends on the local conditions only, so it is
remembered by them: all states that differ in wide conditions (which values are used, a running sum) share it.
Runs work on the conjuncts one by one; only where a run ends is their conjunction interned as a state.
"""

from __future__ import annotations

from factorspec_sdk.automata.logic import And, conjunction, parts_of
from factorspec_sdk.automata.nodes import Condition
from factorspec_sdk.graph.layers import Layers

#: (layer, local condition) where a run ends, and its forced values; None where it meets a contradiction
Run = tuple[int, Condition, tuple[int, ...]] | None


class Runs:
    """Memoised runs of one component's local conditions."""

    def __init__(self, layers: Layers) -> None:
        self._layers = layers
        self._size = len(layers)
        self._entering = [tuple(parts_of(layers.entering(at))) for at in range(self._size)]
        self._private = [layers.is_private(at) for at in range(self._size)]
        self._full = [(1 << len(domain)) - 1 for domain in layers.domains]
        self._after: list[dict[tuple[Condition, int], Run]] = [{} for _ in range(self._size)]
        self._left: list[dict[frozenset[Condition], Run]] = [{} for _ in range(self._size)]
        self._masks: list[dict[Condition, int]] = [{} for _ in range(self._size)]

    def mask(self, layer: int, local: Condition) -> int:
        """Values of the layer's slot that the local conditions do not forbid at once."""
        found = self._masks[layer].get(local)
        if found is None:
            found = self._mask_of(layer, [*parts_of(local), *self._entering[layer]])
            self._masks[layer][local] = found
        return found

    def after(self, layer: int, local: Condition, index: int) -> Run:
        """The run that begins with a value of the layer's slot, which must not be a branch."""
        key = (local, index)
        memory = self._after[layer]
        if key in memory:
            return memory[key]
        parts = self._advanced(layer, [*parts_of(local), *self._entering[layer]], index)
        memory[key] = run = None if parts is None else self._shared_run(layer + 1, parts)
        return run

    def _shared_run(self, layer: int, parts: list[Condition]) -> Run:
        """A run by what is left after its first value: conditions that the value settled do not count."""
        if layer == self._size:
            return layer, self._layers.store.true, ()
        key = frozenset(parts)
        memory = self._left[layer]
        if key not in memory:
            memory[key] = self._run(layer, parts)
        return memory[key]

    def onwards(self, layer: int, local: Condition) -> Run:
        """The run that goes on from a state."""
        if layer == self._size:
            return layer, local, ()
        return self._shared_run(layer, parts_of(local))

    def clear(self) -> None:
        """Forget everything."""
        for memory in (self._after, self._left, self._masks):
            for layer in memory:
                layer.clear()

    def _run(self, layer: int, parts: list[Condition]) -> Run:
        forced: list[int] = []
        while layer < self._size and self._private[layer]:
            entered = [*parts, *self._entering[layer]]
            mask = self._mask_of(layer, entered)
            if mask & (mask - 1):
                break
            forced.append(mask.bit_length() - 1)
            following = self._advanced(layer, entered, forced[-1]) if mask else None
            if following is None:
                return None
            parts = following
            layer += 1
        return layer, self._layers.settled(conjunction(self._layers.store, parts)), tuple(forced)

    def _mask_of(self, layer: int, parts: list[Condition]) -> int:
        mask, domain = self._full[layer], self._layers.domains[layer]
        for part in parts:
            if part.slots & 1:
                own = part.mask_or_none(0, domain)
                if own is not None:
                    mask &= own
        return mask

    def _advanced(self, layer: int, parts: list[Condition], index: int) -> list[Condition] | None:
        """The conjuncts after a value, None if one is false."""
        store, code = self._layers.store, self._layers.code(layer, index)
        true, false, unknown = store.true, store.false, store.unknown
        out: list[Condition] = []
        for part in parts:
            after = part.advance(index, code)
            if after is false:
                return None
            if type(after) is And:
                out.extend(after.parts)
            elif after is not true and after is not unknown:
                out.append(after)
        return out
