"""Ranges and diagonals at the ends of what indices, offsets and memory have room for."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

LAST = 2**31 - 1


@pytest.mark.parametrize("columns", [LAST + 1, LAST + 2, 2**32, 2**62])
def test_the_last_column_that_int32_has(columns):
    pos, crd = torch.tensor([0, 1], dtype=torch.int32), torch.tensor([LAST], dtype=torch.int32)
    A = ls.from_csr(pos, crd, torch.ones(1), (1, columns))
    found = A[:, 1:], A[:, LAST], A.triu(1), A.tril(LAST), A.diagonal(LAST)
    assert [part.nnz for part in found] == [1] * 5
    assert A[torch.tensor([0, 0]), torch.tensor([LAST, 0])].tolist() == [1.0, 0.0]
    assert A[:, :LAST].nnz == 0


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
@pytest.mark.parametrize("offset", [2**63 - 1, 2**63 - 2, -(2**63), -(2**63) + 1, 3, -3, 2, -2])
def test_offsets_beyond_the_matrix(offset, format):
    dense = torch.ones(3, 3)
    A = ls.tensor(dense, format=format)
    near = max(-3, min(offset, 3))
    assert torch.equal(A.tril(offset).to_dense(), dense.tril(near))
    assert torch.equal(A.triu(offset).to_dense(), dense.triu(near))
    assert torch.equal(A.diagonal(offset).to_dense(), dense.diagonal(near))
    assert torch.equal(torch.diag(A, offset).to_dense(), torch.diag(dense, near))


@pytest.mark.parametrize("act", ["column", "diagonal", "tril", "flip", "roll", "columns"])
def test_far_more_rows_than_entries(act, monkeypatch):
    from libsparse._storage import sorting

    n = 1_000_000
    A = ls.from_coo([[0, 7, n - 1], [0, 7, 5]], torch.tensor([1.0, 2.0, 3.0]), (n, n)).to_format("csr")
    monkeypatch.setattr(sorting.in_c(), "find_box", None, raising=False)  # which would have a number for each row
    functions = {
        "column": lambda: A[:, 7],
        "diagonal": lambda: A.diagonal(),
        "tril": lambda: A.tril(),
        "flip": lambda: A.flip(0)[:, :9],
        "roll": lambda: A.roll(1, 0),
        "columns": lambda: A[:, 6:],
    }
    assert functions[act]().nnz == {"column": 1, "diagonal": 2, "columns": 1}.get(act, 3)
