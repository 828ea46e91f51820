"""The arrays that kernels read of operands, those of a sparse result, and how a dense one is laid out."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor

from libsparse._compiler.kernel import Kernel, ResultSlot, Slots
from libsparse._lang import dtypes
from libsparse._storage import memory, packing
from libsparse._storage.conversion import Conversion, rows_by_length
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

from . import blocks
from .layout import contiguous
from .problem import Operand, Problem, dense_order, stored


class SlotNames(dict[str, Any]):
    """The values of names in the formulas of slots: `slot3` is the word of slot 3, or the array at its address."""

    def __init__(self, block: array[int], inputs: Mapping[int, Tensor]) -> None:
        self._block, self._inputs = block, inputs

    def __missing__(self, name: str) -> Any:
        place = int(name[4:])
        found = self._inputs.get(place)
        return self._block[place] if found is None else found


class ResultArrays:
    """Positions and coordinates of every level of one result, as long as the slots say."""

    def __init__(self, kernel: Kernel, block: array[int], patterns: Sequence[Pattern | None]) -> None:
        """Begin with none; `block` is the slots that are filled, and `patterns` those of the operands."""
        assert kernel.format is not None
        self.format = kernel.format
        self.dtype = dtypes.DTYPES[kernel.index]
        self.arrays: dict[tuple[str, int], Tensor] = {}
        self._slots, self._block, self._patterns = kernel.slots, block, patterns

    def _names(self) -> SlotNames:
        inputs = {p: level_array(self._patterns[n], kind, level) for p, n, kind, level in self._slots.arrays}
        return SlotNames(self._block, inputs)

    def share(self, source: Pattern, first: int) -> None:
        """Takes the levels above `first` from another pattern, whose positions are the same."""
        for level in range(first):
            own = self.format.kinds[level].own or self.dtype
            for name, shared, dtype in (("pos", source.pos[level], self.dtype), ("crd", source.crd[level], own)):
                if shared is not None:
                    self.arrays[name, level] = shared.to(dtype)

    def array(self, slot: ResultSlot) -> Tensor:
        """The array for a slot of positions, coordinates or starts."""
        name = slot.kind, slot.level
        found = self.arrays.get(name)
        if found is None:
            dtype = torch.int64 if slot.kind == "starts" else self.dtype
            if slot.kind == "crd":
                dtype = self.format.kinds[slot.level].own or dtype
            found = self.arrays[name] = self.room(slot, dtype)
        return found

    def room(self, slot: ResultSlot, dtype: torch.dtype) -> Tensor:
        """A new array for a slot."""
        return new_array(self.format, slot, dtype, slot.length(self._block, self._names))

    def pattern(self, shape: torch.Size, size: int) -> Pattern:
        """The pattern of a result with `size` values, once the kernel has written the arrays."""
        count = range(len(self.format.levels))
        pos, crd = [self.arrays.get(("pos", n)) for n in count], [self.arrays.get(("crd", n)) for n in count]
        return written_pattern(self.format, shape, pos, crd, size, self.dtype)


def new_array(format: Format, slot: ResultSlot, dtype: torch.dtype, length: int) -> Tensor:
    """A new array for a slot of a result.

    Raises:
        FormatError: There is not enough memory for it.
    """
    if not memory.is_small(length, dtype.itemsize):
        subject = "the values" if slot.kind == "vals" else f"{slot.kind} of level {slot.level}"
        advice = f"ask for format {str(format.compressed)!r} or 'coo'"
        memory.check(length, dtype.itemsize, f"{subject} of a result of format {format}", advice)
    return blocks.empty((length,), (1,), dtype)


def written_pattern(
    format: Format,
    shape: torch.Size,
    pos: Sequence[Tensor | None],
    crd: Sequence[Tensor | None],
    size: int,
    dtype: torch.dtype,
) -> Pattern:
    """The pattern of a result with `size` values, whose arrays a kernel has written in one dtype."""
    if packing.index_dtype(shape, size) != dtype:
        return Pattern(format, shape, pos, crd)
    return Pattern._of_kernel(format, shape, pos, crd, size, dtype)


def strides(format: Format | None, shape: Sequence[int]) -> list[int]:
    """The strides of a dense result."""
    steps = [0] * len(shape)
    step = 1
    for mode in reversed(format.order if format is not None and format.is_dense else ()):
        steps[mode] = step
        step *= max(1, shape[mode])
    return steps


def is_relaid(format: Format | None, problem: Problem) -> bool:
    """Whether a kernel computes a dense result in another order of modes than its caller sees."""
    if format is None or not format.is_dense or problem.temporary:
        return False
    wanted = problem.output_format
    return format.order != (tuple(range(len(format.order))) if wanted is None else wanted.order)


def level_array(pattern: Pattern | None, kind: str, level: int) -> Tensor:
    """The positions or coordinates of a level, or the order of its rows."""
    assert pattern is not None
    array = rows_by_length(pattern) if kind == "order" else (pattern.pos if kind == "pos" else pattern.crd)[level]
    assert array is not None
    return array


def read_order(kernel: Kernel, number: int, operand: Operand) -> tuple[int, ...] | None:
    """The order a dense operand is read in; None for a sparse one."""
    if operand.pattern is not None:
        return None
    wanted = kernel.convert.get(number)
    return dense_order(operand.values) if wanted is None else wanted.order


def carrying(
    convert: Mapping[int, Format], slots: Slots, operands: Sequence[Operand], kept: Collection[int] = ()
) -> dict[int, Conversion] | None:
    """The conversions of operands whose values a kernel reads where they are; None where each call copies some.

    It reads them through the places that a conversion has, or the conversion leaves them in their order.

    Args:
        convert: The formats in which the kernel reads sparse operands that have others.
        slots: The slots of the kernel.
        operands: The operands.
        kept: The numbers of those whose values are kept in the new order.
    """
    permuted = {number for _, number in slots.permutations}
    found: dict[int, Conversion] = {}
    for number, wanted in convert.items():
        conversion = operands[number].sparsity.converted(wanted)
        moved = (conversion.source is not None) != (number in permuted) or conversion.target is not None
        if moved and number not in kept and operands[number].data is not None:
            return None
        found[number] = conversion
    return found


def pattern_arrays(
    slots: Slots, operands: Sequence[Operand], conversions: Mapping[int, Conversion]
) -> list[tuple[int, Tensor]]:
    """The arrays of patterns, as a kernel reads them, and their places in the block."""
    permutations = [(place, conversions[number].source) for place, number in slots.permutations]
    arrays = [(place, source) for place, source in permutations if source is not None]
    for place, number, kind, level in slots.arrays:
        pattern = conversions[number].pattern if number in conversions else operands[number].pattern
        arrays.append((place, level_array(pattern, kind, level)))
    return arrays


Moved: TypeAlias = "dict[tuple[int, int], tuple[Tensor, Tensor]]"
"""The values that a call has copied and the copies, by the identities of conversions and values."""


def moved(conversion: Conversion, values: Tensor, seen: Moved) -> Tensor:
    """Values in the order of a conversion, copied once for all operands of a call that have them."""
    key = id(conversion), id(values)
    if key not in seen:
        seen[key] = values, conversion.values(values.detach())
    return seen[key][1]


def input_array(
    number: int,
    operand: Operand,
    slots: Slots,
    orders: Sequence[tuple[int, ...] | None],
    conversion: Conversion | None,
    seen: Moved,
) -> Tensor:
    """The values of an operand as a kernel reads them.

    Args:
        number: Which operand it is.
        operand: The operand.
        slots: The slots of the kernel.
        orders: The orders in which dense operands are read.
        conversion: The conversion of its pattern; None of one that is read in its own format.
        seen: The values that the call has copied before.
    """
    pattern, data, _ = operand
    assert data is not None
    if pattern is not None:
        data = stored(pattern, data)
        if conversion is None or any(number == permuted for _, permuted in slots.permutations):
            return data  # the kernel reads values where they are
        return moved(conversion, data, seen)
    order = orders[number]
    assert order is not None
    return data if data.is_contiguous() and order == tuple(range(len(order))) else contiguous(data, order)


def in_output_format(problem: Problem, data: Tensor, pattern: Pattern | None) -> tuple[Tensor, Pattern | None]:
    """A result in its output format, where that is one which kernels can't write."""
    wanted = problem.output_format
    if wanted is None or wanted.writable == wanted or (pattern is not None and pattern.format == wanted):
        return data, pattern
    if pattern is None:  # the format that kernels write in its place is dense
        stored, nothing = wanted.writable, [None] * data.ndim
        data, pattern = data.permute(stored.order).reshape(-1), Pattern(stored, data.shape, nothing, nothing)
    conversion = pattern.converted(wanted)
    return conversion.values(data, dtypes.identity(problem.reduce, data.dtype)), conversion.pattern
