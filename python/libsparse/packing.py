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

from . import memory
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
        format: A resolved format.
        extents: Extent of each level, in storage order.
        coords: One int64 array a level, in storage order.
    """
    nnz = coords[0].numel()
    dtype = index_dtype(extents, nnz)
    advice = f"use format {str(format.compressed)!r} or 'coo'"
    parent = torch.zeros(nnz, dtype=torch.int64)
    count = 1
    identity = False  # whether parent is 0, 1, 2, ...
    pos: list[Tensor | None] = []
    crd: list[Tensor | None] = []
    for letter, extent, level_crd in zip(format.levels, extents, coords, strict=True):
        if letter == "d":
            parent = parent * extent + level_crd
            count *= extent
            memory.check(count, _WIDEST, f"the {extent} places of level {len(pos)} of format {format}", advice)
            identity = False
            pos.append(None)
            crd.append(None)
            continue
        if letter == "s" and not identity:
            fresh = first_of_run([parent, level_crd])
            pos.append(_positions(parent[fresh], count, dtype))
            crd.append(level_crd[fresh].to(dtype))
            parent = torch.cumsum(fresh, 0) - 1
        else:
            pos.append(_positions(parent, count, dtype) if letter in "su" else None)
            crd.append(level_crd.to(dtype))
            parent = torch.arange(nnz)
        count = crd[-1].numel() if crd[-1] is not None else count
        identity = count == nnz
    return Levels(pos, crd, None if identity else parent, count)


def _positions(parents: Tensor, count: int, dtype: torch.dtype) -> Tensor:
    pos = torch.zeros(count + 1, dtype=dtype)
    if parents.numel():
        pos[1:] = torch.cumsum(torch.bincount(parents, minlength=count), 0)
    return pos


def expand_levels(
    format: Format, extents: Sequence[int], pos: Sequence[Tensor | None], crd: Sequence[Tensor | None]
) -> list[Tensor]:
    """The coordinates of every stored value, one int64 array a level, in storage order."""
    coords: list[Tensor] = []
    count = 1
    for letter, extent, level_pos, level_crd in zip(format.levels, extents, pos, crd, strict=True):
        if letter == "d":
            coords = [c.repeat_interleave(extent) for c in coords]
            coords.append(torch.arange(extent).repeat(count))
            count *= extent
            continue
        assert level_crd is not None
        if level_pos is not None:
            lengths = torch.diff(level_pos).to(torch.int64)
            coords = [torch.repeat_interleave(c, lengths) for c in coords]
        coords.append(level_crd.to(torch.int64))
        count = level_crd.numel()
    return coords


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
