"""Conversions: a pattern brought to another format by a compiled copy of its entries' numbers."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING

import torch

from . import packing, running
from .dtypes import INT32_MAX
from .pattern import Conversion, Pattern
from .problem import Operand, Problem

if TYPE_CHECKING:
    from .format import Format


def convert(pattern: Pattern, format: Format) -> Conversion:
    """The entries of `pattern` in another format, and where each of them came from.

    The kernel that is compiled copies a tensor whose values number its entries from 1, so that what it makes is the
    permutation; padding, which a format with dense levels below sparse ones has, is left at 0.
    """
    if format.writable != format:
        return _packed(pattern, format)
    letters = tuple(string.ascii_lowercase[: pattern.ndim])
    text = "".join(letters)
    asked = Problem(f"{text}->{text}", False, ("A0",), (letters,), letters, format)
    dtype = torch.int32 if pattern.size < INT32_MAX else torch.int64
    numbers = torch.arange(1, pattern.size + 1, dtype=dtype, device="cpu")
    places, made = running.once(asked, [Operand(pattern, numbers)])
    if made is None:  # every level is dense
        nothing = [None] * pattern.ndim
        places, made = places.permute(format.order).reshape(-1), Pattern(format, pattern.shape, nothing, nothing)
    return _between(pattern, made, places)


def _packed(pattern: Pattern, format: Format) -> Conversion:
    """A format that kernels don't write, laid out from the sorted entries."""
    listed = pattern.converted(format.writable)
    numbers = torch.arange(1, pattern.size + 1, dtype=torch.int64, device="cpu")
    numbers = listed.pattern.entries(listed.values(numbers))
    coords = listed.pattern.coordinates()
    extents = [pattern.shape[mode] for mode in format.order]
    built = packing.build_levels(format, extents, [coords[mode] for mode in format.order])
    made = Pattern(format, pattern.shape, built.pos, built.crd)
    if built.slots is not None:
        numbers = numbers.new_zeros(made.size).index_copy_(0, built.slots, numbers)
    return _between(pattern, made, numbers)


def _between(old: Pattern, new: Pattern, numbers: torch.Tensor) -> Conversion:
    """The conversion that takes each value of `new` from where `numbers`, counted from 1, says; 0 is padding."""
    filled = numbers.nonzero().squeeze(1)
    target = None if filled.numel() == new.size else filled
    source = (numbers if target is None else numbers[filled]) - 1
    # Kernels read an operand through the permutation wherever the order of its modes changes.
    unmoved = old.format.order == new.format.order and source.numel() == old.size
    same = unmoved and bool((source[1:] > source[:-1]).all())
    return Conversion(new, None if same else source.to(new.index_dtype), target)
