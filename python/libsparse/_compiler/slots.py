"""Slots: the words of the block that a kernel takes, sorted by what is written to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from libsparse._lang.formula import Formula, compiled


class Slot(NamedTuple):
    """One 64-bit word of the block that a kernel takes; fields as in the kernel's description."""

    kind: str
    operand: int = -1
    level: int = -1
    index: str = ""  # type: ignore[assignment]  # the name the description has
    before: str = ""
    length: Formula = 0


class ResultSlot(NamedTuple):
    """The address of an array of the result.

    Attributes:
        place: The number of the slot.
        kind: `pos`, `crd`, `vals`, or what else the kernel's two functions hand on.
        level: The level of the result.
        assembled: Whether the function that assembles the pattern writes it.
        length: Its length, of the names `slot0` and so on.
    """

    place: int
    kind: str
    level: int
    assembled: bool
    length: Callable[[Mapping[str, Any]], Any]


class Slots(tuple[Slot, ...]):
    """The slots of a kernel in their order; the attributes are worked out once, for all calls of the kernel.

    Attributes:
        threads: The numbers of those for the number of threads.
        extents: For extents of indices, the number of the slot and the index.
        modes: For extents of modes, the number of the slot, the operand (-1 for the result) and the mode.
        values: For values of operands, the number of the slot and the operand.
        permutations: For permutations of values of converted operands, the same.
        arrays: For positions and coordinates of operands, the number of the slot, the operand, the kind and the level.
        result: The slots of the result.
        first_level: The first level of the result that has arrays of its own.
    """

    threads: list[int]
    extents: list[tuple[int, str]]
    modes: list[tuple[int, int, int]]
    values: list[tuple[int, int]]
    permutations: list[tuple[int, int]]
    arrays: list[tuple[int, int, str, int]]
    result: list[ResultSlot]
    first_level: int

    def __new__(cls, slots: Iterable[Slot]) -> Slots:
        """Sort slots."""
        self = super().__new__(cls, slots)
        self.threads, self.extents, self.modes, self.values = [], [], [], []
        self.permutations, self.arrays, self.result = [], [], []
        for place, slot in enumerate(self):
            if slot.kind == "threads":
                self.threads.append(place)
            elif slot.kind == "extent":
                self.extents.append((place, slot.index))
            elif slot.kind == "mode":
                self.modes.append((place, slot.operand, slot.level))
            elif slot.operand < 0 or slot.kind == "count":
                assembled = slot.before == "assemble"
                self.result.append(ResultSlot(place, slot.kind, slot.level, assembled, compiled(slot.length)))
            elif slot.kind == "vals":
                self.values.append((place, slot.operand))
            elif slot.kind == "perm":
                self.permutations.append((place, slot.operand))
            else:
                self.arrays.append((place, slot.operand, slot.kind, slot.level))
        self.first_level = min((slot.level for slot in self.result if slot.kind in ("pos", "crd")), default=0)
        return self
