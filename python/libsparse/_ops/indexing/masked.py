"""Patterns of those entries of another pattern that a mask keeps."""

from __future__ import annotations

from torch import Tensor

from libsparse._lang.errors import UnsupportedError
from libsparse._runtime.arrays import written_pattern
from libsparse._runtime.problem import Operand
from libsparse._storage import boxes, ordinary
from libsparse._storage.conversion import Conversion, taken
from libsparse._storage.fakes import refuse_jit_trace
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

from .entries import entries_of, pack


def kept(pattern: Pattern, mask: Tensor) -> Conversion:
    """The pattern with the entries of another one for which a mask, (nnz,) and bool, is true."""
    found = boxes.kept(pattern, mask)
    if found is None:
        return pack(entries_of(pattern).keep(mask), pattern.format)
    starts, places = found
    arrays = (None, starts), (None, taken(pattern.compressed(1)[1], places))
    kept_pattern = written_pattern(pattern.format, pattern.shape, *arrays, len(places), pattern.index_dtype)
    return Conversion(kept_pattern, places, None)


def true_entries(mask: Operand, format: str | Format | None) -> Operand:
    """The pattern of the true elements of a sparse bool tensor: its own where all that it stores are true.

    Raises:
        UnsupportedError: Elements that are not stored are true, or `torch.vmap` has a batch of them.
    """
    mask.need_zero_fill("from_mask")
    pattern = mask.sparsity
    refuse_jit_trace()
    true = ordinary.unwrapped(pattern.entries(mask.values.detach()))
    if ordinary.is_wrapped(true):
        raise UnsupportedError(
            f"from_mask: a mask ({mask}) that depends on what torch.vmap maps over has another pattern for each item; "
            "make a tensor of each item"
        )
    wanted = pattern.format if format is None else Format(format).resolve(mask.ndim)
    with ordinary.tensors(of_fakes=pattern.traced):
        if wanted != pattern.format:
            found = pack(entries_of(pattern).keep(true), wanted)
        elif bool(true.all()):
            return Operand(pattern, None)
        else:
            found = kept(pattern, true)
        if found.source is not None and found.target is None and not pattern.format.padded:
            found.pattern._contained_in(pattern, found.source)  # whose entries have their numbers for places
    return Operand(found.pattern, None)
