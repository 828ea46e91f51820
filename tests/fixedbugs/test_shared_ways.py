"""Counts of one pattern's result are not among the slots that calls of other patterns take."""

from __future__ import annotations

import torch

import libsparse as ls


def _filled(rows: int, columns: int) -> ls.SparseTensor:
    dense = torch.zeros(60, 60)
    dense[:rows, :columns] = 1.0
    return ls.tensor(dense, format="csr")


def test_results_that_are_cleared_by_their_count():
    wide, tall = _filled(1, 60), _filled(60, 1)  # as many entries, and products with 60 and 3,600 places
    calls = {}
    for _ in range(4):
        for A in (wide, tall):
            got = ls.einsum("ij,jk->ik", A, A, format="sd")
            torch.testing.assert_close(got.to_dense(), A.to_dense() @ A.to_dense())
            ((prepared, _),) = A.pattern.calls.values()
            calls[A] = prepared.variant
    ways = [call._ways for call in calls.values()]
    assert not any(way.fixed is call._fixed for call in calls.values() for shared in ways for way in shared)
