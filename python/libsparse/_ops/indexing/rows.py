"""Rows: coordinates of the outermost level with all that is stored below them, in the same format.

They are selected, and only what is selected is read; or those of several patterns follow each other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import accumulate, chain

import torch
from torch import Tensor

from libsparse._storage import memory, ordinary, packing, sorting, threads
from libsparse._storage.boxes import has_far_more_rows, is_readable
from libsparse._storage.conversion import Conversion, taken, wide_places
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

from .copied_rows import copies
from .keys import Key, Slice

_CPU = torch.device("cpu")
_PARTS = 64  # matrices that C takes
_LISTING = frozenset("suqc")
"""Levels that list coordinates."""


def selectable(format: Format) -> bool:
    """Whether rows of a format are independent of each other: what is stored below one is a run of every array."""
    return not any(level.conversion_only for level in format.kinds)


def may_list(pattern: Pattern, count: int) -> bool:
    """Whether a list of so many rows is no longer than what the pattern has anyway: shapes may be huge."""
    return pattern.pos[0] is None or count <= pattern.nnz


def rows_alone(key: Key, pattern: Pattern) -> Tensor | None:
    """The rows that a key selects by a list, if it does nothing else."""
    mode = pattern.format.order[0]
    return key.indices[mode] if listed_alone(key, pattern) == mode else None


def sliced_alone(key: Key, pattern: Pattern) -> Slice | None:
    """The rows that a key of slices selects, if it does nothing else."""
    outer, *others = pattern.format.order
    return key.slices[outer] if all(key.slices[mode].whole(pattern.shape[mode]) for mode in others) else None


def listed_alone(key: Key, pattern: Pattern) -> int | None:
    """The mode of which a key selects coordinates by a list, if it does nothing else."""
    if len(key.indices) != 1:
        return None
    ((mode, listed),) = key.indices.items()
    shape = list(pattern.shape)
    shape[mode] = listed.numel()
    return mode if key.below_rows(mode, listed.numel()).is_all(shape, mode) else None


def outer_rows(key: Key, mode: int, pattern: Pattern) -> Tensor | None:
    """The coordinates of the outermost level that a key selects; None where it reads them all, or too many."""
    if mode in key.picks:
        return torch.tensor([key.picks[mode]], device="cpu")
    if mode in key.slices:
        chosen = key.slices[mode]
        if chosen.whole(pattern.shape[mode]) or not may_list(pattern, chosen.length):
            return None
        return chosen.numbers()
    return key.indices[mode] if len(key.indices) == 1 else None


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
            places = (places.to(torch.int64)[:, None] * extent + torch.arange(extent, device=_CPU)).reshape(-1)
        elif not level.branchless:
            assert starts is not None
            first, listed, places = _runs(starts, listed, places)
            pos.append(first)
            crd.append(listed)
            continue
        pos.append(first)
        crd.append(None if listed is None else taken(listed, places))
    return Conversion(Pattern(pattern.format, shape, pos, crd, pattern.block), places, None)


def _runs(starts: Tensor, listed: Tensor | None, parents: Tensor) -> tuple[Tensor, Tensor | None, Tensor]:
    """What stands below positions of the level above: where each run starts, the coordinates, and their places."""
    radix, wide = sorting.in_c(), starts.dtype is torch.int64
    given = (starts, parents) if listed is None else (starts, parents, listed)
    if radix is not None and listed is not None and starts.dtype is listed.dtype and all(map(sorting.is_plain, given)):
        first, count = starts.new_empty(parents.numel() + 1), parents.numel()
        chosen = memory.address(parents), parents.dtype is torch.int64, count
        size = radix.measure_runs(memory.address(starts), wide, starts.numel() - 1, *chosen, first.data_ptr())
        if size >= 0:
            moved, places = starts.new_empty(size), starts.new_empty(size)
            written = *threads.shared(size), moved.data_ptr(), places.data_ptr()
            from_, to = (memory.address(starts), memory.address(listed)), first.data_ptr()
            radix.copy_runs(*from_, wide, *chosen, to, *written)
            return first, moved, wide_places(places)
    first, _, places = ragged(taken(starts, parents), taken(starts[1:], parents))
    return first, None if listed is None else taken(listed, places), places


_Selection = tuple[Tensor | None, Tensor | None, Tensor]


def _located(pattern: Pattern, rows: Tensor) -> _Selection:
    """A level whose positions are coordinates."""
    listed = pattern.crd[0]
    return None, None if listed is None else taken(listed, rows), rows


def _listed(pattern: Pattern, rows: Tensor) -> _Selection:
    """A level that lists the coordinates with entries: each is searched."""
    starts, listed = pattern.compressed(0)
    if not listed.numel():
        return torch.zeros_like(starts), listed, rows[:0]
    places = torch.searchsorted(listed, rows.to(listed.dtype)).clamp_(max=listed.numel() - 1)
    found = (taken(listed, places) == rows).nonzero().squeeze(1)
    bounds = torch.tensor([0, found.numel()], dtype=starts.dtype, device=_CPU)
    return bounds, found.to(listed.dtype), taken(places, found)


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


def has_readable_rows(pattern: Pattern) -> bool:
    """Whether a pattern is a matrix of compressed rows that C can read, not far more of them than entries."""
    return copies(pattern) and not pattern.block and is_readable(pattern) and not has_far_more_rows(pattern)


def with_rows(pattern: Pattern, order: Callable[[Tensor], Tensor]) -> Conversion | None:
    """A matrix whose rows, by their numbers, stand in another order; None of one without a dense level above."""
    if not copies(pattern) or has_far_more_rows(pattern):
        return None
    return select_rows(pattern, order(torch.arange(pattern.shape[pattern.format.order[0]], device=_CPU)))


def backwards(pattern: Pattern) -> Conversion:
    """A matrix of which C reads a list of entries below each row, with both dimensions reversed."""
    pos, crd = pattern.compressed(1)
    starts, columns = (pattern.size - pos).flip(0), (pattern.extents[1] - 1 - crd).flip(0)
    places = torch.arange(pattern.size - 1, -1, -1, dtype=pos.dtype, device=_CPU)
    return Conversion(Pattern(pattern.format, pattern.shape, (None, starts), (None, columns)), places, None)


def tiled(pattern: Pattern, times: Sequence[int]) -> Conversion | None:
    """A matrix of compressed rows repeated so often along each dimension; None where that takes a longer way."""
    outer, inner = pattern.format.order
    rows, columns = pattern.shape[outer], pattern.shape[inner]
    wide: Conversion | None = Conversion(pattern, None, None)
    if times[inner] != 1:
        shape = list(pattern.shape)
        shape[inner] *= times[inner]
        shifts = [[0 if mode == outer else n * columns for mode in (0, 1)] for n in range(times[inner])]
        wide = side_by_side([pattern] * times[inner], shifts, shape, pattern.format, repeated=True)
    if wide is None or times[outer] == 1:
        return wide
    tall = select_rows(wide.pattern, torch.arange(rows, device=_CPU).repeat(times[outer]))
    return tall if wide.source is None else tall.after(wide.source)


def are_consecutive(patterns: Sequence[Pattern], shifts: Sequence[Sequence[int]], shape: Sequence[int]) -> bool:
    """Whether the arrays of several patterns, one behind the other, are those of the pattern with their entries."""
    format, first = patterns[0].format, 0
    dtype = packing.common_index_dtype(shape, sum([pattern.size for pattern in patterns]), ())
    for pattern, shift in zip(patterns, shifts, strict=True):
        same = pattern.format == format and pattern.index_dtype is dtype and not pattern.block
        if not same or shift[format.order[0]] != first or not _follows(pattern, shift, shape):
            return False
        if format.kinds[-1].letter == "k" and first % format.kinds[-1].numbers[0]:
            return False  # its first row of blocks would begin inside of the last one before it
        first += pattern.shape[format.order[0]]
    return True


def concatenated(patterns: Sequence[Pattern], shifts: Sequence[Sequence[int]], shape: Sequence[int]) -> Pattern:
    """The pattern with the entries of several, whose arrays stand one behind the other."""
    format, size = patterns[0].format, sum([pattern.size for pattern in patterns])
    levels = range(len(format.order))
    crd = [listed([p.crd[n] for p in patterns], [s[format.order[n]] for s in shifts]) for n in levels]
    pos = [_starts([p.pos[n] for p in patterns], [p.crd[n] for p in patterns], outermost=n == 0) for n in levels]
    return Pattern._of_kernel(format, torch.Size(shape), pos, crd, size, patterns[0].index_dtype)


def side_by_side(
    patterns: Sequence[Pattern],
    shifts: Sequence[Sequence[int]],
    shape: Sequence[int],
    format: Format,
    *,
    repeated: bool = False,
) -> Conversion | None:
    """The pattern with the entries of matrices side by side, and their places; None where C can't read them.

    Args:
        patterns: The patterns, in ascending order of their inner coordinates.
        shifts: What is added to the coordinates of each.
        shape: The shape of the result.
        format: Its format.
        repeated: Whether the patterns are one, whose places are given, and not those among the entries of all.
    """
    radix, size = sorting.in_c(), sum([pattern.size for pattern in patterns])
    if radix is None or format.levels != ("d", "s") or not 1 < len(patterns) <= _PARTS:
        return None
    outer, inner = format.order
    dtype = packing.common_index_dtype(shape, size, ())
    for pattern, shift in zip(patterns, shifts, strict=True):
        alike = pattern.format == format and pattern.index_dtype is dtype and not pattern.block and not pattern.traced
        if not alike or shift[outer] or pattern.shape[outer] != shape[outer] or ordinary.in_transform() is not None:
            return None
    arrays = [pattern.compressed(1) for pattern in patterns]
    if not all(map(sorting.is_plain, chain.from_iterable(arrays))):
        return None
    firsts = accumulate([0 if repeated else pattern.size for pattern in patterns], initial=0)
    parts = tuple([(*map(memory.address, a), s[inner], n) for a, s, n in zip(arrays, shifts, firsts, strict=False)])
    starts = functools.reduce(torch.add, [pos for pos, _ in arrays])
    crd, places = (torch.empty(size, dtype=dtype, device=_CPU) for _ in range(2))
    written = starts.data_ptr(), crd.data_ptr(), places.data_ptr()
    radix.join_rows(parts, dtype == torch.int64, shape[outer], *threads.shared(size), *written)
    found = Pattern._of_kernel(format, torch.Size(shape), (None, starts), (None, crd), size, dtype)
    return Conversion(found, places, None)


def _follows(pattern: Pattern, shift: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether the arrays of a pattern can follow those of another one: its inner levels stay as they are."""
    format = pattern.format
    blocks = len(format.kinds) == 2 and format.kinds[1].letter == "k" and shift[format.order[1]] == 0
    return not pattern.traced and all(
        letter in _LISTING
        or (blocks and n == 1)
        or (letter == "d" and (n == 0 or (shift[mode] == 0 and pattern.shape[mode] == shape[mode])))
        for n, (letter, mode) in enumerate(zip(format.levels, format.order, strict=True))
    )


def listed(arrays: Sequence[Tensor | None], shifts: Sequence[int]) -> Tensor | None:
    """The coordinates of a level of several patterns, one behind the other."""
    moved = [a + shift if shift else a for a, shift in zip(arrays, shifts, strict=True) if a is not None]
    return torch.cat(moved) if moved else None


def _starts(arrays: Sequence[Tensor | None], listed: Sequence[Tensor | None], *, outermost: bool) -> Tensor | None:
    """The positions of a level of several patterns, one behind the other; those of an outermost level are one run."""
    given = [a for a in arrays if a is not None]
    if not given:
        return None
    ends = list(accumulate(0 if a is None else a.numel() for a in listed))
    if outermost:
        return torch.tensor([0, ends[-1]], dtype=given[0].dtype, device="cpu")
    return torch.cat([given[0], *(a[1:] + end for a, end in zip(given[1:], ends, strict=False))])
