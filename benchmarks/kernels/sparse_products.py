"""Products and sums of two sparse matrices."""

from __future__ import annotations

from typing import Any

import torch
from method.operands import Matrix

from .kernel import Kernel

_MOST_TERMS = 100_000_000


def _terms(A: Matrix) -> int:
    """Products that A A sums."""
    return int(A.crow.diff().long()[A.col.long()].sum())


def _square(A: Matrix, _: int) -> dict[str, Any] | None:
    """A A, sparse."""
    return {"A": A} if A.shape[0] == A.shape[1] and _terms(A) <= _MOST_TERMS else None


def shifted(A: Matrix) -> Matrix:
    """The matrix with its columns moved on by one: about as full, with a pattern of its own."""
    rows, columns = A.rows, (A.col.long() + 1) % A.shape[1]
    order = (rows * A.shape[1] + columns).argsort()
    return Matrix(A.name, A.family, A.crow, columns[order].int(), A.values[order] * torch.tensor(0.5), A.shape)


def _pair(A: Matrix, _: int) -> dict[str, Any]:
    """A + B, with a B whose pattern overlaps with that of A."""
    return {"A": A, "B": shifted(A)}


KERNELS = (
    Kernel("spgemm", "SpGEMM A @ A", _square, lambda p: p.A @ p.A, flops=lambda p: 2.0 * _terms(p.A), new=True),
    Kernel("spadd", "A + B", _pair, lambda p: p.A + p.B, flops=lambda p: float(p.A.nnz + p.B.nnz), new=True),
    Kernel("spmul", "A * B", _pair, lambda p: p.A.multiply(p.B), new=True),
)
