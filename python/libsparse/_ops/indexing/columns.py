"""Columns of matrices by rows, and rows of those by columns: lists of them, and ranges of both.

Ranges are found in each row. For lists, the transpose, which a pattern keeps, has the entries of each wanted coordinate
side by side: they are copied as rows are, and transposed back, which counts the entries of each row. Nothing is sorted.
"""

from __future__ import annotations

import torch
from torch import Tensor

from libsparse._lang.records import NamedTuple
from libsparse._ops.operands import PLAIN
from libsparse._runtime import conversion
from libsparse._runtime.arrays import written_pattern
from libsparse._runtime.problem import Operand
from libsparse._storage import memory, ordinary, sorting, threads
from libsparse._storage.conversion import Conversion
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

from .copied_rows import copies, copy_rows
from .keys import Key

_EACH = 1 << 15  # entries from which on a thread is worth its start
_EMPTY = 4  # coordinates for each entry that a mode may have, since a transpose has a position for each


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
    if pattern.shape[inner] > _EMPTY * pattern.size:
        return None
    turned = pattern.converted(Format(f"{''.join(format.levels)}:{inner},{outer}"))
    assert turned.source is not None, "a transpose moves entries"
    found = copy_rows(Operand(turned.pattern, turned.source), columns)
    if found is None:
        return None
    places, selected = conversion.copied(found.sparsity, found.values, format)
    return Conversion(selected, places, None)


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
    whole = (rows, columns) == (pattern.shape[outer], pattern.shape[inner])
    box = None if whole else Box.of(pattern, first, rows, low, high)
    if box is None:
        return None
    shape = torch.Size([columns if mode == inner else rows for mode in range(2)])
    found, places = box.entries()
    kept = written_pattern(pattern.format, shape, (None, box.pos), (None, found), len(found), pattern.index_dtype)
    slices = {m: s if m == outer and s.step > 1 else s._replace(start=0) for m, s in key.slices.items()}
    return Conversion(kept, places, None), key._replace(picks=dict.fromkeys(key.picks, 0), slices=slices)


class Box(NamedTuple):
    """The entries in ranges of the rows and columns of a matrix below a dense level.

    Attributes:
        begin: The place of the first entry of each row.
        pos: Where the entries of each row start among those of the box.
        size: How many there are.
        crd: The columns of the matrix.
        low: The first column of the box.
        threads: How many threads take part, and which.
    """

    begin: Tensor
    pos: Tensor
    size: int
    crd: Tensor
    low: int
    threads: tuple[int, int]

    @classmethod
    def of(cls, pattern: Pattern, first: int, rows: int, low: int, high: int) -> Box | None:
        """That of so many rows from `first` on, and columns from `low` to before `high`; None where C can't read it."""
        radix = sorting.in_c()
        if radix is None or pattern.block or pattern.traced or ordinary.in_transform() is not None:
            return None
        pos, crd = pattern.compressed(1)
        if not sorting.is_plain(pos) or not sorting.is_plain(crd):
            return None
        shared = threads.shared(rows * pattern.size // max(1, len(pos) - 1), _EACH)
        begin, starts = pos.new_empty(rows), pos.new_empty(rows + 1)
        given = memory.address(pos), memory.address(crd), pos.dtype == torch.int64
        count = radix.find_box(*given, first, rows, low, high, *shared, begin.data_ptr(), starts.data_ptr())
        return cls(begin, starts, count, crd, low, shared)

    def entries(self) -> tuple[Tensor, Tensor]:
        """Their columns, counted from the first one of the box, and their places."""
        radix, crd = sorting.in_c(), self.crd
        assert radix is not None
        columns, places = crd.new_empty(self.size), crd.new_empty(self.size)
        given = memory.address(crd), crd.dtype == torch.int64, len(self.begin), self.low, *self.threads
        radix.copy_box(*given, *[array.data_ptr() for array in (self.begin, self.pos, columns, places)])
        return columns, places


def _range(key: Key, mode: int, pattern: Pattern) -> tuple[int, int]:
    """The first coordinate of a mode that a key reads, and the end; of a step of the outermost, all of the mode."""
    if mode in key.picks:
        return key.picks[mode], key.picks[mode] + 1
    start, step, length = key.slices[mode]
    if step > 1 and mode == pattern.format.order[0]:
        return 0, pattern.shape[mode]
    return (start, start + step * (length - 1) + 1) if length else (0, 0)
