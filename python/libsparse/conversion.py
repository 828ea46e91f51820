"""Conversions: a pattern brought to another format by a compiled copy of its entries' numbers."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING

import torch

from . import running
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
    letters = tuple(string.ascii_lowercase[: pattern.ndim])
    text = "".join(letters)
    asked = Problem(f"{text}->{text}", False, ("A0",), (letters,), letters, format)
    dtype = torch.int32 if pattern.nnz < INT32_MAX else torch.int64
    numbers = torch.arange(1, pattern.nnz + 1, dtype=dtype, device="cpu")
    places, made = running.once(asked, [Operand(pattern, numbers)])
    if made is None:  # every level is dense
        nothing = [None] * pattern.ndim
        places, made = places.permute(format.order).reshape(-1), Pattern(format, pattern.shape, nothing, nothing)
    if made.nnz == pattern.nnz and format.order == pattern.format.order:
        return Conversion(made, None, None)
    if made.nnz == pattern.nnz:
        return Conversion(made, places.sub_(1).to(made.index_dtype), None)
    target = torch.empty(pattern.nnz, dtype=torch.int64, device="cpu")
    filled = places.nonzero().squeeze(1)
    target[places[filled].to(torch.int64) - 1] = filled
    return Conversion(made, None, target)
