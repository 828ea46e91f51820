"""What is computed with each pattern: the kernels that the model learns from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

import libsparse as ls

_MOST = 1 << 24  # elements of a dense operand
_MOST_TERMS = 4_000_000  # of a product of two sparse matrices


def computations(A: ls.SparseTensor) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The name of each computation, and what makes it happen."""
    if A.dim() == 2:
        yield from _of_matrix(A)
        return
    for rank in (16, 64):
        factors = [torch.rand(n, rank) for n in A.shape]
        if max(f.numel() for f in factors) <= _MOST:
            yield f"mttkrp-{rank}", lambda f=factors: ls.einsum("ijk,jr,kr->ir", A, f[1], f[2])
    x = torch.rand(A.shape[2])
    yield "ttv", lambda: ls.einsum("ijk,k->ij", A, x)


def _of_matrix(A: ls.SparseTensor) -> Iterator[tuple[str, Callable[[], Any]]]:
    rows, columns = A.shape
    x, g = torch.rand(columns), torch.rand(rows)
    yield "spmv", lambda: ls.einsum("ij,j->i", A, x)
    yield "spmv-transposed", lambda: ls.einsum("ij,i->j", A, g)
    for width in (8, 32, 128):
        if max(rows, columns) * width <= _MOST:
            B = torch.rand(columns, width)
            yield f"spmm-{width}", lambda B=B: ls.einsum("ij,jk->ik", A, B)
    for width in (16, 64):
        if max(rows, columns) * width <= _MOST:
            q, k = torch.rand(rows, width), torch.rand(columns, width)
            yield f"sddmm-{width}", lambda q=q, k=k: ls.einsum("ij,ik,jk->ij", A, q, k)
    if rows == columns and _terms(A) <= _MOST_TERMS:
        yield "spgemm", lambda: ls.einsum("ij,jk->ik", A, A)


def _terms(A: ls.SparseTensor) -> int:
    """Products that A A sums."""
    return int(A.crow_indices().diff().long()[A.col_indices().long()].sum())
