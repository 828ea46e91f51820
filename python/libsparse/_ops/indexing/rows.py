"""Rows: coordinates of the outermost level selected, with all that is stored below them and in the same format.

Only what is selected is read.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from libsparse._storage.format import Format
from libsparse._storage.levels import Level
from libsparse._storage.pattern import Conversion, Pattern


def selectable(format: Format) -> bool:
    """Whether rows of a format are independent of each other: what is stored below one is a run of every array."""
    return not any(level.conversion_only for level in format.kinds)


@torch.inference_mode(False)
def select_rows(pattern: Pattern, rows: Tensor) -> Conversion:
    """The pattern whose coordinates of the outermost level are those of `rows` in `pattern`.

    Args:
        pattern: Of a format that is `selectable`.
        rows: Coordinates in any order, also repeated: one int64 array.
    """
    shape = list(pattern.shape)
    shape[pattern.format.order[0]] = rows.numel()
    outermost = _outermost(pattern.format.kinds[0])
    first, stored, places = outermost(pattern, rows)
    pos, crd = [first], [stored]
    for level, extent, starts, listed in zip(
        pattern.format.kinds[1:], pattern.extents[1:], pattern.pos[1:], pattern.crd[1:], strict=True
    ):
        first = None
        if level.locate:
            places = (places[:, None] * extent + torch.arange(extent)).reshape(-1)
        elif not level.branchless:
            assert starts is not None
            first, _, places = ragged(starts.index_select(0, places), starts[1:].index_select(0, places))
        pos.append(first)
        crd.append(None if listed is None else listed.index_select(0, places))
    return Conversion(Pattern(pattern.format, shape, pos, crd), places, None)


_Selection = tuple[Tensor | None, Tensor | None, Tensor]


def _outermost(level: Level) -> Callable[[Pattern, Tensor], _Selection]:
    """How coordinates of an outermost level are selected; gives its new arrays and the old positions."""
    if level.locate:
        return _located
    return _listed if level.unique else _repeated


def _located(pattern: Pattern, rows: Tensor) -> _Selection:
    """A level whose positions are coordinates."""
    listed = pattern.crd[0]
    return None, None if listed is None else listed.index_select(0, rows), rows


def _listed(pattern: Pattern, rows: Tensor) -> _Selection:
    """A level that lists the coordinates with entries: each is searched."""
    starts, listed = pattern.compressed(0)
    if not listed.numel():
        return torch.zeros_like(starts), listed, rows[:0]
    places = torch.searchsorted(listed, rows.to(listed.dtype)).clamp_(max=listed.numel() - 1)
    found = (listed.index_select(0, places) == rows).nonzero().squeeze(1)
    bounds = torch.tensor([0, found.numel()], dtype=starts.dtype)
    return bounds, found.to(listed.dtype), places.index_select(0, found)


def _repeated(pattern: Pattern, rows: Tensor) -> _Selection:
    """A level that lists a coordinate once for every entry."""
    starts, listed = pattern.compressed(0)
    wanted = rows.to(listed.dtype)
    low = torch.searchsorted(listed, wanted)
    _, owners, places = ragged(low, torch.searchsorted(listed, wanted, right=True))
    return torch.tensor([0, places.numel()], dtype=starts.dtype), owners.to(listed.dtype), places


def ragged(low: Tensor, high: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The numbers of several ranges, one range after the other.

    Args:
        low: The first number of each range.
        high: One more than the last number of each.

    Returns:
        Where each range starts among the numbers, one entry more than there are ranges; the range of each number;
        the numbers, int64.
    """
    lengths = high - low
    starts = low.new_zeros(low.numel() + 1)
    torch.cumsum(lengths, 0, out=starts[1:])
    owners = torch.repeat_interleave(lengths)
    places = torch.arange(owners.numel())
    places += (low - starts[:-1]).index_select(0, owners)
    return starts, owners, places
