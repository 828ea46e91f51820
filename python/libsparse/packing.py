"""Coordinates and levels: turns lists of coordinates into the arrays of a format, and back.

Everything here works on whole arrays; nothing allocates more than a few arrays as long as the list of coordinates,
and nothing knows of values or autograd.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from . import levels, memory
from .dtypes import INT32_MAX
from .format import Format

_KEY_LIMIT = 2**63 - 1
_WIDEST = 8  # bytes of a position, or of a value


class Levels(NamedTuple):
    """The arrays of a format.

    Attributes:
        pos: Positions of each level, None where the level has none.
        crd: Coordinates of each level, None where the level has none.
        slots: Place of each coordinate in the array of values; None where that is its own number.
        size: Length of the array of values.
    """

    pos: list[Tensor | None]
    crd: list[Tensor | None]
    slots: Tensor | None
    size: int


def linear_keys(coords: Sequence[Tensor], extents: Sequence[int]) -> Tensor | None:
    """One int64 key a coordinate that sorts as the coordinates do; None where keys would overflow."""
    if math.prod(extents) > _KEY_LIMIT:
        return None
    keys = coords[0].to(torch.int64, copy=True)
    for crd, extent in zip(coords[1:], extents[1:], strict=True):
        keys.mul_(extent).add_(crd)
    return keys


def sort_order(coords: Sequence[Tensor], extents: Sequence[int]) -> Tensor | None:
    """The stable permutation that sorts coordinates lexicographically; None where they are sorted already."""
    keys = linear_keys(coords, extents)
    if keys is not None:
        if bool((keys[1:] >= keys[:-1]).all()):
            return None
        return torch.argsort(keys, stable=True)
    order: Tensor | None = None
    for crd in reversed(coords):
        order = torch.argsort(crd, stable=True) if order is None else order[torch.argsort(crd[order], stable=True)]
    return order


def first_of_run(coords: Sequence[Tensor]) -> Tensor:
    """Marks, in sorted coordinates, each one that differs from the one before it."""
    count = coords[0].numel()
    fresh = torch.ones(count, dtype=torch.bool)
    if count > 1:
        torch.ne(coords[0][1:], coords[0][:-1], out=fresh[1:])
        for crd in coords[1:]:
            fresh[1:] |= crd[1:] != crd[:-1]
    return fresh


def index_dtype(extents: Sequence[int], size: int) -> torch.dtype:
    """int32 where every extent and the number of values fit, else int64."""
    return torch.int32 if max([size, *extents], default=0) <= INT32_MAX else torch.int64


def build_levels(format: Format, extents: Sequence[int], coords: Sequence[Tensor]) -> Levels:
    """The arrays of `format` for coordinates that are sorted and distinct.

    Args:
        format: A resolved format of levels that kernels write, too: others are converted to.
        extents: Extent of each level, in storage order.
        coords: One int64 array a level, in storage order.

    Raises:
        FormatError: The format has more places than memory could hold.
    """
    nnz = coords[0].numel()
    dtype = index_dtype(extents, nnz)
    advice = f"use format {str(format.compressed)!r} or 'coo'"
    parent, count = torch.zeros(nnz, dtype=torch.int64), 1
    alone = nnz <= 1  # whether no two entries are below the same position
    pos: list[Tensor | None] = []
    crd: list[Tensor | None] = []
    for number, (level, extent, coord) in enumerate(zip(format.levels, extents, coords, strict=True)):
        starts: Tensor | None = None
        stored: Tensor | None = None
        if level in levels.LOCATED:
            places = f"the places of level {number} ({level}) of format {format}"
            memory.check(count * extent, _WIDEST, places, advice)
            parent, count = parent * extent + coord, count * extent
            if level == "b":
                stored = torch.zeros(count, dtype=torch.uint8).index_fill_(0, parent, 1)
        else:
            fresh = first_of_run([parent, coord]) if level == "s" and not alone else None
            if level in "su":
                above = parent if fresh is None else parent[fresh]
                starts = torch.zeros(count + 1, dtype=dtype)
                torch.cumsum(torch.bincount(above, minlength=count), 0, out=starts[1:])
            stored = (coord if fresh is None else coord[fresh]).to(dtype)
            parent = torch.arange(nnz) if fresh is None else torch.cumsum(fresh, 0) - 1
            count = stored.numel()
            alone = count == nnz
        pos.append(starts)
        crd.append(stored)
    return Levels(pos, crd, None if format.levels[-1] not in levels.LOCATED else parent, count)


def expand_levels(
    format: Format, extents: Sequence[int], pos: Sequence[Tensor | None], crd: Sequence[Tensor | None]
) -> tuple[list[Tensor], Tensor | None]:
    """What is stored, in the order of a walk.

    Returns:
        The coordinates of every entry, one int64 array a level in storage order, and the places of the entries among
        the values: None where that is their own number.
    """
    coords: list[Tensor] = []
    parent = torch.zeros(1, dtype=torch.int64)
    count, rows = 1, 1
    for level, extent, level_pos, level_crd in zip(format.levels, extents, pos, crd, strict=True):
        row = coords[-1] if coords else parent
        found = levels.read(level, level_pos, level_crd, levels.Around(extent, rows, count, row, parent))
        coords = [c if level[0] in "cq" else c[found.parent] for c in coords]
        coords.append(found.coord)
        parent, count, rows = found.place, found.size, extent
    return coords, parent if format.padded else None


def locate(wanted: Sequence[Tensor], present: Sequence[Tensor], extents: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Finds coordinates among others.

    Args:
        wanted: The coordinates to find, one array a mode.
        present: The distinct coordinates to find them among, in any order.
        extents: Extent of each mode.

    Returns:
        The place of each wanted coordinate in `present` (anything where it is missing), and whether it is there.
    """
    here, there = linear_keys(wanted, extents), linear_keys(present, extents)
    if here is None or there is None:
        here, there = _ranks(wanted, present, extents)
    order: Tensor | None = None
    if there.numel() > 1 and not bool((there[1:] >= there[:-1]).all()):
        there, order = torch.sort(there)
    if there.numel() == 0:
        return torch.zeros_like(here), torch.zeros(here.numel(), dtype=torch.bool)
    place = torch.searchsorted(there, here).clamp_(max=there.numel() - 1)
    found = there[place] == here
    return (place if order is None else order[place]), found


def _ranks(a: Sequence[Tensor], b: Sequence[Tensor], extents: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Keys for two lists of coordinates whose linear keys would overflow: their ranks among both."""
    both = [torch.cat(pair) for pair in zip(a, b, strict=True)]
    order = sort_order(both, extents)
    assert order is not None
    rank = torch.empty_like(order)
    rank[order] = torch.cumsum(first_of_run([c[order] for c in both]), 0)
    return rank[: a[0].numel()], rank[a[0].numel() :]
