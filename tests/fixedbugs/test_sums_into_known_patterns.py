"""Repeated calls whose result has a known pattern added up into memory that nobody had cleared."""

from __future__ import annotations

import torch

import libsparse as ls


def test_sums_below_the_entries_of_a_result() -> None:
    random = torch.Generator().manual_seed(0)
    M = ls.random((20, 20), 0.3, generator=random).with_values(None)
    left, right = (torch.randn(20, 1, 3, generator=random) for _ in range(2))
    expected = (left[M.row] * right[M.col]).sum(-1).view(-1)
    for _ in range(8):
        for count in (M.nnz - 1, M.nnz, M.nnz + 1):
            torch.full((count,), float("nan"))  # for the allocator to hand out again
        found = ls.evaluate("e(i,j,h) = stored(M(i,j)) * l(i,h,c) * r(j,h,c)", M=M, l=left, r=right, format="dsd")
        torch.testing.assert_close(found.values(), expected)
