"""Elementwise chains on a sparse matrix, and reductions over its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from method.operands import Matrix
from scipy.sparse import csr_array

from .kernel import Kernel, dense


def _scaled(A: Matrix, _: int) -> dict[str, Any]:
    """tanh(relu(u_i A_ij v_j)), sparse."""
    return {"A": A, "u": dense("u", A.shape[0]), "v": dense("v", A.shape[1])}


def _matrix(A: Matrix, _: int) -> dict[str, Any]:
    """A reduction of all columns, as of the dense matrix: elements that aren't stored are 0."""
    return {"A": A}


def _chain(p: Any) -> csr_array:
    rows = np.repeat(np.arange(p.A.shape[0]), np.diff(p.A.indptr))
    values = np.tanh(np.maximum(p.u[rows] * p.A.data * p.v[p.A.indices], 0))
    return csr_array((values, p.A.indices, p.A.indptr), shape=p.A.shape)


KERNELS = (
    Kernel("chain", "tanh(relu(u A v))", _scaled, _chain),
    Kernel("sum_rows", "sum of rows", _matrix, lambda p: p.A.sum(1)),
    Kernel("mean_rows", "mean of rows", _matrix, lambda p: p.A.sum(1) / p.A.shape[1]),
    Kernel("max_rows", "max of rows", _matrix, lambda p: p.A.max(axis=1).toarray().reshape(-1), linear=False),
)
