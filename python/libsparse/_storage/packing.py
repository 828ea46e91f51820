"""Coordinates and levels: turns lists of coordinates into the arrays of a format, and back.

Everything here works on whole arrays; nothing allocates more than a few arrays as long as the list of coordinates,
and nothing knows of values or autograd.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

from libsparse._lang.dtypes import INT32_MAX
from libsparse._lang.records import NamedTuple

from . import levels, memory, sorting
from .format import Format
from .threads import shared

_VALUE = 8  # bytes of a value, where nobody says


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


OWN: Final = (torch.uint8, torch.int16)
"""The dtypes of coordinates that levels choose: bitmaps, and coordinates of 16 bits; all other arrays have one."""


def index_dtype(extents: Sequence[int], size: int) -> torch.dtype:
    """int32 where every extent and the number of values fit, else int64."""
    return torch.int32 if max([size, *extents], default=0) <= INT32_MAX else torch.int64


def common_index_dtype(shape: Sequence[int], size: int, arrays: Sequence[Tensor | None]) -> torch.dtype:
    """The dtype of all arrays of a pattern: int32 where everything fits or they have it already, else int64.

    A trailing dense level can multiply the values; positions themselves always fit where the values do.
    """
    if size <= INT32_MAX and max(shape, default=0) <= INT32_MAX:
        return torch.int32
    present = {a.dtype for a in arrays if a is not None and a.dtype not in OWN}
    return torch.int32 if present == {torch.int32} else torch.int64


def starts(parents: Tensor, count: int, dtype: torch.dtype) -> Tensor:
    """Where the children of each of `count` parents start, from the parents' numbers; the only array that is as long.

    Raises:
        IndexBoundsError: A number is out of range.
    """
    counted = sorting.first_of_rows(parents, count, dtype)
    if counted is not None:
        return counted
    first = torch.zeros(count + 1, dtype=dtype, device="cpu")
    try:
        first[1:].index_add_(0, parents, torch.ones((), dtype=dtype, device="cpu").expand(parents.numel()))
    except IndexError:
        raise sorting.outside() from None
    return first.cumsum_(0)


def build_levels(format: Format, extents: Sequence[int], coords: Sequence[Tensor], itemsize: int = _VALUE) -> Levels:
    """The arrays of `format` for coordinates that are sorted and distinct.

    Args:
        format: A resolved format of levels that kernels write, too: others are converted to.
        extents: Extent of each level, in storage order.
        coords: One array of integers a level, in storage order; the result may share their memory.
        itemsize: Bytes of a value.

    Raises:
        FormatError: The format has more places than memory has room for.
        IndexBoundsError: Coordinates that nobody checked are out of range.
    """
    nnz = coords[0].numel()
    dtype = index_dtype(extents, nnz)
    if nnz and len(coords) > 1 and all(level.is_list for level in format.kinds) and _in_c(len(coords), coords):
        return _fibers(coords, dtype)
    advice = f"pass format={str(format.compressed)!r} or format='coo', which store only what is there"
    bitmaps = 0  # bytes that are allocated and not yet touched: the system counts them as available
    parent: Tensor | None = None  # the positions in the level above; None for the root
    count = 1
    alone = nnz <= 1  # whether no two entries are below the same position
    kept: Tensor | None = None  # which entries stand for a prefix that several have, from a level that is not unique on
    pos: list[Tensor | None] = []
    crd: list[Tensor | None] = []
    for number, (level, extent, coord) in enumerate(zip(format.kinds, extents, coords, strict=True)):
        first: Tensor | None = None
        stored: Tensor | None = None
        subject = f"the places of level {number} ({level.text}) of format {format}"
        last = number + 1 == len(coords)
        if level.locate:
            parent = coord if parent is None else parent.to(torch.int64) * extent + coord
            count *= extent
            bitmaps += count * (level.own is torch.uint8)
            memory.check(bitmaps + count * itemsize * last, 1, subject, advice)
            if level.own is torch.uint8:
                stored = _bitmap(parent.to(torch.int64), count)
        else:
            if level.segmented:
                end = next((n for n in range(number + 1, len(coords)) if not format.kinds[n].branchless), len(coords))
                end = number + 1 if level.unique else end
                above = [] if parent is None else [parent]
                kept = None if alone or end == len(coords) else sorting.first_of_run([*above, *coords[number:end]])
                memory.check(bitmaps + (count + 1) * dtype.itemsize, 1, subject, advice)
            stored = (coord if kept is None else coord[kept]).to(dtype)
            if level.segmented:
                first = torch.tensor([0, stored.numel()], dtype=dtype, device="cpu")
                if parent is not None:
                    first = starts(parent if kept is None else parent[kept], count, dtype)
            if not last:
                parent = torch.arange(nnz, device="cpu") if kept is None else torch.cumsum(kept, 0) - 1
            count = stored.numel()
            alone = count == nnz
        pos.append(first)
        crd.append(stored)
    slots = parent.to(torch.int64) if parent is not None and format.kinds[-1].locate else None
    return Levels(pos, crd, slots, count)


def _in_c(modes: int, arrays: Sequence[Tensor]) -> bool:
    """Whether C can read arrays of indices of a pattern with so many modes, which have one dtype."""
    if sorting.in_c() is None or modes > sorting.MODES:
        return False
    return all(map(sorting.is_plain, arrays)) and len({array.dtype for array in arrays}) == 1


def _fibers(coords: Sequence[Tensor], dtype: torch.dtype) -> Levels:
    """Compressed levels of coordinates that are sorted and distinct."""
    radix, count = sorting.in_c(), coords[0].numel()
    assert radix is not None
    threads, team = shared(count)
    found = torch.zeros((threads, len(coords)), dtype=torch.int64, device="cpu")
    given = sorting.addresses(coords), count, threads, team
    radix.count_fibers(*given, found.data_ptr())
    sizes = found.sum(0).tolist()
    first = found.cumsum(0).sub_(found)
    pos = [torch.empty(size + 1, dtype=dtype, device="cpu") for size in (1, *sizes[:-1])]
    crd = [*(torch.empty(size, dtype=dtype, device="cpu") for size in sizes[:-1]), coords[-1].to(dtype)]
    radix.write_fibers(*given, first.data_ptr(), sorting.addresses(pos), sorting.addresses(crd))
    pos[0][0] = 0
    for array, size in zip(pos, sizes, strict=True):
        array[-1] = size
    return Levels([*pos], [*crd], None, count)


def _bitmap(places: Tensor, count: int) -> Tensor:
    """Ones at some of `count` places."""
    return spread(torch.ones((), dtype=torch.uint8, device="cpu").expand(places.numel()), places, count)


def spread(values: Tensor, slots: Tensor, size: int) -> Tensor:
    """An array of `size` values with some of them at their places, and zeros; differentiable.

    Raises:
        IndexBoundsError: A place is out of range.
    """
    if not size and slots.numel():  # torch's own error would be about strides
        raise sorting.outside()
    try:
        return values.new_zeros(size).index_copy_(0, slots, values)
    except IndexError:
        raise sorting.outside() from None


def expand_levels(
    format: Format,
    extents: Sequence[int],
    pos: Sequence[Tensor | None],
    crd: Sequence[Tensor | None],
    beside: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """The stored coordinates, in the order of a walk; those of an entry side by side in memory if they are wanted so.

    Returns:
        The coordinates of every entry, int64, with a row a mode, and the places of the entries among the values: None
        where that is their own number.
    """
    if (in_order := _walked(format, extents, pos, crd, beside)) is not None:
        return in_order, None
    coords = _below_dense(format, extents, pos, crd)
    done = len(coords)
    parent = torch.arange(coords[0].numel() if coords else 1, device="cpu")
    count, rows = parent.numel(), extents[done - 1] if coords else 1
    whole = True  # whether parents are all positions of the level above, in order
    for level, extent, level_pos, level_crd in zip(
        format.kinds[done:], extents[done:], pos[done:], crd[done:], strict=True
    ):
        if whole and (found := _of_all(level, coords, count, extent, level_pos, level_crd)) is not None:
            coords = found
            count, rows, parent = coords[0].numel(), extent, torch.arange(coords[0].numel(), device="cpu")
            continue
        whole = False
        row = coords[-1] if coords else parent
        walked = level.walk(level_pos, level_crd, levels.Around(extent, rows, count, row, parent))
        coords = [c if level.branchless else c[walked.parent] for c in coords]
        coords.append(walked.coord)
        parent, count, rows = walked.place, level.size(level_pos, level_crd, extent, count), extent
    rows_of_modes = [coords[format.order.index(mode)] for mode in range(len(coords))]
    return torch.stack(rows_of_modes), parent if format.padded else None


def _walked(
    format: Format, extents: Sequence[int], pos: Sequence[Tensor | None], crd: Sequence[Tensor | None], beside: bool
) -> Tensor | None:
    """As `expand_levels` of compressed levels, below a dense one or not; None of others, and where C reads none."""
    kinds = format.kinds
    dense = kinds[0].full and kinds[0].ordered
    arrays = [a for a in (*pos, *crd) if a is not None]
    if not kinds[-1].is_list or not all(level.is_list for level in kinds[dense:]) or not _in_c(len(kinds), arrays):
        return None
    sizes = [extents[0] if a is None else a.numel() for a in crd]
    for level in range(dense, len(kinds)):
        starts = pos[level]
        assert starts is not None
        if starts.numel() != (sizes[level - 1] if level else 1) + 1:
            return None
    modes, count, radix = len(kinds), sizes[-1], sorting.in_c()
    coords = torch.empty((count, modes) if beside else (modes, count), dtype=torch.int64, device="cpu")
    if count and radix is not None:
        first, step = coords.data_ptr(), coords.element_size() * (1 if beside else count)
        where = [[0 if a is None else memory.address(a) for a in found] for found in (pos, crd)]
        walked = tuple(zip(sizes, *where, [first + mode * step for mode in format.order], strict=True))
        if not radix.walk_levels(walked, arrays[0].dtype == torch.int64, modes if beside else 1, *shared(count)):
            return None
    return coords.t() if beside else coords


def _of_all(
    level: levels.Level, coords: list[Tensor], count: int, extent: int, pos: Tensor | None, crd: Tensor | None
) -> list[Tensor] | None:
    """The coordinates down to a level, of those above it for all its parents in order; None where they need a walk."""
    if level.full and level.ordered and crd is None:
        above = [c.repeat_interleave(extent) for c in coords]
        return [*above, torch.arange(extent, device="cpu").repeat(count)]
    if crd is None or level.padded or not (level.segmented or level.branchless):
        return None
    if pos is not None:
        lengths = pos.diff()
        coords = [c.repeat_interleave(lengths) for c in coords]
    return [*coords, crd.to(torch.int64)]


def _below_dense(
    format: Format, extents: Sequence[int], pos: Sequence[Tensor | None], crd: Sequence[Tensor | None]
) -> list[Tensor]:
    """The coordinates of the outermost levels, where these are dense ones and a list with fewer entries than places.

    The entries look for their places, so nothing is as long as the dense levels; [] where a walk is no worse.
    """
    depth = next((n for n, level in enumerate(format.kinds) if not (level.full and level.ordered)), 0)
    first, listed, level = pos[depth], crd[depth], format.kinds[depth]
    if not depth or not level.segmented or level.conversion_only or first is None or listed is None:
        return []
    if listed.numel() >= first.numel():
        return []
    place = torch.searchsorted(first, torch.arange(listed.numel(), dtype=first.dtype, device="cpu"), right=True) - 1
    coords = [listed.to(torch.int64)]
    for extent in reversed(extents[:depth]):
        coords.insert(0, place % max(extent, 1))
        place = place // max(extent, 1)
    return coords


def locate(wanted: Sequence[Tensor], present: Sequence[Tensor], extents: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Finds coordinates among others.

    Args:
        wanted: The coordinates to find, one array a mode.
        present: The distinct coordinates to find them among, in any order.
        extents: Extent of each mode.

    Returns:
        The place of each wanted coordinate in `present` (their number where it is missing), and whether it is there.
    """
    arrays = [*wanted, *present]
    in_order = _in_c(len(wanted), arrays) and arrays[0].dtype == torch.int64
    if in_order and sorting.order_of(wanted, extents) and sorting.order_of(present, extents):
        return _located(wanted, present)
    here, there = comparable_keys(wanted, present, extents)
    order: Tensor | None = None
    if there.numel() > 1 and not bool((there[1:] >= there[:-1]).all()):
        there, order = torch.sort(there)
    if there.numel() == 0:
        return torch.zeros_like(here), torch.zeros(here.numel(), dtype=torch.bool, device="cpu")
    place = torch.searchsorted(there, here).clamp_(max=there.numel() - 1)
    found = there[place] == here
    return torch.where(found, place if order is None else order[place], there.numel()), found


def _located(wanted: Sequence[Tensor], present: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """As `locate`, of coordinates in order."""
    count, radix = wanted[0].numel(), sorting.in_c()
    place = torch.empty(count, dtype=torch.int64, device="cpu")
    arrays = tuple((memory.address(w), memory.address(p)) for w, p in zip(wanted, present, strict=True))
    assert radix is not None
    radix.locate_sorted(arrays, count, present[0].numel(), *shared(count), memory.address(place))
    return place, place < present[0].numel()


def comparable_keys(a: Sequence[Tensor], b: Sequence[Tensor], extents: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Keys of two lists of coordinates that compare as the coordinates do."""
    here, there = sorting.linear_keys(a, extents), sorting.linear_keys(b, extents)
    return _ranks(a, b, extents) if here is None or there is None else (here, there)


def _ranks(a: Sequence[Tensor], b: Sequence[Tensor], extents: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Keys for two lists of coordinates whose linear keys would overflow: their ranks among both."""
    both = [torch.cat(pair) for pair in zip(a, b, strict=True)]
    order = sorting.sort_order(both, extents)
    assert order is not None
    rank = torch.empty_like(order)
    rank[order] = torch.cumsum(sorting.first_of_run([c[order] for c in both]), 0)
    return rank[: a[0].numel()], rank[a[0].numel() :]


def count(format: Format, extents: Sequence[int], pos: Sequence[Tensor | None], crd: Sequence[Tensor | None]) -> int:
    """How many values the arrays of a format have places for."""
    size = 1
    for level, extent, level_pos, level_crd in zip(format.kinds, extents, pos, crd, strict=True):
        size = level.size(level_pos, level_crd, extent, size)
    return size


def cast(arrays: Sequence[Tensor | None], dtypes: Sequence[torch.dtype]) -> list[Tensor | None]:
    """Arrays of numbers in other dtypes."""
    return [a if a is None or a.dtype is dtype else a.to(dtype) for a, dtype in zip(arrays, dtypes, strict=True)]


def copied(array: Tensor, dtype: torch.dtype) -> Tensor:
    """A copy of an array in a dtype."""
    return array.clone() if array.dtype == dtype else array.to(dtype)
