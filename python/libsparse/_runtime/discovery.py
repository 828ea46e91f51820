"""Sparse results whose pattern is found: entries are counted, arrays made, coordinates and values written."""

from __future__ import annotations

import ctypes
import functools
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._compiler.kernel import Kernel
from libsparse._lang import dtypes
from libsparse._storage.pattern import Pattern

from .arrays import ResultArrays, new_array, written_pattern
from .direct import code, is_native, native
from .status import check

_KINDS = frozenset({"count", "pos", "crd", "vals", "code", "starts"})
_WRITTEN = _KINDS - {"count", "code"}


class Finder:
    """Has a kernel that counts the entries of a result, or bounds them, find the pattern by one call of `finder.c`."""

    __slots__ = ("_crd", "_dtype", "_format", "_pos", "_values", "run")

    def __init__(self, kernel: Kernel, places: Sequence[tuple[int, int]]) -> None:
        """Take a kernel that `finder.c` serves; each array of its result has the length of a slot and a number."""
        from . import rooms  # with the first result that is written before it is counted

        slots, format, index = kernel.slots, kernel.format, dtypes.DTYPES[kernel.index]
        assert native is not None
        assert format is not None
        handed, values = slots.handed, dtypes.DTYPES[kernel.dtype]
        sizes = {"room_crd": index.itemsize, "room_vals": values.itemsize}
        arrays = []
        for slot, (source, addend) in zip(slots.result, places, strict=True):
            dtype = values if slot.kind == "vals" else torch.int64 if slot.kind == "starts" else index
            number = code(dtype) if slot.kind in _WRITTEN else -1
            large = functools.partial(new_array, format, slot, dtype)
            early = slot.before == "assemble"
            arrays.append((slot.place, early, source, addend, number, dtype.itemsize, large))
        functions: Any = [kernel.bound, kernel.assemble, kernel.compute]
        self.run = native.Finder(
            tuple([0 if f is None else ctypes.cast(f, ctypes.c_void_p).value for f in functions]),
            (0, 0, 0, 0) if handed is None else (handed.bound, handed.starts, handed.filled, handed.length),
            () if handed is None else tuple([(place, sizes[kind]) for kind, place in handed.rooms]),
            tuple(arrays),
            rooms.take,
            rooms.leave,
        )
        by_name = {(slot.kind, slot.level): number for number, slot in enumerate(slots.result)}
        count = range(len(format.levels))
        self._pos, self._crd = [[by_name.get((kind, level)) for level in count] for kind in ("pos", "crd")]
        self._values = next(number for number, slot in enumerate(slots.result) if slot.kind == "vals")
        self._format, self._dtype = format, index

    def __call__(
        self, block: array[int], shape: torch.Size, counted: Any
    ) -> tuple[Tensor, Pattern, list[Tensor | None]]:
        """What `discover` returns, for a block in which the slots of the operands are filled."""
        return self.written(shape, self.run(block.buffer_info()[0], counted))

    def written(self, shape: torch.Size, raw: list[Any]) -> tuple[Tensor, Pattern, list[Tensor | None]]:
        """The same, given the arrays of the result."""
        values, raw[self._values] = raw[self._values], None  # others keep the rest, and values may be large
        pos, crd = ([None if n is None else raw[n] for n in numbers] for numbers in (self._pos, self._crd))
        return values, written_pattern(self._format, shape, pos, crd, values.numel(), self._dtype), raw


def _finder(kernel: Kernel) -> Finder | None:
    """What finds patterns in C; None where the kernel has arrays of other kinds."""
    slots, format = kernel.slots, kernel.format
    if native is None or format is None or (kernel.bound is None) != (slots.handed is None):
        return None
    functions = [f for f in (kernel.bound, kernel.assemble, kernel.compute) if f is not None]
    kinds = {slot.kind for slot in slots.result}
    usual = kinds <= _KINDS and "vals" in kinds and not format.kinds[slots.first_level].conversion_only
    own = any(format.kinds[slot.level].own for slot in slots.result if slot.kind == "crd")
    many = len(slots.result) > native.MOST_ARRAYS
    if not usual or own or many or not all([is_native(function) for function in functions]):
        return None
    places = [(0, 0) if slot.kind == "count" else slot.length.of_slot() for slot in slots.result]
    known = [place for place in places if place is not None]
    return Finder(kernel, known) if len(known) == len(places) else None


def finder_of(kernel: Kernel) -> Finder | None:
    """What finds patterns in C, made once; None where that is done in Python."""
    if kernel.slots.finder is False:
        kernel.slots.finder = _finder(kernel)
    found: Finder | None = kernel.slots.finder
    return found


def arrays_of(kernel: Kernel, pattern: Pattern) -> tuple[list[Tensor | None], dict[int, int]] | None:
    """What a kernel has found with a pattern: an array for each slot of the result, and the contents of counts' slots.

    None where the pattern has other arrays than the kernel wrote.
    """
    arrays: list[Tensor | None] = []
    counts: dict[int, int] = {}
    for place, kind, level, *_ in kernel.slots.result:
        own = pattern.crd[level] if kind in ("crd", "count") else pattern.pos[level] if kind == "pos" else None
        if own is None and kind in ("pos", "crd", "count"):
            return None
        if kind == "count" and own is not None:
            counts[place] = own.numel()
        arrays.append(None if kind == "count" else own)
    return None if pattern.index_dtype != dtypes.DTYPES[kernel.index] else (arrays, counts)


def discover(
    kernel: Kernel,
    block: array[int],
    patterns: Sequence[Pattern | None],
    shape: torch.Size,
    compute: Callable[[array[int], Tensor], Tensor],
    counted: Any,
) -> tuple[Tensor, Pattern, list[Tensor | None]]:
    """Computes a result and its pattern.

    Args:
        kernel: The kernel.
        block: Its slots, in which those of the operands are filled.
        patterns: Those of the operands.
        shape: The result's.
        compute: Has the kernel write the result, with its values to an array.
        counted: The tally of such calls.

    Returns:
        The values, the pattern, and the array of positions or coordinates of each slot of the result, None for others.
    """
    if (finder := finder_of(kernel)) is not None:
        return finder(block, shape, counted)
    source, dtype = patterns[0], dtypes.DTYPES[kernel.dtype]
    arrays = ResultArrays(kernel, block, patterns)
    first = kernel.slots.first_level
    if source is not None and arrays.format.kinds[first].conversion_only:  # below the levels of the operand
        arrays.share(source, first)
    rooms = None
    if kernel.bound is not None:
        from .rooms import Rooms  # with the first result that is written before it is counted

        rooms = Rooms(kernel, block, arrays.dtype, dtype)
    if kernel.assemble is not None:
        for slot in kernel.slots.result:
            if slot.before == "assemble":
                block[slot.place] = arrays.array(slot).data_ptr()
        check(kernel.assemble(block.buffer_info()[0]))
    for slot in kernel.slots.result:
        if slot.kind in ("pos", "crd"):
            block[slot.place] = arrays.array(slot).data_ptr()
        elif slot.kind == "vals":
            values = arrays.room(slot, dtype)
    compute(block, values)
    if rooms is not None:
        rooms.leave()
    pattern = arrays.pattern(shape, values.numel())
    return values, pattern, [arrays.arrays.get((slot.kind, slot.level)) for slot in kernel.slots.result]
