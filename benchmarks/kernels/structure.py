"""What moves entries without computing: transposition, conversions, construction, indexing."""

from __future__ import annotations

from typing import Any

import torch
from method.operands import Matrix, Triplets

from .kernel import Kernel


def _matrix(A: Matrix, _: int) -> dict[str, Any]:
    """A.T in CSR; and A in CSC."""
    return {"A": A}


def _shuffled(A: Matrix, _: int) -> dict[str, Any]:
    """CSR from coordinates in random order."""
    order = torch.randperm(A.nnz, generator=torch.Generator().manual_seed(3))
    return {"T": Triplets(A.rows[order].int(), A.col[order].contiguous(), A.values[order], A.shape)}


def _half(extent: int) -> torch.Tensor:
    return torch.randperm(extent, generator=torch.Generator().manual_seed(4))[: (extent + 1) // 2]


def _some_rows(A: Matrix, _: int) -> dict[str, Any]:
    """A[index]: half of the rows, in random order."""
    return {"A": A, "index": _half(A.shape[0])}


def _some_columns(A: Matrix, _: int) -> dict[str, Any]:
    """A[:, index]: half of the columns, in random order."""
    return {"A": A, "index": _half(A.shape[1])}


def _middle(A: Matrix, _: int) -> dict[str, Any]:
    """A[begin:end]: the middle half of the rows."""
    return {"A": A, "begin": A.shape[0] // 4, "end": 3 * A.shape[0] // 4}


KERNELS = (
    Kernel("transpose", "A.T to CSR", _matrix, lambda p: p.A.T.tocsr(), new=True),
    Kernel("csr_to_csc", "CSR to CSC", _matrix, lambda p: p.A, new=True),
    Kernel("coo_to_csr", "unsorted COO to CSR", _shuffled, lambda p: p.T.tocsr(), new=True),
    Kernel("index_rows", "A[index]", _some_rows, lambda p: p.A[p.index]),
    Kernel("index_columns", "A[:, index]", _some_columns, lambda p: p.A[:, p.index]),
    Kernel("slice_rows", "A[a:b]", _middle, lambda p: p.A[p.begin : p.end]),
)
