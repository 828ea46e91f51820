"""Sparse results whose pattern is found: entries are counted, arrays made, coordinates and values written."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from libsparse._compiler.kernel import Kernel
from libsparse._lang import dtypes
from libsparse._storage.pattern import Pattern

from .arrays import ResultArrays
from .status import check


def discover(
    kernel: Kernel,
    block: array[int],
    patterns: Sequence[Pattern | None],
    shape: torch.Size,
    compute: Callable[[array[int], Tensor], Tensor],
) -> tuple[Tensor, Pattern, list[Tensor | None]]:
    """Computes a result and its pattern.

    Args:
        kernel: The kernel.
        block: Its slots, in which those of the operands are filled.
        patterns: Those of the operands.
        shape: The result's.
        compute: Has the kernel write the result, with its values to an array.

    Returns:
        The values, the pattern, and the array of each slot of the result.
    """
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
