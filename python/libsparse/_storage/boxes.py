"""Boxes: the entries in ranges of the rows and columns of a matrix with compressed rows, or between two diagonals."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from libsparse._lang.records import NamedTuple

from . import memory, ordinary, sorting, threads

Pattern = Any
"""A `Pattern`, which is defined above."""

_EACH = 1 << 15  # entries from which on a thread is worth its start


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
        if radix is None or pattern.block or pattern.traced or ordinary.in_transform() is not None:
            return None
        pos, crd = pattern.compressed(1)
        if not sorting.is_plain(pos) or not sorting.is_plain(crd):
            return None
        shared = threads.shared(rows * pattern.size // max(1, len(pos) - 1), _EACH)
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
        rows = self.pos.diff().nonzero().squeeze(1)
        return rows.to(self.crd.dtype), self.begin.index_select(0, rows)
