"""The arrays of a sparse result, allocated as their lengths become known."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from libsparse._compiler.kernel import Slot
from libsparse._storage import levels, memory
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

_CPU = torch.device("cpu")


class ResultArrays:
    """Positions and coordinates of every level of one result."""

    def __init__(self, format: Format, shape: Sequence[int], dtype: torch.dtype) -> None:
        self.format = format
        self.extents = [shape[mode] for mode in format.order]
        self.dtype = dtype
        self.counts: dict[int, int] = {}
        self.arrays: dict[tuple[str, int], Tensor] = {}
        self.given: set[int] = set()

    def share(self, source: Pattern, first: int) -> None:
        """Takes the levels above `first` from another pattern, whose positions are the same."""
        for level in range(first):
            pos, crd = source.pos[level], source.crd[level]
            self.counts[level] = levels.size(
                self.format.levels[level], pos, crd, self.extents[level], self.count(level - 1)
            )
            self.given.add(level)
            if pos is not None:
                self.arrays["pos", level] = pos.to(self.dtype)
            if crd is not None:
                self.arrays["crd", level] = crd if crd.dtype == torch.uint8 else crd.to(self.dtype)

    def count(self, level: int) -> int:
        """How many positions a level has."""
        if level < 0:
            return 1
        if level in self.given:
            return self.counts[level]
        if self.format.levels[level][0] in levels.LOCATED:
            return self.count(level - 1) * self.extents[level]
        if self.format.levels[level][0] in levels.FIXED:
            return levels.places(self.format.levels[level], self.counts[level], self.count(level - 1))
        if self.format.levels[level] in "cq" and level not in self.counts:
            return self.count(level - 1)
        return self.counts[level]

    def array(self, slot: Slot) -> Tensor:
        """The array for a slot."""
        name = slot.kind, slot.level
        if slot.kind == "starts" and name not in self.arrays:
            self.arrays[name] = torch.empty(slot.length, dtype=torch.int64, device=_CPU)
        if name not in self.arrays:
            length = self._length(slot)
            dtype = torch.uint8 if self.format.levels[slot.level] == "b" else self.dtype
            self.arrays[name] = self.room(length, dtype, f"{slot.kind} of level {slot.level}")
        return self.arrays[name]

    def _length(self, slot: Slot) -> int:
        level = self.format.levels[slot.level]
        if slot.kind == "pos":
            rows = self.extents[slot.level - 1] if slot.level else 1
            return levels.positions(level, self.count(slot.level - 1), rows, self.extents[slot.level])
        laid = level[0] in levels.FIXED and level[0] not in levels.LOCATED
        return self.counts[slot.level] if laid else self.count(slot.level)

    def room(self, length: int, dtype: torch.dtype, what: str) -> Tensor:
        """A new array."""
        advice = f"ask for format {str(self.format.compressed)!r} or 'coo'"
        memory.check(length, dtype.itemsize, f"{what} of a result of format {self.format}", advice)
        return torch.empty(length, dtype=dtype, device=_CPU)

    def levels(self) -> tuple[list[Tensor | None], list[Tensor | None]]:
        """Positions and coordinates of every level."""
        count = range(len(self.format.levels))
        return [self.arrays.get(("pos", n)) for n in count], [self.arrays.get(("crd", n)) for n in count]
