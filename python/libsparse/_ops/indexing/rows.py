"""Rows: coordinates of the outermost level selected, with all that is stored below them and in the same format.

Only what is selected is read.
"""

from __future__ import annotations

import torch
from torch import Tensor

from libsparse._storage.conversion import Conversion
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

_CPU = torch.device("cpu")


def selectable(format: Format) -> bool:
    """Whether rows of a format are independent of each other: what is stored below one is a run of every array."""
    return not any(level.conversion_only for level in format.kinds)


def select_rows(pattern: Pattern, rows: Tensor) -> Conversion:
    """The pattern whose coordinates of the outermost level are those of `rows` in `pattern`.

    Args:
        pattern: Of a format that is `selectable`.
        rows: Coordinates in any order, also repeated: one int32 or int64 array.

    Raises:
        IndexError: torch found a coordinate out of range, where it looks.
    """
    if torch.is_inference_mode_enabled():
        with torch.inference_mode(False):
            return select_rows(pattern, rows.clone())
    kinds = pattern.format.kinds
    shape = list(pattern.shape)
    shape[pattern.format.order[0]] = rows.numel()
    rows = rows.to(torch.int64)
    first, stored, places = _OUTERMOST[kinds[0].locate, kinds[0].unique](pattern, rows)
    pos, crd = [first], [stored]
    for number in range(1, len(kinds)):
        level, starts, listed, first = kinds[number], pattern.pos[number], pattern.crd[number], None
        if level.locate:
            extent = pattern.extents[number]
            places = (places[:, None] * extent + torch.arange(extent, device=_CPU)).reshape(-1)
        elif not level.branchless:
            assert starts is not None
            first, _, places = ragged(starts.index_select(0, places), starts[1:].index_select(0, places))
        pos.append(first)
        crd.append(None if listed is None else listed.index_select(0, places))
    return Conversion(Pattern(pattern.format, shape, pos, crd, pattern.block), places, None)


_Selection = tuple[Tensor | None, Tensor | None, Tensor]


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
    bounds = torch.tensor([0, found.numel()], dtype=starts.dtype, device=_CPU)
    return bounds, found.to(listed.dtype), places.index_select(0, found)


def _repeated(pattern: Pattern, rows: Tensor) -> _Selection:
    """A level that lists a coordinate once for every entry."""
    starts, listed = pattern.compressed(0)
    wanted = rows.to(listed.dtype)
    low = torch.searchsorted(listed, wanted)
    _, owners, places = ragged(low, torch.searchsorted(listed, wanted, right=True))
    return torch.tensor([0, places.numel()], dtype=starts.dtype, device=_CPU), owners.to(listed.dtype), places


# How coordinates of an outermost level are selected, by whether it locates and whether it is unique.
_OUTERMOST = {(True, True): _located, (False, True): _listed, (False, False): _repeated}


def ragged(low: Tensor, high: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The numbers of several ranges, one range after the other.

    Args:
        low: The first number of each range.
        high: One more than the last number of each.

    Returns:
        Where each range starts among the numbers, one entry more than there are ranges; the range of each number;
        the numbers.
    """
    starts = torch.zeros(low.numel() + 1, dtype=torch.int64, device=_CPU)
    lengths = high - low
    torch.cumsum(lengths, 0, dtype=torch.int64, out=starts[1:])
    owners = torch.repeat_interleave(lengths)
    places = torch.arange(owners.numel(), device=_CPU)
    places += (low - starts[:-1]).index_select(0, owners)
    return starts, owners, places
