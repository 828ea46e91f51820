"""Boxes: the entries in ranges of the rows and columns of a matrix with compressed rows; and single elements of it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from libsparse._lang.dtypes import INT32_MAX
from libsparse._lang.records import NamedTuple

from . import memory, ordinary, sorting, threads

Pattern = Any
"""A `Pattern`, which is defined above."""

_ROWS = 4  # for each entry, from which on lists of these are shorter than what has a number for each row
_ALL = (1 << 64) - 1  # the bits of elements
_ELEMENTS = 1 << 12  # elements from which on it is


class Box(NamedTuple):
    """Where such entries are.

    Attributes:
        begin: The place of the first entry of each row.
        pos: Where the entries of each row start among those of the box.
        size: How many there are.
        crd: The columns of the matrix.
        threads: How many threads take part, and which.
    """

    begin: Tensor
    pos: Tensor
    size: int
    crd: Tensor
    threads: tuple[int, int]

    @classmethod
    def of(
        cls,
        pattern: Pattern,
        rows: int,
        low: int,
        high: int,
        *,
        first: int = 0,
        moves: tuple[bool, bool] = (False, False),
    ) -> Box | None:
        """The entries of some rows, in columns from `low` to before `high`; None where C can't read the pattern.

        Args:
            pattern: Of a matrix below a dense level, whose columns ascend in each row.
            rows: How many rows.
            low: The first column.
            high: The end of the columns.
            first: The first row.
            moves: Whether `low` and `high` are larger by one in each next row.
        """
        radix = sorting.in_c()
        if radix is None or pattern.block or not is_readable(pattern) or has_far_more_rows(pattern):
            return None
        pos, crd = pattern.compressed(1)
        shared = threads.shared(rows * pattern.size // max(1, len(pos) - 1))
        begin, starts = pos.new_empty(rows), pos.new_empty(rows + 1)
        given = memory.address(pos), memory.address(crd), pos.dtype == torch.int64
        size = radix.find_box(*given, first, rows, low, high, *moves, *shared, begin.data_ptr(), starts.data_ptr())
        return cls(begin, starts, size, crd, shared)

    def entries(self, low: int) -> tuple[Tensor, Tensor]:
        """Their columns, counted from `low`, and their places."""
        radix, crd = sorting.in_c(), self.crd
        assert radix is not None
        columns, places = crd.new_empty(self.size), crd.new_empty(self.size)
        given = memory.address(crd), crd.dtype == torch.int64, len(self.begin), low, *self.threads
        radix.copy_box(*given, *[array.data_ptr() for array in (self.begin, self.pos, columns, places)])
        return columns, places

    def firsts(self) -> tuple[Tensor, Tensor]:
        """The rows that have entries, and the place of the first one of each."""
        rows = nonzeros(self.pos.diff())
        return rows.to(self.crd.dtype), self.begin.index_select(0, rows)


def places(pattern: Pattern, outer: Tensor, inner: Tensor) -> Tensor | None:
    """The places of elements among the values of a matrix, -1 of those that are not stored; None where C can't read it.

    Args:
        pattern: Of any format.
        outer: (count,), int64, the coordinates of the outer mode.
        inner: (count,), int64, those of the inner mode.
    """
    radix = sorting.in_c()
    if radix is None or pattern.format.levels != ("d", "s") or not is_readable(pattern):
        return None
    if not all([sorting.is_plain(c) and c.dtype == torch.int64 for c in (outer, inner)]):
        return None
    pos, crd = pattern.compressed(1)
    found = torch.empty(len(outer), dtype=torch.int64, device="cpu")
    given = memory.address(pos), memory.address(crd), pos.dtype == torch.int64, len(pos) - 1
    shared = threads.shared(len(outer), _ELEMENTS)
    wanted = memory.address(outer), memory.address(inner), len(outer)
    radix.find_elements(*given, *wanted, *shared, found.data_ptr())
    return found


def kept(pattern: Pattern, mask: Tensor) -> tuple[Tensor, Tensor] | None:
    """The entries of a matrix with compressed rows that a mask keeps; None where C can't read it.

    Args:
        pattern: Of any format.
        mask: (nnz,), bool.

    Returns:
        Where those of each row start, and their places, which ascend.
    """
    radix = sorting.in_c()
    if radix is None or pattern.format.levels != ("d", "s") or pattern.block or not is_readable(pattern):
        return None
    if type(mask) is not Tensor or ordinary.is_wrapped(mask) or not mask.is_contiguous():
        return None
    pos, _ = pattern.compressed(1)
    starts, found = torch.empty_like(pos), pos.new_empty(int(torch.count_nonzero(mask)))
    given = memory.address(pos), pos.dtype == torch.int64, memory.address(mask), len(pos) - 1
    radix.filter_rows(*given, *threads.shared(len(mask)), starts.data_ptr(), found.data_ptr())
    return starts, found


def nonzeros(vector: Tensor) -> Tensor:
    """The places where a vector of bools or integers is not zero: int32 where C finds them, without branches.

    Elsewhere they are torch's, int64, which take ten times as long where it can't be foreseen where they are.
    """
    radix, count = sorting.in_c(), vector.numel()
    kinds = torch.bool, torch.int32, torch.int64
    if radix is None or not 0 < count <= INT32_MAX or not sorting.is_plain(vector, kinds):
        return vector.nonzero().squeeze(1)
    bounds = torch.empty(2, dtype=torch.int32, device="cpu")
    given = memory.address(vector), vector.itemsize, _ALL, 1, count, 1, 0, bounds.data_ptr()
    places = torch.empty(radix.count_nonzeros(*given, 0, 0), dtype=torch.int32, device="cpu")
    radix.write_nonzeros(*given, places.data_ptr(), 0)
    return places


def has_far_more_rows(pattern: Pattern, times: int = 1, copies: int = 1) -> bool:
    """Whether what has a number for each row is far longer than a list of the entries.

    Args:
        pattern: Of a matrix.
        times: How often its rows are repeated.
        copies: How often its entries are.
    """
    rows: int = pattern.shape[pattern.format.order[0]]
    return bool(rows * times > _ROWS * pattern.size * copies + threads.EACH)


def is_readable(pattern: Pattern) -> bool:
    """Whether C can read the arrays of a matrix below a dense level."""
    if pattern.traced or ordinary.in_transform() is not None:
        return False
    return all(map(sorting.is_plain, pattern.compressed(1)))
