"""Columns by a list, of a matrix that is asked for the first time: found by a table, and sorted in each row."""

from __future__ import annotations

import pytest
import torch
from libsparse._ops.indexing import columns as selection
from libsparse._storage import sorting, threads

import libsparse as ls

drawn = torch.Generator().manual_seed(0)
# Rows of up to 24 entries are sorted by insertion, longer ones by a table, or by comparisons where columns are many.
CASES = [
    (50, 40, 0.2, 15),
    (20, 400, 0.3, 150),
    (7, 8000, 0.1, 2000),
    (300, 30, 0.1, 3),
    (3, 90, 0.05, 30),
    (200, 5000, 1e-4, 9),
]


@pytest.mark.parametrize(("rows", "extent", "density", "count"), CASES, ids=str)
@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("team", [1, 3])
def test_any_columns(rows, extent, density, count, repeated, team, monkeypatch):
    monkeypatch.setattr(threads, "shared", lambda *_: (team, 0))
    found = []
    listed = selection._listed
    monkeypatch.setattr(selection, "_listed", lambda *given: found.append(listed(*given)) or found[-1])
    dense = (torch.rand(rows, extent, generator=drawn) < density) * torch.randn(rows, extent, generator=drawn)
    order = torch.randperm(extent, generator=drawn)[:count]
    chosen = torch.randint(extent, (count,), generator=drawn) if repeated else order
    for A, part in ((ls.tensor(dense), lambda A: A[:, chosen]), (ls.tensor(dense).T, lambda A: A[chosen].T)):
        first, later = part(A), part(A.with_values(A.values()))
        assert torch.equal(first.to_dense(), dense[:, chosen])
        assert torch.equal(first.indices(), later.indices())
        assert torch.equal(first.values(), later.values())
    assert found
    assert None not in found


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=str)
def test_positions_of_both_types(dtype):
    radix = sorting.in_c()
    pos, crd = torch.tensor([0, 2, 2, 5], dtype=dtype), torch.tensor([1, 4, 0, 1, 3], dtype=dtype)
    columns, starts = torch.tensor([3, 1, 0, 1]), torch.empty(4, dtype=dtype)
    given = pos.data_ptr(), crd.data_ptr(), dtype == torch.int64, 3, columns.data_ptr(), 4, 5, 1, 0, starts.data_ptr()
    assert radix.choose_columns(*given, 0, 0) == 6
    found, places = torch.empty(6, dtype=dtype), torch.empty(6, dtype=dtype)
    radix.choose_columns(*given, found.data_ptr(), places.data_ptr())
    assert (starts.tolist(), found.tolist()) == ([0, 2, 2, 6], [1, 3, 0, 1, 2, 3])
    assert places.tolist() == [0, 0, 4, 3, 2, 3]


def test_gradients_of_first_selections():
    values = torch.randn(12, dtype=torch.float64, generator=drawn).requires_grad_()
    coords = torch.randperm(60, generator=drawn)[:12]
    nodes = torch.tensor([4, 0, 3])

    def part(values):
        A = ls.from_coo(torch.stack([coords // 10, coords % 10]), values, (6, 10))
        return A[nodes][:, nodes].to_dense()

    assert torch.autograd.gradcheck(part, values)
