"""Assembly: sparse operands from coordinates and values; differentiable by the values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

from libsparse._lang import dtypes
from libsparse._lang.errors import DtypeError
from libsparse._runtime.problem import Operand
from libsparse._storage import packing
from libsparse._storage.fakes import is_fake
from libsparse._storage.format import Format, default_format
from libsparse._storage.pattern import Pattern

from . import tracing

REDUCTIONS: Final = {
    "sum": "sum",
    "mean": "mean",
    "prod": "prod",
    "max": "amax",
    "amax": "amax",
    "min": "amin",
    "amin": "amin",
}
"""The reductions of duplicates, and torch's names of them."""


def assemble(
    coords: list[Tensor],
    values: Tensor | None,
    shape: Sequence[int],
    format: str | Format | None = None,
    reduce: str = "sum",
) -> Operand:
    """Sorts coordinates, one int64 array for each mode, reduces duplicates and packs them.

    Without values it is a pattern alone; the format is the usual one of the rank by default.
    """
    wanted = default_format(len(shape)) if format is None else Format(format).resolve(len(shape))
    if wanted.is_dense:
        return to_format(assemble(coords, values, shape, "coo", reduce), wanted)
    if any(map(is_fake, coords)):
        return tracing.operators[0].assemble(coords, values, shape, wanted, reduce)
    levels = [coords[mode] for mode in wanted.order]
    extents = [shape[mode] for mode in wanted.order]
    order = packing.sort_order(levels, extents)
    if order is not None:
        levels = [c[order] for c in levels]
        values = None if values is None else values[order]
    fresh = packing.first_of_run(levels)
    if not bool(fresh.all()):
        group = torch.cumsum(fresh, 0) - 1
        levels = [c[fresh] for c in levels]
        values = None if values is None else reduced(values, group, levels[0].numel(), reduce)
    itemsize = 1 if values is None else values.element_size()
    built = packing.build_levels(wanted.writable, extents, levels, itemsize)
    if values is not None and built.slots is not None:
        values = packing.spread(values, built.slots, built.size)
    pattern = Pattern(wanted.writable, shape, built.pos, built.crd)
    if values is not None and values.ndim > 1:  # arrays: blocks of the entries
        return Operand(pattern.with_blocks(values.shape[1:]), values.reshape(-1))
    packed = Operand(pattern, values)
    return packed if wanted == wanted.writable else to_format(packed, wanted)


def to_format(source: Operand, format: str | Format) -> Operand:
    """The same tensor in another format; differentiable, and its pattern is converted once.

    Of dense levels only it is a strided tensor: of `dd:1,0`, columns are contiguous.
    """
    wanted = Format(format).resolve(source.ndim)
    if wanted.is_dense:
        back = [wanted.order.index(mode) for mode in range(source.ndim)]
        return Operand(None, to_dense(source).permute(wanted.order).contiguous().permute(back))
    conversion = source.sparsity.converted(wanted)
    values = None if source.data is None else conversion.values(source.data, source.fill)
    return Operand(conversion.pattern, values, source.fill)


def to_dense(source: Operand, dtype: torch.dtype | None = None) -> Tensor:
    """A strided tensor of the same elements; differentiable."""
    pattern, values = source.pattern, source.values
    if dtype is not None:
        values = values.to(dtype)
    return values if pattern is None else pattern.to_dense(values, source.fill)


def reduced(values: Tensor, group: Tensor, count: int, reduce: str) -> Tensor:
    """One value for each group of duplicates."""
    wide = dtypes.accumulator(values.dtype)
    if wide != values.dtype:
        return reduced(values.to(wide), group, count, reduce).to(values.dtype)
    if values.is_complex() and reduce != "sum":
        if reduce != "mean":
            raise DtypeError(f"from_coo: reduce={reduce!r} is not defined for duplicates of {values.dtype}; use sum")
        number = torch.bincount(group, minlength=count)
        return reduced(values, group, count, "sum") / number
    if reduce == "sum" and values.dtype != torch.bool:
        return values.new_zeros((count, *values.shape[1:])).index_add(0, group, values)
    if values.dtype == torch.bool:
        return reduced(values.to(torch.uint8), group, count, "max").to(torch.bool)
    group = group.reshape(-1, *[1] * (values.ndim - 1)).expand_as(values)
    zeros = values.new_zeros((count, *values.shape[1:]))
    return zeros.scatter_reduce(0, group, values, REDUCTIONS[reduce], include_self=False)
