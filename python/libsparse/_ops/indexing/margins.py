"""Tensors with margins: `torch.nn.functional.pad`."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F

from libsparse._lang.errors import ShapeError, UnsupportedError
from libsparse._ops.tracing import moves
from libsparse._runtime.problem import Operand

from .entries import Entries, check_extents, derive, integers, sparse_operand
from .getitem import narrow


@moves(F.pad)
def pad(input: Any, pad: Any, mode: str = "constant", value: float | None = None) -> Operand:
    """The tensor with more coordinates before the first and behind the last of some dimensions, or with fewer.

    Args:
        input: A sparse tensor.
        pad: How many before and behind, for the last dimension, the one before it, and so on; below 0 for fewer.
        mode: `constant`.
        value: That of the elements in the margins, if any: the fill value of the tensor. None stands for 0.

    Raises:
        ShapeError: There is an odd number of them, more than for all dimensions, or an extent would be below 0.
        UnsupportedError: The mode or the value is another one.
    """
    source, counts = sparse_operand(input, "pad"), integers("pad: pad", pad)
    given = value or 0
    own = given == source.fill or (given != given and source.fill != source.fill)
    if mode != "constant" or not (own or all([n <= 0 for n in counts])):
        raise UnsupportedError(
            f"pad of an ls.SparseTensor ({source}) with mode={mode!r} and value={value!r}; expected 'constant', and "
            f"its fill value {source.fill}: other elements would have to be stored"
        )
    if len(counts) % 2 or len(counts) > 2 * source.ndim:
        raise ShapeError(f"pad: {len(counts)} numbers; expected two for each of at most {source.ndim} dimensions")
    margins = [(0, 0)] * (source.ndim - len(counts) // 2) + list(zip(counts[::2], counts[1::2], strict=True))[::-1]
    shape = [n + sum(margin) for n, margin in zip(source.shape, margins, strict=True)]
    if any([n < 0 for n in shape]):
        raise ShapeError(f"pad: {counts} makes the shape {tuple(shape)} of a tensor ({source})")
    check_extents(shape, "pad")
    for dim, (before, behind) in enumerate(margins):
        first, last = max(-before, 0), source.shape[dim] + min(behind, 0)
        if first or last < source.shape[dim]:
            source = narrow(source, dim, min(first, last), max(last - first, 0))
    offsets = [max(before, 0) for before, _ in margins]

    def change(entries: Entries) -> Entries:
        moved = [c + offset if offset else c for c, offset in zip(entries.coords, offsets, strict=True)]
        return entries.at(moved, shape)

    return derive(source, ("pad", tuple(offsets), tuple(shape)), change)
