"""Columns of matrices by rows, and rows of those by columns: lists of them, and ranges of both.

Ranges are found in each row, and entries in ascending columns by a table of all columns. So are those of other lists,
whose entries are then sorted in each row, where the pattern has not been asked before, as the rows of a batch that
come and go. Of a pattern that is asked again, the transpose, which it keeps, has the entries of each wanted coordinate
side by side: they are copied as rows are, and transposed back.
"""

from __future__ import annotations

import torch
from torch import Tensor

from libsparse._lang.dtypes import INT32_MAX
from libsparse._ops.operands import PLAIN
from libsparse._runtime import conversion
from libsparse._runtime.arrays import written_pattern
from libsparse._runtime.problem import Operand
from libsparse._storage import memory, ordinary, sorting, threads
from libsparse._storage.boxes import Box, has_far_more_rows, is_readable
from libsparse._storage.conversion import Conversion, taken
from libsparse._storage.derived import is_first
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

from .copied_rows import copies, copy_rows
from .keys import Key
from .masked import kept

_FEW = 8  # times the columns that are chosen, which a transpose then finds without reading all entries
_HALF = 2  # times the columns, of which fewer take less time to be sorted in each row than to be transposed twice
_EMPTY = 4  # coordinates for each entry that a mode may have, since a transpose has a position for each
_TABLE = 64  # and what has four bytes for each, of which few are touched


def select_columns(pattern: Pattern, columns: Tensor) -> Conversion | None:
    """The pattern whose coordinates of the inner mode are those of `columns` in `pattern`.

    Args:
        pattern: Of any format.
        columns: (count,), int64, in any order, also repeated; none is out of range.

    Returns:
        None where the pattern is no matrix below a dense level, nearly all of its columns are empty, or there is no
        compiler.
    """
    format = pattern.format
    if not copies(pattern) or pattern.block or pattern.traced:
        return None
    if type(columns) not in PLAIN or ordinary.in_transform() is not None:
        return None
    outer, inner = format.order
    count, extent = columns.numel(), pattern.shape[inner]
    is_empty = extent > _EMPTY * pattern.size
    if not is_empty and count * _FEW >= extent and bool((columns[1:] > columns[:-1]).all()):
        return _ascending(pattern, columns)
    if is_empty or (count * _HALF < extent and is_first(pattern.begun, "columns")):
        found = _listed(pattern, columns)
        if found is not None or is_empty:
            return found
    turned = pattern.converted(Format(f"{''.join(format.levels)}:{inner},{outer}"))
    assert turned.source is not None, "a transpose moves entries"
    rows = copy_rows(Operand(turned.pattern, turned.source), columns)
    if rows is None:
        return None
    places, selected = conversion.copied(rows.sparsity, rows.values, format)
    return Conversion(selected, places, None)


def _listed(pattern: Pattern, columns: Tensor) -> Conversion | None:
    """The same of any columns, by a table of all of them; None where C can't read the pattern or that would be long."""
    radix, count = sorting.in_c(), columns.numel()
    outer, inner = pattern.format.order
    rows, extent = pattern.shape[outer], pattern.shape[inner]
    if radix is None or not sorting.is_plain(columns) or has_far_more_rows(pattern) or not is_readable(pattern):
        return None
    if count > INT32_MAX or extent > _TABLE * (pattern.size + threads.EACH):
        return None
    pos, crd = pattern.compressed(1)
    shared = threads.shared(pattern.size)
    starts = pos.new_empty(rows + 1)
    given = memory.address(pos), memory.address(crd), pos.dtype == torch.int64, rows
    wanted = memory.address(columns), count, extent, *shared, starts.data_ptr()
    size = radix.choose_columns(*given, *wanted, 0, 0)
    if size < 0:
        return None
    found, places = crd.new_empty(size), crd.new_empty(size)
    if size > 0:
        radix.choose_columns(*given, *wanted, found.data_ptr(), places.data_ptr())
    shape = torch.Size([count if mode == inner else n for mode, n in enumerate(pattern.shape)])
    arrays = (None, starts), (None, found)
    return Conversion(written_pattern(pattern.format, shape, *arrays, size, pattern.index_dtype), places, None)


def _ascending(pattern: Pattern, columns: Tensor) -> Conversion:
    """The same of columns that ascend, as a mask gives them."""
    inner, dtype = pattern.format.order[1], pattern.index_dtype
    chosen = torch.zeros(pattern.shape[inner], dtype=torch.bool, device="cpu").index_fill_(0, columns, True)
    found = kept(pattern, taken(chosen, pattern.compressed(1)[1]))
    numbers = chosen.cumsum(0, dtype=dtype) - 1
    crd = taken(numbers, found.pattern.compressed(1)[1])
    shape = torch.Size([columns.numel() if mode == inner else n for mode, n in enumerate(pattern.shape)])
    arrays = (None, found.pattern.pos[1]), (None, crd)
    return found._replace(pattern=written_pattern(pattern.format, shape, *arrays, found.pattern.size, dtype))


def select_box(pattern: Pattern, key: Key) -> tuple[Conversion, Key] | None:
    """The pattern in the rows and columns that a key of integers and slices spans, and what is left of the key.

    Returns:
        None where that is all of the pattern, which is no matrix below a dense level, or C can't read it.
    """
    if not copies(pattern):
        return None
    outer, inner = pattern.format.order
    (first, end), (low, high) = _range(key, outer, pattern), _range(key, inner, pattern)
    rows, columns = end - first, high - low
    step = key.slices[inner].step if inner in key.slices else 1
    whole = (rows, columns) == (pattern.shape[outer], pattern.shape[inner]) and step == 1
    box = None if whole else Box.of(pattern, rows, low, high, first=first)
    if box is None:
        return None
    conversion = _conversion(pattern, box, torch.Size([columns if mode == inner else rows for mode in range(2)]), low)
    slices = {m: s if m == outer and s.step > 1 else s._replace(start=0) for m, s in key.slices.items()}
    if step > 1:
        conversion = _every(conversion, step)
        slices[inner] = slices[inner]._replace(step=1)
    return conversion, key._replace(picks=dict.fromkeys(key.picks, 0), slices=slices)


def select_band(pattern: Pattern, lowest: int | None, highest: int | None) -> Conversion | None:
    """The pattern where the column is larger than the row by these or what is between them, None for no bound.

    Returns:
        None where the pattern is no matrix below a dense level, or C can't read it.
    """
    if not copies(pattern):
        return None
    if pattern.format.order[0]:  # rows are larger than columns
        lowest, highest = None if highest is None else -highest, None if lowest is None else -lowest
    outer, inner = [pattern.shape[mode] for mode in pattern.format.order]
    low, high = 0 if lowest is None else lowest, inner if highest is None else highest + 1
    box = Box.of(pattern, outer, low, high, moves=(lowest is not None, highest is not None))
    return None if box is None else _conversion(pattern, box, pattern.shape, 0)


def _conversion(pattern: Pattern, box: Box, shape: torch.Size, low: int) -> Conversion:
    """The pattern of what is in a box, whose columns are counted from `low`."""
    columns, places = box.entries(low)
    arrays = (None, box.pos), (None, columns)
    return Conversion(written_pattern(pattern.format, shape, *arrays, box.size, pattern.index_dtype), places, None)


def _every(found: Conversion, step: int) -> Conversion:
    """The columns whose numbers are multiples of a step."""
    pattern, places = found.pattern, found.source
    outer, inner = pattern.format.order
    assert places is not None
    if pattern.shape[inner] <= _EMPTY * pattern.size:
        return _ascending(pattern, torch.arange(0, pattern.shape[inner], step, device="cpu")).after(places)
    crd = pattern.compressed(1)[1]
    step = min(step, max(pattern.shape[inner], 1))  # of which coordinates have the dtype
    numbers = crd // step
    selected = kept(pattern, numbers * step == crd)
    assert selected.source is not None
    extents = {outer: pattern.shape[outer], inner: -(-pattern.shape[inner] // step)}
    arrays = (None, selected.pattern.pos[1]), (None, taken(numbers, selected.source))
    shape, size = torch.Size([extents[0], extents[1]]), selected.pattern.size
    multiples = written_pattern(pattern.format, shape, *arrays, size, pattern.index_dtype)
    return selected._replace(pattern=multiples).after(places)


def _range(key: Key, mode: int, pattern: Pattern) -> tuple[int, int]:
    """The first coordinate of a mode that a key reads, and the end; of a step of the outermost, all of the mode."""
    if mode in key.picks:
        return key.picks[mode], key.picks[mode] + 1
    start, step, length = key.slices[mode]
    if step > 1 and mode == pattern.format.order[0]:
        return 0, pattern.shape[mode]
    return (start, start + step * (length - 1) + 1) if length else (0, 0)
