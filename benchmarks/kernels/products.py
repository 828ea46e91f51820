"""Products of a sparse matrix with vectors and dense matrices, forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np
from method.operands import Matrix, Problem

from .kernel import Kernel, dense, small


def _right(A: Matrix, width: int) -> dict[str, Any] | None:
    """Y = A X."""
    return {"A": A, "X": dense("X", A.shape[1], width)} if small(max(A.shape), width) else None


def _right_turned(A: Matrix, width: int) -> dict[str, Any] | None:
    """The same, where the columns of X lie together in memory."""
    return {"A": A, "X": dense("X", width, A.shape[1]).T} if small(max(A.shape), width) else None


def _left(A: Matrix, width: int) -> dict[str, Any] | None:
    """Y = X A."""
    return {"A": A, "X": dense("X", width, A.shape[0])} if small(max(A.shape), width) else None


def _linear(A: Matrix, width: int) -> dict[str, Any] | None:
    """Y = X A.T: a layer with weights A on a batch X."""
    return {"A": A, "X": dense("X", width, A.shape[1])} if small(max(A.shape), width) else None


def _vector(A: Matrix, _: int) -> dict[str, Any]:
    """Y = A x."""
    return {"A": A, "x": dense("x", A.shape[1])}


def _vector_turned(A: Matrix, _: int) -> dict[str, Any]:
    """Y = A.T x."""
    return {"A": A, "x": dense("x", A.shape[0])}


def _with_gradient(operands: Any, rows: int) -> Any:
    """Adds G, the gradient of the result; it has as many rows as the result."""

    def make(A: Matrix, width: int) -> dict[str, Any] | None:
        found = operands(A, width)
        if found is not None:
            found["G"] = dense("G", A.shape[rows], width) if rows == 0 else dense("G", width, A.shape[0])
        return found

    return make


def _vector_backward(A: Matrix, _: int) -> dict[str, Any]:
    """Gradients of the values of A and of x, where y = A x has the gradient g."""
    return {"A": A, "x": dense("x", A.shape[1]), "g": dense("g", A.shape[0])}


def _epilogue(A: Matrix, width: int) -> dict[str, Any] | None:
    """Y = relu(A X + b)."""
    operands = _right(A, width)
    return None if operands is None else {**operands, "b": dense("b", width)}


def _entries(p: Any) -> tuple[np.ndarray, np.ndarray]:
    return np.repeat(np.arange(p.A.shape[0]), np.diff(p.A.indptr)), p.A.indices


def sampled(rows: np.ndarray, columns: np.ndarray, U: np.ndarray, V: np.ndarray) -> np.ndarray:
    """The dot products of rows of U with rows of V, a part at a time."""
    out = np.empty(len(rows))
    for begin in range(0, len(rows), 1 << 18):
        part = slice(begin, begin + (1 << 18))
        out[part] = np.einsum("ek,ek->e", U[rows[part]], V[columns[part]])
    return out


def _backward(p: Any) -> Any:
    return sampled(*_entries(p), p.G, p.X), p.A.T @ p.G


def _both_of_vector(p: Any) -> Any:
    rows, columns = _entries(p)
    return p.g[rows] * p.x[columns], p.A.T @ p.g


def _linear_backward(p: Any) -> Any:
    return sampled(*_entries(p), p.G.T, p.X.T), p.G @ p.A


def _extreme(choose: np.ufunc) -> Any:
    """The reference of a largest or smallest term, of the terms that exist; 0 where a row has none."""

    def reference(p: Any) -> np.ndarray:
        A, X = p.A, p.X
        out = np.zeros((A.shape[0], X.shape[1]))
        full = np.diff(A.indptr) > 0
        starts = A.indptr[:-1][full]
        for column in range(X.shape[1]):
            out[full, column] = choose.reduceat(A.data * X[A.indices, column], starts)
        return out

    return reference


def _mean(p: Any) -> np.ndarray:
    return (p.A @ p.X) / np.maximum(np.diff(p.A.indptr), 1)[:, None]


def _flops(p: Problem) -> float:
    return 2.0 * p.A.nnz * (p.X.numel() // p.A.shape[1])


def _flops_left(p: Problem) -> float:
    return 2.0 * p.A.nnz * p.X.shape[0]


def _flops_vector(p: Problem) -> float:
    return 2.0 * p.A.nnz


def _product(p: Any) -> Any:
    return p.A @ p.X


def _activated(p: Any) -> np.ndarray:
    return np.maximum(p.A @ p.X + p.b, 0)


KERNELS = (
    Kernel("spmv", "SpMV", _vector, lambda p: p.A @ p.x, flops=_flops_vector),
    Kernel("spmv_transposed", "A.T @ x", _vector_turned, lambda p: p.A.T @ p.x, flops=_flops_vector, beside="spmv"),
    Kernel("spmm", "SpMM", _right, _product, (1, 16, 64, 256, 512), _flops),
    Kernel("spmm_column_major", "A @ X, X column-major", _right_turned, _product, (64,), _flops, beside="spmm"),
    Kernel("dense_sparse", "X @ A", _left, lambda p: p.X @ p.A, (64,), _flops_left, beside="spmm"),
    Kernel("linear", "F.linear(X, A)", _linear, lambda p: (p.A @ p.X.T).T, (256,), _flops_left, beside="spmm"),
    Kernel("spmm_mean", "SpMM, mean", _right, _mean, (64,), _flops, beside="spmm"),
    Kernel("spmm_max", "SpMM, max", _right, _extreme(np.maximum), (64,), _flops, linear=False, beside="spmm"),
    Kernel("spmm_min", "SpMM, min", _right, _extreme(np.minimum), (64,), _flops, linear=False, beside="spmm"),
    Kernel("spmm_relu", "relu(A @ X + b)", _epilogue, _activated, (64,), _flops, linear=False, beside="spmm"),
    Kernel("spmv_backward", "SpMV backward", _vector_backward, _both_of_vector, flops=lambda p: 2 * _flops_vector(p)),
    Kernel(
        "spmm_backward",
        "SpMM backward",
        _with_gradient(_right, 0),
        _backward,
        (64,),
        lambda p: 2 * _flops(p),
        new=True,
    ),
    Kernel(
        "linear_backward",
        "F.linear backward",
        _with_gradient(_linear, 1),
        _linear_backward,
        (256,),
        lambda p: 2 * _flops_left(p),
    ),
)
